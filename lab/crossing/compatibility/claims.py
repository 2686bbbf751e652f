"""What is asked of functions in the models of other papers. The transformers paper claims it of its own tasks alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.crossing.compatibility.measures import gains, models_of
from lab.crossing.places import BASELINE
from lab.papers.claims import Claim, Verdict, all_of, any_of
from lab.papers.runs import POINTS

if TYPE_CHECKING:
    import pandas as pd


def _diagonal(table: pd.DataFrame) -> list[Verdict]:
    """What each model gains with the function that was learned in it."""
    known = gains(table)
    cases = [model for model in models_of(table) if (model, model) in known]
    return [Verdict(known[model, model], above=0.0, unit=POINTS, case=model) for model in cases]


def _others(table: pd.DataFrame) -> list[Verdict]:
    """What each model gains with each function of another."""
    return [
        Verdict(gain, above=0.0, unit=POINTS, case=f"function of the {source} in the {model}")
        for (model, source), gain in gains(table).items()
        if source not in (model, BASELINE)
    ]


def _some_own(table: pd.DataFrame) -> Verdict:
    return any_of(_diagonal(table))


def _every_own(table: pd.DataFrame) -> Verdict:
    return all_of(_diagonal(table))


def _some_other(table: pd.DataFrame) -> Verdict:
    return any_of(_others(table))


COMPATIBILITY = (
    Claim(
        "own", "A function learned in a paper's model improves on its tuned baseline, in one model at least", _some_own
    ),
    Claim(
        "every-own",
        "A function learned in a paper's model improves on its tuned baseline, in every model",
        _every_own,
        decides="HYLA with 3,000 steps of batch 64 on fuzzy logic, where it has left the mean; 12 seeds",
        hours=1.5,
    ),
    Claim(
        "transfer",
        "A function of one paper improves on the tuned baseline of another paper's model",
        _some_other,
        decides="12 seeds, and the answers of both functions to the same test rows",
        hours=0.5,
    ),
)
