"""Attention as a hypernetwork: fuzzy logic, SRAVEN and language."""

# Sections, each with its entries in figures.py
MODULES = ("logic", "logic_codes", "sraven", "sraven_depth", "sraven_variations", "ablations", "counts", "language")
