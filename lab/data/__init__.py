"""Data of the user's own: inputs, targets and disjoint splits, known by their content."""

from lab.data.data import Data

__all__ = ["Data"]
