"""The first step at which networks on binary operations solve their task, and Figure 13 of the simplicity paper: how it
depends on the training data and on the width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of, any_of
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.settings import ADDITION, LEARNED, LEVEL, METHODS, RELU, Grokking, grokking, of_operations
from lab.papers.tables import POINTS, Labelled, alive, per_evaluation, per_run, ratio_of_steps, steps_to
from lab.plots import go
from lab.plots.caption import counted, set_reading
from lab.plots.panels import grid, line, points
from lab.plots.style import GREY, INK, METHOD_SYMBOLS, colour, method_title
from lab.run import Run
from lab.scale import model_scale
from lab.spec import replace
from lab.statistics import half_width
from lab.tasks import Operation

# Figure 13, with the ends of the paper's axes; what laptop has is what trains in minutes
FRACTIONS = {"smoke": (0.4, 0.8), "laptop": (0.4, 0.6, 0.8, 0.95), "paper": (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)}
WIDTHS = {"smoke": (8, 16), "laptop": (64, 256, 512), "paper": (64, 256, 512, 768)}
FLOOR = 0.9  # test accuracy at the end, below which a run that solved its task counts as overfitted after all
PERCENT = f"{100 * LEVEL:.0f} %"
NEVER = "not by the last step"
HIGHER = 1.4, 1.67, 2.0  # times the last step, where runs that never get there are drawn, and their name
FEWEST = 3  # runs that an interval is told of: that of two is wider than any axis


def curves(runs: Labelled) -> pd.DataFrame:
    """One row per run and evaluation: task, method, seed, step, accuracy (test), accuracy_train, diverged."""
    splits = {"accuracy": "test", "accuracy_train": "train"}
    table = per_evaluation(runs, lambda run: {name: run.accuracy_on(split) for name, split in splits.items()})
    return table.round(dict.fromkeys(splits, 5))


def steps_to_level(runs: Labelled) -> pd.DataFrame:
    """One row a run: task, fraction, width, method, seed, step (the first with `LEVEL` test accuracy, on straight lines
    between evaluations; NaN where there is none), accuracy (test, at the end), last (step), diverged."""

    def measure(run: Run) -> dict:
        curve = curves([({}, run)])
        step = steps_to(curve, LEVEL).replace(np.inf, np.nan).iloc[0]
        return {"step": float(step), "accuracy": float(curve["accuracy"].iloc[-1]), "last": int(run.steps[-1])}

    return per_run(runs, measure).round({"step": 2})


def reached(rows: pd.DataFrame) -> str:
    """The mean step at which runs of one kind reach `LEVEL` on test rows, its interval, and how many of them do.

    >>> reached(pd.DataFrame({"seed": [0, 0, 1, 1], "step": [10, 20, 10, 20], "accuracy": [0.0, 1.0, 0.0, 0.5]}))
    '20 (1 of 2)'
    """
    steps = steps_to(rows, LEVEL)
    first = estimates.finite(steps)
    if not len(first):
        return f"never (0 of {len(steps)})"
    half = half_width(first) if len(first) >= FEWEST else np.nan
    interval = "" if np.isnan(half) else f" ± {half:,.0f}"
    share = "" if len(first) == len(steps) else f" ({len(first)} of {len(steps)})"
    return f"{first.mean():,.0f}{interval}{share}"


def prolonged(scale: str = "laptop", task: Operation = ADDITION) -> Grokking:
    """The setting of Figure 13, which overnight trains for as long as the paper: with little data ReLU gets there late.

    >>> grokking("overnight").recipe.steps, prolonged("overnight").recipe.steps
    (5000, 60000)
    """
    base = grokking(scale, task)
    if scale != "overnight":
        return base
    return replace(base, recipe=replace(base.recipe, steps=grokking("paper").recipe.steps, every=50))


def plan(scale: str, seeds: int) -> list[Planned]:
    """Fractions of the table at the width of Figure 11, each with a search of its own, which so never sees its test
    split; and widths at the fraction of Figure 11, with that figure's function."""
    like, standard, planned = model_scale(scale), prolonged(scale).model.width, []
    for fraction in FRACTIONS[like]:
        for width in WIDTHS[like]:
            if fraction != ADDITION.fraction and width != standard:
                continue
            base = prolonged(scale, replace(ADDITION, fraction=fraction))
            base = replace(base, model=replace(base.model, width=width))
            labels = {"task": ADDITION.name, "fraction": fraction, "width": width}
            planned += [(labels | {"method": method}, run) for method in METHODS for run in base.runs(method, seeds)]
    return planned


