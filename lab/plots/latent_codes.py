"""Codes as points, coloured by what they may stand for (hypernetwork paper, Figs. 2D, 5A, 5B, A2, A6, A7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
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
    named,
    place,
    place_bars,
    points,
    run_dots,
    whiskers,
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
DISTINCT = 16  # values at most that count as labels
NEAR = f"share of a point's {NEIGHBOURS} nearest with its label or value: 0 by chance, 1 all"
MANY = " (of values: correlation with their mean)"
COLOURS = tuple(colour for colour in SEQUENCE if colour != GREY)


def neighbours(points: pd.DataFrame, number: int = NEIGHBOURS) -> tuple[float, float]:
    """How far neighbours on a map are alike, and what chance gives. For labels, and values of which there are few:
    share of the `number` nearest points that have the same one; for many values: correlation with their mean. NaN where
    there is one place or too few points.

    points: x, y, and label or value, one row a point.
    """
    from scipy.spatial import cKDTree

    places, count = points[["x", "y"]].to_numpy(float), len(points)
    if count <= number or not np.ptp(places, axis=0).any():
        return float("nan"), float("nan")
    near = cKDTree(places).query(places, number + 1)[1][:, 1:]
    if many_values(points):
        values = points["value"].to_numpy(float)
        return float(np.corrcoef(values, values[near].mean(1))[0, 1]), 0.0
    kind = "value" if points["label"].isna().all() else "label"
    labels, sizes = points[kind].to_numpy(), points[kind].value_counts().to_numpy(float)
    if not len(sizes):
        return float("nan"), float("nan")
    return float((labels[near] == labels[:, None]).mean()), float((sizes * (sizes - 1)).sum() / (count * (count - 1)))


def many_values(points: pd.DataFrame) -> bool:
    """Whether points have values that are too many to count as labels."""
    return bool(points["label"].isna().all() and points["value"].nunique() > DISTINCT)


def above_chance(points: pd.DataFrame) -> float:
    """How far `neighbours` are alike, from 0, as by chance, to 1, all of them; below 0 where less than by chance."""
    alike, chance = neighbours(points)
    return (alike - chance) / (1 - chance) if chance < 1 else float("nan")


def clustered(table: pd.DataFrame) -> bool:
    """Whether the codes of some layer have clusters of some colouring. table: as of `maps`."""
    return any(above_chance(rows) > CLUSTERED for _, rows in table.groupby(MAP))


def maps(table: pd.DataFrame, height: int = 165, most: int = len(COLOURS)) -> go.Figure:
    """One panel for each method (columns), layer and colouring, but rows of panels with a single point each.

    table: method, layer, colouring, x, y, label, value, trustworthiness, embedding ("tsne", …), one row a point. A
    colouring has either labels, text, or values, numbers; the other column is empty there. Layers count from 0.
    most: how many labels of a colouring have a colour, the most frequent ones.
    """
    methods = list(table["method"].unique())
    known = _known(table)
    rows = [row for row in product(table["layer"].unique(), table["colouring"].unique()) if known[row].any()]
    return _drawn(table, rows, list(map(method_title, methods)), height, 24, most)


def _known(table: pd.DataFrame) -> pd.DataFrame:
    """Whether the examples of a map have codes of their own: methods × (layer, colouring)."""
    return table.groupby(MAP)[["x", "y"]].agg(np.ptp).any(axis=1).unstack(MAP[1:], fill_value=False)


def layers(table: pd.DataFrame, below: Sequence[str], height: int = 130, most: int = 7, none: str = "") -> go.Figure:
    """One column a method. On top, how far neighbours are alike on its map of every layer, a line a colouring; below,
    if any layer has clusters, maps of up to three last layers, those in which every method has codes that differ.

    table, most: as of `maps`. below: colourings of the maps. none: the title of all, where no layer has clusters.
    """
    depths, colourings = sorted(table["layer"].unique()), list(table["colouring"].unique())
    methods, known = list(table["method"].unique()), _known(table)
    distinct = [layer for layer in depths if known[[(layer, colouring) for colouring in below]].all(axis=None)]
    rows = list(product(distinct[-3:] if clustered(table) else [], below))
    titles = list(map(method_title, methods)) if rows or not none else [none]
    figure = _drawn(table, rows, titles, height, 46, most, first=1)
    step = -(-len(depths) // 8)
    for column, method in enumerate(methods, 1):
        ticks: dict[float, str] = {}
        at = (1, column)
        for number, colouring in enumerate(colourings):
            x = number * (len(depths) + 1.0) + np.arange(len(depths))
            alike = [above_chance(_of(table, method=method, layer=layer, colouring=colouring)) for layer in depths]
            ticks |= {place: str(layer + 1) for place, layer in zip(x[::step], depths[::step], strict=True)}
            look: dict[str, Any] = {"name": f"{method_title(method)}, by {colouring}", "showlegend": False}
            line(figure, x, alike, INK, at, 2, mode="lines+markers", **look)
            name = {"mode": "text", "text": [colouring], "textfont": {"size": SIZE - 1}, "hoverinfo": "skip"}
            figure.add_scatter(x=[x.mean()], y=[1.14], showlegend=False, row=1, col=column, **name)
            for place_ in x[np.isnan(alike)]:
                look = {"showarrow": False, "textangle": -90, "yanchor": "bottom", "font": {"size": SIZE - 3}}
                figure.add_annotation(x=place_, y=0.04, text="one code", row=1, col=column, **look)
        ends = (-0.9, len(colourings) * (len(depths) + 1) - 1.1)
        line(figure, ends, (0, 0), GREY, at, 1.4, "dash", name="by chance", showlegend=False, hoverinfo="skip")
        axis = {"tickvals": list(ticks), "ticktext": list(ticks.values()), "range": ends, "showgrid": False}
        figure.update_xaxes(title={"text": "layer", "standoff": 2}, row=1, col=column, **axis)
        words: dict[str, Any] = {"tickvals": [0, 0.5, 1], "showticklabels": column == 1}
        words["title"] = {"text": "neighbours alike<br>(0 chance, 1 all)" if column == 1 else "", "standoff": 4}
        figure.update_yaxes(range=(-0.15, 1.3), row=1, col=column, **words)
    return figure


def _drawn(
    table: pd.DataFrame, rows: list[tuple], titles: list[str], height: int, gap: int, most: int, first: int = 0
) -> go.Figure:
    """Maps: a row of panels for each (layer, colouring), a column for each method, below `first` rows left empty.
    titles: of the uppermost panels."""
    methods = list(table["method"].unique())
    shown = looks(table[table["colouring"].isin([colouring for _, colouring in rows])], most)
    named: set[str] = set()
    names: dict[tuple[str, str], list[str]] = {mark: [] for mark in shown.values()}
    for label, mark in shown.items():
        names[mark].append(label)
    entries = [OTHERS if mark[0] == OTHER_INK else labels[0] for mark, labels in names.items()]
    widest = 34 + 7 * max(map(len, entries), default=0)  # px of an entry
    lines = -(-len(entries) * widest // 560) if entries else 0
    empty = [""] * ((first + len(rows)) * len(methods) - len(titles))
    figure = grid([*titles, *empty], len(methods), height, gap=gap, top=34 + ROW * lines, left=72, horizontal=14)
    colourings = list(dict.fromkeys(colouring for _, colouring in rows))
    numbers = [colouring for colouring in colourings if not _labels(_of(table, colouring=colouring))]
    for number, ((layer, colouring), method) in enumerate(product(rows, methods), first * len(methods)):
        points = _of(table, method=method, layer=layer, colouring=colouring)
        at = place(number, len(methods))
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
        if at[1] == 1:
            figure.update_yaxes(title_text=f"<b>layer {layer + 1}</b><br>by {colouring}", row=at[0], col=1)
    kinds = [NAMES.get(kind, kind) for kind in table["embedding"].unique()]
    figure.update_layout(legend={"itemsizing": "constant"})  # larger than the points
    if len(named_rows := [colouring for colouring in colourings if colouring not in numbers]) == 1 and numbers:
        figure.update_layout(legend_title={"text": f"{named_rows[0]}:", "side": "left", "font": {"size": SIZE}})
    if rows:
        figure.update_xaxes(title={"text": f"{' / '.join(kinds)} (no unit)", "standoff": 18}, row=first + len(rows))
    place_bars(figure, numbers)
    where = ("Below a map", "Lines, and numbers below maps")[first] if rows else "Lines"
    count, known = len(table) // len(table.groupby(MAP)), _known(table)
    dead = {layer: known.index[~known[layer].any(axis=1)] for layer in known.columns.unique(0)}
    alike = [
        f"layer {layer + 1} of {' and '.join(map(method_title, some))}" for layer, some in dead.items() if len(some)
    ]
    set_reading(
        figure,
        f"{where}: {NEAR}{MANY if any(many_values(rows) for _, rows in table.groupby('colouring')) else ''}."
        f" {count:,} examples a map, one model{' a method' * (len(methods) > 1)}.",
        "Distances between clusters and sizes mean nothing." if rows and set(kinds) & {"t-SNE", "UMAP"} else "",
        f"Light grey: labels beyond the {most} most frequent."
        if OTHER_INK in {ink for ink, _ in shown.values()}
        else "",
        f"All examples have the same code in {', '.join(alike)}." if first and alike else "",
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


def looks(table: pd.DataFrame, most: int = len(COLOURS)) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each label of a table of maps: no two labels of one colouring share a colour, and those
    beyond the `most` frequent are all light grey. Colourings that have labels in common share a look."""
    groups: list[set[str]] = []
    for _, rows in table.dropna(subset=["label"]).groupby("colouring", sort=False):
        labels = set(rows["label"])
        common = [group for group in groups if group & labels]
        groups = [group for group in groups if not group & labels] + [labels.union(*common)]
    marks: dict[str, tuple[str, str]] = {}
    for number, group in enumerate(groups):
        counts = table.loc[table["label"].isin(group), "label"].value_counts()
        frequent = set(counts.sort_values(ascending=False, kind="stable").index[:most])
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
    text, ink = "one code for all examples", GREY
    if np.isfinite(alike):
        text, ink = true_minus(f"alike: <b>{above_chance(points):.2f}</b>"), INK
    scores = f"{alike:.2f} ({chance:.2f} by chance); trustworthiness {points['trustworthiness'].iloc[0]:.2f}"
    hover = f"{(NEAR + MANY * many_values(points)).capitalize()}: {scores}"
    x, y = panel.xaxis.domain[1], panel.yaxis.domain[0]
    below = {"xref": "paper", "yref": "paper", "x": x, "xanchor": "right", "y": y, "yanchor": "top", "yshift": -1}
    look = {"showarrow": False, "font": {"size": SIZE, "color": ink}}
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
    table, left_out = with_codes(table)
    if table.empty:
        return _nothing(left_out)
    figure, table = go.Figure(), table.assign(layer=table["layer"] + 1)
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
    set_reading(figure, f"Line: mean over seeds. {_spread(table, 'Thin: one run a seed', 'Band')}", KEY, left_out)
    return figure


