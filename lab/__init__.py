"""The lab: learn non-linearities, train with them, look at what they do.

>>> import lab
>>> runs = lab.train("memorize", mlp="gelu", seeds=2, scale="smoke", progress=False)
>>> runs.accuracy.shape[0]
2
"""

from lab.api import search, train, trained, zoo
from lab.catalogue.build import figure
from lab.catalogue.scorecard import scorecard
from lab.comparison import Comparison
from lab.data import Data
from lab.errors import ArgumentError, LabError, LabWarning
from lab.finetuning import finetune
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.swap import swap
from lab.nonlinearity.swapped import load_swapped, save_swapped
from lab.nonlinearity.zoo import zoo_names
from lab.own.compare import compare
from lab.run import Run, Runs
from lab.search_results import EpisodeResult, SearchResult
from lab.tasks import Task
from lab.widgets import explore, plot

__all__ = [
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
    "compare",
    "explore",
    "figure",
    "finetune",
    "load_swapped",
    "plot",
    "save_swapped",
    "scorecard",
    "search",
    "swap",
    "train",
    "trained",
    "zoo",
    "zoo_names",
]
__version__ = "0.1.0"
