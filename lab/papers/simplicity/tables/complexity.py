"""Section 3.3 and Appendix E.4 of the simplicity paper: accuracy of many models on tables against their complexity, and
against their accuracy in training (Figures 6, 22 and 23).

Total variation is never compared between tables: it depends on the distances of their points (App. A).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.errors import shortened
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.entry import Entry
from lab.papers.simplicity.complexity import logarithms
from lab.papers.simplicity.tables import accuracy, settings
from lab.papers.simplicity.tables.accuracy import ALMOST_ALL, SHOWN, chosen_means, measure, plan
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, LINEAR, NEIGHBOURS, NETWORKS, RELU, TANH, TREES
from lab.papers.tables import POINTS, gains, gains_on_rows, ratios
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import grid, name_axes, place
from lab.plots.style import BLACK, METHOD_SYMBOLS, SIZE, SKY, colour

FROM_ZERO, FROM_RELU = "learned, from zero", "learned, from ReLU"
POINTED_AT = ["layers", "prefactor", "seed", "tv", "training", "percent"]
HOVER = (
    "%{customdata[0]} hidden layers, α = %{customdata[1]:g}, seed %{customdata[2]}<br>total variation"
    " %{customdata[3]:.3g}<br>training %{customdata[4]:.1f} %, test %{customdata[5]:.1f} %<extra></extra>"
)


def _pairs(wide: pd.DataFrame, method: str) -> dict[str, tuple]:
    return {name: ((name, method), (name, RELU)) for name in wide.columns.unique("table")}


def _learned_everywhere(table: pd.DataFrame) -> Verdict:
    wide = chosen_means(table)
    pairs = _pairs(wide, LEARNED)
    rows = {name: settings.rows_tested(name) for name in pairs}
    return all_of(gains_on_rows(wide, pairs, rows, above=0.0, unit=POINTS))


def _inputs_complex(table: pd.DataFrame) -> Verdict:
    wide = logarithms(chosen_means(table, "tv"))
    return all_of(ratios(wide, _pairs(wide, IAFS), above=1.0))


def _inputs_most_often_best(table: pd.DataFrame) -> Verdict:
    means = chosen_means(table).mean().unstack("table").reindex(NETWORKS).dropna(axis=1)
    best = 100.0 * (means.idxmax() == IAFS)
    return Verdict(estimates.mean(best, "tables", "tables").cut(0, 100), above=ALMOST_ALL, unit="%")


def _better_more_complex(table: pd.DataFrame) -> Verdict:
    """What input functions gain over ReLU, and by how many times they raise the total variation; over tables."""
    right, tv = (chosen_means(table, value).mean().unstack("table") for value in ("accuracy", "tv"))
    gain, more = right.loc[IAFS] - right.loc[RELU], tv.loc[IAFS] / tv.loc[RELU]
    known = gain.notna() & more.notna()
    return Verdict(estimates.rank_correlation(gain[known], more[known], "tables"), above=0.0)


def _peaks_differ(table: pd.DataFrame) -> Verdict:
    """Of the network that is best on `val`, over ReLU's total variation, in doublings; on one table against another."""
    rows = table[table["method"].isin(NETWORKS) & ~table["diverged"].astype(bool) & table["accuracy_val"].notna()]
    if rows.empty:
        return absent("every run diverged")
    best = rows.loc[rows.groupby(["table", "seed"])["accuracy_val"].idxmax()].set_index(["seed", "table"])
    relu = chosen_means(rows, "tv").xs(RELU, axis=1, level="method")
    above = (logarithms(best["tv"].astype(float).unstack("table")) - logarithms(relu)) / np.log(2)
    pairs = {f"{a} against {b}": (a, b) for a in above for b in above if a != b}
    return any_of(gains(above, pairs, above=0.0, unit="doublings"))


