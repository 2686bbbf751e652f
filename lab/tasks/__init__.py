"""Tasks: the eight algorithmic ones of the transformers paper (Table 1) by name; the others are classes."""

from functools import lru_cache

from lab.errors import ArgumentError, check_whole, shown
from lab.tasks.arithmetic import add, addmod, addreversed, mano, memorize
from lab.tasks.collage import Collage, SingleTileCollage
from lab.tasks.counts import count_problems, count_tasks, estimate_ambiguity
from lab.tasks.images import Images
from lab.tasks.logic import Logic
from lab.tasks.operation import Operation
from lab.tasks.sraven import RULES, Sraven
from lab.tasks.strings import copy, haystack, parentheses
from lab.tasks.table import TableSplit, TableTask, Tabular
from lab.tasks.task import Split, Task
from lab.tasks.text import Text

__all__ = [
    "NAMES",
    "RULES",
    "Collage",
    "Images",
    "Logic",
    "Operation",
    "SingleTileCollage",
    "Split",
    "Sraven",
    "TableSplit",
    "TableTask",
    "Tabular",
    "Task",
    "Text",
    "count_problems",
    "count_tasks",
    "estimate_ambiguity",
    "load",
]

# In the order of the paper's matrices (Figures 5 and 11).
_BUILDERS = {build.__name__: build for build in (memorize, addmod, add, addreversed, mano, haystack, copy, parentheses)}
NAMES = tuple(_BUILDERS)


def load(name: str, seed: int = 0) -> Task:
    """The task of that name, with all its data generated from `seed`. Takes about a second at most.

    The same call gives the same object: do not write into its tensors.

    >>> task = load("copy")
    >>> task.metric, task.max_length, sorted(task.splits)
    ('sequence', 41, ['lengths', 'search', 'test', 'train', 'val'])
    """
    if not isinstance(name, str) or name not in NAMES:
        raise ArgumentError(f"unknown task {shown(name)}; choose one of {', '.join(NAMES)}")
    return _load(name, check_whole("seed", seed, 0))


@lru_cache(maxsize=16)  # all tasks of two seeds: about 30 MB a task
def _load(name: str, seed: int) -> Task:
    return _BUILDERS[name](seed)
