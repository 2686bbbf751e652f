"""Tables 1 to 3 of the simplicity paper as rows, ours beside what is printed; the functions of its Figure 15."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.images.settings import RELU
from lab.papers.simplicity.settings import LEARNED
from lab.plots import comparison
from lab.plots.caption import set_reading, true_minus
from lab.plots.panels import grid, place
from lab.plots.style import BLUE, GREY, SIZE

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

INTERPOLATIONS = {"nearest": "nearest neighbor", "linear": "linear", "cubic": "cubic spline"}
OBJECTIVES = {"train": "training data", "val": "validation data", "test": "test data (cheating)"}
AVERAGE, BEST = "average", "best"
# Accuracy in percent and its standard deviation over 10 seeds, as Tables 1, 2 and 3 print them.
PRINTED = {
    RELU: (53.1, 0.4),
    AVERAGE: (56.6, 0.7),
    BEST: (57.2, 0.5),
    "nearest": (55.1, 0.9),
    "linear": (57.2, 0.5),
    "cubic": (57.3, 0.7),
    "train": (56.7, 0.3),
    "val": (57.2, 0.5),
    "test": (56.9, 0.5),
}
NAMES = {RELU: RELU, AVERAGE: "learned, average<br>over restarts", BEST: "learned,<br>best restart"}
NAMES |= {kind: f"learned,<br>{words}" for kind, words in (INTERPOLATIONS | OBJECTIVES).items()}
STARTS = {"relu": "from ReLU", "zero": "from zero"}
DRAWN = 3  # of several searches


def kinds(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The runs of each row that the paper has, by its name in `PRINTED`."""
    if "restart" not in table:
        return dict(iter(table.groupby("method", sort=False)))
    learned = table[table["method"] == LEARNED]
    return {RELU: table[table["method"] == RELU], AVERAGE: learned, BEST: learned[learned["chosen"].astype(bool)]}


def means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a row of the drawing, in percent: key (of `PRINTED`), name, mean, error (standard deviation over runs, as
    in the paper), runs, lost (diverged), paper, paper_error.

    table: method, seed, accuracy (0 to 1), diverged; restart, start, rate and chosen where restarts are told apart, and
    have a row each below the others.
    """
    import pandas as pd

    rows = [(key, NAMES[key], part, PRINTED[key]) for key, part in kinds(table).items()]
    if "restart" in table:
        for number, part in table[table["method"] == LEARNED].groupby("restart"):
            start, rate = part["start"].iloc[0], part["rate"].iloc[0]
            name = f"restart {number + 1}<br>({STARTS.get(start, start)}, rate {rate:g})"
            rows.append((f"restart {number}", name, part, (np.nan, np.nan)))
    entries = []
    for key, name, part, (paper, error) in rows:
        values = 100 * part["accuracy"].to_numpy(float)
        values = values[np.isfinite(values)]
        entries.append(
            {
                "key": key,
                "name": name,
                "mean": values.mean() if len(values) else np.nan,
                "error": values.std(ddof=1) if len(values) > 1 else np.nan,
                "runs": len(values),
                "lost": len(part) - len(values),
                "paper": paper,
                "paper_error": error,
            }
        )
    return pd.DataFrame(entries)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Rows that the paper prints: row, ours, theirs, in percent."""
    entries = means(table).dropna(subset=["paper", "mean"])
    return entries.rename(columns={"key": "row", "mean": "ours", "paper": "theirs"})[["row", "ours", "theirs"]]


def table1(table: pd.DataFrame) -> go.Figure:
    """ReLU, all restarts, the best one, and each. table: as for `means`."""
    return _rows(
        table,
        "The best restart is the one with the highest accuracy on validation data, of a model with a seed of its own.",
    )


def table2(table: pd.DataFrame) -> go.Figure:
    """ReLU and three interpolations. table: as for `means`."""
    return _rows(table)


def table3(table: pd.DataFrame) -> go.Figure:
    """ReLU and three objectives. table: as for `means`."""
    return _rows(table)


