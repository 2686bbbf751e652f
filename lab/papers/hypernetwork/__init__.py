"""Attention as a hypernetwork: fuzzy logic, SRAVEN and language."""

# Names of the entries, in their order
FIGURES = (
    "fig2b fig2c fig2d fig4a fig4b fig5a fig5b fig5c fig5d fig5e fig5f fig6 figA2 figA3 figA4 figA5 figA6 figA7 figA8 "
    "figA9 tableA1 tableA2"
)

# Modules with the entries of a section or more
MODULES = ("logic", "logic_codes", "sraven", "sraven_codes", "ablations", "counts", "language")
