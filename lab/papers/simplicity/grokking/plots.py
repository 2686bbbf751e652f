"""Training and test accuracy of networks that generalize late, and the functions they have (simplicity paper, Figs.
11, 12, 13, 28)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.runs import steps_to
from lab.papers.simplicity.grokking.settings import LEARNED, LEVEL, RELU
from lab.plots.caption import set_reading
from lab.plots.operation_table import operation_title as title
from lab.plots.panels import FULL, above, grid, name_axes, place
from lab.plots.style import BLACK, GREY, METHOD_SYMBOLS, ORANGE, SIZE, colour, faded, method_title
from lab.statistics import diverged, half_width

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

TRAINING = ORANGE
KEPT = 0.9  # test accuracy at the end, below which a run has lost again what it had reached
SHOWN = 0.999  # share of the inputs inside the range that a panel of a function shows at first
FEWEST = 3  # runs that an interval is told of: that of two is wider than any axis
TALLEST = 0.3  # of the panel: the tallest column of the histogram
_FUNCTION = (
    f"Shaded: inputs that the learned function receives in a trained network, on test rows; at least {100 * SHOWN:g} %"
    " of them are in the panel. Dotted: the sine, on a straight line, that is nearest to the function where its inputs"
    " are, with its periods per unit of x; R²: the share of the function's variance around the best line that this sine"
    " explains (noise: what it explains of random values at the same knots, at most in 19 of 20 draws); no sine is"
    " drawn where it explains less than noise."
)


def fig11(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Top: accuracy over training, ReLU and learned. Bottom: the learned function; all restarts of its search.

    table: task, method, seed, step, accuracy, accuracy_train, diverged. functions: as `grokking.functions` has it.
    """
    heads = [method_title(RELU), method_title(LEARNED), "the function", "all restarts"]
    figure = grid(heads, 2, height=190, gap=74, top=78, second_y=True)
    for number, method in enumerate((RELU, LEARNED)):
        _draw_runs(figure, table[table["method"] == method], method, place(number, 2))
    _draw_function(figure, functions, (2, 1), legend=True)
    _draw_restarts(figure, functions, (2, 2))
    figure.update_xaxes(title_text="training step (log scale)", row=1)
    figure.update_yaxes(title_text="accuracy (%)", row=1, col=1, secondary_y=False)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1, secondary_y=False)
    set_reading(
        figure,
        f"Thin: one run a seed. Thick: mean over seeds. Above the curves: mean step at which test accuracy reaches"
        f" {100 * LEVEL:.0f} %, ± its 95 % confidence interval (Student's t), of the seeds that get there.",
        _FUNCTION,
        "All restarts: those that were not chosen are grey; in brackets the accuracy on validation rows that decided.",
        _lost(table),
    )
    return figure


