"""Section 3.3 of the simplicity paper: tables, on which networks are less accurate than trees (Figures 5 and 20).

Figures 6, 22 and 23 have the same models (`lab.papers.simplicity.tables.complexity`). What is over tables has the table
as its unit, each the mean of its seeds. Functions come from one search a table.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.errors import shortened
from lab.models.baselines import Baseline, fit
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.complexity import kept_accuracy, log_odds, variation
from lab.papers.simplicity.tables import settings
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, LINEAR, METHODS, NEIGHBOURS, RELU, TANH, TREES, tables
from lab.papers.tables import POINTS, Labelled, gains_on_rows
from lab.plots import go
from lab.plots.caption import counted, effect, set_reading
from lab.plots.panels import grid, name_axes, place, points, whiskers
from lab.plots.style import GREY, METHOD_SYMBOLS, SIZE, colour
from lab.run import Run
from lab.scale import model_scale
from lab.statistics import INTERVAL, LEVEL, over_seeds
from lab.tasks import Tabular

BASELINES = {NEIGHBOURS: "knn", TREES: "trees"}  # by their names in lab.models.baselines
SETTING = ["start", "layers", "prefactor"]  # what is chosen on `val` for each method and table
_SPLITS = {"accuracy": "test", "accuracy_val": "val", "accuracy_train": "train"}
ALMOST_ALL = 80.0  # % of cases, at least
# % of the gap between ReLU and trees that may be left where it is eliminated, and with which it is not; as of a delay
# (`lab.papers.simplicity.grokking`).
ELIMINATED, LEFT = 10.0, 20.0
PAPER_TABLES, LEAST_TABLES = 16, 5  # of three, an interval says next to nothing of the others
COLUMNS, ROW = 3, 21  # of panels; px a method
LONGEST_NAME = 21  # letters of a table above its panel, 600 px wide


def plan(scale: str, seeds: int, methods: Sequence[str] = (LINEAR, *settings.NETWORKS)) -> list[Planned]:
    """On each table every method with every number of layers, prefactor and start of a search."""
    like = model_scale(scale)
    return [
        (
            {"table": table, "method": method, "tries": settings.TRIES[scale]}
            | {"start": start, "layers": layers, "prefactor": prefactor},
            settings.network(scale, table, method, layers, start, prefactor, seed=seed),
        )
        for table in tables(scale)
        for method in methods
        for start in {LEARNED: settings.STARTS, IAFS: ("identity",)}.get(method, ("",))
        for layers in ((0,) if method == LINEAR else settings.LAYERS[like])
        for prefactor in (settings.PREFACTORS[like] if method == TANH else (1.0,))
        for seed in range(seeds)
    ]


def measure(runs: Labelled, complexity: bool = False) -> pd.DataFrame:
    """Accuracies of all models, one row each: table, method, start, layers, prefactor, seed, accuracy (on `test`, 0 to
    1, with the weights that were kept; NaN where the run diverged), accuracy_val, accuracy_train, diverged, chosen
    (whether it has the setting of its method with the highest mean accuracy on `val`). k-NN and trees, which stand
    beside the linear model: seed 0, layers 0.

    complexity: with tv, tv_low, tv_high, the total variation of log-odds on paths between training rows; NaN of k-NN,
    whose probabilities reach 0 and 1.
    """
    rows = []
    for labels, run in runs:
        row = {name: labels[name] for name in ("table", "method", *SETTING)} | {"seed": run.spec.seed}
        row |= checkpoint_accuracies(run) | {"diverged": bool(run.diverged)}
        if complexity:
            train = run.spec.task.split()["train"]
            row |= variation(None if run.diverged else log_odds(run), train.inputs, train.targets)
        rows.append(row)
    pairs = ((labels["table"], labels["tries"]) for labels, _ in runs if labels["method"] == LINEAR)
    for table, tries in dict.fromkeys(pairs):
        for method, kind in BASELINES.items():
            model, splits = baseline(table, kind, tries), Tabular(table).split()
            row = {"table": table, "method": method, "start": "", "layers": 0, "prefactor": 1.0, "seed": 0}
            row |= {name: model.accuracy(splits[split]) for name, split in _SPLITS.items()} | {"diverged": False}
            train = splits["train"]
            odds = model.estimator.decision_function if method == TREES else None
            rows.append(row | (variation(odds, train.inputs.numpy(), train.targets) if complexity else {}))
    scores = pd.DataFrame(rows)
    return scores.assign(chosen=is_chosen(scores)).round(dict.fromkeys(scores.select_dtypes(np.floating), 5))


@functools.lru_cache(maxsize=64)  # entries that are made one after the other share them
def baseline(table: str, kind: str, tries: int) -> Baseline:
    """k-NN or trees, with the setting that is most accurate on `val` of so many."""
    return fit(Tabular(table), kind, tries)


def checkpoint_accuracies(run: Run) -> dict[str, float]:
    """Accuracies of the weights that a run kept; NaN where it diverged."""
    diverged = run.diverged is not None
    return {name: float("nan") if diverged else kept_accuracy(run, split) for name, split in _SPLITS.items()}


def is_chosen(table: pd.DataFrame) -> pd.Series:
    """Whether a row has the setting with which its method has the highest mean accuracy on `val` of its table; a
    setting of which a run diverged is not chosen where there is another."""
    where = ["table", "method"]
    means = table.groupby([*where, *SETTING], sort=False)["accuracy_val"].agg(lambda a: a.mean(skipna=False))
    best = set(means.fillna(-1.0).groupby(where, sort=False).idxmax())
    return table[[*where, *SETTING]].apply(tuple, axis=1).isin(best)


def chosen_means(table: pd.DataFrame, value: str = "accuracy") -> pd.DataFrame:
    """What was chosen on `val`: seeds × (table, method); accuracies in percent. A run that diverged has NaN."""
    rows = table[table["chosen"].astype(bool)]
    values = rows[value].where(~rows["diverged"].astype(bool)) * (100 if value.startswith("accuracy") else 1)
    wide = values.groupby([rows["seed"], rows["table"], rows["method"]], sort=False).agg(lambda a: a.mean(skipna=False))
    return wide.unstack(["table", "method"])


def of_tables(table: pd.DataFrame, value: str = "accuracy") -> pd.DataFrame:
    """Means over seeds of what was chosen: tables × methods."""
    return chosen_means(table, value).mean().unstack("method")


def gains_over_relu(table: pd.DataFrame, method: str) -> dict[str, Verdict]:
    """By table how far a network is above ReLU's; the interval covers seeds and test rows."""
    wide = chosen_means(table)
    pairs = {name: ((name, method), (name, RELU)) for name in wide.columns.unique("table") if (name, method) in wide}
    tested = {name: settings.rows_tested(name) for name in pairs}
    return dict(zip(pairs, gains_on_rows(wide, pairs, tested, above=0.0, unit=POINTS), strict=True))