def _rows(table: pd.DataFrame, more: str = "") -> go.Figure:
    entries = means(table)
    values = entries[["mean", "paper"]].to_numpy(float)
    reach = entries[["error", "paper_error"]].fillna(0.0).to_numpy(float)
    ends = float(np.nanmin(values - reach)) - 1.5, float(np.nanmax(values + reach)) + 1.5
    figure = comparison.rows([("test accuracy (%)", entries)], [ends])
    several = entries["runs"].max() > 1
    divergences = [f"{row.name.replace('<br>', ' ')}: {row.lost}" for row in entries.itertuples() if row.lost]
    set_reading(
        figure,
        "Mean over seeds" + (" (and restarts);" if "restart" in table else ";"),
        "whiskers and ±: the standard deviation over these runs, as in the paper."
        if several
        else "one seed only, so ours have no spread.",
        "The axis does not begin at 0.",
        more,
        f"Diverged runs (left out): {'; '.join(divergences)}." if divergences else "",
    )
    return figure


def fig15(table: pd.DataFrame) -> go.Figure:
    """A panel an interpolation. table: method, search (where there are several), restart, start, chosen, accuracy_val,
    x, value."""
    shown = [kind for kind in INTERPOLATIONS if kind in set(table["method"])]
    figure = grid([INTERPOLATIONS[kind] for kind in shown], len(shown), 190, top=84, horizontal=34)
    named, lines = set(), 1
    for number, kind in enumerate(shown):
        at = place(number, len(shown))
        curves = table[table["method"] == kind]
        some = curves[curves["search"] < DRAWN] if "search" in curves else curves
        for chosen in (False, True):
            for restart, rows in some[some["chosen"].astype(bool) == chosen].groupby("restart"):
                name = "chosen on validation data" if chosen else "other restarts"
                figure.add_scatter(
                    x=rows["x"],
                    y=rows["value"],
                    mode="lines",
                    name=name,
                    legendgroup=name,
                    showlegend=name not in named,
                    line={"color": BLUE if chosen else GREY, "width": 2.2 if chosen else 0.9},
                    hovertemplate=f"restart {restart + 1}, {STARTS.get(rows['start'].iloc[0], '')}: φ(%{{x:.2f}}) ="
                    " %{y:.3f}",
                    row=at[0],
                    col=at[1],
                )
                named.add(name)
        note = _start_note(curves[curves["chosen"].astype(bool)])
        figure.update_xaxes(title_text=f"input x<br>{note}", row=at[0], col=at[1])
        lines = max(lines, 1 + note.count("<br>"))
    figure.update_yaxes(title_text="φ(x)", row=1, col=1)
    figure.update_layout(height=figure.layout.height + 16 * lines, margin={"b": figure.layout.margin.b + 16 * lines})
    figure.update_annotations(font_size=SIZE)
    several = "search" in table and table["search"].nunique() > DRAWN
    set_reading(
        figure,
        (f"Drawn: {DRAWN} of {table['search'].nunique()} searches. " if several else "")
        + "Below: where the chosen function started, and its correlation with ReLU; of several searches,"
        " where the chosen ones did. Each panel has its own vertical scale. Beyond its ends a function is"
        " constant. Grey: what the other restarts of the same search found.",
    )
    return figure


def _start_note(chosen: pd.DataFrame) -> str:
    """Where the chosen function started, and how far it is ReLU; of several searches, where their choices started."""
    starts = chosen.groupby("restart")["start"].first().map(lambda start: STARTS.get(start, start))
    if len(starts) > 1:
        return "<br>".join(f"{start}: {number} of {len(starts)}" for start, number in starts.value_counts().items())
    if np.ptp(chosen["value"]) == 0:
        return starts.iloc[0]
    return true_minus(f"{starts.iloc[0]}, r = {np.corrcoef(chosen['x'].clip(lower=0), chosen['value'])[0, 1]:.2f}")
