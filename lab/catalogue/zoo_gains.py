"""What a learned function gains: accuracy over training with it minus that of the baseline, read from trained runs."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lab.catalogue.figure import find_table, read_table
from lab.catalogue.shipped import RESULTS
from lab.estimates import Estimate, nested
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.papers.simplicity.defaults import of_table
from lab.papers.simplicity.settings import LEARNED, RELU
from lab.papers.tables import curves
from lab.papers.transformers.compatibility.figures import PARTS
from lab.papers.transformers.defaults import of_sequences
from lab.papers.transformers.settings import BASELINE, BOTH, MLP, SEEDS
from lab.run import Run
from lab.scale import COMMON
from lab.spec import (
    EpisodeSpec,
    Learned,
    ModuleSearch,
    OwnTable,
    RunSpec,
    SearchSpec,
    TwoLossSpec,
    from_json,
    key,
    known_here_alone,
    on_sequences,
    replace,
)
from lab.statistics import LEVEL
from lab.store import Store
from lab.tasks import Text

if TYPE_CHECKING:
    import pandas as pd

Search = SearchSpec | EpisodeSpec | TwoLossSpec
ENDS = ("end", "mean")  # when a gain is measured: at the end of training, as a mean over it
MEASURED = tuple(f"{name}_{at}" for at in ENDS for name in ("gain", "low", "high"))
NOTHING = dict.fromkeys(("seeds", *MEASURED, "unit", "steps", "measured"))
# what tables of learning curves call the runs with a search's functions, by what it learned
METHODS = {("mlp",): MLP, ("mlp", "attention"): BOTH}


def gain(phi: Spline, plain: dict, store: Store | None = None) -> dict:
    """seeds; gain_end, low_end, high_end, gain_mean, low_mean, high_mean; their unit (percentage points); steps;
    measured (where).

    phi: the function. plain: the spec of its search, as JSON gives it. The statistic of `mean` is the one of Figure 2's
    summary: accuracy over training with the function minus that of the baseline, with Welch's interval (95 %) over
    seeds; that of `end` is the same of the last step; runs that diverged are left out. Of several tables the longest
    training counts, then the one with most seeds; shipped results before the store.
    """
    try:
        spec = from_json(json.dumps(plain))
    except (LookupError, TypeError, ValueError, AttributeError):  # of a lab with other kinds of specs
        return NOTHING
    if isinstance(spec, ModuleSearch):  # what it gains is kept with it, where it was measured
        return NOTHING
    if not isinstance(spec, Search):
        raise ValueError(f"its spec is a {type(spec).__name__}, and not one of a search")
    shipped = [(where, *_compared(*tables)) for where, *tables in _shipped(key(spec), spec)]
    measurements = shipped or [("store", *_compared(*tables)) for tables in _stored(phi, spec, store or Store())]
    measurements = [(where, both, steps) for where, both, steps in measurements if both["mean"].n]
    if not measurements:
        return NOTHING
    where, both, steps = max(measurements, key=lambda row: (row[2], row[1]["mean"].n))
    numbers: dict[str, float] = {}
    for at in ENDS:
        named = zip(("gain", "low", "high"), (both[at].effect, *both[at].interval(LEVEL)), strict=True)
        numbers |= {f"{name}_{at}": round(value, 2) + 0.0 for name, value in named}  # + 0: no -0.0
    return {"seeds": both["mean"].n} | numbers | {"unit": "points", "steps": steps, "measured": where}


def _compared(ours: pd.DataFrame, baseline: pd.DataFrame) -> tuple[dict[str, Estimate], int]:
    """Accuracy at the last of the steps that both kinds have, and its mean over them, ours minus baseline, in
    percentage points; and that last step."""
    steps = sorted(set(ours["step"]) & set(baseline["step"]))
    shared = [t[~t["diverged"].astype(bool) & t["step"].isin(steps)] for t in (ours, baseline)]
    means = [100 * table.groupby("seed")["accuracy"].mean() for table in shared]
    ends = [100 * table[table["step"] == steps[-1]].groupby("seed")["accuracy"].mean() for table in shared if steps]
    ends = ends or means
    return {"mean": nested([means[0]], means[1]), "end": nested([ends[0]], ends[1])}, max(steps, default=0)


def _shipped(name: str, spec: Search) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Shipped results that trained with what this search found: where, rows with it, rows of the baseline."""
    for folder in sorted(path.parent for path in RESULTS.glob("*/*/*/provenance.json")):
        if name not in json.loads((folder / "provenance.json").read_text(encoding="utf-8")).get("searches", {}):
            continue
        table = _read(folder, "curves" if find_table(folder, "curves") else "table")
        if not {"task", "seed", "step", "accuracy", "diverged"} <= set(table) or "width" in table:
            continue  # no curves, or those of other widths, too
        rows, where = table[table["task"] == spec.task_name], f"{folder.parent.parent.name}/{folder.parent.name}"
        if not on_sequences(spec):
            if "method" not in rows:
                continue
            ours, baseline = rows["method"] == LEARNED, rows["method"] == RELU
        elif isinstance(spec, SearchSpec) and spec.start != "zero":
            continue  # figures call what begins with another function by another name
        elif "method" in rows:
            ours, baseline = rows["method"] == METHODS.get(spec.learn), rows["method"] == BASELINE
            if "search" in rows:
                ours &= rows["search"] == spec.seed
        else:
            mine = rows["part"] == {learned: part for part, learned in PARTS.items()}[spec.learn]
            ours, baseline = mine & (rows["architecture"] == spec.task), mine & (rows["architecture"] == BASELINE)
        if ours.any() and baseline.any():
            yield where, rows[ours], rows[baseline]


