"""Section 3.2 and Figure A2 of the hypernetwork paper: what latent codes tell of fuzzy logic functions.

Figures 2B, 2D and A2 read runs that figure 2C trains: those with 32 tokens and 70 % of the functions held out.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab.papers.claims import Claim
from lab.papers.codes import (
    MAPS,
    Labels,
    alike,
    clusters_by,
    decodable,
    decodable_each,
    decoded,
    fresh,
    mapped,
    maps_summary,
)
from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork import logic
from lab.papers.hypernetwork.settings import ONE, READ, READ_HELD_OUT, SEEDS, best_runs, origin, read_length
from lab.papers.tables import Labelled, percent, span
from lab.plots import latent_codes
from lab.run import Run
from lab.tasks.logic import which_terms, written
from lab.tasks.stream import Examples

CONTEXT, QUERY = "context", "query"  # what varies from sequence to sequence


def plan(scale: str, seeds: int) -> list[Planned]:
    """The runs of figure 2C with 32 tokens (fewer at smoke scale) and 70 % held out."""
    return logic.plan(scale, seeds, (read_length(scale),), (READ_HELD_OUT,))


def sample(run: Run, split: str, count: int, varied: str = CONTEXT) -> Examples:
    """Sequences with the same query, and points in context of their own, as in the reference code's data for this; or,
    as Section 3.2 has it, with the same points in context and a query of their own."""
    return fresh(run, split, count, fixed=QUERY if varied == CONTEXT else CONTEXT)


def _term(number: int) -> Labels:
    return lambda examples: np.array([written(term) for term in examples.latents["terms"][:, number].tolist()])


def _functions(examples: Examples) -> np.ndarray:
    return np.array([" ∨ ".join(map(written, terms)) for terms in examples.latents["terms"].tolist()])


TARGET: dict[str, Labels] = {"target": lambda examples: examples.targets[:, 0].numpy()}
FIRST, SECOND = {"term 1": _term(0)}, {"term 2": _term(1)}


def _decoded(runs: Labelled, examples: int) -> pd.DataFrame:
    """As `decoded`, of either kind of sequences; varied: "context" or "query"."""
    tables = [
        decoded(best_runs(runs), examples, partial(sample, varied=varied), which_terms, "terms", written).assign(
            varied=varied
        )
        for varied in (CONTEXT, QUERY)
    ]
    return pd.concat(tables, ignore_index=True)


def of_context(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of sequences that differ in what is shown in context, not in the query."""
    return table[table["varied"] == CONTEXT]


def _decoded_summary(table: pd.DataFrame) -> str:
    last = table[table["layer"] == table["layer"].max()].assign(
        above=lambda rows: 100 * (rows["value"] - rows["chance"])
    )
    gaps = last.groupby(["varied", "method"])["above"].mean()
    words = []
    for kind, where in ((CONTEXT, "contexts differ and the query does not"), (QUERY, "queries do, the paper's way")):
        each = decodable_each(table[table["varied"] == kind])
        surely = f" (surely more: {sum(one.low > 0 for one in each)} of {len(each)} methods)"
        known = any(one.low == one.low for one in each)
        words.append(f"{span(gaps[kind], '+.0f')} where {where}{surely if known else ''}")
    return (
        "Terms read from the last layer, F1 in points above that of the best constant answer"
        f" ({percent(last['chance'].mean())}): {', '.join(words)}."
    )


def _by_term(table: pd.DataFrame) -> Any:
    varies = {CONTEXT: ", contexts differ", QUERY: ", queries differ (paper)"}
    return latent_codes.by_class(readable(table).assign(part=table["varied"].map(varies)))


