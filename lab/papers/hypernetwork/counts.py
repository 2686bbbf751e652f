"""Appendix B of the hypernetwork paper: how many SRAVEN tasks and problems there are, and how many have two answers.

Figure A9 and Table A2. Nothing is trained: the counts are exact, the ambiguity is a Monte-Carlo estimate.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pandas as pd

from lab.estimates import count_ratio, proportion
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.entry import Entry, Field, counted
from lab.papers.hypernetwork.settings import ONE
from lab.papers.tables import Labelled
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import grid, line, points, whiskers
from lab.plots.style import BLACK, BLUE, GREY, INK, LEGEND_ABOVE, ORANGE, SEQUENCE, SIZE, TEMPLATE
from lab.tasks import Sraven
from lab.tasks.counts import count_problems, count_tasks, estimate_ambiguity

FEATURES, VALUES = range(1, 9), (4, 8, 16)
SEED = 0  # of the problems that are looked at
PRINTED = {4: (0.0642, 0.0038), 8: (0.0032, 0.0009), 16: (0.0005, 0.0003)}  # Table A2: fraction, standard error, by F
PRINTED_PROBLEMS = 4_096  # that the paper counts for each number of values
FEWEST = 10  # problems of theirs: the interval of fewer is wider than from half to twice, whatever ours are
CODE, WORDS = "reference code's count", "paper's words"
TRAINED_VALUES, TRAINED_ON = 8, 4e7  # F of the paper's models; the most problems that it trains on (Fig. 4)
AMBIGUOUS = 0.5  # % of the problems, at most (Section 4.2)
LEAST = 1e-4  # low end of the axis of fractions: none at all is drawn there


def counts(runs: Labelled = ()) -> pd.DataFrame:
    """One row for each number of features and of values: tasks and problems, exact, as text."""
    kinds = [Sraven(features=features, values=values, held_out=0) for values in VALUES for features in FEATURES]
    rows = [(one.features, one.values, str(count_tasks(one)), str(count_problems(one))) for one in kinds]
    table = pd.DataFrame(rows, columns=["features", "values", "tasks", "problems"])
    return table.astype({"tasks": object, "problems": object})


def ambiguity(runs: Labelled, examples: int) -> pd.DataFrame:
    """One row for each number of values and way of counting: the fraction of ambiguous problems, ours and printed."""
    rows = []
    for values in VALUES:
        for counting in (CODE, WORDS):
            result = estimate_ambiguity(Sraven(values=values), examples, SEED, printed=counting == CODE)
            paper, error = PRINTED[values] if counting == CODE else (None, None)
            row = {"features": 4, "values": values, "counting": counting, "fraction": result.fraction}
            row |= {"standard_error": result.standard_error, "problems": result.problems}
            rows.append(row | {"paper": paper, "paper_error": error})
    return pd.DataFrame(rows).astype({"paper": float, "paper_error": float})


def _counts_summary(table: pd.DataFrame) -> str:
    row = table[(table["features"] == 4) & (table["values"] == 8)].iloc[0]
    return (
        f"With K = 4 and F = 8 there are {int(row['tasks']):,} tasks and {float(row['problems']):.2e} problems;"
        " the paper trains on at most 4e7."
    )


def _ambiguity_summary(table: pd.DataFrame) -> str:
    phrases, trained = [], table[table["values"] == TRAINED_VALUES].set_index("counting")["fraction"]
    for counting, rows in table.sort_values("values").groupby("counting", sort=False):
        shares = [f"{100 * row.fraction:.2f} ± {100 * row.standard_error:.2f}" for row in rows.itertuples()]
        paper = f" (printed {', '.join(f'{100 * share:.2f}' for share in rows['paper'])})" if counting == CODE else ""
        phrases.append(f"{', '.join(shares)} by the {counting}{paper}")
    values = ", ".join(map(str, sorted(table["values"].unique())))
    words, code = 100 * trained[WORDS], 100 * trained[CODE]
    verdict = (
        f"With F = {TRAINED_VALUES}, {words:.0f} % are ambiguous by the paper's own words, {code:.1f} % as it counts. "
    )
    return f"{verdict}In %, F = {values}: {'; '.join(phrases)}."


def _by_the_code(table: pd.DataFrame) -> pd.DataFrame:
    """Rows by number of values; ours and theirs: counts of ambiguous problems."""
    rows = table[table["paper"].notna()].sort_values("values")
    ours = (rows["fraction"] * rows["problems"]).round().astype(int)
    return rows.assign(ours=ours, theirs=(rows["paper"] * PRINTED_PROBLEMS).round().astype(int))


def _printed_fractions(table: pd.DataFrame) -> Verdict:
    """Ours over theirs, within a factor of two, for each number of values of which the paper's count says something: it
    counts 4,096 problems each, and 2 of them are no different from half or twice as many."""
    rows, verdicts = _by_the_code(table), []
    for row in rows[rows["theirs"] >= FEWEST].to_dict("records"):
        ratio = count_ratio(row["ours"], row["theirs"], row["problems"], PRINTED_PROBLEMS, "problems")
        verdicts.append(Verdict(ratio, above=0.5, below=2.0, unit="×", case=f"F = {row['values']}"))
    return all_of(verdicts)


def _fewer_with_more_values(table: pd.DataFrame) -> Verdict:
    verdicts = []
    for few, many in pairwise(_by_the_code(table).to_dict("records")):
        ratio = count_ratio(few["ours"], many["ours"], few["problems"], many["problems"], "problems")
        verdicts.append(Verdict(ratio, above=1.0, unit="×", case=f"F = {few['values']} over {many['values']}"))
    return all_of(verdicts)


def _few_are_ambiguous(table: pd.DataFrame) -> Verdict:
    """By the paper's words (other rules fit and give another answer), at the number of values of its models."""
    rows = table[(table["counting"] == WORDS) & (table["values"] == TRAINED_VALUES)]
    if rows.empty:
        return absent(f"no problems with {TRAINED_VALUES} values, counted by the paper's words")
    number = int(rows["problems"].iloc[0])
    share = proportion(round(rows["fraction"].iloc[0] * number), number, "problems").scaled(100)
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
        decides="more problems of the paper's own count, whose 13 of 4,096 leave a factor of 1.7 either way open",
    ),
    Claim("values", "More values make fewer problems ambiguous", _fewer_with_more_values),
    Claim(
        "words", "Less than half a percent has several valid answers (by the paper's definition)", _few_are_ambiguous
    ),
)