def _read(folder: Path, name: str) -> pd.DataFrame:
    """A shipped table, read once as long as nobody writes it anew: the zoo asks for each function."""
    path = find_table(folder, name)
    return _table(folder, name, path.stat().st_mtime_ns if path else 0)


@functools.lru_cache(maxsize=16)
def _table(folder: Path, name: str, written: int) -> pd.DataFrame:
    return read_table(folder, name)


def _stored(phi: Spline, spec: Search, store: Store) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """The same from the store, for seeds that have a run of both kinds: of `lab figure`, or of `lab.train(mlp=phi)`."""
    for scale in COMMON:
        seeds = SEEDS[scale]
        base, kinds = _base(phi, spec, scale, seeds)
        for kind in kinds:
            pairs = [pair for pair in zip(kind, base, strict=True) if all(map(store.has, pair))]
            if pairs:
                ours, baseline = zip(*pairs, strict=True)
                yield _curves(ours, store), _curves(baseline, store)


def _base(phi: Spline, spec: Search, scale: str, seeds: int) -> tuple[list[RunSpec], list[list[RunSpec]]]:
    """Runs of the baseline, and runs with the function: named by its search, or by its values."""
    if on_sequences(spec):
        if not isinstance(spec.task, (str, Text)):  # with one's own models no runs without the function are kept
            return [], []
        settings = of_sequences(spec.task, scale)
        kinds = [settings.runs(seeds, spec)]
        if spec.learn == ("mlp",):
            kinds.append(settings.runs(seeds, mlp=as_part(phi)))
        elif spec.learn == ("attention",):
            kinds.append(settings.runs(seeds, attention=as_part(phi)))
        return settings.runs(seeds), kinds
    if spec.learn != "shared" or isinstance(spec.task, tuple):
        return [], []
    if isinstance(spec.task, OwnTable) and not (known_here_alone(spec.task) and spec.task.classification):
        return [], []  # whose data is not here, or has no accuracy
    base = of_table(spec.task, scale).runs(seeds)
    parts = (Learned(spec, "phi"), as_part(phi))
    return base, [[replace(run, model=replace(run.model, phi=part)) for run in base] for part in parts]


def _curves(specs: tuple[RunSpec, ...], store: Store) -> pd.DataFrame:
    return curves([({}, Run(spec, store)) for spec in specs])
