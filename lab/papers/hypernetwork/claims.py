"""What the hypernetwork paper claims: what the claims of its sections share. Scores are in percent.

A seed is a split into functions or rules that are seen and that are not: runs of one seed make a pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.claims import Verdict, all_of
from lab.papers.runs import POINTS, per_seed

if TYPE_CHECKING:
    import pandas as pd

SOLVED = 50.0  # % of the seen combinations: models that answer fewer have not learned the task
# What would decide open claims, and hours of two cores:
FOUR_FEATURES = "SRAVEN with K = 4, which trains on 248 combinations where K = 2 has 27; 10 million problems, 3 seeds"
FOUR_FEATURES_HOURS = 26.0
OVERNIGHT = "fuzzy logic at scale overnight, .7 held out: 9 runs"
OVERNIGHT_HOURS = 1.2
LONGER = "fuzzy logic with the paper's 50,000 steps: 9 runs of 50 minutes"
LONGER_HOURS = 3.8


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of the runs that were chosen on `val`."""
    return table[table["chosen"].astype(bool)]


def solves_seen(table: pd.DataFrame, scale: str) -> str:
    """Some method, with the fewest problems that the table has, solves what it has seen: else there is nothing that
    could be lost on the way to unseen ones."""
    best = chosen(table)
    fewest = best["problems"].min()
    share = 100 * float(best[best["problems"] == fewest].groupby("method")["accuracy_test"].mean().max())
    return "" if share >= SOLVED else f"with {fewest:,} problems at most {share:.0f} % of seen combinations are solved"


def all_solve_seen(table: pd.DataFrame, scale: str) -> str:
    """Every method, with the most problems, solves what it has seen: else it has not had sufficient data."""
    best = chosen(table)
    shares = 100 * best[best["problems"] == best["problems"].max()].groupby("method")["accuracy_test"].mean()
    return "" if shares.min() >= SOLVED else f"{shares.idxmin()} solves {shares.min():.0f} % of seen combinations"


def two_features(table: pd.DataFrame, scale: str) -> str:
    """Below scale paper, SRAVEN has two features a panel (`lab.papers.hypernetwork.settings`)."""
    return "" if scale == "paper" else "SRAVEN with K = 2 in place of K = 4"


def paired(
    cases: dict[str, Iterable[float]], unit: str = POINTS, covers: str = "seeds (splits)", **claimed
) -> list[Verdict]:
    """A verdict for each case, of differences by seed; their variance is pooled over the cases."""
    means = estimates.pooled_means(cases, covers)
    return [Verdict(estimate, unit=unit, case=case, **claimed) for case, estimate in means.items()]


def hyla_before(means: pd.DataFrame) -> Verdict:
    """HYLA minus each other method (columns)."""
    rivals = [method for method in means if method != "hyla"]
    return all_of(paired({f"against {rival}": means["hyla"] - means[rival] for rival in rivals}, above=0.0))


def decodable(table: pd.DataFrame) -> Verdict:
    """In the last layer, the score above that of shuffled labels and of the best constant answer (yes to every term, or
    the most frequent rule), for every method: what a run's decoder has to beat is the higher of the two."""
    last = table[table["layer"] == table["layer"].max()]
    trivial = last[["shuffled", "chance"]].groupby([last["method"], last["seed"]]).transform("mean").max(axis=1)
    scores = per_seed(last.assign(above=last["value"] - trivial), "method", "above")
    return all_of(paired({method: scores[method] for method in scores}, above=0.0))
