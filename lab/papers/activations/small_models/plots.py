"""Table 1 of the activations paper, drawn: a row an activation, a panel a measurement, beside the printed scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.activations.small_models import phenomena_plots
from lab.papers.activations.small_models.claims import CHANCE
from lab.papers.activations.small_models.printed import BLIMP
from lab.papers.activations.small_models.settings import FAMILIES, TITLES
from lab.plots.caption import set_reading
from lab.plots.panels import grid, place
from lab.plots.style import BLUE, GREY, INK, ORANGE
from lab.statistics import INTERVAL, over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

COLOURS = {"gpt_neo": BLUE, "roberta": ORANGE}
PANELS = {  # column: name of the axis
    "loss": "held-out loss (nats)",
    "blimp": "BLiMP (%)",
    "parameters": "weights",
    "seconds": "training (s)",
}
FROM_ZERO = ("parameters", "seconds")
ROW = 21  # px of an activation


def table1(table: pd.DataFrame) -> go.Figure:
    """One row of panels a family, one panel a measurement, one line an activation; table: as `measures.scores` has it.

    Where BLiMP was read, a row of panels more: accuracy by phenomenon.
    """
    alive = table[~table["diverged"].astype(bool)]
    methods = [name for name in TITLES if name in set(table["method"])]
    titles = [FAMILIES[family] if not n else "" for family in FAMILIES for n in range(len(PANELS))]
    read = bool(alive["blimp"].notna().any())
    more = ["", ""] if read else []
    figure = grid([*titles, *more], len(PANELS), ROW * len(methods), gap=66, top=62, left=112, horizontal=26)
    for row, family in enumerate(FAMILIES):
        rows = alive[alive["family"] == family]
        for number, (column, name) in enumerate(PANELS.items()):
            at = place(row * len(PANELS) + number, len(PANELS))
            _draw(figure, rows, column, methods, COLOURS[family], at)
            if column == "blimp":
                _draw_printed(figure, BLIMP[family], methods, at, legend=not row)
                figure.add_vline(CHANCE, line={"color": GREY, "width": 1, "dash": "dot"}, row=at[0], col=at[1])
            mode = "tozero" if column in FROM_ZERO else "normal"
            figure.update_xaxes(title_text=name, nticks=4, rangemode=mode, row=at[0], col=at[1])
            figure.update_yaxes(
                range=(len(methods) - 0.5, -0.5),
                tickvals=list(range(len(methods))),
                ticktext=[TITLES[method] for method in methods],
                showticklabels=not number,
                ticks="",
                row=at[0],
                col=at[1],
            )
    if read:
        phenomena_plots.draw(figure, alive, methods, row=len(FAMILIES) + 1)
    set_reading(figure, _reading(alive, read))
    return figure


def _reading(alive: pd.DataFrame, read: bool) -> str:
    one = alive["seed"].nunique() == 1
    words = (
        f"Points: mean over seeds{'.' if one else f', whiskers: {INTERVAL}.'} Axes of loss and BLiMP do not begin at 0."
        " Training: the fastest seed's time."
    )
    words += " GPT-Neo predicts the next token, RoBERTa masked ones: their losses do not compare. Dotted: chance."
    if not read:
        return f"{words} BLiMP: the paper's scores alone."
    return f"{words} Below: BLiMP by phenomenon, in percent, mean over seeds; white is chance."


def _draw(
    figure: go.Figure, rows: pd.DataFrame, column: str, methods: list[str], ink: str, at: tuple[int, int]
) -> None:
    known = rows.dropna(subset=[column])
    stats = over_seeds(known, "method", column).reindex(methods)
    if column == "seconds":  # other work on the machine makes a run slower, never faster
        stats["mean"], stats["half"] = known.groupby("method")[column].min().reindex(methods), np.nan
    figure.add_scatter(
        x=stats["mean"],
        y=np.arange(len(methods)),
        error_x={"array": stats["half"], "thickness": 1.2, "width": 3},
        mode="markers",
        marker={"color": ink, "size": 8},
        name="here",
        showlegend=False,
        customdata=[TITLES[method] for method in methods],
        hovertemplate="%{customdata}: %{x:.4~g} ± %{error_x.array:.2g}",
        row=at[0],
        col=at[1],
    )


def _draw_printed(
    figure: go.Figure, printed: dict[str, float], methods: list[str], at: tuple[int, int], legend: bool
) -> None:
    shown = [method for method in methods if method in printed]
    figure.add_scatter(
        x=[printed[method] for method in shown],
        y=[methods.index(method) for method in shown],
        mode="markers",
        marker={"color": INK, "symbol": "diamond-open", "size": 8},
        name="printed in the paper",
        showlegend=legend,
        customdata=[TITLES[method] for method in shown],
        hovertemplate="%{customdata}, paper: %{x:.1f} %",
        row=at[0],
        col=at[1],
    )
