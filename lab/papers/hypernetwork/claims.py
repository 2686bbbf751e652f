"""What the hypernetwork paper claims of its figures, measured in their tables. Scores are in percent."""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial, log, log10
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, all_of, exact, mean, per_seed
from lab.papers.hypernetwork.printed import AT, PAPER

if TYPE_CHECKING:
    import pandas as pd

POINTS = "points"
MOST_TRAINED = 4e7  # problems, in the paper
RULES, COLUMNS = 8, 3  # of SRAVEN; counted anew here, so not taken from the task


def _chosen(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["chosen"].astype(bool)]


def _hyla_before(means: pd.DataFrame, sign: float = 1.0) -> Verdict:
    """HYLA minus each other method (columns), paired by seed."""
    rivals = [method for method in means if method != "hyla"]
    return all_of(
        mean(sign * (means["hyla"] - means[rival]), above=0.0, unit=POINTS, case=f"against {rival}") for rival in rivals
    )


def _hyla_degrades_least(table: pd.DataFrame) -> Verdict:
    """What R² on unseen combinations loses from the least to the most held out, mean over lengths."""
    kept = _chosen(table)
    ends = [kept[kept["held_out"] == end] for end in (kept["held_out"].min(), kept["held_out"].max())]
    least, most = (per_seed(rows, "method", "r2_paper_ood") for rows in ends)
    return _hyla_before(most - least)


def _unseen_terms_fail(table: pd.DataFrame) -> Verdict:
    """R² on unseen terms is under half of that on trained functions, for every method."""
    kept = _chosen(table)
    unseen, seen = (per_seed(kept, "method", f"r2_paper_{split}") for split in ("unseen_terms", "test"))
    return all_of(mean(unseen[m] - seen[m] / 2, below=0.0, unit=POINTS, case=m) for m in unseen)


def _decodable(table: pd.DataFrame) -> Verdict:
    """In the last layer, the score above the better of both controls, for every method."""
    last = table[table["layer"] == table["layer"].max()]
    above = last.assign(above=last["value"] - last[["chance", "shuffled"]].max(axis=1))
    scores = per_seed(above, "method", "above")
    return all_of(mean(scores[method], above=0.0, unit=POINTS, case=method) for method in scores)


def _later_layers(table: pd.DataFrame) -> Verdict:
    """Last layer minus first, for every method."""
    scores = per_seed(table, ["method", "layer"], "value")
    first, last = table["layer"].min(), table["layer"].max()
    methods = table["method"].unique()
    return all_of(mean(scores[m, last] - scores[m, first], above=0.0, unit=POINTS, case=m) for m in methods)


def _all_reach_80(table: pd.DataFrame) -> Verdict:
    kept = _chosen(table)
    scores = per_seed(kept[kept["problems"] == kept["problems"].max()], "method", "accuracy_ood")
    return all_of(mean(scores[method], above=80.0, unit="%", case=method) for method in scores)


def _hyla_with_little_data(table: pd.DataFrame) -> Verdict:
    kept = _chosen(table)
    return _hyla_before(per_seed(kept[kept["problems"] == kept["problems"].min()], "method", "accuracy_ood"))


def _hyla_when_shallow(table: pd.DataFrame) -> Verdict:
    """With the fewest layers and problems."""
    kept = _chosen(table)
    least = (kept["layers"] == kept["layers"].min()) & (kept["problems"] == kept["problems"].min())
    return _hyla_before(per_seed(kept[least], "method", "accuracy_ood"))


def _rises_along(by: str, sign: float = 1.0) -> Callable[[pd.DataFrame], Verdict]:
    """Accuracy on unseen combinations at the largest value of `by` minus that at the smallest, for every method."""

    def measure(table: pd.DataFrame) -> Verdict:
        kept = _chosen(table)
        scores = per_seed(kept[kept["problems"] == kept["problems"].max()], ["method", by], "accuracy_ood")
        least, most = kept[by].min(), kept[by].max()
        methods = kept["method"].unique()
        return all_of(
            mean(sign * (scores[m, most] - scores[m, least]), above=0.0, unit=POINTS, case=m) for m in methods
        )

    return measure


def _gains(*pairs: tuple[str, str]) -> Callable[[pd.DataFrame], Verdict]:
    """By how much the score of the first method of each pair is above that of the second, on every task."""

    def measure(table: pd.DataFrame) -> Verdict:
        scores = per_seed(_chosen(table), ["task", "method"], "value")
        return all_of(
            mean(scores[task, more] - scores[task, less], above=0.0, unit=POINTS, case=f"{more} on {task}")
            for task in table["task"].unique()
            for more, less in pairs
        )

    return measure


def _sum_and_difference(table: pd.DataFrame) -> Verdict:
    """HYLA: cosine similarity of addition and subtraction minus the mean over all other pairs of rules."""
    rows = table[(table["method"] == "hyla") & (table["a"] != table["b"])]
    pair = rows[["a", "b"]].isin(("addition", "subtraction")).all(axis=1)
    means = per_seed(rows.assign(pair=pair), "pair", "similarity", scale=1).reindex(columns=[True, False])
    return mean(means[True] - means[False], above=0.0)


