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
from lab.estimates import Estimate
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.entry import Entry
from lab.papers.simplicity.complexity import logarithms
from lab.papers.simplicity.tables import accuracy, settings
from lab.papers.simplicity.tables.accuracy import (
    ALMOST_ALL,
    WITH_ODDS,
    chosen_means,
    gains_over_relu,
    measure,
    of_tables,
    over_relu,
    plan,
)
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, NEIGHBOURS, NETWORKS, RELU, TANH, TREES
from lab.papers.tables import gains, ratios
from lab.plots import go
from lab.plots.caption import counted, diverged_runs, effect, set_reading
from lab.plots.panels import above, grid, line, log_axis, name_axes, place, points, whiskers
from lab.plots.style import BLACK, GREY, METHOD_SYMBOLS, SKY, colour
from lab.statistics import INTERVAL, half_width

FROM_ZERO, FROM_RELU = "learned, from zero", "learned, from ReLU"
POINTED_AT = ["layers", "prefactor", "who", "tv", "training", "percent"]
HOVER = (
    "%{customdata[0]} hidden layers, α = %{customdata[1]:g}, %{customdata[2]}<br>total variation"
    " %{customdata[3]:.3g}<br>training %{customdata[4]:.1f} %, test %{customdata[5]:.1f} %<extra></extra>"
)


def _pairs(wide: pd.DataFrame, method: str) -> dict[str, tuple]:
    return {name: ((name, method), (name, RELU)) for name in wide.columns.unique("table")}


def _learned_everywhere(table: pd.DataFrame) -> Verdict:
    return all_of(gains_over_relu(table, LEARNED).values())


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
    """Of the network that is best on `val`, of all and for each seed, over the total variation of ReLU's chosen one, in
    doublings; on one table against another."""
    rows = table[table["method"].isin(NETWORKS) & ~table["diverged"].astype(bool) & table["accuracy_val"].notna()]
    if rows.empty:
        return absent("every run diverged")
    best = rows.loc[rows.groupby(["table", "seed"])["accuracy_val"].idxmax()].set_index(["seed", "table"])
    relu = chosen_means(rows, "tv").xs(RELU, axis=1, level="method")
    above = (logarithms(best["tv"].astype(float).unstack("table")) - logarithms(relu)) / np.log(2)
    times = {name: f"{name} {2 ** above[name].mean():.2g}" for name in above}  # geometric means
    pairs = {f"{times[a]}, {times[b]} ×": (a, b) for a in above for b in above if a != b}
    return any_of(gains(above, pairs, above=0.0, unit="doublings"))


_of_outputs = partial(
    Claim, decides="12 seeds, where six leave a factor of two open", hours=4.0, stands_in=settings.smaller
)
FIG6 = Claim(
    "everywhere",
    "The learned activations perform better in all cases (each table)",
    _learned_everywhere,
    decides="other test rows, or a second split of them: of the interval they are the larger part (docs/log.md)",
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
    "peaks",
    "Accuracy peaks at different complexity across tables (times ReLU's; each seed's best on val)",
    _peaks_differ,
)


def _most_accurate(table: pd.DataFrame) -> pd.Series:
    """By table the network that is most accurate of those chosen, in the mean over seeds."""
    means = of_tables(table)
    return means[[method for method in NETWORKS if method in means]].dropna(how="all").idxmax(axis=1)


def _complexity_summary(table: pd.DataFrame) -> str:
    tv, best = of_tables(table, "tv"), _most_accurate(table)
    gaps = np.array([tv.loc[name, method] - tv.loc[name, RELU] for name, method in best.items()])
    return (
        f"{over_relu(table)} The most accurate chosen network is more complex than ReLU's on {(gaps > 0).sum()},"
        f" simpler on {(gaps < 0).sum()}, ReLU's itself on {(gaps == 0).sum()}."
    )


def _fit_summary(table: pd.DataFrame) -> str:
    counts = _most_accurate(table).value_counts()
    text = ", ".join(f"{method} on {count}" for method, count in counts.items())
    outside = [f"{one.split()[-1]} {beyond} ({above})" for one, beyond, above in outside_front(table).itertuples()]
    return (
        f"Most accurate network: {text} of {counted(counts.sum(), 'table')}. Outside the front of ReLU"
        f" networks (none is as accurate in both training and test; brackets: above all in test): {', '.join(outside)}."
    )


def outside_front(table: pd.DataFrame) -> pd.DataFrame:
    """By method on how many tables its chosen model is outside the front of the ReLU networks that are drawn, none of
    which is as accurate both in training and on `test`; and on how many it is above all of those on `test`."""
    means, out = _models(table, "training")
    means = means[~out]
    pairs = means[means["chosen"] & (means["method"] != RELU)].merge(means[means["method"] == RELU], on="table")
    above = pairs["percent_x"] > pairs["percent_y"]
    beyond = pd.DataFrame({"outside": above | (pairs["training_x"] > pairs["training_y"]), "above": above})
    counts = beyond.groupby([pairs["method_x"], pairs["table"]]).all().groupby("method_x").sum()
    return counts.sort_values(["outside", "above"], ascending=False)


