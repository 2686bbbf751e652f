"""Where the settings of the activations paper come from."""

from __future__ import annotations

from collections.abc import Iterator

from lab.data import datasets
from lab.papers.activations.settings import EACH, FAMILIES, GUESSES, RECIPES, SIZES, TEXTS, model
from lab.papers.origin import SILENT, Field, Origin, shipped

RATE = "with GELU: .004 of .002, .004, .008 has the lowest loss on val in GPT-Neo (in RoBERTa .002 is .02 nats lower)"


def origin(scored: bool = False) -> Origin:
    """Where these settings come from. scored: models read BLiMP, too.

    >>> origin().departures("laptop")[1].partition(",")[0]
    'width 64 (paper 512)'
    """
    return Origin(
        data=lambda scale: shipped([TEXTS[scale].corpus]), facts=lambda scale: _facts(scale, scored), guesses=GUESSES
    )


def _facts(scale: str, scored: bool) -> Iterator[Field | str]:
    if scale != "paper":
        text = "Shakespeare's plays" if scale == "laptop" else "a novel"
        yield f"{text}, by characters: {datasets.entry(TEXTS[scale].corpus).shape}"
    printed = _sizes("paper")
    for name, value in _sizes(scale).items():
        yield Field(name, value, printed[name], "paper, the names of its models")
    recipe, guess = RECIPES[scale], "guess, the paper does not say"
    yield Field("context", TEXTS[scale].context, SILENT, guess)
    yield Field("steps", recipe.steps, SILENT, guess)
    yield Field("batch", recipe.batch, SILENT, guess)
    yield Field("peak rate", recipe.rate, SILENT, RATE if scale == "laptop" else guess)
    if scored:
        yield Field("pairs of each paradigm of BLiMP", EACH[scale], EACH["paper"], "all there are")


def _sizes(scale: str) -> dict[str, object]:
    sizes = SIZES[scale]
    return {
        "width": sizes["width"],
        "layers": sizes["layers"],
        "heads": sizes["heads"],
        "inner width": sizes["inner"],
        "KAN's inner widths": tuple(model(scale, family, "kan").hidden for family in FAMILIES),
    }
