"""Which optimizer ends grokking soonest? AdamW, Muon, Grokfast and ⊥Grad, with softmax and StableMax, with ReLU and a
learned function, each at the best of a few rates.

Published answers disagree, and are from one rate, or from single curves. Models and test split are those of Figure 11
of the simplicity paper, whose own runs follow the squared error by plain descent; with softmax and ReLU, AdamW
memorizes within 20 steps and generalizes some hundred later, if its weights decay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import proportion
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.papers.claims import FAILS, HOLDS, Claim, Verdict, absent, all_of, any_of
from lab.papers.entry import SILENT, Entry, Field, Origin, Planned, Tuned
from lab.papers.simplicity.settings import LEARNED, LEVEL, METHODS, RELU, TORCH_SIZE, of_operations
from lab.papers.tables import Labelled, alive, at_best_rates, best_rates, fleet_to_time, per_run, ratio_of_steps, span
from lab.places import ZOO
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import grid, line, log_axis, points
from lab.plots.style import GRID, INK, SIZE, VERMILLION, colour, faded, method_title
from lab.run import Run
from lab.scale import SCALES, check_scale
from lab.spec import ConstantRate, Part, Perceptron, RunSpec, replace
from lab.tasks import Operation
from lab.training.live import processor_seconds

ADAMW, ADAM, MUON, GROKFAST, PERP = "AdamW", "no decay", "Muon", "Grokfast", "⊥Grad"
# What a ConstantRate calls it; its decay, of a few the best on val (addition modulo 27, ReLU, softmax), and ⊥Grad has
# none, as in its paper; the rates that are tried.
OPTIMIZERS = {
    ADAMW: ("adam", 3.0, (0.003, 0.01, 0.03, 0.1, 0.3)),
    ADAM: ("adam", 0.0, (0.003, 0.01, 0.03, 0.1, 0.3)),
    MUON: ("muon", 0.5, (0.01, 0.03, 0.1, 0.3, 1.0)),
    GROKFAST: ("grokfast", 3.0, (0.003, 0.01, 0.03, 0.1, 0.3)),
    PERP: ("perpgrad", 0.0, (0.003, 0.01, 0.03, 0.1, 0.3)),
}
# Which of these rates are tried, from the first to the one before the last; at larger scales each function has its own.
TRIED = {"smoke": (1, 2), "laptop": (1, 4)}
BY_FUNCTION, ALL = {RELU: (1, 5), LEARNED: (0, 4)}, (0, 5)
LOSSES = {"softmax": "cross_entropy", "StableMax": "stablemax"}
FORMS = ("a+b", "ab")
MODULI = {"smoke": (27,), "laptop": (27,)} | dict.fromkeys(("overnight", "paper"), (27, 97))
SEEDS = {"smoke": 2, "laptop": 12, "overnight": 12, "paper": 12}
# Times as many of a task: with StableMax some seeds get there ten times as soon as others, and some never.
SEED_FACTORS = {"overnight": {"a+b mod 27": 2}}
FIRST_TUNING, TUNING = 1_000, {"smoke": 1, "laptop": 2, "overnight": 2, "paper": 2}  # seeds that no figure reports
STEPS = {RELU: 800, LEARNED: 250}  # a longer way is told of as "never"
LONGER = 4  # times as many of modulus 27 at larger scales: multiplication takes them
FUNCTION = ZOO / "simplicity/addition-27.json"  # learned for addition modulo 27; here for all operations
HELD = 0.1  # of what is not the test split: it decides on rates, and stays out of training
TEST, VAL = "test", "val"
CELL = ["task", "function", "loss", "optimizer"]
ROUNDS, PER_ROUND = {"smoke": 1, "laptop": 11}, 4  # of timing: steps of every cell in turn
AT_END = "the best rate is at an end of those tried, and a better one could turn this"
MANY, FEW = 25.0, 10.0  # times, from which on something is "up to fifty times" faster, and below which it is not


def tasks(scale: str) -> list[Operation]:
    """The operations of a scale, with softmax's loss.

    >>> [task.name for task in tasks("overnight")]
    ['a+b mod 27', 'ab mod 27', 'a+b mod 97', 'ab mod 97']
    """
    moduli = MODULI[check_scale(scale, SCALES)]
    return [Operation(form, m, held_out=HELD, loss_name="cross_entropy") for m in moduli for form in FORMS]


@cache
def learned() -> Part:
    """The function of `FUNCTION`; hundreds of runs have it."""
    return as_part(Spline.load(FUNCTION))


def run_of(scale: str, labels: dict[str, Any], task: Operation, seed: int) -> RunSpec:
    """The run of a cell (function, loss, optimizer), at a rate and on a split: `labels` name all of them."""
    optimizer, decay, _ = OPTIMIZERS[labels["optimizer"]]
    longer = LONGER if scale in ("overnight", "paper") and task.modulus == 27 else 1
    steps, every, width = (8, 4, 8) if scale == "smoke" else (longer * STEPS[labels["function"]], 5, 256)
    batch = 1024 if scale == "overnight" and task.modulus > 27 else None  # of all 6,774 rows; it is six times cheaper
    recipe = ConstantRate(steps, labels["rate"], batch, optimizer, average=1, keep="last", every=every, decay=decay)
    phi: Part = learned() if labels["function"] == LEARNED else "relu"
    model = Perceptron(width=width, phi=phi, scale=TORCH_SIZE)
    return RunSpec(replace(task, loss_name=LOSSES[labels["loss"]]), model, recipe, seed, (labels["split"],))


def plan(scale: str, seeds: int) -> list[Planned]:
    """Every cell at each rate, on `test` and with other seeds on `val`, which say at which rate those on `test` are
    trained. AdamW without decay, which StableMax is said to make up for, has ReLU alone."""
    runs: list[Planned] = []
    for task in tasks(scale):
        tested = seeds * SEED_FACTORS.get(scale, {}).get(task.name, 1)
        for function in METHODS:
            for loss in LOSSES:
                for optimizer, (_, _, rates) in OPTIMIZERS.items():
                    if function == LEARNED and optimizer == ADAM:
                        continue
                    first, after = TRIED.get(scale, BY_FUNCTION[function])
                    for rate in rates[first:after]:
                        cell = {"task": task.name, "function": function, "loss": loss, "optimizer": optimizer}
                        for split, seed, count in ((TEST, 0, tested), (VAL, FIRST_TUNING, TUNING[scale])):
                            labels = cell | {"rate": rate, "split": split}
                            runs += [(labels, run_of(scale, labels, task, seed + n)) for n in range(count)]
    return runs


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a run: task, function, loss, optimizer, rate, split ("val" decides on the rate), seed, accuracy (0 to 1,
    mean over training), step (the first with `LEVEL`, on straight lines between evaluations; NaN: none), last (step),
    ms (of a core, for a step of one run), diverged."""

    def of_run(run: Run) -> dict:
        step = run.first_step(LEVEL, run.spec.evaluate[0])
        return {"accuracy": _mean(run), "step": step, "last": int(run.steps[-1])}

    times = seconds_a_step(runs)
    table = per_run(runs, of_run).round({"step": 1})
    ms = [round(1000 * times[tuple(labels[name] for name in CELL)], 3) for labels, _ in runs]
    return table.assign(ms=ms)[[*(name for name in table if name != "diverged"), "ms", "diverged"]]


