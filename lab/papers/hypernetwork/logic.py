"""Section 3 of the hypernetwork paper: fuzzy logic functions, learned in context (Figs. 2C, A3).

Both figures show the same runs; Figures 2B, 2D and A2 probe those of them with 32 tokens and 70 % held out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.ablations import PRINTED
from lab.papers.hypernetwork.settings import (
    FIGURE_METHODS,
    FRACTIONS,
    LENGTHS,
    SEEDS,
    best,
    finals,
    hyla_before,
    logic,
    origin,
)
from lab.papers.tables import POINTS, paired, per_seed, percent
from lab.plots import go
from lab.plots.caption import counted, diverged_runs, runs_note, set_reading
from lab.plots.panels import Panel, above, grid, method_line, name_axes, place, points, run_dots, whiskers
from lab.plots.style import GREY, METHOD_SYMBOLS, colour, method_title, methods_of
from lab.statistics import over_seeds

PAPER = {method: PRINTED["logic"][method] for method in FIGURE_METHODS}  # Table A1
AT = (32, 0.7)  # tokens and fraction held out of these
LOWEST = -100  # percent: the axis of R² goes no lower, however bad one run is
AXES = {"length": "tokens (log scale)", "held_out": "functions held out (%)"}


def plan(scale: str, seeds: int, lengths: Sequence[int] = (), fractions: Sequence[float] = FRACTIONS) -> list[Planned]:
    """Runs of every method, number of tokens and fraction held out; at paper scale, of every point of the grid."""
    return [
        run
        for length, held_out, method in product(lengths or LENGTHS[scale], fractions, FIGURE_METHODS)
        for run in logic(scale, method, length, held_out).planned(
            scale, seeds, method=method, length=length, held_out=held_out
        )
    ]


def _notes(scale: str) -> list[str]:
    tokens = ", ".join(map(str, LENGTHS[scale]))
    shorter = [] if scale == "paper" else [f"{tokens} tokens (paper 16, 32, 64, 96)"]
    return [
        *shorter,
        "test and val are fresh examples of the functions that training saw; the seed of a run decides"
        " which functions are held out, and each of them has terms that training saw",
    ]


def _summary(table: pd.DataFrame) -> str:
    table = best(table)
    least, most = table["held_out"].min(), table["held_out"].max()
    words = []
    for method, rows in table.groupby("method", sort=False):
        means = rows.groupby("held_out")["r2_paper_ood"].mean()
        words.append(f"{method_title(method)} {percent(means[most])} ({percent(means[most] - means[least], '+')})")
    lengths = table["length"].unique()
    of = "mean over lengths" if len(lengths) > 1 else f"{lengths[0]} tokens"
    return (
        f"R² in % on unseen combinations, {100 * most:.0f} % held out, {of} (in brackets the change from"
        f" {100 * least:.0f} % held out): {', '.join(words)}."
    )


def _unseen_summary(table: pd.DataFrame) -> str:
    scores = ["r2_paper_unseen_terms", "r2_paper_test"]
    means = best(table).groupby("method", sort=False)[scores].mean()
    words = [
        f"{method_title(method)} {percent(unseen)} (on trained functions {percent(test)})"
        for method, unseen, test in means.itertuples()
    ]
    return f"R² in % on functions of unseen terms, mean over all settings: {', '.join(words)}."


def _declines(table: pd.DataFrame) -> pd.DataFrame:
    """What R² on unseen combinations loses from the least to the most held out: seeds × (method, length)."""
    table = best(table)
    ends = [table[table["held_out"] == end] for end in (table["held_out"].min(), table["held_out"].max())]
    least, most = (per_seed(rows, ["method", "length"], "r2_paper_ood") for rows in ends)
    return least - most


def _all_degrade(table: pd.DataFrame) -> Verdict:
    declines = _declines(table)
    return all_of(
        paired({f"{method}, {length} tokens": declines[method, length] for method, length in declines}, above=0.0)
    )


def _of_table_a1(table: pd.DataFrame) -> pd.DataFrame:
    """R² on unseen combinations in percent with the tokens and the share held out of Table A1: seeds × methods."""
    rows = best(table)
    rows = rows[(rows["length"] == AT[0]) & (rows["held_out"] == AT[1])]
    return per_seed(rows, "method", "r2_paper_ood") if len(rows) else pd.DataFrame()


def _hyla_above(other: str) -> Callable[[pd.DataFrame], Verdict]:
    def measure(table: pd.DataFrame) -> Verdict:
        scores = _of_table_a1(table)
        if scores.empty:
            return absent(f"no runs with {AT[0]} tokens and {AT[1]:g} of the combinations held out")
        gap = estimates.mean(scores["hyla"] - scores[other], covers="seeds (splits)")
        return Verdict(gap, above=0.0, unit=POINTS)

    return measure


def printed_scores(table: pd.DataFrame) -> pd.DataFrame:
    """R² in percent at the point of Figure 2C that Table A1 has: method, ours, theirs; no row where it is not here."""
    means = _of_table_a1(table).mean()
    scores = [(method, means[method], PAPER[method][0]) for method in PAPER if method in means]
    return pd.DataFrame(scores, columns=["method", "ours", "theirs"])


def _unseen_terms_fail(table: pd.DataFrame) -> Verdict:
    unseen, test = (per_seed(best(table), "method", f"r2_paper_{split}") for split in ("unseen_terms", "test"))
    return all_of(paired({method: unseen[method] - test[method] / 2 for method in unseen}, below=0.0))


def _alike_on_seen(table: pd.DataFrame) -> Verdict:
    """Best minus worst method in R² (over lengths, most held out) on trained functions, less that on unseen ones."""
    rows = best(table)
    rows = rows[rows["held_out"] == rows["held_out"].max()]
    test, unseen = (np.ptp(per_seed(rows, "method", f"r2_paper_{split}").to_numpy(), 1) for split in ("test", "ood"))
    return Verdict(estimates.mean(test - unseen, covers="seeds (splits)"), below=0.0, unit=POINTS)


_overnight = partial(Claim, decides="fuzzy logic at scale overnight, .7 held out: 9 runs", hours=1.2)
FIG2C = (
    Claim(
        "hyla-least",
        "HYLA is less affected by this decline than softmax and linear attention",
        lambda table: hyla_before(-_declines(table).T.groupby("method", sort=False).mean().T),  # mean over lengths
        decides="fuzzy logic at scale overnight, .3, .5 and .7 held out: 27 runs",
        hours=3.5,
    ),
    Claim(
        "decline",
        "With the share of held-out tasks, performance decreases for all models",
        _all_degrade,
        decides="3 seeds more of the least and the most held out, 18 runs",
        hours=2.4,
    ),
    Claim(
        "hyla-linear",
        "HYLA is above linear attention (32 tokens, .7 held out; printed 21 points)",
        _hyla_above("linear"),
    ),
    _overnight(
        "hyla-softmax",
        "HYLA is above softmax attention (32 tokens, .7 held out; printed 18 points)",
        _hyla_above("softmax"),
    ),
)
FIGA3 = (
    Claim(
        "unseen-terms",
        "On unseen terms all methods fail (R² under half of that on trained functions)",
        _unseen_terms_fail,
    ),
    _overnight("seen", "In distribution the models differ less than on unseen combinations", _alike_on_seen),
)


def fig2c(table: pd.DataFrame) -> go.Figure:
    """R² on unseen combinations against the number of tokens, one panel a fraction held out; or, of one number of
    tokens, against that fraction.

    table: method, length, held_out, seed, r2_paper_ood, diverged, chosen.
    """
    table, score = best(table), "r2_paper_ood"
    axis, panels = _panels(table)
    figure = grid(list(panels), len(panels), 270, top=62, horizontal=20)
    for number, rows in enumerate(panels.values()):
        at = place(number, len(panels))
        _draw(figure, rows, score, axis, at)
        if ((rows["length"] == AT[0]) & (rows["held_out"] == AT[1])).any():
            _draw_paper(figure, methods_of(rows), axis, at)
            points(figure, [None], [None], GREY, at, 10, "circle-open", name="paper (Table A1)")
    _name_x(figure, table, axis)
    figure.update_yaxes(range=_ends(table, score))
    for column in range(2, len(panels) + 1):
        figure.update_yaxes(showticklabels=False, matches="y", col=column)
    name_axes(figure, len(panels), len(panels), AXES[axis], "R² on unseen combinations (%)")
    set_reading(
        figure,
        "R² as in the paper: the mean over sequences of 1 - squared error / variance.",
        runs_note(table),
        "Open: printed in the paper, ± standard error." if AT[1] in set(table["held_out"]) else "",
        *_left_out(table, [score]),
    )
    return figure


def fig_a3(table: pd.DataFrame) -> go.Figure:
    """R² on trained functions, R² on unseen terms and training loss (rows), with panels and axes as in `fig2c`.

    table: as for `fig2c`, with r2_paper_test, r2_paper_unseen_terms, loss.
    """
    table = best(table)
    axis, panels = _panels(table)
    values = {
        "r2_paper_test": "R², trained<br>functions (%)",
        "r2_paper_unseen_terms": "R², unseen<br>terms (%)",
        "loss": "training loss<br>(squared error)",
    }
    titles = [*panels] + [""] * len(panels) * 2
    figure = grid(titles, len(panels), 150, gap=44, top=62, left=78, horizontal=20)
    for row, (value, title) in enumerate(values.items(), 1):
        scale = 1 if value == "loss" else 100
        ends = (0, 1.05 * table[value].max()) if value == "loss" else _ends(table, value)
        for column, rows in enumerate(panels.values(), 1):
            _draw(figure, rows, value, axis, (row, column), scale)
            figure.update_yaxes(range=ends, showticklabels=column == 1, row=row, col=column)
        figure.update_yaxes(title_text=title, row=row, col=1)
    figure.add_hline(0, line={"color": GREY, "dash": "dash", "width": 1.2}, row=2)
    above(figure, "dashed: as good as the mean of the sequence", 2, len(panels), "right")
    _name_x(figure, table, axis)
    figure.update_xaxes(title_text=AXES[axis], row=len(values))
    set_reading(
        figure,
        "R² as in the paper: the mean over sequences of 1 - squared error / variance.",
        runs_note(table),
        "Training loss: mean since the evaluation before, with dropout of attention scores.",
        *_left_out(table, list(values)[:2]),
    )
    return figure


def _panels(table: pd.DataFrame) -> tuple[str, dict[str, pd.DataFrame]]:
    """The column that goes along the axis, and the rows of each panel by its title."""
    if table["length"].nunique() == 1:
        return "held_out", {f"{table['length'].iloc[0]} tokens": table}
    return "length", {f"{100 * share:.0f} % held out": rows for share, rows in table.groupby("held_out")}


def _draw(figure: go.Figure, table: pd.DataFrame, value: str, axis: str, at: Panel, scale: float = 100) -> None:
    for rank, method in enumerate(methods_of(table)):
        rows = table[table["method"] == method]
        run_dots(figure, _x(rows[axis], axis, rank), scale * rows[value], method, at)
        mean = scale * over_seeds(rows, axis, value)["mean"]
        words = "%{customdata} tokens" if axis == "length" else "%{customdata:.0%} held out"
        look = {"customdata": mean.index, "hovertemplate": f"{words}: %{{y:.3g}}"}
        method_line(figure, _x(mean.index, axis, rank), mean, method, at, **look)


def _draw_paper(figure: go.Figure, methods: list[str], axis: str, at: Panel) -> None:
    for rank, method in enumerate(methods):
        mean, error = PAPER[method]
        look = {"name": f"{method_title(method)}, paper", "legendgroup": method, "showlegend": False}
        look |= {"error_y": whiskers([error], 3, 1), "hovertemplate": "paper: %{y:.1f} ± %{error_y.array:.1f} %"}
        x = _x(np.array([AT[axis == "held_out"]]), axis, rank + 2)  # right of ours, so that neither hides the other
        points(figure, x, [mean], colour(method), at, 12, f"{METHOD_SYMBOLS[method]}-open", **look)


def _x(values: pd.Series | pd.Index | np.ndarray, axis: str, rank: int) -> pd.Series | pd.Index | np.ndarray:
    """Where a method's points stand, so that they hide no others."""
    return values * 1.03 ** (rank - 1) if axis == "length" else 100 * values + 0.6 * (rank - 1)


