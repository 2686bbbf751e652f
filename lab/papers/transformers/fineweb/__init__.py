"""Appendices E and F: a learned function in the model of the NanoGPT speedrun, exact and as a polynomial."""
