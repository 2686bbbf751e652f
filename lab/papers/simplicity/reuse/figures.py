"""Figures 8 and 21 of the simplicity paper: a function that was learned in one network, in others of other widths and
depths. Those of the width of Figure 5 are its runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.reuse import claims
from lab.papers.simplicity.tables.scores import checkpoint_accuracies
from lab.papers.simplicity.tables.settings import (
    LAYERS,
    LEARNED,
    OF_INPUTS,
    RELU,
    SEEDS,
    START,
    WIDTHS,
    network,
    origin,
    tables,
)
from lab.plots.caption import set_reading, signed
from lab.plots.panels import above, grid, place
from lab.plots.style import METHOD_SYMBOLS, SIZE, colour, method_title
from lab.run import Run
from lab.statistics import INTERVAL, over_seeds

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

PAPER_TABLE = "covertype"  # the table of Figure 8
OFFSET = {RELU: 0.97, LEARNED: 1.03}  # of marks, so that whiskers do not hide each other


def one(scale: str) -> tuple[str, ...]:
    """The table of Figure 8 or its sample; where neither belongs to the scale, its first one."""
    names = [name for name in tables(scale) if name.removesuffix("_sample") == PAPER_TABLE]
    return tuple(names) or tables(scale)[:1]


def plan(scale: str, seeds: int, names: Sequence[str] | None = None) -> list[Planned]:
    """ReLU and the learned function on tables, by default all of a scale, at every width and depth."""
    return [
        (
            {"table": table, "method": method, "layers": layers, "width": width},
            network(scale, table, method, layers, START, width=width, seed=seed),
        )
        for table in (tables(scale) if names is None else names)
        for method in (RELU, LEARNED)
        for layers in LAYERS[scale]
        for width in WIDTHS[scale]
        for seed in range(seeds)
    ]


def _single(scale: str, seeds: int) -> list[Planned]:
    return plan(scale, seeds, one(scale))


def scored(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: table, method, layers, width, seed, accuracy (on `test`, 0 to 1, with the weights that were kept;
    NaN where it diverged), accuracy_val, accuracy_train, diverged."""
    import pandas as pd

    rows = [
        labels | {"seed": run.spec.seed} | checkpoint_accuracies(run) | {"diverged": run.diverged is not None}
        for labels, run in runs
    ]
    return pd.DataFrame(rows).round(5)


def draw(table: pd.DataFrame) -> go.Figure:
    """One row of panels a table, one column a number of hidden layers: test accuracy against width. table: `scored`."""
    names, depths = list(table["table"].unique()), sorted(table["layers"].unique())
    figure = grid(
        [""] * (len(names) * len(depths)), len(depths), height=170, gap=70, top=74, horizontal=22, share_y=True
    )
    for number in range(len(names) * len(depths)):
        row, column = place(number, len(depths))
        name, layers = names[row - 1], depths[column - 1]
        if column == 1:
            above(figure, f"<b>{name}</b>", row, 1, size=SIZE + 1)
            figure.layout.annotations[-1].update(yshift=19)
        above(figure, f"{layers} hidden layer{'s' if layers > 1 else ''}", row, column)
        for method in (RELU, LEARNED):
            rows = table[(table["table"] == name) & (table["layers"] == layers) & (table["method"] == method)]
            stats = over_seeds(rows.assign(percent=100 * rows["accuracy"]), "width", "percent")
            figure.add_scatter(
                x=stats.index * OFFSET[method],
                y=stats["mean"],
                mode="lines+markers",
                name=method_title(method),
                error_y={"array": stats["half"], "thickness": 1.2, "width": 3},
                legendgroup=method,
                customdata=stats.index,
                showlegend=not number,
                line={"color": colour(method), "width": 2},
                marker={"symbol": METHOD_SYMBOLS[method], "size": 7},
                row=row,
                col=column,
                hovertemplate="width %{customdata}: %{y:.1f} %",
            )
    widths = sorted(table["width"].unique())
    figure.update_xaxes(type="log", tickvals=widths, ticktext=[str(width) for width in widths])
    figure.update_xaxes(title_text="width (hidden units)", row=len(names))
    figure.update_yaxes(title_text="test accuracy (%)", col=1)
    divergences = int(table["accuracy"].isna().sum())
    set_reading(
        figure,
        f"Mean over seeds. Whiskers: {INTERVAL}. The learned function of a table is the same in all its networks.",
        f"Not drawn, because they diverged: {divergences} of {len(table)}." if divergences else "",
    )
    return figure


def _summary(table: pd.DataFrame) -> str:
    means = 100 * table.groupby(["table", "layers", "width", "method"], sort=False)["accuracy"].mean().unstack("method")
    gain = means[LEARNED] - means[RELU]
    text = ", ".join(f"{name} {signed(value)}" for name, value in gain.groupby("table", sort=False).mean().items())
    return (
        f"Learned function against ReLU, points of test accuracy, mean over widths and depths: {text}; better in"
        f" {(gain > 0).sum()} of {len(gain)} settings."
    )


def _notes(scale: str) -> list[str]:
    search = network(scale, tables(scale)[0], LEARNED, start=START).model.phi.search
    depth = "networks of the same depth" if scale == "paper" else f"networks of {search.model.layers} hidden layers"
    notes = [
        f"the function was learned from {START}, in {depth} and width {search.model.width} (the paper does not say)"
    ]
    if scale != "paper":
        notes.append(f"widths {list(WIDTHS[scale])} (paper scale {list(WIDTHS['paper'])})")
    return notes


_WITHOUT = ("width", "values of α", "settings tried for k-NN and trees", *OF_INPUTS)
_SHARED: dict[str, Any] = {"measure": scored, "plot": draw, "seeds": SEEDS, "summary": _summary, "notes": _notes}
_SAYS = "learned functions surpass ReLU, often with fewer layers, and can be reused in networks of other widths"
ENTRIES = (
    Entry(
        "simplicity/fig8",
        "3.3",
        "A learned function at other widths and depths",
        "Test accuracy on a table against the width of the network, with ReLU and with the function that was learned"
        " for the table in a network of one size",
        _SAYS,
        plan=_single,
        tasks=one("laptop"),
        origin=origin(one, [PAPER_TABLE], _WITHOUT),
        claims=claims.FIG8,
        minutes={"smoke": 0.1, "laptop": 4, "paper": 30},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig21",
        "E.4",
        "Learned functions at other widths and depths, all tables",
        "Test accuracy on each table against the width of the network, with ReLU and with the function that was learned"
        " for the table in a network of one size",
        _SAYS,
        plan=plan,
        tasks=tables("laptop"),
        origin=origin(without=_WITHOUT),
        claims=claims.FIG21,
        minutes={"smoke": 0.1, "laptop": 12, "paper": 500},
        **_SHARED,
    ),
)
