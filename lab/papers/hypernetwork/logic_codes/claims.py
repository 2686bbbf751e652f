"""What the hypernetwork paper claims of latent codes on fuzzy logic (Fig. 2B)."""

from __future__ import annotations

from lab.papers.claims import Claim
from lab.papers.hypernetwork.claims import LONGER, decodable

FIG2B = (
    Claim(
        "decodable",
        "It is possible to decode the terms underlying each function from the latent code",
        decodable,
        decides=LONGER,
    ),
)
