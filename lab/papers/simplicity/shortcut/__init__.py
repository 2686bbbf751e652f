"""Collages: which tile a model relies on (Section 3.4)."""
