"""The zoo with what its functions gain and receive, and how what a search found gets there.

`lab.nonlinearity.zoo` reads the functions. A paper that learns them says in its module `interface` which runs, and
which rows of its tables, are with a function.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd

from lab.catalogue.registry import papers_with
from lab.catalogue.results import Results, every
from lab.catalogue.shipped import shipped_results
from lab.errors import LabError
from lab.estimates import Estimate, nested
from lab.nonlinearity import document
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import is_of_another, with_own, zoo_files
from lab.papers.entry import SEEDS
from lab.papers.tables import alive, curves
from lab.places import RESULTS
from lab.probes.profile import Received, profile, received
from lab.resolve import resolve
from lab.run import Run
from lab.scale import COMMON
from lab.search_results import EpisodeResult, SearchResult
from lab.spec import EpisodeSpec, ModuleSearch, SearchSpec, TwoLossSpec, from_json, key, needs, on_sequences
from lab.statistics import LEVEL
from lab.store import Store
from lab.tasks.named import task_title
from lab.training.fleet import build

Search = SearchSpec | EpisodeSpec | TwoLossSpec
ENDS = ("end", "mean")  # when a gain is measured: at the end of training, as a mean over it
MEASURED = tuple(f"{name}_{at}" for at in ENDS for name in ("gain", "low", "high"))
NOTHING = dict.fromkeys(("seeds", *MEASURED, "unit", "steps", "measured"))


def publish(result: SearchResult | EpisodeResult, folder: Path, name: str = "") -> list[Path]:
    """Write what a search of a task found, as `result.publish` does; return the files.

    name: of the task, as a file may be called; default: the task's own. A function of the attention has "-attention"
    added, those of inputs "-inputs", and those of MLP and attention that were learned together "-both". A function of
    another search is replaced, with a line on stderr; one of a larger scale is not replaced by one of smoke.
    """
    spec, parts = result.spec, list(result.splines)
    name = name or spec.task_name
    if len(parts) == 1 and parts[0] not in ("mlp", "phi"):
        name += f"-{parts[0]}"
    elif len(parts) > 1 and on_sequences(spec):
        name += "-both"
    scale = _of_paper(spec).scale_of(spec)
    files = [folder / f"{full_name}.json" for full_name in result.named(name)]
    for path in files:
        if is_of_another(path, result.provenance):
            if scale == "smoke" and (there := _scale_in(path)) not in (None, "smoke"):
                said = f"{path} is of a search at scale {there}, and is not replaced by one of smoke"
                raise LabError(f"{said}, whose numbers mean nothing; name another folder with --out")
            print(f"{path.name} was of another search, which can be repeated; it is replaced", file=sys.stderr)
    result.publish(name, folder=folder, replace=True, scale=scale)
    return files


def _scale_in(path: Path) -> str | None:
    """The scale of the search that a file's function is from; None where it does not say."""
    try:
        return document.read(path)["provenance"]["scale"]
    except (OSError, ValueError, LabError, LookupError, TypeError):  # none of the lab's, or damaged
        return None


def table(folder: str | Path | None = None) -> pd.DataFrame:
    """One row a function, see `lab.zoo`; folder: your own zoo, default: the one that LAB_ZOO names, else "zoo" in the
    store's folder."""
    rows, problems = {}, {}
    for name, path in zoo_files(folder).items():
        facts, measured = {}, NOTHING
        try:
            phi = Spline.load(path)
            facts = _facts(document.read(path).get("provenance", {}))
            if "gain" in facts:
                measured = _measured(facts["gain"])
            elif "spec" in facts:
                measured = gain(phi, facts["spec"])
        except LabError as error:  # the others can still be listed
            problems[name] = str(error)
        except Exception as error:  # a provenance that others wrote may be anything; the function itself was read
            problems[name] = f"{path} has a provenance that cannot be read ({type(error).__name__}: {error})"
        rows[name] = {column: facts.get(column) for column in ("task", "part", "paper", "scale")} | measured
        rows[name] |= {"device": facts.get("device_name"), "commit": facts.get("lab_commit", "")[:7]}
        rows[name]["key"] = facts.get("key", "")[:12]
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")
    table = table.astype({"seeds": "Int64", "steps": "Int64"}) if len(table) else table
    table = table.assign(problem=pd.Series(problems)).fillna({"problem": ""}) if problems else table
    return whole_in_print(table)


def whole_in_print(table: pd.DataFrame) -> pd.DataFrame:
    """A table that is printed with all its columns, side by side as far as the terminal is wide, then below each other;
    pandas would leave out most.

    >>> import pandas as pd
    >>> "column 12" in repr(whole_in_print(pd.DataFrame({f"column {n}": ["a long text"] for n in range(13)})))
    True
    """

    class Printed(pd.DataFrame):
        @property
        def _constructor(self):  # what is made of it is a table as any other
            return pd.DataFrame

        def __repr__(self) -> str:
            return self.to_string(line_width=shutil.get_terminal_size().columns, na_rep="")

        __str__ = __repr__

    return Printed(table)


def _measured(gain: dict) -> dict:
    """What was kept of a comparison. Older files have the gain at the end alone."""
    older = {f"{name}_end": gain.get(name) for name in ("gain", "low", "high")}
    older["unit"] = "points" if str(gain.get("measured")).startswith("accuracy ") else ""
    return {name: gain.get(name, older.get(name)) for name in NOTHING}


