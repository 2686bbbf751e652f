"""Learned non-linearities and simplicity bias: images, tables, shortcuts, modular operations."""

# Sections, each with its entries in figures.py
MODULES = (
    "images",
    "tables",
    "landscapes",
    "reuse",
    "shortcut",
    "operations",
    "grokking",
    "operation_transfer",
    "search",
    "image_transfer",
    "complexity",
)