def _cells(table: pd.DataFrame) -> dict[str, dict[str, pd.DataFrame]]:
    """Rows by setting in words, then by method; runs that diverged are left out."""
    cells = {}
    for (fraction, width), rows in table.groupby(["fraction", "width"], sort=False):
        known = alive(rows[rows["accuracy"].notna()])
        cells[f"{100 * fraction:.0f} %, width {width}"] = {name: known[known["method"] == name] for name in METHODS}
    return cells


def _ends(table: pd.DataFrame, method: str) -> dict[str, pd.Series]:
    """Accuracy at the end, in percent, of the runs that had reached `LEVEL`, by setting that has such."""
    rows = {case: kinds[method] for case, kinds in _cells(table).items()}
    ends = {case: 100 * one.loc[one["step"].notna(), "accuracy"] for case, one in rows.items()}
    return {case: one for case, one in ends.items() if len(one)}


def _times_as_fast(table: pd.DataFrame) -> list[Verdict]:
    """At each fraction and width; a run that does not get there counts with its last step."""
    verdicts = []
    for case, rows in _cells(table).items():
        slow, fast = (rows[method]["step"].fillna(np.inf) for method in METHODS)
        lasts = tuple(float(rows[method]["last"].max()) for method in METHODS)
        verdicts.append(ratio_of_steps(slow, fast, lasts, LEVEL, above=1.0, case=case))
    return verdicts


def _sooner_everywhere(table: pd.DataFrame) -> Verdict:
    """At every fraction and width where either method gets there."""
    verdicts = _times_as_fast(table)
    return all_of([verdict for verdict in verdicts if not verdict.reason] or verdicts)


def _some_overfit(table: pd.DataFrame) -> Verdict:
    """Accuracy at the end, of runs with learned functions that had reached `LEVEL`, in one setting at least."""
    declines = {
        case: estimates.mean(100 * LEVEL - ends, covers="seeds, of one search")
        for case, ends in _ends(table, LEARNED).items()
    }
    return any_of(Verdict(decline, above=0.0, unit=POINTS, case=case) for case, decline in declines.items())


def _keeps(table: pd.DataFrame) -> Verdict:
    """Accuracy at the end of runs with ReLU that had reached `LEVEL`, in every setting."""
    means = {case: estimates.mean(ends).cut(0.0, 100.0) for case, ends in _ends(table, RELU).items()}
    return all_of(Verdict(mean, above=100 * FLOOR, unit="%", case=case) for case, mean in means.items())


FIG13 = (
    Claim(
        "variety",
        "Models with learned activations converge faster across settings (where any converges)",
        _sooner_everywhere,
    ),
    Claim("overfit", "Some models with learned activations end up overfitting with prolonged training", _some_overfit),
    Claim("keep", "ReLU networks that generalize keep a high accuracy (90 % after prolonged training)", _keeps),
)


