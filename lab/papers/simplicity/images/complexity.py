"""Section 3.2 and Appendix E.2 of the simplicity paper: accuracy on image sets against complexity (Figures 4 and 18).
Figure 4 is of MNIST alone."""

from __future__ import annotations

from math import isfinite
from typing import Any

import pandas as pd

from lab import estimates
from lab.papers.claims import NOTHING, Claim, Verdict, all_of, on_every_reading
from lab.papers.entry import Entry
from lab.papers.simplicity.complexity import logarithms, probabilities, variation
from lab.papers.simplicity.images.accuracy import (
    SHOWN,
    TASKS,
    accuracies,
    against,
    diverged_runs,
    images_tested,
    notes,
    plan,
)
from lab.papers.simplicity.images.settings import (
    CLASSIFICATION,
    FIRST,
    FROM_ZERO,
    REGRESSION,
    RELU,
    SEEDS,
    TITLES,
    origin,
)
from lab.papers.tables import Labelled, alive, gains_on_rows, ratios
from lab.plots import go
from lab.plots.caption import effect, set_reading, true_minus
from lab.plots.panels import above, grid, log_axis, place, points
from lab.plots.style import BLACK, CELL_INK, METHOD_SYMBOLS, SIZE, colour, faded, method_title, methods_of
from lab.probes.calling import function_of
from lab.statistics import LEVEL