def _name_x(figure: go.Figure, table: pd.DataFrame, axis: str) -> None:
    values = sorted(table[axis].unique())
    if axis == "held_out":
        figure.update_xaxes(
            tickvals=[100 * share for share in values], range=[100 * values[0] - 4, 100 * values[-1] + 4]
        )
        return
    ends = np.log10([values[0] / 1.2, values[-1] * 1.2])
    figure.update_xaxes(type="log", tickvals=values, range=list(ends), minor={"ticks": ""})


def _ends(table: pd.DataFrame, value: str) -> tuple[float, float]:
    """Of an axis of R² in percent: the 20 % around all runs, but not below LOWEST and not above 100 %."""
    low, high = 20 * np.floor(5 * table[value].min()), 20 * np.ceil(5 * table[value].max())
    low, high = (min(0.0, max(float(LOWEST), low)), 100.0) if low != low or low < LOWEST else (low, min(100.0, high))
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def _left_out(table: pd.DataFrame, values: list[str]) -> list[str]:
    """Runs below the axis, and those that diverged, in sentences."""
    below = int((100 * table[values] < LOWEST).any(axis=1).sum())
    low = [f"{counted(below, 'run is', 'runs are')} below {LOWEST} %, where the axis ends."] if below else []

    def named(method: str, length: int, held_out: float) -> str:
        return f"{method_title(method)}, {length} tokens, {100 * held_out:.0f} %"

    return [*low, diverged_runs(table, ["method", "length", "held_out"], named)]


