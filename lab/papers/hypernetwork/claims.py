"""What the hypernetwork paper claims of its figures, measured in their tables. Scores are in percent.

A seed is a split into functions or rules that are seen and that are not: runs of one seed make a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.hypernetwork.ablations.settings import LENGTH
from lab.papers.hypernetwork.printed import AT, PAPER
from lab.papers.runs import POINTS, per_seed

if TYPE_CHECKING:
    import pandas as pd

LEAST_PROBLEMS = 25_000_000  # the least that the paper's Figure 4 trains on
HALF = 50.0  # % of seen combinations that count as solved
TABLE_A1 = 32  # tokens


def _chosen(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["chosen"].astype(bool)]


def trained_enough(table: pd.DataFrame, scale: str) -> str:
    """At least the fewest problems of the paper."""
    most = int(table["problems"].max())
    return "" if most >= LEAST_PROBLEMS else f"{most:,} problems, where the paper's figure begins at 25 million"


def solves_seen(table: pd.DataFrame, scale: str) -> str:
    """Some method solves what it has seen: else there is nothing that could be lost on the way to unseen ones."""
    best = 100 * float(_chosen(table).groupby("method")["accuracy_test"].mean().max())
    return "" if best >= HALF else f"at most {best:.0f} % of seen combinations are solved"


def of_table_a1(table: pd.DataFrame, scale: str) -> str:
    """Fuzzy logic at the length of Table A1."""

    return "" if LENGTH[scale] == TABLE_A1 else f"{LENGTH[scale]} tokens, where Table A1 has {TABLE_A1}"


def _paired(
    cases: dict[str, Iterable[float]], unit: str = POINTS, covers: str = "seeds (splits)", **claimed
) -> list[Verdict]:
    """A verdict for each case, of differences by seed; their variance is pooled over the cases."""
    found = estimates.pooled_means(cases, covers)
    return [Verdict(estimate, unit=unit, case=case, **claimed) for case, estimate in found.items()]


def _hyla_before(means: pd.DataFrame) -> Verdict:
    """HYLA minus each other method (columns)."""
    rivals = [method for method in means if method != "hyla"]
    return all_of(_paired({f"against {rival}": means["hyla"] - means[rival] for rival in rivals}, above=0.0))


def _lost_with_share(table: pd.DataFrame) -> pd.DataFrame:
    """What R² on unseen combinations loses from the least to the most held out, mean over lengths: seeds × methods."""
    kept = _chosen(table)
    ends = [kept[kept["held_out"] == end] for end in (kept["held_out"].min(), kept["held_out"].max())]
    least, most = (per_seed(rows, "method", "r2_paper_ood") for rows in ends)
    return least - most


def _hyla_degrades_least(table: pd.DataFrame) -> Verdict:
    return _hyla_before(-_lost_with_share(table))


def _all_degrade(table: pd.DataFrame) -> Verdict:
    lost = _lost_with_share(table)
    return all_of(_paired({method: lost[method] for method in lost}, above=0.0))


def _hyla_above_linear(table: pd.DataFrame) -> Verdict:
    """At the point of Table A1."""
    kept = _chosen(table)
    rows = kept[(kept["length"] == AT[0]) & (kept["held_out"] == AT[1])]
    if rows.empty:
        return absent(f"no runs with {AT[0]} tokens and {AT[1]:g} of the combinations held out")
    means = per_seed(rows, "method", "r2_paper_ood")
    gap = estimates.mean(means["hyla"] - means["linear"], covers="seeds (splits)")
    return Verdict(gap, above=0.0, unit=POINTS)


def _unseen_terms_fail(table: pd.DataFrame) -> Verdict:
    """R² on unseen terms is under half of that on trained functions, for every method."""
    kept = _chosen(table)
    unseen, seen = (per_seed(kept, "method", f"r2_paper_{split}") for split in ("unseen_terms", "test"))
    return all_of(_paired({method: unseen[method] - seen[method] / 2 for method in unseen}, below=0.0))


def _alike_on_seen(table: pd.DataFrame) -> Verdict:
    """The distance of the best from the worst method in R² (mean over lengths, most held out) on trained functions,
    less that on unseen combinations."""
    kept = _chosen(table)
    kept = kept[kept["held_out"] == kept["held_out"].max()]
    seen, unseen = (per_seed(kept, "method", f"r2_paper_{split}") for split in ("test", "ood"))
    gap = [np.ptp(side, axis=1) for side in (seen.to_numpy(float), unseen.to_numpy(float))]
    return Verdict(estimates.mean(gap[0] - gap[1], covers="seeds (splits)"), below=0.0, unit=POINTS)


def _decodable(table: pd.DataFrame) -> Verdict:
    """In the last layer, the score above that of shuffled labels, for every method."""
    last = table[table["layer"] == table["layer"].max()]
    scores = per_seed(last.assign(above=last["value"] - last["shuffled"]), "method", "above")
    return all_of(_paired({method: scores[method] for method in scores}, above=0.0))


def _later_layers(table: pd.DataFrame) -> Verdict:
    """Last layer minus first, for every method."""
    scores = per_seed(table, ["method", "layer"], "value")
    first, last = table["layer"].min(), table["layer"].max()
    return all_of(_paired({m: scores[m, last] - scores[m, first] for m in table["method"].unique()}, above=0.0))


def _all_reach_80(table: pd.DataFrame) -> Verdict:
    kept = _chosen(table)
    scores = per_seed(kept[kept["problems"] == kept["problems"].max()], "method", "accuracy_ood")
    return all_of(_paired({method: scores[method] for method in scores}, unit="%", above=80.0))


def _hyla_with_little_data(table: pd.DataFrame) -> Verdict:
    kept = _chosen(table)
    return _hyla_before(per_seed(kept[kept["problems"] == kept["problems"].min()], "method", "accuracy_ood"))


def _hyla_when_shallow(table: pd.DataFrame) -> Verdict:
    """With the fewest layers and problems."""
    kept = _chosen(table)
    least = (kept["layers"] == kept["layers"].min()) & (kept["problems"] == kept["problems"].min())
    return _hyla_before(per_seed(kept[least], "method", "accuracy_ood"))


def _rises_along(by: str, sign: float = 1.0) -> Callable[[pd.DataFrame], Verdict]:
    """Accuracy on unseen combinations at the largest value of `by` minus that at the smallest, over methods: each is
    the mean of its seeds, and runs of two methods share nothing but the split."""

    def measure(table: pd.DataFrame) -> Verdict:
        kept = _chosen(table)
        kept = kept[kept["problems"] == kept["problems"].max()]
        scores = per_seed(kept, ["method", by], "accuracy_ood").mean()
        least, most = kept[by].min(), kept[by].max()
        gaps = [sign * (scores[m, most] - scores[m, least]) for m in kept["method"].unique()]
        splits = kept["seed"].nunique()
        covers = "methods and their noise, of one split" if splits == 1 else f"methods and their noise, {splits} splits"
        return Verdict(estimates.mean(gaps, "methods", covers), above=0.0, unit=POINTS)

    return measure


def _gains(*pairs: tuple[str, str]) -> Callable[[pd.DataFrame], Verdict]:
    """By how much the score of the first method of each pair is above that of the second, on every task."""

    def measure(table: pd.DataFrame) -> Verdict:
        scores = per_seed(_chosen(table), ["task", "method"], "value")
        cases = {
            f"{more} on {task}": scores[task, more] - scores[task, less]
            for task in table["task"].unique()
            for more, less in pairs
        }
        return all_of(_paired(cases, above=0.0))

    return measure


def _sum_and_difference(table: pd.DataFrame) -> Verdict:
    """HYLA: the share of all other pairs of rules that are less alike than addition and subtraction (half of them,
    were the pair like any other). By rank, because similarities of other pairs differ by much."""
    rows = table[(table["method"] == "hyla") & (table["a"] < table["b"])]
    pair = rows[["a", "b"]].isin(("addition", "subtraction")).all(axis=1)
    shares = []
    for _, own in rows.groupby("seed"):
        known = own.loc[pair, "similarity"].dropna()
        others = own.loc[~pair, "similarity"].dropna()
        if len(known) and len(others):
            shares.append(100 * float((others < known.iloc[0]).mean()))
    return Verdict(estimates.mean(shares, covers="seeds (splits)"), above=50.0, unit="%")


def printed_scores(table: pd.DataFrame) -> pd.DataFrame:
    """R² in percent at the point of Figure 2C that Table A1 has: method, ours, theirs; no row where it is not here."""
    import pandas as pd

    kept = _chosen(table)
    rows = kept[(kept["length"] == AT[0]) & (kept["held_out"] == AT[1])]
    means = per_seed(rows, "method", "r2_paper_ood").mean() if len(rows) else {}
    told = [(method, means[method], PAPER[method][0]) for method in PAPER if method in means]
    return pd.DataFrame(told, columns=["method", "ours", "theirs"])


def printed_ablations(table: pd.DataFrame) -> pd.DataFrame:
    """Table A1: task, method, ours, theirs, in percent; no row where every run diverged."""
    from lab.papers.hypernetwork.printed import means

    rows = means(table)[["task", "method", "mean", "paper"]].rename(columns={"mean": "ours", "paper": "theirs"})
    return rows[rows["ours"].notna()]


_MORE_PROBLEMS = "SRAVEN with K = 2 and 20 million problems, on a GPU"
_LONGER = "fuzzy logic with the paper's 50,000 steps, on a GPU"
FIG2B = (
    Claim(
        "decodable",
        "It is possible to decode the terms underlying each function from the latent code",
        _decodable,
        decides=_LONGER,
    ),
)
FIG2C = (
    Claim(
        "hyla-least",
        "HYLA is less affected by this decline than softmax and linear attention",
        _hyla_degrades_least,
        decides=_LONGER,
    ),
    Claim(
        "decline",
        "With the share of held-out tasks, performance decreases for all models",
        _all_degrade,
        decides="3 seeds more of the least and the most held out, 36 runs",
        hours=1.0,
    ),
    Claim(
        "hyla-linear", "HYLA is above linear attention (32 tokens, .7 held out; printed 21 points)", _hyla_above_linear
    ),
)
FIGA3 = (
    Claim(
        "unseen-terms",
        "On unseen terms all methods fail (R² under half of that on trained functions)",
        _unseen_terms_fail,
    ),
    Claim(
        "seen", "In distribution the models differ less than on unseen combinations", _alike_on_seen, decides=_LONGER
    ),
)
FIG4A = (
    Claim(
        "all-solve",
        "Given sufficient data, all solve 80 % of unseen combinations",
        _all_reach_80,
        trained_enough,
        _MORE_PROBLEMS,
    ),
    Claim(
        "few-problems",
        "Trained on fewer problems, HYLA outperforms linear and softmax attention",
        _hyla_with_little_data,
        trained_enough,
        _MORE_PROBLEMS,
    ),
)
FIG4B = (
    Claim(
        "small",
        "For small models, HYLA outperforms linear and softmax attention",
        _hyla_when_shallow,
        trained_enough,
        _MORE_PROBLEMS,
    ),
)
FIG5C = (
    Claim(
        "one-head",
        "With a single head, performance decreases noticeably, over attentions",
        _rises_along("heads"),
        decides="seeds 1 and 2 with one head, 6 runs",
        hours=0.6,
    ),
)
FIG5D = (
    Claim(
        "features",
        "The difficulty is controlled by the number of features, over attentions",
        _rises_along("features", -1.0),
        decides="seeds 1 and 2 with 3 features, 6 runs",
        hours=0.65,
    ),
)
FIG5E = (
    Claim(
        "related",
        "HYLA's codes of addition and subtraction are more alike than those of other pairs",
        _sum_and_difference,
        decides="3 more seeds of HYLA",
        hours=0.6,
    ),
)
FIG5F = (
    Claim("decodable", "The rule can be decoded from the latent code of unseen combinations", _decodable),
    Claim("later", "The last layer tells more of the rule than the first", _later_layers),
)
FIGA5 = (
    Claim(
        "held-out",
        "Accuracy falls with the share of combinations held out, over attentions",
        _rises_along("held_out", -1.0),
        solves_seen,
        _MORE_PROBLEMS,
    ),
)
_A1 = "the ablations at 32 tokens, 30 runs"
TABLEA1 = (
    Claim(
        "parts",
        "RMSHead, and HYLA without nonlinearity, by themselves each boost linear attention",
        _gains(("linear_rms_head", "linear"), ("hyla_linear", "linear")),
        of_table_a1,
        _A1,
        1.4,
    ),
    Claim(
        "softmax",
        "With softmax in place of RMSHead, HYLA performs poorly",
        _gains(("hyla", "hyla_softmax")),
        of_table_a1,
        _A1,
        1.4,
    ),
    Claim(
        "experts",
        "Mixtures of experts give moderate general improvements",
        _gains(*((f"{method}_experts", method) for method in ("softmax", "linear", "hyla"))),
        of_table_a1,
        _A1,
        1.4,
    ),
)
