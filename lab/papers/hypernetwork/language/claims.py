"""What the hypernetwork paper claims of language models (Fig. 6). Losses are in nats a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, text_in_place_of
from lab.papers.hypernetwork.language.settings import TEXTS
from lab.papers.runs import compare_one

if TYPE_CHECKING:
    import pandas as pd

ON_C4 = "C4 with 50 million weights and 130 billion tokens; many GPUs"
COVERS = "seeds"


on_c4 = text_in_place_of("C4", [TEXTS["paper"].name])


def _last(table: pd.DataFrame) -> dict[str, list[float]]:
    """Losses at the end, by method; NaN for a diverged run."""
    rows = table[table["step"] == table["step"].max()]
    losses = rows["loss"].astype(float).where(~rows["diverged"].astype(bool))
    return {method: group.tolist() for method, group in losses.groupby(rows["method"])}


def _below_linear(table: pd.DataFrame) -> Verdict:
    return Verdict(compare_one(_last(table), "linear", "hyla", COVERS), above=0.0, unit="nats")


def _close_to_softmax(table: pd.DataFrame) -> Verdict:
    """What linear attention loses to softmax: HYLA keeps at most half of it."""
    losses = _last(table)
    half = [(one + other) / 2 for one, other in zip(losses["linear"], losses["softmax"], strict=False)]
    return Verdict(compare_one(losses | {"half": half}, "half", "hyla", COVERS), above=0.0, unit="nats")


FIG6 = (
    Claim(
        "below-linear",
        "HYLA improves language modelling over linear attention",
        _below_linear,
        decides=ON_C4,
        stands_in=on_c4,
    ),
    Claim(
        "close-to-softmax",
        "HYLA performs closely to softmax attention (nearer to it than to linear attention)",
        _close_to_softmax,
        decides=ON_C4,
        stands_in=on_c4,
    ),
)
