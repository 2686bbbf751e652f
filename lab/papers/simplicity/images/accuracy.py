"""Section 3.1 and Appendix E.2 of the simplicity paper: accuracy on image sets, as classification and as regression to
class ids (Figures 2 and 17).

Figures 4 and 18 have the same runs; those of Figures 3 and 16, which show the functions, are among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.complexity import kept_accuracy
from lab.papers.simplicity.images import settings
from lab.papers.simplicity.images.settings import CLASSIFICATION, FROM_ZERO, METHODS, REGRESSION, RELU, TARGETS, TITLES
from lab.papers.tables import POINTS, Labelled, alive, gains_on_rows, per_run
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import Panel, grid, name_axes, place, points, whiskers
from lab.plots.style import INK, METHOD_SYMBOLS, colour, faded, method_title, methods_of
from lab.statistics import INTERVAL, over_seeds

SIMILAR, OTHER = 2.0, 4.0  # points of accuracy within which models are "similar" (Figure 2), and beyond which not
DEEPEST = 4
# In %, regression with 4 hidden layers (Table 4: ReLU, and learned on the set itself) and with 1 (Table 1: ReLU, best).
PRINTED = {
    ("mnist", 4): (76.7, 79.7),
    ("fashion_mnist", 4): (73.9, 75.1),
    ("svhn", 4): (42.9, 54.1),
    ("cifar10", 4): (16.1, 22.6),
    ("fashion_mnist", 1): (53.1, 57.2),
}
NEARLY = 0.75  # the share of ReLU's printed accuracy that is enough to compare with
SPREAD = 0.15  # of a category's width, from one method to the next
BESIDE = 0.05  # single runs left of their mean, which would cover them


def plan(scale: str, seeds: int, names: Sequence[str] = settings.SETS) -> list[Planned]:
    """Every set in both modes: ReLU, and functions learned for it, with every number of hidden layers."""
    return [
        ({"set": name, "mode": mode, "method": method, "layers": layers}, spec)
        for name in settings.present(scale, names)
        for mode in TARGETS
        for method in METHODS
        for layers in (settings.SEARCHED_DEPTHS if method == settings.PER_LAYER else settings.DEPTHS)[scale]
        for spec in settings.images(scale, name, mode).runs(method, layers, seeds)
    ]


def accuracies(runs: Labelled) -> pd.DataFrame:
    """One row a run: set, mode, method, layers, seed, step (at which its weights were kept), accuracy (test),
    accuracy_train, accuracy_val (0 to 1, NaN of a run that diverged before it was evaluated), diverged."""
    splits = {"accuracy": "test", "accuracy_train": "train", "accuracy_val": "val"}
    return per_run(
        runs,
        lambda run: (
            {"step": int(run.notes["kept"])} | {name: kept_accuracy(run, split) for name, split in splits.items()}
        ),
    )


def retained(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the number of hidden layers that is best on `val`, for each set, mode and method (App. E.2).

    >>> import pandas as pd
    >>> both = {"set": "mnist", "mode": "regression", "method": "ReLU", "layers": [1, 2], "seed": 0}
    >>> retained(pd.DataFrame(both | {"accuracy_val": [0.4, 0.6]}))["layers"].tolist()
    [2]
    """

    def best(accuracy: pd.Series) -> pd.Series:
        layers = table.loc[accuracy.index, "layers"]
        return layers == accuracy.groupby(layers).mean().fillna(-1.0).idxmax()

    return table[table.groupby(["set", "mode", "method"], sort=False)["accuracy_val"].transform(best).astype(bool)]


def falls_short(accuracies: pd.Series) -> str:
    """What is missing for gains over ReLU to be the paper's: a baseline near the one that it prints.

    accuracies: in regression with ReLU and `DEEPEST` layers, 0 to 1, by set.
    """
    if accuracies.empty:
        return f"no baseline with {DEEPEST} hidden layers, of which the paper prints the accuracy"
    pairs = {name: (100 * value, PRINTED[name, DEEPEST][0]) for name, value in accuracies.items()}
    far = {name: pair for name, pair in pairs.items() if pair[0] < NEARLY * pair[1]}
    text = ", ".join(f"{TITLES[name]} {ours:.0f} % (paper {theirs:.0f} %)" for name, (ours, theirs) in far.items())
    return f"the baseline is far from the paper's: {text}" if text else ""


