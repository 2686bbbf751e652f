"""Codes as points, coloured by what they may stand for (hypernetwork paper, Figs. 2D, 5A, 5B, A2, A6, A7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from lab.plots import go
from lab.plots.caption import interval_note, set_reading, true_minus
from lab.plots.panels import (
    band,
    colour_axis,
    grid,
    line,
    method_line,
    name_axes,
    percent_whiskers,
    place,
    place_bars,
    points,
)
from lab.plots.style import (
    BLUE,
    GREY,
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


def maps(table: pd.DataFrame, height: int = 165) -> go.Figure:
    """One panel for each method (columns) and each layer and colouring (rows).

    table: method, layer, colouring, x, y, label, value, trustworthiness, embedding ("tsne", …), one row a point. A
    colouring has either labels, text, or values, numbers; the other column is empty there. Layers count from 0.
    """
    methods = list(table["method"].unique())
    rows = list(table[["layer", "colouring"]].drop_duplicates().itertuples(index=False, name=None))
    panels = [(method, layer, colouring) for layer, colouring in rows for method in methods]
    titles = [method_title(method) for method in methods] + [""] * (len(panels) - len(methods))
    figure = _drawn(table, panels, titles, len(methods), height, gap=22)
    for row, (layer, colouring) in enumerate(rows, 1):
        figure.update_yaxes(title_text=f"<b>layer {layer + 1}</b><br>by {colouring}", row=row, col=1)
    return figure


def layers(table: pd.DataFrame, height: int = 190) -> go.Figure:
    """Of one method the maps of its last layer, a panel a colouring; below, how far neighbours are alike on the map of
    every layer, and by chance. table: as of `maps`."""
    depths, colourings = sorted(table["layer"].unique()), list(table["colouring"].unique())
    panels = [(table["method"].iloc[0], depths[-1], colouring) for colouring in colourings]
    titles = [f"layer {depths[-1] + 1}, by {colouring}" for colouring in colourings]
    labelled = [bool(_labels(_of(table, colouring=colouring))) for colouring in colourings]
    heads = {True: "every layer: neighbours with its label (%)", False: "every layer: correlation with neighbours"}
    titles += [heads[one] for one in labelled]
    figure = _drawn(table, panels, titles, len(panels), height, gap=74)
    for column, (colouring, share) in enumerate(zip(colourings, labelled, strict=True), 1):
        alike = [neighbours(_of(table, layer=layer, colouring=colouring)) for layer in depths]
        values, chance = (100 if share else 1) * np.array(alike).T
        x, at = [layer + 1 for layer in depths], (2, column)
        line(figure, x, values, BLUE, at, 2.2, mode="lines+markers", name=f"by {colouring}", showlegend=False)
        line(figure, x, chance, GREY, at, 1.4, "dash", name="by chance", showlegend=column == 1)
        look: dict[str, Any] = {"showticklabels": True, "ticks": "outside", "showgrid": True, "mirror": False}
        figure.update_yaxes(range=FULL if share else (-0.3, 1), row=2, col=column, **look)
        figure.update_xaxes(title={"text": "layer", "standoff": 4}, tickvals=x, row=2, col=column, **look)
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
        if colouring in numbers:
            _draw_values(figure, points, numbers.index(colouring), at)
        else:
            _draw_labels(figure, points, shown, named, at)
        _tell(figure, points, at)
    figure.update_xaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    figure.update_yaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    kinds = [NAMES.get(kind, kind) for kind in table["embedding"].unique()]
    figure.update_layout(legend={"itemsizing": "constant"})  # larger than the points
    name_axes(figure, len(panels), columns, f"{' / '.join(kinds)} (no unit)", "")
    figure.update_xaxes(title_standoff=18)
    place_bars(figure, numbers)
    set_reading(
        figure,
        "One point an example: the attention scores across heads of one query and key.",
        f"Below a map: share of a point's {NEIGHBOURS} nearest neighbours that have its label (in brackets: by chance),"
        " or the correlation of its value with their mean; trust: trustworthiness (1: neighbours on the map are those"
        " of the code, too).",
        "Distances between clusters and their sizes mean nothing." if set(kinds) & {"t-SNE", "UMAP"} else "",
        f"Light grey: labels beyond the {len(COLOURS)} most frequent; point at a point for its own."
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
    """Below the panel: how far neighbours are alike, and trustworthiness; or that there is one code alone."""
    panel, trust = figure.get_subplot(*at), points["trustworthiness"].dropna()
    alike, chance = neighbours(points)
    words = []
    if np.isfinite(alike):
        of_values = points["label"].isna().all()
        words.append(true_minus(f"r = {alike:.2f}") if of_values else f"{100 * alike:.0f} % ({100 * chance:.0f})")
    words += [f"trust {trust.iloc[0]:.2f}"] if len(trust) else []
    hover = f"Of a point's {NEIGHBOURS} nearest neighbours on the map: how many have its label<br>"
    hover += "(in brackets: by chance), or how well the mean of their values tells its own (r).<br>"
    hover += "trust: trustworthiness, 1 where neighbours on the map are those of the codes, too."
    spread = np.ptp(points[["x", "y"]].to_numpy(float), axis=0).any()
    text = ", ".join(words) if spread else "one code for all points"
    x, y = panel.xaxis.domain[1], panel.yaxis.domain[0]
    below = {"xref": "paper", "yref": "paper", "x": x, "xanchor": "right", "y": y, "yanchor": "top", "yshift": -1}
    figure.add_annotation(text=text, hovertext=hover, showarrow=False, font={"size": SIZE - 2}, **below)


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
        shuffled = 100 * rows.groupby("layer")["shuffled"].mean()
        what, dash = CONTROLS["shuffled"]
        look: dict[str, Any] = {"name": f"{method_title(method)}, {what}", "legendgroup": method, "showlegend": False}
        look["hovertemplate"] = "shuffled labels: %{y:.1f} %"
        line(figure, shuffled.index, shuffled, ink, width=1.2, dash=dash, **look)
    chance = 100 * table.groupby("layer")["chance"].mean()
    what, dash = CONTROLS["chance"]
    said = "constant answer: %{y:.1f} %"
    line(figure, chance.index, chance, GREY, width=1.2, dash=dash, name=what, hovertemplate=said)
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        margin={"l": 62, "r": 16, "t": 34, "b": 50},
        legend=LEGEND_ABOVE,
        xaxis={"title": {"text": "layer"}, "dtick": 1 if table["layer"].max() <= 16 else None},
        yaxis={"title": {"text": f"{score} on unseen combinations (%)"}, "range": FULL},
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
        rows, first = table[table["layer"] == layer], number == 0
        for method, step in zip(methods, steps, strict=True):
            method_rows = rows[rows["method"] == method]
            stats = 100 * over_seeds(method_rows, "label", "value")[["mean", "half"]].reindex(labels)
            look: dict[str, Any] = {"name": method_title(method), "legendgroup": method, "showlegend": first}
            look["customdata"] = list(zip(labels, stats["half"], strict=True))
            look["hovertemplate"] = f"{what} %{{customdata[0]}}: %{{y:.1f}} ± %{{customdata[1]:.1f}} % {score}"
            x, symbol, ink = np.arange(len(labels)) + step, METHOD_SYMBOLS[method], colour(method)
            if not _few(table):
                look["error_y"] = percent_whiskers(stats, 3)
            else:
                places = method_rows["label"].map(dict(zip(labels, x.tolist(), strict=True)))
                small: dict[str, Any] = {"legendgroup": method, "showlegend": False, "hoverinfo": "skip"}
                small["name"] = f"{method_title(method)}, one run"
                points(figure, places, 100 * method_rows["value"], faded(ink, 0.5), at, 4, "", **small)
            points(figure, x, stats["mean"], ink, at, symbol=symbol, **look)
        for control, (name, dash) in CONTROLS.items():
            mean = 100 * rows.groupby("label")[control].mean().reindex(labels)
            look = {"name": name, "legendgroup": control, "showlegend": first}
            line(figure, *_steps(mean.to_numpy()), GREY, at, 1.4, dash, hovertemplate=f"{name}: %{{y:.1f}} %", **look)
        figure.update_yaxes(range=FULL, row=row, col=column)
        ticks = {"tickvals": list(range(len(labels))), "ticktext": labels, "tickfont": {"size": SIZE - 2}}
        figure.update_xaxes(range=(-0.6, len(labels) - 0.4), showgrid=False, row=row, col=column, **ticks)
    name_axes(figure, len(layers), 1, what, f"{score}, unseen combinations (%)")
    dead = table.groupby(["method", "layer"])["value"].max().eq(0).any()
    same = "A layer with 0 for every class has one code for all examples: there is nothing to read." if dead else ""
    set_reading(figure, f"Marks: mean over seeds. {_spread(table, 'Dots: one run a seed', 'Whiskers')}", KEY, same)
    return figure


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
