"""What `lab.train` and `lab.search` use for any task of the transformers paper: algorithmic ones, and text."""

from __future__ import annotations

from lab.papers.transformers.language.settings import language
from lab.papers.transformers.settings import Setting, setting
from lab.scale import COMMON
from lab.spec import OwnTask, SearchSpec, remember, replace
from lab.tasks import Task, Text

OF_OTHERS = "add"  # whose settings a task of one's own has: nothing is tuned for it


def of_sequences(task: str | Text | Task | OwnTask, scale: str) -> Setting:
    """The hyper-parameters of a task at a scale. task: a name of `lab.tasks.NAMES`, a text, or a `lab.Task`, itself or
    as its runs name it.

    >>> of_sequences("mano", "paper").model.width, of_sequences(Text("moby_dick"), "paper").model.width
    (128, 512)
    """
    if isinstance(task, Task):
        task = named(task)
    if isinstance(task, OwnTask):
        return replace(setting(OF_OTHERS, scale), task=task)
    return language(task, scale) if isinstance(task, Text) else setting(task, scale)


def named(task: Task) -> OwnTask:
    """A `lab.Task` as specs name it, remembered for training."""
    spec = OwnTask(task.name, task.digest)
    remember(spec, task)
    return spec


def scale_of(search: SearchSpec) -> str | None:
    """The scale whose settings a search has, whatever its seed; None where it has others.

    >>> scale_of(setting("copy", "paper").search(("attention",)))
    'paper'
    """
    if not isinstance(search.task, (str, Text)):  # one's own data
        return None
    for scale in COMMON:
        same = of_sequences(search.task, scale).search(search.learn)
        if replace(same, seed=search.seed, start=search.start) == search:
            return scale
    return None
