"""Figures 7 and 24 of the simplicity paper: networks of a table in weight space and in input space, beside trees and
k-NN. What is drawn is of the first seed; what is claimed is measured of all.

The paper speaks of the best model of a table, which in its figures has input functions (IAFs). Which network is the
best here is read off each table; where several are as accurate, each may be. Total variation, which depends on the
distances of points (App. A), is never compared between tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of, on_every_reading
from lab.papers.entry import Entry
from lab.papers.simplicity.complexity import logarithms
from lab.papers.simplicity.landscape_measures import DEPTH, FINE, PAPER_TABLES, RADIUS, drawn, measure, plan, tables_of
from lab.papers.simplicity.tables import settings
from lab.papers.simplicity.tables.accuracy import LONGER_SEARCHES
from lab.papers.simplicity.tables.settings import IAFS, NEIGHBOURS, NETWORKS, RELU, TANH, TREES, origin
from lab.papers.tables import compare_one, gains, ratios
from lab.plots import go
from lab.plots.caption import counted, set_reading
from lab.plots.panels import above, blank, colour_bar, grid, line
from lab.plots.style import BLACK, CELL_INK, SEQUENTIAL, SIZE, VERMILLION, colour
from lab.statistics import LEVEL

OfBest = Callable[..., list[Verdict]]  # rows of a table, its best network, the others

NEAR_IDENTITY = 0.99  # share of a function's variance that its start explains, above which it has not left it
ROWS = {"function": "function", "loss": "loss", "complexity": "complexity", "zoom": "complexity,<br>random plane"}
HEIGHT, GAP, HEAD = 96, 10, 76  # px of a panel, between rows, and for the names above a table's first row
LOWEST = 1e-6  # a landscape's smallest value that is drawn: colours are logarithmic


def _part(table: pd.DataFrame, part: str, radius: float | None = None) -> pd.DataFrame:
    """Numbers of a part of Figures 7 and 24: seeds × (table, method)."""
    rows = table[table["part"] == part]
    if radius is not None:
        rows = rows[rows["radius"] == radius]
    means = rows.groupby([rows["seed"], rows["table"], rows["method"]], sort=False)["value"]
    return means.agg(lambda a: a.mean(skipna=False)).unstack(["table", "method"])


def left_identity(table: pd.DataFrame, scale: str) -> str:
    """Input functions that are learned, not the identity that they start from."""
    functions = table[(table["part"] == "function") & (table["method"] == IAFS)]
    near = {
        name: 1 - float(((rows["value"] - rows["x"]) ** 2).mean() / rows["x"].var(ddof=0))
        for name, rows in functions.groupby("table")
    }
    still = [f"{name} {share:.3f}" for name, share in near.items() if share > NEAR_IDENTITY]
    return f"input functions did not leave the identity (R² {', '.join(still)})" if still else ""


def best_networks(rows: pd.DataFrame) -> list[str]:
    """Of one table, the most accurate network first, then those whose test accuracy is not clearly below its."""
    wide = 100 * _part(rows, "accuracy").droplevel("table", axis=1)
    names = wide[[name for name in NETWORKS if name in wide]].mean().dropna().sort_values(ascending=False).index
    if names.empty:
        return []
    first, *others = names
    gaps = {name: compare_one({one: wide[one] for one in (name, first)}, first, name) for name in others}
    return [first, *(name for name, gap in gaps.items() if not gap.interval(LEVEL)[0] > 0)]


def _of_the_best(measure: OfBest) -> Callable[[pd.DataFrame], Verdict]:
    """On every table what is measured of its best network; each network that may be the best is a reading of it."""

    def verdict(table: pd.DataFrame) -> Verdict:
        verdicts = []
        for _, rows in table.groupby("table", sort=False):
            readings, known = {}, set(rows["method"].unique())
            for best in best_networks(rows):
                others = [name for name in NETWORKS if name != best and name in known]
                readings[f"of {best}"] = all_of(measure(rows, best, others))
            verdicts.append(on_every_reading(readings))
        return all_of(verdicts)

    return verdict


def _more(part: str, rows: pd.DataFrame, best: str, others: list[str], radius: float | None = None) -> list[Verdict]:
    """By how many times a part of the best network is above that of each other one."""
    wide = logarithms(_part(rows, part, radius))
    (name,) = wide.columns.unique("table")
    return ratios(wide, {f"{best} against {one}, {name}": ((name, best), (name, one)) for one in others}, above=1.0)


def _around(rows: pd.DataFrame, best: str, others: list[str], radius: float | None = None) -> list[Verdict]:
    """By how many times the complexity around a network is above its own."""
    solution, around = logarithms(_part(rows, "solution")), logarithms(_part(rows, "ambient", radius))
    (name,) = solution.columns.unique("table")
    more = estimates.mean(around[name, best] - solution[name, best], covers="seeds, of one search")
    return [Verdict(more.exp(), above=1.0, unit="×", case=f"{best}, {name}")]


def _at_each_radius(measure: OfBest) -> OfBest:
    """Each radius of the random plane is a reading, for the paper prints none."""

    def readings(rows: pd.DataFrame, best: str, others: list[str]) -> list[Verdict]:
        radii = rows["radius"].dropna().unique()[::-1] if "radius" in rows else [None]
        at = {one: all_of(measure(rows, best, others, radius=one)) for one in radii}
        return [on_every_reading({f"radius {one:g}" if one else "": verdict for one, verdict in at.items()})]

    return readings


def several_radii(table: pd.DataFrame, scale: str) -> str:
    """The paper does not print how far the random plane reaches."""
    radii = table["radius"].dropna().nunique() if "radius" in table else 1
    return "" if radii > 1 else "one radius of the plane, which is a guess: the paper prints none"


def _rises(table: pd.DataFrame) -> Verdict:
    course, verdicts = table[table["part"] == "course"].sort_values("x"), []
    for (name, method), rows in course.groupby(["table", "method"], sort=False):
        ways = logarithms(rows.groupby("seed")["value"].agg(["first", "last"]))
        more = estimates.mean(ways["last"] - ways["first"], covers="seeds, of one search").exp()
        verdicts.append(Verdict(more, above=1.0, unit="×", case=f"{method}, {name}"))
    return all_of(verdicts)


def _aligned(table: pd.DataFrame) -> Verdict:
    wide = _part(table, "alignment")
    pairs = {f"against {RELU}, {name}": ((name, IAFS), (name, RELU)) for name in wide.columns.unique("table")}
    return all_of(gains(wide, pairs, above=0.0))


_SEVERAL = "24 seeds, and tables on which one network is clearly the best"
_claim = partial(Claim, decides=_SEVERAL, hours=1.0, stands_in=settings.smaller)
FIG24 = (
    _claim(
        "most-complex",
        "Complexity increases to the highest level in the best model of each table (at its best step)",
        _of_the_best(partial(_more, "solution")),
    ),
    _claim("rises", "Complexity increases in training, for all models", _rises),
    _claim(
        "ambient-others",
        "Around the best networks the ambient complexity is higher than around less accurate ones",
        _of_the_best(_at_each_radius(partial(_more, "ambient"))),
        several_radii,
    ),
    _claim(
        "ambient-solution",
        "Around the best networks the ambient complexity is higher than their own",
        _of_the_best(_at_each_radius(_around)),
        several_radii,
    ),
    Claim(
        "aligned",
        "IAFs induce axis-aligned boundaries, as trees do (more than ReLU)",
        _aligned,
        left_identity,
        LONGER_SEARCHES,
        0.4,
        stands_in=settings.smaller,
    ),
)


def fig24(table: pd.DataFrame, columns: tuple[str, ...] = (*NETWORKS, TREES, NEIGHBOURS)) -> go.Figure:
    """Tables below each other, a column a method; several have their complexity and one slice each. table: as of
    `landscape_measures`."""
    alone = len(names := list(table["table"].unique())) == 1
    slices = sorted(table.loc[table["part"] == "slice", "number"].unique())[: None if alone else 1]
    parts = [*(ROWS if alone else ("complexity", "zoom")), *(f"slice {number + 1}" for number in slices)]
    panels = [""] * (len(names) * len(parts) * len(columns))
    figure = grid(panels, len(columns), HEIGHT, gap=GAP, top=70, left=64, horizontal=8)
    first = table[table["seed"] == table["seed"].min()]
    for block, name in enumerate(names):
        rows, means = first[first["table"] == name], table[table["table"] == name]
        complexities = _range(rows, ("complexity", "zoom"))
        scales = {"loss": _range(rows, ("loss",)), "complexity": complexities, "zoom": complexities}
        for row, part in enumerate(parts, block * len(parts) + 1):
            for column, method in enumerate(columns, 1):
                at, mine = (row, column), rows[rows["method"] == method]
                if part == (f"slice {slices[0] + 1}" if method in (TREES, NEIGHBOURS) else parts[0]):
                    _head(figure, means[means["method"] == method], method, at)
                if part == "function":
                    _functions(figure, mine, method, at)
                elif part in ROWS:
                    _landscape(figure, mine, part, scales[part], at)
                    if part != "loss" and len(mine[mine["part"] == part]):
                        _write(figure, mine, part, at)
                else:
                    _slice(figure, mine, int(part.split()[1]) - 1, at)
            if part == parts[-1]:
                _alignment(figure, means, columns, row)
            text = ROWS.get(part, part if alone else "around a<br>training row")
            figure.update_yaxes(title={"text": text, "font": {"size": SIZE - 1}, "standoff": 4}, row=row, col=1)
    figure.update_xaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    figure.update_yaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    _spread(figure, len(names), len(parts))
    _bars(figure, (figure.get_subplot(1, columns.index(TREES) + 1).xaxis.domain[0], 1.0))
    figure.update_layout(showlegend=False)
    for block, name in enumerate(names):
        above(figure, f"<b>{name}</b>", block * len(parts) + 1, 1, size=SIZE + 1, yshift=38, xshift=-54)
    set_reading(
        figure,
        f"Images and their boxes: first seed; other numbers: means over {counted(table['seed'].nunique(), 'seed')}, of"
        f" {' and '.join(name for name in (TREES, NEIGHBOURS) if name in columns)} one run. Alignment with axes, also"
        " of slices not drawn, 1: an answer changes along one input at a time. Line: training, from circle to dot;"
        " star: best on val. In boxes: total variation at the start → star → dot; at the star, and the mean around it."
        " Slices: two inputs of a training row (circle); black: low, white: high."
        + ("" if alone else " Functions and loss: see Figure 7."),
    )
    return figure


def _head(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int]) -> None:
    text = f"tanh({rows['prefactor'].iloc[0]:g}x)" if method == TANH and len(rows) else method.replace("boosted ", "")
    above(figure, text, *at, yshift=18)
    accuracy = 100 * rows.loc[rows["part"] == "accuracy", "value"].mean()
    above(figure, f"test {accuracy:.1f} %" if np.isfinite(accuracy) else "(diverged)", *at, size=SIZE - 1)


def _alignment(figure: go.Figure, rows: pd.DataFrame, columns: Sequence[str], row: int) -> None:
    """Below the slices of each method its alignment with axes."""
    means = rows[rows["part"] == "alignment"].groupby("method")["value"].mean()
    for column, method in enumerate(columns, 1):
        text = f"alignment of<br>all slices {means[method]:.2f}" if np.isfinite(means.get(method, np.nan)) else ""
        figure.update_xaxes(title={"text": text, "font": {"size": SIZE - 1}, "standoff": 8}, row=row, col=column)


def _functions(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int]) -> None:
    curves = rows[rows["part"] == "function"]
    if not len(curves):
        blank(figure, *at)
    for number, one in curves.groupby("number"):
        name, width = (f"input {number}", 0.7) if method == IAFS else (method, 1.3)
        look = {"name": name, "hovertemplate": "φ(%{x:.2f}) = %{y:.3g}"}
        line(figure, one["x"], one["value"], colour(method), at, width, **look)


def _bars(figure: go.Figure, across: tuple[float, float]) -> None:
    """What the colours of each landscape mean, in its row, where trees have no weights."""
    heights = set()
    for trace in figure.select_traces({"type": "contour"}):
        top = figure.layout[f"yaxis{trace.yaxis[1:]}"].domain[1]
        if trace.name == "zoom" or top in heights:
            continue
        heights.add(top)
        ends = [trace.zmin, trace.zmax]
        words = {"tickvals": ends, "ticktext": [f"{sign} {10**end:.2g}" for sign, end in zip("≤≥", ends, strict=True)]}
        where = {"x": sum(across) / 2, "len": 0.8 * (across[1] - across[0])}
        trace.update(showscale=True, colorbar=colour_bar(f"{trace.name} (log)", top, ()) | words | where)


def _landscape(
    figure: go.Figure, rows: pd.DataFrame, part: str, scale: tuple[float, float], at: tuple[int, int]
) -> None:
    cells = rows[rows["part"] == part]
    if not len(cells):
        blank(figure, *at)
        return
    z, where = cells.pivot(index="y", columns="x", values="value"), {"row": at[0], "col": at[1]}
    logs = np.log10(z.clip(lower=LOWEST))
    look = {"colorscale": SEQUENTIAL, "showscale": False, "zmin": scale[0], "zmax": scale[1], "ncontours": 12}
    look |= {"contours": {"coloring": "heatmap"}, "line": {"width": 0.5, "color": "rgba(255, 255, 255, 0.5)"}}
    hover = f"{part} %{{customdata:.3g}}"
    figure.add_contour(x=z.columns, y=z.index, z=logs, customdata=z, name=part, hovertemplate=hover, **look, **where)
    if part != "zoom":
        way = rows[rows["part"] == "way"].sort_values("number")
        line(figure, way["x"], way["y"], VERMILLION, at, 1.5, name="training", hoverinfo="skip")
        ends, look = way.iloc[[0, -1]], {"symbol": "circle", "size": 7, "line": {"color": VERMILLION, "width": 1.5}}
        look["color"] = ["white", VERMILLION]
        look = {"mode": "markers", "marker": look, "name": "ends", "hoverinfo": "skip"}
        figure.add_scatter(x=ends["x"], y=ends["y"], **look, **where)
    star = {"symbol": "star", "size": 9, "color": "white", "line": {"color": BLACK, "width": 0.8}}
    figure.add_scatter(x=[0], y=[0], mode="markers", marker=star, name="kept", hoverinfo="skip", **where)
    _span(figure, z, at)


def _write(figure: go.Figure, rows: pd.DataFrame, part: str, at: tuple[int, int]) -> None:
    """In a landscape its total variation: at the start, best on val, and at the end; or best on val, and the mean."""
    way, *others = (rows.loc[rows["part"] == name, "value"] for name in ("course", "solution", "zoom"))
    best, around = (f"{one.mean():.3g}" for one in others)
    course = f"{way.iloc[0]:.3g}→{best}→{way.iloc[-1]:.3g}"
    text = course if part == "complexity" else f"star {best},<br>around it {around}"
    look = {"font": {"size": SIZE - 2, "color": CELL_INK}, "bgcolor": "rgba(255, 255, 255, 0.7)"}
    place = {"x": 0.5, "y": 0.03, "xref": "x domain", "yref": "y domain", "yanchor": "bottom", "showarrow": False}
    figure.add_annotation(text=text, row=at[0], col=at[1], **look, **place)


def _slice(figure: go.Figure, rows: pd.DataFrame, number: int, at: tuple[int, int]) -> None:
    rows = rows[rows["number"] == number]
    cells, point = (rows[rows["part"] == part] for part in ("slice", "point"))
    if not len(cells):
        return
    z, where = cells.pivot(index="y", columns="x", values="value"), {"row": at[0], "col": at[1]}
    look = {"colorscale": "Greys_r", "showscale": False, "zsmooth": "best", "hovertemplate": "%{z:.3g}"}
    figure.add_heatmap(x=z.columns, y=z.index, z=z, name=f"slice {number + 1}", **look, **where)
    mark = {"symbol": "circle-open", "size": 8, "color": VERMILLION, "line": {"width": 2}}
    look = {"mode": "markers", "marker": mark, "name": "training row", "hoverinfo": "skip"}
    figure.add_scatter(x=point["x"], y=point["y"], **look, **where)
    _span(figure, z, at)


def _span(figure: go.Figure, z: pd.DataFrame, at: tuple[int, int]) -> None:
    """Let the axes of a panel end where its cells do."""
    figure.update_xaxes(range=(z.columns[0], z.columns[-1]), row=at[0], col=at[1])
    figure.update_yaxes(range=(z.index[0], z.index[-1]), row=at[0], col=at[1])


def _range(rows: pd.DataFrame, parts: tuple[str, ...]) -> tuple[float, float]:
    """Logarithms between which colours go."""
    values = rows.loc[rows["part"].isin(parts), "value"].to_numpy(float)
    values = values[np.isfinite(values)]
    low, high = np.log10(np.percentile(values, [2, 98]).clip(min=LOWEST)) if len(values) else (-1.0, 1.0)
    return float(low), float(max(high, low + 1e-3))


def _spread(figure: go.Figure, blocks: int, lines: int) -> None:
    """Make room above the first row of each table but the first: rows below it move down."""
    inner = blocks * lines * HEIGHT + (blocks * lines - 1) * GAP
    whole = inner + (blocks - 1) * (HEAD + SIZE)
    for axis in figure.select_yaxes():
        number = round((1 - axis.domain[1]) * inner / (HEIGHT + GAP))  # of the row, from above
        top = number * (HEIGHT + GAP) + (number // lines) * (HEAD + SIZE)
        old = axis.domain[1]
        axis.domain = [1 - (top + HEIGHT) / whole, 1 - top / whole]
        for note in figure.layout.annotations:
            if abs(note.y - old) < 1e-9 and not (note.name or "").startswith("moved"):
                note.update(y=axis.domain[1], name="moved")
    figure.update_layout(height=figure.layout.height + whole - inner)


def _summary(table: pd.DataFrame) -> str:
    course = table[table["part"] == "course"].sort_values("x").groupby(["table", "method", "seed"])["value"]
    first, last = (one.groupby(["table", "method"]).mean() for one in (course.first(), course.last()))
    names = table["table"].unique()
    tag = {name: f" ({name})" if len(names) > 1 else "" for name in names}
    most = " and ".join(f"{last.xs(name, level='table').idxmax()}{tag[name]}" for name in names)
    around = logarithms(_part(drawn(table), "ambient"))
    gaps = around - logarithms(_part(table, "solution"))
    sure = [key for key in gaps if estimates.mean(gaps[key]).interval(LEVEL)[0] > 0]
    higher = {name: ", ".join(method for one, method in sure if one == name) or "none" for name in names}
    where = " and ".join(f"{methods}{tag[name]}" for name, methods in higher.items())
    aligned, words = _part(table, "alignment").mean(), []
    for method in (RELU, IAFS, TREES, NEIGHBOURS)[: 3 if len(names) == 1 else 4]:
        if each := [f"{aligned[name, method]:.2f}" for name in names if (name, method) in aligned]:
            words.append(f"{method.split()[-1]} {', '.join(each)}")
    return (
        f"Complexity rises in {sum(last > first)} of {counted(len(last), 'network')}, ends highest with {most};"
        f" around the solution it is surely higher with {where}. Alignment: {'; '.join(words)}."
    )


def _numbers(table: pd.DataFrame) -> str:
    every = table["method"].unique()
    return (
        "Functions: of the hidden layers, from -5 to 5; with IAFs of the inputs, one line each, from -1 to 1."
        " Landscapes: on the plane of the training's first two principal components, and on a random one around the"
        " solution; colours are logarithmic, the same for one measure and table, and end at the 2nd and 98th"
        " percentile. Slices go from -1 to 1, scaled in each image. Mean over seeds. Total variation of log-odds"
        " (trees, k-NN: none), in brackets its mean over the random plane:"
        f" {_by_table(table, every, 'solution', 'ambient')}. Alignment with axes (1: every change is along an input):"
        f" {_by_table(table, every, 'alignment')}.{_identity(table)}"
    )


def _by_table(table: pd.DataFrame, methods: Sequence[str], *parts: str) -> str:
    """Means of one or two parts on each table by method."""
    words = []
    for name, rows in drawn(table).groupby("table", sort=False):
        means = rows.groupby(["method", "part"])["value"].mean().unstack().reindex(index=methods, columns=parts)
        phrases = []
        for method, first, *more in means.dropna().itertuples():
            numbers = f"{first:.2g}" + "".join(f" ({value:.2g})" for value in more)
            phrases.append(f"{method} {numbers}")
        words.append(f"{name} {', '.join(phrases) or 'every run diverged'}")
    return "; ".join(words)


def _identity(table: pd.DataFrame) -> str:
    functions = table[(table["part"] == "function") & (table["method"] == IAFS)]
    correlations = [
        float(np.corrcoef(rows["x"], rows["value"])[0, 1])
        for _, rows in functions.groupby(["table", "number"])
        if np.ptp(rows["value"]) > 0
    ]
    if not correlations:
        return ""
    median, low = f"{np.median(correlations):.3f}", f"{min(correlations):.3f}"
    return f" Functions of the inputs (IAFs) start as the identity; correlation with it: median {median}, lowest {low}."


def _notes(scale: str) -> list[str]:
    fine = FINE[scale]
    reach = ", ".join(f"{radius:g}" for radius in (*fine.radii, RADIUS))
    return [
        f"all networks have {DEPTH} hidden layers; α is chosen on val; hidden functions were learned from"
        f" {settings.START}",
        f"landscapes of {fine.grid} × {fine.grid} networks (paper 50 × 50), loss on {fine.rows:,} training rows,"
        f" complexity on {fine.paths} paths of {fine.samples} points (paper 200 of 100), of log-odds, a network's"
        " output before a sigmoid (the paper does not say of what)",
        f"the random plane has directions normalized by neuron, and reaches {reach} lengths of the weights (the paper"
        " does not say)",
        "slices of trees and k-NN are probabilities (paper: regression trees)",
    ]


def _of_tables(name: str) -> dict[str, Any]:
    return {
        "plan": lambda scale, seeds: plan(scale, seeds, tables_of(scale, name)),
        "tasks": tables_of("laptop", name),
        "origin": origin(partial(tables_of, name=name), PAPER_TABLES[name], without=("hidden layers",)),
        "measure": measure,
        "summary": _summary,
        "numbers": _numbers,
        "notes": _notes,
    }


ENTRIES = (
    Entry(
        "simplicity/fig7",
        "3.3",
        "Models of a table in weight space and in input space",
        "Models of a data set (IAFs: functions of the inputs): function, loss and complexity on the plane of training,"
        " complexity on a random plane, and answers around training rows",
        "on ELECTRICITY it rises most with input functions, and is higher still around the solution; those have"
        " boundaries along axes, as trees",
        plot=partial(fig24, columns=(*NETWORKS, TREES)),
        seeds=settings.SEEDS,
        minutes={"smoke": 0.2, "laptop": 3, "overnight": 12, "paper": 60},
        **_of_tables("simplicity/fig7"),
    ),
    Entry(
        "simplicity/fig24",
        "E.4",
        "Models of several tables in weight space and in input space",
        "Models of each data set (IAFs: functions of the inputs): complexity on the plane of training and on a random"
        " plane, and answers around a training row",
        "rises most with IAFs on ELECTRICITY, others alike",
        plot=fig24,
        claims=FIG24,
        seeds=settings.SEEDS | {"overnight": 12},
        minutes={"smoke": 0.2, "laptop": 6, "overnight": 40, "paper": 180},
        **_of_tables("simplicity/fig24"),
    ),
)
