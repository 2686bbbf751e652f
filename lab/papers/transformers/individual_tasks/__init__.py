"""Section 3.1: accuracy during training on each algorithmic task (Figures 2, 3, 4, 6 and 10)."""
