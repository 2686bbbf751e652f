"""Scores at the end of training, the best point of a grid, and claims that several sections make of them.

Tables have scores from 0 to 1, claims have them in percent. A seed is a split into functions or rules that are seen and
that are not: runs of one seed make a pair.
"""

import pandas as pd

from lab.papers.claims import Verdict, all_of
from lab.papers.hypernetwork.settings import POINT
from lab.papers.tables import Labelled, paired, per_run
from lab.run import Run

SOLVED = 50.0  # % of the seen combinations: models that answer fewer have not learned the task
# What else may differ between the runs of a table: a point of the grid is picked for each.
_KINDS = ("method", "length", "held_out", "varied", "problems", "layers", "heads", "features")


def finals(runs: Labelled, by: str = "") -> pd.DataFrame:
    """The last evaluation of each run, one row a run: its labels, seed, step, loss (in training, with dropout), every
    score by split, diverged, chosen (see `choose`). by: R² on `val` or, of SRAVEN, accuracy, if not given."""

    def last(run: Run) -> dict:
        scores = {name: float(values[-1]) for name, values in sorted(run.scores.items())}
        return {"step": int(run.steps[-1]), "loss": float(run.loss[-1])} | scores

    table = per_run(runs, last)
    return choose(table, by or ("r2_val" if "r2_val" in table else "accuracy_val"))


def choose(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """The table with a column `chosen`: whether a run has the point of the grid (`POINT`) whose mean of `by` over seeds
    is the highest, for its method and what else is varied. `by` is on `val`; a point of which a run diverged has none.

    >>> import pandas as pd
    >>> point = {"rate": [0.1, 0.1, 0.2, 0.2], "decay": 0.0, "warmup": 1}
    >>> table = pd.DataFrame({"method": "hyla", "seed": [0, 1, 0, 1], "accuracy_val": [0.5, 0.7, 0.9, 0.4], **point})
    >>> choose(table, "accuracy_val")["chosen"].tolist()
    [False, False, True, True]
    """
    kinds = [name for name in _KINDS if name in table]
    means = table.groupby([*kinds, *POINT], sort=False)[by].agg(lambda values: values.mean(skipna=False))
    best = means.fillna(float("-inf")).reset_index().sort_values(by, ascending=False, kind="stable")
    best = best.drop_duplicates(kinds)[[*kinds, *POINT]].assign(chosen=True)
    joined = table.merge(best, on=[*kinds, *POINT], how="left")
    return joined.assign(chosen=joined["chosen"].eq(True))


def best_runs(runs: Labelled) -> Labelled:
    """Of a grid of hyper-parameters, the runs at the point that is best on `val` for their method."""
    return [pair for pair, chosen in zip(runs, finals(runs)["chosen"], strict=True) if chosen]


def best(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the runs that were chosen on `val`."""
    return table[table["chosen"].astype(bool)]


def solves_seen(table: pd.DataFrame, scale: str) -> str:
    """Some method, with the fewest problems, solves what it has seen: else nothing can be lost on the way to unseen."""
    table = best(table)
    fewest = table["problems"].min()
    share = 100 * float(table[table["problems"] == fewest].groupby("method")["accuracy_test"].mean().max())
    return "" if share >= SOLVED else f"with {fewest:,} problems at most {share:.0f} % of seen combinations are solved"


def two_features(table: pd.DataFrame, scale: str) -> str:
    """Below scale paper, SRAVEN has two features a panel (`lab.papers.hypernetwork.settings`)."""
    return "" if scale == "paper" else "SRAVEN with K = 2 in place of K = 4"


def hyla_before(means: pd.DataFrame) -> Verdict:
    """HYLA minus each other method (columns)."""
    rivals = [method for method in means if method != "hyla"]
    return all_of(paired({f"against {rival}": means["hyla"] - means[rival] for rival in rivals}, above=0.0))
