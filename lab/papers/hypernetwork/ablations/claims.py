"""What the hypernetwork paper claims of its ablations (Table A1). Scores are in percent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.hypernetwork.ablations.settings import LENGTH
from lab.papers.hypernetwork.claims import chosen, paired
from lab.papers.runs import per_seed

if TYPE_CHECKING:
    import pandas as pd

TABLE_A1 = 32  # tokens


def of_table_a1(table: pd.DataFrame, scale: str) -> str:
    """Fuzzy logic at the length of Table A1."""
    return "" if LENGTH[scale] == TABLE_A1 else f"{LENGTH[scale]} tokens in place of Table A1's {TABLE_A1}"


def _gains(*pairs: tuple[str, str]) -> Callable[[pd.DataFrame], Verdict]:
    """By how much the score of the first method of each pair is above that of the second, on every task."""

    def measure(table: pd.DataFrame) -> Verdict:
        scores = per_seed(chosen(table), ["task", "method"], "value")
        cases = {
            f"{more} on {task}": scores[task, more] - scores[task, less]
            for task in table["task"].unique()
            for more, less in pairs
        }
        return all_of(paired(cases, above=0.0))

    return measure


def printed_ablations(table: pd.DataFrame) -> pd.DataFrame:
    """Table A1: task, method, ours, theirs, in percent; no row where every run diverged."""
    from lab.papers.hypernetwork.printed import means

    rows = means(table)[["task", "method", "mean", "paper"]].rename(columns={"mean": "ours", "paper": "theirs"})
    return rows[rows["ours"].notna()]


_A1 = "the ablations at 32 tokens, 30 runs"
TABLEA1 = (
    Claim(
        "parts",
        "RMSHead, and HYLA without nonlinearity, by themselves each boost linear attention",
        _gains(("linear_rms_head", "linear"), ("hyla_linear", "linear")),
        decides=_A1,
        hours=1.4,
        stands_in=of_table_a1,
    ),
    Claim(
        "softmax",
        "With softmax in place of RMSHead, HYLA performs poorly",
        _gains(("hyla", "hyla_softmax")),
        decides=_A1,
        hours=1.4,
        stands_in=of_table_a1,
    ),
    Claim(
        "experts",
        "Mixtures of experts give moderate general improvements",
        _gains(*((f"{method}_experts", method) for method in ("softmax", "linear", "hyla"))),
        decides=_A1,
        hours=1.4,
        stands_in=of_table_a1,
    ),
)