_of_outputs = partial(
    Claim, decides="12 seeds, where three leave a factor of several open", hours=4.0, stands_in=settings.smaller
)
FIG6 = Claim(
    "everywhere",
    "The learned activations perform better in all cases (each table)",
    _learned_everywhere,
    decides="other test rows, or a second split of them: with six seeds the rows leave it open, too (docs/log.md)",
)
FIG22 = (
    _of_outputs(
        "inputs-complex",
        "Networks with input functions are clearly more complex than ReLU, on each table",
        _inputs_complex,
    ),
    accuracy.over_all(
        "tanh",
        "ReLU is generally surpassed by TanH with the right prefactor, over tables",
        lambda table: accuracy.over_tables(table, TANH, RELU, above=0.0),
    ),
    Claim(
        "inputs-best",
        f"Accuracy is almost always best with input functions (of networks; over {ALMOST_ALL:.0f} % of tables)",
        _inputs_most_often_best,
        accuracy.enough_tables,
        accuracy.MORE_TABLES,
    ),
    accuracy.over_all(
        "better-complex",
        "Better models are more complex (gains of input functions go with complexity, over tables)",
        _better_more_complex,
    ),
)
FIG23 = _of_outputs(
    "peaks", "Accuracy peaks at different complexity levels across tables (relative to ReLU's)", _peaks_differ
)


def _complexity_summary(table: pd.DataFrame) -> str:
    ratio = {}
    for name, rows in table[table["method"].isin(NETWORKS)].groupby("table", sort=False):
        best = rows.loc[rows.groupby("seed")["accuracy"].idxmax().dropna()]
        relu = rows[(rows["method"] == RELU) & rows["chosen"].astype(bool)]
        ratio[name] = best["tv"].mean() / relu["tv"].mean()
    phrases = [f"{ratio[name]:.1f} times ({name})" for name in sorted(ratio, key=ratio.__getitem__)]
    ends = " to ".join(dict.fromkeys((phrases[0], phrases[-1])))
    return f"Total variation of a table's most accurate networks over that of its ReLU ones: {ends}, mean over seeds."


def _fit_summary(table: pd.DataFrame) -> str:
    best = table[table["chosen"].astype(bool)]
    means = 100 * best.groupby(["method", "table"], sort=False)[["accuracy_train", "accuracy"]].mean()
    means = means.groupby("method", sort=False).mean().sort_values("accuracy")
    text = ", ".join(f"{method} {row.accuracy_train:.1f}/{row.accuracy:.1f}" for method, row in means.iterrows())
    return f"Training/test accuracy in %, mean over tables: {text}."


CHANCE = 0.52  # of training rows, whose two classes are equally frequent: networks that give all the same answer
FAR = (NEIGHBOURS, TREES)  # which fit their training data as no network does


def marks(table: pd.DataFrame, x: str = "tv", x_title: str = "total variation<br>(of log-odds)") -> go.Figure:
    """One panel per table: complexity (or "training" accuracy) and test accuracy of models. table: see `measure`."""
    starts = table["start"].map({"zero": FROM_ZERO, "relu": FROM_RELU})
    kind = table["method"].where(table["method"] != LEARNED, starts)
    table = table.assign(kind=kind, percent=100 * table["accuracy"], training=100 * table["accuracy_train"])
    names = list(table["table"].unique())
    at_chance = table["method"].isin(NETWORKS) & (table["accuracy_train"] <= CHANCE)
    table = table[~at_chance]
    order = [
        kind for method in settings.METHODS for kind in ((FROM_RELU, FROM_ZERO) if method == LEARNED else (method,))
    ]
    order = [kind for kind in order if kind in set(table.loc[table[x].notna(), "kind"])]
    columns = min(accuracy.COLUMNS, len(names))
    heads = [shortened(name, accuracy.LONGEST_NAME) for name in names]
    figure = grid(heads, columns, 190, gap=66, top=112 if len(order) > 4 else 64, horizontal=44)
    for number, name in enumerate(names):
        row, column = place(number, columns)
        here = table[(table["table"] == name) & table["percent"].notna()]
        networks = here.loc[~here["kind"].isin(FAR), x]
        low, high = networks.min(), networks.max()
        room, beyond = 0.06 * (high - low), here.loc[here["kind"].isin(FAR), x] > high
        edge = high + (4 if beyond.any() else 1) * room
        for kind in order:
            rows = here[here["kind"] == kind]
            look = {"mode": "markers", "name": kind, "legendgroup": kind, "showlegend": not number}
            look |= {"marker": _mark(kind), "customdata": rows[POINTED_AT], "hovertemplate": f"{kind}<br>{HOVER}"}
            if kind in FAR:  # at the right edge, with its number, where it would press the networks together
                far = [f"{value:.3g} ›" if value > edge - room else "" for value in rows[x]]
                side = "bottom left" if kind == FAR[0] else "middle left"
                look |= {"mode": "markers+text", "text": far, "textposition": side}
                look["textfont"] = {"size": SIZE - 3}
            figure.add_scatter(x=rows[x].clip(upper=edge - room), y=rows["percent"], row=row, col=column, **look)
        if high > low:
            figure.update_xaxes(range=(low - room, edge), row=row, col=column)
    figure.update_xaxes(nticks=5)
    figure.update_yaxes(nticks=6)
    name_axes(figure, len(names), columns, x_title, "test accuracy (%)")
    figure.update_layout(height=figure.layout.height + 14, margin_b=figure.layout.margin.b + 14)
    divergences = int(table["percent"].isna().sum())
    alpha = ", and for TanH an α" if TANH in order else ""
    set_reading(
        figure,
        f"One mark a model: a seed, a number of layers{alpha}. Axes differ between panels, and have the networks'"
        " range; what lies beyond has its number (›).",
        f"Not drawn, because they diverged: {divergences} of {len(at_chance)}." if divergences else "",
        f"Not drawn, because they are at chance on training rows: {at_chance.sum()} of {len(at_chance)}."
        if at_chance.any()
        else "",
    )
    return figure


