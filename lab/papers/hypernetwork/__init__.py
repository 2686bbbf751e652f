"""Attention as a hypernetwork: fuzzy logic and SRAVEN."""
