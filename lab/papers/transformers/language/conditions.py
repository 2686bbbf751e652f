"""Whose texts the language models of a table are trained on: the paper's, or others that stand in for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import text_in_place_of
from lab.papers.transformers.language.settings import PAPER, STORIES

if TYPE_CHECKING:
    import pandas as pd

STORIES_DECIDE = "TinyStories at the paper's settings; a GPU"
TEXTS_DECIDE = "all texts at the paper's settings; a GPU"


stories = text_in_place_of("TinyStories", [STORIES["paper"]])
texts = text_in_place_of("the paper's texts", [*PAPER, "mano"])  # MANO's function is compared with those of texts


def of_paper(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of texts that the paper has, too: the others stand in for some of its own."""
    return table[table["task"].isin(PAPER)]


def some_text(table: pd.DataFrame, scale: str) -> str:
    """Some text is the paper's."""
    others = ", ".join(table["task"].unique())
    return "" if len(of_paper(table)) else f"the paper has other texts than {others}"