def fig_a9(table: pd.DataFrame) -> go.Figure:
    """Two panels: tasks, and problems by number of values, against the number of features.

    table: features, values, tasks, problems (whole numbers of any size, as text).
    """
    figure = grid(["A: tasks", "B: problems"], 2, height=280, top=64, horizontal=70)
    first = table[table["values"] == table["values"].min()]
    look: dict[str, Any] = {"name": "tasks", "mode": "lines+markers", "marker": {"symbol": "x", "size": 7}}
    look |= {"customdata": first["tasks"].astype(str), "hovertemplate": "K = %{x}: %{customdata} tasks"}
    line(figure, first["features"], first["tasks"].astype(float).tolist(), BLACK, (1, 1), showlegend=False, **look)
    symbols = ("circle", "diamond", "square", "triangle-up")
    for (values, rows), ink, symbol in zip(table.groupby("values"), SEQUENCE, symbols, strict=False):
        look = {"name": f"F = {values}", "mode": "lines+markers", "marker": {"symbol": symbol, "size": 7}}
        look |= {"hovertemplate": f"K = %{{x}}, F = {values}: %{{y:.3g}} problems"}
        line(figure, rows["features"], rows["problems"].astype(float).tolist(), ink, (1, 2), **look)
    figure.add_hline(y=TRAINED_ON, line={"color": GREY, "dash": "dash", "width": 1.2}, row=1, col=2)
    figure.update_xaxes(title_text="features K", dtick=1)
    figure.update_yaxes(type="log", exponentformat="power")
    figure.update_yaxes(dtick=2, title_text="tasks (log scale)", row=1, col=1)
    figure.update_yaxes(dtick=10, title_text="problems (log scale)", row=1, col=2)
    set_reading(figure, "Dashed: 40 million, the most problems that the paper trains on.")
    return figure


