"""What the hypernetwork paper claims of SRAVEN by the problems of training, and of its codes (Figs. 4A, 5E, 5F).

Scores are in percent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.hypernetwork.claims import (
    FOUR_FEATURES,
    FOUR_FEATURES_HOURS,
    all_solve_seen,
    chosen,
    decodable,
    hyla_before,
    paired,
    solves_seen,
    two_features,
)
from lab.papers.runs import per_seed

if TYPE_CHECKING:
    import pandas as pd


def _later_layers(table: pd.DataFrame) -> Verdict:
    """Last layer minus second, for every method. In the first, the query is the same in all problems, and so is its
    code unless softmax compares it with others: there is nothing that could be read from it."""
    scores, depths = per_seed(table, ["method", "layer"], "value"), sorted(table["layer"].unique())
    early, last = depths[1], depths[-1]
    return all_of(paired({m: scores[m, last] - scores[m, early] for m in table["method"].unique()}, above=0.0))


def _all_reach_80(table: pd.DataFrame) -> Verdict:
    best = chosen(table)
    scores = per_seed(best[best["problems"] == best["problems"].max()], "method", "accuracy_ood")
    return all_of(paired({method: scores[method] for method in scores}, unit="%", above=80.0))


def _hyla_with_little_data(table: pd.DataFrame) -> Verdict:
    best = chosen(table)
    return hyla_before(per_seed(best[best["problems"] == best["problems"].min()], "method", "accuracy_ood"))


def _sum_and_difference(table: pd.DataFrame) -> Verdict:
    """HYLA: the share of all other pairs of rules that are less alike than addition and subtraction (half of them,
    were the pair like any other). By rank, because similarities of other pairs differ by much."""
    rows = table[(table["method"] == "hyla") & (table["a"] < table["b"])]
    pair = rows[["a", "b"]].isin(("addition", "subtraction")).all(axis=1)
    shares = []
    for _, part in rows.groupby("seed"):
        known = part.loc[pair, "similarity"].dropna()
        others = part.loc[~pair, "similarity"].dropna()
        if len(known) and len(others):
            shares.append(100 * float((others < known.iloc[0]).mean()))
    return Verdict(estimates.mean(shares, covers="seeds (splits)").cut(0, 100), above=50.0, unit="%")


MORE_SEEDS, MORE_SEEDS_HOURS = "9 seeds more of each method, with 5 million problems: 27 runs of 57 minutes", 13.0
FIG4A = (
    Claim(
        "all-solve",
        "Given sufficient data, all solve 80 % of unseen combinations",
        _all_reach_80,
        all_solve_seen,
        FOUR_FEATURES,
        FOUR_FEATURES_HOURS,
        stands_in=two_features,
    ),
    Claim(
        "few-problems",
        "Trained on fewer problems, HYLA outperforms linear and softmax attention",
        _hyla_with_little_data,
        solves_seen,
        FOUR_FEATURES,
        FOUR_FEATURES_HOURS,
        stands_in=two_features,
    ),
)
FIG5E = (
    Claim(
        "related",
        "HYLA's codes of addition and subtraction are more alike than those of other pairs",
        _sum_and_difference,
        decides=FOUR_FEATURES,
        hours=FOUR_FEATURES_HOURS,
        stands_in=two_features,
    ),
)
FIG5F = (
    Claim(
        "decodable",
        "The rule can be decoded from codes of unseen combinations (above any constant answer)",
        decodable,
        decides=MORE_SEEDS,
        hours=MORE_SEEDS_HOURS,
        stands_in=two_features,
    ),
    Claim(
        "later",
        "The last layer tells more of the rule than the second",
        _later_layers,
        decides=MORE_SEEDS,
        hours=MORE_SEEDS_HOURS,
        stands_in=two_features,
    ),
)
