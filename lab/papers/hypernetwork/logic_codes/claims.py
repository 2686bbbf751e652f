"""What the hypernetwork paper claims of latent codes on fuzzy logic (Fig. 2B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim
from lab.papers.hypernetwork.claims import LONGER, LONGER_HOURS, decodable

if TYPE_CHECKING:
    import pandas as pd


CONTEXT, QUERY = "context", "query"  # what varies from sequence to sequence


def of_context(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of sequences that differ in what is shown in context, not in the query."""
    return table[table["varied"] == CONTEXT]


FIG2B = (
    Claim(
        "decodable",
        "Where the context varies, terms can be decoded (above shuffled labels and yes to every term)",
        lambda table: decodable(of_context(table)),
        decides=LONGER,
        hours=LONGER_HOURS,
    ),
    Claim(
        "decodable-query",
        "Where the query alone varies, terms can be decoded, too (above yes to every term)",
        lambda table: decodable(table[table["varied"] == QUERY]),
        decides=LONGER,
        hours=LONGER_HOURS,
    ),
)
