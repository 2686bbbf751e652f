"""The three scales at which every figure exists."""

from __future__ import annotations

from lab.errors import check_choice

SCALES = {
    "smoke": "seconds, for tests: the machinery runs, the numbers mean nothing",
    "laptop": "the default: minutes on 2 CPU cores, smaller than the paper, the effect visible",
    "paper": "the paper's own hyper-parameters: a GPU",
}


def check_scale(scale: str) -> str:
    """The scale, if there is one of that name.

    >>> check_scale("laptop")
    'laptop'
    """
    return check_choice("scale", scale, SCALES)