def fig12(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One panel a task: its learned function with its inputs and the nearest sine. Arguments: as of `fig11`."""
    tasks = list(table["task"].unique())
    figure = grid([title(task) for task in tasks], 2, height=170, gap=84, top=80, second_y=True)
    for number, task in enumerate(tasks):
        at = place(number, 2)
        rows = functions[(functions["task"] == task) & functions["chosen"].astype(bool)]
        _draw_function(figure, rows, at, legend=number == 0)
        told = [reached(table[(table["task"] == task) & (table["method"] == method)]) for method in (RELU, LEARNED)]
        above(figure, f"{100 * LEVEL:.0f} % at step: ReLU {told[0]}", *at, side="right", size=SIZE - 2)
        above(figure, f"learned {told[1]}", *at, side="right", size=SIZE - 2)
        figure.layout.annotations[-2].update(yshift=17)
    name_axes(figure, len(tasks), 2, "input x", "φ(x)")
    set_reading(
        figure,
        f"Above each panel: mean first step with {100 * LEVEL:.0f} % test accuracy, ± its"
        " 95 % confidence interval (Student's t), of the seeds that get there.",
        _FUNCTION,
        _lost(table),
    )
    return figure


def fig13(table: pd.DataFrame) -> go.Figure:
    """Left: first steps by fraction of the table; right: by width. One point a run, the mean as a line.

    table: task, fraction, width, method, seed, step (NaN: never), accuracy, last, diverged.
    """
    figure = grid(["training data", "width"], 2, height=240, top=64, horizontal=60)
    common = {name: table.groupby(name)["seed"].size().idxmax() for name in ("fraction", "width")}
    top = float(table["last"].max())
    for number, (name, other) in enumerate((("fraction", "width"), ("width", "fraction"))):
        at = {"row": 1, "col": number + 1}
        part = table[table[other] == common[other]]
        part = part.assign(x=100 * part[name] if name == "fraction" else part[name])
        for method in (RELU, LEARNED):
            rows = part[part["method"] == method]
            mean = rows.groupby("x")["step"].agg(lambda steps: steps.mean() if steps.notna().all() else float("nan"))
            never = rows[rows["step"].isna()]
            look = {"legendgroup": method, "hovertemplate": "%{x}: step %{y:,.0f}"} | at
            figure.add_scatter(
                x=mean.index,
                y=mean,
                mode="lines",
                name=method_title(method),
                showlegend=not number,
                line={"color": colour(method), "width": 2.4},
                **look,
            )
            symbol = METHOD_SYMBOLS[method]
            symbols = [symbol if end >= KEPT else f"{symbol}-open" for end in rows["accuracy"]]
            figure.add_scatter(
                x=rows["x"],
                y=rows["step"],
                mode="markers",
                name=f"{method}, one run",
                showlegend=False,
                marker={"color": colour(method), "size": 8, "symbol": symbols},
                **look,
            )
            height = (1.04 if method == RELU else 1.08) * top  # so that one does not hide the other
            figure.add_scatter(
                x=never["x"],
                y=[height] * len(never),
                mode="markers",
                name=f"{method}, never",
                showlegend=False,
                marker={"color": colour(method), "size": 8, "symbol": "x-thin-open"},
                **look | {"hovertemplate": "%{x}: not by the last step"},
            )
        figure.update_xaxes(tickvals=sorted(part["x"].unique()), **at)
    figure.add_hline(y=top, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_yaxes(range=(0, 1.12 * top))
    figure.update_xaxes(title_text="table that is not the test split (%)", col=1)
    figure.update_xaxes(title_text="width (hidden units)", col=2)
    figure.update_yaxes(title_text=f"first step with {100 * LEVEL:.0f} % test accuracy", col=1)
    set_reading(
        figure,
        f"One point a run; the line is their mean, where all get there. Left: width {common['width']};"
        f" right: {100 * common['fraction']:.0f} % of the table. Above the dotted line, the last step (×): runs"
        f" that never get there. Hollow: runs that get there and end below {100 * KEPT:.0f} %.",
    )
    return figure


def fig28(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row an operation: ReLU, the learned function, and its shape. Arguments: as of `fig11`."""
    tasks = list(table["task"].unique())
    figure = grid([""] * (3 * len(tasks)), 3, height=104, gap=78, top=100, horizontal=34, second_y=True)
    for row, task in enumerate(tasks, 1):
        rows = table[table["task"] == task]
        for column, method in enumerate((RELU, LEARNED), 1):
            _draw_runs(figure, rows[rows["method"] == method], method, (row, column), legend=row == 1)
        _draw_function(figure, functions[functions["task"] == task], (row, 3), legend=row == 1)
        figure.update_annotations(selector={"name": "wave"}, font_size=SIZE - 2)
        above(figure, f"<b>{title(task)}</b>", row, 1)
        figure.layout.annotations[-1].update(yshift=19)
        for column, head in enumerate((RELU, LEARNED, "function"), 1):
            above(figure, head, row, column, size=SIZE - 1)
        figure.update_yaxes(title_text="accuracy (%)", tickvals=(0, 50, 100), row=row, col=1, secondary_y=False)
    figure.update_xaxes(title_text="training step (log)", row=len(tasks), col=1)
    figure.update_xaxes(title_text="training step (log)", row=len(tasks), col=2)
    figure.update_xaxes(title_text="input x", row=len(tasks), col=3)
    set_reading(
        figure,
        "Thin: one run a seed. Thick: mean over seeds. Above the curves: mean first step with"
        f" {100 * LEVEL:.0f} % test accuracy, ± its 95 % confidence interval (Student's t), of the seeds that"
        " get there.",
        _FUNCTION,
        _lost(table),
    )
    return figure


def reached(rows: pd.DataFrame) -> str:
    """The mean step at which runs of one kind reach `LEVEL` on test rows, its interval, and how many of them do.

    >>> import pandas as pd
    >>> reached(pd.DataFrame({"seed": [0, 0, 1, 1], "step": [10, 20, 10, 20], "accuracy": [0.0, 1.0, 0.0, 0.5]}))
    '20 (1 of 2)'
    """
    steps = steps_to(rows, LEVEL)
    found = steps[np.isfinite(steps)]
    if not len(found):
        return f"never (0 of {len(steps)})"
    half = half_width(found.to_numpy()) if len(found) >= FEWEST else np.nan
    interval = "" if np.isnan(half) else f" ± {half:,.0f}"
    return f"{found.mean():,.0f}{interval}" + ("" if len(found) == len(steps) else f" ({len(found)} of {len(steps)})")


def _draw_runs(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int], legend: bool = True) -> None:
    """Curves of one method, training below test."""
    kinds = (("training", "accuracy_train", TRAINING), (f"test, {method_title(method)}", "accuracy", colour(method)))
    where = {"row": at[0], "col": at[1]}
    for name, column, ink in kinds:
        runs = 100 * rows.pivot(index="step", columns="seed", values=column)
        for seed in runs:
            figure.add_scatter(
                x=runs.index,
                y=runs[seed],
                mode="lines",
                name=f"{name}, seed {seed}",
                legendgroup=name,
                showlegend=False,
                line={"color": faded(ink, 0.35), "width": 1},
                hovertemplate="step %{x}: %{y:.1f} %",
                secondary_y=False,
                **where,
            )
        mean = runs.mean(axis=1)
        dash = "dash" if column == "accuracy_train" else "solid"
        figure.add_scatter(
            x=mean.index,
            y=mean,
            mode="lines",
            name=name,
            legendgroup=name,
            showlegend=legend and (column == "accuracy" or method == RELU),
            line={"color": ink, "width": 2.4, "dash": dash},
            hovertemplate="step %{x}: %{y:.1f} % (mean)",
            secondary_y=False,
            **where,
        )
    above(figure, f"{100 * LEVEL:.0f} %: {reached(rows)}", *at, side="right", size=SIZE - 1)
    figure.update_xaxes(type="log", dtick=1, minor={"ticks": "outside"}, row=at[0], col=at[1])
    figure.update_yaxes(range=FULL, row=at[0], col=at[1], secondary_y=False)


