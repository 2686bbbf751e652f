"""Functions that networks on binary operations learn, their inputs and the sines nearest to them; those of versions of
addition (simplicity paper, Section 3.5, Figure 12).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import torch

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, any_of
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.first_steps import PERCENT, curves, reached, spare
from lab.papers.simplicity.settings import (
    LEARNED,
    LEVEL,
    METHODS,
    RELU,
    Grokking,
    again,
    episode_result,
    first_of_searches,
    grokking,
    of_operations,
    received,
    restarts,
)
from lab.papers.tables import Labelled, numbered, ratios, share_by_knot, steps_to
from lab.plots import go
from lab.plots.caption import counted, diverged_runs, set_reading
from lab.plots.functions import SHOWN, draw_inputs
from lab.plots.panels import above, grid, line, name_axes, place
from lab.plots.style import BLACK, GREY, SIZE, colour, faded
from lab.plots.tasks import operation_title as title
from lab.probes.profile import wave
from lab.tasks import Operation

VERSIONS = tuple(Operation("a+b", modulus=modulus) for modulus in (13, 27, 29, 41))
# Figure 12: searches for each version, which differ in their restarts, and episodes of each
SEARCHES = {"smoke": 1, "laptop": 1, "overnight": 3, "paper": 1}
LONG_SEARCH = 400
SINE = "nearest sine"


def repeated(scale: str, task: Operation, number: int = 0) -> Grokking:
    """The setting of Figure 12, with the search of this number. Overnight there are several, and longer ones: after 225
    episodes functions are half noise still.

    >>> from lab.papers.simplicity.settings import ADDITION
    >>> search = repeated("overnight", ADDITION, number=1).search
    >>> search.episodes, [restart.seed for restart in search.restarts]
    (400, [4, 5, 6, 7])
    """
    base = grokking(scale, task)
    episodes = LONG_SEARCH if scale == "overnight" else base.search.episodes
    return replace(base, search=replace(again(base.search, number), episodes=episodes))


def plan(scale: str, seeds: int) -> list[Planned]:
    """ReLU and the learned function on each version; of several searches with their number, which of ReLU is 0."""
    count = SEARCHES[scale]
    return [
        ({"task": task.name, "method": method} | ({"search": number} if count > 1 else {}), spec)
        for task in VERSIONS
        for method in METHODS
        for number in range(count if method == LEARNED else 1)
        for spec in repeated(scale, task, number).runs(method, seeds)
    ]


def functions(runs: Labelled) -> pd.DataFrame:
    """What each restart of a task's search found, one row a knot: task, search (where there are several), restart,
    accuracy_val (of the model that was trained with it to decide), chosen, x, value. Of the chosen one also density
    (share of the inputs of the first model's non-linearity on test rows that fall nearest to this knot), sine (the
    line and sine nearest to it there, see `lab.probes.profile`), frequency (of that sine, periods a unit), explained
    (share of the variance) and noise (what that would be of noise).
    """
    unknown, parts = dict.fromkeys(("density", "sine", "frequency", "explained", "noise"), nan), []
    for labels, run in first_of_searches(runs):
        names = {name: labels[name] for name in ("task", "search") if name in labels}
        for restart in restarts(episode_result(run)):
            x, value = restart["x"], restart["value"]
            part = pd.DataFrame(names | restart | {"x": x.round(6), "value": value.round(6)} | unknown)
            if restart["chosen"]:
                inputs = torch.cat([part.flatten() for part in received(run)])
                density = share_by_knot(inputs.double().numpy(), x)
                near = wave(x, value, density if density.sum() > 0 else None)  # a diverged model has no inputs
                part = part.assign(density=density, sine=near.y, frequency=near.frequency)
                part = part.assign(explained=near.explained, noise=near.noise)
            parts.append(part)
    return pd.concat(parts, ignore_index=True).round(dict.fromkeys(unknown, 6))


def sines(functions: pd.DataFrame) -> pd.DataFrame:
    """The functions that were chosen, one row each: task, search (0 where there is one), frequency, explained, noise,
    and excess: by how much of the function's variance a sine explains more than of 95 % of all white noise."""
    chosen = numbered(functions[functions["chosen"].astype(bool) & functions["explained"].notna()])
    waves = chosen.groupby(["task", "search"], sort=False)[["frequency", "explained", "noise"]].first().reset_index()
    return waves.assign(excess=waves["explained"] - waves["noise"])