def _mean(run: Run) -> float:
    """Accuracy, 0 to 1, over training."""
    return float(np.round(float(run.accuracy.mean()), 4))


def seconds_a_step(runs: Labelled) -> dict[tuple, float]:
    """By cell, seconds of one core that a step takes for each of its runs on `test`, side by side, all cells in turn.
    All steps are torch's: the C kernel has not all of these optimizers."""
    cells: dict[tuple, list[Run]] = {}
    for labels, run in runs:
        cells.setdefault(tuple(labels[name] for name in CELL), []).append(run)
    fleets = {}
    for cell, every in cells.items():
        members = [run for run in every if not run.spec.tuning] or every  # of one that diverged at every rate
        fleets[cell] = fleet_to_time(members)
        fleets[cell].kernel = None
    rounds = ROUNDS["smoke" if next(iter(fleets.values())).recipe.last < 50 else "laptop"]
    return processor_seconds(fleets, rounds, PER_ROUND)


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on `test` at the rate of each cell that is best on `val`; beyond: whether rates on both sides of it were
    tried."""
    val = table[table["split"] == VAL]
    rows = at_best_rates(table[table["split"] == TEST], best_rates(val, CELL, "accuracy"), CELL)
    rows = rows.join(val.groupby(CELL)["rate"].agg(["min", "max"]), on=CELL).reset_index(drop=True)
    inside = (rows.pop("min") < rows["rate"]) & (rows["rate"] < rows.pop("max"))
    return rows.assign(beyond=inside)


def times_as_fast(table: pd.DataFrame, slow: dict, fast: dict, unit: str = "steps", **claimed) -> Iterator[Verdict]:
    """For each cell that has what `slow` names, how many times sooner its twin with what `fast` names gets to `LEVEL`;
    in steps, or in seconds, which are steps times what a step takes. Of runs that never do, see `ratio_of_steps`. Where
    a rate beyond those tried could turn the answer, there is none."""
    rows = chosen(table)
    kinds = {cell: one.set_index("seed") for cell, one in rows.groupby(CELL, sort=False)}
    for cell, one in kinds.items():
        named = dict(zip(CELL, cell, strict=True))
        twin = kinds.get(tuple((named | fast).values()))
        if any(named[name] != value for name, value in slow.items()) or twin is None:
            continue
        costs = [each["ms"].iloc[0] if unit == "seconds" else 1.0 for each in (one, twin)]
        sides = list(zip((one, twin), costs, strict=True))
        before, after = (alive(each)["step"].fillna(np.inf) * cost for each, cost in sides)
        lasts = tuple(float(each["last"].max()) * cost for each, cost in sides)
        case = ", ".join(value for name, value in named.items() if name not in slow)
        verdict = ratio_of_steps(before, after, lasts, LEVEL, case=case, **claimed)
        if named["function"] == RELU and "function" not in fast:  # nothing was searched for
            verdict = replace(verdict, estimate=replace(verdict.estimate, covers="seeds"))
        hangs_on = {HOLDS: one, FAILS: twin}.get(verdict.word)
        if hangs_on is not None and not hangs_on["beyond"].all():
            verdict = replace(verdict, reason=AT_END)
        ways = "{}'s {} / {}'s".format(*slow.values(), unit, *fast.values())
        yield verdict if verdict.reason else replace(verdict, case=f"{ways} on {case}")


def _reached(verdicts: Iterator[Verdict]) -> list[Verdict]:
    """Those of cells where most runs of either kind get there; all, where none does."""
    every = list(verdicts)
    return [verdict for verdict in every if verdict.reason in ("", AT_END)] or every


def _sooner(optimizer: str, unit: str = "steps", function: str = RELU) -> Callable[[pd.DataFrame], Verdict]:
    """Of a claim that an optimizer is faster than AdamW wherever either of them gets there."""

    def of(table: pd.DataFrame) -> Verdict:
        rows = table[table["function"] == function]
        return all_of(_reached(times_as_fast(rows, {"optimizer": ADAMW}, {"optimizer": optimizer}, unit, above=1.0)))

    return of


def _fifty(table: pd.DataFrame) -> Verdict:
    pair = {"optimizer": ADAMW}, {"optimizer": GROKFAST}
    return any_of(_reached(times_as_fast(table, *pair, above=MANY, refuted_below=FEW)))


def _without_decay(table: pd.DataFrame) -> Verdict:
    """How many of the runs with StableMax and no decay generalize, on the operation where most do."""
    rows = chosen(table)
    rows = alive(rows[(rows["optimizer"] == ADAM) & (rows["loss"] == "StableMax")])
    reached = {str(task): one["step"].notna() for task, one in rows.groupby("task", sort=False)}
    shares = {task: proportion(int(one.sum()), len(one), "seeds").scaled(100) for task, one in reached.items()}
    cases = [Verdict(share, above=50.0, unit="%", case=task) for task, share in shares.items()]
    return any_of(cases) if cases else absent("no such run is here")


def _function(table: pd.DataFrame) -> Verdict:
    return all_of(_reached(times_as_fast(table, {"function": RELU}, {"function": LEARNED}, above=1.0)))


def _claim(name: str, says: str, measure: Any, of: str = "") -> Claim:
    """of: what is published."""
    decides = "rates beyond those tried, where the best one is at an end of them"
    return Claim(name, says, measure, decides=f"{decides}; {of}" if of else decides, hours=0.7)


MUON_SAYS = "published are 103 epochs for 153 (p = 6e-8), and by others that it is not clearly so"
CLAIMS = (  # "wherever": on the operations and with the losses where most runs of either kind get there
    _claim(
        "muon-steps",
        "With ReLU, Muon needs fewer steps than AdamW, wherever either gets there",
        _sooner(MUON),
        MUON_SAYS,
    ),
    _claim(
        "muon-seconds",
        "With ReLU, Muon needs less time than AdamW, wherever either gets there",
        _sooner(MUON, "seconds"),
    ),
    _claim(
        "muon-learned",
        "With a learned function, Muon needs fewer steps than AdamW, too",
        _sooner(MUON, "steps", LEARNED),
    ),
    _claim(
        "grokfast", "With ReLU, Grokfast needs fewer steps than AdamW, wherever either gets there", _sooner(GROKFAST)
    ),
    _claim(
        "grokfast-fifty",
        "Grokfast is up to 50 times faster than AdamW (25 in a setting where either gets there)",
        _fifty,
        "published is 50, of single curves",
    ),
    _claim("perpgrad", "With ReLU, ⊥Grad without decay needs fewer steps than AdamW with it", _sooner(PERP)),
    _claim(
        "stablemax",
        "Within these steps most StableMax runs generalize without decay, on one operation at least",
        _without_decay,
        "published runs are longer",
    ),
    _claim("function", "A learned function needs fewer steps than ReLU, wherever either gets there", _function),
)


def _soonest(rows: pd.DataFrame) -> Iterator[tuple[str, str, float, str, str]]:
    """By task and function: the fewest steps to 95 % (median of runs; inf: most never get there), with which optimizer,
    and with which one it takes the fewest seconds."""
    for (task, function), part in rows.groupby(["task", "function"], sort=False):
        ways = [
            (float(one["step"].fillna(np.inf).median()), one["ms"].iloc[0], optimizer)
            for (_, optimizer), one in part.groupby(["loss", "optimizer"], sort=False)
        ]
        (step, _, optimizer), quickest = min(ways), min(ways, key=lambda way: way[0] * way[1])
        yield str(task), str(function), step, optimizer, quickest[2]


def summary(table: pd.DataFrame) -> str:
    words: dict[str, list[str]] = {}
    best: dict[str, dict[str, float]] = {}
    for task, function, step, optimizer, _ in _soonest(chosen(table)):
        best.setdefault(task, {})[function] = step
        said = f"{step:,.0f} ({optimizer})" if np.isfinite(step) else "hardly ever"
        words.setdefault(task, []).append(f"{function} {said}")
    listed = (f"{task}: {', '.join(each)}" for task, each in words.items())
    both = [steps for steps in best.values() if set(steps) == {RELU, LEARNED}]
    sooner = sum(steps[LEARNED] < steps[RELU] for steps in both)
    first = f"At best the learned function is sooner on {sooner} of {len(both)} operations. "
    return f"{first * bool(both)}Fewest steps to 95 %: {'; '.join(listed)}."


def numbers(table: pd.DataFrame) -> str:
    """How many runs of each cell get there, where not all do; which rates are at an end of those tried; which cells
    diverged at every rate."""
    rows = chosen(table)
    few, ends = [], []
    for cell, one in rows.groupby(CELL, sort=False):
        name, share = ", ".join(cell), one["step"].notna()
        few += [f"{name} {share.sum()} of {len(one)}"] if not share.all() else []
        ends += [f"{name} {one['rate'].iloc[0]:g}"] if not one["beyond"].all() else []
    said = [f"Runs that get there, where not all do: {'; '.join(few)}."] if few else []
    said += [f"The rate is at an end of those tried, and a better one may lie beyond: {'; '.join(ends)}."] * bool(ends)
    there, every = (set(each[CELL].itertuples(index=False, name=None)) for each in (rows, table))
    gone = [", ".join(cell) for cell in sorted(every - there)]
    said += [f"A run diverged on val at every rate: {'; '.join(gone)}."] * bool(gone)
    return " ".join(said)


def plot(table: pd.DataFrame) -> go.Figure:
    """One row of panels a task, one column a function: steps to 95 %, by optimizer and loss, the soonest in a ring.

    table: task, function, loss, optimizer, rate, split, seed, accuracy, step, last, ms, diverged.
    """
    rows, names = chosen(table), list(OPTIMIZERS)
    kinds = list(rows.groupby("task", sort=False))
    titles = [f"{task}, {method_title(function)}" for task, _ in kinds for function in METHODS]
    figure = grid(titles, 2, 120, 58, 64, 78, 20)
    axis = log_axis(rows[["step", "last"]].melt()["value"].dropna())
    figure.update_xaxes(**axis | {"range": (axis["range"][0] - 0.15, axis["range"][1] + 0.4)})
    for column, function in enumerate(METHODS, 1):
        for row, (_, part) in enumerate(kinds, 1):
            cells = _ways(part[part["function"] == function])
            for loss, symbol in zip(LOSSES, ("circle", "diamond-open"), strict=True):
                _draw_ways(figure, cells[cells["loss"] == loss], loss, colour(function), symbol, (row, column))
            best = cells[np.isfinite(cells["median"]) & (cells["median"] == cells["median"].min())].head(1)
            ring: dict[str, Any] = {"name": "the soonest", "showlegend": False, "hoverinfo": "skip"}
            points(figure, best["median"], best["y"], VERMILLION, (row, column), 15, "circle-open", **ring)
            ring |= {"mode": "text", "text": [f"{step:,.0f}" for step in best["median"]], "textposition": "middle left"}
            left = np.minimum(best["first"], 0.8 * best["median"])  # of the line, and of the ring
            points(figure, left, best["y"], VERMILLION, (row, column), **ring)
            for edge in range(1, len(names)):
                figure.add_hline(edge - 0.5, line={"color": GRID, "width": 1}, layer="below", row=row, col=column)
            if function == LEARNED:
                alone = {"text": "ReLU alone", "font": {"size": SIZE - 3, "color": INK}, "showarrow": False}
                place = {"x": 0.5, "xref": "x domain", "y": names.index(ADAM)}
                figure.add_annotation(**alone, **place, row=row, col=column)
    for loss, symbol in zip(LOSSES, ("circle", "diamond-open"), strict=True):
        points(figure, [None], [None], INK, (1, 1), 8, symbol, name=loss)
    points(figure, [None], [None], VERMILLION, (1, 1), 13, "circle-open", name="the soonest")
    figure.update_yaxes(range=(len(names) - 0.5, -0.5), tickvals=list(range(len(names))), ticks="", showgrid=False)
    figure.update_yaxes(showticklabels=False, col=2)
    figure.update_yaxes(showticklabels=True, ticktext=names, col=1)
    figure.update_xaxes(title_text="first step with 95 % on test (log scale)", row=len(kinds))
    there = [each for each in _soonest(rows) if np.isfinite(each[2])]
    other = [f"{task}, {function}: {one}" for task, function, _, best, one in there if one != best]
    set_reading(
        figure,
        f"Marks: medians of {span(rows.groupby(CELL)['seed'].nunique())} runs; lines: from the soonest to the latest,"
        " or to the last step, where some fail to get there (cross: half or more). no decay: AdamW"
        " without it, ReLU alone; ⊥Grad has none either, and takes no step along the weights. StableMax: softmax"
        " without exponentials.",
        "In seconds, the same optimizers are soonest" + (f", but {'; '.join(other)}." if other else "."),
    )
    return figure


def _ways(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a loss and optimizer: loss, y (its place), first and last step to 95 % of the runs that get there, median
    (inf: most never do), end (the last step of training), never (how many runs), runs."""
    cells = []
    for (loss, optimizer), one in rows.groupby(["loss", "optimizer"], sort=False):
        y = list(OPTIMIZERS).index(optimizer) + (-0.17, 0.17)[list(LOSSES).index(loss)]
        cell = {"loss": loss, "y": y, "first": one["step"].min(), "last": one["step"].max()}
        cell |= {"median": one["step"].fillna(np.inf).median(), "end": one["last"].max()}
        cells.append(cell | {"never": int(one["step"].isna().sum()), "runs": len(one)})
    return pd.DataFrame(cells, columns=["loss", "y", "first", "last", "median", "end", "never", "runs"])


