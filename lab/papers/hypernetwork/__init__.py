"""Attention as a hypernetwork: fuzzy logic, SRAVEN and language."""

# Modules with the entries of a section or more
MODULES = (
    "logic.figures",
    "logic_codes.figures",
    "sraven.figures",
    "sraven_depth.figures",
    "sraven_variations.figures",
    "ablations.figures",
    "counts.figures",
    "language.figures",
)