def over_relu(table: pd.DataFrame) -> str:
    """On how many tables which networks are more accurate than ReLU's, and surely more or less so, in a sentence."""
    words = []
    for method in settings.NETWORKS[1:]:
        known = [one.estimate for one in gains_over_relu(table, method).values()]
        ends = [one.interval(LEVEL) for one in known]
        less = sum(high < 0 for _, high in ends)
        sure = f"{sum(low > 0 for low, _ in ends)} surely{f', {less} surely below' if less else ''}"
        words += [f"{method} {sum(one.effect > 0 for one in known)} ({sure})"] * bool(known)
    where = counted(table["table"].nunique(), "table")
    return f"Of {where}, each judged by itself at {100 * LEVEL:.0f} %, above ReLU: {', '.join(words)}."


def over_tables(table: pd.DataFrame, ours: str, theirs: str, **claimed) -> Verdict:
    """The mean over tables of a difference, each from the mean of the seeds that did not diverge."""
    means = chosen_means(table).mean().unstack("table")
    gaps = means.loc[ours] - means.loc[theirs]
    estimate = estimates.mean(gaps, "tables", f"tables, {len(gaps)} of the paper's {PAPER_TABLES}")
    return Verdict(estimate, unit=POINTS, **claimed)


def _left_of_gap(table: pd.DataFrame) -> Verdict:
    """How far learned functions are behind trees, as a share of how far ReLU is; over tables."""
    means = chosen_means(table).mean().unstack("table")
    behind = means.loc[TREES] - means
    if not behind.loc[RELU].mean() > 0:
        return absent("ReLU is not behind trees: there is no gap")
    covers = f"tables, {behind.shape[1]} of the paper's {PAPER_TABLES}"
    left = estimates.ratio_of_means(behind.loc[LEARNED], behind.loc[RELU], "tables", covers).scaled(100)
    return Verdict(left, below=ELIMINATED, refuted_above=LEFT, unit="% of ReLU's gap")


