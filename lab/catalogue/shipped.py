"""Results that are shipped with the lab: tables, provenance, learning curves, and figures drawn from them."""

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.catalogue import registry
from lab.catalogue.figure import Figure, draw
from lab.catalogue.results import PROVENANCE, Results, note, pack, sealed, with_note
from lab.errors import LabError
from lab.files import put
from lab.nonlinearity.spline import Spline
from lab.papers.entry import Entry, Planned
from lab.papers.tables import curves
from lab.places import RESULTS, SHIPPED
from lab.scale import BEST, check_scale
from lab.spec import RunSpec, key, needs
from lab.store import Store
from lab.versions import arithmetic

# In a provenance of all tasks of a figure, and known of none of them alone
OF_ALL_TASKS = ("seconds", "training_seconds", "kernels", "commits", "instructions", "arithmetic", "numerics")


def shipped_results(name: str, scale: str) -> Results:
    """The shipped results of an entry at a scale, which need not be there.

    >>> shipped_results("transformers/fig6", "laptop").table().columns.tolist()
    ['task', 'x', 'value', 'density', 'accuracy']
    """
    return Results(RESULTS / name / scale)


def trained(entry: Entry, scale: str, store: Store) -> bool:
    """Whether the store has all runs of an entry; never where there are none to train."""
    planned, _ = entry.known(scale, entry.seeds[scale], store)
    return bool(planned) and all(store.has(spec) for _, spec in planned)


def resolve_scale(entry: Entry, scale: str = BEST, store: Store | None = None) -> str:
    """The scale that is meant. By "best" the largest, above smoke, at which results of all tasks of an entry are
    shipped, or all its runs are in the store, if one is given; laptop where there is none.

    >>> resolve_scale(registry.entry("transformers/fig6")), resolve_scale(registry.entry("transformers/fig6"), "smoke")
    ('paper', 'smoke')
    """
    if check_scale(scale, (*entry.scales, BEST)) != BEST:
        return scale
    for scale in reversed(entry.scales):
        whole = shipped_results(entry.name, scale).tasks(entry) == entry.tasks
        if scale != "smoke" and (whole or store is not None and trained(entry, scale, store)):
            return scale
    return "laptop"


def shipped_plan(entry: Entry, facts: dict) -> list[Planned]:
    """What an entry plans today, for the number of seeds that results with this provenance were made with.

    That is the entry's own number where its plan has exactly these runs (some kinds may have more seeds than others),
    else the number of seeds that the provenance lists. Of an entry that is `tuned`, at the rates that were chosen.
    """
    plan: list[Planned] = []
    for seeds in (entry.seeds[facts["scale"]], max(1, len(facts["seeds"]))):
        plan = entry.plan(facts["scale"], seeds)
        if entry.tuned:
            plan = [one for one in plan if key(one[1]) in facts["runs"]]
        if {key(spec) for _, spec in plan} == set(facts["runs"]):
            break
    return plan


def read(entry: Entry, scale: str, here: Results | None = None) -> Figure:
    """A figure drawn anew from its results, by default the shipped ones; settings and departures are those of the runs
    that it has."""
    here = shipped_results(entry.name, scale) if here is None else here
    facts, names = dict(here.facts), ["table", *(name for name in here.files if name in ("curves", "functions"))]
    table, *others = map(here.table, names)
    tasks = here.tasks(registry.entry(entry.name))
    if set(entry.tasks) < set(tasks):
        table, *others = (rows[rows["task"].isin(entry.tasks)].reset_index(drop=True) for rows in (table, *others))
        facts = facts_of_tasks(entry, facts)
    elif len(tasks) < len(entry.tasks):
        entry = entry.for_tasks(tasks)
    if set(facts["runs"]) == {key(spec) for _, spec in shipped_plan(entry, facts)}:
        facts |= entry.settings(scale)  # how the same runs are put into words may have been corrected
    return draw(entry, scale, table, facts, dict(zip(names[1:], others, strict=True)))


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


