"""Hyper-parameters of the speedrun's model at each scale, and where each comes from.

`paper` is record 16 of the NanoGPT speedrun as the paper's counts of weights have it. `laptop` has a text that is
shipped, and models of a twelfth of the width; `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.models.speedrun import SpeedrunModel
from lab.papers.origin import SILENT, Field, Origin, shipped
from lab.scale import check_scale
from lab.spec import Learned, Part, RunSpec, SearchSpec, Shaped, replace
from lab.tasks import Text
from lab.training.muon import MuonRecipe

LINEAR, RELU, GELU, SPLINE, POLYNOMIAL = "linear MLP", "ReLU", "GELU", "ours MLP", "polynomial"
METHODS = (LINEAR, RELU, GELU, SPLINE, POLYNOMIAL)
DEGREE = 18  # of the paper's polynomial
SEEDS = {"smoke": 2, "laptop": 2, "paper": 3}
DEPTHS = {"smoke": (2, 4), "laptop": (2, 4, 8), "paper": (2, 4, 8, 10, 12)}
DEGREES = {"smoke": (2, 4), "laptop": (4, 8, 12, DEGREE), "paper": (4, 8, 12, DEGREE)}
LAYERS_7 = {"smoke": 2, "laptop": 2, "paper": 6}  # of Table 7
SEARCH_LAYERS = 2  # of the models that the function is learned in
MODELS = {"smoke": 2, "laptop": 3, "paper": 3}
TEXTS = {
    "smoke": Text("moby_dick", context=16),
    "laptop": Text("shakespeare", context=64),
    "paper": Text("fineweb_shard", "gpt2", context=1024),
}
NAMES = tuple(dict.fromkeys(text.name for text in TEXTS.values()))
_SIZES = {
    "smoke": SpeedrunModel(heads=2, width=8, window=128),
    "laptop": SpeedrunModel(heads=4, width=64, window=128),
    "paper": SpeedrunModel(precision="bfloat16"),
}
_SMALL = {  # Table 7, and where the function is learned
    "smoke": _SIZES["smoke"],
    "laptop": _SIZES["laptop"],
    "paper": SpeedrunModel(heads=4, width=256, precision="bfloat16"),
}
_RECIPES = {
    "smoke": MuonRecipe(steps=4, batch=2, rising=2, every=2),
    "laptop": MuonRecipe(steps=200, batch=16, rising=50, every=50),
    "paper": MuonRecipe(),
}
KNOTS, SPLINE_RATE, START = 121, 0.005, "relu"


def search(scale: str) -> SearchSpec:
    """The search for the function, in small models of two layers. It starts at ReLU: at zero these have no gradient.

    >>> search("paper").model.width, search("paper").model.layers
    (256, 2)
    """
    model = replace(_SMALL[check_scale(scale)], layers=SEARCH_LAYERS, mlp=RELU.lower())
    recipe = _RECIPES[scale]
    return SearchSpec(
        TEXTS[scale], model, recipe, models=MODELS[scale], knots=KNOTS, spline_rate=SPLINE_RATE, start=START
    )


def part(method: str, scale: str, degree: int = DEGREE) -> Part:
    """The non-linearity of a method."""
    if method in (LINEAR, RELU, GELU):
        return {LINEAR: "identity", RELU: "relu", GELU: "gelu"}[method]
    learned = Learned(search(scale))
    return learned if method == SPLINE else Shaped(learned, "polynomial", degree)


def runs(scale: str, phi: Part, layers: int, seeds: int, small: bool = False) -> list[RunSpec]:
    """One run a seed. small: of Table 7's width."""
    model = replace((_SMALL if small else _SIZES)[scale], layers=layers, mlp=phi)
    return [RunSpec(TEXTS[scale], model, _RECIPES[scale], seed, ("test",)) for seed in range(seeds)]


GUESSES = (
    "record 16 without its embeddings of values, which the paper's counts of weights do not have",
    "tokens of a window, steps and batch: the record's; knots, their rate, and that the search starts at ReLU",
    "which degrees Table 7 has",
)


def origin(depths: bool = True) -> Origin:
    """Where these settings come from. depths: of Table 6; else of Table 7."""

    def facts(scale: str) -> Iterator[Field | str]:
        if scale != "paper":
            yield f"{TEXTS[scale].name} in the place of FineWeb"
        theirs = _numbers("paper", depths)
        for name, value in _numbers(scale, depths).items():
            guessed = name in ("context", "M", "degrees")
            source = "guess, the paper does not say" if guessed else "paper, App. E and F; record 16 of the speedrun"
            yield Field(name, value, SILENT if guessed else theirs[name], source)

    return Origin(lambda scale: shipped([TEXTS[scale].corpus]), facts, GUESSES)


def _numbers(scale: str, depths: bool) -> dict[str, object]:
    model, recipe = (_SIZES if depths else _SMALL)[scale], _RECIPES[scale]
    numbers: dict[str, object] = {"layers": list(DEPTHS[scale])} if depths else {"layers": LAYERS_7[scale]}
    numbers |= {} if depths else {"degrees": list(DEGREES[scale])}
    return numbers | {
        "width": model.width,
        "heads": model.heads,
        "precision": model.precision,
        "context": TEXTS[scale].context,
        "steps": recipe.steps,
        "batch": recipe.batch,
        "peak rate": recipe.rate,
        "M": MODELS[scale],
    }
