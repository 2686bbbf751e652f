"""Runs of language models by name, as explorers offer them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import nn

from lab.catalogue.announcements import announce
from lab.catalogue.registry import entry
from lab.errors import ArgumentError, listed, shown
from lab.models.methods import method_of
from lab.models.rotary_hyper import RotaryHyperModel
from lab.papers.entry import Planned
from lab.plots.style import BLUE, GREY, ink_of, method_title, task_title
from lab.run import Run, complete
from lab.scale import check_scale
from lab.spec import Learned, Shaped
from lab.store import SHIPPED, as_store
from lab.tasks import Text
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


def models_of(
    name: str, scale: str, by: str = "method", progress: bool = True, **labels: str | Sequence[str]
) -> dict[str, Run]:
    """The language models of a figure, one of each kind: runs by what they have. They are read from the store, or as
    they came with the lab (data/runs); what neither has is trained, which is announced.

    by: the label that tells kinds apart. labels: of those that are wanted, one or several, as task="shakespeare char".
    Raises ArgumentError for a label that no run has, and where two runs would have one name.

    >>> list(models_of("hypernetwork/fig6", "laptop", method=("linear", "hyla")))
    ['linear attention', 'HYLA']
    """
    of, store = entry(name), as_store(None, shipped=SHIPPED)
    planned = of.plan(check_scale(scale, of.scales), 1)
    chosen = _by_name(_with_labels(planned, labels), _check_label("by", by, planned))
    specs = [spec for _, spec in chosen.values() if store.home(spec) is store]
    missing = sum(not store.has(spec) for spec in specs)
    if missing and progress:
        announce(of, scale, len({spec for _, spec in of.plan(scale, of.seeds[scale])}), missing)
    complete(specs, store, progress=progress)
    return {title: Run(spec, store.home(spec)) for title, (_, spec) in chosen.items()}


def _check_label(name: str, label: str, planned: Sequence[Planned]) -> str:
    """The label, if runs have it."""
    known = list(dict.fromkeys(one for row, _ in planned for one in row))
    if label not in known:
        raise ArgumentError(
            f"{name}={shown(label)}: the figure's runs have {listed(known) or 'no labels: none learns'}"
        )
    return label


def _with_labels(planned: Sequence[Planned], labels: Mapping[str, str | Sequence[str]]) -> list[Planned]:
    """Those runs that have one of the wanted values of each label."""
    for name, values in labels.items():
        _check_label("label", name, planned)
        known = list(dict.fromkeys(str(row[name]) for row, _ in planned))
        for value in (values,) if isinstance(values, str) else values:
            if value not in known:
                raise ArgumentError(f"{name}={shown(value)}: there are {listed(known, value)}")
        planned = [one for one in planned if str(one[0][name]) in ((values,) if isinstance(values, str) else values)]
    return list(planned)


def _by_name(planned: Sequence[Planned], by: str) -> dict[str, Planned]:
    """Runs by their label's title. ArgumentError where two have the same: it names the label that tells them apart."""
    chosen: dict[str, Planned] = {}
    for row, spec in planned:
        title = method_title(str(row[by])).replace("_", " ")
        other, same = chosen.setdefault(title, (row, spec))
        if same != spec:
            label = next((label for label in row if label != by and row[label] != other.get(label)), by)
            values = listed(list(dict.fromkeys(str(one[label]) for one, _ in planned)))
            raise ArgumentError(
                f"several runs are {title}: choose one {label}, as {label}={other[label]!r}; of {values}"
            )
    return chosen


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
