"""Explorers: interactive views of functions, trainings and figures, one a module; `explore` chooses among them."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what is asked for is imported then (PEP 562)
    from lab.widgets.drawing import plot
    from lab.widgets.explorable import explore
    from lab.widgets.function_view import Playground
    from lab.widgets.grokking import GrokkingExplorer
    from lab.widgets.slices import SliceExplorer
    from lab.widgets.text import PairsExplorer

__all__ = ["GrokkingExplorer", "PairsExplorer", "Playground", "SliceExplorer", "explore", "plot"]
_HOMES = {  # these explorers are of what is no one thing that `explore` could be given
    "GrokkingExplorer": "grokking",
    "PairsExplorer": "text",
    "Playground": "function_view",
    "SliceExplorer": "slices",
    "explore": "explorable",
    "plot": "drawing",
}


def __getattr__(name: str) -> object:
    """One of these, imported when it is first asked for."""
    if name in _HOMES:
        globals()[name] = value = getattr(import_module(f"lab.widgets.{_HOMES[name]}"), name)
        return value
    raise AttributeError(f"module 'lab.widgets' has no attribute {name!r}")