def fig13(table: pd.DataFrame) -> go.Figure:
    """Left: first steps by fraction of the table; right: by width. One point a run, the mean as a line.

    table: task, fraction, width, method, seed, step (NaN: never), accuracy, last, diverged.
    """
    figure = grid(["training data", "width"], 2, height=240, top=64, left=72, horizontal=70)
    common = {name: table.groupby(name)["seed"].size().idxmax() for name in ("fraction", "width")}
    top = float(table["last"].max())
    for column, (name, other) in enumerate((("fraction", "width"), ("width", "fraction")), 1):
        part = table[table[other] == common[other]]
        part = part.assign(x=100 * part[name] if name == "fraction" else part[name])
        for method in METHODS:
            draw_steps(figure, part[part["method"] == method], method, top, (1, column))
        figure.update_xaxes(tickvals=sorted(part["x"].unique()), row=1, col=column)
    below = table["step"].notna() & (table["accuracy"] < FLOOR)
    symbol = METHOD_SYMBOLS[next(iter(table.loc[below, "method"]), RELU)]
    if table["step"].isna().any():
        points(figure, [None], [None], INK, size=8, symbol="x-thin-open", name=NEVER, hoverinfo="skip")
    if below.any():
        name = f"open: ends below {100 * FLOOR:.0f} %"
        points(figure, [None], [None], INK, size=8, symbol=f"{symbol}-open", name=name, hoverinfo="skip")
    figure.add_hline(y=top, line={"color": GREY, "dash": "dot", "width": 1})
    step_axes(figure, float(np.nanmin([top, table["step"].min()])), top, bool(table["step"].isna().any()))
    figure.update_xaxes(title_text="share not held out for testing (%)", col=1)
    figure.update_xaxes(title_text="width (hidden units)", col=2)
    figure.update_yaxes(title_text=f"first step with {PERCENT} (log scale)", col=1)
    set_reading(
        figure,
        f"One point a run; the line is their mean, where all get there. Left: width {common['width']};"
        f" right: {100 * common['fraction']:.0f} % of the table. Above the dotted line, the last step (×): runs"
        f" that never get there; in ratios they have their last step. Hollow: runs that get there and end below"
        f" {100 * FLOOR:.0f} %.",
    )
    return figure


def step_axes(figure: go.Figure, lowest: float, top: float, never: bool) -> None:
    """Logarithmic axes of steps to the last one, `top`, and above it a place for what never gets there."""
    ticks = {step: f"{step:,}" for power in range(7) for step in (10**power, 3 * 10**power) if step <= top}
    ticks |= {HIGHER[1] * top: "never"} if never else {}
    ends = np.log10([0.6 * lowest, (3 if never else 1.2) * top])
    figure.update_yaxes(type="log", range=ends, tickvals=list(ticks), ticktext=list(ticks.values()))


def draw_steps(figure: go.Figure, rows: pd.DataFrame, method: str, top: float, at: tuple[int, int]) -> None:
    """The runs of one method in a panel, their mean, and above the last step (`top`) those that never get there. rows:
    x, step (NaN: never), accuracy (at the end)."""
    ink = colour(method)
    look: dict[str, Any] = {"legendgroup": method, "hovertemplate": "%{x}: step %{y:,.0f}"}
    mean = rows.groupby("x")["step"].agg(lambda steps: steps.mean(skipna=False))
    line(figure, mean.index, mean, ink, at, 2.4, name=method_title(method), showlegend=at == (1, 1), **look)
    look["showlegend"] = False
    symbols = [METHOD_SYMBOLS[method] + ("" if end >= FLOOR else "-open") for end in rows["accuracy"]]
    points(figure, rows["x"], rows["step"], ink, at, 8, symbols, name=f"{method}, one run", **look)
    never = rows.loc[rows["step"].isna(), "x"]
    heights = [HIGHER[0 if method == RELU else 2] * top] * len(never)  # so that one does not hide the other
    look["hovertemplate"] = f"%{{x}}: {NEVER}"
    points(figure, never, heights, ink, at, 8, "x-thin-open", name=f"{method}, never", **look)