def _are_sines(functions: pd.DataFrame) -> Verdict:
    """The excess, over versions; of several searches for a version their mean."""
    waves = sines(functions)
    count = waves["search"].nunique()
    covers = "versions, of one search each" if count == 1 else f"versions, in the mean of {count} searches each"
    by_version = waves.groupby("task", sort=False)["excess"].mean()
    return Verdict(estimates.mean(by_version, "versions", covers), above=0.0)


def _frequencies_vary(functions: pd.DataFrame) -> Verdict:
    """The ratio of two versions' frequencies, of functions that are more like a sine than noise, at least two each."""
    waves = sines(functions)
    clear = waves[waves["excess"] > 0]
    groups = {
        task: np.log(rows["frequency"].to_numpy()) for task, rows in clear.groupby("task", sort=False) if len(rows) > 1
    }
    if len(groups) < 2:
        return absent(f"{len(clear)} of {len(waves)} functions are like a sine, more than noise is")
    pairs = {f"{a} over {b}": (a, b) for a in groups for b in groups if a != b}
    verdicts = ratios(groups, pairs, "searches", above=1.0)
    return any_of(replace(one, estimate=replace(one.estimate, over="searches")) for one in verdicts)


_OVERNIGHT = "scale overnight, which has three searches for each version"
_claim = partial(Claim, of_functions=True, decides=_OVERNIGHT, hours=0.6)
FIG12 = (
    _claim("sines", "The activations learned for modular addition are sine-like, over versions", _are_sines),
    _claim(
        "frequencies", "The frequency of the sine-like function varies across versions of the task", _frequencies_vary
    ),
)