def enough_tables(table: pd.DataFrame, scale: str) -> str:
    """A mean over tables that stands for the paper's needs several of them."""
    here = table["table"].nunique()
    return "" if here >= LEAST_TABLES else f"{here} of the paper's {PAPER_TABLES} tables"


def _inputs_best(table: pd.DataFrame) -> Verdict:
    others = (RELU, TANH, LEARNED)
    return all_of(over_tables(table, IAFS, other, above=0.0, case=f"against {other}") for other in others)


def _surpassed(table: pd.DataFrame) -> Verdict:
    """Share of the three methods that are more accurate than ReLU, over tables."""
    means = chosen_means(table).mean().unstack("method")
    others = means[[TANH, LEARNED, IAFS]]
    share = others.gt(means[RELU], axis=0).astype(float).where(others.notna()).mean(axis=1)
    return Verdict(estimates.mean(100 * share, "tables", "tables").cut(0, 100), above=ALMOST_ALL, unit="%")


def _inputs_over_trees(table: pd.DataFrame) -> list[Verdict]:
    """By table. Trees are fitted once, and err on other rows than networks do."""
    verdicts, wide = [], chosen_means(table)
    for name in wide.columns.unique("table"):
        ours, theirs = estimates.mean(wide[name, IAFS]), float(wide[name, TREES].mean())
        shares = min(ours.effect, 100.0), theirs
        over = estimates.on_rows(ours.shifted(-theirs), shares, settings.rows_tested(name), alike=1.0)
        verdicts.append(Verdict(over, above=0.0, unit=POINTS, case=name))
    return verdicts


MORE_TABLES = (
    "more tables: electricity, which is left out for its licence, and pol, MiniBooNE, Higgs, jannis and Bioresponse,"
    " which were not available"
)
MORE_SEARCHES = "three searches a table"
LONGER_SEARCHES = "searches for input functions with 400 episodes"
over_all = partial(Claim, needs=enough_tables, decides=MORE_TABLES, stands_in=settings.smaller)
FIG5 = (
    over_all(
        "relu-trees",
        "Vanilla MLPs often perform worse than decision trees, over tables",
        lambda table: over_tables(table, RELU, TREES, below=0.0),
    ),
    over_all(
        "learned-relu",
        "Learned activation functions are more accurate than ReLU, over tables",
        lambda table: over_tables(table, LEARNED, RELU, above=0.0),
    ),
    over_all(
        "gap",
        "Learned functions eliminate the gap to decision trees (10 to 20 % of it at most), over tables",
        _left_of_gap,
    ),
    over_all("inputs", "Input activation functions perform best of the networks, over tables", _inputs_best),
)
FIG20 = (
    Claim(
        "surpassed",
        f"ReLU is surpassed by optimized functions in almost all cases (over {ALMOST_ALL:.0f} %)",
        _surpassed,
        decides=MORE_TABLES,
    ),
    Claim(
        "over-trees",
        "Input activation functions sometimes surpass trees (on some table)",
        lambda table: any_of(_inputs_over_trees(table)),
        decides=f"{MORE_TABLES}; on those here they are less than a point above trees, which answers to the same"
        " test rows do not decide (docs/log.md)",
    ),
)


def _summary(table: pd.DataFrame) -> str:
    best = table[table["chosen"].astype(bool)]
    means = 100 * best.groupby(["method", "table"], sort=False)["accuracy"].mean().groupby("method", sort=False).mean()
    text = ", ".join(f"{method} {means[method]:.1f}" for method in means.sort_values().index)
    count = best["table"].nunique()
    return f"Mean accuracy on {count} table{'s' if count > 1 else ''} in %: {text}."


