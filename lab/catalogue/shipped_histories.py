"""Runs whose learning curves are shipped: figures that draw nothing else take them from there instead of training.

The tables of some entries are learning curves, one row a run and evaluation. A figure that needs a run of such a
table, and of the run only its curve, need not train it: it trains what is nowhere, and joins the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.catalogue import registry
from lab.catalogue.shipped import has_results, provenance_of, shipped_plan, shipped_table
from lab.papers.tables import curves
from lab.spec import RunSpec, key
from lab.versions import ARITHMETIC

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ShippedHistory:
    """What a shipped table says of a run: enough for measures that read learning curves alone.

    steps, accuracy: (T,), as those of `lab.run.Run`. source: the entry whose table has it. facts: its provenance.
    """

    spec: RunSpec
    steps: np.ndarray
    accuracy: np.ndarray
    diverged: bool
    source: str
    facts: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The name that the run has in a store."""
        return key(self.spec)

    @property
    def device(self) -> tuple[str, str]:
        """That trained the runs of its source: "cpu" or "cuda", and its name."""
        return self.facts["device"], self.facts["device_name"]

    def noted(self, name: str) -> set[str]:
        """The kernels, commits or instructions that its source names: of all its runs, not of this one alone."""
        return set(self.facts.get(name, ()))


def shipped_histories(paper: str, scale: str, specs: Iterable[RunSpec]) -> dict[RunSpec, ShippedHistory]:
    """Those of these runs whose learning curves are in a shipped table of this paper at this scale, if all of its runs
    are of today's revision of the arithmetic.

    >>> from lab.catalogue.registry import entry
    >>> specs = [spec for _, spec in entry("transformers/fig10").for_tasks(["memorize"]).plan("paper", 6)]
    >>> histories = shipped_histories("transformers", "paper", specs)
    >>> len(specs), len(histories), histories[specs[0]].steps[-1]
    (18, 18, np.int64(500))
    """
    wanted = set(specs)
    histories: dict[RunSpec, ShippedHistory] = {}
    for name, entry in registry.entries(paper).items():
        if entry.measure is not curves or not has_results(name, scale) or not wanted - set(histories):
            continue
        facts = provenance_of(name, scale)
        if facts.get("arithmetic") != [str(ARITHMETIC)]:
            continue  # runs that are trained now would have other numbers
        planned = [pair for pair in shipped_plan(entry, facts) if pair[1] in wanted and key(pair[1]) in facts["runs"]]
        for spec, rows in _rows(shipped_table(name, scale), planned):
            steps, accuracy, diverged = (rows[column].to_numpy() for column in ("step", "accuracy", "diverged"))
            histories.setdefault(spec, ShippedHistory(spec, steps, accuracy, bool(diverged.any()), name, facts))
    return histories


def _rows(table: pd.DataFrame, planned: Iterable[tuple[dict, RunSpec]]) -> Iterator[tuple[RunSpec, pd.DataFrame]]:
    """Each of these runs that has rows in a table, and its rows."""
    columns = [name for name in table.columns if name not in ("step", "accuracy", "diverged")]
    groups = dict(iter(table.groupby(columns, sort=False)))
    for labels, spec in planned:
        rows = groups.get(tuple((labels | {"seed": spec.seed})[name] for name in columns))
        if rows is not None:
            yield spec, rows