def _summary(table: pd.DataFrame) -> str:
    """Who gets there sooner, and who does not stay there."""
    times, kinds = [], []
    for ratio, rows in zip(_times_as_fast(table), _cells(table).values(), strict=True):
        relu, learned = (rows[method]["step"].notna().any() for method in METHODS)
        if relu and learned and not ratio.reason:
            times.append(ratio.effect)
        else:
            kinds.append("never there" if not learned else "seldom there" if relu else "alone to get there")
    words = [f"{_span(times, '.1f')} times as fast as ReLU in {counted(len(times), 'setting')}"] if times else []
    words += [f"{kind} in {counted(kinds.count(kind), 'setting')}" for kind in sorted(set(kinds))]
    runs = table[table["method"] == LEARNED].groupby(["fraction", "width"]).size()
    fallen = [
        f"{100 * share:.0f} % and width {width}, {len(rows)} of {counted(runs[share, width], 'run')} fall back, to"
        f" {_span(100 * rows['accuracy'], '.0f')} % at the end"
        for (share, width), rows in _fallen(table[table["method"] == LEARNED]).groupby(["fraction", "width"])
    ]
    but = f" But with {', with '.join(fallen)}." if fallen else ""
    return f"To {PERCENT}, the learned function is {', '.join(words)}.{but}"


def _span(values: pd.Series | list[float], places: str) -> str:
    """The least and the largest; one where both read the same."""
    return " to ".join(dict.fromkeys(f"{end:{places}}" for end in (min(values), max(values))))


def _fallen(table: pd.DataFrame) -> pd.DataFrame:
    """Runs that solved their task, and no longer do at the end."""
    return table[table["step"].notna() & (table["accuracy"] < FLOOR)]


def _means(table: pd.DataFrame) -> str:
    words = []
    for (fraction, width), rows in table.groupby(["fraction", "width"], sort=False):
        means = rows.groupby("method")["step"].mean().reindex(METHODS)
        text = " and ".join("never" if np.isnan(mean) else f"{mean:,.0f}" for mean in means)
        words.append(f"{100 * fraction:.0f} %, {width}: {text}")
    return f"First step with {PERCENT}, {RELU} and {LEARNED}, by share of the table and width: {'; '.join(words)}."


def _numbers(table: pd.DataFrame) -> str:
    words = []
    for (fraction, width), rows in table.groupby(["fraction", "width"], sort=False):
        first = {method: rows.loc[rows["method"] == method, "step"] for method in METHODS}
        text = ", ".join(f"{method} {one.notna().sum()} of {len(one)}" for method, one in first.items())
        words.append(f"{100 * fraction:.0f} % of the table, width {width}: {text}")
    later = [
        f"{counted(len(rows), 'run')} with {method}, width {width}, at {_span(100 * rows['accuracy'], '.0f')} %"
        for (method, width), rows in _fallen(table).groupby(["method", "width"], sort=False)
    ]
    return (
        f"{_means(table)} First steps are means over the seeds that reach {PERCENT}: {'; '.join(words)}. Runs end at"
        f" step {table['last'].max():,}{'; later far below it again: ' if later else ''}{', '.join(later)}."
    )


def spare(scale: str) -> list[str]:
    """A note on the rows that are in no split that counts."""
    share = 100 * grokking(scale).task.held_out
    return [f"{share:.0f} % of what is not the test split is kept aside, and nothing is decided on it"]


def _notes(scale: str) -> list[str]:
    return [
        *spare(scale),
        f"runs have {prolonged(scale).recipe.steps:,} steps, and some with ReLU never get there, where the paper's axes"
        " end at 10,000 and 7,000: this depends on the size of initial weights, a guess (simplicity/sizes)",
    ]


ENTRIES = (
    Entry(
        "simplicity/fig13",
        "3.5",
        "Steps to 95 % by training data and width",
        "Addition modulo 27: the first step with 95 % test accuracy, against the share of the table that is not held"
        " out for testing (a function is learned for each), and against width (the function of Figure 11)",
        "models with learned activations converge faster across a variety of settings",
        plan=plan,
        measure=steps_to_level,
        plot=fig13,
        tasks=(ADDITION.name,),
        origin=of_operations(lambda scale: [ADDITION], setting=prolonged),
        seeds={"smoke": 2, "laptop": 3, "overnight": 3, "paper": 3},
        summary=_summary,
        numbers=_numbers,
        notes=_notes,
        claims=FIG13,
        minutes={"smoke": 0.3, "laptop": 4, "overnight": 19, "paper": 480},
    ),
)
