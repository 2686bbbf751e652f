"""Data sets: one's own (`Data`: inputs, targets and disjoint splits, known by their content), and published ones."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.data.data import Data

__all__ = ["Data"]


def __getattr__(name: str) -> object:
    if name != "Data":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lab.data.data import Data  # with torch, which published data sets do without

    return Data
