"""What the transformers paper claims of its figures, measured in their tables: percentage points, or ×.

Functions come from one search a task: intervals over seeds are of models trained with it, not of other searches. What
is over tasks is over those that are learned (see `lab.papers.transformers.conditions`).
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.runs import POINTS, compare_one, gains, per_seed, speed_up
from lab.papers.transformers.compatibility import matrix
from lab.papers.transformers.conditions import NOT_LEARNED, copies, equal_rates, language, learned_tasks
from lab.papers.transformers.settings import BASELINE, BOTH, MLP, TRAINED_TO

if TYPE_CHECKING:
    import pandas as pd

    from lab.estimates import Estimate

CONVERGED = 0.9  # accuracy that counts as convergence; the paper names no number
PERFECT = 0.99  # accuracy from which on nothing is left to reach
RELATED = ("add", "addreversed")
_FOREIGN = ~np.eye(len(matrix.PAPER), dtype=bool)
MANY = 100 * float((matrix.PAPER.to_numpy()[_FOREIGN] < 0).mean())  # % of the paper's cells that count as many


def over_tasks(values: pd.Series) -> Estimate:
    """Mean over tasks, each by its runs."""
    return estimates.mean(values, "tasks", "tasks, of one search each")


def _faster(table: pd.DataFrame) -> Verdict:
    """At least twice, on both."""
    found = []
    for task in ("add", "mano"):
        rows = table[table["task"] == task]
        pair = (rows[rows["method"] == method] for method in (BASELINE, MLP))
        found.append(speed_up(*pair, level=CONVERGED, above=2.0, case=task))
    return all_of(found)


def _reaches_more(table: pd.DataFrame) -> Verdict:
    """Accuracy at the last step, ours minus baseline; on one task at least where the baseline's is not perfect."""
    last = table[table["step"] == table.groupby("task")["step"].transform("max")]
    baseline = last[last["method"] == BASELINE].groupby("task")["accuracy"].mean()
    return any_of(_by_task(last, [task for task in learned_tasks(table) if baseline[task] < PERFECT]))


def _faster_everywhere(table: pd.DataFrame) -> Verdict:
    """Mean accuracy over training, ours minus baseline, on every task."""
    learned = learned_tasks(table)
    dead = [absent(NOT_LEARNED, case=task) for task in table["task"].unique() if task not in learned]
    return all_of(_by_task(table, learned) + dead)


def _by_task(table: pd.DataFrame, tasks: list[str]) -> list[Verdict]:
    """Ours minus baseline in the mean of the rows of each task."""
    means = per_seed(table[table["task"].isin(tasks)], ["task", "method"])
    found = []
    for task in tasks:
        found += gains(means[task], {task: (MLP, BASELINE)}, above=0.0, unit=POINTS)
    return found


def _steadier(table: pd.DataFrame) -> Verdict:
    """Standard deviation over seeds of the mean accuracy over training, baseline over ours; over tasks."""
    spreads = per_seed(table, ["task", "method"]).std(ddof=1).unstack().loc[learned_tasks(table)]
    logs = [log(a / b) for a, b in zip(spreads[BASELINE], spreads[MLP], strict=True) if a > 0 and b > 0]
    return Verdict(over_tasks(logs).exp(), above=1.0, unit="×")


def _mlp_gains_most(table: pd.DataFrame) -> Verdict:
    """The MLP's function gains, and gains more than learning the attention, too, adds to it; over tasks."""
    means = per_seed(table, ["task", "method"]).mean().unstack().loc[learned_tasks(table)]
    gain, both = means[MLP] - means[BASELINE], means[BOTH] - means[BASELINE]
    cases = {"gain": gain, "more than attention adds": gain - (both - gain)}
    return all_of(Verdict(over_tasks(one), above=0.0, unit=POINTS, case=case) for case, one in cases.items())


def _beyond(table: pd.DataFrame, more: str, less: str) -> Verdict:
    """COPY: accuracy on lengths that no weights were trained on."""
    means = per_seed(table[table["length"] > TRAINED_TO], "method")
    return Verdict(compare_one(means, more, less), above=0.0, unit=POINTS)


def _keeps_at_small_widths(table: pd.DataFrame) -> Verdict:
    """Ours minus baseline, mean over the widths below a task's full one; on one task at least."""
    widest = table["width"] == table.groupby("task")["width"].transform("max")
    return any_of(_by_task(table[~widest], learned_tasks(table)))