def measure(runs: Labelled, examples: int) -> pd.DataFrame:
    """As `accuracies`, with the total variation of each run (tv, tv_low, tv_high: 95 % interval over paths) on paths
    between `examples` training images: of its probabilities, or of the class id that it predicts; NaN of a run that
    diverged."""
    rows = []
    for _, run in runs:
        train, f = run.spec.task.split(run.spec.task_seed)["train"], None
        if run.diverged is None:
            f = probabilities(run) if run.spec.task.classification else function_of(run.model())
        rows.append(variation(f, train.inputs, train.latents["label"], paths=examples // 2))
    return accuracies(runs).join(pd.DataFrame(rows))


def _correlation(table: pd.DataFrame, name: str, mode: str) -> estimates.Estimate:
    return _over_models(table[(table["set"] == name) & (table["mode"] == mode)])


def _over_models(rows: pd.DataFrame) -> estimates.Estimate:
    """Rank correlation of test accuracy and complexity over models (methods and numbers of layers, means of seeds)."""
    means = _models(alive(rows))
    return estimates.rank_correlation(means["tv"], means["accuracy"], "models")


def _models(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean over seeds of each model."""
    return rows.groupby(["method", "layers"]).mean(numeric_only=True).reset_index()


def _correlated(table: pd.DataFrame) -> Verdict:
    return all_of(
        Verdict(_correlation(table, name, REGRESSION), above=0.0, case=TITLES[name]) for name in table["set"].unique()
    )


def _more_correlated(table: pd.DataFrame) -> Verdict:
    """The correlation in regression less that in classification; or how strong the one is less how strong the other,
    whichever sign either has: where complexity goes against accuracy, the paper's sentence can be read both ways."""
    verdicts = []
    for name in table["set"].unique():
        sides = [_correlation(table, name, mode) for mode in (REGRESSION, CLASSIFICATION)]
        strengths = [side if side.effect >= 0 else side.negated() for side in sides]
        readings = {
            "with their signs": Verdict(estimates.apart(*sides).cut(-2.0, 2.0), above=0.0, case=TITLES[name]),
            "without": Verdict(estimates.apart(*strengths).cut(-1.0, 1.0), above=0.0, case=TITLES[name]),
        }
        verdicts.append(on_every_reading(readings))
    return all_of(verdicts)


def _more_complex(table: pd.DataFrame) -> Verdict:
    """Total variation in regression, learned from zero over ReLU, geometric means over numbers of layers."""
    rows = alive(table[table["mode"] == REGRESSION])
    if rows.empty:
        return NOTHING
    logs = logarithms(rows["tv"]).groupby([rows["set"], rows["method"], rows["seed"]], sort=False).mean()
    groups = {kind: group.to_numpy() for kind, group in logs.groupby(level=[0, 1], sort=False)}
    return all_of(ratios(groups, against(groups, FROM_ZERO), above=1.0))


FIG18 = (
    Claim(
        "correlated",
        "Accuracy and complexity are correlated for regression, over models of each set",
        _correlated,
        decides="more widths and numbers of steps: the interval of 26 models a set is ±.4, of 100 ±.2",
        hours=2.0,
    ),
    Claim(
        "more-correlated",
        "Accuracy and complexity correlate more for regression than for classification",
        _more_correlated,
        decides="searches from zero that train in classification (see Figure 2), and complexity of outputs",
        hours=1.5,
        stands_in=lambda table, scale: (
            "the total variation of probabilities, which saturate, in place of that of outputs"
        ),
    ),
    Claim(
        "complex",
        "Regression models with activations learned from zeros are more complex than with ReLUs",
        _more_complex,
    ),
)


def _rank(table: pd.DataFrame) -> str:
    """The rank correlation in words, with its 95 % interval where there is one."""
    rank = _over_models(table)
    low, high = rank.interval(LEVEL)
    return true_minus(f"{rank.effect:.2f}{f' [{low:.2f}, {high:.2f}]' if isfinite(low) else ''}")


def _ranks(table: pd.DataFrame) -> str:
    words = [
        f"{TITLES[name]}, {mode} {_rank(rows)}"
        for (name, mode), rows in alive(table).groupby(["set", "mode"], sort=False)
        if len(rows) > 2
    ]
    return f"Rank correlation of test accuracy and total variation over models: {', '.join(words)}." if words else ""


def _summary(table: pd.DataFrame) -> str:
    """Where functions from zero are more accurate than ReLU, and where more complex models are, and where less."""
    rows = alive(table)
    ranks = {case: _over_models(part) for case, part in rows.groupby(["set", "mode"], sort=False) if len(part) > 2}
    depths = f"{rows['layers'].min()} to {rows['layers'].max()} layers"
    subject = f"Against {RELU}, functions from zero ({depths})"
    sides = {subject: _from_zero(rows), "With more total variation, models": ranks}
    return " ".join(f"{of} are {_surely(gains, of == subject)}." for of, gains in sides.items() if gains)


def _from_zero(rows: pd.DataFrame) -> dict[tuple, estimates.Estimate]:
    """By how many points functions learned from zero are more accurate than ReLU, means over numbers of layers, by set
    and mode."""
    gains = {}
    for case, part in rows.groupby(["set", "mode"], sort=False):
        means = (100 * part["accuracy"]).groupby([part["method"], part["seed"]]).mean()
        groups = {method: each.to_numpy() for method, each in means.groupby(level="method")}
        if {FROM_ZERO, RELU} <= set(groups):
            (gain,) = gains_on_rows(groups, {"": (FROM_ZERO, RELU)}, {"": images_tested(part)})
            gains[case] = gain.estimate
    return gains


def _surely(differences: dict[tuple, estimates.Estimate], points: bool) -> str:
    """In which modes, and on which sets if not on all, accuracy is surely higher, and where lower. points: whether a
    difference is one of accuracy, which is said of one set."""
    kinds: dict[str, dict[str, list[str]]] = {"more": {}, "less": {}}
    for (name, mode), difference in differences.items():
        low, high = difference.interval(LEVEL)
        if low > 0 or high < 0:
            kinds["more" if low > 0 else "less"].setdefault(mode, []).append(TITLES[name])
    words: list[str] = []
    every = [mode for _, mode in differences]
    for kind, modes in kinds.items():
        some = {mode: f" ({', '.join(names)})" * (len(names) < every.count(mode)) for mode, names in modes.items()}
        if points and len({name for name, _ in differences}) == 1:  # of one set, the number itself
            some = {mode: f" ({effect(one)} points)" for (_, mode), one in differences.items() if mode in modes}
        cases = " and ".join(f"{mode}{names}" for mode, names in some.items())
        words += [f"{kind if words else f'surely {kind} accurate'} in {cases}"] if cases else []
    return ", ".join(words) or "nowhere surely more or less accurate"


def fig4(table: pd.DataFrame) -> go.Figure:
    """One panel a mode: test accuracy against complexity, one mark a model. table: see `measure`."""
    modes = list(table["mode"].unique())
    heads = [f"{TITLES[table['set'].iloc[0]]} as {mode}" for mode in modes]
    figure = grid(heads, len(modes), 280, top=92, horizontal=50)
    for number, mode in enumerate(modes):
        _against_complexity(figure, table[table["mode"] == mode], place(number, len(modes)), legend=not number)
    figure.update_yaxes(title_text="test accuracy (%)", col=1)
    _explain(figure, table)
    return figure


def fig18(table: pd.DataFrame) -> go.Figure:
    """One row a set and mode: test against training accuracy, test accuracy against complexity. table: as of `fig4`."""
    panels = list(table.groupby(["set", "mode"], sort=False))
    heads = [text for (name, mode), _ in panels for text in 2 * [f"{TITLES[name]}, {mode}"]]
    figure = grid(heads, 2, 190, gap=84, top=96, horizontal=60)
    for line, (_, rows) in enumerate(panels, 1):
        _points(figure, rows, "accuracy_train", (line, 1), line == 1, "training accuracy %{x:.1f} %")
        _against_complexity(figure, rows, (line, 2), legend=False)
    figure.update_xaxes(title_text="training accuracy (%)", col=1)
    figure.update_yaxes(title_text="test accuracy (%)", col=1)
    _explain(figure, table)
    return figure


def _against_complexity(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int], legend: bool) -> None:
    every = alive(rows)
    rows = every[every["tv"] > 0]
    _points(figure, rows, "tv", at, legend, "total variation %{x:.3g}")
    unit = "probability" if len(rows) and rows["mode"].iloc[0] == CLASSIFICATION else "class id"
    figure.update_xaxes(title_text=f"total variation ({unit}, log scale)", row=at[0], col=at[1], **log_axis(rows["tv"]))
    if len(every) > 2:
        above(figure, f"ρ = {_rank(every)}", *at, side="right", size=SIZE - 1)


def _points(figure: go.Figure, table: pd.DataFrame, x: str, at: tuple[int, int], legend: bool, about: str) -> None:
    """A mark a model, the mean of its seeds, and a small one a run. x: a column; about: the same in words."""
    scale = 1 if x == "tv" else 100
    for method in methods_of(table):
        rows, name, ink = table[table["method"] == method], method_title(method), colour(method)
        hidden: dict[str, Any] = {"legendgroup": method, "showlegend": False, "hoverinfo": "skip"}
        runs = scale * rows[x], 100 * rows["accuracy"]
        points(figure, *runs, faded(ink, 0.45), at, 4, METHOD_SYMBOLS[method], name=f"{name}, one run", **hidden)
        means = _models(rows)
        mark = {"symbol": METHOD_SYMBOLS[method], "size": 14}
        mark |= {"color": faded(ink, 0.75), "line": {"width": 0.6, "color": BLACK}}
        hover = f"{name}, %{{customdata}} hidden layers<br>{about}, test accuracy %{{y:.1f}} %<extra></extra>"
        look = {
            "mode": "markers+text",
            "text": means["layers"].astype(str),
            "name": name,
            "legendgroup": method,
            "showlegend": legend,
            "marker": mark,
        }
        look |= {"textfont": {"size": SIZE - 3, "color": CELL_INK}, "textposition": "middle center"}
        look |= {"customdata": means["layers"], "hovertemplate": hover}
        figure.add_scatter(x=scale * means[x], y=100 * means["accuracy"], row=at[0], col=at[1], **look)


def _explain(figure: go.Figure, table: pd.DataFrame) -> None:
    zeros = int((table["tv"] == 0).sum())
    set_reading(
        figure,
        "Large: a model, mean of seeds, with its number of hidden layers; small: runs. Total variation: ups and"
        " downs of answers on straight paths between training images, less the line between a path's ends; of the"
        " predicted number, in [-1, 1], or of the probability of a random class. ρ: Spearman's rank correlation of"
        " models, 95 % interval.",
        f"Not drawn, because their total variation is 0: {zeros} of {len(table)} runs." if zeros else "",
        diverged_runs(table),
    )


def _notes(scale: str) -> list[str]:
    return [
        *notes(scale),
        "models differ in number of hidden layers and seed (paper: also in hyper-parameters and"
        " numbers of steps, which it does not name)",
        "in classification total variation is that of probabilities, which saturate (the paper does not say of what)",
    ]


_SHARED: dict[str, Any] = {
    "measure": measure,
    "tasks": TASKS,
    "seeds": SEEDS,
    "summary": _summary,
    "numbers": _ranks,
    "notes": _notes,
    "examples": {"smoke": 10, "laptop": 400, "overnight": 400, "paper": 400},
}
ENTRIES = (
    Entry(
        "simplicity/fig4",
        "3.2",
        "MNIST: accuracy against complexity",
        f"Test accuracy and complexity of {SHOWN}",
        "correlated only for regression, where functions from zero are best",
        plan=lambda scale, seeds: plan(scale, seeds, FIRST),
        plot=fig4,
        origin=origin(FIRST),
        minutes={"smoke": 0.1, "laptop": 9, "overnight": 25, "paper": 150},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig18",
        "E.2",
        "Image sets: training accuracy, test accuracy and complexity",
        f"Test accuracy against training accuracy, and against complexity, of {SHOWN}",
        "learned functions are more accurate than ReLU, above all those from zero",
        plan=plan,
        plot=fig18,
        origin=origin(),
        minutes={"smoke": 0.3, "laptop": 18, "overnight": 50, "paper": 300},
        claims=FIG18,
        **_SHARED,
    ),
)
