"""Perceptrons on collages of two tiles (simplicity paper, Sec. 3.4 and App. E.5): hyper-parameters at each scale, and
where each comes from.

`paper` has what Appendix E.5 says. Its data, CIFAR-10 and SVHN, have no open licence: `laptop` has a collage of two
sets that the lab ships, and larger, fewer steps; `overnight` has the same steps on parts of the paper's MNIST and
CIFAR-10 (`lab data` says how to get that of CIFAR-10); `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lab.data import datasets
from lab.papers.origin import Field, Origin, shipped
from lab.papers.simplicity.origin import numbers_of
from lab.scale import SCALES, check_scale, model_scale
from lab.spec import ConstantRate, EpisodeSpec, Learned, Part, Perceptron, Restart, RunSpec, replace
from lab.tasks import Collage, SingleTileCollage
from lab.tasks.collage import TILES

# "easy" is the tile that ReLU relies on. MNIST and Fashion-MNIST: Fashion-MNIST, .45 against .40 on the two unambiguous
# validation sets after 400 steps (seed 0, the laptop setting without spectral normalization).
SHIPPED = Collage("fashion_mnist_sample", "mnist_sample")
CIFAR_PART = Collage("mnist_sample", "cifar10_4k1k")
CIFAR, SVHN = Collage("mnist", "cifar10"), Collage("mnist", "svhn")
EVALUATE = ("test", "val", "test_easy", "test_hard", "val_easy", "val_hard")
FOR = {tile: f"learned for {tile}" for tile in TILES}  # methods by the tile whose validation set a function is for
ALONE = {tile: f"ReLU, {tile} alone" for tile in TILES}  # trained where only this tile tells the label
SEEDS = {"smoke": 2, "laptop": 3, "overnight": 6, "paper": 6}

# Accuracy of ReLU on the ambiguous val after 400 steps (seed 0) at .03, .1, .3 and 1: .95, .96, then it diverges; with
# spectral normalization .91, .95, .95, .96. One rate for both: the highest at which neither diverges. On parts of MNIST
# and CIFAR-10 (seed 100): .86, .89, .61, .10; with spectral normalization .78, .84, .85, .85.
_LAPTOP_RATE = 0.1
_RECIPES = {
    "smoke": ConstantRate(steps=6, rate=_LAPTOP_RATE, batch=256, average=2, keep="last", every=2),
    "laptop": ConstantRate(steps=400, rate=_LAPTOP_RATE, batch=1024, average=10, keep="last", every=10),
    "paper": ConstantRate(steps=10_000, rate=0.01, batch=4096, keep="last", every=50),
}


@dataclass(frozen=True)
class Shortcut:
    """One collage, with or without spectral normalization."""

    task: Collage
    model: Perceptron
    recipe: ConstantRate
    scale: str  # whose searches it has

    def search(self, tile: str) -> EpisodeSpec:
        """The search for the function that does best where only this tile tells the label."""
        watch, settings = f"val_{tile}", _SEARCH[self.scale]
        retrain = replace(self.recipe, keep="best", watch=watch)
        inner = ConstantRate(settings.inner, self.recipe.rate, batch=min(256, self.recipe.batch or 256))
        if self.scale == "paper":
            inner = replace(inner, batch=self.recipe.batch)
        return EpisodeSpec(
            self.task,
            self.model,
            inner,
            retrain,
            settings.restarts,
            episodes=settings.episodes,
            growth=float(settings.inner),
            held_out=HELD_OUT,
            objective=watch,
            normalized=True,
        )

    def runs(self, method: str, seeds: int) -> list[RunSpec]:
        """One run a seed."""
        task = self.task
        phi: Part = "relu"
        for tile in TILES:
            if method == FOR[tile]:
                phi = Learned(self.search(tile), "phi")
            elif method == ALONE[tile]:
                task = SingleTileCollage(task.easy, task.hard, tile)
        return [RunSpec(task, replace(self.model, phi=phi), self.recipe, seed, EVALUATE) for seed in range(seeds)]


def shortcut(scale: str = "laptop", spectral: bool = True, task: Collage = CIFAR) -> Shortcut:
    """The setting of a collage. task: that of paper scale; the others have one each.

    >>> setting = shortcut("laptop")
    >>> setting.task.name, setting.search("hard").objective, setting.runs("ReLU", seeds=2)[1].seed
    ('fashion_mnist_sample over mnist_sample', 'val_hard', 1)
    """
    if check_scale(scale, SCALES) != "paper":
        task = CIFAR_PART if scale == "overnight" else SHIPPED
    like = model_scale(scale)
    return Shortcut(task, Perceptron(width=8 if scale == "smoke" else 32, spectral=spectral), _RECIPES[like], like)


HELD_OUT = 0.01  # of the training rows of an episode, which nothing is measured on: the objective has rows of its own
# App. C starts at zero or ReLU, with t = 5 and rates of .01 to .2. On the laptop collages with spectral normalization,
# 50 episodes from ReLU towards the hard tile at rate .1 or .3, with t = 5 or 20, moved val_hard by .02 at most; t made
# no difference. So t is 5, and the time goes into episodes.
_LAPTOP_RESTARTS = tuple(
    Restart(seed, rate, knots=101, window=5, start=start)
    for seed, (start, rate) in enumerate((("relu", 0.1), ("relu", 0.3), ("zero", 0.3)))
)


class _Episodes(NamedTuple):
    """How long a search is. inner: steps of an episode."""

    inner: int
    episodes: int
    restarts: tuple[Restart, ...]


_SEARCH = {
    "smoke": _Episodes(2, 2, (Restart(0, 0.1, 21, 1, "relu"), Restart(1, 0.1, 21, 1, "relu"))),
    "laptop": _Episodes(40, 150, _LAPTOP_RESTARTS),
    "paper": _Episodes(
        500, 200, _LAPTOP_RESTARTS + (Restart(3, 0.05, 101, 5, "relu"), Restart(4, 0.1, 101, 5, "zero"))
    ),
}


GUESSES = (
    "tiles are grey, 16 × 16, one above the other (lab.tasks.collage); weights as everywhere in the lab",
    "number of steps, evaluations and seeds; the whole search (App. C has ranges)",
    "episodes are equally long from the first on: where only one tile tells the label, the loss grows with"
    " training, and functions of short episodes would always look best",
    "the loss is the cross-entropy of logits",
)


def origin(paper: Collage, spectral: tuple[bool, ...]) -> Origin:
    """Of entries that train on collages. paper: the paper's. spectral: which kinds of models it has."""

    def facts(scale: str) -> Iterator[Field | str]:
        here, theirs = shortcut(scale, task=paper).task, _fields("paper", paper, spectral)
        if here == CIFAR_PART:
            parts = (f"{image_title(source)} ({datasets.entry(source).shape})" for source in here.sources)
            yield f"collages of parts of {' and '.join(parts)}"
        elif here != paper:
            names = " and ".join(image_title(source) for source in here.sources)
            missing = image_title(paper.hard)
            yield (
                f"collages of {names}, because {missing} has no open licence and is not shipped"
                f" (paper: {image_title(paper.easy)} and {missing})"
            )
        for name, value in _fields(scale, paper, spectral).items():
            known, other = name in _APPENDIX, "sweep with ReLU on val at laptop scale" if name == "rate" else ""
            source = "paper, App. E.5" if known else "guess, the paper does not say"
            yield Field(name, value, theirs[name], source, other, in_caption=known)

    return Origin(lambda scale: shipped(shortcut(scale, task=paper).task.sources), facts, GUESSES)


def _fields(scale: str, task: Collage, spectral: tuple[bool, ...]) -> dict[str, object]:
    setting = shortcut(scale, spectral[0], task)
    search = setting.search("easy")
    return {
        "width": setting.model.width,
        "batch": setting.recipe.batch,
        "rate": setting.recipe.rate,
        "spectral normalization": list(spectral),
        "steps": setting.recipe.steps,
        "weights averaged over the last steps": setting.recipe.average,
        "search: batch": search.inner.batch,
        "search: inner steps": search.inner.steps,
        **numbers_of(search),
    }


_APPENDIX = ("width", "batch", "rate", "spectral normalization")
_TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "cifar10": "CIFAR-10", "svhn": "SVHN"}


def image_title(source: str) -> str:
    """The name of an image set as figures spell it.

    >>> image_title("fashion_mnist_sample")
    'Fashion-MNIST'
    """
    name = source.removesuffix("_sample").removesuffix("_4k1k")
    return _TITLES.get(name, name)
