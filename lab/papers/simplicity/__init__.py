"""Learned non-linearities and simplicity bias: images, tables, shortcuts, modular operations."""

# Modules with the entries of a section or more
MODULES = (
    "images.accuracy",
    "images.complexity",
    "images.functions",
    "tables.accuracy",
    "tables.complexity",
    "landscapes.figures",
    "reuse",
    "shortcut.figures",
    "operations",
    "grokking",
    "sines",
    "first_steps",
    "search.figures",
    "image_transfer",
    "complexity",
)
