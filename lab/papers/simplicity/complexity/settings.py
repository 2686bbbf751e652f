"""Perceptrons with TanH and a prefactor on a table (simplicity paper, App. E.4): hyper-parameters at each scale, and
where each comes from.

`paper` has what Appendix E.4 and the caption of Figure 29 say. `laptop` is narrower, takes fewer steps on fewer rows,
and trains on a table that the lab ships; `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.papers.origin import Field, Origin, beside_scale, compared, shipped
from lab.scale import check_scale
from lab.spec import ConstantRate, Perceptron, RunSpec, replace
from lab.tasks import Tabular

TABLES = {"smoke": "MagicTelescope", "laptop": "MagicTelescope", "paper": "electricity"}
# From .1 to 8 (Fig. 29), in steps of about the same factor; the paper does not say which ones it has.
PREFACTORS = (0.1, 0.15, 0.22, 0.33, 0.5, 0.75, 1.0, 1.6, 2.4, 3.6, 5.4, 8.0)
FEW = (0.1, 1.0, 8.0)  # where models are looked at one by one
LAYERS = {"smoke": (1, 2), "laptop": (1, 2), "paper": (1, 2, 3, 4)}
SEEDS = {"smoke": 2, "laptop": 3, "paper": 6}

# Chosen once with ReLU, as in the paper. Accuracy on `val` at laptop scale with batches of 1,024, seed 0, mean over 1
# to 3 hidden layers, at .0003, .001, .003 and .01: .799, .820, .823, .828. Not the last: divided by α = .1 it is .1.
RATE, RATE_FROM = 0.003, "sweep on val with ReLU at laptop scale, within .005 of the best"
_WIDTHS = {"smoke": 8, "laptop": 64, "paper": 256}
_RECIPES = {
    "smoke": ConstantRate(steps=6, rate=RATE, batch=256, optimizer="rmsprop", average=2, every=2),
    "laptop": ConstantRate(steps=300, rate=RATE, batch=512, optimizer="rmsprop"),
    "paper": ConstantRate(steps=3_000, rate=RATE, batch=4096, optimizer="rmsprop"),
}

GUESSES = (
    "which prefactors, how many layers, seeds and steps the models of Figure 29 have; here each combination once",
    "weights He-normal and biases uniform, as everywhere in the lab; the split is the tabular benchmark's",
)


def tanh(
    scale: str = "laptop", prefactor: float = 1.0, layers: int = 2, seed: int = 0, trajectory: int | None = None
) -> RunSpec:
    """A run with tanh(αx) in all hidden layers. trajectory: its weights are remembered every so many steps.

    >>> tanh("paper", prefactor=8.0).model.width, tanh("laptop").task.name
    (256, 'MagicTelescope')
    """
    recipe = replace(_RECIPES[check_scale(scale)], trajectory=trajectory)
    model = Perceptron(layers, _WIDTHS[scale], phi="tanh", prefactor=prefactor)
    return RunSpec(Tabular(TABLES[scale]), model, recipe, seed)


def origin(layers: dict[str, tuple[int, ...]], named: bool = True) -> Origin:
    """Of entries that train perceptrons with these settings. layers: hidden ones, by scale. named: whether the paper
    names the table of the figure."""

    def numbers(scale: str) -> dict[str, tuple[object, str]]:
        spec = tanh(scale)
        return {
            "hidden layers": (list(layers[scale]), "paper, App. E.4: 1 to 4"),
            "width": (spec.model.width, "paper, App. E.4"),
            "optimizer": (spec.recipe.optimizer, "paper, App. E.4"),
            "batch": (spec.recipe.batch, "paper, App. E.4"),
            "steps": (spec.recipe.steps, "guess"),
            "rate at α = 1 (divided by α)": (spec.recipe.rate, RATE_FROM),
            "weights averaged over the last steps": (spec.recipe.average, "paper, App. E.1"),
        }

    def facts(scale: str) -> Iterator[Field | str]:
        theirs = f"the paper has {TABLES['paper'].upper()}, which has no open licence"
        if not named:
            yield f"{TABLES[scale]}; the paper does not name its table"
        elif TABLES[scale] != TABLES["paper"]:
            yield f"{TABLES[scale]}, a table of the same benchmark, which the lab ships; {theirs}"
        yield from compared(numbers, scale)

    return Origin(lambda scale: shipped([TABLES[scale]]), facts, GUESSES, words=beside_scale)
