"""Where the settings of the activations paper come from."""

from __future__ import annotations

from collections.abc import Iterator

from lab.data import datasets
from lab.papers.activations.settings import EACH, FAMILIES, RECIPES, SIZES, TEXTS, model
from lab.papers.origin import SILENT, Field, Origin, shipped

GUESSES = (
    "the text that models are trained on, its tokens and the context: BabyLM's ten million words, whose evaluation the"
    " paper uses; GPT-2's tokens that occur 100 times or more",
    "steps, batch and learning rate, one rate for all activations; Adam without weight decay; no dropout",
    "RoBERTa's masks: 15 % of the tokens, as it is published",
    "Swish is x σ(β x), as in the paper that it cites; the formula that is printed has one x more",
    "gated layers have two thirds of the width, so that they have as many weights",
    "the grid and the order of a KAN: 5 and 3, as its authors have them; the paper says 3 and 5, respectively",
    "BLiMP by the conventions of BabyLM's evaluation in 2023, on all pairs; equal scores count as wrong",
)
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
