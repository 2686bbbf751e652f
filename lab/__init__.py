"""The lab: learn non-linearities, train with them, look at what they do.

>>> import lab
>>> runs = lab.train("memorize", mlp="gelu", seeds=2, scale="smoke", progress=False)
>>> runs.accuracy.shape[0]
2
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lab.places import VERSION as __version__  # noqa: F401

if TYPE_CHECKING:  # what is asked for is imported then (PEP 562): torch alone takes seconds
    from lab.api import fit, search, train, trained
    from lab.catalogue.build import entry, figure
    from lab.catalogue.prediction import predict_gain
    from lab.catalogue.scorecard import scorecard
    from lab.comparison import Comparison
    from lab.data import Data
    from lab.errors import ArgumentError, LabError, LabWarning
    from lab.finetuning import finetune
    from lab.functions import zoo
    from lab.nonlinearity.check import check
    from lab.nonlinearity.lookup import compile_tables
    from lab.nonlinearity.spline import Spline
    from lab.nonlinearity.swap import swap
    from lab.nonlinearity.swapped import load_swapped, save_swapped
    from lab.nonlinearity.zoo import zoo_names
    from lab.own.compare import compare
    from lab.run import Run, Runs
    from lab.search_results import EpisodeResult, SearchResult
    from lab.tasks import Task
    from lab.widgets import explore, plot

_HOMES = {
    "lab.api": ("fit", "search", "train", "trained"),
    "lab.catalogue.build": ("entry", "figure"),
    "lab.catalogue.prediction": ("predict_gain",),
    "lab.catalogue.scorecard": ("scorecard",),
    "lab.comparison": ("Comparison",),
    "lab.data": ("Data",),
    "lab.errors": ("ArgumentError", "LabError", "LabWarning"),
    "lab.finetuning": ("finetune",),
    "lab.functions": ("zoo",),
    "lab.nonlinearity.check": ("check",),
    "lab.nonlinearity.lookup": ("compile_tables",),
    "lab.nonlinearity.spline": ("Spline",),
    "lab.nonlinearity.swap": ("swap",),
    "lab.nonlinearity.swapped": ("load_swapped", "save_swapped"),
    "lab.nonlinearity.zoo": ("zoo_names",),
    "lab.own.compare": ("compare",),
    "lab.run": ("Run", "Runs"),
    "lab.search_results": ("EpisodeResult", "SearchResult"),
    "lab.tasks": ("Task",),
    "lab.widgets": ("explore", "plot"),
}
_ROOMS = ("models", "nonlinearity", "probes", "tasks", "widgets")  # as notebooks import them
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [  # noqa: F822  `__getattr__` gives them
    "ArgumentError",
    "Comparison",
    "Data",
    "EpisodeResult",
    "LabError",
    "LabWarning",
    "Run",
    "Runs",
    "SearchResult",
    "Task",
    "Spline",
    "check",
    "compare",
    "compile_tables",
    "entry",
    "explore",
    "figure",
    "finetune",
    "fit",
    "load_swapped",
    "plot",
    "predict_gain",
    "save_swapped",
    "scorecard",
    "search",
    "swap",
    "train",
    "trained",
    "zoo",
    "zoo_names",
]


def __getattr__(name: str) -> object:
    """A name of `__all__`, or a room such as `lab.probes`, imported when it is first asked for."""
    if name in _HOME:
        globals()[name] = value = getattr(import_module(_HOME[name]), name)
        return value
    if not name.startswith("_") and find_spec(f"lab.{name}") is not None:
        return import_module(f"lab.{name}")
    raise AttributeError(f"module 'lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