def _notes(scale: str) -> list[str]:
    length = read_length(scale)
    shorter = [f"{length} tokens (paper {READ})"] if length != READ else []
    return [
        *shorter,
        f"{100 * READ_HELD_OUT:.0f} % of the functions held out, {length} tokens; the query is the same for all"
        " examples, and points in context vary, as in the reference code's data (the paper's text: the query varies;"
        " then codes follow the query, and hardly tell the terms)",
    ]


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its terms as products of variables: x₁¬x₂ ¬x₃x₄ in the place of +−−+."""

    def spelled(term: str) -> str:
        variables = [f"{'¬' if sign == '−' else ''}x{chr(0x2081 + place)}" for place, sign in enumerate(term)]
        return " ".join("".join(variables[start : start + 2]) for start in range(0, len(variables), 2))

    terms = {label: " ∨ ".join(map(spelled, label.split(" ∨ "))) for label in table["label"].dropna().unique()}
    return table.assign(label=table["label"].replace(terms))


def _terms_or_target(table: pd.DataFrame) -> str:
    """What the last layer's maps tell of the paper's sentence, that of the two the terms explain them."""
    last = alike(table).loc[table["layer"].max()]
    ahead = last.filter(like="term").max(axis=1) - last["target"]
    words = {
        True: "As in the paper, neighbours share terms more than the target, the function's value. ",
        False: "Here contexts vary, not queries as in the paper's text; neighbours share the target more than terms. ",
    }
    clear = (ahead > 0).nunique() == 1 and ahead.notna().all()
    return maps_summary(table, words[bool(ahead.iloc[0] > 0)] if clear else "")


_claim = partial(Claim, decides="fuzzy logic with the paper's 50,000 steps: 9 runs of 50 minutes", hours=3.8)
FIG2D = (
    Claim(
        "terms",
        "Clusters of codes correspond to the terms of a function (the first one, over attentions)",
        clusters_by("term 1"),
        decides="a map of each of several models a method, where one is drawn of each",
        hours=0.8,
    ),
)
FIG2B = (
    _claim(
        "decodable",
        "Where the context varies, terms can be decoded (above shuffled labels and yes to every term)",
        lambda table: decodable(of_context(table)),
    ),
    _claim(
        "decodable-query",
        "Where the query alone varies, terms can be decoded, too (above yes to every term)",
        lambda table: decodable(table[table["varied"] == QUERY]),
    ),
)

_SHARED: dict[str, Any] = {"tasks": ("logic",), "plan": plan, "origin": origin("logic", ("length",))}
_MAPS: dict[str, Any] = _SHARED | {
    "summary": _terms_or_target,
    "notes": lambda scale: [*_notes(scale), MAPS],
    "seeds": ONE,
    "minutes": {"smoke": 0.5, "laptop": 4, "overnight": 30, "paper": 5},
}
ENTRIES = (
    Entry(
        "hypernetwork/fig2b",
        "3.2",
        "Terms decoded from latent codes",
        "F1 of logistic regressions that decode from the latent code (attention scores across heads of the response"
        " token attending to itself) whether an unseen function has a term (12 of 16 are in any)",
        "the latent code is predictive of the terms of each function",
        measure=_decoded,
        plot=_by_term,
        summary=_decoded_summary,
        notes=lambda scale: [
            *_notes(scale),
            "the paper states no setting of its classifiers: here one logistic regression a term (L2, C = 1,"
            " standardized codes, yes and no weighted to count alike), trained on fresh examples of functions that the"
            " model was trained on, tested on functions it was not",
        ],
        seeds=SEEDS,
        claims=FIG2B,
        examples={"smoke": 200, "laptop": 4_000, "overnight": 8_000, "paper": 16_000},
        minutes={"smoke": 0.5, "laptop": 8, "overnight": 70, "paper": 10},
        **_SHARED,
    ),
    Entry(
        "hypernetwork/fig2d",
        "3.2",
        "Latent codes on fuzzy logic",
        "t-SNE of the latent codes of the last layer on functions that were held out, all with the same query, coloured"
        " by the target, a function's value there, and by its first term",
        "clusters are explained by the terms more than by the value of the output",
        measure=lambda runs, examples: mapped(best_runs(runs), examples, sample, TARGET | FIRST, last=True),
        plot=lambda table: latent_codes.maps(readable(table), height=190, most=3),
        claims=FIG2D,
        examples={"smoke": 60, "laptop": 800, "overnight": 1_200, "paper": 2_000},
        **_MAPS,
    ),
    Entry(
        "hypernetwork/figA2",
        "3.2",
        "Latent codes on fuzzy logic, all layers",
        "What explains latent codes on functions that were held out, all with the same query: the target, the function,"
        " its first or second term; on top all four by layer, below t-SNE maps by target and second term",
        "clusters follow the terms",
        measure=lambda runs, examples: mapped(
            best_runs(runs), examples, sample, TARGET | {"function": _functions} | FIRST | SECOND
        ),
        plot=lambda table: latent_codes.layers(readable(table), ("target", "term 2"), most=3),
        examples={"smoke": 60, "laptop": 500, "overnight": 800, "paper": 1_000},
        **_MAPS,
    ),
)
