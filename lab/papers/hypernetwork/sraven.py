"""Section 4.4 of the hypernetwork paper: SRAVEN, symbolic Raven's matrices, by the number of problems and of layers
(Figs. 4, A4), and with other heads, features and shares of the rules held out (Figs. 5C, 5D, A5).

Where nothing is varied the runs are those of Figure 4A with the fewer problems.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.settings import (
    FEWER,
    FIGURE_METHODS,
    HEADS,
    HELD_OUT,
    LAYERS,
    PROBLEMS,
    SEEDS,
    SOLVED,
    best,
    features_of,
    finals,
    hyla_before,
    origin,
    solves_seen,
    sraven,
    two_features,
)
from lab.papers.tables import POINTS, paired, per_seed, percent, span
from lab.plots import go
from lab.plots.caption import TOO_EARLY, diverged_runs, runs_note, set_reading, too_early
from lab.plots.panels import Panel, above, grid, line, method_line, place, run_dots
from lab.plots.style import GREY, INK, METHOD_SYMBOLS, SIZE, method_title, methods_of
from lab.statistics import over_seeds

Values = Mapping[str, tuple]  # of what is varied, by scale
# K = 1 is left out: there what is held out are rules that no training saw, and no combinations of seen ones.
FEATURES = {"smoke": (2, 3), "laptop": (2, 3), "overnight": (2, 3), "paper": (2, 3, 4)}
BY_LAYERS = FEWER | {"paper": PROBLEMS["paper"]}
FEW_SEEDS = {"smoke": 2, "laptop": 1, "overnight": 1, "paper": 3}  # of what is varied a laptop trains one in 15 minutes
PAPER_LEVEL = 80.0  # %, which all methods reach in the paper, given enough problems
ACCURACY = "accuracy, whole answer (%)"
VALUES, GUESS = 8, float(np.log(8))  # of a feature, and what guessing one has, in nats
APART = 0.02  # of the width of a panel, between marks of two methods at one place, so that their runs can be told apart
# What is varied → name, unit or other words on the axis, and how a number is written
WHERE: dict[str, tuple[str, str, Callable[[Any], str]]] = {
    "problems": ("problems trained on", "log scale", "{:,}".format),
    "layers": ("layers", "log scale", str),
    "heads": ("heads", "log scale", str),
    "features": ("features a panel", "K", str),
    "held_out": ("combinations of rules held out", "%", lambda share: f"{100 * share:g}"),
}


def plan(
    scale: str, seeds: int, numbers: Values = PROBLEMS, by: str = "", values: Values | None = None
) -> list[Planned]:
    """Runs of every method for each number of problems trained on, each a training with a schedule of its own, and each
    value of `by`, an argument of `settings.sraven`; at paper scale, of every point of the grid."""
    runs: list[Planned] = []
    varied: list[dict[str, Any]] = [{by: value} for value in values[scale]] if values else [{}]
    for number, value, method in product(numbers[scale], varied, FIGURE_METHODS):
        setting = sraven(scale, method, problems=number, **value)
        runs += setting.planned(scale, seeds, method=method, problems=setting.problems, **value)
    return runs


by_layers = partial(plan, numbers=BY_LAYERS, by="layers", values=LAYERS)


def _all_sizes(scale: str, seeds: int) -> list[Planned]:
    wide = [(one | {"varied": "problems", "layers": spec.model.layers}, spec) for one, spec in plan(scale, seeds)]
    return wide + [(labels | {"varied": "layers"}, spec) for labels, spec in by_layers(scale, seeds)]


def _most(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the runs that were chosen on `val`, with the most problems."""
    return best(table)[lambda rows: rows["problems"] == rows["problems"].max()]


def _summary_by_problems(table: pd.DataFrame) -> str:
    means = _most(table).groupby("method", sort=False)[["accuracy_ood", "accuracy_test"]].mean()
    words = [f"{method_title(name)} {percent(ood)} (seen {percent(test)})" for name, ood, test in means.itertuples()]
    said = f"Accuracy in % on unseen combinations, with the most problems: {', '.join(words)}."
    return too_early(_unlearned(table, "problems")) + said


