"""What the hypernetwork paper claims of SRAVEN by heads, features and the share held out (Figs. 5C, 5D, A5).

Scores are in percent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.claims import Claim, Verdict
from lab.papers.hypernetwork.claims import chosen, solves_seen, two_features
from lab.papers.runs import POINTS, per_seed

if TYPE_CHECKING:
    import pandas as pd

_MORE = "{}, with 5 million problems: 2 seeds of each method, 6 runs of 57 minutes"


def _rises_along(by: str, sign: float = 1.0) -> Callable[[pd.DataFrame], Verdict]:
    """Accuracy on unseen combinations at the largest value of `by` minus that at the smallest, over methods: each is
    the mean of its seeds, and runs of two methods share nothing but the split."""

    def measure(table: pd.DataFrame) -> Verdict:
        best = chosen(table)
        best = best[best["problems"] == best["problems"].max()]
        scores = per_seed(best, ["method", by], "accuracy_ood").mean()
        least, most = best[by].min(), best[by].max()
        gaps = [sign * (scores[m, most] - scores[m, least]) for m in best["method"].unique()]
        splits = best["seed"].nunique()
        covers = "methods and their noise, of one split" if splits == 1 else f"methods and their noise, {splits} splits"
        return Verdict(estimates.mean(gaps, "methods", covers), above=0.0, unit=POINTS)

    return measure


FIG5C = (
    Claim(
        "one-head",
        "With a single head, performance decreases noticeably, over attentions",
        _rises_along("heads"),
        solves_seen,
        _MORE.format("one head"),
        2.9,
        stands_in=two_features,
    ),
)
FIG5D = (
    Claim(
        "features",
        "The difficulty is controlled by the number of features, over attentions",
        _rises_along("features", -1.0),
        solves_seen,
        _MORE.format("K = 3"),
        2.9,
    ),
)
FIGA5 = (
    Claim(
        "held-out",
        "Accuracy falls with the share of combinations held out, over attentions",
        _rises_along("held_out", -1.0),
        solves_seen,
        _MORE.format(".75 held out"),
        2.9,
        stands_in=two_features,
    ),
)