def _draw_ways(figure: go.Figure, cells: pd.DataFrame, loss: str, ink: str, symbol: str, at: tuple[int, int]) -> None:
    look: dict[str, Any] = {"name": loss, "showlegend": False}
    for one in cells[cells["first"].notna()].itertuples():
        ends = [one.first, one.end if one.never else one.last]
        line(figure, ends, [one.y] * 2, faded(ink, 0.5), at, 2, hoverinfo="skip", **look)
    some = cells[np.isfinite(cells["median"])]
    points(figure, some["median"], some["y"], ink, at, 8, symbol, hovertemplate="median %{x:,.0f}", **look)
    never = cells[cells["never"] > 0]
    words = [f" {one.never} of {one.runs} fail" for one in never.itertuples()]
    look |= {"mode": "markers+text", "text": words, "textposition": "middle right", "hoverinfo": "skip"}
    symbols = ["x-thin-open" if 2 * one.never >= one.runs else "line-ns-open" for one in never.itertuples()]
    points(figure, never["end"], never["y"], ink, at, 6, symbols, textfont={"size": SIZE - 3, "color": INK}, **look)


def _facts(scale: str) -> Iterator[Field]:
    for name, (_, decay, rates) in OPTIMIZERS.items():
        each = "" if scale in TRIED else "; the highest not with a learned function, the lowest not with ReLU"
        first, after = TRIED.get(scale, ALL)
        tried = list(rates[first:after])
        yield Field(f"{name}: rates tried", tried, SILENT, f"the lab's own; the best on val counts{each}")
        swept = "sweep on val, addition modulo 27 with ReLU and softmax" if decay else "none: this is what it is about"
        yield Field(f"{name}: decay", decay, SILENT, swept)
    for function, steps in STEPS.items():
        more = f", of modulus 27 {LONGER} times as many" if scale in ("overnight", "paper") else ""
        yield Field(f"{function}: steps", 8 if scale == "smoke" else steps, SILENT, f"the lab's own{more}")
    yield Field("share of the table that is not the test split, held out for rates", HELD, SILENT, "the lab's own")


ENTRIES = (
    Entry(
        "crossing/grokking",
        "beyond Section 3.5 of the simplicity paper",
        "Which optimizer ends grokking soonest?",
        "Steps until 95 % of the test rows are right, by optimizer, loss and non-linearity, each at the best of the"
        " rates tried",
        "none; published answers on Muon and Grokfast disagree",
        tasks=tuple(task.name for task in tasks("paper")),
        plan=plan,
        tuned=Tuned(tuple(CELL), _mean),
        measure=measure,
        timed=("ms",),
        plot=plot,
        summary=summary,
        numbers=numbers,
        claims=CLAIMS,
        seeds=SEEDS,
        origin=Origin(
            of_operations(tasks).data,
            _facts,
            (
                "the gradient is followed with Adam's defaults, and Grokfast's and Muon's are those of their papers",
                "Muon has both matrices of these models: the first reads one-hot rows, the last gives classes",
                "the learned function is the zoo's, searched for on addition modulo 27 with the squared error",
                "decays: of .1 to 10 the best on val for ReLU and softmax on addition modulo 27, one for an optimizer",
            ),
        ),
        minutes={"smoke": 0.5, "laptop": 10, "overnight": 100, "paper": 70},
        place=("fig", "", 6, ""),
    ),
)
