"""What the hypernetwork paper claims of SRAVEN by the number of layers (Fig. 4B). Scores are in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict
from lab.papers.hypernetwork.claims import MORE_PROBLEMS, chosen, hyla_before, trained_enough
from lab.papers.runs import per_seed

if TYPE_CHECKING:
    import pandas as pd


def _hyla_when_shallow(table: pd.DataFrame) -> Verdict:
    """With the fewest layers and problems."""
    kept = chosen(table)
    least = (kept["layers"] == kept["layers"].min()) & (kept["problems"] == kept["problems"].min())
    return hyla_before(per_seed(kept[least], "method", "accuracy_ood"))


FIG4B = (
    Claim(
        "small",
        "For small models, HYLA outperforms linear and softmax attention",
        _hyla_when_shallow,
        trained_enough,
        MORE_PROBLEMS,
    ),
)