_SHARED: dict[str, Any] = {
    "tasks": ("logic",),
    "plan": plan,
    "measure": finals,
    "notes": _notes,
    "origin": origin("logic", ("length", "held out")),  # what the figures vary
    "seeds": SEEDS,
    "minutes": {"smoke": 0.5, "laptop": 45, "overnight": 270, "paper": 60},
}
ENTRIES = (
    Entry(
        "hypernetwork/fig2c",
        "3.1",
        "Compositional generalization on fuzzy logic",
        "R² on functions that are unseen combinations of seen terms, at the end of training, by the fraction of"
        " functions held out; tokens are examples in context and the query",
        "all methods solve the task given enough examples; with more held out all degrade, HYLA least",
        plot=fig2c,
        summary=_summary,
        claims=FIG2C,
        printed=printed_scores,
        **_SHARED,
    ),
    Entry(
        "hypernetwork/figA3",
        "3.1",
        "Fuzzy logic: functions of unseen terms, trained functions, training loss",
        "Top: R² on functions trained on. Middle: R² on functions of terms that training never saw. Bottom: training"
        " loss (mean squared error). All at the end of training, by the number of tokens and the fraction held out",
        "all methods fail on unseen terms; on trained functions they differ little",
        plot=fig_a3,
        summary=_unseen_summary,
        claims=FIGA3,
        **_SHARED,
    ),
)
