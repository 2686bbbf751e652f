"""A function learned as HYLA's φ, in the place of ReLU, on fuzzy logic and SRAVEN.

The hypernetwork paper has ReLU there, and shows what a linear one loses. `laptop` is that paper's task and model with
fewer tokens and steps, so that a run takes seconds; `paper` has the paper's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pandas as pd

from lab.errors import listed
from lab.estimates import mean
from lab.models.hyper import method
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.entry import SILENT, Entry, Field, Origin, Planned
from lab.papers.hypernetwork import settings
from lab.papers.hypernetwork.settings import origin
from lab.papers.tables import POINTS, Labelled, learned_functions, of_one_search, per_run, per_seed
from lab.plots import go
from lab.plots.caption import effect, set_reading
from lab.plots.functions import by_method
from lab.plots.panels import above, grid, line, method_scores
from lab.plots.style import INK, SIZE, colour
from lab.run import Run
from lab.spec import Learned, RunSpec, SearchSpec, replace
from lab.statistics import LEVEL

RELU, LEARNED = "ReLU", "learned"
METHODS = {"softmax": "softmax", "linear φ": "hyla_linear", RELU: "hyla", LEARNED: "hyla"}
TITLES = {"logic": ("fuzzy logic", "R²", "r2"), "sraven": ("SRAVEN", "accuracy", "accuracy")}  # score; its name
CHANCE = {"logic": 0.0, "sraven": 100 / 8}  # percent: the mean as an answer; one of eight values
SPLITS = {"test": "seen", "ood": "unseen"}  # combinations of terms, or of rules
MODELS = {"smoke": 2, "laptop": 3, "paper": 8}  # M of Algorithm 1
KNOTS, REACH = 241, 12.0  # on SRAVEN a tenth of the inputs is beyond 6
RATE = 0.001  # of the knots: of .0003 to .01 the best on `val`, over both tasks (docs/log.md)


def base(task: str, scale: str, name: str = "hyla") -> RunSpec:
    """A run on "logic" or "sraven" with a method of `lab.models.hyper`.

    >>> base("logic", "laptop").model.phi, base("logic", "laptop").task.length
    ('relu', 16)
    """
    size: dict[str, Any]
    recipe: dict[str, Any]
    if task == "logic":
        setting = settings.logic(scale, name, length=32 if scale == "paper" else 16)
        size, recipe = {"width": 64, "mlp_width": 128}, {"steps": 3_000, "batch": 64, "every": 500}
    else:
        setting = settings.sraven(scale, name, features=4 if scale == "paper" else 1)
        size = {"layers": 2, "heads": 8, "width": 64, "key_width": 32, "mlp_width": 128}
        recipe = {"steps": 1_000, "batch": 64, "every": 250, "warmup": 100}
    if scale == "laptop":
        model = method(name, replace(setting.model, **size))
        setting = replace(setting, model=model, recipe=replace(setting.recipe, **recipe))
    return RunSpec(setting.task, setting.model, setting.recipe, 0, tuple(SPLITS))


def search_phi(run: RunSpec, scale: str) -> SearchSpec:
    """The search for φ in the models of a run with HYLA, with that run's recipe. It starts at ReLU, HYLA's own."""
    knots: dict[str, Any] = {"low": -REACH, "high": REACH, "knots": KNOTS, "spline_rate": RATE, "start": "relu"}
    return SearchSpec(run.task, run.model, run.recipe, ("phi",), MODELS[scale], **knots)


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each task with each method; the learned φ is of that task."""
    runs = []
    for task in TITLES:
        for label, name in METHODS.items():
            run = base(task, scale, name)
            if label == LEARNED:
                run = replace(run, model=replace(run.model, phi=Learned(search_phi(run, scale), "phi")))
            runs += [({"task": task, "method": label}, replace(run, seed=seed)) for seed in range(seeds)]
    return runs


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a run, at its end: task, method, seed, loss (in training), score_test and score_ood (R² of fuzzy logic,
    accuracy of SRAVEN, 0 to 1: on what it trained on, and on unseen combinations), diverged."""

    def ends(run: Run) -> dict:
        score = TITLES[run.spec.task_name][2]
        scores = {f"score_{split}": float(run.score(score, split)[-1]) for split in SPLITS}
        return {"loss": float(run.loss[-1])} | scores

    return per_run(runs, ends)


def functions(runs: Labelled) -> pd.DataFrame:
    """The learned φ: task, method, x, value."""
    return learned_functions(runs, ("task", "method"), "phi")


def differences(table: pd.DataFrame, split: str) -> dict[str, Verdict]:
    """By task: the score on a split with the learned φ minus that with ReLU, of the same seed, which decides what is
    held out. Not measured where ReLU learns nothing."""
    means, verdicts = per_seed(table, ["task", "method"], f"score_{split}"), {}
    for task in dict.fromkeys(table["task"]):
        gain = mean(means[task][LEARNED] - means[task][RELU], covers="seeds, of one search")
        learned = mean(means[task][RELU] - CHANCE[task]).interval(LEVEL)[0] > 0
        reason = "" if learned else f"on {TITLES[task][0]}, HYLA with {RELU} is not above chance"
        verdicts[task] = Verdict(gain, above=0.0, unit=POINTS, case=task, reason=reason)
    return verdicts


def summary(table: pd.DataFrame) -> str:
    """By task, on seen combinations and on unseen ones."""
    cases = {
        f"{TITLES[task][0]}, {words}": verdict
        for split, words in SPLITS.items()
        for task, verdict in differences(table, split).items()
    }
    known = [f"{case} {effect(one.estimate, ends=False)}" for case, one in cases.items() if not one.reason]
    idle = [case for case, one in cases.items() if one.reason]
    unknown = f"; {', '.join(idle)}: not above chance" if idle else ""
    surely = any(not one.reason and one.estimate.interval(LEVEL)[0] > 0 for one in cases.values())
    first = "" if surely or not known else f" is not surely better than {RELU}"
    gains = f"A learned φ{first}; points above {RELU}, within seeds: {'; '.join(known) or 'none'}{unknown}."
    means = per_seed(table, ["task", "method"], "score_test")
    most = [
        f"{TITLES[task][0]} {effect(mean(means[task]['softmax'] - means[task][RELU]), ends=False)}"
        for task in dict.fromkeys(table["task"])
        if {(task, "softmax"), (task, RELU)} <= set(means)
    ]
    return f"{gains}{f' Softmax attention, seen: {listed(most)}.' * bool(most)}"


def _notes(scale: str) -> list[str]:
    one_rule = [] if scale == "paper" else ["SRAVEN has one feature here: what is unseen of it are rules, two of eight"]
    return one_rule + [
        "which functions or rules are held out differs from run to run, and the search's models have others than those"
        " that are trained with what it finds: a φ has seen combinations that a run holds out"
    ]


CLAIMS = (
    Claim(
        "every",
        "A learned φ improves HYLA over ReLU, on fuzzy logic and on SRAVEN",
        lambda table: all_of(differences(table, "test").values()),
        decides="30 seeds, and three searches a task, which find functions other than ReLU",
        hours=1.0,
    ),
)


def plot(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a task: the score on seen and on unseen combinations, and the learned φ less ReLU.

    table: task, method, seed, score_test, score_ood (0 to 1), diverged. functions: task, method, x, value.
    """
    tasks, last = list(dict.fromkeys(table["task"])), len(SPLITS) + 1
    titles = [f"{TITLES[task][0]}, {words}" for task in tasks for words in (*SPLITS.values(), f"φ − {RELU}")]
    figure = grid(titles, last, height=150, gap=60, top=64, horizontal=44)
    for row, task in enumerate(tasks, 1):
        for column, split in enumerate(SPLITS, 1):
            method_scores(figure, table[table["task"] == task], list(METHODS), f"score_{split}", (row, column))
            chance = {"name": "chance", "legendgroup": "chance", "showlegend": (row, column) == (1, 1)}
            ends = [-0.6, len(METHODS) - 0.4]
            line(figure, ends, [CHANCE[task]] * 2, INK, (row, column), 1, "dot", hoverinfo="skip", **chance)
            figure.update_xaxes(showticklabels=False, ticks="", showgrid=False, row=row, col=column)
            if differences(table, split)[task].reason:
                above(figure, "not above chance", row, column, side="right", size=SIZE - 2)
        figure.update_yaxes(title_text=f"{TITLES[task][1]} (%)", row=row, col=1)
        curve = functions[functions["task"] == task]
        by_method(figure, curve.assign(value=curve["value"] - curve["x"].clip(lower=0)), (row, last))
        relu: dict[str, Any] = {"name": f"{RELU}, the start", "showlegend": row == 1, "hoverinfo": "skip"}
        line(figure, [-REACH, REACH], [0, 0], colour(RELU), (row, last), 1.5, "dash", **relu)
    figure.update_xaxes(title_text="input x", row=len(tasks), col=last)
    set_reading(
        figure,
        "Seen: combinations of terms, or of rules, that were trained. Large marks are means over seeds, small ones"
        " runs.",
        of_one_search(table),
        f"Right: the learned φ less {RELU}. Chance: the mean as an answer (R² 0); one of eight values.",
    )
    return figure


