"""Appendix B of the hypernetwork paper: how many SRAVEN tasks and problems there are, and how many have two answers.

Figure A9 and Table A2. Nothing is trained: the counts are exact, the ambiguity is a Monte-Carlo estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.counts import claims, plots
from lab.papers.origin import Field, counted
from lab.run import Run
from lab.scale import SCALES
from lab.tasks import Sraven
from lab.tasks.counts import count_problems, count_tasks, estimate_ambiguity

if TYPE_CHECKING:
    import pandas as pd

FEATURES, VALUES = range(1, 9), (4, 8, 16)
SEED = 0  # of the problems that are looked at
PRINTED = {4: (0.0642, 0.0038), 8: (0.0032, 0.0009), 16: (0.0005, 0.0003)}  # Table A2: fraction, standard error, by F
CODE, WORDS = "reference code's count", "paper's words"
ONE = dict.fromkeys(SCALES, 1)


def _nothing(scale: str, seeds: int) -> list[Planned]:
    return []


def counts(runs: Sequence[tuple[dict, Run]] = ()) -> pd.DataFrame:
    """One row for each number of features and of values: tasks and problems, exact."""
    import pandas as pd

    rows = [
        {
            "features": k,
            "values": f,
            "tasks": str(count_tasks(Sraven(features=k, values=f, held_out=0))),
            "problems": str(count_problems(Sraven(features=k, values=f, held_out=0))),
        }
        for f in VALUES
        for k in FEATURES
    ]
    return pd.DataFrame(rows).astype({"tasks": object, "problems": object})


def ambiguity(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    """One row for each number of values and way of counting: the fraction of ambiguous problems, ours and printed."""
    import pandas as pd

    rows = []
    for values in VALUES:
        for counting in (CODE, WORDS):
            result = estimate_ambiguity(Sraven(values=values), examples, SEED, printed=counting == CODE)
            paper, error = PRINTED[values] if counting == CODE else (None, None)
            rows.append(
                {
                    "features": 4,
                    "values": values,
                    "counting": counting,
                    "fraction": result.fraction,
                    "standard_error": result.standard_error,
                    "problems": result.problems,
                    "paper": paper,
                    "paper_error": error,
                }
            )
    return pd.DataFrame(rows).astype({"paper": float, "paper_error": float})


def _counts_summary(table: pd.DataFrame) -> str:
    row = table[(table["features"] == 4) & (table["values"] == 8)].iloc[0]
    return (
        f"With K = 4 and F = 8 there are {int(row['tasks']):,} tasks and {float(row['problems']):.2e} problems;"
        " the paper trains on at most 4e7."
    )


def _ambiguity_summary(table: pd.DataFrame) -> str:
    phrases = []
    for counting, rows in table.sort_values("values").groupby("counting", sort=False):
        shares = [f"{100 * row.fraction:.2f} ± {100 * row.standard_error:.2f}" for row in rows.itertuples()]
        paper = f" (printed {', '.join(f'{100 * share:.2f}' for share in rows['paper'])})" if counting == CODE else ""
        phrases.append(f"{', '.join(shares)} by the {counting}{paper}")
    symbols = ", ".join(str(count) for count in sorted(table["values"].unique()))
    return f"Ambiguous problems in %, F = {symbols}: {'; '.join(phrases)}."


def _ambiguity_notes(scale: str) -> list[str]:
    """What the paper says and what it prints are two things; both are shown."""
    return [
        "the paper calls a problem ambiguous if another set of rules and permutations fits its eight panels and gives"
        " another ninth. Its printed numbers are not of that, but of what the reference code counts: all features of"
        " the answer differ at once, and 'distribute three' may repeat a symbol. Both counts are shown",
        "the search over rules and permutations is exhaustive; rules are drawn from all multisets, none held out",
    ]


ENTRIES = (
    Entry(
        "hypernetwork/figA9",
        "B.1",
        "How many SRAVEN tasks and problems there are",
        "A: number of SRAVEN tasks (a multiset of rules, and permutations of the features) against the number of"
        " features K. B: number of problems against K, for F values a feature; exact counts",
        "tasks: C(R + K - 1, K) · (K!)^(G - 1) for R rules and G columns; problems are orders of magnitude more than"
        " what models train on",
        tasks=("sraven",),
        plan=_nothing,
        measure=counts,
        plot=plots.fig_a9,
        summary=_counts_summary,
        seeds=ONE,
        origin=counted("counted by lab.tasks.counts"),
        notes=lambda scale: [
            "the paper has no formula for problems: here, pairs of a task and a grid that its rules allow"
        ],
        minutes={"smoke": 0.1, "laptop": 0.1, "paper": 0.1},
    ),
    Entry(
        "hypernetwork/tableA2",
        "B.2",
        "Ambiguous SRAVEN problems",
        "Share of SRAVEN problems with K = 4 features that have another answer, estimated from random problems, for F"
        " values a feature, by what the reference code counts and by the paper's words; ± standard error",
        "less than half a percent of the problems with F = 8 is ambiguous",
        tasks=("sraven",),
        plan=_nothing,
        measure=ambiguity,
        plot=plots.table_a2,
        summary=_ambiguity_summary,
        seeds=ONE,
        claims=claims.TABLEA2,
        printed=claims.printed_fractions,
        examples={"smoke": 200, "laptop": 4096, "paper": 4096},
        notes=_ambiguity_notes,
        origin=counted(
            "problems generated by lab.tasks, seed 0",
            [
                Field(name, value, value, "paper, Table A2")
                for name, value in (("features", 4), ("values", list(VALUES)))
            ],
        ),
        minutes={"smoke": 0.1, "laptop": 1, "paper": 1},
    ),
)
