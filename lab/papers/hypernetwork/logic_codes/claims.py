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
        "It is possible to decode the terms underlying each function from the latent code",
        lambda table: decodable(of_context(table)),
        decides=LONGER,
    ),
)
