"""What the hypernetwork paper claims of fuzzy logic (Figs. 2C, A3), measured in tables. R² is in percent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.hypernetwork.claims import OVERNIGHT, OVERNIGHT_HOURS, chosen, hyla_before, paired
from lab.papers.hypernetwork.printed import AT, PAPER
from lab.papers.runs import POINTS, per_seed

if TYPE_CHECKING:
    import pandas as pd


def _declines(table: pd.DataFrame) -> pd.DataFrame:
    """What R² on unseen combinations loses from the least to the most held out: seeds × (method, length)."""
    best = chosen(table)
    ends = [best[best["held_out"] == end] for end in (best["held_out"].min(), best["held_out"].max())]
    least, most = (per_seed(rows, ["method", "length"], "r2_paper_ood") for rows in ends)
    return least - most


def _hyla_degrades_least(table: pd.DataFrame) -> Verdict:
    """Of declines in the mean over lengths."""
    return hyla_before(-_declines(table).T.groupby("method", sort=False).mean().T)


def _all_degrade(table: pd.DataFrame) -> Verdict:
    """With every number of tokens."""
    declines = _declines(table)
    return all_of(
        paired({f"{method}, {length} tokens": declines[method, length] for method, length in declines}, above=0.0)
    )


def _hyla_above(other: str) -> Callable[[pd.DataFrame], Verdict]:
    """At the point of Table A1."""

    def measure(table: pd.DataFrame) -> Verdict:
        best = chosen(table)
        rows = best[(best["length"] == AT[0]) & (best["held_out"] == AT[1])]
        if rows.empty:
            return absent(f"no runs with {AT[0]} tokens and {AT[1]:g} of the combinations held out")
        means = per_seed(rows, "method", "r2_paper_ood")
        gap = estimates.mean(means["hyla"] - means[other], covers="seeds (splits)")
        return Verdict(gap, above=0.0, unit=POINTS)

    return measure


def _unseen_terms_fail(table: pd.DataFrame) -> Verdict:
    """R² on unseen terms is under half of that on trained functions, for every method."""
    best = chosen(table)
    unseen, test = (per_seed(best, "method", f"r2_paper_{split}") for split in ("unseen_terms", "test"))
    return all_of(paired({method: unseen[method] - test[method] / 2 for method in unseen}, below=0.0))


def _alike_on_seen(table: pd.DataFrame) -> Verdict:
    """The distance of the best from the worst method in R² (mean over lengths, most held out) on trained functions,
    less that on unseen combinations."""
    best = chosen(table)
    best = best[best["held_out"] == best["held_out"].max()]
    test, unseen = (per_seed(best, "method", f"r2_paper_{split}") for split in ("test", "ood"))
    gap = [np.ptp(side, axis=1) for side in (test.to_numpy(float), unseen.to_numpy(float))]
    return Verdict(estimates.mean(gap[0] - gap[1], covers="seeds (splits)"), below=0.0, unit=POINTS)


def printed_scores(table: pd.DataFrame) -> pd.DataFrame:
    """R² in percent at the point of Figure 2C that Table A1 has: method, ours, theirs; no row where it is not here."""
    import pandas as pd

    best = chosen(table)
    rows = best[(best["length"] == AT[0]) & (best["held_out"] == AT[1])]
    means = per_seed(rows, "method", "r2_paper_ood").mean() if len(rows) else {}
    scores = [(method, means[method], PAPER[method][0]) for method in PAPER if method in means]
    return pd.DataFrame(scores, columns=["method", "ours", "theirs"])


FIG2C = (
    Claim(
        "hyla-least",
        "HYLA is less affected by this decline than softmax and linear attention",
        _hyla_degrades_least,
        decides="fuzzy logic at scale overnight, .3, .5 and .7 held out: 27 runs",
        hours=3.5,
    ),
    Claim(
        "decline",
        "With the share of held-out tasks, performance decreases for all models",
        _all_degrade,
        decides="3 seeds more of the least and the most held out, 36 runs",
        hours=1.0,
    ),
    Claim(
        "hyla-linear",
        "HYLA is above linear attention (32 tokens, .7 held out; printed 21 points)",
        _hyla_above("linear"),
    ),
    Claim(
        "hyla-softmax",
        "HYLA is above softmax attention (32 tokens, .7 held out; printed 18 points)",
        _hyla_above("softmax"),
        decides=OVERNIGHT,
        hours=OVERNIGHT_HOURS,
    ),
)
FIGA3 = (
    Claim(
        "unseen-terms",
        "On unseen terms all methods fail (R² under half of that on trained functions)",
        _unseen_terms_fail,
    ),
    Claim(
        "seen",
        "In distribution the models differ less than on unseen combinations",
        _alike_on_seen,
        decides=OVERNIGHT,
        hours=OVERNIGHT_HOURS,
    ),
)