def fig12(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One panel a task: its learned function with its inputs and the nearest sine; with a column `search` in both
    tables one row a task, one panel a search.

    table: task, method, search, seed, step, accuracy, diverged. functions: as of `functions`.
    """
    if "search" in functions:
        return _by_search(table, functions)
    tasks = list(table["task"].unique())
    figure = grid([title(task) for task in tasks], 2, height=170, gap=84, top=80, second_y=True)
    for number, task in enumerate(tasks):
        at, runs = place(number, 2), table[table["task"] == task]
        draw_function(figure, functions[functions["task"] == task], at, legend=number == 0)
        steps = [reached(runs[runs["method"] == method]) for method in METHODS]
        above(figure, f"{PERCENT} at step: ReLU {steps[0]}", *at, side="right", size=SIZE - 2)
        above(figure, f"learned {steps[1]}", *at, side="right", size=SIZE - 2)
        figure.layout.annotations[-2].update(yshift=17)
    name_axes(figure, len(tasks), 2, "input x", "φ(x)")
    set_reading(
        figure,
        f"Above each panel: mean step with {PERCENT}, ± its 95 % interval over seeds that get there.",
        function_words(figure),
        diverged_words(table),
    )
    return figure


def _by_search(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    tasks, searches = list(table["task"].unique()), sorted(functions["search"].unique())
    chosen = functions[functions["chosen"].astype(bool)].sort_values("x")
    knots = [(rows["x"].to_numpy(), np.nan_to_num(rows["density"])) for _, rows in chosen.groupby(["task", "search"])]
    far = min(_window(*each)[1] for each in knots)  # the same in all panels, so that frequencies compare
    titles = [""] * (len(tasks) * len(searches))
    figure = grid(titles, len(searches), height=112, gap=74, top=84, horizontal=40, second_y=True)
    for row, task in enumerate(tasks, 1):
        runs, of_task = table[table["task"] == task], functions[functions["task"] == task]
        for column, search in enumerate(searches, 1):
            panel = of_task[of_task["search"] == search]
            draw_function(figure, panel, (row, column), legend=(row, column) == (1, 1), far=far)
            learned = runs[(runs["method"] == LEARNED) & (runs["search"] == search)]
            above(figure, f"learned, steps to {PERCENT}: {reached(learned)}", row, column, size=SIZE - 2)
        relu = reached(runs[runs["method"] == RELU])
        above(figure, f"<b>{title(task)}</b>  ReLU, steps to {PERCENT}: {relu}", row, 1, yshift=18)
        figure.update_yaxes(title_text="φ(x)", row=row, col=1, secondary_y=False)
    figure.update_annotations(selector={"name": "wave"}, font_size=SIZE - 2)
    figure.update_xaxes(nticks=6)
    figure.update_xaxes(title_text="input x", row=len(tasks))
    apart = float(np.diff(np.unique(functions["x"])).mean())
    set_reading(
        figure,
        f"One panel a search; above it, the mean step with {PERCENT}, ± its 95 % interval over seeds that get there.",
        function_words(figure),
        f"Knots are {apart:.2g} apart, for {0.5 / apart:.3g} periods per unit at most.",
    )
    return figure


def draw_function(
    figure: go.Figure, functions: pd.DataFrame, at: tuple[int, int], legend: bool, far: float = inf
) -> None:
    """The chosen function, its inputs, the nearest sine and what that is. far: largest |x| of a narrow panel."""
    narrow = far < inf
    rows = functions[functions["chosen"].astype(bool)].sort_values("x")
    x, density = rows["x"].to_numpy(), np.nan_to_num(rows["density"].to_numpy(float))
    frequency, explained, noise = rows[["frequency", "explained", "noise"]].iloc[0]
    visible = bool(explained > noise)
    draw_inputs(figure, x, density, at, legend)
    look: dict[str, Any] = {"showlegend": legend, "hovertemplate": "φ(%{x:.2f}) = %{y:.3g}", "secondary_y": False}
    line(figure, x, rows["value"], colour(LEARNED), at, name="learned φ", legendgroup="φ", **look)
    known = any(trace.name == SINE and trace.showlegend for trace in figure.data)
    look = {"showlegend": visible and not known, "hoverinfo": "skip", "secondary_y": False}
    sine = rows["sine"] if visible else [None] * len(x)
    line(figure, x, sine, BLACK, at, 1.2, "dot", name=SINE, legendgroup="sine", **look)
    low, high = np.clip(_window(x, density), -far, far)
    inside = rows.loc[rows["x"].between(low, high), ["value", "sine"] if visible else ["value"]].to_numpy()
    pad, where = 0.1 * np.ptp(inside) or 0.5, {"row": at[0], "col": at[1]}
    reach = (inside.min() - pad, inside.max() + (6 if narrow else 3) * pad)
    figure.update_xaxes(range=(low, high), **where)
    figure.update_yaxes(range=reach, nticks=5, secondary_y=False, **where)
    text = f"{frequency:.2f} per unit" if visible else "not a sine"
    text += f"<br>R² {explained:.2f}" if narrow else f", R² {explained:.2f} (noise {noise:.2f})"
    text = "a straight line" if np.isnan(frequency) else text
    top = {"x": 0.5, "xref": "x domain", "y": 1, "yref": "y domain", "yanchor": "top"}
    figure.add_annotation(text=text, name="wave", font={"size": SIZE - 1}, **top, **where)


def draw_restarts(figure: go.Figure, functions: pd.DataFrame, at: tuple[int, int]) -> None:
    """What each restart found, the chosen one last."""
    groups = sorted(functions.groupby("restart"), key=lambda pair: bool(pair[1]["chosen"].iloc[0]))
    for restart, rows in groups:
        chosen, share = bool(rows["chosen"].iloc[0]), f"{100 * rows['accuracy_val'].iloc[0]:.0f}"
        ink, width = (colour(LEARNED), 2) if chosen else (faded(GREY, 0.7), 1)
        hover = f"restart {restart} ({share} % on validation rows)<br>φ(%{{x:.2f}}) = %{{y:.3g}}"
        look: dict[str, Any] = {"showlegend": False, "hovertemplate": hover, "secondary_y": False}
        line(figure, rows["x"], rows["value"], ink, at, width, name=f"restart {restart}", **look)
    shares = ", ".join(f"{100 * share:.0f}" for share in functions.groupby("restart")["accuracy_val"].first())
    above(figure, f"validation accuracy: {shares} %", *at, side="right", size=SIZE - 2)
    figure.update_yaxes(visible=False, secondary_y=True, row=at[0], col=at[1])


def _window(x: np.ndarray, density: np.ndarray) -> tuple[float, float]:
    """The stretch of knots, symmetric around 0, that has SHOWN of the inputs; all where none are known."""
    if not density.sum() > 0:
        return float(x[0]), float(x[-1])
    reach = np.abs(x)
    order = np.argsort(reach, kind="stable")
    total = np.cumsum(density[order]) / density.sum()
    far = 1.05 * float(reach[order[np.searchsorted(total, SHOWN).clip(max=len(x) - 1)]])
    return max(float(x[0]), -far), min(float(x[-1]), far)


def reached_words(table: pd.DataFrame) -> str:
    """How curves of accuracy are to be read."""
    return (
        f"Thin: one run of {table['seed'].nunique()}; thick: mean; above: mean step with {PERCENT}, ± its 95 % interval"
        " over seeds; in ratios, runs that never get there have their last step."
    )


def function_words(figure: go.Figure) -> str:
    """How learned functions are to be read; of sines where one is drawn."""
    drawn = any(trace.name == SINE and trace.showlegend for trace in figure.data)
    sine = " Dotted: that sine, in periods per unit, where it explains more than noise." if drawn else ""
    return (
        "Shaded: inputs in a trained network. R²: share of the function's variance there that a sine on a straight line"
        f" explains (noise: of random knots, in 19 of 20 draws).{sine}"
    )


def diverged_words(table: pd.DataFrame) -> str:
    """How many runs diverged, by task and method."""
    return diverged_runs(
        table, ["task", "method"], lambda task, method: f"{title(task)}, {method}", "left out of means from there on"
    )


def _summary(table: pd.DataFrame) -> str:
    """Of several searches the least and the largest; what is never reached is left out."""
    words = []
    for task, rows in numbered(table).groupby("task", sort=False):
        means = rows.groupby(["method", "search"])[["seed", "step", "accuracy", "diverged"]].apply(
            lambda runs: steps_to(runs, LEVEL).replace(np.inf, np.nan).mean()
        )
        if means.notna().all():
            ends = dict.fromkeys(f"{mean:,.0f}" for mean in (means[LEARNED].min(), means[LEARNED].max()))
            words.append(f"{_modulus(task)}: {' to '.join(ends)} ({means[RELU].mean():,.0f})")
    return f"Step with {PERCENT} test accuracy, learned functions ({RELU}): {', '.join(words)}." if words else ""


def _functions_summary(functions: pd.DataFrame) -> str:
    waves = sines(functions)
    means = waves.groupby("task", sort=False)[["frequency", "explained"]].mean()
    periods = ", ".join(f"{row.frequency:.1f} ({_modulus(str(row.Index))})" for row in means.itertuples())
    shares = ", ".join(f"{100 * share:.0f}" for share in means["explained"])
    count = f"{(waves['excess'] > 0).sum()} of {counted(len(waves), 'function')}"
    return (
        f"Periods per unit of x, in the mean of searches: {periods}. {count} are more like a sine than noise is; it"
        f" explains {shares} % of their variance."
    )


def _modulus(task: str) -> str:
    """A version of addition by its modulus: "mod 13"."""
    return task.removeprefix("a+b ")


ENTRIES = (
    Entry(
        "simplicity/fig12",
        "3.5",
        "Functions learned for modular addition",
        "The function learned for addition modulo 13, 27, 29 and 41, with the sine that it is most like where its"
        " inputs are",
        "sine-like; the frequency varies with the task",
        plan=plan,
        measure=curves,
        functions=functions,
        plot=fig12,
        tasks=tuple(task.name for task in VERSIONS),
        seeds={"smoke": 1, "laptop": 3, "overnight": 3, "paper": 3},
        origin=of_operations(lambda scale: VERSIONS, setting=repeated),
        functions_summary=_functions_summary,
        numbers=_summary,
        notes=spare,
        claims=FIG12,
        minutes={"smoke": 0.2, "laptop": 5, "overnight": 22, "paper": 360},
    ),
)