def table_a2(table: pd.DataFrame) -> go.Figure:
    """A point for each number of values and way of counting, with what the paper prints beside it.

    table: values, counting, fraction, standard_error, paper, paper_error (NaN where nothing is printed).
    """
    figure, values = go.Figure(), sorted(table["values"].unique())
    (code, of_code), (words, of_words) = table.groupby("counting", sort=False)
    ours, theirs = ("fraction", "standard_error"), ("paper", "paper_error")
    series = (
        (code, of_code, ours, BLUE, "circle"),
        ("printed in the paper", table[table["paper"].notna()], theirs, INK, "diamond-open"),
        (words, of_words, ours, ORANGE, "circle"),
    )
    for number, (name, rows, (value, error), ink, symbol) in enumerate(series):
        x, y = [values.index(one) + 0.18 * (number - 1) for one in rows["values"]], rows[value].clip(lower=LEAST)
        look: dict[str, Any] = {"mode": "markers+text", "textposition": f"middle {'right' if number else 'left'}"}
        look |= {"text": [f" {fraction:.4f} " for fraction in rows[value]], "textfont": {"size": SIZE - 2}}
        look |= {"error_y": whiskers(rows[error]), "customdata": rows[[value, error]]}
        hover = f"{name}: %{{customdata[0]:.4f}} ± %{{customdata[1]:.4f}}"
        points(figure, x, y, ink, size=9, symbol=symbol, name=name, hovertemplate=hover, **look)
    ends = (-0.5, len(values) - 0.4)
    line(figure, ends, [AMBIGUOUS / 100] * 2, GREY, width=1.2, dash="dash", name="half a percent", hoverinfo="skip")
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        margin={"l": 70, "r": 16, "t": 40, "b": 50},
        legend=LEGEND_ABOVE,
    )
    figure.update_xaxes(title_text="values a feature F", tickvals=list(range(len(values))), ticktext=values, range=ends)
    title = "ambiguous problems (fraction, log scale)"
    figure.update_yaxes(title_text=title, type="log", dtick=1, exponentformat="power", range=(-4.1, 0.2))
    none = f" None at all is drawn at {LEAST:g}." if (table["fraction"] == 0).any() else ""
    set_reading(figure, f"Whiskers: ± one standard error of the estimate.{none}")
    return figure


_SHARED: dict[str, Any] = {"tasks": ("sraven",), "plan": lambda scale, seeds: [], "seeds": ONE}
ENTRIES = (
    Entry(
        "hypernetwork/figA9",
        "B.1",
        "How many SRAVEN tasks and problems there are",
        "A: number of SRAVEN tasks (a multiset of rules, and permutations of the features) against the number of"
        " features K. B: number of problems against K, for F values a feature; exact counts",
        "tasks: C(R + K - 1, K) · (K!)^(G - 1) for R rules and G columns; problems are orders of magnitude more than"
        " what models train on",
        measure=counts,
        plot=fig_a9,
        summary=_counts_summary,
        origin=counted("counted by lab.tasks.counts"),
        notes=lambda scale: [
            "the paper has no formula for problems: here, pairs of a task and a grid that its rules allow"
        ],
        minutes={"smoke": 0.1, "laptop": 0.1, "paper": 0.1},
        **_SHARED,
    ),
    Entry(
        "hypernetwork/tableA2",
        "B.2",
        "Ambiguous SRAVEN problems",
        "Share of SRAVEN problems (K = 4 features, F values each) with another answer: by the paper's words one that"
        " differs in any feature; as the reference code counts, in all features at once",
        "less than half a percent of the problems with F = 8 is ambiguous",
        measure=ambiguity,
        plot=table_a2,
        summary=_ambiguity_summary,
        claims=TABLEA2,
        printed=printed_fractions,
        examples={"smoke": 200, "laptop": 250_000, "paper": PRINTED_PROBLEMS},
        # what the paper says and what it prints are two things; both are shown
        notes=lambda scale: [
            *([] if scale == "paper" else [f"250,000 problems for each number of values (paper {PRINTED_PROBLEMS:,})"]),
            "the paper calls a problem ambiguous if another set of rules and permutations fits its eight panels and"
            " gives another ninth. Its printed numbers are not of that, but of what the reference code counts: all"
            " features of the answer differ at once, and 'distribute three' may repeat a symbol. Both counts are shown",
            "the search over rules and permutations is exhaustive; rules are drawn from all multisets, none held out",
        ],
        origin=counted(
            "problems generated by lab.tasks, seed 0",
            [Field(name, one, one, "paper, Table A2") for name, one in (("features", 4), ("values", list(VALUES)))],
        ),
        minutes={"smoke": 0.1, "laptop": 5, "paper": 1},
        **_SHARED,
    ),
)