def _own(table: pd.DataFrame, part: str = "MLP") -> pd.DataFrame:
    """The matrix of a part, of the tasks that are learned: the search of another one has found nothing."""
    learned = [task for task in matrix.PAPER if task in learned_tasks(table)]
    square = matrix.square(matrix.delta(table[table["part"] == part]))
    return square.reindex(index=learned, columns=learned)


def _best_on_diagonal(table: pd.DataFrame) -> Verdict:
    """Share of the tasks whose own function is best; chance is one in as many as there are functions."""
    square = _own(table)
    hits = len(matrix.best(square) & {(task, task) for task in square})
    share = estimates.proportion(hits, len(square.columns), "tasks").scaled(100)
    return Verdict(share, above=100 / max(len(square), 1), unit="%")


def _own_before_others(table: pd.DataFrame) -> Verdict:
    """What the function learned for a task gains there, minus the mean of what the others gain; over tasks."""
    square = _own(table)
    lead = [square.loc[task, task] - square[task].drop(task).mean() for task in square]
    return Verdict(over_tasks(lead), above=0.0, unit=POINTS)


def _transfer(table: pd.DataFrame, scale: str) -> Verdict:
    """The gain on one task at least of a function learned for another, at the rate of the baseline. The variance is
    pooled over the functions of a task."""
    means, found = per_seed(table[table["part"] == "MLP"], ["task", "architecture"]), []
    learned = learned_tasks(table)
    for task in equal_rates(learned, scale):
        others = [source for source in means[task] if source in learned and source != task]
        pairs = {f"{source} on {task}": (source, BASELINE) for source in others}
        found += gains(means[task], pairs, above=0.0, unit=POINTS)
    return any_of(found)


def _related_gain(table: pd.DataFrame) -> Verdict:
    """Of each of two related tasks, the gain of the other's function minus the mean of what all others' gain."""
    learned, found = learned_tasks(table), []
    if dead := [task for task in RELATED if task not in learned]:
        return all_of(absent(NOT_LEARNED, case=task) for task in dead)
    for one, other in (RELATED, RELATED[::-1]):
        cells = table[(table["part"] == "MLP") & (table["task"] == one)]
        means = per_seed(cells, "architecture")
        rest = means[[source for source in means if source in learned and source not in RELATED]]
        groups = {"other": means[other], "rest": rest.mean(axis=1)}
        found += gains(groups, {f"{other} on {one}": ("other", "rest")}, above=0.0, unit=POINTS)
    return all_of(found)


def _many_are_worse(table: pd.DataFrame, scale: str) -> Verdict:
    """Share of functions of other tasks with less accuracy than the baseline, at its rate; over functions and tasks."""
    square = _own(table)
    square = square[equal_rates(list(square), scale)]
    own = square.index.to_numpy()[:, None] == square.columns.to_numpy()
    worse = np.where(own | square.isna(), np.nan, 100.0 * (square < 0))
    found = estimates.crossed(worse, "tasks", "functions and tasks")
    return Verdict(found, above=MANY, unit="%")


def _mlp_alone_is_best(table: pd.DataFrame) -> Verdict:
    """On the diagonals: the gain with the MLP's function alone minus that with the others; over tasks."""
    own = {part: _own(table, part) for part in table["part"].unique()}
    diagonals = {part: np.array([square.loc[task, task] for task in square]) for part, square in own.items()}
    return all_of(
        Verdict(over_tasks(diagonals["MLP"] - diagonal), above=0.0, unit=POINTS, case=f"against {part}")
        for part, diagonal in diagonals.items()
        if part != "MLP"
    )


def _variant_against(table: pd.DataFrame, ours: tuple[str, int], other: tuple[str, int], **claimed) -> Verdict:
    """Accuracy of one kind (method, degree) minus another's, over the tasks that have both."""
    means = per_seed(table, ["task", "method", "degree"])
    tasks = [task for task in table["task"].unique() if {(task, *ours), (task, *other)} <= set(means.columns)]
    gaps = [means[task, *ours].mean() - means[task, *other].mean() for task in tasks]
    return Verdict(over_tasks(gaps), unit=POINTS, **claimed)


def _symmetrized_is_worse(table: pd.DataFrame) -> Verdict:
    return _variant_against(table, ("symmetrized", 0), (MLP, 0), below=0.0)


