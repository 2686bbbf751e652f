"""Figure 12 of the transformers paper: a learned function and its variants, and what models gain with each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.transformers.compatibility.matrix import delta
from lab.plots.caption import set_reading, signed
from lab.plots.panels import above, grid
from lab.plots.style import GREY, METHOD_SYMBOLS, SIZE, colour, faded
from lab.statistics import INTERVAL
from lab.tasks.named import task_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

OURS, SYMMETRIZED, POLYNOMIAL, CHEBYSHEV = "ours MLP", "symmetrized", "polynomial", "Chebyshev"
NAMES = {OURS: "learned", SYMMETRIZED: SYMMETRIZED, POLYNOMIAL: POLYNOMIAL, CHEBYSHEV: CHEBYSHEV}
DASHES = {OURS: "solid", SYMMETRIZED: "solid", POLYNOMIAL: "dash", CHEBYSHEV: "dot"}
PAPERS = 18  # degree of the paper's polynomials
APART = {POLYNOMIAL: -0.15, CHEBYSHEV: 0.15}  # where both have a degree
IMAGES = {"x": "φ(−x)", "y": "−φ(x)", "both": "−φ(−x)"}  # by mirror


def fig12(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a task: its functions, and the gain over the baseline of models trained with each.

    table: task, method, degree (0: none), seed, accuracy (0 to 1), mirror, correlation. functions: task, method,
    degree, x, value; of each kind of polynomial one degree is drawn.
    """
    tasks, cells = list(table["task"].unique()), gains(table)
    figure = grid([title for task in tasks for title in (task_title(task), "")], 2, 150, gap=56, top=64, horizontal=62)
    places = _places(table)
    named: set[str] = set()
    for row, task in enumerate(tasks, 1):
        _draw_functions(figure, functions[functions["task"] == task], row, named)
        above(figure, _mirrored(table[table["task"] == task]), row, 1, side="right", size=SIZE - 2)
        _draw_gains(figure, cells[cells["task"] == task], places, row)
        if not {POLYNOMIAL, CHEBYSHEV} & set(table.loc[table["task"] == task, "method"]):
            above(figure, "no polynomials trained on this task", row, 2, side="right", size=SIZE - 2)
        figure.update_yaxes(title_text="φ(x)", row=row, col=1)
        figure.update_yaxes(title_text="gain (% points)", row=row, col=2)
    figure.update_xaxes(title_text="input x", row=len(tasks), col=1)
    figure.update_xaxes(title_text="spline, or degree of its polynomial", row=len(tasks), col=2)
    many = table["seed"].nunique() > 1
    divergences = [
        f"{task_title(c.task)}, {c.architecture}: {c.lost} of {c.seeds + c.lost}" for c in cells.itertuples() if c.lost
    ]
    set_reading(
        figure,
        "Left: where the learned function is not zero; with its polynomial of the paper's degree and its Chebyshev"
        " series of the highest. Above: its most similar mirror image, wherever it lies, and their correlation r.",
        "Right: difference to the baseline of the same seed, mean over seeds; grey: GELU, the baseline.",
        f"Whiskers and blue band: {INTERVAL}." if many else "One seed only: no interval.",
        "Polynomials are least squares on the knots and Horner's method in float32, which loses its digits above degree"
        " 18; a Chebyshev series keeps them.",
        f"Pairs left out, because a run diverged: {'; '.join(divergences)}." if divergences else "",
    )
    return figure


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """`matrix.delta` by task, method and degree: what models gain over the baseline, in percentage points."""
    names = table["method"].where(table["degree"] == 0, table["method"] + " " + table["degree"].astype(str))
    named = table.assign(architecture=names)
    kinds = named[["architecture", "method", "degree"]].drop_duplicates()
    return delta(named).merge(kinds, on="architecture")


def summary(table: pd.DataFrame) -> str:
    """By kind of function: on which tasks it gains least and most over the baseline."""
    cells = gains(table)
    shown: dict[str, dict[str, float]] = {}
    for task in table["task"].unique():
        rows = cells[cells["task"] == task]
        for method, degree in _shown(rows).items():
            (gain,) = rows.loc[(rows["method"] == method) & (rows["degree"] == degree), "delta"]
            name = f"{NAMES[method]}{f' {degree}' if degree else ''}"
            shown.setdefault(name, {})[task_title(task)] = gain
    words = [f"{name} {_range(by_task)}" for name, by_task in shown.items()]
    return f"Mean accuracy over training, minus baseline, in points: {'; '.join(words)}."


