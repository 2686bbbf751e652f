"""The scales of figures: how large the models are, and how long they train."""

from collections.abc import Collection

from lab.errors import check_choice

SCALES = {
    "smoke": "seconds; for tests: everything runs, the numbers mean nothing",
    "laptop": "minutes on 2 CPU cores (the default); smaller than the paper, but the effect shows",
    "overnight": "a night of 2 CPU cores for each paper; figures for which minutes are too short",
    "paper": "the paper's own hyper-parameters; needs a GPU, or nights of a CPU",
}
COMMON = ("smoke", "laptop", "paper")  # every figure has these
BEST = "best"  # the largest scale at which a figure's results, or a trained model, are here: shipped or trained


def check_scale(scale: str, known: Collection[str] = COMMON) -> str:
    """The scale, if it is one of those that are known: by default those that every figure has.

    >>> check_scale("laptop")
    'laptop'
    """
    return check_choice("scale", scale, known)


def largest_first(scale: str) -> tuple[str, ...]:
    """Where to look for a trained model: at a scale, or for "best" at all but smoke.

    >>> largest_first("best"), largest_first("laptop")
    (('paper', 'overnight', 'laptop'), ('laptop',))
    """
    if scale != BEST:
        return (check_choice("scale", scale, (*SCALES, BEST)),)
    return tuple(name for name in reversed(SCALES) if name != "smoke")


def training_scale(scale: str) -> str:
    """The scale at which something is trained: laptop where the best is asked for.

    >>> training_scale("best"), training_scale("smoke")
    ('laptop', 'smoke')
    """
    return "laptop" if scale == BEST else scale


def model_scale(scale: str) -> str:
    """The scale whose models a scale has: a night trains a laptop's models, longer, on more data or from more seeds.

    >>> model_scale("overnight"), model_scale("paper")
    ('laptop', 'paper')
    """
    return "laptop" if check_scale(scale, SCALES) == "overnight" else scale
