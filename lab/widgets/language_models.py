"""Runs of language models by name, as explorers offer them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import nn

from lab.errors import ArgumentError
from lab.models.hyper import method_of
from lab.models.rotary_hyper import RotaryHyperModel
from lab.plots.style import BLUE, GREY, ink_of, method_title
from lab.run import Run
from lab.spec import Learned, Shaped
from lab.tasks import Text
from lab.tasks.named import task_title
from lab.training.masked import MaskedText


class LanguageModels:
    """Runs by name; a model is read from the store when it is first asked for."""

    def __init__(self, runs: Mapping[str, Run] | Iterable[Run], masked: bool = False):
        if isinstance(runs, Run):
            runs = [runs]
        named = dict(runs) if isinstance(runs, Mapping) else _named(list(runs))
        if not named:
            raise ArgumentError("there are no runs; give one or more that were trained on a text, as lab.train gives")
        kinds = (Text, MaskedText) if masked else (Text,)
        for name, run in named.items():
            if not isinstance(run, Run) or not isinstance(run.spec.task, kinds):
                what = run.spec.task_name if isinstance(run, Run) else type(run).__name__
                raise ArgumentError(f"{name} is of {what}; give runs that predict the next token of a text")
            if run.diverged:
                raise ArgumentError(f"{name} diverged at step {run.diverged[0]}; leave it out")
        self.runs: dict[str, Run] = named
        self._models: dict[str, nn.Module] = {}

    @property
    def names(self) -> list[str]:
        """In their order."""
        return list(self.runs)

    def task(self, name: str) -> Any:
        """What a run was trained on."""
        return self.runs[name].spec.task

    def model(self, name: str) -> nn.Module:
        """The trained model."""
        if name not in self._models:
            self._models[name] = self.runs[name].model()
        return self._models[name]


def inks(names: Sequence[str]) -> list[str]:
    """Colours of two models, by name: those of their methods; else grey, that of baselines, and blue.

    >>> inks(["ours MLP", "baseline"]), inks(["mine", "another"])
    (['#0072B2', '#808080'], ['#808080', '#0072B2'])
    """
    known = [ink_of(name) for name in names]
    if names[0] != names[1] and known[0] == known[1]:
        return [GREY, BLUE]
    spare = GREY if BLUE in known else BLUE
    return [ink or spare for ink in known]


def name_of(run: Run) -> str:
    """A run in words: its text, what its model has, its seed."""
    model = run.spec.model
    if isinstance(model, RotaryHyperModel) and (method := method_of(model)):
        words = method_title(method)
    else:
        parts = {name: _words(part) for name, part in getattr(model, "parts", {}).items() if part != "softmax"}
        activation = getattr(model, "activation", None)
        words = ", ".join(parts.values()) or (activation if isinstance(activation, str) else type(model).__name__)
    return f"{task_title(run.spec.task_name)}: {words}, seed {run.spec.seed}"


def _words(part: object) -> str:
    if isinstance(part, Shaped):
        return f"{part.shape} of learned"
    if isinstance(part, Learned):
        return f"learned for {task_title(part.search.task_name)}"
    return part if isinstance(part, str) else type(part).__name__


def _named(runs: list[Run]) -> dict[str, Run]:
    by_name: dict[str, Run] = {}
    for run in runs:
        name = name_of(run) if isinstance(run, Run) else str(len(by_name))
        while name in by_name:
            name += "′"
        by_name[name] = run
    return by_name
