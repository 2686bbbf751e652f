"""ContestExplorer: train the same small models with several functions side by side, and watch which learn faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lab.nonlinearity.spline import Spline
from lab.plots.style import BLUE, GREY, ORANGE
from lab.spec import RunSpec
from lab.tasks.named import task_title
from lab.widgets.training import TrainingExplorer

SEEDS = 2


class ContestExplorer(TrainingExplorer):
    """Choose a task, press Train, and one curve a seed grows for each function; each is trained as its kind is in the
    figures of the lab.

    functions: asked when Train is pressed; up to three, Splines or names, by what the curves are to be called.

    >>> import torch
    >>> contest = ContestExplorer(lambda: {"a hat": Spline(torch.tensor([0.0, 1.0, 0.0])), "GELU": "gelu"})
    >>> list(contest.contenders())
    ['Memorize, a hat', 'Memorize, GELU']
    """

    colours = (BLUE, ORANGE, GREY)

    def __init__(
        self, functions: Callable[[], Mapping[str, Spline | str]], task: str = "memorize", scale: str = "laptop"
    ):
        super().__init__(task, scale)
        self._functions = functions
        self.seeds.value = SEEDS
        self.arrange(
            [self.task, self.seeds, self.steps], [self.train, self.stop, self.clear, self.progress], self.figure
        )

    def contenders(self) -> dict[str, list[RunSpec]]:
        """For each function its runs."""
        task = task_title(self.task.value)  # of words: a contest offers no table
        return {f"{task}, {name}": self.specs(function) for name, function in self._functions().items()}

    def _train(self) -> None:
        self._clear()  # a function has one colour; while a training is under way, neither does anything
        super()._train()
