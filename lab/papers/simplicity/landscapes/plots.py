"""Models of tables side by side, a column each: their functions, landscapes and slices (simplicity paper, Figures 7 and
24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.tables.settings import IAFS, NEIGHBOURS, NETWORKS, TANH, TREES
from lab.plots.caption import set_reading
from lab.plots.panels import above, grid
from lab.plots.style import BLACK, GREY, SEQUENCE, SEQUENTIAL, SIZE, VERMILLION, colour

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

ROWS = {"function": "function", "loss": "loss", "complexity": "complexity", "zoom": "complexity,<br>random plane"}
HEIGHT, GAP, HEAD = 84, 10, 44  # px of a panel, between rows, and for the names above a table's first row
LOWEST = 1e-6  # a landscape's smallest value that is drawn: colours are logarithmic


def fig7(table: pd.DataFrame) -> go.Figure:
    """One table; columns: networks, and trees.

    table: as `lab.papers.simplicity.landscapes.figures.measured` gives it."""
    return _draw(table, (*NETWORKS, TREES))


def fig24(table: pd.DataFrame) -> go.Figure:
    """All tables below each other; columns: networks, trees, k-NN. table: as for `fig7`."""
    return _draw(table, (*NETWORKS, TREES, NEIGHBOURS))


def _draw(table: pd.DataFrame, columns: tuple[str, ...]) -> go.Figure:
    names = list(table["table"].unique())
    slices = sorted(table.loc[table["part"] == "slice", "number"].unique())
    parts = [*ROWS, *(f"slice {number + 1}" for number in slices)]
    figure = grid(
        [""] * (len(names) * len(parts) * len(columns)), len(columns), HEIGHT, gap=GAP, top=70, left=64, horizontal=8
    )
    drawn = table[table["seed"] == table["seed"].min()]
    ranges = []
    for block, name in enumerate(names):
        rows, means = drawn[drawn["table"] == name], table[table["table"] == name]
        scales = {"loss": _range(rows, ("loss",)), "complexity": _range(rows, ("complexity", "zoom"))}
        scales["zoom"] = scales["complexity"]
        ranges.append(
            f"{name}: loss " + " and complexity ".join(_interval(scales[part]) for part in ("loss", "complexity"))
        )
        for line, part in enumerate(parts):
            row = block * len(parts) + line + 1
            for column, method in enumerate(columns, 1):
                mine = rows[rows["method"] == method]
                if part == "function":
                    _functions(figure, mine, method, (row, column))
                    if not block or line == 0:
                        _head(figure, means[means["method"] == method], method, (row, column))
                elif part in ROWS:
                    _landscape(figure, mine, part, scales[part], (row, column))
                else:
                    _slice(figure, mine, int(part.split()[1]) - 1, (row, column))
            figure.update_yaxes(
                title={"text": ROWS.get(part, part), "font": {"size": SIZE - 1}, "standoff": 4}, row=row, col=1
            )
    figure.update_xaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    figure.update_yaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    _spread(figure, len(names), len(parts))
    figure.update_layout(margin_b=18, height=figure.layout.height - 32, showlegend=False)
    for block, name in enumerate(names):
        above(figure, f"<b>{name}</b>", block * len(parts) + 1, 1, size=SIZE + 1)
        figure.layout.annotations[-1].update(yshift=38, xshift=-54)
    set_reading(
        figure,
        "First seed. Functions: of the hidden layers, from -5 to 5; with IAFs of the inputs, one line each, from -1 to"
        " 1; in brackets mean test accuracy. Landscapes: on the plane of the training's first two principal"
        " components, the line is the training, the star the network that is kept, and on a random plane around it."
        " Dark: low, light: high, on a logarithmic scale, the same colours for one measure and table"
        f" ({'; '.join(ranges)}; cut at the 2nd and 98th percentile). Slices: two inputs of a training row (circle)"
        " go from -1 to 1; black: low, white: high, scaled in each image.",
    )
    return figure


def _head(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int]) -> None:
    """Name of a column, with its prefactor and its mean accuracy."""
    text = f"tanh({rows['prefactor'].iloc[0]:g}x)" if method == TANH and len(rows) else method.replace("boosted ", "")
    above(figure, text, *at)
    figure.layout.annotations[-1].update(yshift=18)
    accuracy = 100 * rows.loc[rows["part"] == "accuracy", "value"].mean()
    above(figure, f"({accuracy:.1f} %)" if np.isfinite(accuracy) else "(diverged)", *at, size=SIZE - 1)


def _functions(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int]) -> None:
    curves = rows[rows["part"] == "function"]
    if not len(curves):
        _nothing(figure, "no function", at)
    for number, one in curves.groupby("number"):
        ink = SEQUENCE[number % len(SEQUENCE)] if method == IAFS else colour(method)
        figure.add_scatter(
            x=one["x"],
            y=one["value"],
            mode="lines",
            line={"color": ink, "width": 1.3},
            name=f"input {number}" if method == IAFS else method,
            row=at[0],
            col=at[1],
            hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
        )


def _nothing(figure: go.Figure, words: str, at: tuple[int, int]) -> None:
    """Say why a panel is empty."""
    figure.add_scatter(
        x=[0],
        y=[0],
        mode="text",
        text=[words],
        textfont={"size": SIZE - 2, "color": GREY},
        name=words,
        hoverinfo="skip",
        row=at[0],
        col=at[1],
    )


def _landscape(
    figure: go.Figure, rows: pd.DataFrame, part: str, scale: tuple[float, float], at: tuple[int, int]
) -> None:
    cells = rows[rows["part"] == part]
    if not len(cells):
        _nothing(figure, "no weights", at)
        return
    z = cells.pivot(index="y", columns="x", values="value")
    figure.add_contour(
        x=z.columns,
        y=z.index,
        z=np.log10(z.clip(lower=LOWEST)),
        customdata=z,
        colorscale=SEQUENTIAL,
        showscale=False,
        zmin=scale[0],
        zmax=scale[1],
        contours={"coloring": "heatmap"},
        ncontours=12,
        name=part,
        line={"width": 0.5, "color": "rgba(255, 255, 255, 0.5)"},
        row=at[0],
        col=at[1],
        hovertemplate=f"{part} %{{customdata:.3g}}",
    )
    way = rows[rows["part"] == "way"].sort_values("number")
    if part != "zoom":
        figure.add_scatter(
            x=way["x"],
            y=way["y"],
            mode="lines",
            line={"color": VERMILLION, "width": 1.5},
            name="training",
            hoverinfo="skip",
            row=at[0],
            col=at[1],
        )
    star = {"symbol": "star", "size": 9, "color": "white", "line": {"color": BLACK, "width": 0.8}}
    figure.add_scatter(x=[0], y=[0], mode="markers", marker=star, name="kept", hoverinfo="skip", row=at[0], col=at[1])
    for axis, values in (("x", z.columns), ("y", z.index)):
        getattr(figure, f"update_{axis}axes")(range=(values[0], values[-1]), row=at[0], col=at[1])


def _slice(figure: go.Figure, rows: pd.DataFrame, number: int, at: tuple[int, int]) -> None:
    cells = rows[(rows["part"] == "slice") & (rows["number"] == number)]
    point = rows[(rows["part"] == "point") & (rows["number"] == number)]
    if not len(cells):
        return
    z = cells.pivot(index="y", columns="x", values="value")
    figure.add_heatmap(
        x=z.columns,
        y=z.index,
        z=z,
        colorscale="Greys_r",
        showscale=False,
        zsmooth="best",
        name=f"slice {number + 1}",
        hovertemplate="%{z:.3g}",
        row=at[0],
        col=at[1],
    )
    mark = {"symbol": "circle-open", "size": 8, "color": VERMILLION, "line": {"width": 2}}
    figure.add_scatter(
        x=point["x"],
        y=point["y"],
        mode="markers",
        marker=mark,
        name="training row",
        hoverinfo="skip",
        row=at[0],
        col=at[1],
    )
    figure.update_xaxes(range=(z.columns[0], z.columns[-1]), row=at[0], col=at[1])
    figure.update_yaxes(range=(z.index[0], z.index[-1]), row=at[0], col=at[1])


def _range(rows: pd.DataFrame, parts: tuple[str, ...]) -> tuple[float, float]:
    """Logarithms between which colours go."""
    values = rows.loc[rows["part"].isin(parts), "value"].to_numpy(float)
    values = values[np.isfinite(values)]
    if not len(values):
        return -1.0, 1.0
    low, high = np.log10(np.percentile(values, [2, 98]).clip(min=LOWEST))
    return float(low), float(max(high, low + 1e-3))


def _interval(scale: tuple[float, float]) -> str:
    return f"{10 ** scale[0]:.2g} to {10 ** scale[1]:.2g}"


def _spread(figure: go.Figure, blocks: int, lines: int) -> None:
    """Make room above the first row of each table but the first: rows below it move down."""
    inner = blocks * lines * HEIGHT + (blocks * lines - 1) * GAP
    whole = inner + (blocks - 1) * (HEAD + SIZE)
    for axis in figure.select_yaxes():
        number = round((1 - axis.domain[1]) * inner / (HEIGHT + GAP))  # of the row, from above
        shift = (number // lines) * (HEAD + SIZE)
        top = number * (HEIGHT + GAP) + shift
        old = axis.domain[1]
        axis.domain = [1 - (top + HEIGHT) / whole, 1 - top / whole]
        for note in figure.layout.annotations:
            if abs(note.y - old) < 1e-9 and not (note.name or "").startswith("moved"):
                note.update(y=axis.domain[1], name="moved")
    figure.update_layout(height=figure.layout.height + whole - inner)
