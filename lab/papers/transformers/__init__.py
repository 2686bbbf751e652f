"""Learned non-linearities in transformers: algorithmic tasks (Section 3), language (Section 4), and their cost."""

# Names of the entries, in their order
FIGURES = (
    "fig2 rates fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig11 fig12 fig12_language fig13 fig14 fig15 table3 table5 "
    "table6 table7"
)

# Modules with the entries of a section or more
MODULES = (
    "learning_curves",
    "lengths_and_widths",
    "functions",
    "rates",
    "compatibility",
    "texts",
    "sizes",
    "language",
    "fineweb",
)
