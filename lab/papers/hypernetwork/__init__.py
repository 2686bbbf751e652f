"""Attention as a hypernetwork: fuzzy logic, SRAVEN and language."""

# Modules with the entries of a section or more
MODULES = ("logic", "logic_codes", "sraven", "sraven_codes", "ablations", "counts", "language")