def _facts(provenance: dict) -> dict:
    """What the table shows of a provenance. ValueError where it is none of the lab's."""
    names = ("task", "part", "paper", "scale", "device_name", "key")
    facts = {name: provenance[name] for name in names if provenance.get(name) is not None}
    if commit := provenance.get("versions", {}).get("lab_commit"):
        facts["lab_commit"] = commit
    if wrong := [name for name, value in facts.items() if not isinstance(value, str)]:
        raise ValueError(f"{wrong[0]} is no text")
    return facts | {name: provenance[name] for name in ("spec", "gain") if name in provenance}


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
    shipped = [(where, *_compared(*tables)) for where, *tables in _shipped(spec)]
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


def _of_paper(search: Search | ModuleSearch) -> ModuleType:
    """The module of the paper that has such a search's task."""
    return next(paper for paper in papers_with("has") if paper.has(search))


def _compared(ours: pd.DataFrame, baseline: pd.DataFrame) -> tuple[dict[str, Estimate], int]:
    """Accuracy at the last of the steps that both kinds have, and its mean over them, ours minus baseline, in
    percentage points; and that last step."""
    steps = sorted(set(ours["step"]) & set(baseline["step"]))
    shared = [rows[rows["step"].isin(steps)] for rows in (alive(ours), alive(baseline))]
    means = [100 * rows.groupby("seed")["accuracy"].mean() for rows in shared]
    ends = [100 * rows[rows["step"] == steps[-1]].groupby("seed")["accuracy"].mean() for rows in shared if steps]
    ends = ends or means
    return {"mean": nested([means[0]], means[1]), "end": nested([ends[0]], ends[1])}, max(steps, default=0)


def _shipped(search: Search) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Shipped results that trained with what this search found: where, rows with it, rows of the baseline."""
    for results in every(RESULTS):
        folder, files = results.folder, results.files
        if key(search) not in _searches(folder, folder.stat().st_mtime_ns):
            continue
        name = "curves" if "curves" in files else "table"
        rows = _read(folder, name, files[name].stat().st_mtime_ns if name in files else 0)
        if not {"task", "seed", "step", "accuracy", "diverged"} <= set(rows) or "width" in rows:
            continue  # no curves, or those of other widths, too
        rows = rows[rows["task"] == search.task_name]
        ours, baseline = _of_paper(search).compared_rows(rows, search) or (rows["task"] == "", rows["task"] == "")
        if ours.any() and baseline.any():
            yield f"{folder.parent.parent.name}/{folder.parent.name}", rows[ours], rows[baseline]


@lru_cache(maxsize=512)
def _searches(folder: Path, written: int) -> frozenset[str]:
    """Keys of the searches in a provenance, read once as long as nobody writes it anew."""
    return frozenset(Results(folder).facts.get("searches", {}))


@lru_cache(maxsize=16)
def _read(folder: Path, name: str, written: int) -> pd.DataFrame:
    return Results(folder).table(name)


def _stored(phi: Spline, search: Search, store: Store) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """The same from the store, for seeds that have a run of both kinds: of `lab figure`, or of `lab.train(mlp=phi)`."""
    for scale in COMMON:
        base, kinds = _of_paper(search).compared_runs(phi, search, scale, SEEDS[scale])
        for kind in kinds:
            pairs = [pair for pair in zip(kind, base, strict=True) if all(map(store.has, pair))]
            if pairs:
                yield tuple(curves([({}, Run(spec, store)) for spec in side]) for side in zip(*pairs, strict=True))


def inputs_of(phi: Spline, store: Store | None = None) -> Received | None:
    """What an MLP's learned function really receives in its task's trained model; None where no such model is known.

    Looked for by the function's values, so that inputs never stand beside a function that did not receive them: in
    shipped tables that have what functions receive, then among the runs of the store.
    """
    for paper in papers_with("INPUTS"):
        known = _received_in(paper.INPUTS, phi)
        if known is None and with_own():
            known = _received(phi, paper, store or Store())
        if known is not None:
            return known
    return None


def _received_in(figure: str, phi: Spline) -> Received | None:
    """What the table of a shipped figure says that a function receives."""
    for scale in COMMON:
        here = shipped_results(figure, scale)
        path = here.files.get("table")
        if path is None:
            continue
        for task, rows in _read(here.folder, "table", path.stat().st_mtime_ns).groupby("task", sort=False):
            x, y, share = (rows[column].to_numpy() for column in ("x", "value", "density"))
            if _same(x[0], x[-1], y, phi):
                where = f"{task_title(task)} model of {figure}, scale {scale}"
                return Received(x, share / share.sum(), where) if share.sum() > 0 else None  # 0: the model diverged
    return None


def _received(phi: Spline, paper: ModuleType, store: Store) -> Received | None:
    """The same of a run in the store."""
    for scale in reversed(COMMON):  # the largest first
        for spec in paper.runs_with(phi, scale):
            if not all(map(store.has, (*needs(spec), spec))):
                continue
            known = build([resolve(spec.model.mlp, store)])
            same = isinstance(known, Spline) and _same(known.low, known.high, known.values.detach().cpu().numpy(), phi)
            if same and len(inputs := paper.mlp_inputs(Run(spec, store))):
                return received(inputs, profile(phi), f"{spec.task_name} model in the store, scale {scale}")
    return None


def _same(low: float, high: float, values: np.ndarray, phi: Spline) -> bool:
    """Whether a function with these values at even steps from low to high is phi; shipped tables keep few digits."""
    ours = phi.values.detach().cpu().numpy()
    if values.shape != ours.shape or not np.allclose((low, high), (phi.low, phi.high), rtol=0, atol=1e-3):
        return False
    return np.allclose(values, ours, rtol=1e-3, atol=1e-3 * np.ptp(ours) + 1e-12)
