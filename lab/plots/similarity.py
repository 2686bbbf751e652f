"""How alike codes are, label by label, and the codes themselves (hypernetwork paper, Figs. 5E and A8)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

import numpy as np
import pandas as pd

from lab.plots import go
from lab.plots.caption import set_reading, true_minus
from lab.plots.differences import write_digits
from lab.plots.panels import BOTTOM, above, colour_bar, grid, place, write_cells
from lab.plots.style import DIVERGING, GRID, INK, SIZE, method_title

PLAIN = {"showgrid": False, "showline": False, "ticks": ""}
SHADED = 0.9  # of pairs, which have shades of their own; the others the darkest
BAR = 64  # px of the colour bar and the axis name above it


def matrices(table: pd.DataFrame, what: str = "rule", pair: tuple[str, ...] = ()) -> go.Figure:
    """Cosine similarity between the mean codes of labels, one matrix a method, HYLA first, with numbers; slanted where
    fewer seeds have the pair than others. Colours: the similarity less its mean over the matrix's pairs.

    table: method, seed, a, b (labels, text), similarity, pairs, pairs_std as of `probes.code_similarity`. what: the
    name of a label. pair: two labels, whose cells have a frame. Drawn are means over seeds.
    """
    methods = sorted(table["method"].unique(), key=lambda method: method != "hyla")
    labels = list(dict.fromkeys(table["a"]))
    side = 380 if len(methods) == 1 else 190
    seeds, same = table["seed"].nunique(), np.eye(len(labels), dtype=bool)
    fewer, places = 0, [[(a, b) for b in range(len(labels))] for a in range(len(labels))]
    means = table.groupby(["method", "a", "b"], sort=False)[["similarity", "pairs", "pairs_std"]].mean()
    squares = {method: _square(means.loc[method]["similarity"], labels) for method in methods}
    above = {method: np.where(same, np.nan, z - np.nanmean(np.where(same, np.nan, z))) for method, z in squares.items()}
    wide = np.nanquantile(np.abs(np.stack(list(above.values()))), SHADED) if len(labels) > 1 else 0.0
    ends = max(0.05, float(np.ceil(20 * wide) / 20))
    figure = grid([method_title(m) for m in methods], min(len(methods), 3), side, gap=78, top=30, left=110)
    columns = min(len(methods), 3)
    for number, method in enumerate(methods):
        row, column = place(number, columns)
        groups, z = table[table["method"] == method].groupby(["a", "b"], sort=False), squares[method]
        across = groups["similarity"].std().fillna(0.0)
        parts = (means.loc[method]["pairs"], means.loc[method]["pairs_std"], across)
        details = np.stack([z, *(_square(part, labels) for part in parts)], axis=-1)
        grey = go.Heatmap(x=labels, y=labels, z=np.where(same, 1.0, np.nan), colorscale=[[0, GRID], [1, GRID]])
        figure.add_trace(grey.update(showscale=False, hoverinfo="skip", xgap=1, ygap=1), row, column)
        hover = (
            "%{y} and %{x}: mean codes %{customdata[0]:.2f} (± %{customdata[3]:.2f} over seeds)<br>pairs of examples"
        )
        shades = go.Heatmap(x=labels, y=labels, z=above[method], customdata=details, coloraxis="coloraxis")
        shades.update(hovertemplate=f"{hover} %{{customdata[1]:.2f}} ± %{{customdata[2]:.2f}}<extra></extra>")
        figure.add_trace(shades.update(name=method_title(method), hoverongaps=False, xgap=1, ygap=1), row, column)
        few = _square(groups["seed"].nunique(), labels) < seeds
        fewer = max(fewer, int(few.sum()))
        number_of, size = (_number, SIZE - 1) if len(methods) == 1 else (_short, SIZE - 4)
        texts = [[f"<i>{number_of(z[p])}</i>" if few[p] else number_of(z[p]) for p in line] for line in places]
        write_cells(figure, labels, labels, texts, above[method], (-ends, ends), (row, column), size)
        for one, other in permutations([labels.index(label) for label in pair if label in labels], 2):
            frame = {"x0": one - 0.5, "x1": one + 0.5, "y0": other - 0.5, "y1": other + 0.5}
            figure.add_shape(type="rect", line={"color": INK, "width": 2}, row=row, col=column, **frame)
        _name_labels(figure, labels, row, column, first=column == 1)
    ticks = (-ends, 0, ends)
    _scale(figure, "cosine similarity less the mean over the panel's pairs", ticks, ends)
    if np.nanmax(np.abs(np.stack(list(above.values())))) > ends:
        words = [f"≤ −{ends:g}", "0", f"≥ {ends:g}"]
        figure.update_layout(coloraxis_colorbar={"tickvals": ticks, "ticktext": words})
    figure.update_xaxes(title_text=what, row=-(-len(methods) // columns))
    figure.update_yaxes(title_text=what, col=1)
    some = f"; slanted: over fewer, the others have no example of the {what} ({fewer} cells a panel)" if fewer else ""
    set_reading(
        figure,
        "Numbers: cosine similarity." if seeds == 1 else f"Numbers: cosine similarity, mean over {seeds} seeds{some}.",
        f"Framed: {' and '.join(pair)}." if pair and set(pair) <= set(labels) else "",
    )
    return figure


def codes(table: pd.DataFrame, what: str = "rule") -> go.Figure:
    """Codes as rows of colours over heads, less the mean over labels, one panel a method, HYLA first: below the
    examples of each label the mean of all that have it, twice as high, and beside them how many are nearest to it.

    table: method, kind ("sample", "mean"), row (number, from 0, in order of drawing), label (text), head (from 0),
    value, of one run. Heads are in the order of how far the means differ. Each panel's colours end at what one score
    of its examples in twenty exceeds.
    """
    methods = sorted(table["method"].unique(), key=lambda method: method != "hyla")
    figure = grid([""] * len(methods), len(methods), height=300, top=46, left=110, horizontal=34)
    figure.update_layout(margin={"r": 34})
    for column, method in enumerate(methods, 1):
        rows = table[table["method"] == method]
        (examples, names), (means, labels) = (_above_mean(rows, kind) for kind in ("sample", "mean"))
        right, order = _nearest(rows), means.std().sort_values(ascending=False, kind="stable").index
        parts, edges, middles = [], [0.0], {}
        for label, mean in zip(labels, means.index, strict=True):
            block = pd.concat([examples[names == label], means.loc[[mean]]])[order]
            parts.append(block.to_numpy())
            top, ends = edges[-1], [*range(1, len(block)), len(block) + 1]
            edges += [top + end for end in ends]
            middles[label] = top, edges[-2]
        values = np.concatenate(parts)
        largest = np.quantile(np.abs(examples.to_numpy()), 0.95) or 1.0
        nearest = f"{right.sum()} of {len(right)} nearest to own mean"
        above(figure, f"<b>{method_title(method)}</b>, colours to ±{largest:.2g}<br>{nearest}", 1, column)
        said = np.repeat(labels.to_numpy(), [len(part) for part in parts])
        details = np.stack(
            [np.broadcast_to(said[:, None], values.shape), values, np.tile(order + 1, (len(said), 1))], -1
        )
        across = np.arange(len(order) + 1) + 0.5
        shades = go.Heatmap(x=across, y=edges, z=values / largest, customdata=details, coloraxis="coloraxis")
        hover = f"{what} %{{customdata[0]}}, head %{{customdata[2]}}: %{{customdata[1]:+.3g}}<extra></extra>"
        figure.add_trace(shades.update(name=method_title(method), hovertemplate=hover), 1, column)
        names_at: dict[float, str] = {}
        for label, (top, start) in middles.items():
            look = {"line": {"color": INK, "width": 0.6}, "row": 1, "col": column}
            figure.add_hline(start, **look)
            figure.add_hline(start + 2, **look | {"line": {"color": INK, "width": 1.8}})
            block = right[names == label]
            write_digits(figure, (1, column), (top + start) / 2, f"{int(block.sum())}/{len(block)}", INK)
            names_at |= {(top + start) / 2: label, start + 1: f'<i style="font-size:{SIZE - 3}px">mean</i>'}
        ticks = {
            "tickvals": list(names_at),
            "ticktext": list(names_at.values()),
            "showticklabels": column == 1,
            **PLAIN,
        }
        figure.update_yaxes(range=(edges[-1], 0), row=1, col=column, **ticks)
        heads = {"tickvals": list(range(1, len(order) + 1)), "ticktext": [str(head + 1) for head in order]}
        figure.update_xaxes(
            title_text="head", tickfont={"size": SIZE - 4}, tickangle=0, row=1, col=column, **heads, **PLAIN
        )
    figure.update_yaxes(title_text=what, col=1)
    _scale(
        figure,
        "attention score less its average over rules (colours end at what 5 % of scores exceed)",
        (-1, 0, 1),
        1.0,
        room=24,
    )
    figure.layout.coloraxis.colorbar.ticktext = ["lower", "average", "higher"]
    set_reading(
        figure,
        f"Rows: examples of a {what}, and the mean of all of that {what}. First are heads whose means differ most."
        f" Right of a row: how many of its examples are nearest to their own {what}'s mean; above: of all.",
    )
    return figure


def _above_mean(table: pd.DataFrame, kind: str) -> tuple[pd.DataFrame, pd.Series]:
    """Codes of a kind, rows × heads, less the mean of all labels' means; and their labels. table: of one method."""
    values = {name: rows.pivot(index="row", columns="head", values="value") for name, rows in table.groupby("kind")}
    labels = table[table["kind"] == kind].drop_duplicates("row").set_index("row")["label"].sort_index()
    return values[kind] - values["mean"].mean(), labels


