"""Codes as points, coloured by what they may stand for (hypernetwork paper, Figs. 2D, 5A, 5B, A2, A6, A7)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lab.plots import go
from lab.plots.caption import interval_note, set_reading, true_minus
from lab.plots.panels import (
    above,
    band,
    colour_axis,
    grid,
    line,
    method_line,
    name_axes,
    named,
    percent_whiskers,
    place,
    place_bars,
    points,
    run_dots,
)
from lab.plots.style import (
    GREY,
    INK,
    LEGEND_ABOVE,
    METHOD_SYMBOLS,
    SEQUENCE,
    SIZE,
    TEMPLATE,
    colour,
    faded,
    method_title,
    methods_of,
)
from lab.statistics import over_seeds

NAMES = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x")  # a second way to tell labels apart
OTHERS, OTHER_INK = "other", "#D0D0D0"  # labels beyond the colours there are
NEIGHBOURS = 10  # of a point on the map, which say how far points of a label lie together
ENOUGH = 5  # seeds, from which on an interval of their scores is drawn
ROW = 20  # px of a row of the legend
DOT = {"size": 3.5, "opacity": 0.75}
MAP = ["method", "layer", "colouring"]  # what a map is of
CLUSTERED = 0.2  # of the way from chance to all: neighbours that are less alike show no clusters
NEAR = (
    f"Neighbours on the map: share of a point's {NEIGHBOURS} nearest that have its label, or the correlation of its"
    " value with their mean; from 0, by chance, to 1, all alike."
)
COLOURS = tuple(colour for colour in SEQUENCE if colour != GREY)


def neighbours(points: pd.DataFrame, number: int = NEIGHBOURS) -> tuple[float, float]:
    """How far neighbours on a map are alike, and what chance gives. For labels: share of the `number` nearest points
    that have the same one; for values: correlation with their mean. NaN where there is one place or too few points.

    points: x, y, and label or value, one row a point.
    """
    from scipy.spatial import cKDTree

    places, count = points[["x", "y"]].to_numpy(float), len(points)
    if count <= number or not np.ptp(places, axis=0).any():
        return float("nan"), float("nan")
    near = cKDTree(places).query(places, number + 1)[1][:, 1:]
    if points["label"].isna().all():
        values = points["value"].to_numpy(float)
        return (float(np.corrcoef(values, values[near].mean(1))[0, 1]) if np.ptp(values) else float("nan")), 0.0
    labels = points["label"].to_numpy()
    sizes = points["label"].value_counts().to_numpy(float)
    return float((labels[near] == labels[:, None]).mean()), float((sizes * (sizes - 1)).sum() / (count * (count - 1)))


def above_chance(points: pd.DataFrame) -> float:
    """How far `neighbours` are alike, from 0, as by chance, to 1, all of them; below 0 where less than by chance."""
    alike, chance = neighbours(points)
    return (alike - chance) / (1 - chance)


def clustered(table: pd.DataFrame) -> bool:
    """Whether the codes of some layer have clusters of some colouring. table: as of `maps`."""
    return any(above_chance(rows) > CLUSTERED for _, rows in table.groupby(MAP))


def maps(table: pd.DataFrame, height: int = 165, columns: str = "method") -> go.Figure:
    """One panel for each method, layer and colouring, but rows of panels with a single point each.

    table: method, layer, colouring, x, y, label, value, trustworthiness, embedding ("tsne", …), one row a point. A
    colouring has either labels, text, or values, numbers; the other column is empty there. Layers count from 0.
    columns: "method", "layer" or "colouring": what goes from left to right; the other two go down.
    """
    place_of, heads = MAP.index(columns), list(table[columns].unique())
    spread = table.groupby(MAP)[["x", "y"]].agg(np.ptp).any(axis=1)
    down = product(*(table[name].unique() for name in MAP if name != columns))
    rows = [[(*one[:place_of], head, *one[place_of:]) for head in heads] for one in down]
    rows = [row for row in rows if spread[row].any()]
    titles = [_title(columns, head) for head in heads] + [""] * len(heads) * (len(rows) - 1)
    figure = _drawn(table, sum(rows, []), titles, len(heads), height, gap=22)
    for number, row in enumerate(rows, 1):
        first, second = (_title(name, value) for name, value in zip(MAP, row[0], strict=True) if name != columns)
        figure.update_yaxes(title_text=f"<b>{first}</b><br>{second}", row=number, col=1)
    return figure


def _title(column: str, value: Any) -> str:
    return {"method": method_title, "layer": lambda layer: f"layer {layer + 1}"}.get(column, "by {}".format)(value)


def layers(table: pd.DataFrame, height: int = 190, none: str = "No layer's codes cluster") -> go.Figure:
    """Of one method, how far neighbours are alike on the map of every layer, a line a colouring; above, where a layer
    has clusters, the maps of the last. table: as of `maps`. none: the title where no layer has."""
    depths, colourings = sorted(table["layer"].unique()), list(table["colouring"].unique())
    if some := clustered(table):
        panels = [(table["method"].iloc[0], depths[-1], colouring) for colouring in colourings]
        titles = [f"layer {depths[-1] + 1}, by {colouring}" for colouring in colourings]
        titles += ["every layer: neighbours on the map"] * len(colourings)
        figure = _drawn(table, panels, titles, len(panels), height, gap=74)
    else:
        figure = grid([none], 1, 110, top=62, left=94)
        figure.update_yaxes(title_text="neighbours<br>on the map")
        set_reading(figure, NEAR)
    x = [layer + 1 for layer in depths]
    for column, (colouring, ink) in enumerate(zip(colourings, COLOURS, strict=False), 1):
        alike = [above_chance(_of(table, layer=layer, colouring=colouring)) for layer in depths]
        at = (2, column) if some else (1, 1)
        line(figure, x, [0] * len(x), GREY, at, 1.4, "dash", name="by chance", showlegend=False, hoverinfo="skip")
        line(figure, x, alike, ink, at, 2.2, mode="lines+markers", name=f"by {colouring}")
        look: dict[str, Any] = {"showticklabels": True, "ticks": "outside", "showgrid": True, "mirror": False}
        ticks = {"tickvals": [0, 1], "ticktext": ["by chance", "all alike"]}
        figure.update_yaxes(range=(-0.15, 1.05), row=at[0], col=at[1], **ticks, **look)
        figure.update_xaxes(title={"text": "layer", "standoff": 4}, tickvals=x, row=at[0], col=at[1], **look)
    return figure


def _drawn(
    table: pd.DataFrame, panels: list[tuple], titles: list[str], columns: int, height: int, gap: int
) -> go.Figure:
    """A panel for each (method, layer, colouring). titles: of these panels, and of empty ones below them."""
    shown = looks(table)
    named: set[str] = set()
    names: dict[tuple[str, str], list[str]] = {mark: [] for mark in shown.values()}
    for label, mark in shown.items():
        names[mark].append(label)
    entries = [OTHERS if mark[0] == OTHER_INK else labels[0] for mark, labels in names.items()]
    widest = 34 + 7 * max(map(len, entries), default=0)  # px of an entry
    lines = -(-len(entries) * widest // 560) if entries else 0
    figure = grid(titles, columns, height, gap=gap, top=34 + ROW * lines, left=72, horizontal=14)
    colourings = list(dict.fromkeys(colouring for _, _, colouring in panels))
    numbers = [colouring for colouring in colourings if not _labels(_of(table, colouring=colouring))]
    for number, (method, layer, colouring) in enumerate(panels):
        points = _of(table, method=method, layer=layer, colouring=colouring)
        at = place(number, columns)
        spread = np.ptp(points[["x", "y"]].to_numpy(float), axis=0).any()
        if spread and colouring in numbers:
            _draw_values(figure, points, numbers.index(colouring), at)
        elif spread:
            _draw_labels(figure, points, shown, named, at)
        else:  # without any trace, an axis has no title
            figure.add_scatter(x=[None], y=[None], showlegend=False, row=at[0], col=at[1])
        _tell(figure, points, at)
        look = {"showline": bool(spread), "showticklabels": False, "ticks": "", "showgrid": False, "mirror": True}
        figure.update_xaxes(row=at[0], col=at[1], **look)
        figure.update_yaxes(row=at[0], col=at[1], **look)
    kinds = [NAMES.get(kind, kind) for kind in table["embedding"].unique()]
    figure.update_layout(legend={"itemsizing": "constant"})  # larger than the points
    name_axes(figure, len(panels), columns, f"{' / '.join(kinds)} (no unit)", "")
    figure.update_xaxes(title_standoff=18)
    place_bars(figure, numbers)
    least, most = table["trustworthiness"].min(), table["trustworthiness"].max()
    set_reading(
        figure,
        "One point an example: the attention scores across heads of one query and key.",
        f"Below a map: how many of a point's {NEIGHBOURS} nearest neighbours have its label (in brackets: by chance),"
        f" or r, the correlation of its value with their mean; trustworthiness {least:.2f} to {most:.2f} (1: neighbours"
        " on the map are those of the codes).",
        "Distances between clusters and their sizes mean nothing." if set(kinds) & {"t-SNE", "UMAP"} else "",
        f"Light grey: labels beyond the {len(COLOURS)} most frequent."
        if OTHER_INK in {ink for ink, _ in shown.values()}
        else "",
    )
    return figure


def _of(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    chosen = np.logical_and.reduce([table[column] == value for column, value in values.items()])
    return table[chosen]


def _labels(table: pd.DataFrame) -> list[str]:
    return in_order(table["label"].dropna().unique())


def in_order(labels: Iterable[str]) -> list[str]:
    """Labels sorted, 2 before 10."""
    return sorted(labels, key=lambda label: (len(label), label))


def look(labels: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each label: first all colours, then again with another symbol."""
    return {
        label: (COLOURS[i % len(COLOURS)], SYMBOLS[i // len(COLOURS) % len(SYMBOLS)]) for i, label in enumerate(labels)
    }


def looks(table: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each label of a table of maps: no two labels of one colouring share a colour, and those
    beyond the colours there are, the rarest, are all light grey. Colourings that have labels in common share a look."""
    groups: list[set[str]] = []
    for _, rows in table.dropna(subset=["label"]).groupby("colouring", sort=False):
        labels = set(rows["label"])
        common = [group for group in groups if group & labels]
        groups = [group for group in groups if not group & labels] + [labels.union(*common)]
    marks: dict[str, tuple[str, str]] = {}
    for number, group in enumerate(groups):
        counts = table.loc[table["label"].isin(group), "label"].value_counts()
        frequent = set(counts.sort_values(ascending=False, kind="stable").index[: len(COLOURS)])
        symbol = SYMBOLS[number % len(SYMBOLS)]
        marks |= dict(zip(in_order(frequent), ((ink, symbol) for ink in COLOURS), strict=False))
        marks |= dict.fromkeys(in_order(group - frequent), (OTHER_INK, symbol))
    return marks


def _draw_labels(
    figure: go.Figure, points: pd.DataFrame, shown: dict[str, tuple[str, str]], named: set[str], at: tuple[int, int]
) -> None:
    for label in sorted(_labels(points), key=lambda label: shown[label][0] != OTHER_INK):  # grey below the others
        some = points[points["label"] == label]
        colour, symbol = shown[label]
        entry = OTHERS if colour == OTHER_INK else label
        marker = {"color": colour, "symbol": symbol, **DOT}
        dots = go.Scatter(x=some["x"], y=some["y"], name=entry, legendgroup=entry, mode="markers", marker=marker)
        dots.update(legendrank=2_000 if entry == OTHERS else 1_000, showlegend=entry not in named)
        figure.add_trace(dots.update(hovertemplate=f"{label}<extra></extra>"), *at)
        named.add(entry)


def _draw_values(figure: go.Figure, points: pd.DataFrame, number: int, at: tuple[int, int]) -> None:
    colouring = points["colouring"].iloc[0]
    marker = {"color": points["value"], "coloraxis": colour_axis(number), **DOT}
    dots = go.Scatter(x=points["x"], y=points["y"], name=colouring, mode="markers", marker=marker, showlegend=False)
    figure.add_trace(dots.update(hovertemplate=f"{colouring} %{{marker.color:.3g}}<extra></extra>"), *at)


def _tell(figure: go.Figure, points: pd.DataFrame, at: tuple[int, int]) -> None:
    """Below the panel: how far neighbours are alike; or that there is one code alone."""
    panel, (alike, chance) = figure.get_subplot(*at), neighbours(points)
    text, ink = "one code for all", GREY
    if np.isfinite(alike):
        of_values, ink = points["label"].isna().all(), INK
        text = true_minus(f"r = {alike:.2f}") if of_values else f"{100 * alike:.0f} % ({100 * chance:.0f})"
    trust = f"<br>trustworthiness {points['trustworthiness'].iloc[0]:.2f}" if ink == INK else ""
    hover = f"Of a point's {NEIGHBOURS} nearest neighbours on the map: how many have its label<br>"
    hover += f"(in brackets: by chance), or how well the mean of their values tells its own (r).{trust}"
    x, y = panel.xaxis.domain[1], panel.yaxis.domain[0]
    below = {"xref": "paper", "yref": "paper", "x": x, "xanchor": "right", "y": y, "yanchor": "top", "yshift": -1}
    look = {"showarrow": False, "font": {"size": SIZE - 2, "color": ink}}
    figure.add_annotation(text=text, hovertext=hover, **look, **below)


FULL = (-3, 103)  # percent, with room for markers at the ends
CONTROLS = {  # column → what it is, its dash
    "chance": ("best constant answer", "dash"),
    "shuffled": ("trained on shuffled labels", "dot"),
}
KEY = (
    f"Dashed: the {CONTROLS['chance'][0]}, chosen with the test labels known. Dotted: the same decoder"
    f" {CONTROLS['shuffled'][0]}."
)


def by_layer(table: pd.DataFrame, score: str = "accuracy") -> go.Figure:
    """A score over layers, one line a method. table: method, seed, layer, value, chance, shuffled (0 to 1), one row a
    decoder; layers count from 0. score: its name."""
    figure = go.Figure()
    table = table.assign(layer=table["layer"] + 1)
    for method in methods_of(table):
        rows, ink = table[table["method"] == method], colour(method)
        stats = 100 * over_seeds(rows, "layer", "value")[["mean", "half"]]
        if not _few(table):
            band(figure, stats, ink, method, percent=True)
        for seed, run in rows.groupby("seed") if _few(table) else ():
            scores = 100 * run.groupby("layer")["value"].mean()
            thin: dict[str, Any] = {"name": f"{method_title(method)}, seed {seed}", "legendgroup": method}
            line(figure, scores.index, scores, faded(ink, 0.5), width=1, showlegend=False, hoverinfo="skip", **thin)
        hover: dict[str, Any] = {"customdata": stats["half"], "showlegend": None}
        hover["hovertemplate"] = f"layer %{{x}}: %{{y:.1f}} ± %{{customdata:.1f}} % {score}"
        method_line(figure, stats.index, stats["mean"], method, width=2.5, **hover)
    for control, (what, dash) in CONTROLS.items():
        mean = 100 * table.groupby("layer")[control].mean()
        line(figure, mean.index, mean, GREY, width=1.4, dash=dash, name=what, hovertemplate=f"{what}: %{{y:.1f}} %")
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        margin={"l": 62, "r": 16, "t": 34, "b": 50},
        legend=LEGEND_ABOVE,
        xaxis={"title": {"text": "layer"}, "dtick": 1 if table["layer"].max() <= 16 else None},
        yaxis={"title": {"text": f"{score} on unseen combinations (%)"}, "range": _ends(table)},
    )
    set_reading(figure, f"Line: mean over seeds. {_spread(table, 'Thin: one run a seed', 'Band')}", KEY)
    return figure


def by_class(table: pd.DataFrame, score: str = "F1", what: str = "term") -> go.Figure:
    """A score for each class, one panel a layer, methods side by side.

    table: method, seed, layer, label (text), value, chance, shuffled (0 to 1), one row a decoder and class; layers
    count from 0. score, what: the names of the score and of a class.
    """
    layers, methods = sorted(table["layer"].unique()), methods_of(table)
    labels = in_order(table["label"].unique())
    figure = grid([f"layer {layer + 1}" for layer in layers], 1, height=165, gap=64, top=84)
    steps = np.linspace(-0.25, 0.25, len(methods)) if len(methods) > 1 else [0.0]
    for number, layer in enumerate(layers):
        row, column = at = place(number, 1)
        rows = table[table["layer"] == layer]
        dead = [method for method in methods if not rows.loc[rows["method"] == method, "value"].any()]
        rows = rows[~rows["method"].isin(dead)]
        if dead:
            above(figure, f"{', '.join(map(method_title, dead))}: one code for all examples", row, column, "right")
        for method, step in zip(methods, steps, strict=True):
            method_rows = rows[rows["method"] == method]
            if method in dead:
                continue
            stats = 100 * over_seeds(method_rows, "label", "value")[["mean", "half"]].reindex(labels)
            look: dict[str, Any] = {
                "name": method_title(method),
                "legendgroup": method,
                "showlegend": not named(figure, method),
            }
            look["customdata"] = list(zip(labels, stats["half"], strict=True))
            look["hovertemplate"] = f"{what} %{{customdata[0]}}: %{{y:.1f}} ± %{{customdata[1]:.1f}} % {score}"
            x, symbol, ink = np.arange(len(labels)) + step, METHOD_SYMBOLS[method], colour(method)
            if not _few(table):
                look["error_y"] = percent_whiskers(stats, 3)
            else:
                places = method_rows["label"].map(dict(zip(labels, x.tolist(), strict=True)))
                run_dots(figure, places, 100 * method_rows["value"], method, at)
            points(figure, x, stats["mean"], ink, at, symbol=symbol, **look)
        for control, (name, dash) in CONTROLS.items():
            mean = 100 * rows.groupby("label")[control].mean().reindex(labels)
            look = {"name": name, "legendgroup": control, "showlegend": not number, "legendrank": 2_000}
            line(figure, *_steps(mean.to_numpy()), GREY, at, 1.4, dash, hovertemplate=f"{name}: %{{y:.1f}} %", **look)
        figure.update_yaxes(range=_ends(table), row=row, col=column)
        ticks = {"tickvals": list(range(len(labels))), "ticktext": labels, "tickfont": {"size": SIZE - 2}}
        figure.update_xaxes(range=(-0.6, len(labels) - 0.4), showgrid=False, row=row, col=column, **ticks)
    name_axes(figure, len(layers), 1, what, f"{score}, unseen combinations (%)")
    set_reading(figure, f"Marks: mean over seeds. {_spread(table, 'Dots: one run a seed', 'Whiskers')}", KEY)
    return figure


def _ends(table: pd.DataFrame) -> tuple[float, float]:
    """Of an axis in percent: up to the highest run, where runs are drawn, else to 100."""
    highest = 100 * table[["value", *CONTROLS]].max().max()
    return FULL[0], min(FULL[1], highest - 2 * FULL[0]) if _few(table) else FULL[1]


def _few(table: pd.DataFrame) -> bool:
    """Whether runs are drawn in the place of their interval, which reaches from 0 to 100 % and would hide them."""
    return 1 < table["seed"].nunique() < ENOUGH


def _spread(table: pd.DataFrame, runs: str, mark: str) -> str:
    """What is drawn of the spread."""
    few = f"{runs}; with {table['seed'].nunique()} of them an interval would fill the panel."
    return few if _few(table) else interval_note(table, mark)


def _steps(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A short level line over each of 0, 1, 2, …; NaN lifts the pen between two.

    >>> [part.tolist() for part in _steps(np.array([5.0]))]
    [[-0.4, 0.4, 0.4], [5.0, 5.0, nan]]
    """
    middle = np.arange(len(heights))[:, None]
    return (middle + [-0.4, 0.4, 0.4]).ravel(), np.stack([heights, heights, np.full_like(heights, np.nan)], 1).ravel()
