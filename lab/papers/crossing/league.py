"""The league: named, learnable and learned functions in the same models, each at the best of a few rates.

People try activation functions by hand, on one seed and at one rate, and disagree. Here each function has the rate that
is best for it on `val`, with seeds that are not reported, and its gain over the best fixed function (chosen on `val`,
too) has an interval that holds for all functions of a task together. Beside it stands what a function costs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
import torch

from lab import estimates
from lab.errors import listed
from lab.estimates import Estimate, compare, missing, nested, unless_equal
from lab.nonlinearity.functions import named
from lab.nonlinearity.part import as_module
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of, without_tasks
from lab.papers.crossing.benchmarks import GUESSED, benchmarks, data, numbers
from lab.papers.entry import Entry, Origin, Planned, Tuned
from lab.papers.tables import POINTS, Labelled, alive, at_best_rates, best_rates, fleet_to_time, per_run
from lab.plots import go
from lab.plots.caption import bounds, set_reading, signed
from lab.plots.differences import arrows
from lab.plots.panels import grid, line, points, whiskers
from lab.plots.style import BLUE, GREEN, GREY, INK, SIZE, VERMILLION, faded
from lab.probes.cost import cost
from lab.resolve import resolve
from lab.run import Run
from lab.simultaneous import Simultaneous, against, at_once, units_needed
from lab.spec import Learned, Part
from lab.statistics import LEVEL
from lab.tasks.named import AS_NUMBERS, NEAR, task_title
from lab.training.live import processor_seconds

FIXED = (
    *("relu", "gelu", "silu", "mish", "tanh", "elu", "leakyrelu", "softplus"),
    *("relu2", "leakyrelu2", "smoothrelu2", "gaussian", "siren"),
)
LEARNING = ("prelu", "swish", "polyrelu", "rational", "bspline", "starrelu", "asqu", "snake", "xielu")
LEARNED = "learned spline"
SEARCHES = {"smoke": 1, "laptop": 3, "overnight": 6, "paper": 6}
SEEDS = {"smoke": 2, "laptop": 6, "overnight": 12, "paper": 12}
FIRST_TUNING, TUNING = 1_000, {"smoke": 1, "laptop": 2, "overnight": 2, "paper": 2}  # seeds that no figure reports
TEST, VAL = "test", "val"
ROWS_TESTED = {"covertype_sample": 7_000, "fashion_mnist_sample": 1_000}  # of tasks whose test rows are a sample
SPREAD = 11 / 27  # variance of ten numbers spread evenly over [-1, 1], all as frequent: what a constant answer leaves
FULL = 99.5  # percent: a median of functions from which on a task hardly tells them apart
ROW, LEFT, REACH = 22, 150, 3.5  # px; and to both sides of 0, of the functions that are drawn
COST = {"smoke": 1 << 8, "laptop": 1 << 16}  # numbers that a function is timed on
TIMED, ROUNDS, PER_ROUND = 2, 5, 2  # runs whose steps are timed, and how often


def functions(scale: str) -> tuple[str, ...]:
    """The functions of a scale, by name."""
    return ("relu", "gelu", "prelu", LEARNED) if scale == "smoke" else (*FIXED, *LEARNING, LEARNED)


def plan(scale: str, seeds: int, yours: Mapping[str, tuple[Part, int]] | None = None) -> list[Planned]:
    """Every function of every task at each rate: with `seeds` seeds on `test`, and with others on `val`.

    A learned function is searched for several times; runs take these in turn. yours: further functions by name, with
    the first of their seeds.
    """
    runs = []
    for task, benchmark in benchmarks(scale).items():
        learned: list[Part] = [Learned(benchmark.search(seed), benchmark.part) for seed in range(SEARCHES[scale])]
        everyone = {name: (learned if name == LEARNED else [name], 0) for name in functions(scale)}
        everyone |= {name: ([part], first) for name, (part, first) in (yours or {}).items()}
        for name, (parts, first) in everyone.items():
            for rate in benchmark.rates:
                for split, start, count in ((TEST, 0, seeds), (VAL, FIRST_TUNING, TUNING[scale])):
                    for number in range(count):
                        which = number % len(parts)
                        labels = {"task": task, "function": name, "search": which, "rate": rate, "split": split}
                        runs.append((labels, benchmark.run(parts[which], rate, first + start + number, split)))
    return runs


def measure(runs: Labelled, goals: Mapping[str, float] | None = None) -> pd.DataFrame:
    """One row a run: task, function, search, rate, split ("val" chooses the rate), seed, score (percent: accuracy, or
    R² where numbers are predicted), step and seconds (the first with the score that the best fixed function ends with;
    NaN: none. Seconds are those that so many steps of a run take on one core, side by side with other functions), cost
    (forward and backward, × GELU), diverged.
    goals: by task that score, where its function is not among the runs."""
    table = per_run(runs, lambda run: {"score": _curve(run)[-1]})
    table["score"] = table["score"].where(~table["diverged"])
    goals = goals_of(table) if goals is None else goals
    steps = [_first(run, goals.get(labels["task"], np.nan)) for labels, run in runs]
    costs, times = _costs(runs), _seconds_a_step(runs)
    seconds = [
        float(f"{step * times[labels['task'], labels['function']]:.3g}")
        for step, (labels, _) in zip(steps, runs, strict=True)
    ]
    return table.assign(step=steps, seconds=seconds, cost=[costs[labels["function"]] for labels, _ in runs])


def goals_of(table: pd.DataFrame) -> dict[str, float]:
    """By task, the score that the best fixed function ends with."""
    return {task: _mean_of(rows, control) for task, rows, control in _tasks(table)}


def _curve(run: Run) -> np.ndarray:
    split = VAL if run.spec.tuning else TEST
    if f"accuracy_{split}" in run.scores and getattr(run.spec.task, "classification", True):
        return 100 * run.score("accuracy", split)
    return 100 * (1 - run.score("mse", split) / SPREAD)


def _first(run: Run, goal: float) -> float:
    reached = np.flatnonzero(_curve(run) >= goal)
    return float(run.steps[reached[0]]) if len(reached) else np.nan


def _costs(runs: Labelled) -> dict[str, float]:
    """By function: its time, forward and backward, over that of GELU."""
    parts = {labels["function"]: run for labels, run in runs}
    shapes = {}
    for name, run in parts.items():
        part = next(part for key, part in run.spec.model.parts.items() if key in ("mlp", "phi"))
        shapes[name] = as_module(part) if isinstance(part, str) else as_module(resolve(part, run.store))
    small = any(run.spec.recipe.last < 50 for run in parts.values())
    times = cost({"gelu": named("gelu")} | shapes, COST["smoke" if small else "laptop"], 3 if small else 25)
    return {name: round(times.ratio(name, "gelu"), 2) for name in shapes}


def _seconds_a_step(runs: Labelled) -> dict[tuple[str, str], float]:
    """By task and function, seconds of one core for a step of a run without evaluations, all functions in turn."""
    cells: dict[str, dict[str, list[Run]]] = {}
    for labels, run in runs:
        cells.setdefault(labels["task"], {}).setdefault(labels["function"], []).append(run)
    times: dict[tuple[str, str], float] = {}
    for task, of_functions in cells.items():
        fleets = {name: fleet_to_time(every, TIMED) for name, every in of_functions.items()}
        rounds = 1 if any(fleet.recipe.last < 50 for fleet in fleets.values()) else ROUNDS
        times |= {(task, name): one for name, one in processor_seconds(fleets, rounds, PER_ROUND).items()}
    return times


def _tasks(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Each task, its rows on `test` where each function has its best rate, and the fixed function that is best on
    `val`."""
    for task, rows in table.groupby("task", sort=False):
        val = rows[rows["split"] == VAL]
        best = best_rates(val, ["function"], "score")
        chosen = at_best_rates(val, best, ["function"])
        fixed = chosen[chosen["function"].isin(FIXED)].groupby("function")["score"].mean()
        if len(fixed):
            yield str(task), at_best_rates(rows[rows["split"] == TEST], best, ["function"]), str(fixed.idxmax())


