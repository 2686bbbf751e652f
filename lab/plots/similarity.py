"""How alike codes are, label by label, and the codes themselves (hypernetwork paper, Figs. 5E and A8)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from lab.plots import go
from lab.plots.caption import set_reading, true_minus
from lab.plots.panels import BOTTOM, colour_bar, grid, place, write_cells
from lab.plots.style import DIVERGING, INK, SEQUENTIAL, SIZE, method_title

PLAIN = {"showgrid": False, "showline": False, "ticks": ""}
BAR = 64  # px of the colour bar and the axis name above it


def matrices(table: pd.DataFrame, what: str = "rule") -> go.Figure:
    """Cosine similarity between the mean codes of labels, one matrix a method, with numbers; slanted where fewer seeds
    have the pair than others. Colours begin at the lowest similarity.

    table: method, seed, a, b (labels, text), similarity, pairs, pairs_std as of `probes.code_similarity`. what: the
    name of a label. Drawn are means over seeds.
    """
    methods = list(table["method"].unique())
    labels = list(dict.fromkeys(table["a"]))
    side = 380 if len(methods) == 1 else 190
    seeds, lowest = table["seed"].nunique(), table.groupby(["method", "a", "b"])["similarity"].mean().min()
    ends = (-1.0 if lowest < 0 else np.floor(10 * min(lowest, 0.9)) / 10, 1.0)
    fewer, places = 0, [[(a, b) for b in range(len(labels))] for a in range(len(labels))]
    figure = grid([method_title(m) for m in methods], min(len(methods), 3), side, gap=78, top=30, left=110)
    columns = min(len(methods), 3)
    for number, method in enumerate(methods):
        row, column = place(number, columns)
        method_rows = table[table["method"] == method]
        groups = method_rows.groupby(["a", "b"], sort=False)
        mean = groups[["similarity", "pairs", "pairs_std"]].mean()
        across = groups["similarity"].std().fillna(0.0)
        z = _square(mean["similarity"], labels)
        details = np.stack([_square(part, labels) for part in (mean["pairs"], mean["pairs_std"], across)], axis=-1)
        hover = "%{y} and %{x}: mean codes %{z:.2f} (± %{customdata[2]:.2f} over seeds)<br>pairs of examples"
        cells = go.Heatmap(x=labels, y=labels, z=z, customdata=details, coloraxis="coloraxis", xgap=1, ygap=1)
        cells.update(hovertemplate=f"{hover} %{{customdata[0]:.2f}} ± %{{customdata[1]:.2f}}<extra></extra>")
        figure.add_trace(cells.update(name=method_title(method), hoverongaps=False), row, column)
        few = _square(groups["seed"].nunique(), labels) < seeds
        fewer = max(fewer, int(few.sum()))
        number_of, size = (_number, SIZE - 1) if len(methods) == 1 else (_short, SIZE - 4)
        texts = [[f"<i>{number_of(z[p])}</i>" if few[p] else number_of(z[p]) for p in line] for line in places]
        write_cells(figure, labels, labels, texts, z, ends, (row, column), size, SEQUENTIAL)
        _name_labels(figure, labels, row, column, first=column == 1)
    _scale(
        figure, "cosine similarity of mean codes", np.arange(ends[0], 1.01, 0.5 if lowest < 0 else 0.1).round(1), ends
    )
    figure.update_xaxes(title_text=what, row=-(-len(methods) // columns))
    figure.update_yaxes(title_text=what, col=1)
    some = f"; slanted: over fewer, because a rule is held out in the others ({fewer} cells a panel)" if fewer else ""
    set_reading(
        figure,
        "" if seeds == 1 else f"Cells: mean over {seeds} seeds{some}.",
        "Point at a cell for the similarity between single examples, mean ± standard deviation over pairs.",
    )
    return figure


def codes(table: pd.DataFrame, what: str = "rule") -> go.Figure:
    """Codes as rows of colours over heads, less the mean over labels: a sample of examples, or the means of labels; one
    panel a method and kind.

    table: method, kind ("sample", "mean"), row (number, from 0, in order of drawing), label (text), head (from 0),
    value, of one run. Each panel has its own scale, from minus to plus its largest value (samples: that which one
    score in twenty exceeds).
    """
    kinds, methods = list(table["kind"].unique()), list(table["method"].unique())
    titles = [method_title(m) if not i else "" for i in range(len(kinds)) for m in methods]
    figure = grid(titles, len(methods), height=170, gap=44, top=30, left=110, horizontal=30)
    for number in range(len(titles)):
        row, column = place(number, len(methods))
        values, labels = _above_mean(table[table["method"] == methods[column - 1]], kinds[row - 1])
        largest = np.quantile(np.abs(values), 0.95 if kinds[row - 1] == "sample" else 1) or 1.0
        details = np.stack([np.broadcast_to(labels.to_numpy()[:, None], values.shape), values.to_numpy()], -1)
        shades = go.Heatmap(x=values.columns + 1, y=values.index, z=values.to_numpy() / largest, customdata=details)
        shades.update(coloraxis="coloraxis", name=f"{method_title(methods[column - 1])}, {kinds[row - 1]}")
        hover = f"{what} %{{customdata[0]}}, head %{{x}}: %{{customdata[1]:+.3g}}<extra></extra>"
        figure.add_trace(shades.update(hovertemplate=hover), row, column)
        spans = pd.Series(labels.index, index=labels.to_numpy()).groupby(level=0, sort=False)
        for last in spans.max()[:-1]:
            figure.add_hline(last + 0.5, line={"color": INK, "width": 0.6}, row=row, col=column)
        middle = spans.mean()
        ticks = {"tickvals": list(middle), "ticktext": list(middle.index), "showticklabels": column == 1, **PLAIN}
        figure.update_yaxes(autorange="reversed", row=row, col=column, **ticks)
        figure.update_xaxes(dtick=1 if values.shape[1] <= 8 else 5, row=row, col=column, **PLAIN)
        if column == 1:
            figure.update_yaxes(title_text=f"{kinds[row - 1]}, by {what}", row=row, col=column)
    figure.update_xaxes(title_text="head", row=len(kinds))
    _scale(figure, "attention score less its mean / largest of its panel", (-1, 0, 1), room=24)
    set_reading(
        figure,
        f"Rows: examples, or the mean of a {what}. From each score the mean of its head over all {what}s is taken away:"
        f" what they share is white. Each panel is divided by its own largest score (of examples: by what 5 % exceed).",
    )
    return figure


def _above_mean(table: pd.DataFrame, kind: str) -> tuple[pd.DataFrame, pd.Series]:
    """Codes of a kind, rows × heads, less the mean of all labels' means; and their labels. table: of one method."""
    values = {name: rows.pivot(index="row", columns="head", values="value") for name, rows in table.groupby("kind")}
    labels = table[table["kind"] == kind].drop_duplicates("row").set_index("row")["label"].sort_index()
    return values[kind] - values["mean"].mean(), labels


