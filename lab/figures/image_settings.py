"""Perceptrons on image sets (simplicity paper, Sections 3.1 and 3.2, App. E.2): hyper-parameters at each scale, and
where each comes from.

`paper` has what Appendices C, E.1 and E.2 say, on the sets that are here; `laptop` is narrower, takes fewer steps, and
trains on the samples that the lab ships; `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab import datasets
from lab.errors import ArgumentError
from lab.scale import check_scale
from lab.spec import Descent, EpisodeSpec, Learned, Part, Perceptron, Restart, RunSpec, replace
from lab.tasks import Images

SETS = ("mnist", "fashion_mnist", "svhn", "cifar10")  # as in Figure 16
TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "svhn": "SVHN", "cifar10": "CIFAR-10"}
CLASSIFICATION, REGRESSION = "classification", "regression"
TARGETS = {CLASSIFICATION: "class", REGRESSION: "id"}
RELU, FROM_RELU, FROM_ZERO, PER_LAYER = "ReLU", "learned from ReLU", "learned from zero", "layer-specific"
METHODS = (RELU, FROM_RELU, FROM_ZERO, PER_LAYER)
DEPTHS = {"smoke": (1, 2), "laptop": (1, 2, 3, 4), "paper": (1, 2, 3, 4)}  # hidden layers
BASE = {"smoke": 2, "laptop": 2, "paper": 3}  # hidden layers of the models that functions are learned with
SEEDS = {"smoke": 2, "laptop": 3, "paper": 6}  # the paper does not say how many
WIDTHS = {"smoke": 8, "laptop": 128, "paper": 256}  # the paper does not say
SEARCH_WIDTHS = {"smoke": 4, "laptop": 32, "paper": 64}

# Chosen with ReLU, as in the paper (App. E.1), and used with all functions. Accuracy on `val` of Fashion-MNIST as
# regression at laptop scale, 1 and 3 hidden layers, seed 0, at .001, .003 and .01: .415 .440 .415, .427 .436 .402.
RATE, _RATE_FROM = 0.003, "sweep with ReLU on val of Fashion-MNIST at laptop scale"
_RECIPES = {
    "smoke": Descent(steps=4, rate=RATE, batch=64, optimizer="adam", average=2, every=2),
    "laptop": Descent(steps=300, rate=RATE, batch=512, optimizer="adam"),
    "paper": Descent(steps=5_000, rate=RATE, batch=4_096, optimizer="adam"),
}


def data_of(scale: str, name: str) -> str | None:
    """The data that stands for one of the paper's sets: the lab's sample, at paper scale the whole set where it is
    here; None where neither is.

    >>> data_of("laptop", "mnist"), data_of("laptop", "cifar10")
    ('mnist_sample', None)
    """
    if check_scale(scale) == "paper":
        return datasets.best(name)
    sample = f"{name}_sample"
    return sample if sample in datasets.CATALOGUE else None


def present(scale: str) -> tuple[str, ...]:
    """The paper's sets that have data at this scale."""
    return tuple(name for name in SETS if data_of(scale, name))


@dataclass(frozen=True)
class Setting:
    """One image set in one mode: the models that are trained on it, and the searches for their functions."""

    scale: str
    task: Images
    model: Perceptron  # its number of layers is that of the models that functions are learned with
    recipe: Descent
    base: EpisodeSpec  # with no restarts: those of a method

    def search(self, method: str, depth: int | None = None) -> EpisodeSpec:
        """The search for the function of a method, with models of `depth` hidden layers (None: BASE)."""
        if method not in METHODS or method == RELU:
            raise ArgumentError(f"nothing is learned for {method!r}; give one of {', '.join(METHODS[1:])}")
        model = self.base.model if depth is None else replace(self.base.model, layers=depth)
        learn = "layers" if method == PER_LAYER else "shared"
        return replace(self.base, model=model, learn=learn, restarts=_RESTARTS[self.scale][method])

    def phi(self, method: str, depth: int) -> Part | tuple[Part, ...]:
        """What the hidden layers of a model of this depth have. One function is learned for all depths; of those by
        layer each depth has its own."""
        if method == RELU:
            return "relu"
        if method == PER_LAYER:
            search = self.search(method, depth)
            return tuple(Learned(search, f"phi{layer}") for layer in range(depth))
        return Learned(self.search(method), "phi")

    def runs(self, method: str, depth: int, seeds: int) -> list[RunSpec]:
        """One run a seed."""
        model = replace(self.model, layers=depth, phi=self.phi(method, depth))
        return [RunSpec(self.task, model, self.recipe, seed, ("test", "train")) for seed in range(seeds)]