def _baseline_as_printed(table: pd.DataFrame, scale: str) -> str:
    deepest = (table["mode"] == REGRESSION) & (table["method"] == RELU) & (table["layers"] == DEEPEST)
    return falls_short(alive(table[deepest]).groupby("set", sort=False)["accuracy"].mean())


def _percent(table: pd.DataFrame, mode: str) -> dict[tuple, np.ndarray]:
    """Accuracies by set and method, with the number of layers that is best on `val`; one number a seed."""
    best = alive(retained(table[table["mode"] == mode]))
    return {kind: 100 * rows["accuracy"].to_numpy(float) for kind, rows in best.groupby(["set", "method"], sort=False)}


def against(groups: dict[tuple, np.ndarray], method: str, other: str = RELU) -> dict[str, tuple]:
    """A method and another one, on each set that has both: by case, the keys (set, method) of two groups."""
    sets = dict.fromkeys(name for name, _ in groups)
    return {
        f"{TITLES[name]}, {method}": ((name, method), (name, other))
        for name in sets
        if {(name, method), (name, other)} <= set(groups)
    }


def images_tested(table: pd.DataFrame) -> int:
    """How many test images accuracies are of: a share of the 1,000 of a sample has three digits, a whole set 10,000.

    >>> import pandas as pd
    >>> [images_tested(pd.DataFrame({"accuracy": [0.5, share]})) for share in (0.123, 0.1234)]
    [1000, 10000]
    """
    known = table["accuracy"].dropna()
    return 1_000 if np.allclose(known, known.round(3), atol=1e-6) else 10_000


def _gains(table: pd.DataFrame, groups: dict[tuple, np.ndarray], pairs: dict[str, tuple], **claimed) -> Verdict:
    """In points; each set's test images are the same for all models."""
    return all_of(gains_on_rows(groups, pairs, dict.fromkeys(pairs, images_tested(table)), unit=POINTS, **claimed))


def _similar(table: pd.DataFrame) -> Verdict:
    groups = _percent(table, CLASSIFICATION)
    pairs = {case: pair for method in METHODS[1:] for case, pair in against(groups, method).items()}
    bounds = {"above": -SIMILAR, "below": SIMILAR, "refuted_below": -OTHER, "refuted_above": OTHER}
    return _gains(table, groups, pairs, **bounds)


def _better(table: pd.DataFrame, over: str) -> Verdict:
    groups = _percent(table, REGRESSION)
    return _gains(table, groups, against(groups, FROM_ZERO, over), above=0.0)


def _harder(table: pd.DataFrame) -> Verdict:
    groups = {(mode, *kind): each for mode in TARGETS for kind, each in _percent(table, mode).items()}
    sets = [name for mode, name, method in groups if (mode, method) == (REGRESSION, RELU)]
    pairs = {TITLES[name]: ((CLASSIFICATION, name, RELU), (REGRESSION, name, RELU)) for name in sets}
    return _gains(table, groups, pairs, covers="seeds", above=0.0)


def _other_depth(table: pd.DataFrame) -> Verdict:
    """On some set, in some mode: a function and ReLU are best on `val` with different numbers of layers, and on `test`
    each is better with its own number than with the other's."""
    depths = retained(table).groupby(["set", "mode", "method"], sort=False)["layers"].first()
    known = alive(table).groupby(["set", "mode", "method", "layers"], sort=False)["accuracy"]
    groups = {kind: 100 * values.to_numpy(float) for kind, values in known}
    rows, verdicts = images_tested(table), []
    for (name, mode, method), depth in depths.items():
        theirs = depths.get((name, mode, RELU), depth)
        kinds = [(method, depth, theirs), (RELU, theirs, depth)]
        pairs = {
            f"{TITLES[name]}, {mode}, {one} with {best} layers": ((name, mode, one, best), (name, mode, one, other))
            for one, best, other in kinds
        }
        if depth != theirs and {key for pair in pairs.values() for key in pair} <= set(groups):
            both = gains_on_rows(groups, pairs, dict.fromkeys(pairs, rows), above=0.0, unit=POINTS)
            verdicts.append(all_of(both))
    return any_of(verdicts) if verdicts else absent("each function is best with as many layers as ReLU")