def _draw_function(figure: go.Figure, functions: pd.DataFrame, at: tuple[int, int], legend: bool) -> None:
    """The chosen function, its inputs, the nearest sine and what that is."""
    rows = functions[functions["chosen"].astype(bool)].sort_values("x")
    x, density = rows["x"].to_numpy(), np.nan_to_num(rows["density"].to_numpy(float))
    where = {"row": at[0], "col": at[1]}
    figure.add_scatter(
        x=x,
        y=100 * density,
        name="inputs",
        legendgroup="inputs",
        showlegend=legend,
        fill="tozeroy",
        line={"shape": "hvh", "width": 0},
        fillcolor="rgba(128, 128, 128, 0.3)",
        mode="lines",
        hovertemplate="x = %{x:.2f}: %{y:.2g} % of inputs",
        secondary_y=True,
        **where,
    )
    figure.add_scatter(
        x=x,
        y=rows["value"],
        name="learned φ",
        legendgroup="φ",
        showlegend=legend,
        mode="lines",
        line={"color": colour(LEARNED), "width": 2},
        hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
        secondary_y=False,
        **where,
    )
    seen = rows["explained"].iloc[0] > rows["noise"].iloc[0]
    sine = rows["sine"] if seen else [None] * len(x)
    figure.add_scatter(
        x=x,
        y=sine,
        name="nearest sine",
        legendgroup="sine",
        showlegend=legend,
        mode="lines",
        line={"color": BLACK, "width": 1.2, "dash": "dot"},
        hoverinfo="skip",
        secondary_y=False,
        **where,
    )
    low, high = _window(x, density)
    inside = rows.loc[rows["x"].between(low, high), ["value", "sine"] if seen else ["value"]].to_numpy()
    pad = 0.1 * np.ptp(inside) or 0.5
    figure.update_xaxes(range=(low, high), **where)
    figure.update_yaxes(range=(inside.min() - pad, inside.max() + 3 * pad), nticks=5, secondary_y=False, **where)
    figure.update_yaxes(range=(0, 100 * density.max() / TALLEST or 1), visible=False, secondary_y=True, **where)
    frequency, explained = rows["frequency"].iloc[0], rows["explained"].iloc[0]
    told = (
        "a straight line"
        if np.isnan(frequency)
        else f"{f'{frequency:.2f} per unit' if seen else 'no sine'}, R² {explained:.2f}"
        f" (noise {rows['noise'].iloc[0]:.2f})"
    )
    figure.add_annotation(
        text=told,
        x=0.5,
        xref="x domain",
        y=1,
        yref="y domain",
        yanchor="top",
        name="wave",
        font={"size": SIZE - 1},
        **where,
    )


def _draw_restarts(figure: go.Figure, functions: pd.DataFrame, at: tuple[int, int]) -> None:
    """What each restart found, the chosen one last."""
    groups = sorted(functions.groupby("restart"), key=lambda pair: bool(pair[1]["chosen"].iloc[0]))
    told = []
    for restart, rows in groups:
        chosen, share = bool(rows["chosen"].iloc[0]), 100 * rows["accuracy_val"].iloc[0]
        told.append((restart, f"{share:.0f}"))
        figure.add_scatter(
            x=rows["x"],
            y=rows["value"],
            name=f"restart {restart}",
            showlegend=False,
            mode="lines",
            line={"color": colour(LEARNED) if chosen else faded(GREY, 0.7), "width": 2 if chosen else 1},
            hovertemplate=f"restart {restart} ({share:.0f} % on validation rows)<br>φ(%{{x:.2f}}) = %{{y:.3g}}",
            secondary_y=False,
            row=at[0],
            col=at[1],
        )
    shares = ", ".join(share for _, share in sorted(told))
    above(figure, f"({shares} %)", *at, side="right", size=SIZE - 2)
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


def _lost(table: pd.DataFrame) -> str:
    """How many runs diverged, by task and method."""
    found = {names: diverged(rows) for names, rows in table.groupby(["task", "method"], sort=False)}
    words = [f"{title(task)}, {method}: {lost} of {runs}" for (task, method), (lost, runs) in found.items() if lost]
    return f"Diverged runs (left out of means from there on): {'; '.join(words)}." if words else ""