def _often_best(table: pd.DataFrame) -> str:
    counts = of_tables(table).idxmax(axis=1).value_counts()
    best = ", ".join(f"{method} on {count}" for method, count in counts.items())
    most = max(_inputs_over_trees(table), key=lambda one: one.effect)
    return f"Most accurate: {best}. IAFs less trees, at most: {effect(most.estimate)} points ({most.case})."


def _gap_summary(table: pd.DataFrame) -> str:
    left = _left_of_gap(table)
    low, high = left.interval
    ends = f" [{low:.0f}, {high:.0f}]" if np.isfinite(low) else ""
    words = "" if left.reason else f"Learned functions leave {left.effect:.0f} %{ends} of ReLU's gap to trees. "
    return words + _summary(table)


def fig5(table: pd.DataFrame) -> go.Figure:
    """Left: accuracy between that of the worst and of the best method of each table, mean over tables. Right: mean
    rank. table: as `measure` gives it; only what is chosen is drawn."""
    means = mean_scores(table)
    figure = _panels(["normalized accuracy", "rank"], means)
    for column, (name, x) in enumerate((("normalized", "0: worst method of a table, 1: best"), ("rank", "1: best")), 1):
        _draw(figure, means, name, (1, column), ".2f")
        figure.update_xaxes(title_text=x, col=column)
    figure.update_xaxes(autorange="reversed", col=2)  # as on the left, what is better is farther right
    set_reading(
        figure,
        "Test accuracy on each table, scaled to 0 for the method that is worst on it and 1 for the"
        " best, and the rank of methods, both averaged over tables. Whiskers:"
        f" {INTERVAL}, on these tables; brackets and claims: over tables, so wider. k-NN and trees are fitted once.",
    )
    return figure