_SIZE = {"logic": {"tokens": "task.length"}, "sraven": {"features": "task.features"}}
_NUMBERS = ("layers", "heads", "width", "key width", "MLP width", "steps", "batch")


def _facts(scale: str) -> Iterator[Field | str]:
    for task, size in _SIZE.items():
        ours, theirs = base(task, scale), base(task, "paper")
        places = size | {name: settings.PLACES[name] for name in _NUMBERS} | {"peak rate": "recipe.rate"}
        for name, where in places.items():
            source = "hypernetwork paper, Table A3"
            yield Field(name, attrgetter(where)(ours), attrgetter(where)(theirs), source, task=task)
    for name, value in (("M", MODELS[scale]), ("knots", KNOTS), ("peak rate of the knots", RATE)):
        yield Field(name, value, SILENT, "guess")


ENTRIES = (
    Entry(
        "crossing/hyla_phi",
        "beyond Section 2.3 of the hypernetwork paper",
        "HYLA's φ, learned",
        "How well HYLA answers with a φ that was learned by two losses (transformers paper, Algorithm 1), with ReLU,"
        " with a linear φ, and softmax attention without one, on fuzzy logic (R²) and SRAVEN (accuracy)",
        "none has it; the hypernetwork paper has HYLA above softmax attention",
        tasks=tuple(TITLES),
        plan=plan,
        measure=measure,
        functions=functions,
        plot=plot,
        summary=summary,
        claims=CLAIMS,
        origin=Origin(
            lambda scale: [source for task in TITLES for source in origin(task).data(scale)],
            _facts,
            (
                "the rate of the knots, tuned on val, and where they are; the search starts at ReLU, HYLA's own"
                " function",
                "one learning rate for all methods",
            ),
        ),
        notes=_notes,
        seeds={"smoke": 2, "laptop": 8, "paper": 6},
        minutes={"smoke": 0.5, "laptop": 12, "paper": 900},
        place=("fig", "", 3, ""),
    ),
)
