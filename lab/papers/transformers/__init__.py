"""Learned non-linearities in transformers: algorithmic tasks (Section 3) and how splines are computed (App. F)."""
