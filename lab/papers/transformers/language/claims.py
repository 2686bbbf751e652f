"""What the transformers paper claims of language models, and of the designs it compares with."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.runs import POINTS, compare_one
from lab.papers.transformers.language.designs import GLU, GLU_OURS
from lab.papers.transformers.language.measures import COVERS, groups
from lab.papers.transformers.language.settings import PAPER, STORIES
from lab.papers.transformers.settings import MLP

if TYPE_CHECKING:
    import pandas as pd

STORIES_DECIDE = "TinyStories at the paper's settings; a GPU"


def stories(table: pd.DataFrame, scale: str) -> str:
    """Models of children's stories."""
    tasks = table["task"].unique()
    return "" if set(tasks) <= {STORIES["paper"]} else f"the paper's models are of TinyStories, these of {tasks[0]}"


def papers_texts(table: pd.DataFrame) -> list[str]:
    """The texts of a table that the paper has, too: the others stand in for some that it has."""
    return [task for task in table["task"].unique() if task in PAPER]


def _against(table: pd.DataFrame, ours: str, other: str, case: str = "") -> Verdict:
    """Accuracy of one design minus another's."""
    known = {name: [100 * one for one in values] for name, values in groups(table, "method", "accuracy").items()}
    if not {ours, other} <= set(known):
        return absent("it is not trained here", case=case, unit=POINTS, above=0.0)
    return Verdict(compare_one(known, ours, other, COVERS), above=0.0, unit=POINTS, case=case)


def _best(table: pd.DataFrame) -> Verdict:
    others = [design for design in table["method"].unique() if design not in (MLP, GLU_OURS)]
    return all_of(_against(table, MLP, other, other) for other in others)


TABLE3 = (
    Claim("best", "None of the designs of the literature works better than ours", _best, stories, STORIES_DECIDE, nan),
    Claim(
        "glu",
        "The learned function improves gated linear units, too",
        lambda table: _against(table, GLU_OURS, GLU),
        stories,
        STORIES_DECIDE,
        nan,
    ),
)