def _higher_degrees_are_better(table: pd.DataFrame) -> Verdict:
    """The highest degree up to the paper's 18 against the lowest."""
    degrees = sorted(table.loc[table["method"] == "polynomial", "degree"].unique())
    high = max(degree for degree in degrees if degree <= 18)
    return _variant_against(table, ("polynomial", high), ("polynomial", degrees[0]), above=0.0)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of the MLP's matrix beside those that the paper prints: architecture, task, ours, theirs, clear."""
    cells = matrix.beside(matrix.delta(table[table["part"] == "MLP"]))
    return cells.rename(columns={"delta": "ours", "paper": "theirs"}).assign(clear=matrix.clear(cells))


_TWO_MORE = "ADD and ADDREVERSED at width 64, batch 256, 3 searches each"
_ALL = "MANO, HAYSTACK and ADDREVERSED at the paper's scale, on a GPU"
FIG2 = (
    Claim(
        "faster",
        "For ADD and MANO, convergence (90 %) occurs 2-3 times faster",
        _faster,
        decides="ADD at width 64, batch 256, which converges; MANO at the paper's scale on a GPU",
        hours=2.0,
    ),
    Claim(
        "reaches-more",
        "Baselines do not reach perfect accuracy, optimized architectures do (on some task)",
        _reaches_more,
        decides="40 more seeds of ADDMOD with the baseline and with the function",
        hours=0.4,
    ),
)
FIG3 = (
    Claim(
        "alibi",
        "Alibi positional encodings help on lengths above 10",
        lambda table: _beyond(table, "ALiBi", "absolute positions"),
        copies,
        "COPY at the paper's scale, where ALiBi learns to copy",
        18.0,
    ),
    Claim(
        "extends",
        "Optimizing the Alibi architecture extends the benefits to longer sequences",
        lambda table: _beyond(table, "ALiBi + ours MLP", "ALiBi"),
        copies,
        "COPY at the paper's scale, where ALiBi learns to copy",
        18.0,
    ),
)
FIG4 = (
    Claim(
        "small-widths",
        "On some tasks, optimized architectures keep higher accuracy at smaller widths",
        _keeps_at_small_widths,
    ),
)
FIG5 = (
    Claim(
        "diagonal",
        "The best option per task is usually on the diagonal (more often than by chance)",
        _best_on_diagonal,
        decides=_TWO_MORE,
        hours=2.0,
    ),
    Claim(
        "own",
        "Optimized architectures are task-specific: they gain more on their own task than others",
        _own_before_others,
        decides=_TWO_MORE,
        hours=2.0,
    ),
    Claim(
        "transfer",
        "Some benefits transfer across tasks",
        _transfer,
        of_scale=True,
        decides="6 seeds more a cell of ADDMOD and PARENTHESES",
        hours=0.5,
    ),
    Claim(
        "related",
        "Benefits transfer mostly across closely related tasks like ADD and ADDREVERSED",
        _related_gain,
        decides="ADD and ADDREVERSED at width 64, batch 256",
        hours=2.0,
    ),
    Claim(
        "worse",
        "Many perform worse than a standard transformer (as many as in the paper's matrix)",
        _many_are_worse,
        of_scale=True,
        decides=_TWO_MORE,
        hours=2.0,
    ),
)
FIG10 = (
    Claim(
        "everywhere",
        "Optimized architectures always converge faster (mean accuracy over training)",
        _faster_everywhere,
        decides=_ALL,
    ),
    Claim("variance", "They show less variance across seeds, over tasks", _steadier, decides=_TWO_MORE, hours=2.0),
    Claim(
        "mlp",
        "Most of the benefits come from the MLP layers rather than the attention, over tasks",
        _mlp_gains_most,
        decides=_TWO_MORE,
        hours=2.0,
    ),
)
FIG11 = (
    Claim(
        "mlp-alone",
        "The best results are usually obtained by optimizing only the MLPs",
        _mlp_alone_is_best,
        decides=_TWO_MORE,
        hours=2.0,
    ),
)
_LANGUAGE = "functions of language models (TinyStories, FineWeb), for which there is no entry; a GPU"
FIG12 = (
    Claim(
        "symmetrized",
        "Symmetrized functions perform worse than the original ones",
        _symmetrized_is_worse,
        language,
        _LANGUAGE,
    ),
    Claim(
        "degree",
        "Polynomials are increasingly effective as the degree increases",
        _higher_degrees_are_better,
        language,
        _LANGUAGE,
    ),
)