def summary(table: pd.DataFrame, by: str) -> str:
    table, words, values = _most(table), [], sorted(table[by].unique())
    for method, rows in table.groupby("method", sort=False):
        means = rows.groupby(by)[["accuracy_ood", "accuracy_test"]].mean().reindex(values).T
        ood, test = (", ".join(percent(one, few=True) for one in row) for row in means.to_numpy())
        words.append(f"{method_title(method)} {ood} ({test})")
    guesses = ", ".join(percent(float(VALUES) ** -count, few=True) for count in values)
    chance = f"; guessing {guesses}" if by == "features" else ""
    means = table.groupby(["method", by], sort=False)["accuracy_ood"].mean().unstack()[values]
    gaps = (means.iloc[:, -1] - means.iloc[:, 0]).items()
    changes = ", ".join(f"{method_title(name)} {percent(change, '+')}" for name, change in gaps)
    first = f"Unseen accuracy from {_written(by, values[:1])} to {WHERE[by][2](values[-1])}, in points: {changes}. "
    early = too_early(_unlearned(table, by))
    at = f", {_written(by, values)}" if early or len(values) > 2 else ""
    return f"{early or first}In % on unseen (seen) combinations{at}: {'; '.join(words)}{chance}."


def _unlearned(table: pd.DataFrame, by: str) -> str:
    """How much of what training saw is solved, from the worst mean to the best, where it is too little to compare."""
    early = (_all_solve_seen if by == "problems" else solves_seen)(_most(table))
    shares = 100 * _most(table).groupby(["method", by])["accuracy_test"].mean()
    return f"{span(shares)} % of seen combinations solved ({table['problems'].max():,} problems)" if early else ""


def _written(by: str, values: Sequence) -> str:
    name, unit, write = WHERE[by]
    return f"{name}{' (%)' if unit == '%' else ''} {', '.join(map(write, values))}"


def _losses_summary(table: pd.DataFrame) -> str:
    table, parts = best(table), []
    for by, other in (("problems", "layers"), ("layers", "problems")):
        rows = table[table["varied"] == by]
        rows = rows[rows[other] == rows[other].max()]
        losses = rows.groupby(["method", by], sort=False)["loss"].mean().unstack()
        ends = zip(map(method_title, losses.index), losses.iloc[:, 0], losses.iloc[:, -1], strict=True)
        words = ", ".join(f"{method} {first:.2f} to {last:.2f}" for method, first, last in ends)
        parts.append(f"from {losses.columns[0]:,} to {losses.columns[-1]:,} {by} {words}")
    return f"Nats a feature, {'; '.join(parts)}."


_MARKS, _UNSAID = "paper 25 to 40 million", "paper does not say how many, 20 million in Table A1"


def _problems(planned: Sequence[Planned], last: str = " and ") -> str:
    return last.join(f"{number:,}" for number in sorted({labels["problems"] for labels, _ in planned}))


def _notes(scale: str, by: str, values: Values, paper: str, marks: str = _UNSAID, numbers: Values = FEWER) -> list[str]:
    """What the settings do not show. paper, marks: the values and the numbers of problems of the paper, in words."""
    planned = plan(scale, 1, numbers, by, values)
    steps = " and ".join(f"{number:,}" for number in sorted({spec.recipe.steps for _, spec in planned}))
    trained = f"{_problems(planned)} problems trained on, {steps} steps ({marks})"
    return [f"{_written(by, values[scale])} ({paper})", trained]


_notes_by_layers = partial(_notes, by="layers", values=LAYERS, paper="paper 4, 8, 16", marks=_MARKS, numbers=BY_LAYERS)


def _loss_notes(scale: str) -> list[str]:
    return [
        f"by problems: the runs of Figure 4A, {_problems(plan(scale, 1))} ({_MARKS}), one"
        f" width (paper three); by layers: {', '.join(_notes_by_layers(scale))}"
    ]


def _all_solve_seen(table: pd.DataFrame, scale: str = "") -> str:
    """Every method, with the most problems, solves what it has seen: else it has not had sufficient data."""
    shares = 100 * _most(table).groupby("method")["accuracy_test"].mean()
    return "" if shares.min() >= SOLVED else f"{shares.idxmin()} solves {shares.min():.0f} % of seen combinations"


def _all_reach_80(table: pd.DataFrame) -> Verdict:
    scores = per_seed(_most(table), "method", "accuracy_ood")
    return all_of(paired({method: scores[method] for method in scores}, unit="%", above=PAPER_LEVEL))