def _nearest(rows: pd.DataFrame) -> np.ndarray:
    """Whether each example's nearest mean code is that of its own label. rows: of one method."""
    (sample, names), (means, labels) = (_above_mean(rows, kind) for kind in ("sample", "mean"))
    nearest = np.linalg.norm(sample.to_numpy()[:, None] - means.to_numpy(), axis=-1).argmin(1)
    return labels.to_numpy()[nearest] == names.to_numpy()


def nearest_means(table: pd.DataFrame) -> pd.Series:
    """By method, the share of the sample whose nearest mean code is that of its own label. table: as of `codes`."""
    return pd.Series({method: float(_nearest(rows).mean()) for method, rows in table.groupby("method", sort=False)})


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
    """The same in a few characters; what is not quite 1 has a digit more.

    >>> _short(0.914), _short(0.997), _short(1.0), _short(-0.26)
    ('.91', '.997', '1', '−.26')
    """
    text = f"{value:.3f}" if 0.995 <= value < 0.9995 else _number(value)
    return text.replace("1.00", "1").replace("0.", ".")


def _scale(figure: go.Figure, title: str, ticks: Iterable[float], end: float, room: int = 70) -> None:
    """One colour scale for all panels, from minus to plus `end`, its bar below them. room: px of labels, tilted ones if
    nothing is given, and of the name of the axis."""
    inner = figure.layout.height - figure.layout.margin.t - BOTTOM
    bar = colour_bar(title, -(room + 14) / inner, ticks)
    height = figure.layout.height + room + BAR - BOTTOM
    axis = {"colorscale": DIVERGING, "cmin": -end, "cmax": end, "colorbar": bar}
    figure.update_layout(coloraxis=axis, height=height, margin={"b": room + BAR})