def _range(by_task: dict[str, float]) -> str:
    """From the least to the most.

    >>> _range({"Add": 2.0, "Memorize": 5.0, "Mano": float("nan")}), _range({"Mano": float("nan")})
    ('+2.0 (Add) to +5.0 (Memorize)', '– (every run diverged)')
    """
    tasks = sorted((gain, task) for task, gain in by_task.items() if gain == gain)
    if not tasks:
        return "– (every run diverged)"
    return " to ".join(dict.fromkeys(f"{signed(gain)} ({task})" for gain, task in (tasks[0], tasks[-1])))


def _shown(rows: pd.DataFrame) -> dict[str, int]:
    """The degree of each method that is drawn and told: the paper's of the polynomials, the highest of the series."""
    degrees = {method: sorted(rows.loc[rows["method"] == method, "degree"].unique()) for method in NAMES}
    return {
        method: PAPERS if method == POLYNOMIAL and PAPERS in values else values[-1]
        for method, values in degrees.items()
        if values
    }


def _draw_functions(figure: go.Figure, rows: pd.DataFrame, row: int, named: set[str]) -> None:
    """named: methods that have their place in the legend."""
    for method, degree in _shown(rows).items():
        part = rows[(rows["method"] == method) & (rows["degree"] == degree)].sort_values("x")
        figure.add_scatter(
            x=part["x"],
            y=part["value"],
            mode="lines",
            name=NAMES[method],
            legendgroup=method,
            line={"color": colour(method), "width": 2.2 if method == OURS else 1.5, "dash": DASHES[method]},
            hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
            showlegend=method not in named,
            row=row,
            col=1,
        )
        named.add(method)
    ours = rows.loc[rows["method"].isin((OURS, SYMMETRIZED)), "value"]  # a polynomial may leave the panel at the ends
    pad = 0.12 * np.ptp(ours) or 0.5
    figure.update_yaxes(range=(ours.min() - pad, ours.max() + pad), nticks=5, row=row, col=1)


def _draw_gains(
    figure: go.Figure, cells: pd.DataFrame, places: dict[tuple[str, int], tuple[float, str]], row: int
) -> None:
    left, right = -0.7, max(x for x, _ in places.values()) + 0.6
    mark = {"mode": "lines", "hoverinfo": "skip", "row": row, "col": 2}
    figure.add_scatter(
        x=[left, right], y=[0, 0], line={"color": GREY, "width": 1.5}, name="GELU", showlegend=False, **mark
    )
    reference = cells[cells["method"] == OURS].iloc[0]
    if np.isfinite(reference["low"]):
        edges = [reference["low"]] * 2 + [reference["high"]] * 2
        band = {"fill": "toself", "fillcolor": faded(colour(OURS), 0.12)}
        figure.add_scatter(
            x=[left, right, right, left],
            y=edges,
            name="learned, interval",
            showlegend=False,
            **mark | band | {"line": {"width": 0}},
        )
    line = {"color": colour(OURS), "width": 1}
    figure.add_scatter(
        x=[left, right], y=[reference["delta"]] * 2, line=line, name="learned again", showlegend=False, **mark
    )
    for method, part in cells.groupby("method", sort=False):
        part = part.sort_values("degree")
        figure.add_scatter(
            x=[places[method, degree][0] + APART.get(method, 0) for degree in part["degree"]],
            y=part["delta"],
            error_y={"array": part["high"] - part["delta"], "thickness": 1.2, "width": 3},
            mode="markers+lines" if method in APART else "markers",
            line={"color": colour(method), "width": 1, "dash": DASHES[method]},
            marker={"color": colour(method), "symbol": METHOD_SYMBOLS[method], "size": 7},
            name=NAMES[method],
            legendgroup=method,
            showlegend=False,
            customdata=part["architecture"],
            hovertemplate="%{customdata}: %{y:+.1f} ± %{error_y.array:.1f} points",
            row=row,
            col=2,
        )
    ticks = dict(places.values())
    figure.update_xaxes(
        range=(left, right), tickvals=list(ticks), ticktext=list(ticks.values()), tickangle=0, row=row, col=2
    )
    figure.update_yaxes(nticks=6, row=row, col=2)


def _places(table: pd.DataFrame) -> dict[tuple[str, int], tuple[float, str]]:
    """Where each method and degree stands on the axis, and what it is called there; the same in all panels."""
    degrees = sorted(set(table["degree"]) - {0})
    places = {(OURS, 0): (0.0, "spline"), (SYMMETRIZED, 0): (1.3, "sym.")}
    return places | {(method, d): (2.5 + i, str(d)) for i, d in enumerate(degrees) for method in APART}


def _mirrored(rows: pd.DataFrame) -> str:
    known = rows[rows["method"] == SYMMETRIZED].dropna(subset=["correlation"])
    if known.empty:
        return ""
    one = known.iloc[0]
    return f"{IMAGES[one['mirror']]}: r = {one['correlation']:.2f}"