def _mean_of(rows: pd.DataFrame, function: str) -> float:
    return float(rows.loc[rows["function"] == function, "score"].mean())


def gains(table: pd.DataFrame, together: bool = True) -> dict[tuple[str, str], Estimate]:
    """By task and function: how many points it scores above the best fixed function, each at its best rate.

    together: with intervals that hold for all functions of a task (Dunnett's, or Bonferroni's where variances differ;
    of what is searched for Bonferroni's, for its unit is the search).
    """
    effects: dict[tuple[str, str], Estimate] = {}
    for task, rows, control in _tasks(table):
        groups = {str(name): values.tolist() for name, values in alive(rows).groupby("function", sort=False)["score"]}
        searches = alive(rows[rows["function"] == LEARNED]).groupby("search", sort=False)["score"]
        groups.pop(LEARNED, None)
        if control not in groups:
            continue
        others = [name for name in groups if name != control]
        number = len(others) + bool(len(searches))
        if together:
            for name, one in against(groups, control).items():
                share = len(others) / number  # of the error, the rest is the searches'
                effects[task, name] = one.erring(share) if isinstance(one, Simultaneous) else one
        else:
            pairs = {name: (name, control) for name in others}
            effects |= {(task, name): one for name, one in compare(groups, pairs).items()}
        if len(searches):
            alone = nested([values.tolist() for _, values in searches], groups[control])
            effects[task, LEARNED] = at_once(alone, number) if together else alone
    return {key: unless_equal(one) for key, one in effects.items()}


