"""Table 4 and Figure 19 of the simplicity paper: functions carried from one image set to another, ours and printed."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.images.settings import RELU, SETS, TITLES
from lab.papers.simplicity.search.settings import ALL
from lab.plots.caption import set_reading
from lab.plots.panels import BOTTOM, colour_bar, grid, place
from lab.plots.style import BLACK, DIVERGING, GREY, METHOD_SYMBOLS, SEQUENCE, SIZE
from lab.statistics import INTERVAL, half_width

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

# Table 4, accuracy in percent; columns as SETS. Then its last column, the mean difference to ReLU.
PRINTED = {
    RELU: (76.7, 73.9, 42.9, 16.1),
    "mnist": (79.7, 73.0, 41.0, 18.2),
    "fashion_mnist": (64.3, 75.1, 39.7, 23.7),
    "svhn": (61.0, 73.2, 54.1, 19.2),
    "cifar10": (57.6, 74.5, 41.0, 22.6),
    ALL: (76.2, 72.8, 45.0, 17.4),
}
PRINTED_GAINS = {"mnist": 0.6, "fashion_mnist": -1.7, "svhn": -0.5, "cifar10": -3.5, ALL: 0.4}
REACH = 20.0  # points at which the colours end
ROW = 58  # px
CLOSE = 0.03  # of the range of the marks: their numbers would overlap


def learned_on(source: str) -> str:
    """A function in words.

    >>> learned_on("cifar10"), learned_on("all")
    ('learned on CIFAR-10', 'learned on all sets')
    """
    if source == RELU:
        return RELU
    return "learned on all sets" if source == ALL else f"learned on {TITLES[source]}"


def means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a function and set, in percent: source, target, mean, half (of the 95 % interval over seeds), runs, lost
    (diverged), gain (over ReLU), paper, paper_gain. table: source, target, seed, accuracy (0 to 1), diverged.
    """
    import pandas as pd

    rows = []
    for (source, target), part in table.groupby(["source", "target"], sort=False):
        values = 100 * part["accuracy"].to_numpy(float)
        values = values[np.isfinite(values) & ~part["diverged"].to_numpy(bool)]
        column = SETS.index(target)
        rows.append(
            {
                "source": source,
                "target": target,
                "mean": values.mean() if len(values) else np.nan,
                "half": half_width(values),
                "runs": len(values),
                "lost": len(part) - len(values),
                "paper": PRINTED[source][column],
                "paper_gain": PRINTED[source][column] - PRINTED[RELU][column],
            }
        )
    cells = pd.DataFrame(rows)
    base = cells[cells["source"] == RELU].set_index("target")["mean"]
    return cells.assign(gain=cells["mean"] - cells["target"].map(base))