def _hyla_before_at_least(*columns: str) -> Callable[[pd.DataFrame], Verdict]:
    """With the fewest problems, or layers, or both."""

    def measure(table: pd.DataFrame) -> Verdict:
        rows = best(table)
        least = (rows[list(columns)] == rows[list(columns)].min()).all(axis=1)
        return hyla_before(per_seed(rows[least], "method", "accuracy_ood"))

    return measure


def _easier_with(by: str) -> Callable[[pd.DataFrame], Verdict]:
    """Accuracy on unseen combinations with the most heads, or the fewest features or held out, minus that at the other
    end, over methods, each the mean of its seeds; runs of two methods share nothing but the split."""

    def measure(table: pd.DataFrame) -> Verdict:
        table = _most(table)
        scores = per_seed(table, ["method", by], "accuracy_ood").mean()
        hard, easy = sorted((table[by].min(), table[by].max()), reverse=by != "heads")
        gaps = [scores[method, easy] - scores[method, hard] for method in table["method"].unique()]
        splits = table["seed"].nunique()
        covers = "methods and their noise, of one split" if splits == 1 else f"methods and their noise, {splits} splits"
        return Verdict(estimates.mean(gaps, "methods", covers), above=0.0, unit=POINTS)

    return measure


# What would decide open claims, with hours of two cores
of_four_features = partial(
    Claim,
    decides="SRAVEN with K = 4, which trains on 248 combinations where K = 2 has 27; 10 million problems, 3 seeds",
    hours=26.0,
    stands_in=two_features,
)
FIG4A = (
    of_four_features(
        "all-solve", "Given sufficient data, all solve 80 % of unseen combinations", _all_reach_80, _all_solve_seen
    ),
    of_four_features(
        "few-problems",
        "Trained on fewer problems, HYLA outperforms linear and softmax attention",
        _hyla_before_at_least("problems"),
        solves_seen,
    ),
)
FIG4B = of_four_features(
    "small",
    "For small models, HYLA outperforms linear and softmax attention",
    _hyla_before_at_least("layers", "problems"),
    solves_seen,
)


def _along_axis(name: str, says: str, by: str) -> Claim:
    stands_in = None if by == "features" else two_features
    decides = "two more splits at scale overnight: 12 runs"
    return Claim(name, says, _easier_with(by), solves_seen, decides, 1.5, stands_in=stands_in)


FIG5C = _along_axis("one-head", "With a single head, performance decreases noticeably, over attentions", "heads")
FIG5D = _along_axis("features", "The difficulty is controlled by the number of features, over attentions", "features")
FIGA5 = _along_axis("held-out", "Accuracy falls with the share of combinations held out, over attentions", "held_out")


def accuracy(table: pd.DataFrame, by: str) -> go.Figure:
    """Accuracy on unseen combinations (dotted: on seen ones) against the column `by`, a line a method, a panel a number
    of problems that is not on the axis. Pale, with a title that says so, where no method has learned the task.

    table: method, problems, `by` (see WHERE), seed, accuracy_ood, accuracy_test (0 to 1), diverged, chosen.
    """
    table = best(table)
    early = _unlearned(table, by)
    panels = {f"{TOO_EARLY}: {early}" if early else "": table}
    if by != "problems" and table["problems"].nunique() > 1:
        panels = {f"{number:,} problems": rows for number, rows in table.groupby("problems")}
    figure = grid(list(panels), len(panels), 180 if early else 270, top=62, horizontal=24)
    for number, rows in enumerate(panels.values()):
        at = place(number, len(panels))
        _draw(figure, rows, by, "accuracy_test", at, thin=True)
        _draw(figure, rows, by, "accuracy_ood", at)
        _draw_guess(figure, rows, by, at)
        _name_x(figure, rows, by, at)
    line(figure, [None], [None], GREY, (1, 1), 1.2, "dot", name="on seen combinations")
    figure.update_traces(opacity=0.7 if early else 1, selector=lambda trace: trace.legendgroup)  # of methods
    high = 100 * table[["accuracy_ood", "accuracy_test"]].max().fillna(1).max()
    if by == "problems":
        figure.add_hline(PAPER_LEVEL, line={"color": INK, "width": 1}, annotation_text="paper, K = 4: all methods")
        high = max(high, PAPER_LEVEL)
    figure.update_yaxes(range=(-0.04 * high, 1.08 * high)).update_yaxes(title_text=ACCURACY, col=1)
    set_reading(
        figure,
        runs_note(table),
        "Solid: on unseen combinations. Dotted: on seen ones, fresh problems. Dashed: guessing, 1 of 8 for each feature"
        f"{'' if by == 'features' else f', drawn for K = {features_of(table)} (paper 4)'}.",
        diverged_runs(table, ["method"], method_title),
    )
    return figure