def ranking(table: pd.DataFrame) -> pd.DataFrame:
    """One row a task and function: task, function, over (the best fixed one), rate, score, gain with its simultaneous
    interval (low, high), seeds, needed (seeds that would decide it, about, or of what is searched for searches;
    missing: decided, or unknown),
    step and, where they are known, seconds (medians of the first with the fixed one's score), cost (× GELU), diverged
    (how many runs; one that did so at every rate has neither rate nor gain, and runs on `val` alone)."""
    effects, rows_ = gains(table), []
    timed = [name for name in ("step", "seconds") if name in table]
    for task, best, control in _tasks(table):
        val = table[(table["task"] == task) & (table["split"] == VAL)]
        gone = val[~val["function"].isin(best["function"])].assign(rate=np.nan, score=np.nan)
        for name, runs in pd.concat([best, gone]).groupby("function", sort=False):
            gain = effects.get((task, str(name)), missing())
            rows_.append(
                {
                    "task": task,
                    "function": name,
                    "over": control,
                    "rate": runs["rate"].iloc[0],
                    "score": runs["score"].mean(),
                    "gain": 0.0 if name == control else gain.effect,
                    **dict(zip(("low", "high"), gain.interval(LEVEL), strict=True)),
                    "seeds": len(runs),
                    "needed": units_needed(gain) if abs(gain.effect) <= 100 else None,  # R² has no lower end
                    **runs[timed].fillna(np.inf).median().replace(np.inf, np.nan),
                    "cost": runs["cost"].iloc[0],
                    "diverged": int(runs["diverged"].sum()),
                }
            )
    return pd.DataFrame(rows_).astype({"needed": "Int64"}) if rows_ else pd.DataFrame()