def _fits(table: pd.DataFrame) -> str:
    train, test = (of_tables(table, value).mean() for value in ("accuracy_train", "accuracy"))
    text = ", ".join(f"{one} {train[one]:.1f}/{test[one]:.1f}" for one in test.sort_values().index)
    return f"{over_relu(table)} Training/test accuracy in %, mean over tables: {text}."


LEAST = 1 / 30  # of ReLU's total variation, which a few networks have less than
RINGED = "best chosen network"  # a longer name takes a row more
CHANCE = 0.52  # of training rows, whose two classes are equally frequent: networks that give all the same answer
COLUMNS, HEIGHT = 2, 160  # of panels; px of one
ORDER = (NEIGHBOURS, TREES, TANH, RELU, LEARNED, IAFS)  # one over the other: most networks are TanH's
MODEL = ["table", "method", "kind", "layers", "prefactor"]


def marks(
    table: pd.DataFrame, x: str = "times", x_title: str = "total variation, times ReLU's (log scale)"
) -> go.Figure:
    """One panel per table: complexity, as a multiple of that of ReLU's chosen network, (or "training" accuracy) and
    test accuracy of networks in the mean over seeds, those large that were chosen on `val`, with k-NN and trees; tables
    where a network is farthest above ReLU come first. table: see `measure`."""
    means, out = _models(table, x)
    kinds = [one for method in ORDER for one in ((FROM_RELU, FROM_ZERO) if method == LEARNED else (method,))]
    kinds = [one for one in kinds if one in set(means.loc[~out, "kind"])]
    over = _best_over_relu(table)
    names = sorted(table["table"].unique(), key=lambda name: -over[name][1].effect if name in over else 0.0)
    columns = min(COLUMNS, len(names))
    figure = grid([""] * len(names), columns, HEIGHT, gap=70, top=132 if len(kinds) > 4 else 84, horizontal=60)
    for one in kinds:
        look = {"mode": "markers", "marker": _mark(one), "name": one, "legendgroup": one}
        figure.add_scatter(x=[None], y=[None], row=1, col=1, **look)
    for number, name in enumerate(names):
        at, here = place(number, columns), means[~out & (means["table"] == name)]
        words = f"{over[name][0]} over ReLU: {effect(over[name][1])} points" if name in over else ""
        above(figure, f"<b>{name}</b><br>{words}", *at)
        large = here[here["chosen"]]
        _set_axes(figure, here, x, means.loc[~out, x], at)
        ways = here[here["method"] == RELU].sort_values(x)
        line(figure, ways[x], ways["percent"], GREY, at, 1.4, showlegend=False, hoverinfo="skip")
        best = large[large["method"].isin(NETWORKS)].nlargest(1, "percent")
        look = {"name": RINGED, "hoverinfo": "skip"}
        points(figure, best[x], best["percent"], BLACK, at, 18, "circle-open", showlegend=not number, **look)
        if name in over and x != "times":
            ends = large[large["method"].isin((RELU, over[name][0]))].sort_values("method", key=lambda m: m != RELU)
            line(figure, ends[x], ends["percent"], BLACK, at, 1.4, showlegend=False, hoverinfo="skip")
        for rows, small in ((here[~here["chosen"]], {"size": 5, "opacity": 0.5, "line": {"width": 0}}), (large, {})):
            for one in kinds:
                _draw(figure, rows[rows["kind"] == one], one, x, at, small)
    name_axes(figure, len(names), columns, x_title, "test accuracy (%)")
    alpha = ", α" if TANH in kinds else ""
    flat = "a thirtieth of ReLU's variation or less" if x == "times" else "no variation"
    left_out = f"Not drawn, at chance on training rows or with {flat}: {out.sum()} of {len(means)} models."
    set_reading(
        figure,
        f"Marks: a model (layers{alpha}), mean over seeds; large: chosen on val. Whiskers: {INTERVAL}. Grey line:"
        " ReLU's numbers of layers. Ring: the chosen network most accurate on test. In words: the most accurate other"
        " network, less ReLU's (interval: seeds and test rows of this table)."
        + ("" if x == "times" else " Black line: the same."),
        diverged_runs(table, ["table", "method"], left_out="not drawn"),
        left_out if out.any() else "",
    )
    return figure


def _best_over_relu(table: pd.DataFrame) -> dict[str, tuple[str, Estimate]]:
    """By table the most accurate of the networks that are not ReLU's, and how far it is above."""
    gains = {method: gains_over_relu(table, method) for method in NETWORKS[1:]}
    means = pd.DataFrame({method: {name: one.effect for name, one in gains[method].items()} for method in gains})
    best = means.dropna(how="all").idxmax(axis=1)
    return {name: (method, gains[method][name].estimate) for name, method in best.items()}


