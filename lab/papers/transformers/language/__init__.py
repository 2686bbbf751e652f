"""Language models: texts and code, by characters and by pieces of words (Section 4, Appendix D)."""
