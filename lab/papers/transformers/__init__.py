"""Learned non-linearities in transformers: algorithmic tasks (Section 3) and how splines are computed (App. F)."""

# Sections, each with its entries in figures.py
MODULES = ("individual_tasks", "rates", "compatibility", "language", "fineweb", "approximations")
