"""Results that are shipped with the lab: where they are, and the functions among them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lab.catalogue import provenance_file, table_files
from lab.nonlinearity.spline import Spline
from lab.spec import RunSpec, key, needs
from lab.store import SHIPPED, Spec, Store

if TYPE_CHECKING:
    import pandas as pd

    from lab.papers.entry import Entry, Planned

RESULTS = Path(__file__).parents[2] / "data" / "results"


def folder_of(name: str, scale: str) -> Path:
    """Where the results of this entry are, or would be."""
    return RESULTS / name / scale


def has_results(name: str, scale: str) -> bool:
    """Whether results of this entry are shipped."""
    return (folder_of(name, scale) / "provenance.json").is_file()


def shipped_tasks(entry: Entry, scale: str) -> tuple[str, ...]:
    """The tasks of an entry that its shipped results show: all of them, or those that its provenance names."""
    return tasks_of(entry, folder_of(entry.name, scale)) if has_results(entry.name, scale) else ()


def tasks_of(entry: Entry, folder: Path) -> tuple[str, ...]:
    """The tasks of an entry that the results in a folder show: all, unless a provenance there names some.

    Raises LabError where that cannot be read.
    """
    return tuple(_facts(folder).get("tasks", entry.tasks)) if (folder / "provenance.json").exists() else entry.tasks


def provenance_of(name: str, scale: str) -> dict:
    """The provenance of shipped results. Raises LabError where it cannot be read."""
    return _facts(folder_of(name, scale))


def _facts(folder: Path) -> dict:
    return provenance_file.read(folder / "provenance.json", "bring it back, or train with --force")


def shipped_plan(entry: Entry, facts: dict) -> list[Planned]:
    """What an entry plans today, for the number of seeds that results with this provenance were made with.

    That is the entry's own number where its plan has exactly these runs (some kinds may have more seeds than others),
    else the number of seeds that the provenance lists.
    """
    scale = facts["scale"]
    plan = entry.plan(scale, entry.seeds[scale])
    if {key(spec) for _, spec in plan} == set(facts["runs"]):
        return plan
    return entry.plan(scale, max(1, len(facts["seeds"])))


# Noted of no single run.
OF_ALL_TASKS = ("seconds", "training_seconds", "kernels", "commits", "instructions", "arithmetic", "numerics")


def facts_of_tasks(entry: Entry, facts: dict) -> dict:
    """The provenance of shipped results, where an entry shows fewer of their tasks: with the runs, searches and data of
    these alone. What is known of all tasks together stays, and is named as such."""
    runs = {name: said for name, said in facts["runs"].items() if said.rpartition(", seed ")[0] in entry.tasks}
    seeds = {int(said.rpartition(", seed ")[2]) for said in runs.values()}
    sources = {source["name"] for source in entry.origin.data(facts["scale"])}
    part = {
        "tasks": list(entry.tasks),
        "runs": runs,
        "seeds": [seed for seed in facts["seeds"] if seed in seeds],
        "data": [source for source in facts["data"] if source["name"] in sources],
        "diverged": [name for name in facts["diverged"] if name in runs],
        "of_all_tasks": [name for name in OF_ALL_TASKS if name in facts],
    }
    if "joined" in facts:
        part["joined"] = {name: source for name, source in facts["joined"].items() if name in runs}
    planned = {key(spec): spec for _, spec in shipped_plan(entry, part | {"scale": facts["scale"]})}
    if set(runs) <= set(planned):  # else the runs have earlier settings, and their searches are not known one by one
        needed = {key(search) for name in runs for search in needs(planned[name])}
        part["searches"] = {name: task for name, task in facts["searches"].items() if name in needed}
    return {name: value for name, value in facts.items() if name != "tables"} | part  # digests are of whole tables


def best_scale(entry: Entry) -> str:
    """The largest scale at which results of all tasks of an entry are shipped; laptop where there is none.

    >>> from lab.catalogue.registry import entry
    >>> best_scale(entry("transformers/fig6"))
    'paper'
    """
    whole = [scale for scale in entry.scales if set(entry.tasks) <= set(shipped_tasks(entry, scale))]
    return whole[-1] if whole and whole[-1] != "smoke" else "laptop"


def shipped_table(name: str, scale: str = "laptop", which: str = "table") -> pd.DataFrame:
    """A table of shipped results: `which` is "table", or for some entries "curves" or "functions".

    Raises LabError where it is not there, cannot be read, or is not the one that its provenance tells of.

    >>> shipped_table("transformers/fig6").columns.tolist()
    ['task', 'x', 'value', 'density', 'accuracy']
    """
    return table_files.read(folder_of(name, scale), which)


def copy_searches(specs: Iterable[RunSpec], store: Store) -> list[Spec]:
    """Copy the results of searches that these runs need and that are shipped into a store that lacks them; these.

    Runs with a function that is shipped so need no search, which takes hours where a model has the paper's size.
    """
    shipped = Store(SHIPPED)
    searches = dict.fromkeys(search for spec in specs for search in needs(spec))
    lacking = [search for search in searches if not store.has(search) and shipped.has(search)]
    for search in lacking:
        shipped.copy_to(store, search)
    return lacking


def has_table(name: str, scale: str = "laptop", which: str = "table") -> bool:
    """Whether this table is among the shipped results."""
    return table_files.find(folder_of(name, scale), which) is not None


def shipped_functions(scale: str = "laptop") -> dict[str, Spline]:
    """Functions that were learned for operations, by task, from the results that are shipped with the lab.

    >>> shipped_functions()["a+b mod 27"].low
    -2.0
    """
    import torch

    splines: dict[str, Spline] = {}
    for name in ("simplicity/fig11", "simplicity/fig12", "simplicity/fig28"):
        if not has_table(name, scale, "functions"):
            continue
        functions = shipped_table(name, scale, "functions")
        for task, rows in functions[functions["chosen"].astype(bool)].groupby("task", sort=False):
            x, values = rows["x"].to_numpy(), torch.tensor(rows["value"].to_numpy(), dtype=torch.float32)
            splines.setdefault(task, Spline(values, float(x[0]), float(x[-1])))
    return splines