def gains(table: pd.DataFrame) -> dict[str, float]:
    """The mean gain over ReLU of each learned function, over sets, in points."""
    cells = means(table)
    cells = cells[cells["source"] != RELU]
    return cells.groupby("source", sort=False)["gain"].mean().to_dict()


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Cells of learned functions: source, target, ours, theirs, both as gains over ReLU in points."""
    cells = means(table)
    cells = cells[cells["source"] != RELU].dropna(subset=["gain"])
    return cells.rename(columns={"gain": "ours", "paper_gain": "theirs"})[["source", "target", "ours", "theirs"]]


def table4(table: pd.DataFrame) -> go.Figure:
    """A row a function, a column a set; colours are gains over ReLU. table: as for `means`."""
    from lab.plots import go

    gains = means(table)
    sources, targets = list(gains["source"].unique()), list(gains["target"].unique())
    cells = gains.pivot(index="source", columns="target", values="gain").loc[sources, targets]
    text = [
        [_cell(gains[(gains["source"] == source) & (gains["target"] == target)].iloc[0]) for target in targets]
        for source in sources
    ]
    figure = grid([""], 1, ROW * len(sources), top=34, left=104)
    figure.add_trace(
        go.Heatmap(
            z=cells.to_numpy(float),
            zmin=-REACH,
            zmax=REACH,
            colorscale=DIVERGING,
            text=text,
            texttemplate="%{text}",
            textfont={"size": SIZE},
            xgap=2,
            ygap=2,
            hoverinfo="skip",
            name="gain",
            colorbar=colour_bar("gain over ReLU (points)", -14 / (ROW * len(sources)), (-20, -10, 0, 10, 20)),
        ),
        row=1,
        col=1,
    )
    figure.update_xaxes(
        tickvals=list(range(len(targets))),
        ticktext=[f"<b>{TITLES[name]}</b>" for name in targets],
        side="top",
        ticks="",
        showline=False,
        showgrid=False,
    )
    figure.update_yaxes(
        tickvals=list(range(len(sources))),
        ticks="",
        showline=False,
        showgrid=False,
        ticktext=[learned_on(name).replace(" on ", "<br>on ") for name in sources],
        autorange="reversed",
    )
    figure.update_layout(height=figure.layout.height + 24, margin={"b": BOTTOM + 24})
    divergences = [
        f"{learned_on(row.source)}, {TITLES[row.target]}: {row.lost}" for row in gains.itertuples() if row.lost
    ]
    spread = (
        " ± half the width of its 95 % interval (Student's t)"
        if gains["runs"].max() > 1
        else " (one seed, no interval)"
    )
    set_reading(
        figure,
        f"In a cell: accuracy in %, mean over seeds{spread}; below, what the paper prints.",
        f"Diverged runs (left out): {'; '.join(divergences)}." if divergences else "",
    )
    return figure


def _cell(row: pd.Series) -> str:
    ours = "–" if np.isnan(row["mean"]) else f"{row['mean']:.1f}"
    half = "" if np.isnan(row["half"]) else f" ± {row['half']:.1f}"
    return f"{ours}{half}<br>paper {row['paper']:.1f}"


def fig19(table: pd.DataFrame) -> go.Figure:
    """A panel a pair of sets. table: source, target, layers, seed, accuracy (0 to 1), diverged."""
    alive = table[~table["diverged"].astype(bool)]
    cells = (100 * alive["accuracy"]).groupby([alive["source"], alive["layers"], alive["target"]], sort=False).mean()
    spread = (100 * alive["accuracy"]).groupby([alive["source"], alive["layers"], alive["target"]], sort=False)
    cells, halves = cells.unstack("target"), spread.agg(lambda runs: half_width(runs.to_numpy())).unstack("target")
    targets = [name for name in SETS if name in cells]
    pairs = list(combinations(targets, 2))
    columns = min(2, len(pairs))
    figure = grid([""] * len(pairs), columns, 270, gap=64, top=84)
    for number, (one, other) in enumerate(pairs):
        at, both = place(number, columns), cells[[one, other]].dropna()
        sides = _label_sides(both)
        for index, (source, rows) in enumerate(both.groupby("source", sort=False)):
            figure.add_scatter(
                x=rows[one],
                y=rows[other],
                mode="markers+text",
                name=learned_on(source),
                legendgroup=source,
                showlegend=not number,
                text=rows.index.get_level_values("layers").astype(str),
                textposition=[sides[mark] for mark in rows.index],
                textfont={"size": SIZE - 2},
                **{
                    f"error_{axis}": {"array": halves.loc[rows.index, name], "thickness": 0.8, "width": 2}
                    for axis, name in (("x", one), ("y", other))
                },
                marker={
                    "size": 9,
                    "color": GREY if source == RELU else SEQUENCE[index - 1],
                    "symbol": METHOD_SYMBOLS[RELU] if source == RELU else "square",
                },
                hovertemplate=f"{learned_on(source)}, %{{text}} hidden layers: %{{x:.1f}} %, %{{y:.1f}} %",
                row=at[0],
                col=at[1],
            )
        learned = both[both.index.get_level_values("source") != RELU]
        if len(learned) > 1 and np.ptp(learned[one]) > 0:
            slope, start = np.polyfit(learned[one], learned[other], 1)
            ends = np.array([learned[one].min(), learned[one].max()])
            figure.add_scatter(
                x=ends,
                y=start + slope * ends,
                mode="lines",
                line={"color": BLACK, "width": 1, "dash": "dot"},
                name="best line for learned functions",
                legendgroup="line",
                showlegend=not number,
                hoverinfo="skip",
                row=at[0],
                col=at[1],
            )
        figure.update_xaxes(title_text=f"{TITLES[one]}: accuracy (%)", row=at[0], col=at[1])
        figure.update_yaxes(title_text=f"{TITLES[other]}: accuracy (%)", row=at[0], col=at[1])
    divergences = int(table["diverged"].astype(bool).sum())
    set_reading(
        figure,
        "Beside a mark: the number of hidden layers. Means over seeds;"
        + (f" whiskers: {INTERVAL};" if alive["seed"].nunique() > 1 else "")
        + " the axes do not begin at 0.",
        f"{divergences} runs diverged and are left out." if divergences else "",
    )
    return figure


def _label_sides(marks: pd.DataFrame) -> dict[tuple[str, int], str]:
    """On which side of each mark its number stands: on the left where another mark is close on the right."""
    places = ((marks - marks.min()) / (marks.max() - marks.min()).replace(0, 1)).to_numpy(float)
    away = places[None] - places[:, None]  # from mark i to mark j
    on_the_right = (away[..., 0] > 0) & (np.abs(away) < CLOSE).all(2)
    return {
        mark: f"top {'left' if close.any() else 'right'}" for mark, close in zip(marks.index, on_the_right, strict=True)
    }
