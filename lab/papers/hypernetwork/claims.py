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

LEAST_PROBLEMS = 25_000_000  # the least that the paper's Figure 4 trains on
# What would decide open claims:
MORE_PROBLEMS = "SRAVEN with K = 2 and 25 million problems, on a GPU"
LONGER = "fuzzy logic with the paper's 50,000 steps, on a GPU"


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of the runs that were chosen on `val`."""
    return table[table["chosen"].astype(bool)]


def trained_enough(table: pd.DataFrame, scale: str) -> str:
    """At least the fewest problems of the paper."""
    most = int(table["problems"].max())
    return "" if most >= LEAST_PROBLEMS else f"{most:,} problems, where the paper's figure begins at 25 million"


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
    """In the last layer, the score above that of shuffled labels, for every method."""
    last = table[table["layer"] == table["layer"].max()]
    scores = per_seed(last.assign(above=last["value"] - last["shuffled"]), "method", "above")
    return all_of(paired({method: scores[method] for method in scores}, above=0.0))
