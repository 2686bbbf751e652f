"""What the hypernetwork paper claims of latent codes on fuzzy logic (Fig. 2B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim
from lab.papers.hypernetwork.claims import LONGER, decodable

if TYPE_CHECKING:
    import pandas as pd


CONTEXT, QUERY = "context", "query"  # what varies from sequence to sequence


def of_context(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of sequences that differ in what is shown in context, not in the query."""
    return table[table["varied"] == CONTEXT]


FIG2B = (
    Claim(
        "decodable",
        "The terms of each function can be decoded from the latent code (the context varies)",
        lambda table: decodable(of_context(table)),
        decides=LONGER,
    ),
    Claim(
        "decodable-query",
        "The same where the query varies, and the points in context stay, as the text has it",
        lambda table: decodable(table[table["varied"] == QUERY]),
        decides=LONGER,
    ),
)
