"""The course of a training: what was learned by some of its steps, on a log scale, beside what it gives at its end."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lab.store import Spec, Store
from lab.store.checkpoints import COURSE

OF = "of "  # of those that hold what was learned


def course_steps(last: int, keep: int) -> list[int]:
    """After which steps checkpoints are kept, from 0 to the last: evenly spaced in the logarithm of 1 + step, as far as
    whole numbers can be. Where there are fewer steps than are asked for, after each.

    >>> course_steps(1000, 8), course_steps(3, 20)
    ([0, 2, 6, 18, 51, 138, 372, 1000], [0, 1, 2, 3])
    """
    steps: list[int] = []
    for wanted in np.geomspace(1, last + 1, min(keep, last + 1)).tolist():
        steps.append(max(round(wanted) - 1, steps[-1] + 1 if steps else 0))
    return steps


class Course:
    """Checkpoints of runs that train side by side, or of a search: `state.learned` at some of its steps.

    keep: how many; fewer where training has fewer steps, or ends early.
    """

    def __init__(self, specs: Sequence[Spec], keep: int):
        self.specs, self.keep = specs, keep
        first = specs[0]
        self.wanted = course_steps(getattr(first, "episodes", None) or first.recipe.last, keep)  # type: ignore[union-attr]
        self.steps: list[int] = []
        self.tensors: dict[str, list[Tensor]] = {}  # of each step (R, …)

    def look(self, state) -> None:
        """Keep what has been learned, where this is one of the steps. What goes on to the end at once has not moved."""
        while self.wanted and (state.step >= self.wanted[0] or state.over):
            step = min(self.wanted.pop(0), state.step)
            if step not in self.steps:
                self.steps.append(step)
                for name, tensor in state.learned().items():
                    self.tensors.setdefault(name, []).append(tensor.detach().to("cpu", copy=True))

    def _stacked(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        numbers = {"keep": torch.tensor(self.keep), "steps": torch.tensor(self.steps)}
        return numbers, {OF + name: torch.stack(tensors) for name, tensors in self.tensors.items()}

    def state(self) -> dict[str, Tensor]:
        """For a fleet's state."""
        numbers, stacked = self._stacked()
        return {COURSE + name: tensor for name, tensor in (numbers | stacked).items()}

    def restore(self, tensors: dict[str, Tensor]) -> bool:
        """Take up what `state` gave; False where a fleet's state has no checkpoints, or as many as another call wanted:
        then its training cannot go on, but begins again."""
        mine = {name.removeprefix(COURSE): t for name, t in tensors.items() if name.startswith(COURSE)}
        if not mine or int(mine["keep"]) != self.keep:
            return False
        self.steps = mine["steps"].tolist()
        self.wanted = [step for step in self.wanted if step not in self.steps]
        self.tensors = {name: list(stacked) for name, stacked in tensors_of(mine).items()}
        return True

    def save(self, store: Store) -> None:
        """Keep it, a file for each run: "keep", "steps", and (steps, …) what was learned, as `tensors_of` gives it."""
        numbers, stacked = self._stacked()
        for run, spec in enumerate(self.specs):
            store.save_course(spec, numbers | {name: tensor[:, run] for name, tensor in stacked.items()})


def tensors_of(course: dict[str, Tensor]) -> dict[str, Tensor]:
    """What was learned, by name."""
    return {name.removeprefix(OF): tensor for name, tensor in course.items() if name.startswith(OF)}
