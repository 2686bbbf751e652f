"""Whether a picture that the lab drew shows the numbers that it gives here."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lab.catalogue import registry
from lab.catalogue.build import figure
from lab.catalogue.results import Results, contents, digests, read_note, runs_digest
from lab.catalogue.shipped import shipped_results
from lab.errors import LabError, listed
from lab.scale import check_scale
from lab.store import Store


def verify(path: str | Path) -> tuple[bool, str]:
    """Whether a picture shows the numbers that the lab gives here, and a line that says it.

    The figure's results here are read, shipped or from the store; nothing is trained. Raises LabError where the picture
    has no note, or there are no results to compare it with.
    """
    stated, whole = read_note(path)
    of = f"{stated['entry']}, scale {stated['scale']}"
    if not whole:
        return False, f"{path} was changed after the lab drew it; its note says {of}"
    entry, scale = registry.entry(stated["entry"]), stated["scale"]
    tasks, seeds = stated.get("tasks"), stated.get("seeds_asked")  # where not all of the figure was asked for
    check_scale(scale, entry.scales)
    of_these = entry.for_tasks(tasks) if tasks else entry
    planned, _ = of_these.known(scale, seeds or entry.seeds[scale], store := Store())
    stored = all(store.has(spec) for _, spec in planned)
    whole = shipped_results(entry.name, scale).tasks(of_these) == of_these.tasks
    shipped = not seeds and whole and not (stored and planned)
    if not stored and not shipped:
        raise LabError(f"{path}: {of}: there are no results here to compare with; `lab figure {path}` makes them")
    made = figure(entry.name, scale, seeds=seeds, shipped=shipped, progress=False, tasks=tasks)
    tables = {"table": made.table, **made.extras}
    now = digests(contents(tables))
    if now == stated["tables"]:
        return True, f"{path}: {of}: the same numbers"
    if runs_digest(made.provenance) != stated["runs"]:
        return False, f"{path}: {of}: of other runs ({stated['seeds']} seeds) than those that are here"
    drawn = Results(Path(path).parent)
    other = [name for name in stated["tables"] if now.get(name) != stated["tables"][name]]
    if "table" in drawn.files and drawn.digests() == stated["tables"]:
        theirs = {name: drawn.table(name) for name in other}
        if entry.timed and other == ["table"] and _as_drawn(theirs["table"], made.table, entry.timed):
            return True, f"{path}: {of}: the same numbers, but for times ({listed(entry.timed)}), which are taken anew"
        said = "; ".join(f"{name}: {differing(theirs[name], tables.get(name))}" for name in other)
        return False, f"{path}: {of}: {said}"
    cure = "where its tables lie in its folder, they are compared cell by cell"
    if entry.timed:
        cure = f"times ({listed(entry.timed)}) are taken anew whenever it is made; {cure}"
    return False, f"{path}: {of}: other numbers ({', '.join(other)}); {cure}"


def _as_drawn(one: pd.DataFrame, other: pd.DataFrame, timed: Sequence[str]) -> bool:
    """Whether a table that was read differs from one that was made in nothing but columns that are timed."""
    read = pd.read_csv(io.BytesIO(contents({"table": other})["table"]))
    columns = [name for name in timed if name in read]
    return list(one) == list(read) and one.drop(columns=columns).equals(read.drop(columns=columns))


def differing(one: pd.DataFrame, other: pd.DataFrame | None) -> str:
    """How two tables differ, in words.

    >>> differing(pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [1.0, 2.5]}))
    '1 of 2 cells differ, by at most 0.5'
    """
    if other is None or one.shape != other.shape or list(one) != list(other):
        return "other rows or columns"
    numbers = one.select_dtypes("number").columns.intersection(other.select_dtypes("number").columns)
    gap = np.abs(one[numbers].to_numpy(float) - other[numbers].to_numpy(float))
    gap[one[numbers].isna().to_numpy() & other[numbers].isna().to_numpy()] = 0
    words = one.drop(columns=numbers).astype(str).to_numpy() != other.drop(columns=numbers).astype(str).to_numpy()
    count = int((gap != 0).sum() + words.sum())
    return f"{count} of {one.size} cells differ, by at most {gap.max(initial=0):.2g}"
