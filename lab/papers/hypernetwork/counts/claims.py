"""What the hypernetwork paper claims of how many problems of SRAVEN are ambiguous (App. B.2), in counts of problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.proportions import count_ratio, proportion

if TYPE_CHECKING:
    import pandas as pd

THEIR_PROBLEMS = 4_096  # of Table A2, for each number of values
FEWEST = 10  # problems of theirs: the interval of fewer is wider than from half to twice, whatever ours are
TRAINED_VALUES = 8  # F of the paper's models
WORDS = "paper's words"
AMBIGUOUS = 0.5  # % of the problems, at most (Section 4.2)


def _by_the_code(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["paper"].notna()].sort_values("values")


def _ambiguous(rows: pd.DataFrame, fraction: str = "fraction") -> pd.Series:
    """Counts of problems."""
    return (rows[fraction] * rows["problems"]).round().astype(int)


def _printed_fractions(table: pd.DataFrame) -> Verdict:
    """Ours over theirs, within a factor of two, for each number of values of which the paper's count says something: it
    counts 4,096 problems each (`lab.papers.hypernetwork.counts`), and 2 of them are no different from half or twice as
    many."""
    rows = _by_the_code(table)
    rows = rows.assign(ours=_ambiguous(rows), theirs=(rows["paper"] * THEIR_PROBLEMS).round().astype(int))
    return all_of(
        Verdict(
            count_ratio(row.ours, row.theirs, row.problems, THEIR_PROBLEMS, "problems"),
            above=0.5,
            below=2.0,
            unit="×",
            case=f"F = {row.number}",
        )
        for row in rows.rename(columns={"values": "number"}).itertuples(index=False)
        if row.theirs >= FEWEST
    )


def _fewer_with_more_values(table: pd.DataFrame) -> Verdict:
    """Each number of ambiguous problems over the next, from few values to many."""
    rows = _by_the_code(table).assign(count=_ambiguous)
    pairs = zip(rows.itertuples(index=False), rows[1:].itertuples(index=False), strict=False)
    return all_of(
        Verdict(
            count_ratio(few.count, many.count, few.problems, many.problems, "problems"),
            above=1.0,
            unit="×",
            case=f"F = {few.values} over {many.values}",
        )
        for few, many in pairs
    )


def _few_are_ambiguous(table: pd.DataFrame) -> Verdict:
    """By the paper's words: another set of rules fits the context and gives another answer. At the number of values
    that its models are trained with."""
    rows = table[(table["counting"] == WORDS) & (table["values"] == TRAINED_VALUES)]
    if rows.empty:
        return absent(f"no problems with {TRAINED_VALUES} values, counted by the paper's words")
    row = rows.iloc[0]
    share = proportion(int(_ambiguous(rows).iloc[0]), int(row["problems"]), "problems").scaled(100)
    return Verdict(share, below=AMBIGUOUS, unit="%")


def printed_fractions(table: pd.DataFrame) -> pd.DataFrame:
    """Table A2: values, ours, theirs, in percent."""
    rows = _by_the_code(table)
    return rows[["values"]].assign(ours=100 * rows["fraction"], theirs=100 * rows["paper"])


TABLEA2 = (
    Claim(
        "fractions",
        "The printed fractions of problems are ambiguous, with 4 and with 8 values (reference code's)",
        _printed_fractions,
        decides="250,000 problems with 8 values, counted by the reference code's way",
        hours=0.1,
    ),
    Claim("values", "More values make fewer problems ambiguous", _fewer_with_more_values),
    Claim(
        "words", "Less than half a percent has several valid answers (by the paper's definition)", _few_are_ambiguous
    ),
)