def summary(table: pd.DataFrame) -> str:
    ranks, words, others = ranking(table), list[str](), list[str]()
    for task, rows in ranks.groupby("task", sort=False):
        title = _title(str(task))
        sure = rows[rows["low"] > 0].sort_values("gain", ascending=False)
        above = [f"{name} {signed(gain)}" for name, gain in zip(sure["function"], sure["gain"], strict=True)]
        if above:
            words.append(f"{', '.join(above)} over {rows['over'].iloc[0]} on {title}")
        else:
            others.append(title)
    against = int((ranks["function"] != ranks["over"]).sum())
    undecided = int(((ranks["low"] <= 0) & (ranks["high"] >= 0)).sum())
    unknown = int((ranks["low"].isna() & (ranks["function"] != ranks["over"])).sum())
    tried = table.groupby("task")["rate"].agg(["min", "max"])
    ends = sum(rate in tuple(tried.loc[task]) for task, rate in zip(ranks["task"], ranks["rate"], strict=True))
    return (
        f"Surely above, in points (as numbers: R² × 100): {'; '.join(words) or 'none'}."
        f"{f' None on {listed(others)}.' * bool(others and words)}"
        f" {undecided} of {against} are undecided{f', {unknown} lack an interval' * bool(unknown)}; {ends} best"
        " rates are at an end of those tried."
    )


def _verdicts(table: pd.DataFrame, kinds: Sequence[str]) -> list[Verdict]:
    """Over the best fixed function of each task; where test rows are a sample, as statements about all rows."""
    verdicts, of_task = [], {task: rows for task, rows, _ in _tasks(table)}
    for (task, name), gain in gains(table, together=False).items():
        if name in kinds:
            if task in ROWS_TESTED and isfinite(gain.effect):
                score = _mean_of(of_task[task], name)
                gain = estimates.on_rows(gain, (score, score - gain.effect), ROWS_TESTED[task])
            verdicts.append(Verdict(gain, above=0.0, unit=_unit(task), case=f"{name} on {task_title(task)}"))
    return verdicts or [absent("no run of these functions is here")]


def _unit(task: str) -> str:
    return "hundredths of R²" if task.endswith(AS_NUMBERS) else POINTS


def _searched(table: pd.DataFrame) -> Verdict:
    """On the tasks that ReLU learns: a search starts from it, and finds nothing where nothing is learned."""
    ends = {task: _mean_of(rows, "relu") for task, rows, _ in _tasks(table)}
    left_out = [task for task, score in ends.items() if score <= 100 * (GUESSED.get(task, 0.0) + NEAR)]
    return without_tasks(all_of(_verdicts(table[~table["task"].isin(left_out)], (LEARNED,))), left_out, "ReLU")


CLAIMS = (
    Claim(
        "any-learning",
        "A function that learns in the model improves on the best fixed one, on one task at least",
        lambda table: any_of(_verdicts(table, LEARNING)),
        decides="the league at scale overnight",
        hours=1.7,
    ),
    Claim(
        "learned",
        "A searched spline improves on the best fixed function, on every task that ReLU learns",
        _searched,
        decides="the league at scale overnight, on the tasks that ReLU learns",
        hours=1.7,
    ),
)