def fig_a4(table: pd.DataFrame) -> go.Figure:
    """Training loss at the end, against the number of problems and against the number of layers, a panel each.

    table: varied ("problems" or "layers"), method, problems, layers, seed, loss (nats), diverged, chosen.
    """
    table = best(table)
    panels = [
        (by, rows)
        for by, part in table.groupby("varied", sort=False)
        for _, rows in part.groupby("problems" if by == "layers" else "layers")
    ]
    figure = grid([""] * len(panels), len(panels), 220, top=62, left=70, horizontal=24)
    for number, (by, rows) in enumerate(panels):
        at = place(number, len(panels))
        _draw(figure, rows, by, "loss", at)
        line(figure, _axis(rows, by), [GUESS] * 2, GREY, at, 1.2, "dash", name="guessing", showlegend=not number)
        _name_x(figure, rows, by, at)
        same = f"{rows['layers'].iloc[0]} layers" if by == "problems" else f"{rows['problems'].iloc[0]:,} problems"
        above(figure, f"<b>{same}</b>", *at, size=SIZE + 1)
    low, high = min(table["loss"].min(), GUESS), max(table["loss"].max(), GUESS)
    figure.update_yaxes(range=(low - 0.1 * (high - low), high + 0.1 * (high - low)), showticklabels=False, matches="y")
    figure.update_yaxes(showticklabels=True, title_text="training loss (nats a feature)", col=1)
    set_reading(
        figure,
        runs_note(table),
        f"Training loss: mean since the evaluation before, with dropout of attention scores; guessing has ln {VALUES}.",
        diverged_runs(table, ["method"], method_title),
    )
    return figure


def _draw(figure: go.Figure, table: pd.DataFrame, by: str, value: str, at: Panel, thin: bool = False) -> None:
    name, _, write = WHERE[by]
    apart, methods = APART * np.ptp(_axis(table, by)), methods_of(table)
    scale, unit = (1, "nats") if value == "loss" else (100, "%")
    sizes = (1.2, 4) if thin else (2.5, 8)  # of lines and of marks
    for rank, method in enumerate(methods):
        rows, shift = table[table["method"] == method], apart * (rank - (len(methods) - 1) / 2)
        mean = scale * over_seeds(rows, by, value)["mean"]
        look: dict[str, Any] = {"dash": "solid"}
        if thin:
            look = {"name": f"{method_title(method)}, seen combinations", "showlegend": False, "dash": "dot"}
            look |= {"marker": {"symbol": f"{METHOD_SYMBOLS[method]}-open", "size": 6}}
        elif rows["seed"].nunique() > 1:
            run_dots(figure, _along(rows[by], by) + shift, scale * rows[value], method, at)
        look |= {"customdata": [write(point) for point in mean.index]}
        look |= {"hovertemplate": f"{name} %{{customdata}}: %{{y:.3g}} {unit}"}
        method_line(figure, _along(mean.index, by) + shift, mean, method, at, *sizes, **look)


def _draw_guess(figure: go.Figure, table: pd.DataFrame, by: str, at: Panel) -> None:
    """Accuracy of guessing all features."""
    numbers = sorted(table[by].unique())
    varied = by == "features"
    places, features = (_along(numbers, by), numbers) if varied else (_axis(table, by), [features_of(table)] * 2)
    chance, look = [100 / VALUES**count for count in features], {"name": "guessing", "showlegend": at == (1, 1)}
    line(figure, places, chance, GREY, at, 1.2, "dash", hovertemplate="guessing: %{y:.2g} %", **look)


def _along(values: Sequence, by: str) -> np.ndarray:
    return np.log2(np.array(values, float)) if WHERE[by][1] == "log scale" else np.array(values, float)


def _axis(table: pd.DataFrame, by: str) -> tuple[float, float]:
    places = _along(table[by].unique(), by)
    room = 0.12 * np.ptp(places) if len(places) > 1 else 0.5
    return float(places.min() - room), float(places.max() + room)