_in_regression = partial(
    Claim,
    needs=_baseline_as_printed,
    decides="3 searches and 12,000 steps on Fashion-MNIST as numbers, where networks are best at their last step",
    hours=3.0,
)
FIG2 = (
    Claim(
        "similar",
        "In classification, all models perform similarly (within 2 to 4 points of ReLU)",
        _similar,
        decides="3 searches of 400 inner steps from zero on Fashion-MNIST, where the one of here hardly trains",
        hours=1.0,
    ),
    _in_regression(
        "better",
        "In regression, models with activations learned from zeros perform better than ReLU",
        lambda table: _better(table, RELU),
    ),
    _in_regression(
        "from-zero",
        "In regression, an initialization as zeros is better than one as ReLU",
        lambda table: _better(table, settings.FROM_RELU),
    ),
    Claim(
        "harder",
        "Regression is more difficult than classification (accuracy with ReLU)",
        _harder,
        _baseline_as_printed,
        "the whole sets, as at scale overnight",
        1.0,
    ),
)


FIG17 = (
    Claim(
        "other-depth",
        "The best number of layers is sometimes different for different functions (some set)",
        _other_depth,
        decides="10 seeds, on the whole sets",
        hours=3.0,
    ),
)


def _by_mode(table: pd.DataFrame) -> str:
    words, named = [], (RELU, settings.FROM_RELU, FROM_ZERO)
    for mode, head in ((CLASSIFICATION, "all methods"), (REGRESSION, ", ".join(named))):
        phrases = []
        for name, rows in retained(table[table["mode"] == mode]).groupby("set", sort=False):
            means = _means(rows)
            if mode == REGRESSION:
                phrases.append(f"{TITLES[name]} {', '.join(plus_minus(*means.get(method, ())) for method in named)}")
            elif means:
                low, high = (pick(mean for mean, _ in means.values()) for pick in (min, max))
                phrases.append(f"{TITLES[name]} {low:.1f} to {high:.1f}")
        words += [f"{mode}, {head}: {', '.join(phrases)}"] if phrases else []
    return f"Test accuracy in % ({'; '.join(words)})."


def _best_depths(table: pd.DataFrame) -> str:
    tried = table.groupby("method")["layers"].nunique()
    methods, words = [method for method in METHODS if tried.get(method, 0) > 1], []
    for (name, mode), rows in retained(table).groupby(["set", "mode"], sort=False):
        depths = rows.groupby("method")["layers"].first()
        words.append(f"{TITLES[name]}, {mode} {', '.join(str(depths.get(method, '–')) for method in methods)}")
    return f"Hidden layers that are best on validation data ({', '.join(methods)}): {'; '.join(words)}."


def _all_accuracies(table: pd.DataFrame) -> str:
    words = []
    for (name, mode), rows in retained(table).groupby(["set", "mode"], sort=False):
        depths = rows.groupby("method")["layers"].first()
        each = [f"{method} {plus_minus(*interval)} ({depths[method]})" for method, interval in _means(rows).items()]
        words.append(f"{TITLES[name]}, {mode}: {', '.join(each)}")
    return (
        f"Test accuracy in percent at the best number of hidden layers on validation data (in brackets):"
        f" {'; '.join(words)}."
    )