def nearest_means(table: pd.DataFrame) -> pd.Series:
    """By method, the share of the sample whose nearest mean code is that of its own label. table: as of `codes`."""
    shares = {}
    for method, rows in table.groupby("method", sort=False):
        (sample, names), (means, labels) = (_above_mean(rows, kind) for kind in ("sample", "mean"))
        nearest = np.linalg.norm(sample.to_numpy()[:, None] - means.to_numpy(), axis=-1).argmin(1)
        shares[method] = float((labels.to_numpy()[nearest] == names.to_numpy()).mean())
    return pd.Series(shares)


def _square(cells: pd.Series, labels: list[str]) -> np.ndarray:
    """Cells by (a, b) as a matrix in the order of the labels."""
    return cells.unstack().reindex(index=labels, columns=labels).to_numpy(float)


def _name_labels(figure: go.Figure, labels: list[str], row: int, column: int, first: bool) -> None:
    order = {"type": "category", "categoryorder": "array", "categoryarray": labels}  # months are no dates here
    figure.update_xaxes(tickangle=-45, tickfont={"size": SIZE - 2}, row=row, col=column, **order, **PLAIN)
    figure.update_yaxes(
        autorange="reversed", showticklabels=first, tickfont={"size": SIZE - 2}, row=row, col=column, **order, **PLAIN
    )


def _number(value: float) -> str:
    """A cell's text.

    >>> _number(-0.5)
    '−0.50'
    """
    return "–" if np.isnan(value) else true_minus(f"{value:.2f}")


def _short(value: float) -> str:
    """The same in two or three characters.

    >>> _short(0.914), _short(0.999), _short(-0.26)
    ('.91', '1', '−.26')
    """
    return _number(value).replace("1.00", "1").replace("0.", ".")


def _scale(
    figure: go.Figure,
    title: str,
    ticks: Iterable[float],
    ends: tuple[float, float] | None = None,
    room: int = 70,
) -> None:
    """One colour scale for all panels, its bar below them: from low to high between `ends`, or -1 to 1 around 0. room:
    px of labels, tilted ones if nothing is given, and of the name of the axis."""
    inner = figure.layout.height - figure.layout.margin.t - BOTTOM
    bar = colour_bar(title, -(room + 14) / inner, ticks)
    axis = {"colorscale": SEQUENTIAL if ends else DIVERGING, "cmin": ends[0] if ends else -1, "cmax": 1}
    height = figure.layout.height + room + BAR - BOTTOM
    figure.update_layout(coloraxis=axis | {"colorbar": bar}, height=height, margin={"b": room + BAR})