def _mark(kind: str) -> dict:
    method = LEARNED if kind in (FROM_ZERO, FROM_RELU) else kind
    size, opacity, width = (10, 1, 0.8) if kind in (LINEAR, NEIGHBOURS, TREES) else (6, 0.75, 0.4)
    mark = {"color": SKY if kind == FROM_ZERO else colour(method), "symbol": METHOD_SYMBOLS[method]}
    return mark | {"size": size, "opacity": opacity, "line": {"width": width, "color": BLACK}}


_WITHOUT = ("values of α", "settings tried for k-NN and trees", *settings.OF_INPUTS)
_ODDS = (
    "total variation of log-odds, a network's output before a sigmoid (the paper does not say of what); k-NN, whose"
    " probabilities reach 0 and 1, has none"
)
_BEST = "one mark a trained model, its best evaluation (paper: also after fewer steps)"
_COMPLEX: dict[str, Any] = {"measure": partial(measure, complexity=True), **accuracy.SHARED}
_EVERY: dict[str, Any] = _COMPLEX | {
    "notes": lambda scale: [
        accuracy.CHOSEN_NOTE,
        f"{_ODDS}; {_BEST}",
    ],
    "minutes": {"smoke": 0.2, "laptop": 11, "overnight": 90, "paper": 600},
}
ENTRIES = (
    Entry(
        "simplicity/fig6",
        "3.3",
        "Test accuracy against complexity on tables",
        "Each mark a network: its total variation on paths through the data, and its test accuracy; ReLU, and functions"
        " learned from ReLU and from zero",
        "learned functions perform better in all cases, but accuracy peaks at a different complexity on each table",
        plot=marks,
        claims=(FIG6,),
        summary=_complexity_summary,
        minutes={"smoke": 0.2, "laptop": 7, "overnight": 40, "paper": 350},
        notes=lambda scale: [
            "chosen networks are those with the number of layers that is best on val of their table",
            f"{_ODDS}; {_BEST}",
        ],
        **_COMPLEX
        | {
            "plan": lambda scale, seeds: plan(scale, seeds, (RELU, LEARNED)),
            "origin": settings.origin(without=_WITHOUT),
        },
    ),
    Entry(
        "simplicity/fig22",
        "E.4",
        "Test against training accuracy on tables",
        f"Each mark a model, its training and its test accuracy: {SHOWN}",
        "accuracy is almost always best with input functions, and the better models are more complex; k-NN, trees and"
        " learned functions lie outside the front of ReLU networks",
        plot=partial(marks, x="training", x_title="training accuracy (%)"),
        claims=FIG22,
        summary=_fit_summary,
        **_EVERY,
    ),
    Entry(
        "simplicity/fig23",
        "E.4",
        "Test accuracy against complexity, all models",
        f"Each mark a model, its total variation on paths through the data and its test accuracy: {SHOWN}",
        "accuracy peaks at different complexity levels across data sets",
        plot=marks,
        claims=(FIG23,),
        summary=_complexity_summary,
        **_EVERY,
    ),
)