def _means(rows: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Mean and half width over seeds in percent, by method."""
    stats = 100 * over_seeds(rows, "method", "accuracy")[["mean", "half"]]
    return {method: tuple(stats.loc[method]) for method in METHODS if method in stats.index}


def plus_minus(mean: float = np.nan, half: float = np.nan) -> str:
    """A mean with half the width of its interval.

    >>> plus_minus(81.26, 0.5), plus_minus(81.26), plus_minus()
    ('81.3 ± 0.5', '81.3', '–')
    """
    return "–" if np.isnan(mean) else f"{mean:.1f}" + ("" if np.isnan(half) else f" ± {half:.1f}")


def fig2(table: pd.DataFrame) -> go.Figure:
    """One panel a mode: the sets across, a mark a method at its best number of layers. table: see `accuracies`."""
    modes, names = list(table["mode"].unique()), list(table["set"].unique())
    figure, best = grid(modes, len(modes), 260, top=92, horizontal=34), retained(table)
    for column, mode in enumerate(modes, 1):
        rows = best[best["mode"] == mode]
        _marks(figure, rows, rows["set"].map(names.index), methods_of(table), SPREAD, (1, column), "markers")
    ticks = {"tickvals": list(range(len(names))), "ticktext": [TITLES[name] for name in names]}
    figure.update_xaxes(range=(-0.5, len(names) - 0.5), **ticks)
    figure.update_yaxes(title_text="test accuracy (%)", col=1)
    set_reading(
        figure,
        "Each method with the number of hidden layers that is best on validation data. Small: one run"
        f" a seed. Large: their mean; whisker: {INTERVAL}.",
        diverged_runs(table),
    )
    return figure


def fig17(table: pd.DataFrame) -> go.Figure:
    """One row a set, one column a mode: accuracy by number of hidden layers. table: see `accuracies`."""
    names, modes = list(table["set"].unique()), list(table["mode"].unique())
    pairs = [(name, mode) for name in names for mode in modes]
    heads = [f"{TITLES[name]}, {mode}" for name, mode in pairs]
    figure = grid(heads, len(modes), 190, gap=66, top=112, horizontal=50)
    depths, methods, legend = sorted(table["layers"].unique()), methods_of(table), True
    for number, (name, mode) in enumerate(pairs):
        at = place(number, len(modes))
        rows = table[(table["set"] == name) & (table["mode"] == mode)]
        _marks(figure, rows, rows["layers"], methods, SPREAD / 2, at, "lines+markers")
        theirs = {depth: PRINTED[name, depth] for depth in depths if mode == REGRESSION and (name, depth) in PRINTED}
        for which, method in enumerate((RELU, FROM_ZERO) if theirs else ()):
            x = [depth + (methods.index(method) - 1.5) * SPREAD / 2 for depth in theirs]  # where ours is
            mark = {"symbol": "x-thin-open", "size": 9, "color": colour(method), "line": {"width": 2}}
            look: dict[str, Any] = {"mode": "markers", "marker": mark, "hovertemplate": "paper, %{y:.1f} %"}
            look |= {"name": "printed in the paper: ReLU" if method == RELU else "printed: learned"}
            look |= {"legendgroup": f"printed {method}", "showlegend": legend}
            figure.add_scatter(x=x, y=[pair[which] for pair in theirs.values()], row=at[0], col=at[1], **look)
        legend &= not theirs
        chosen = alive(retained(rows)).groupby("method")[["layers", "accuracy"]].mean()
        x = [chosen.loc[one, "layers"] + (methods.index(one) - 1.5) * SPREAD / 2 for one in chosen.index]
        look = {"name": "best on validation data", "hoverinfo": "skip", "showlegend": not number}
        points(figure, x, 100 * chosen["accuracy"], INK, at, 17, "circle-open", legendgroup="chosen", **look)
    figure.update_xaxes(tickvals=depths, range=(min(depths) - 0.5, max(depths) + 0.5))
    name_axes(figure, len(heads), len(modes), "hidden layers", "test accuracy (%)")
    set_reading(
        figure,
        f"Small: one run a seed. Large: their mean; whisker: {INTERVAL}. ×: what the paper prints"
        " (Tables 1 and 4), of models of its own size on the whole sets; it does not say from which start"
        " their functions were learned.",
        diverged_runs(table),
    )
    return figure


def _marks(
    figure: go.Figure, rows: pd.DataFrame, x: pd.Series, methods: list[str], spread: float, at: Panel, mode: str
) -> None:
    """Runs as small marks, their means with whiskers; methods stand side by side around x. mode: of the means."""
    rows = alive(rows.assign(x=x, percent=100 * rows["accuracy"]))
    for slot, method in enumerate(methods):
        each = rows[rows["method"] == method]
        each = each.assign(x=each["x"] + (slot - 1.5) * spread)
        stats, layers = over_seeds(each, "x", "percent"), each.groupby("x")["layers"].first()
        ink, symbol = colour(method), METHOD_SYMBOLS[method]
        look: dict[str, Any] = {"name": f"{method}, one run", "legendgroup": method, "showlegend": False}
        one = faded(ink, 0.75)
        points(figure, each["x"] - BESIDE, each["percent"], one, at, 5, symbol, hovertemplate="%{y:.1f} %", **look)
        look |= {"name": method_title(method), "showlegend": at == (1, 1), "mode": mode}
        look |= {"customdata": layers.reindex(stats.index).to_numpy()[:, None], "line": {"color": ink, "width": 1.6}}
        look |= {"error_y": whiskers(stats["half"].fillna(0.0), 3, 1.4) | {"color": ink}}
        hover = "%{y:.1f} % (mean), %{customdata[0]} hidden layers"
        points(figure, stats.index, stats["mean"], ink, at, 9, symbol, hovertemplate=hover, **look)


def diverged_runs(table: pd.DataFrame) -> str:
    """How many runs are left out, in a sentence."""
    words = [
        f"{TITLES[name]}, {mode}, {method}: {rows['diverged'].sum()} of {len(rows)}"
        for (name, mode, method), rows in table.groupby(["set", "mode", "method"], sort=False)
        if rows["diverged"].any()
    ]
    return f"Diverged runs (left out): {'; '.join(words)}." if words else ""


def notes(scale: str) -> list[str]:
    """How functions are learned for several depths."""
    head = "learned functions are found once for each set, mode and start, with"
    lines = [f"{head} {settings.BASE[scale]} hidden layers, and used at every depth"]
    if settings.SEARCHED_DEPTHS[scale] != settings.DEPTHS[scale][1:]:
        lines.append(f"layer-specific functions at {settings.BASE[scale]} hidden layers alone")
    return lines


_SETS = [(scale, name) for scale in ("smoke", "laptop") for name in settings.present(scale)]
TASKS = tuple(dict.fromkeys(settings.images(*known, mode).task.name for known in _SETS for mode in TARGETS))
SHOWN = (
    "perceptrons with ReLU and functions learned from ReLU, from zero, and for each layer by itself, for classification"
    " and for regression to the class id"
)
_SHARED: dict[str, Any] = {
    "plan": plan,
    "measure": accuracies,
    "tasks": TASKS,
    "origin": settings.origin(),
    "seeds": settings.SEEDS,
    "numbers": _all_accuracies,
    "notes": notes,
    "minutes": {"smoke": 0.2, "laptop": 17, "overnight": 50, "paper": 300},
}
ENTRIES = (
    Entry(
        "simplicity/fig2",
        "3.1",
        "Image sets: ReLU and learned functions",
        f"Test accuracy of {SHOWN}",
        "alike in classification; in regression learned functions are better, above all those learned from zero",
        plot=fig2,
        summary=_by_mode,
        claims=FIG2,
        **_SHARED,
    ),
    Entry(
        "simplicity/fig17",
        "E.2",
        "Image sets, by number of hidden layers",
        f"Test accuracy by number of hidden layers, of {SHOWN}",
        "the best number of layers is sometimes different for different functions",
        plot=fig17,
        summary=_best_depths,
        claims=FIG17,
        **_SHARED,
    ),
)
