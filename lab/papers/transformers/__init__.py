"""Learned non-linearities in transformers: algorithmic tasks (Section 3) and how splines are computed (App. F)."""

# Names of the entries, in their order
FIGURES = (
    "fig2 rates fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig11 fig12 fig12_language fig13 fig14 fig15 table3 table5 "
    "table6 table7"
)

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
