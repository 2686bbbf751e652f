"""Learned non-linearities in transformers: algorithmic tasks (Section 3) and how splines are computed (App. F)."""

# Modules with the entries of a section or more
MODULES = (
    "individual_tasks.figures",
    "rates.figures",
    "compatibility.figures",
    "language.texts",
    "language.sizes",
    "language.compatibility",
    "language.symmetry",
    "language.figures",
    "fineweb.figures",
    "approximations.figures",
)
