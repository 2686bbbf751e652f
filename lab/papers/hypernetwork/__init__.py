"""Attention as a hypernetwork: fuzzy logic and SRAVEN."""

# Sections, each with its entries in figures.py
MODULES = ("logic", "logic_codes", "sraven", "sraven_depth", "sraven_variations", "ablations", "counts")
