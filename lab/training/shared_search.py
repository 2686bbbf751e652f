"""One function for several tasks at once: a search by two losses whose knots all tasks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError
from lab.kinds import check_run
from lab.nonlinearity.spline import Spline
from lab.spec import Learned, Resolved, RunSpec, Shaped, SharedSearch
from lab.training.fleet import History
from lab.training.two_loss import Search, check_search, description, learns, searching


class Shared:
    """A search a task, around the same splines. What a loop and a store ask for is as in `Search`."""

    def __init__(self, spec: SharedSearch, device: str = "cpu"):
        self.spec, self.recipe = spec, spec.recipe
        # A task's models could have the seeds of another's: they differ in all else.
        self.members = [Search(search, device, _given(search.model, search.learn)) for search in spec.searches]
        first = self.members[0]
        for other in self.members[1:]:
            for part, spline in other.splines.items():
                spline.values = first.splines[part].values
            other.knots, other.knot_optimizer = first.knots, first.knot_optimizer
        self.splines: Mapping[str, Spline] = first.splines
        self.specs = [run for member in self.members for run in member.specs]
        self.history, self.step = History(spec.models, ()), 0
        self.search_loss: list[float] = []

    @property
    def over(self) -> bool:
        """Whether all steps are taken."""
        return self.step >= self.recipe.last

    @property
    def died(self) -> np.ndarray:
        """By model, task after task: the step at which its loss was no longer finite, or -1."""
        return np.concatenate([member.died for member in self.members])

    def advance(self, step: int) -> None:
        """One step of all weights and of the knots."""
        for member in self.members[::-1]:  # the rate of the knots is the first one's
            member.set_rates(step)
        self.members[0].knot_optimizer.zero_grad()
        losses = [member.gradients(step) for member in self.members]
        for member, pair in zip(self.members, losses, strict=True):
            member.freeze()
            member.optimizer.step()
            member.note(step, *pair)
        self.members[0].knot_optimizer.step()
        self.history.add(torch.cat([weights.detach() for weights, _ in losses]))
        self.search_loss.append(float(np.nanmean([member.search_loss[-1] for member in self.members])))
        self.step = step + 1
        if self.step % self.recipe.every == 0 or self.over:
            self.history.close(self.step, {})

    def state(self) -> dict[str, Tensor]:
        """As `Search.state`, of each task."""
        tensors = {"step": torch.tensor(self.step)} | self.history.pending()
        tensors["search_loss"] = torch.tensor(self.search_loss, dtype=torch.float64)
        tensors |= {f"history.{name}": torch.from_numpy(array) for name, array in self.history.arrays().items()}
        for number, member in enumerate(self.members):
            member_state = {name: t for name, t in member.state().items() if not number or not name.startswith("knot")}
            tensors |= {f"task {number}.{name}": tensor for name, tensor in member_state.items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the state that `state` gave."""
        for number, member in enumerate(self.members):
            member_state: dict[str, Tensor] = {}
            for mark in ("task 0.knot", f"task {number}."):  # knots, and what their optimizer remembers, are shared
                member_state |= {name.partition(".")[2]: t for name, t in tensors.items() if name.startswith(mark)}
            member.restore(member_state)
        self.history.restore(tensors)
        self.step, self.search_loss = int(tensors["step"]), tensors["search_loss"].tolist()

    def functions(self) -> Mapping[str, Resolved]:
        """The learned functions, by part."""
        return self.members[0].functions()

    def run_notes(self, run: int) -> dict:
        """What else is to be remembered."""
        return {}

    def beyond_of(self, runs: Sequence[int]) -> dict[str, float]:
        """Not looked at: each task has models of its own."""
        return {}


def _given(model: Any, learn: tuple[str, ...]) -> dict[str, Resolved]:
    return {part: cast(Resolved, known) for part, known in model.parts.items() if part not in learn}


@searching.register(SharedSearch)
def _(spec: SharedSearch, device: str, given: Mapping[str, Resolved]) -> Shared:
    return Shared(spec, device)


@learns.register(SharedSearch)
def _(spec: SharedSearch, name: str) -> bool:
    return name in spec.learn


@description.register(SharedSearch)
def _(spec: SharedSearch) -> str:
    return f"search one {' + '.join(spec.learn)}"


@check_search.register(SharedSearch)
def _(spec: SharedSearch) -> None:
    """Say what does not fit together before anything is built."""
    if not spec.searches:
        raise ArgumentError("searches=(): give one search a task")
    first = spec.searches[0]
    for search in spec.searches:
        for name in ("learn", "low", "high", "knots", "start"):
            if getattr(search, name) != getattr(first, name):
                raise ArgumentError(
                    f"{name}={getattr(search, name)!r} for {search.task_name}, {getattr(first, name)!r} for"
                    f" {first.task_name}: one function needs the same for all tasks"
                )
        if search.recipe.last != first.recipe.last:
            raise ArgumentError(
                f"{search.task_name} takes {search.recipe.last} steps, {first.task_name} {first.recipe.last}:"
                " give all tasks as many"
            )
        learned = [
            part
            for part, known in search.model.parts.items()
            if part not in search.learn and isinstance(known, (Learned, Shaped))
        ]
        if learned:
            raise ArgumentError(f"{learned[0]} of {search.task_name} is learned by another search; give its values")
        check_run(RunSpec(search.task, search.model, search.recipe, 0, (), search.task_seed))