def by_class(table: pd.DataFrame, score: str = "F1", what: str = "term") -> go.Figure:
    """A score above that of the best constant answer: on top its mean over classes, part by part; below each class, in
    the last layer of the first part, the best decoded first.

    table: method, seed, layer, label (text), value, chance, shuffled (0 to 1), one row a decoder and class; layers
    count from 0. part, if given: what examples a layer is read from, in words. score, what: the names of the score and
    of a class.
    """
    table, left_out = with_codes(table)
    if table.empty:
        return _nothing(left_out)
    parts = table["part"] if "part" in table else pd.Series("", table.index)
    first = parts == parts.iloc[0]
    last = first & (table["layer"] == table.loc[first, "layer"].max())
    numbered = "layer " + (table["layer"] + 1).astype(str) + parts
    gaps = table.assign(part=numbered, **{name: table[name] - table["chance"] for name in ("value", "shuffled")})
    over = gaps.groupby(["method", "part", "seed"], sort=False)[["value", "shuffled"]].mean().reset_index()
    best = gaps[last].groupby("label")["value"].mean().reindex(in_order(table["label"].unique()))
    figure = grid(
        [f"mean over {what}s", f"{numbered[last].iloc[0]}: each {what}"], 1, height=150, gap=64, top=84, left=72
    )
    for row, (rows, by, places) in enumerate(
        (
            (over, "part", list(dict.fromkeys(gaps["part"]))),
            (gaps[last], "label", list(best.sort_values(ascending=False, kind="stable").index)),
        ),
        1,
    ):
        _draw_scores(figure, rows, by, places, (row, 1), score)
    figure.update_yaxes(title_text=f"{score} above constant<br>answer (points)")
    figure.update_xaxes(title_text=what, row=2)
    key = f"Dashed: the {CONTROLS['chance'][0]}, chosen with the test labels known. Dotted: {CONTROLS['shuffled'][0]}."
    set_reading(figure, f"Marks: mean over seeds. {_spread(table, 'Dots: one run a seed', 'Whiskers')}", key, left_out)
    return figure


