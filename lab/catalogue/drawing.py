"""Figures from tables that were measured: a new one, or one that is shipped with the lab."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lab.catalogue import provenance_file, registry
from lab.catalogue.caption import caption, headline
from lab.catalogue.figure import Figure
from lab.catalogue.shipped import (
    best_scale,
    facts_of_tasks,
    folder_of,
    has_table,
    provenance_of,
    shipped_plan,
    shipped_table,
    shipped_tasks,
)
from lab.catalogue.table_files import digests_of, pack
from lab.errors import LabError
from lab.papers.entry import Entry
from lab.plots.caption import true_minus
from lab.spec import key
from lab.temporary import put

if TYPE_CHECKING:
    import pandas as pd


def draw(entry: Entry, scale: str, table: pd.DataFrame, facts: dict, extras: dict) -> Figure:
    """A figure from its table, provenance and further tables."""
    results = [entry.functions_summary(extras["functions"])] if entry.functions_summary else []
    summary = true_minus(" ".join(filter(None, [*results, entry.summary(table)])))
    plot = entry.plot(table, extras["functions"]) if entry.functions else entry.plot(table)
    return Figure(
        plot,
        table,
        facts,
        caption(entry, summary, table, facts),
        entry.name,
        scale,
        summary,
        extras,
        headline=headline(entry, summary, facts),
    )


def read(entry: Entry, scale: str) -> Figure:
    """A shipped figure, drawn anew from its table; settings and departures are told of the runs that it has."""
    names = ["table", *(name for name in ("curves", "functions") if has_table(entry.name, scale, name))]
    extras = {name: shipped_table(entry.name, scale, name) for name in names}
    facts = provenance_of(entry.name, scale)
    shown = shipped_tasks(registry.entry(entry.name), scale)
    if set(entry.tasks) < set(shown):
        extras = {name: rows[rows["task"].isin(entry.tasks)].reset_index(drop=True) for name, rows in extras.items()}
        facts = facts_of_tasks(entry, facts)
    elif len(shown) < len(entry.tasks):
        entry = entry.for_tasks(shown)
    table = extras.pop("table")
    if set(facts["runs"]) == {key(spec) for _, spec in shipped_plan(entry, facts)}:
        facts |= _settings(entry, scale)  # how the same runs are put into words may have been corrected
    return draw(entry, scale, table, facts, extras)


def redraw(name: str, scale: str = "laptop") -> None:
    """Write the image (of the largest scale alone), the plot and the provenance of a shipped figure anew, and pack it.

    The tables stay as they are, and so do their digests. Raises LabError where no image can be made, or a table is not
    the one that the provenance tells of.
    """
    folder = folder_of(name, scale)
    with tempfile.TemporaryDirectory() as place:
        *_, last = read(registry.entry(name), scale).write(place, page=False)
        if not isinstance(last, Path):
            raise LabError(last)
        facts = provenance_file.read(Path(place) / "provenance.json", "")
        facts["tables"] = digests_of(folder)  # of the files here: a number that was read may be written otherwise
        shutil.copyfile(Path(place) / "figure.json", folder / "figure.json")
        if scale == best_scale(registry.entry(name)):
            shutil.copyfile(Path(place) / "figure.png", folder / "figure.png")
    put(folder / "provenance.json", provenance_file.as_json(facts))
    pack(folder)


def _settings(entry: Entry, scale: str) -> dict:
    """What an entry says of the runs of its plan: a function of their settings alone."""
    return {
        "hyperparameters": json.loads(json.dumps(entry.origin.hyperparameters(scale))),
        "departures": [*entry.notes(scale), *entry.origin.departures(scale)],
        "guesses": list(entry.origin.guesses),
    }
