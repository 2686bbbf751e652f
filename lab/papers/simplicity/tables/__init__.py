"""Tabular data: accuracy and complexity of networks and trees (Section 3.3)."""
