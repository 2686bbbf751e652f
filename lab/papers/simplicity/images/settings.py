"""Perceptrons on image sets (simplicity paper, Sections 3.1 and 3.2, App. E.2): hyper-parameters at each scale, and
where each comes from.

`paper` has what Appendices C, E.1 and E.2 say, on the sets that are here; `laptop` is narrower, takes fewer steps, and
trains on the samples that the lab ships; `overnight` has the laptop's models, on whole sets with an open licence (`lab
data fetch mnist`), long enough for a baseline near the paper's, and longer searches; `smoke` only runs the machinery.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from lab.data import datasets
from lab.errors import ArgumentError
from lab.papers.entry import Field, Origin, compared
from lab.scale import SCALES, check_scale, model_scale
from lab.spec import ConstantRate, EpisodeSpec, Learned, Part, Perceptron, Restart, RunSpec, replace
from lab.tasks import Images

SETS = ("mnist", "fashion_mnist", "svhn", "cifar10")  # as in Figure 16
TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "svhn": "SVHN", "cifar10": "CIFAR-10"}
CLASSIFICATION, REGRESSION = "classification", "regression"
TARGETS = {CLASSIFICATION: "class", REGRESSION: "id"}
RELU, FROM_RELU, FROM_ZERO, PER_LAYER = "ReLU", "learned from ReLU", "learned from zero", "layer-specific"
METHODS = (RELU, FROM_RELU, FROM_ZERO, PER_LAYER)
FIRST = ("mnist",)  # of the main paper's Figures 3 and 4
OPEN = ("mnist", "fashion_mnist")  # sets with an open licence: the lab ships samples, and a night has the whole
DEPTHS = {"smoke": (1, 2)} | dict.fromkeys(("laptop", "overnight", "paper"), (1, 2, 3, 4))  # hidden layers
# hidden layers of the models that functions are learned with
BASE = {"smoke": 2, "laptop": 2, "overnight": 2, "paper": 3}
# of the models that layer-specific functions are learned with: each depth needs a search of its own
SEARCHED_DEPTHS = {"smoke": (2,), "laptop": (2,), "overnight": (2,), "paper": (2, 3, 4)}
SEEDS = {"smoke": 2, "laptop": 3, "overnight": 3, "paper": 6}  # the paper does not say how many
WIDTHS = {"smoke": 8, "laptop": 128, "paper": 256}  # the paper does not say
SEARCH_WIDTHS = {"smoke": 4, "laptop": 32, "paper": 64}

# Chosen with ReLU for each set on val (docs/log.md), as in the paper (App. E.1), and used with all functions.
RATE, _MORE = 0.003, {(scale, "mnist", REGRESSION): 0.01 for scale in ("smoke", "laptop", "paper")}
RATE_FROM = "sweep with ReLU on val at laptop scale"
# In regression ReLU still gets better after 300 steps; in classification all of `train` is right after 150.
_STEPS = {"smoke": (4, 4), "laptop": (300, 600), "overnight": (2_000, 4_000), "paper": (5_000, 5_000)}
_RECIPES = {
    "smoke": ConstantRate(steps=0, rate=RATE, batch=64, optimizer="adam", average=2, every=2),
    "laptop": ConstantRate(steps=0, rate=RATE, batch=512, optimizer="adam"),
    "paper": ConstantRate(steps=0, rate=RATE, batch=4_096, optimizer="adam"),
}
# Of the search: App. C has gradient descent on the knots, rates of .01 to .2, 50 to 400 knots, t of 1 to 50, and starts
# from zero or ReLU; Section 2.3 about 50 knots on [-5, 5].
_INNER: dict[str, Any] = {"smoke": {"steps": 2}, "laptop": {"steps": 100, "batch": 256}, "paper": {"steps": 500}}
_EPISODES: dict[str, Any] = {
    "smoke": {"episodes": 2},
    "laptop": {"episodes": 120, "growth": 1.25},
    "overnight": {"episodes": 160, "growth": 1.25},
    "paper": {"episodes": 400, "growth": 1.25},
}


def _restarts(*pairs: tuple[float, int], knots: int = 51) -> dict[str, tuple[Restart, ...]]:
    """Restarts by method, one for each rate of the knots and t; of layer-specific functions the best ones are kept."""
    return {
        method: tuple(
            Restart(seed, rate, knots, window, start)
            for seed, (start, (rate, window)) in enumerate(product(starts, pairs))
        )
        for method, starts in ((FROM_RELU, ["relu"]), (FROM_ZERO, ["zero"]), (PER_LAYER, ["relu", "zero"]))
    }


# Rates of the knots and t; docs/log.md has what was tried.
_RESTARTS = {
    "smoke": _restarts((0.1, 1), knots=21),
    "laptop": _restarts((0.03, 5), (0.05, 5), (0.05, 1)),
    "overnight": _restarts((0.05, 5), (0.1, 5), (0.2, 5), (0.1, 1)),
    "paper": _restarts(*product((0.02, 0.05, 0.1, 0.2), (1, 5))),
}
GUESSES = (
    "optimizer, learning rate, width, number of steps and of seeds; the paper tunes the first two with ReLU and does"
    " not print them",
    "images other than those of MNIST and SVHN are not cropped",
    "weights He-normal and biases uniform, as everywhere in the lab; residual sums begin at the second hidden layer,"
    " because the first one changes the width",
    "the gradient of the knots is divided by its length; layer-specific functions start from ReLU and from zero",
)


def data_of(scale: str, name: str) -> str | None:
    """The data that stands for one of the paper's sets: the lab's sample; the whole set for a night; at paper scale the
    whole set, or its sample, where one is here. None where there is none.

    >>> data_of("laptop", "mnist"), data_of("overnight", "mnist"), data_of("laptop", "cifar10")
    ('mnist_sample', 'mnist', None)
    """
    if check_scale(scale, SCALES) == "paper":
        return datasets.best(name)
    return (name if scale == "overnight" else f"{name}_sample") if name in OPEN else None


def sample(table: pd.DataFrame, scale: str) -> str:
    """What stands in for a whole set, of claims that a night measures on a sample, too."""
    return "" if scale == "paper" else "a sample of 5,000 images in place of a whole set"


def present(scale: str, names: Sequence[str] = SETS) -> tuple[str, ...]:
    """Those of the paper's sets that have data at this scale."""
    return tuple(name for name in names if data_of(scale, name))


