"""Learned non-linearities and simplicity bias: images, tables, shortcuts, modular operations."""

# Names of the entries, in their order
FIGURES = (
    "fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig10 fig11 sizes fig12 fig13 fig14 fig15 fig16 fig17 fig18 fig19 fig20 "
    "fig21 fig22 fig23 fig24 fig25 fig26 fig27 fig28 fig29 fig30 table1 table2 table3 table4"
)

# Modules with the entries of a section or more
MODULES = (
    "images.accuracy",
    "images.complexity",
    "images.functions",
    "tables.accuracy",
    "tables.complexity",
    "landscapes",
    "reuse",
    "shortcut.figures",
    "operations",
    "grokking",
    "sines",
    "sizes",
    "first_steps",
    "search",
    "interpolations",
    "image_transfer",
    "complexity",
)
