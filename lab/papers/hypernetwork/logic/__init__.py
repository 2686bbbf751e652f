"""Fuzzy logic: generalization to functions that training held out."""