@dataclass(frozen=True)
class Setting:
    """One image set in one mode: the models that are trained on it, and the searches for their functions."""

    scale: str
    task: Images
    model: Perceptron  # its number of layers is that of the models that functions are learned with
    recipe: ConstantRate
    base: EpisodeSpec  # with no restarts: those of a method

    def search(self, method: str, depth: int | None = None) -> EpisodeSpec:
        """The search for the function of a method, with models of `depth` hidden layers (None: BASE)."""
        if method not in METHODS or method == RELU:
            raise ArgumentError(f"nothing is learned for {method!r}; give one of {', '.join(METHODS[1:])}")
        model = self.base.model if depth is None else replace(self.base.model, layers=depth)
        learn = "layers" if method == PER_LAYER else "shared"
        return replace(self.base, model=model, learn=learn, restarts=_RESTARTS[self.scale][method])

    def runs(self, method: str, depth: int, seeds: int) -> list[RunSpec]:
        """One run a seed. One function is learned for all depths; of those by layer each depth has its own."""
        phi: Part | tuple[Part, ...] = "relu"
        if method == PER_LAYER:
            phi = tuple(Learned(self.search(method, depth), f"phi{layer}") for layer in range(depth))
        elif method != RELU:
            phi = Learned(self.search(method), "phi")
        model = replace(self.model, layers=depth, phi=phi)
        return [RunSpec(self.task, model, self.recipe, seed, ("test", "train")) for seed in range(seeds)]


def images(scale: str = "laptop", name: str = "mnist", mode: str = CLASSIFICATION) -> Setting:
    """The settings of an image set as classification or regression.

    >>> setting = images("laptop", "fashion_mnist", "regression")
    >>> setting.task.name, setting.model.width
    ('fashion_mnist_sample as numbers', 128)
    >>> setting.search(FROM_ZERO).learn, setting.search(PER_LAYER, depth=2).learn
    ('shared', 'layers')
    """
    if name not in SETS or mode not in TARGETS:
        raise ArgumentError(f"{name!r}, {mode!r}: give a set of {', '.join(SETS)} and {' or '.join(TARGETS)}")
    source = data_of(scale, name)
    if source is None and scale == "paper":
        datasets.load(name)  # it is not here: says how to get it
    if source is None:
        raise ArgumentError(f"{TITLES[name]} has no data for scale {scale}; take one of {', '.join(present(scale))}")
    task = Images(source, target=TARGETS[mode])
    of = model_scale(scale)
    model = Perceptron(BASE[scale], WIDTHS[of], residual=True)
    steps = _STEPS[scale][list(TARGETS).index(mode)]
    recipe = replace(_RECIPES[of], steps=steps, rate=_MORE.get((scale, name, mode), RATE))
    narrow, inner = replace(model, width=SEARCH_WIDTHS[of]), replace(recipe, **_INNER[of])
    base = EpisodeSpec(task, narrow, inner, recipe, (), retrain_width=model.width, normalized=True, **_EPISODES[scale])
    return Setting(scale, task, model, recipe, base)