def _models(table: pd.DataFrame, x: str) -> tuple[pd.DataFrame, pd.Series]:
    """Models in the mean over seeds, a row each, and which of them are not drawn."""
    starts = table["start"].map({"zero": FROM_ZERO, "relu": FROM_RELU})
    kind = table["method"].where(table["method"] != LEARNED, starts)
    table = table.assign(kind=kind, percent=100 * table["accuracy"], training=100 * table["accuracy_train"])
    with_x = table["tv" if x == "times" else x].notna()
    means = _means(table[with_x & table["percent"].notna() & table["method"].isin(ORDER)])
    relu = means[(means["method"] == RELU) & means["chosen"]].groupby("table")["tv"].mean()
    means["times"] = means["tv"] / means["table"].map(relu)
    out = means["method"].isin(NETWORKS) & (means["lowest"] <= CHANCE) | ~(means[x] > (LEAST if x == "times" else 0))
    return means, out


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a model: means over its seeds, `half` the width of the test accuracy's interval, `lowest` of training."""
    models = table.groupby(MODEL, sort=False)
    means = models[["tv", "training", "percent"]].mean()
    means["half"] = models["percent"].agg(lambda values: half_width(values.to_numpy(float)))
    means["lowest"], means["chosen"] = models["accuracy_train"].min(), models["chosen"].any()
    means["who"] = [f"mean of {counted(runs, 'run')}" for runs in models.size()]
    return means.reset_index()


def _set_axes(figure: go.Figure, models: pd.DataFrame, x: str, every: pd.Series, at: tuple[int, int]) -> None:
    """Let axes end around models and their whiskers; multiples of complexity have one, logarithmic, around `every`."""
    low, high = (
        (models["percent"] + sign * models["half"].fillna(0.0).where(models["chosen"], 0.0)) for sign in (-1, 1)
    )
    figure.update_yaxes(row=at[0], col=at[1], nticks=6, **_range(pd.concat([low, high])))
    across = log_axis(every) if x == "times" else _range(models[x]) | {"nticks": 6}
    figure.update_xaxes(row=at[0], col=at[1], **across)


def _range(values: pd.Series) -> dict:
    pad = 0.08 * (values.max() - values.min()) or 1.0
    return {} if values.empty else {"range": (values.min() - pad, values.max() + pad)}


def _draw(figure: go.Figure, rows: pd.DataFrame, kind: str, x: str, at: tuple[int, int], small: dict) -> None:
    look = {"mode": "markers", "marker": _mark(kind) | small, "legendgroup": kind, "showlegend": False, "name": kind}
    if not small and rows["half"].notna().any():
        look["error_y"] = whiskers(rows["half"])
    look |= {"customdata": rows[POINTED_AT], "hovertemplate": f"{kind}<br>{HOVER}"}
    figure.add_scatter(x=rows[x], y=rows["percent"], row=at[0], col=at[1], **look)


def _mark(kind: str) -> dict:
    method = LEARNED if kind in (FROM_ZERO, FROM_RELU) else kind
    mark = {"color": SKY if kind == FROM_ZERO else colour(method), "symbol": METHOD_SYMBOLS[method]}
    return mark | {"size": 10, "line": {"width": 1, "color": BLACK}}


_WITHOUT = ("values of α", "settings tried for k-NN and trees", *settings.OF_INPUTS)
_ODDS = (
    "total variation of log-odds, a network's output before a sigmoid (the paper does not say of what); k-NN, whose"
    " probabilities reach 0 and 1, has none"
)
_BEST = (
    "a mark is the mean of a model's seeds, each at its best evaluation (paper: each network, also after fewer steps)"
)
_COMPLEX: dict[str, Any] = {"measure": partial(measure, complexity=True), **accuracy.SHARED}
_EVERY: dict[str, Any] = _COMPLEX | {
    "notes": lambda scale: [
        accuracy.CHOSEN_NOTE,
        f"{_ODDS}; {_BEST}",
    ],
    "minutes": {"smoke": 0.2, "laptop": 11, "overnight": 150, "paper": 600},
}
ENTRIES = (
    Entry(
        "simplicity/fig6",
        "3.3",
        "Test accuracy against complexity on tables",
        "Each mark a network (large: chosen on validation data): its total variation on paths through the data, and its"
        " test accuracy; ReLU, and functions learned from ReLU and from zero",
        "learned functions perform better in all cases, but accuracy peaks at a different complexity on each table",
        plot=marks,
        claims=(FIG6,),
        summary=_complexity_summary,
        minutes={"smoke": 0.2, "laptop": 7, "overnight": 70, "paper": 350},
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
        "Each mark a model (large: chosen on validation data), its training and its test accuracy: nearest neighbours,"
        f" {WITH_ODDS}",
        "IAFs are almost always best; k-NN, trees and learned functions lie outside ReLU's front",
        plot=partial(marks, x="training", x_title="training accuracy (%)"),
        claims=FIG22,
        summary=_fit_summary,
        numbers=_fits,
        **_EVERY,
    ),
    Entry(
        "simplicity/fig23",
        "E.4",
        "Test accuracy against complexity, all models",
        f"Each mark a model (large: chosen on validation data), its total variation on paths through the data and its"
        f" test accuracy: {WITH_ODDS}",
        "accuracy peaks at different complexity levels across data sets",
        plot=marks,
        claims=(FIG23,),
        summary=_complexity_summary,
        **_EVERY,
    ),
)