def plot(table: pd.DataFrame) -> go.Figure:
    """One row a function, kinds in groups, by its mean rank there: its shape, what it costs, and for each task its
    gain. Tasks on which most functions are at 100 % are left out, unless all are.

    table: task, function, search, rate, split, seed, score (percent), step, cost, diverged.
    """
    ranks = ranking(table)
    tasks = list(dict.fromkeys(ranks["task"]))
    places = ranks.assign(rank=ranks.groupby("task")["gain"].rank(ascending=False))
    kinds = {"learned by search": VERMILLION, "yours": GREEN, "learns": BLUE, "fixed": GREY}
    by_rank = places.groupby("function")["rank"].mean().sort_values().index
    order = sorted(by_rank, key=lambda name: list(kinds).index(_kind(name)))
    costs = ranks.groupby("function")["cost"].first()
    full = ranks.groupby("task")["score"].median().gt(FULL)
    alike = [] if full.all() else [task for task in tasks if full[task]]
    tasks = [task for task in tasks if task not in alike]
    names = ["shape φ", *map(_title, tasks)]
    titles = ["<br>".join(textwrap.wrap(name, 10, break_long_words=False)) for name in names]
    figure = grid(titles, len(tasks) + 1, ROW * len(order), top=80, left=LEFT, horizontal=14)
    head: dict[str, Any] = {"xanchor": "right", "align": "right", "xshift": -4, "yanchor": "bottom", "yshift": 3}
    head |= {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "showarrow": False}
    figure.add_annotation(text="<b>function × cost<br>(GELU = 1)</b>", **head)
    figure.update_annotations(font_size=SIZE - 1 - (len(tasks) > 4))
    for row, name in enumerate(order):
        if name == LEARNED:
            font = {"color": INK, "size": SIZE - 2}
            figure.add_annotation(text="one a search", font=font, x=0, y=row, showarrow=False, row=1, col=1)
        if name in FIXED + LEARNING:
            x = np.linspace(-REACH, REACH, 61)
            y = _values(name, x)
            size = np.abs(y).max() or 1.0
            line(figure, x, row - 0.42 * y / size, GREY, (1, 1), 1.2, hoverinfo="skip", showlegend=False)
    for column, task in enumerate(tasks, 2):
        rows = ranks[ranks["task"] == task].set_index("function").reindex(order)
        most = max(float(rows["gain"].max()), 1.0)
        end = -min(max(4 * most, float(-rows["gain"].median())), max(1.0, -1.1 * float(rows["low"].min())))
        right = float(np.clip(rows["high"].max(), 1.6 * most, 6 * most)) if most > 1 else 3.0
        ends = (1.12 * end, 1.04 * max(right, -0.08 * end))
        for kind, ink in kinds.items():
            here = rows[[_kind(name) == kind and np.isfinite(rows.loc[name, "gain"]) for name in order]]
            if not len(here):
                continue
            at = [order.index(name) for name in here.index]
            cut = here["gain"] < end
            half = (here["high"] - here["gain"]).where(~cut).fillna(0.0)
            decided = (here["low"] > 0) | (here["high"] < 0)
            symbols = np.where(cut, "triangle-left-open", np.where(decided, "circle", "circle-open"))
            symbols = np.where(here.index == here["over"], "diamond", symbols)
            words = [
                f"{name} {signed(one.gain)} {bounds(one.low, one.high)}, rate {one.rate:g}"
                + (f", needs {one.needed} {_unit_of(name)}" if pd.notna(one.needed) else "")
                for name, one in zip(here.index, here.itertuples(), strict=True)
            ]
            look: dict[str, Any] = {"name": kind, "legendgroup": kind, "showlegend": column == 2, "customdata": words}
            look |= {"error_x": whiskers(half, 0) | {"color": ink}, "hovertemplate": "%{customdata}<extra></extra>"}
            inks = [faded(GREY, 0.6) if far else ink for far in cut]
            points(figure, here["gain"].clip(lower=end), at, ink, (1, column), 7, list(symbols), **look)
            figure.data[-1].marker.color = inks
            reach = here[~cut & here["high"].notna()]
            rows_at = [order.index(name) for name in reach.index]
            inner = (ends[0] + 0.03 * (ends[1] - ends[0]), ends[1] - 0.03 * (ends[1] - ends[0]))
            arrows(figure, rows_at, reach["low"], reach["high"], inner, ink, (1, column))
        sure = rows[rows["low"] > 0]
        halo: dict[str, Any] = {"name": "surely above", "showlegend": False, "hoverinfo": "skip"}
        places_at = [order.index(name) for name in sure.index]
        points(figure, sure["gain"], places_at, INK, (1, column), 15, "circle-open", **halo)
        for at_row, one in zip(places_at, sure.itertuples(), strict=True):
            gained = {"text": f"<b>{signed(one.gain)}</b>", "font": {"size": SIZE - 1}, "bgcolor": "white"}
            left = min(one.low, one.gain - 0.08 * (ends[1] - ends[0]))  # left of the whisker, and of the ring
            figure.add_annotation(x=left, y=at_row, xanchor="right", showarrow=False, **gained, row=1, col=column)
        figure.add_vline(0, line={"color": INK, "width": 1}, row=1, col=column)
        figure.add_vrect(0, ends[1], fillcolor=faded(GREEN, 0.1), line_width=0, layer="below", row=1, col=column)
        unit = "R² × 100" if task.endswith(AS_NUMBERS) else "points"
        figure.update_xaxes(range=ends, nticks=4, tickangle=0, title_text=unit, row=1, col=column)
    for below in range(1, len(order)):
        if _kind(order[below - 1]) != _kind(order[below]):
            figure.add_hline(below - 0.5, line={"color": GREY, "width": 1}, row="all", col="all")
    diverged = ranks.groupby("function")["diverged"].sum()
    labels = [f"{name} × {costs[name]:.1f}{' †' * bool(diverged[name])}" for name in order]
    figure.update_yaxes(range=(len(order) - 0.5, -0.5), showticklabels=False, ticks="", tickvals=[*range(len(order))])
    figure.update_yaxes(showticklabels=True, ticktext=labels, tickfont={"size": SIZE - 1}, row=1, col=1)
    figure.update_xaxes(showticklabels=False, ticks="", showgrid=False, row=1, col=1)
    set_reading(
        figure,
        f"Diamond: the best fixed function of a task, chosen on val; others: points above it. × {costs.max():.1f}:"
        f" {costs.idxmax()}'s cost over GELU's, forward and backward; φ from −3.5 to 3.5, each to its own height.",
        f"Whiskers: {100 * LEVEL:.0f} % intervals that hold for all functions of a task together; filled: 0 is outside;"
        " in a ring: surely above; arrows: it goes on; grey triangles: further down."
        + f" Not drawn, for most functions are at 100 %: {listed([_title(task) for task in alike])}." * bool(alike)
        + " †: some runs diverged, and with no gain all at some seed of every rate." * bool(diverged.sum()),
    )
    return figure


