"""Whose texts the language models of a table are trained on: what a claim about the paper's texts has to know first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.transformers.language.settings import PAPER, STORIES

if TYPE_CHECKING:
    import pandas as pd

STORIES_DECIDE = "TinyStories at the paper's settings; a GPU"
TEXTS_DECIDE = "all texts at the paper's settings; a GPU"


def stories(table: pd.DataFrame, scale: str) -> str:
    """Models of children's stories."""
    tasks = table["task"].unique()
    return "" if set(tasks) <= {STORIES["paper"]} else f"the paper's models are of TinyStories, these of {tasks[0]}"


def of_paper(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of texts that the paper has, too: the others stand in for some of its own."""
    return table[table["task"].isin(PAPER)]


def every_text(table: pd.DataFrame, scale: str) -> str:
    """All texts are the paper's."""
    others = [task for task in table["task"].unique() if task not in PAPER]
    return f"the paper has other texts than {', '.join(others)}" if others else ""


def some_text(table: pd.DataFrame, scale: str) -> str:
    """Some text is the paper's."""
    return "" if len(of_paper(table)) else every_text(table, scale)


def texts_alone(table: pd.DataFrame, scale: str) -> str:
    """Besides MANO, all texts are the paper's."""
    return every_text(table[table["task"] != "mano"], scale)
