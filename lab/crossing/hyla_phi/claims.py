"""What is asked of a function learned as HYLA's φ. The hypernetwork paper has ReLU there, and shows what a linear one
loses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.crossing.hyla_phi.settings import LEARNED, RELU, TITLES
from lab.estimates import mean
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.runs import POINTS, per_seed
from lab.statistics import LEVEL

if TYPE_CHECKING:
    import pandas as pd

CHANCE = {"logic": 0.0, "sraven": 100 / 8}  # percent: the mean as an answer; one of eight values


def differences(table: pd.DataFrame, split: str, first: str = LEARNED, second: str = RELU) -> list[Verdict]:
    """By task: the score on a split with the one φ minus that with the other, of the same seed, which decides what is
    held out. Not measured where the second learns nothing."""
    means, verdicts = per_seed(table, ["task", "method"], f"score_{split}"), []
    for task in dict.fromkeys(table["task"]):
        gain = mean(means[task][first] - means[task][second], covers="seeds, of one search")
        learned = mean(means[task][second] - CHANCE[task]).interval(LEVEL)[0] > 0
        reason = "" if learned else f"on {TITLES[task][0]}, HYLA with {second} is not above chance"
        verdicts.append(Verdict(gain, above=0.0, unit=POINTS, case=task, reason=reason))
    return verdicts


def _helps(table: pd.DataFrame) -> Verdict:
    return all_of(differences(table, "test"))


LONGER = "3,000 steps of batch 64 on fuzzy logic: R² of one half with ReLU"
HYLA_PHI = (
    Claim(
        "every", "A learned φ improves HYLA over ReLU, on fuzzy logic and on SRAVEN", _helps, decides=LONGER, hours=0.3
    ),
)
