"""Complexity and accuracy around trained models of tabular data (Figures 7 and 24)."""
