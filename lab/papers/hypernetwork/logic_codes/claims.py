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
        "Where the context varies, terms can be decoded from the latent code (above shuffled labels)",
        lambda table: decodable(of_context(table)),
        decides=LONGER,
    ),
    Claim(
        "decodable-query",
        "Where the query alone varies, terms can be decoded, too (above shuffled labels alone)",
        lambda table: decodable(table[table["varied"] == QUERY]),
        decides=LONGER,
    ),
)