def images(scale: str = "laptop", name: str = "mnist", mode: str = CLASSIFICATION) -> Setting:
    """The settings of an image set as classification or regression.

    >>> found = images("laptop", "fashion_mnist", "regression")
    >>> found.task.name, found.model.width, found.search(FROM_ZERO).learn, found.search(PER_LAYER, depth=2).learn
    ('fashion_mnist_sample as numbers', 128, 'shared', 'layers')
    """
    if name not in SETS or mode not in TARGETS:
        raise ArgumentError(f"{name!r}, {mode!r}: give a set of {', '.join(SETS)} and {' or '.join(TARGETS)}")
    source = data_of(scale, name)
    if source is None and scale == "paper":
        datasets.load(name)  # it is not here: says how to get it
    if source is None:
        raise ArgumentError(f"{TITLES[name]} has no sample for scale {scale}; take one of {', '.join(present(scale))}")
    task = Images(source, target=TARGETS[mode])
    model = Perceptron(BASE[scale], WIDTHS[scale], residual=True)
    recipe = _RECIPES[scale]
    narrow = replace(model, width=SEARCH_WIDTHS[scale])
    base = EpisodeSpec(task, narrow, _INNER[scale], recipe, (), retrain_width=model.width, **_EPISODES[scale])
    return Setting(scale, task, model, recipe, base)


# Of the search: App. C has gradient descent on the knots, rates of .01 to .2, 50 to 400 knots, t of 1 to 50, and starts
# from zero or ReLU; Section 2.3 about 50 knots on [-5, 5].
_INNER = {
    "smoke": replace(_RECIPES["smoke"], steps=2),
    "laptop": replace(_RECIPES["laptop"], steps=100, batch=256),
    "paper": replace(_RECIPES["paper"], steps=500),
}
_EPISODES = {
    "smoke": {"episodes": 2, "normalized": True},
    "laptop": {"episodes": 80, "growth": 1.25, "normalized": True},
    "paper": {"episodes": 400, "growth": 1.25, "normalized": True},
}


def _restarts(starts: Sequence[str], rates: Sequence[float], knots: int = 51, window: int = 5) -> tuple[Restart, ...]:
    pairs = [(start, rate) for start in starts for rate in rates]
    return tuple(Restart(seed, rate, knots, window, start) for seed, (start, rate) in enumerate(pairs))


def _methods(*rates: float, **more) -> dict[str, tuple[Restart, ...]]:
    """Restarts by method. Layer-specific functions start from both, and the better ones are kept."""
    starts = {FROM_RELU: ("relu",), FROM_ZERO: ("zero",), PER_LAYER: ("relu", "zero")}
    return {method: _restarts(of, rates, **more) for method, of in starts.items()}


_RESTARTS = {
    "smoke": _methods(0.1, knots=21, window=1),
    "laptop": _methods(0.05, 0.15),
    "paper": _methods(0.02, 0.05, 0.1, 0.2),
}
GUESSES = (
    "optimizer, learning rate, width, number of steps and of seeds; the paper tunes the first two with ReLU and does"
    " not print them",
    "images other than those of MNIST and SVHN are not cropped",
    "weights He-normal and biases uniform, as everywhere in the lab; residual sums begin at the second hidden layer,"
    " because the first one changes the width",
    "the gradient of the knots is divided by its length; layer-specific functions start from ReLU and from zero",
)
