"""The runs of a figure by name, each a `lab.Run`: to look into, or to train again with something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.catalogue import registry
from lab.catalogue.announcements import announce
from lab.errors import ArgumentError, check_whole, listed, shown
from lab.papers.entry import Entry, Planned
from lab.plots.style import method_title
from lab.run import MOST_SEEDS, Run, complete
from lab.scale import check_scale
from lab.store import SHIPPED, as_store

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class EntryRuns:
    """A figure's runs at a scale, as `lab.entry` gives them.

    labels: what each of them is labelled with (task, method, …), one row a run.
    """

    name: str
    scale: str
    seeds: int
    _entry: Entry
    _planned: Sequence[Planned]

    @property
    def labels(self) -> pd.DataFrame:
        """What each run is labelled with, and its seed: one row a run."""
        import pandas as pd

        return pd.DataFrame([row | {"seed": spec.seed} for row, spec in self._planned])

    def runs(self, by: str = "method", trained: bool = True, progress: bool = True, **labels: object) -> dict[str, Run]:
        """Runs by their label `by`. They are read from the store, or as they came with the lab (data/runs); what
        neither has is trained, which is announced.

        trained: False for runs as they are planned, of which `lab.train(like=run, …)` makes others.
        labels: of those that are wanted, one value or several, as task="shakespeare char". Raises ArgumentError for a
        label that no run has, and where two runs would have one name.

        >>> list(entry("hypernetwork/fig6").runs(method=("linear", "hyla")))
        ['linear attention', 'HYLA']
        """
        store = as_store(None, shipped=SHIPPED)
        chosen = _by_name(_with_labels(self._planned, labels), _check_label("by", by, self._planned))
        specs = [spec for _, spec in chosen.values() if store.home(spec) is store] if trained else []
        missing, said = sum(not store.has(spec) for spec in specs), False
        if missing and progress:
            whole = self._entry.plan(self.scale, self._entry.seeds[self.scale])
            said = announce(self._entry, self.scale, len({spec for _, spec in whole}), missing)
        complete(specs, store, progress=progress, announce=not said)
        return {title: Run(spec, store.home(spec)) for title, (_, spec) in chosen.items()}

    def __repr__(self) -> str:
        names = ", ".join(self.labels)
        return f"{len(self._planned)} runs of {self.name}, scale {self.scale}, by {names} (.labels, .runs())"


def entry(name: str, scale: str = "laptop", seeds: int = 1) -> EntryRuns:
    """The runs that a figure is made of, one by one; nothing is trained before they are asked for.

    name: of the figure, as for `lab.figure`. scale: one of the figure's. seeds: runs of each configuration.

    >>> entry("simplicity/fig30", "smoke")
    3 runs of simplicity/fig30, scale smoke, by prefactor, seed (.labels, .runs())
    """
    of = registry.entry(name)
    planned = of.plan(check_scale(scale, of.scales), check_whole("seeds", seeds, 1, MOST_SEEDS))
    if not planned:
        raise ArgumentError(f"nothing is trained for {name}; lab.figure({name!r}) makes it")
    return EntryRuns(name, scale, seeds, of, planned)


def _check_label(name: str, label: str, planned: Sequence[Planned]) -> str:
    """The label, if runs have it."""
    known = list(dict.fromkeys(one for row, _ in planned for one in row))
    if label not in known:
        raise ArgumentError(
            f"{name}={shown(label)}: the figure's runs have {listed(known) or 'no labels: none learns'}"
        )
    return label


def _with_labels(planned: Sequence[Planned], labels: dict[str, object]) -> list[Planned]:
    """Those runs that have one of the wanted values of each label."""
    for name, values in labels.items():
        _check_label("label", name, planned)
        known = list(dict.fromkeys(str(row.get(name)) for row, _ in planned))
        wanted = [str(value) for value in (values if isinstance(values, (list, tuple)) else (values,))]
        for value in wanted:
            if value not in known:
                raise ArgumentError(f"{name}={shown(value)}: there are {listed(known, value)}")
        planned = [one for one in planned if str(one[0].get(name)) in wanted]
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
