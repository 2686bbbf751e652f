"""Variants between softmax attention and HYLA."""
