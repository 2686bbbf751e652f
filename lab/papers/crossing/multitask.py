"""Is there one function for several algorithmic tasks? The transformers paper (Section 6) leaves it to future work.

Models are trained as in figures of that paper.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.entry import SILENT, Entry, Field, Origin, Planned
from lab.papers.tables import POINTS, Labelled, gains, learned_functions, of_one_search, per_seed
from lab.papers.transformers.matrix import NOT_LEARNED, learned_tasks
from lab.papers.transformers.rates import over_training
from lab.papers.transformers.settings import BASELINE, MLP, setting
from lab.papers.transformers.settings import origin as algorithmic
from lab.plots import go
from lab.plots.caption import effect, set_reading
from lab.plots.functions import by_method
from lab.plots.panels import grid, method_scores, place
from lab.plots.style import methods_of
from lab.spec import Learned, SearchSpec, SharedSearch, replace
from lab.tasks.named import task_title

ALL = "learned for all"
TASKS = {
    "smoke": ("memorize", "addmod"),
    "laptop": ("memorize", "addmod", "parentheses"),
    "paper": ("memorize", "addmod", "add", "addreversed", "haystack", "parentheses"),
}
STEPS = {"smoke": 6, "laptop": 600, "paper": 1_000}  # of the shared search, on all tasks at once
MODELS = {"smoke": 2, "laptop": 3, "paper": 8}  # M, for each task


def one_search(task: str, scale: str) -> SearchSpec:
    """A task's part of the shared search: its own search, with as many steps as the others."""
    base = setting(task, scale)
    recipe = replace(base.recipe, steps=STEPS[scale], stop=None)
    return replace(base.search(), recipe=recipe, models=MODELS[scale])


def shared(scale: str) -> SharedSearch:
    """The search for one function for all tasks of a scale.

    >>> shared("laptop").task_name, shared("laptop").models
    ('memorize, addmod, parentheses', 9)
    """
    return SharedSearch(tuple(one_search(task, scale) for task in TASKS[scale]))


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each task with the baseline, with its own function, and with the one for all."""
    pairs, together = [], Learned(shared(scale))
    for task in TASKS[scale]:
        base = setting(task, scale)
        methods = {BASELINE: base.runs(seeds), MLP: base.runs(seeds, base.search())}
        methods[ALL] = base.runs(seeds, mlp=together)
        for name, runs in methods.items():
            pairs += [({"task": task, "method": name, "read": base.read}, run) for run in runs]
    return pairs


def functions(runs: Labelled) -> pd.DataFrame:
    """The functions that were trained with: task, method, x, value."""
    return learned_functions(runs, ("task", "method"))


def differences(table: pd.DataFrame, first: str, second: str) -> dict[str, Verdict]:
    """By task: accuracy over training with the one function minus that with the other."""
    known, verdicts = learned_tasks(table), {}
    means = per_seed(table, ["task", "method"])
    for task in dict.fromkeys(table["task"]):
        verdicts[task] = absent(NOT_LEARNED, case=task)
        if task in known:
            (verdicts[task],) = gains(means[task], {task: (first, second)}, above=0.0, unit=POINTS)
    return verdicts


def summary(table: pd.DataFrame) -> str:
    alone, together = (differences(table, method, BASELINE) for method in (MLP, ALL))
    words = [f"{task_title(task)} {_written(together[task])} (its own {_written(alone[task])})" for task in alone]
    return (
        "Accuracy over training with one function for all, minus the baseline, in percentage points:"
        f" {'; '.join(words)}."
    )


def _written(verdict: Verdict) -> str:
    return "not learned" if verdict.reason else effect(verdict.estimate, ends=False)


CLAIMS = (
    Claim(
        "all",
        "One function learned for several tasks at once improves on the baseline on each of them",
        lambda table: all_of(differences(table, ALL, BASELINE).values()),
    ),
    Claim(
        "own",
        "A function learned for a task alone improves more than one learned for several",
        lambda table: all_of(differences(table, MLP, ALL).values()),
        decides="three searches of each kind, and 12 seeds with each function",
        hours=0.5,
    ),
)


def plot(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Above, one panel a task: accuracy over training with each function. Below: these functions.

    table: task, method, seed, accuracy (0 to 1), diverged. functions: task, method, x, value.
    """
    tasks, methods = list(dict.fromkeys(table["task"])), methods_of(table)
    titles = [task_title(task) for task in tasks]
    columns = min(3, len(tasks))
    rows = -(-len(tasks) // columns)
    blank = [""] * (rows * columns - len(tasks))
    below = [f"{title}: functions" for title in titles]
    figure = grid([*titles, *blank, *below], columns, height=150, gap=68, top=64, horizontal=52)
    reach = 1.05 * functions["x"].abs().where(functions["value"] != 0).max()
    for number, task in enumerate(tasks):
        row, column = place(number, columns)
        method_scores(figure, table[table["task"] == task], methods, "accuracy", (row, column))
        by_method(figure, functions[functions["task"] == task], (row + rows, column))
        figure.update_xaxes(title_text="input x", range=(-reach, reach), row=row + rows, col=column)
        if column == 1:
            figure.update_yaxes(title_text="accuracy (%)", row=row, col=1)
            figure.update_yaxes(title_text="φ(x)", row=row + rows, col=1)
    set_reading(
        figure,
        "Above: test accuracy, mean over training; large marks are means over seeds, small ones runs.",
        of_one_search(table),
        "Below: the functions that were learned; the one for all is the same in each panel.",
    )
    return figure


def _facts(scale: str) -> Iterator[Field | str]:
    yield from algorithmic(TASKS[scale], matrix=True).facts(scale)
    yield Field("steps of the shared search", STEPS[scale], SILENT, "guess")
    yield Field("models of each task in the shared search", MODELS[scale], SILENT, "guess")


ENTRIES = (
    Entry(
        "crossing/multitask",
        "beyond Section 6 of the transformers paper",
        "One function for several algorithmic tasks",
        "Test accuracy, mean over training, with GELU, with a function learned for each task, and with one function"
        " that was learned for all of these tasks at once",
        "no paper has it; the transformers paper leaves one architecture for several tasks to future work",
        tasks=tuple(dict.fromkeys(task for scale in TASKS for task in TASKS[scale])),
        plan=plan,
        measure=over_training,
        functions=functions,
        plot=plot,
        summary=summary,
        claims=CLAIMS,
        origin=Origin(
            lambda scale: algorithmic(TASKS[scale]).data(scale),
            _facts,
            (
                *algorithmic(TASKS["paper"]).guesses,
                "how long the shared search takes, and how many models of each task share the function",
                "the losses of all tasks count the same for the knots, in nats a predicted token",
            ),
        ),
        seeds={"smoke": 2, "laptop": 6, "paper": 6},
        minutes={"smoke": 0.5, "laptop": 15, "paper": 300},
        place=("fig", "", 2, ""),
    ),
)