def _formula(table: pd.DataFrame) -> Verdict:
    """Share of the counted numbers of tasks that the formula gives."""
    wanted = [comb(RULES + k - 1, k) * factorial(k) ** (COLUMNS - 1) for k in table["features"].astype(int)]
    right = sum(int(found) == number for found, number in zip(table["tasks"], wanted, strict=True))
    return exact(100 * right / len(wanted), len(wanted), above=99.0, unit="%")


def _more_problems_than_trained_on(table: pd.DataFrame) -> Verdict:
    """Factors of ten between the problems with K = 4, F = 8 and those that are trained on."""
    row = table[(table["features"] == 4) & (table["values"] == 8)].iloc[0]
    return exact(log10(int(row["problems"]) / MOST_TRAINED), 1, above=2.0, unit="powers of ten")


def _by_the_code(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["paper"].notna()].sort_values("values")


def _printed_fractions(table: pd.DataFrame) -> Verdict:
    """Ours over theirs, within a factor of two for each F; delta method on the logarithm, with both standard errors."""
    return all_of(
        _factor(row.fraction, row.standard_error, row.paper, row.paper_error, int(row.problems), f"F = {row.values}")
        for row in _by_the_code(table).itertuples(index=False)
    )


def _factor(a: float, a_error: float, b: float, b_error: float, n: int, case: str) -> Verdict:
    from math import exp, nan

    if not a:
        return Verdict(0.0, nan, nan, n, "problems", above=0.5, below=2.0, unit="×", case=case)
    middle, reach = log(a / b), 1.959964 * ((a_error / a) ** 2 + (b_error / b) ** 2) ** 0.5
    numbers = map(exp, (middle, middle - reach, middle + reach))
    return Verdict(*numbers, n, "problems", above=0.5, below=2.0, unit="×", case=case)


def _fewer_with_more_values(table: pd.DataFrame) -> Verdict:
    """Each fraction minus the next, from few values to many; normal intervals."""
    rows = list(_by_the_code(table).itertuples(index=False))
    found = []
    for few, many in zip(rows, rows[1:], strict=False):
        gap = 100 * (few.fraction - many.fraction)
        reach = 196 * (few.standard_error**2 + many.standard_error**2) ** 0.5
        case = f"F = {few.values} and {many.values}"
        found.append(Verdict(gap, gap - reach, gap + reach, int(few.problems), "problems", above=0.0, unit=POINTS,
                             case=case))  # fmt: skip
    return all_of(found)


def printed_fractions(table: pd.DataFrame) -> pd.DataFrame:
    """Table A2: values, ours, theirs, in percent."""
    rows = _by_the_code(table)
    return rows[["values"]].assign(ours=100 * rows["fraction"], theirs=100 * rows["paper"])


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


FIG2B = (Claim("Terms are decodable from the last layer's codes, better than controls", _decodable),)
FIG2C = (Claim("HYLA degrades least when more functions are held out", _hyla_degrades_least),)
FIGA3 = (Claim("All fail on unseen terms (R² under half of that on trained functions)", _unseen_terms_fail),)
FIG4A = (
    Claim("Given enough problems, all methods solve 80 % of unseen combinations", _all_reach_80),
    Claim("HYLA is best where problems are few", _hyla_with_little_data),
)
FIG4B = (Claim("HYLA is best where layers and problems are few", _hyla_when_shallow),)
FIG5C = (Claim("A single head is worse than many", _rises_along("heads")),)
FIG5D = (Claim("Problems with more features are harder", _rises_along("features", -1.0)),)
FIG5E = (Claim("HYLA's codes of addition and subtraction are more alike than other rules'", _sum_and_difference),)
FIG5F = (
    Claim("Rules are decodable from the last layer's codes, better than controls", _decodable),
    Claim("The last layer tells more of the rule than the first", _later_layers),
)
FIGA5 = (Claim("Accuracy falls with the share that is held out", _rises_along("held_out", -1.0)),)
FIGA9 = (
    Claim("There are C(R + K - 1, K) · (K!)^(G - 1) tasks", _formula),
    Claim("Problems are orders of magnitude more than what is trained on", _more_problems_than_trained_on),
)
TABLEA1 = (
    Claim("RMSHead, and a value network without nonlinearity, each help linear attention",
          _gains(("linear_rms_head", "linear"), ("hyla_linear", "linear"))),
    Claim("Softmax in place of RMSHead makes HYLA worse", _gains(("hyla", "hyla_softmax"))),
    Claim("Mixtures of experts help each attention",
          _gains(*((f"{method}_experts", method) for method in ("softmax", "linear", "hyla")))),
)  # fmt: skip
TABLEA2 = (
    Claim("The printed fractions are ambiguous (by the reference code's count)", _printed_fractions),
    Claim("More values make fewer problems ambiguous", _fewer_with_more_values),
)