def mean_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Means over tables of what is chosen: method, seed, normalized (0 to 1), rank.

    k-NN and trees, which have one seed, stand beside the networks of each. A seed of which a run diverged is left out.
    """
    best = table[table["chosen"].astype(bool)]
    wide = best.pivot_table(index="seed", columns=["table", "method"], values="accuracy", aggfunc="mean")
    once = best.groupby(["table", "method"])["seed"].nunique() == 1
    alone = [column for column in wide if once[column]]
    if len(wide) > 1:
        wide[alone] = wide[alone].ffill().bfill()
    long = wide.stack(["table", "method"], future_stack=True).rename("accuracy").reset_index()
    means = long.groupby(["table", "method"])["accuracy"].mean().groupby("table")
    low, high = long["table"].map(means.min()), long["table"].map(means.max())
    long["normalized"] = (long["accuracy"] - low) / (high - low).where(high > low)
    long["rank"] = long.groupby(["seed", "table"])["accuracy"].rank(ascending=False)
    scores = long.groupby(["method", "seed"])[["normalized", "rank"]].agg(lambda a: a.mean(skipna=False)).reset_index()
    every = {method for _, method in alone} & set(scores["method"])
    return scores[~scores["method"].isin(every) | (scores["seed"] == scores["seed"].min())]


def fig20(table: pd.DataFrame) -> go.Figure:
    """One panel per table: test accuracy by method. table: as for `fig5`."""
    best = table[table["chosen"].astype(bool)].assign(percent=100 * table["accuracy"])
    names = list(best["table"].unique())
    figure = _panels(names, best)
    for number, name in enumerate(names):
        rows, at = best[best["table"] == name], place(number, COLUMNS)
        _draw(figure, rows, "percent", at, ".1f")
        _zoom(figure, rows, at)
        relu = rows.loc[rows["method"] == RELU, "percent"].mean()
        figure.add_vline(relu, line={"color": GREY, "width": 1}, layer="below", row=at[0], col=at[1])
    name_axes(figure, len(names), COLUMNS, "test accuracy (%)", "")
    set_reading(
        figure,
        f"Mean over seeds. Whiskers: {INTERVAL} alone; what is sure, and claims, count the test rows, too. k-NN and"
        " trees are fitted once. Grey line: ReLU's mean. Axes differ; ←: left of the axis.",
    )
    return figure


def _panels(titles: Sequence[str], table: pd.DataFrame) -> go.Figure:
    methods = [method for method in METHODS if method in set(table["method"])]
    heads = [shortened(name, LONGEST_NAME) for name in titles]
    height = ROW * len(methods) + 14
    figure = grid(heads, min(COLUMNS, len(heads)), height, gap=74, top=30, left=96, horizontal=26, share_y=True)
    names = {"type": "category", "categoryorder": "array", "categoryarray": methods[::-1]}
    figure.update_yaxes(range=(-0.6, len(methods) - 0.4), gridcolor="#F2F2F2", **names)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(nticks=5)
    return figure


def _draw(figure: go.Figure, table: pd.DataFrame, value: str, at: tuple[int, int], digits: str) -> None:
    stats = over_seeds(table, "method", value)
    for method in [method for method in METHODS if method in stats.index]:
        mean, half, runs = stats.loc[method, ["mean", "half", "runs"]]
        if value == "normalized" and min(abs(mean), abs(1 - mean)) < 1e-9:
            half = float("nan")  # 0 and 1 by definition
        known = half == half
        spread = f" ± {half:{digits}}" if known else ""
        hover = f"{method}: %{{x:{digits}}}{spread}, {runs:.0f} run{'s' if runs > 1 else ''}<extra></extra>"
        look = {"name": method, "error_x": whiskers([half], thickness=1.6) if known else None}
        points(figure, [mean], [method], colour(method), at, 9, METHOD_SYMBOLS[method], hovertemplate=hover, **look)


def _zoom(figure: go.Figure, table: pd.DataFrame, at: tuple[int, int]) -> None:
    """Axis of all methods but the linear model; where that lies far outside, a number at the edge stands for it."""
    stats = over_seeds(table, "method", "percent")
    others = stats.drop(index=LINEAR, errors="ignore")
    if LINEAR not in stats.index or others.empty:
        return
    half = others["half"].fillna(0.0)
    low, high = float((others["mean"] - half).min()), float((others["mean"] + half).max())
    mean = stats.loc[LINEAR, "mean"]
    if low - mean <= 0.5 * (high - low):
        return
    pad = 0.08 * (high - low) or 0.5
    figure.update_xaxes(range=(low - 2 * pad, high + pad), row=at[0], col=at[1])
    edge = {"xref": "x domain", "x": 0.01, "xanchor": "left", "showarrow": False, "row": at[0], "col": at[1]}
    edge["bgcolor"] = "white"
    font = {"size": SIZE - 1}
    figure.add_annotation(text=f"← {mean:.1f}", y=LINEAR, font=font, **edge)


CHOSEN_NOTE = (
    "numbers of layers, α and starts of searches are chosen on val for each table; k-NN and trees by random search"
    " (paper: Bayesian optimization in Matlab)"
)
WITH_ODDS = "boosted trees, and networks with ReLU, tanh(αx), a learned function, and learned input functions (IAFs)"
SHOWN = f"a linear model, nearest neighbours, {WITH_ODDS}"
_SEEDS = settings.SEEDS | {"overnight": 6}  # total variation of three leaves a factor of several open
SHARED: dict[str, Any] = {"plan": plan, "tasks": tables("laptop"), "origin": settings.origin(), "seeds": _SEEDS}
_ACCURACY: dict[str, Any] = {"measure": measure, "notes": lambda scale: [CHOSEN_NOTE]}
ENTRIES = (
    Entry(
        "simplicity/fig5",
        "3.3",
        "Kinds of models on tables",
        f"Test accuracy over all tables: {SHOWN}",
        "vanilla MLPs are often worse than decision trees; learned functions eliminate this gap, input functions enable"
        " even better performance",
        plot=fig5,
        summary=_gap_summary,
        claims=FIG5,
        minutes={"smoke": 0.2, "laptop": 10, "overnight": 150, "paper": 600},
        **_ACCURACY,
        **SHARED,
    ),
    Entry(
        "simplicity/fig20",
        "E.4",
        "Kinds of models on each table",
        f"Test accuracy on each table: {SHOWN}",
        "in almost all cases ReLU is surpassed by TanH, learned and input functions",
        plot=fig20,
        summary=lambda table: f"{_often_best(table)} {over_relu(table)}",
        numbers=_summary,
        claims=FIG20,
        minutes={"smoke": 0.2, "laptop": 10, "overnight": 150, "paper": 600},
        **_ACCURACY,
        **SHARED,
    ),
)