def _fields(scale: str) -> dict[str, tuple[object, str]]:
    each = [images(scale, name, mode) for name in present(scale) for mode in TARGETS]
    setting, recipe, search = each[0], each[0].recipe, each[0].base
    restarts = _RESTARTS[scale].values()
    guess = "guess, the paper does not say"

    def values(name: str) -> list:
        return sorted({getattr(restart, name) for tries in restarts for restart in tries})

    return {
        "hidden layers": (list(DEPTHS[scale]), "paper, App. E.2"),
        "width": (setting.model.width, guess),
        "optimizer": (recipe.optimizer, RATE_FROM),
        "rate": (sorted({one.recipe.rate for one in each}), RATE_FROM),
        "batch": (recipe.batch, "paper, App. E.1"),
        "steps": (sorted({one.recipe.steps for one in each}), guess),
        "weights averaged over the last steps": (recipe.average, "paper, App. E.1"),
        "search: hidden layers": (search.model.layers, "paper, Section 3.1: a 3-layer MLP"),
        "search: width": (search.model.width, "guess; the paper has small widths"),
        "search: batch": (search.inner.batch, "paper, App. E.1"),
        "search: episodes": (search.episodes, guess),
        "search: most inner steps": (search.inner.steps, guess),
        "search: restarts by method": ([len(tries) for tries in restarts], guess),
        "search: rates of knots": (values("rate"), "paper, App. C: .01 to .2"),
        "search: numbers of knots": (values("knots"), "paper, Section 2.3 and App. C: 50 to 400"),
        "search: inner steps differentiated": (values("window"), "paper, App. C: 1 to 50, typically 5"),
        "search: range of knots": ([search.low, search.high], "paper, Section 2.3"),
    }


# In the paper's ranges, or not printed in it: provenance has them, captions would be too long.
_OF_SEARCHES = (
    "search: episodes",
    "search: most inner steps",
    "search: restarts by method",
    "search: rates of knots",
    "search: numbers of knots",
    "search: inner steps differentiated",
)


def _words(field: Field) -> str:
    def said(value: object) -> str:
        return " and ".join(map(str, value)) if isinstance(value, list) else str(value)

    return f"{field.name} {said(field.value)} (paper scale {said(field.paper)})"


def origin(
    names: tuple[str, ...] = SETS,
    numbers: Callable[[str], dict[str, tuple[object, str]]] = _fields,
    data_scale: Callable[[str], str] = lambda scale: scale,
) -> Origin:
    """Of entries on image sets. names: of the paper's sets that the figure shows. numbers: of another setting.
    data_scale: the scale whose data a scale trains on."""

    def known(scale: str) -> dict[str, datasets.Dataset]:
        """What stands for each of the sets that are here."""
        return {name: datasets.entry(data) for name in names if (data := data_of(data_scale(scale), name))}

    def data(scale: str) -> list[dict]:
        return [
            {
                "name": one.name,
                "from": f"{one.name}, {one.about} ({one.shape}; {one.licence})",
                "sha256": one.digest or datasets.load(one.name).digest,
            }
            for one in known(scale).values()
        ]

    def facts(scale: str) -> Iterator[Field | str]:
        here = known(scale)
        if parts := [f"{TITLES[name]} ({one.shape})" for name, one in here.items() if one.sample_of]:
            yield f"parts of {', '.join(parts)}"
        if gone := [TITLES[name] for name in names if name not in here]:
            reason = "they are not here" if scale == "paper" else "they have no open licence, so the lab ships none"
            yield f"left out: {', '.join(gone)} ({reason})"
        for field in compared(numbers, scale):
            yield replace(field, in_caption=field.name not in _OF_SEARCHES)

    return Origin(data, facts, GUESSES, words=_words)
