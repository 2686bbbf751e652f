"""Image sets as tables of pixels, to be classified, or to predict the class as a number (simplicity paper, App. E.2).

Pixels are scaled from 0..255 to [-1, 1]. The paper crops MNIST by 5 pixels on every side and SVHN by 8 on its left and
right, and says nothing of crops of the others. `train` loses as many images to "val" as "test" has (E.5).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from lab.data import datasets
from lab.errors import check_choice, check_flag
from lab.tasks.table import TableSplit, TableTask, class_ids, random_parts

CLASSES = 10
# rows and columns cut from (top and bottom, left and right), by the set that a name begins with
CROPS = {"mnist": (5, 5), "svhn": (0, 8)}
TARGETS = ("class", "id")


@dataclass(frozen=True)
class Images(TableTask):
    """Images of a data set of `lab.data.datasets`, e.g. "mnist_sample", "fashion_mnist" or "cifar10".

    Which images are held out for "val" is the same for every seed, so that runs with several seeds share their data.

    >>> task = Images("mnist_sample")
    >>> task.inputs, task.outputs, {name: len(split) for name, split in task.split().items()}
    (324, 10, {'train': 4000, 'val': 1000, 'test': 1000})
    >>> numbers = Images("mnist_sample", target="id")
    >>> numbers.outputs, numbers.loss_name, numbers.split()["test"].targets.unique().tolist()[:2]
    (1, 'mse', [-1.0, -0.7777777910232544])
    """

    source: str
    target: str = "class"  # or "id": the class as a number in [-1, 1], for regression (Section 3.2)
    crop: bool = True  # as in the paper (CROPS)

    classes: ClassVar[int] = CLASSES

    def __post_init__(self):
        check_choice("image set", self.source, datasets.names("images"))
        check_choice("target", self.target, TARGETS)
        check_flag("crop", self.crop)

    @property
    def name(self) -> str:
        return self.source if self.classification else f"{self.source} as numbers"

    @property
    def classification(self) -> bool:
        return self.target == "class"

    @property
    def loss_name(self) -> str:
        return "cross_entropy" if self.classification else "mse"

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one image after cropping: (height, width), in colour (height, width, 3). `inputs` is its product."""
        return tuple(cropped(datasets.load(self.source).arrays["train_images"][:1], self._crops()).shape[1:])

    @property
    def inputs(self) -> int:
        return int(np.prod(self.shape))

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """train, val, test; the same for every seed. latents: label, int64."""
        return _split(self)

    def _crops(self) -> tuple[int, int]:
        name = next((name for name in CROPS if self.source.startswith(name)), None)
        return CROPS[name] if self.crop and name else (0, 0)


def cropped(images: np.ndarray, crops: tuple[int, int]) -> np.ndarray:
    """Images (N, H, W, ...) less `crops` pixels at top and bottom, and at left and right."""
    rows, columns = crops
    return images[:, rows : images.shape[1] - rows, columns : images.shape[2] - columns]


def scaled(images: np.ndarray) -> Tensor:
    """Bytes (N, ...) as float32 (N, D) in [-1, 1]."""
    return torch.from_numpy(images.reshape(len(images), -1).astype(np.float32)).div_(127.5).sub_(1)


def parts_of(source: str, prepare: Callable[[np.ndarray], Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
    """Images, as `prepare` makes them of bytes, and labels (N,) int64 of "train", "val" and "test" of a data set.

    "val" is taken at random out of the training images, and as large as the test split (App. E.5); no image is in two.
    """
    arrays = datasets.load(source).arrays
    images = {part: prepare(arrays[f"{part}_images"]) for part in ("train", "test")}
    labels = {part: torch.from_numpy(arrays[f"{part}_labels"].astype(np.int64)) for part in images}
    training, test = len(images["train"]), len(images["test"])
    rows = random_parts(training, {"val": test, "train": training - test}, torch.Generator().manual_seed(0))
    parts = {name: (images["train"][rows[name]], labels["train"][rows[name]]) for name in ("train", "val")}
    return parts | {"test": (images["test"], labels["test"])}


@lru_cache(maxsize=3)  # CIFAR-10 is 740 MB
def _split(task: Images) -> Mapping[str, TableSplit]:
    splits = {}
    for name, (pixels, labels) in parts_of(task.source, lambda images: scaled(cropped(images, task._crops()))).items():
        targets = labels if task.classification else class_ids(labels, CLASSES)
        splits[name] = TableSplit(pixels, targets, {"label": labels})
    return MappingProxyType(splits)