def _name_x(figure: go.Figure, table: pd.DataFrame, by: str, at: Panel) -> None:
    name, unit, write = WHERE[by]
    numbers = sorted(table[by].unique())
    axis = {"tickvals": _along(numbers, by), "ticktext": list(map(write, numbers)), "range": _axis(table, by)}
    figure.update_xaxes(title_text=f"{name} ({unit})", row=at[0], col=at[1], **axis)


_SHARED: dict[str, Any] = {"tasks": ("sraven",), "measure": finals}
_SAYS = "given enough {0}{1}, all solve 80 % of unseen combinations; with few, HYLA is best"
_SHOWN = "Accuracy (all features of the answer right) on unseen combinations of rules, at the end of training, against"


def _varying(by: str, values: Values, paper: str = "the paper's text does not list its own") -> dict:
    return _SHARED | {
        "plan": partial(plan, numbers=FEWER, by=by, values=values),
        "seeds": FEW_SEEDS,
        "plot": partial(accuracy, by=by),
        "summary": partial(summary, by=by),
        "notes": partial(_notes, by=by, values=values, paper=paper),
        "origin": origin("sraven", ("steps", by.replace("_", " "))),
    }


ENTRIES = (
    Entry(
        "hypernetwork/fig4a",
        "4.4",
        "SRAVEN by number of training problems",
        f"{_SHOWN} the number of problems trained on, at the paper's smallest width; dotted: on seen combinations",
        _SAYS.format("problems", " (25 to 40 million)"),
        plan=plan,
        plot=partial(accuracy, by="problems"),
        summary=_summary_by_problems,
        notes=lambda scale: [
            f"{_problems(plan(scale, 1), ', ')} problems ({_MARKS}), one width and depth (paper three of each)"
        ],
        seeds=SEEDS,
        claims=FIG4A,
        origin=origin("sraven", ("steps",)),
        minutes={"smoke": 1, "laptop": 80, "overnight": 330, "paper": 900},
        **_SHARED,
    ),
    Entry(
        "hypernetwork/fig4b",
        "4.4",
        "SRAVEN by number of layers",
        f"{_SHOWN} the number of layers; dotted: on seen combinations",
        _SAYS.format("layers", " (up to 16)"),
        claims=(FIG4B,),
        minutes={"smoke": 0.5, "laptop": 19, "overnight": 80, "paper": 6_300},
        **_varying("layers", LAYERS)
        | {
            "plan": by_layers,
            "notes": lambda scale: [
                *_notes_by_layers(scale),
                "drawn against layers, one panel a number of problems; the paper has a panel for each depth",
            ],
        },
    ),
    Entry(
        "hypernetwork/figA4",
        "4.4",
        "SRAVEN: training loss by number of problems and of layers",
        "Training loss (cross-entropy) at the end of training, against the number of problems trained on and against"
        " the number of layers",
        "no numbers; drawn for the sizes of Figure 4",
        plan=_all_sizes,
        plot=fig_a4,
        summary=_losses_summary,
        notes=_loss_notes,
        seeds=FEW_SEEDS,
        origin=origin("sraven", ("steps", "layers")),
        minutes={"smoke": 1, "laptop": 38, "overnight": 190, "paper": 6_600},
        **_SHARED,
    ),
    Entry(
        "hypernetwork/fig5c",
        "4.4",
        "SRAVEN by number of heads",
        f"{_SHOWN} the number of attention heads, which is the size of the latent code; their total width is the same",
        "a single head, which leaves one value network to rescale, is noticeably worse",
        minutes={"smoke": 0.5, "laptop": 15, "overnight": 40, "paper": 1_500},
        claims=(FIG5C,),
        **_varying("heads", HEADS),
    ),
    Entry(
        "hypernetwork/fig5d",
        "4.4",
        "SRAVEN by number of features",
        f"{_SHOWN} the number of features a panel",
        "difficulty can be controlled by the number of features",
        minutes={"smoke": 0.5, "laptop": 14, "overnight": 50, "paper": 700},
        claims=(FIG5D,),
        **_varying("features", FEATURES),
    ),
    Entry(
        "hypernetwork/figA5",
        "4.4",
        "SRAVEN by share of the combinations held out",
        f"{_SHOWN} the share of all combinations of rules that is held out from training",
        "accuracy falls with the share that is held out",
        minutes={"smoke": 0.5, "laptop": 16, "overnight": 40, "paper": 1_500},
        claims=(FIGA5,),
        **_varying("held_out", HELD_OUT, "paper 10, 30, 50, 70, 90"),
    ),
)
