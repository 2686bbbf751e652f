"""What the transformers paper claims of its figures, measured in their tables: percentage points, or ×."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.claims import Claim, Verdict, all_of, any_of, mean, per_seed, speed_up, steadier
from lab.papers.transformers.compatibility import matrix
from lab.papers.transformers.settings import BASELINE, BOTH, MLP, TRAINED_TO

if TYPE_CHECKING:
    import pandas as pd

POINTS = "points"


def _faster_on_add_and_mano(table: pd.DataFrame) -> Verdict:
    """At least twice, on both."""
    found = []
    for task in ("add", "mano"):
        rows = table[table["task"] == task]
        pair = (rows[rows["method"] == method] for method in (BASELINE, MLP))
        found.append(speed_up(*pair, above=2.0, case=task))
    return all_of(found)


def _faster_everywhere(table: pd.DataFrame) -> Verdict:
    """Mean accuracy over training, ours minus baseline, on every task."""
    means = per_seed(table, ["task", "method"])
    tasks = table["task"].unique()
    return all_of(mean(means[task, MLP] - means[task, BASELINE], above=0.0, unit=POINTS, case=task) for task in tasks)


def _steadier(table: pd.DataFrame) -> Verdict:
    """Standard deviation over seeds of the mean accuracy over training, baseline over ours."""
    means = per_seed(table, ["task", "method"])
    return steadier({task: (means[task, BASELINE], means[task, MLP]) for task in table["task"].unique()})


def _mlp_gains_most(table: pd.DataFrame) -> Verdict:
    """The MLP's function gains, and gains more than learning the attention, too, adds to it; over tasks."""
    means = per_seed(table, ["task", "method"]).mean().unstack()
    gain, both = means[MLP] - means[BASELINE], means[BOTH] - means[BASELINE]
    return all_of(
        [mean(gain, "tasks", above=0.0, unit=POINTS, case="gain"),
         mean(gain - (both - gain), "tasks", above=0.0, unit=POINTS, case="more than attention adds")]
    )  # fmt: skip


def _beyond(table: pd.DataFrame) -> pd.DataFrame:
    """COPY: accuracy on lengths that no weights were trained on, seeds × methods."""
    return per_seed(table[table["length"] > TRAINED_TO], "method")


def _absolute_fails(table: pd.DataFrame) -> Verdict:
    return mean(_beyond(table)["absolute positions"], below=5.0, unit="%")


def _alibi_helps(table: pd.DataFrame) -> Verdict:
    means = _beyond(table)
    return mean(means["ALiBi"] - means["absolute positions"], above=0.0, unit=POINTS)


def _learned_extends(table: pd.DataFrame) -> Verdict:
    means = _beyond(table)
    return mean(means["ALiBi + ours MLP"] - means["ALiBi"], above=0.0, unit=POINTS)


def _keeps_at_small_widths(table: pd.DataFrame) -> Verdict:
    """Ours minus baseline, mean over the widths below a task's full one; on one task at least."""
    cases = {}
    for task, rows in table.groupby("task", sort=False):
        small = per_seed(rows[rows["width"] < rows["width"].max()], "method")
        if len(small):
            cases[task] = small[MLP] - small[BASELINE]
    return any_of(cases, above=0.0, unit=POINTS)


def _own(cells: pd.DataFrame, part: str = "MLP") -> pd.DataFrame:
    """The matrix of a part: architectures × tasks."""
    return matrix.square(matrix.delta(cells[cells["part"] == part]))


def _best_on_diagonal(table: pd.DataFrame) -> Verdict:
    """Share of the tasks whose own function is best; chance is one in as many as there are functions."""
    from scipy.stats import binomtest

    square = _own(table)
    hits, tasks = len(matrix.best(square) & {(task, task) for task in square}), len(square.columns)
    low, high = binomtest(hits, tasks).proportion_ci()  # exact (Clopper and Pearson); tasks taken as independent
    numbers = (100 * value for value in (hits / tasks, low, high))
    return Verdict(*numbers, tasks, "tasks", above=100 / len(square), unit="%")


def _own_before_others(table: pd.DataFrame) -> Verdict:
    """What the function learned for a task gains there, minus the mean of what the others gain; over tasks."""
    square = _own(table)
    others = [square[task].drop(task).mean() for task in square]
    return mean(np.diag(square) - np.array(others), "tasks", above=0.0, unit=POINTS)


def _transfer(table: pd.DataFrame) -> Verdict:
    """The gain on one task at least of a function learned for another."""
    means = per_seed(table[table["part"] == "MLP"], ["task", "architecture"])
    cases = {f"{source} on {task}": means[task, source] - means[task, BASELINE]
             for task, source in means.columns if source not in (task, BASELINE)}  # fmt: skip
    return any_of(cases, above=0.0, unit=POINTS)


def _mlp_alone_is_best(table: pd.DataFrame) -> Verdict:
    """On the diagonals: the gain with the MLP's function alone minus that with the others; over tasks."""
    gains = {part: np.diag(_own(table, part)) for part in table["part"].unique()}
    return all_of(
        mean(gains["MLP"] - gains[part], "tasks", above=0.0, unit=POINTS, case=f"against {part}")
        for part in gains
        if part != "MLP"
    )


def _variant_against(table: pd.DataFrame, ours: tuple[str, int], other: tuple[str, int], **claimed) -> Verdict:
    """Accuracy of one kind (method, degree) minus another's, over the tasks that have both."""
    means = per_seed(table, ["task", "method", "degree"])
    tasks = [task for task in table["task"].unique() if {(task, *ours), (task, *other)} <= set(means.columns)]
    return mean([(means[task, *ours] - means[task, *other]).mean() for task in tasks], "tasks", unit=POINTS, **claimed)


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


FIG2 = (
    Claim("Twice to three times faster on ADD and MANO (steps to 50 % accuracy)", _faster_on_add_and_mano),
    Claim("Less variance across seeds", _steadier),
)
FIG3 = (
    Claim("Absolute positions fail beyond length 10", _absolute_fails),
    Claim("ALiBi helps beyond length 10", _alibi_helps),
    Claim("The learned function extends it", _learned_extends),
)
FIG4 = (Claim("On some task, a learned function keeps more accuracy at smaller widths", _keeps_at_small_widths),)
FIG5 = (
    Claim("The best function of a task is its own, more often than by chance", _best_on_diagonal),
    Claim("A function gains more on its own task than others do", _own_before_others),
    Claim("Some function gains on another task", _transfer),
)
FIG10 = (
    Claim("Faster on every task (mean accuracy over training)", _faster_everywhere),
    Claim("Less variance across seeds", _steadier),
    Claim("Most of the gain comes from the MLP", _mlp_gains_most),
)
FIG11 = (Claim("Learning the MLP's function alone is best", _mlp_alone_is_best),)
FIG12 = (
    Claim("Symmetrized functions are worse", _symmetrized_is_worse),
    Claim("Polynomials of higher degree are better", _higher_degrees_are_better),
)