def _nothing(reason: str) -> go.Figure:
    """In the place of a plot of decoders, where nothing can be read in any layer."""
    figure = grid(["One code for all examples"], 1, height=60)
    set_reading(figure, reason)
    return figure


def _draw_scores(
    figure: go.Figure, rows: pd.DataFrame, by: str, places: list[str], at: tuple[int, int], score: str
) -> None:
    """Means over seeds side by side, by method and the column `by`. rows: value, shuffled, above a constant answer."""
    methods, count = methods_of(rows), len(places)
    steps = np.linspace(-0.25, 0.25, len(methods)) if len(methods) > 1 else [0.0]
    for method, step in zip(methods, steps, strict=True):
        runs = rows[rows["method"] == method]
        stats = 100 * over_seeds(runs, by, "value")[["mean", "half"]].reindex(places)
        look: dict[str, Any] = {"name": method_title(method), "legendgroup": method}
        look |= {"showlegend": not named(figure, method), "customdata": list(zip(places, stats["half"], strict=True))}
        look["hovertemplate"] = f"%{{customdata[0]}}: %{{y:+.1f}} ± %{{customdata[1]:.1f}} points of {score}"
        x = np.arange(count) + step
        if _few(rows):
            run_dots(figure, runs[by].map(dict(zip(places, x.tolist(), strict=True))), 100 * runs["value"], method, at)
        else:
            look["error_y"] = whiskers(stats["half"], 3)
        points(figure, x, stats["mean"], colour(method), at, symbol=METHOD_SYMBOLS[method], **look)
        for empty in x[stats["mean"].isna()]:
            alike = {"x": empty, "y": 0, "yanchor": "bottom", "showarrow": False, "font": {"size": SIZE - 3}}
            figure.add_annotation(text="all alike", textangle=-90, row=at[0], col=at[1], **alike)
    ends = (-0.6, count - 0.4)
    look = {"showlegend": at[0] == 1, "legendrank": 2_000, "hoverinfo": "skip"}
    line(figure, ends, (0, 0), GREY, at, 1.4, "dash", name=CONTROLS["chance"][0], **look)
    mean = 100 * rows.groupby(by)["shuffled"].mean().reindex(places)
    line(figure, *_steps(mean.to_numpy()), GREY, at, 1.4, "dot", name=CONTROLS["shuffled"][0], **look)
    space = " " if by == "label" else ", "
    ticks = {"tickvals": list(range(count)), "ticktext": [text.replace(space, "<br>", 1) for text in places]}
    figure.update_xaxes(range=ends, showgrid=False, row=at[0], col=at[1], tickfont={"size": SIZE - 2}, **ticks)


def with_codes(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of layers with different codes for different examples, and a sentence that names the others: where there
    is one code, every decoder scores exactly what those of shuffled labels do (one alone may by chance). table: as of
    `by_layer` or `by_class`."""
    same = np.isclose(table["value"], table["shuffled"], rtol=0, atol=1e-12, equal_nan=True)
    kinds = ["layer", "method", *({"part"} & set(table))]
    groups = table.assign(same=same).groupby(kinds, sort=False)["same"]
    one = groups.transform("all") & (groups.transform("size") > 1)
    words = [
        f"layer {layer + 1} of {method_title(method)}" + "".join(f" ({part.strip(', ')})" for part in parts)
        for layer, method, *parts in table.loc[one, kinds].drop_duplicates().to_numpy()
    ]
    return table[~one], f"All examples have the same code in {' and '.join(words)}." if words else ""


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
