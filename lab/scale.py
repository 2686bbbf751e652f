"""The scales of figures: how large the models are, and how long they train."""

from __future__ import annotations

from collections.abc import Collection

from lab.errors import check_choice

SCALES = {
    "smoke": "seconds, for tests: the machinery runs, the numbers mean nothing",
    "laptop": "the default: minutes on 2 CPU cores, smaller than the paper, the effect visible",
    "overnight": "a night of 2 CPU cores a paper, for figures that a laptop's minutes are too short for",
    "paper": "the paper's own hyper-parameters: a GPU",
}
COMMON = ("smoke", "laptop", "paper")  # every figure has these


def check_scale(scale: str, known: Collection[str] = COMMON) -> str:
    """The scale, if it is one of those that are known: by default those that every figure has.

    >>> check_scale("laptop")
    'laptop'
    """
    return check_choice("scale", scale, known)
