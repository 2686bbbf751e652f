"""Collages: an easy image beside a hard one, to see which of the two a model relies on (simplicity paper, 3.4 and E.5).

In `train`, `val` and `test` both tiles have the same class, and the label is that class: the data are ambiguous. In
`…_easy` only the easy tile tells the label, and the other tile's class is random; in `…_hard` the other way round.
`train_easy` and `train_hard` are for the upper bounds: models that were trained on one tile alone (Figure 25).

The paper does not say how the tiles are laid out. Here each is grey, 16 × 16 (edges padded with black to 32 × 32, then
means of 2 × 2 pixels), the easy one on top of the hard one; that is a guess, after the works that the paper cites.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lab.data import datasets
from lab.errors import ArgumentError, check_choice, shown
from lab.tasks.images import CLASSES, parts_of
from lab.tasks.table import TableSplit, TableTask

GREY = (0.299, 0.587, 0.114)  # luma of red, green and blue, ITU-R BT.601
SIDE = 16  # pixels of a tile
PARTS = ("train", "val", "test")
TILES = ("easy", "hard")  # from top to bottom


@dataclass(frozen=True)
class Collage(TableTask):
    """Collages of images of two data sets; the paper's are of "mnist" with "cifar10" and with "svhn".

    Which images are combined is the same for every seed, so that runs with several seeds share their data.

    >>> task = Collage("mnist_sample", "fashion_mnist_sample")
    >>> task.name, task.inputs, task.outputs
    ('mnist_sample over fashion_mnist_sample', 512, 10)
    >>> sorted(task.split())
    ['test', 'test_easy', 'test_hard', 'train', 'train_easy', 'train_hard', 'val', 'val_easy', 'val_hard']
    """

    easy: str
    hard: str

    classes: ClassVar[int] = CLASSES
    loss_name: ClassVar[str] = "cross_entropy"
    inputs: ClassVar[int] = 2 * SIDE**2
    shape: ClassVar[tuple[int, int]] = (2 * SIDE, SIDE)

    def __post_init__(self):
        for source in (self.easy, self.hard):
            check_choice("image set", source, datasets.names("images"))
        if self.easy == self.hard:
            raise ArgumentError(f"a collage of {self.easy} with itself; name two data sets")

    @property
    def name(self) -> str:
        return f"{self.easy} over {self.hard}"

    @property
    def sources(self) -> tuple[str, ...]:
        return self.easy, self.hard

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """Nine splits (see the module), the same for every seed. latents: the class of each tile, "easy" and "hard"."""
        return _split(self)


@dataclass(frozen=True)
class SingleTileCollage(Collage):
    """The same collages, but trained on where one tile tells the label and the other is random: upper bounds (Fig. 25).

    tile: "easy" or "hard". `train`, `val` and `test` are what a `Collage` calls `train_easy`, … or `train_hard`, …; the
    other splits are as there.

    >>> task = SingleTileCollage("mnist_sample", "fashion_mnist_sample", "hard")
    >>> task.name, task.split()["train"] is task.split()["train_hard"]
    ('mnist_sample over fashion_mnist_sample, told by the hard one', True)
    """

    tile: str = "easy"

    def __post_init__(self):
        super().__post_init__()
        if self.tile not in TILES:
            raise ArgumentError(f"tile={shown(self.tile)}; give {' or '.join(TILES)}")

    @property
    def name(self) -> str:
        return f"{super().name}, told by the {self.tile} one"

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """Nine splits, the same for every seed."""
        return _single_tile(self)


def tiles(images: np.ndarray) -> Tensor:
    """Bytes (N, H, W) or (N, H, W, 3), at most 32 × 32, as grey tiles (N, SIDE, SIDE) float32 in [-1, 1]."""
    grey = torch.from_numpy(images.astype(np.float32))
    if grey.ndim == 4:
        grey = grey @ torch.tensor(GREY)
    height, width = 2 * SIDE - grey.shape[1], 2 * SIDE - grey.shape[2]
    if min(height, width) < 0:
        raise ArgumentError(f"images of {tuple(grey.shape[1:])} pixels; a tile has room for {2 * SIDE} × {2 * SIDE}")
    padded = F.pad(grey, (width // 2, width - width // 2, height // 2, height - height // 2))
    return F.avg_pool2d(padded[:, None], 2)[:, 0].div_(127.5).sub_(1)


@lru_cache(maxsize=3)  # 60,000 + 3 × 30,000 collages: about 300 MB
def _split(task: Collage) -> Mapping[str, TableSplit]:
    easy, hard = (parts_of(source, tiles) for source in task.sources)
    generator = torch.Generator().manual_seed(0)
    splits = {}
    for part in PARTS:
        for telling in ("", "_easy", "_hard"):
            splits[part + telling] = _combine(easy[part], hard[part], telling[1:], generator)
    return MappingProxyType(splits)


@lru_cache(maxsize=6)  # nothing is copied
def _single_tile(task: SingleTileCollage) -> Mapping[str, TableSplit]:
    splits = _split(Collage(task.easy, task.hard))
    return MappingProxyType({**splits, **{part: splits[f"{part}_{task.tile}"] for part in PARTS}})


def _combine(
    easy: tuple[Tensor, Tensor], hard: tuple[Tensor, Tensor], telling: str, generator: torch.Generator
) -> TableSplit:
    """As many collages as the smaller pool has images: of the telling tile ("": both) each at most once, of the other
    drawn."""
    count = min(len(easy[1]), len(hard[1]))
    first, second = (hard, easy) if telling == "hard" else (easy, hard)
    order = torch.randperm(len(first[1]), generator=generator)[:count]
    labels = first[1][order]
    wanted = torch.randint(CLASSES, (count,), generator=generator) if telling else labels
    partner = _draw(second[1], wanted, generator)
    rows = {"easy": order, "hard": partner} if first is easy else {"easy": partner, "hard": order}
    inputs = torch.cat([easy[0][rows["easy"]], hard[0][rows["hard"]]], 1).flatten(1)
    return TableSplit(inputs, labels, {"easy": easy[1][rows["easy"]], "hard": hard[1][rows["hard"]]})


def _draw(labels: Tensor, wanted: Tensor, generator: torch.Generator) -> Tensor:
    """For each class wanted (N,) the index of a random image that has it."""
    order, counts = labels.argsort(stable=True), labels.bincount(minlength=CLASSES)
    if not counts[wanted].all():
        raise ArgumentError("a class that one data set has is missing from the other; collages need the same ten")
    within = (torch.rand(len(wanted), generator=generator) * counts[wanted]).long()
    return order[(counts.cumsum(0) - counts)[wanted] + within.clamp(max=counts[wanted] - 1)]