def _title(task: str) -> str:
    return task_title(task.removesuffix("_sample")).replace("_sample", "").replace("_", " ")


def _unit_of(name: str) -> str:
    return "searches" if name == LEARNED else "seeds"


def _kind(name: str) -> str:
    kinds = {"fixed": FIXED, "learns": LEARNING, "learned by search": (LEARNED,)}
    return next((kind for kind, names in kinds.items() if name in names), "yours")


def _values(name: str, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return as_module(name)(torch.from_numpy(x).float()).numpy()


ENTRIES = (
    Entry(
        "crossing/league",
        "across the papers",
        "The league: functions at the best of a few rates",
        "What each function gains over the best fixed one of a task, each at the best of the rates tried; functions are"
        " in groups, each in the order of mean rank",
        "none has it",
        tasks=tuple(dict.fromkeys(task for scale in ("overnight", "laptop", "smoke") for task in benchmarks(scale))),
        plan=plan,
        tuned=Tuned(("task", "function"), lambda run: _curve(run)[-1], full=("laptop",)),  # as its shipped table is
        measure=measure,
        timed=("cost", "seconds"),
        plot=plot,
        summary=summary,
        claims=CLAIMS,
        seeds=SEEDS,
        origin=Origin(
            lambda scale: data(benchmarks(scale)),
            lambda scale: numbers(
                benchmarks(scale), SEARCHES[scale], "the lab's own: small, so that every function is tuned"
            ),
            (
                "tasks, models and steps: small, so that every function has its own rate and a dozen seeds",
                "the rates that are tried; what is best at an end of them might be better beyond",
                "splines on tables are searched for by two losses, from ReLU",
            ),
        ),
        minutes={"smoke": 0.5, "laptop": 25, "overnight": 105, "paper": 230},
        place=("fig", "", 4, ""),
    ),
)
