"""What the hypernetwork paper claims of SRAVEN by the number of layers (Fig. 4B). Scores are in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict
from lab.papers.hypernetwork.claims import (
    FOUR_FEATURES,
    FOUR_FEATURES_HOURS,
    chosen,
    hyla_before,
    solves_seen,
    two_features,
)
from lab.papers.runs import per_seed

if TYPE_CHECKING:
    import pandas as pd


def _hyla_when_shallow(table: pd.DataFrame) -> Verdict:
    """With the fewest layers and problems."""
    best = chosen(table)
    least = (best["layers"] == best["layers"].min()) & (best["problems"] == best["problems"].min())
    return hyla_before(per_seed(best[least], "method", "accuracy_ood"))


FIG4B = (
    Claim(
        "small",
        "For small models, HYLA outperforms linear and softmax attention",
        _hyla_when_shallow,
        solves_seen,
        FOUR_FEATURES,
        FOUR_FEATURES_HOURS,
        stands_in=two_features,
    ),
)