def redraw(name: str, scale: str = "laptop") -> None:
    """Write the image (of the largest scale alone), the plot and the provenance of a shipped figure anew, and pack it.

    The tables stay as they are, and so do their digests. Raises LabError where no image can be made, or a table is not
    the one that the provenance tells of.
    """
    here, entry = shipped_results(name, scale), registry.entry(name)
    with tempfile.TemporaryDirectory() as place:
        *_, last = read(entry, scale).write(place, page=False)
        if not isinstance(last, Path):
            raise LabError(last)
        facts = Results(Path(place)).facts
        facts["tables"] = here.digests()  # of the files here: a number that was read may be written otherwise
        put(here.folder / "figure.json", (Path(place) / "figure.json").read_bytes())
        if scale == resolve_scale(entry):
            put(here.folder / "figure.png", with_note((Path(place) / "figure.png").read_bytes(), note(facts)))
    put(here.folder / PROVENANCE, sealed(facts))
    pack(here.folder)


def copy_searches(specs: Iterable[RunSpec], store: Store) -> None:
    """Copy the results of searches that these runs need and that are shipped into a store that lacks them.

    Runs with a function that is shipped so need no search, which takes hours where a model has the paper's size.
    """
    shipped = Store(SHIPPED)
    for search in dict.fromkeys(search for spec in specs for search in needs(spec)):
        if not store.has(search) and shipped.has(search):
            shipped.copy_to(store, search)


def shipped_functions(names: Iterable[str], scale: str = "laptop") -> dict[str, Spline]:
    """The learned functions in the shipped results of these figures, by task: those that were chosen.

    >>> shipped_functions(["simplicity/fig28"])["a+b mod 27"].low
    -2.0
    """
    splines: dict[str, Spline] = {}
    for name in names:
        here = shipped_results(name, scale)
        if "functions" not in here.files:
            continue
        functions = here.table("functions")
        for task, rows in functions[functions["chosen"].astype(bool)].groupby("task", sort=False):
            x, values = rows["x"].to_numpy(), torch.tensor(rows["value"].to_numpy(), dtype=torch.float32)
            splines.setdefault(task, Spline(values, float(x[0]), float(x[-1])))
    return splines


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


def shipped_histories(paper: str, scale: str, specs: Iterable[RunSpec]) -> dict[RunSpec, ShippedHistory]:
    """Those of these runs whose learning curves are in a shipped table of this paper at this scale, if all of its runs
    are of today's revision of the arithmetic.

    The tables of some entries are learning curves, one row a run and evaluation. A figure that needs a run of such a
    table, and of the run only its curve, need not train it: it trains what is nowhere, and joins the two.

    >>> specs = [spec for _, spec in registry.entry("transformers/fig10").for_tasks(["memorize"]).plan("paper", 6)]
    >>> len(specs), len(shipped_histories("transformers", "paper", specs))  # trained before revision 5
    (18, 0)
    """
    wanted = set(specs)
    histories: dict[RunSpec, ShippedHistory] = {}
    for name, entry in registry.entries(paper).items():
        here = shipped_results(name, scale)
        if entry.measure is not curves or not here.facts or not wanted - set(histories):
            continue
        facts, table = here.facts, here.table()
        columns = [column for column in table.columns if column not in ("step", "accuracy", "diverged")]
        groups = dict(iter(table.groupby(columns, sort=False)))
        for labels, spec in shipped_plan(entry, facts):
            rows = groups.get(tuple((labels | {"seed": spec.seed})[column] for column in columns))
            is_as_today = facts.get("arithmetic") == [arithmetic(spec)]  # else runs trained now have other numbers
            if rows is not None and is_as_today and spec in wanted and key(spec) in facts["runs"]:
                steps, accuracy, diverged = (rows[column].to_numpy() for column in ("step", "accuracy", "diverged"))
                histories.setdefault(spec, ShippedHistory(spec, steps, accuracy, bool(diverged.any()), name, facts))
    return histories
