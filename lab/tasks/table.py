"""Tasks that are tables: rows of numbers, each with a class or a value, in named splits (simplicity paper, App. E); and
`Tabular`, the tables of the tabular benchmark. A table task is a frozen dataclass, so it can stand in a spec. Its rows
are loaded or generated once for each seed and shared: do not write into its tensors.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lab.data import datasets
from lab.errors import ArgumentError, check_choice, check_type, check_whole, described
from lab.tasks.stream import Examples

REQUIRED_SPLITS = ("train", "val", "test")
TRAINING, VALIDATION = 0.7, 0.3  # of all rows of a table of the benchmark; of those that are left
MOST_TRAINING, MOST_OTHERS = 10_000, 50_000


@dataclass(frozen=True, eq=False, repr=False)
class TableSplit(Examples):
    """Rows of one split. Shared between callers: do not write into the tensors.

    inputs   (N, D) float32
    targets  (N,) int64 (classes) or float32 (values)
    latents  ground truth by name; every tensor's leading axis is (N,)
    """

    def __post_init__(self):
        inputs, targets = (check_type(name, getattr(self, name), Tensor, "a tensor") for name in ("inputs", "targets"))
        if inputs.ndim != 2 or inputs.dtype != torch.float32 or 0 in inputs.shape:
            raise ArgumentError(f"inputs are {described(inputs)}; give float32 of shape (rows, columns), not empty")
        if targets.shape != inputs.shape[:1] or targets.dtype not in (torch.int64, torch.float32):
            raise ArgumentError(f"targets are {described(targets)}; give int64 or float32 of shape ({len(inputs)},)")
        for name, latent in self.latents.items():
            if len(latent) != len(inputs):
                raise ArgumentError(f"latent {name!r} has {len(latent)} rows; give one a row, {len(inputs)}")


class TableTask(ABC):
    """What `Operation`, `Images`, `Collage` and `Tabular` have in common; they are frozen dataclasses.

    name            of the task
    inputs          D, columns of the input
    outputs         O, the number of classes, or 1 where a value is predicted
    classes         number of classes; where a value is predicted, of the values that occur (`ids`)
    classification  whether the answer is the largest of O outputs, and not one value
    loss_name       "cross_entropy" (on logits), "stablemax" (the same of StableMax's shares) or "mse"; with classes,
                    against the one-hot target
    sources         names of the data sets (`lab.data.datasets`) it reads, none where its rows are generated
    """

    if TYPE_CHECKING:  # a kind has each as a field, a class variable or a property; a default would be a field's, too

        @property
        def name(self) -> str: ...
        @property
        def inputs(self) -> int: ...
        @property
        def classes(self) -> int: ...
        @property
        def loss_name(self) -> str: ...

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "judged" in cls.__dict__:
            raise ArgumentError(f"{cls.__name__}.judged: a task's scores are called metric_signs now; rename it")

    @property
    def classification(self) -> bool:
        return True

    @property
    def sources(self) -> tuple[str, ...]:
        return ()

    @property
    def outputs(self) -> int:
        return self.classes if self.classification else 1

    @property
    def metric_signs(self) -> dict[str, int]:
        """Scores by which one evaluation is better than another, the most important first; 1: more is better."""
        return {"accuracy": 1, self.loss_name: -1}

    @abstractmethod
    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """All splits by name: "train", "val", "test", maybe more. `seed` decides what is drawn at random."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Training loss: outputs (R, B, O), targets (R, B) or (B,) → (R,). MSE is averaged over rows and outputs.

        >>> from lab.tasks import Operation
        >>> Operation("a+b", modulus=27).loss(torch.zeros(2, 5, 27), torch.zeros(2, 5, dtype=torch.int64))
        tensor([0.0370, 0.0370])
        """
        targets = targets.expand(outputs.shape[:-1])
        if self.loss_name in ("cross_entropy", "stablemax"):
            outputs = log_stable(outputs) if self.loss_name == "stablemax" else outputs
            return F.cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets).mean(1)
        wanted = F.one_hot(targets, self.classes).to(outputs.dtype) if self.classification else targets[..., None]
        return (outputs - wanted).square().mean((-2, -1))

    def scores(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """What is reported, each (R,) float64: accuracy (0 to 1) and the loss by its name.

        outputs (R, N, O), targets (R, N) or (N,). Where values are predicted, the answer is the nearest class id
        (Section 3.2), and "mse" is the mean squared error of the value.
        """
        right = self.answers(outputs) == self.answers_of_targets(targets)
        return {"accuracy": right.double().mean(-1), self.loss_name: self.loss(outputs, targets).double()}

    def of_split(self, scores: Mapping[str, Tensor], targets: Tensor) -> dict[str, Tensor]:
        """All scores of a split, from the means of `scores` over its rows, whose targets these are, (N,) or (R, N)."""
        return dict(scores)

    def answers(self, outputs: Tensor) -> Tensor:
        """The class that outputs (..., O) stand for, (...) int64."""
        return outputs.argmax(-1) if self.classification else nearest_class(outputs.squeeze(-1), self.classes)

    def answers_of_targets(self, targets: Tensor) -> Tensor:
        """The class that targets (...) stand for, (...) int64."""
        return targets if self.classification else nearest_class(targets, self.classes)


def log_stable(x: Tensor) -> Tensor:
    """The logarithm of what StableMax has in the place of exp(x): 1 + x from 0 on, 1 / (1 - x) below (Prieto et al.
    2025). Softmax of these are StableMax's shares.

    >>> log_stable(torch.tensor([-1.0, 0.0, 1.0])).exp()
    tensor([0.5000, 1.0000, 2.0000])
    """
    return torch.where(x < 0, -torch.log1p(-x.clamp(max=0)), torch.log1p(x.clamp(min=0)))


def class_ids(labels: Tensor, classes: int) -> Tensor:
    """Labels 0..classes-1, int64, as values spread evenly over [-1, 1] (App. E.2), float32.

    >>> class_ids(torch.tensor([0, 9, 3]), 10)
    tensor([-1.0000,  1.0000, -0.3333])
    """
    return labels.float() * (2 / (classes - 1)) - 1


def nearest_class(values: Tensor, classes: int) -> Tensor:
    """The class whose id is nearest, int64; beyond [-1, 1] the first or the last one.

    >>> nearest_class(torch.tensor([-7.0, 0.1, 1.0]), 10)
    tensor([0, 5, 9])
    """
    # a model that diverged predicts nan; it has no class, so it is counted as the id below all others
    scaled = ((values.nan_to_num(nan=-torch.inf) + 1) * ((classes - 1) / 2)).clamp(0, classes - 1)
    return torch.where(values.isnan(), -1, scaled.round().long())


def random_parts(rows: int, sizes: Mapping[str, int], generator: torch.Generator) -> dict[str, Tensor]:
    """Indices of disjoint random subsets of `rows` rows, of the sizes given, by name."""
    if sum(sizes.values()) > rows:
        raise ArgumentError(f"splits of {dict(sizes)} need {sum(sizes.values())} rows; there are {rows}")
    order = torch.randperm(rows, generator=generator)
    ends = torch.tensor(list(sizes.values())).cumsum(0).tolist()
    return {name: order[end - size : end] for (name, size), end in zip(sizes.items(), ends, strict=True)}


@dataclass(frozen=True)
class Tabular(TableTask):
    """A table of the tabular benchmark (Grinsztajn et al., 2022), e.g. "bank-marketing" (simplicity paper, 3.3, E.4).

    Two classes, equally frequent. The split is the benchmark's at its "medium" size: 70 % of the rows for training, at
    most 10,000; of the rest 30 % for validation and 70 % for testing, each at most 50,000. The paper does not print its
    own. Each column is shifted and scaled to [-1, 1], from the training rows alone: in others, values may lie outside.
    The seed of a split is what the benchmark calls a fold: another permutation of the rows.

    >>> task = Tabular("bank-marketing")
    >>> task.inputs, task.outputs, {name: len(split) for name, split in task.split(0).items()}
    (7, 2, {'train': 7404, 'val': 952, 'test': 2222})
    """

    name: str

    classes: ClassVar[int] = 2
    loss_name: ClassVar[str] = "cross_entropy"

    def __post_init__(self):
        check_choice("table", self.name, datasets.names("table"))

    @property
    def inputs(self) -> int:
        return datasets.load(self.name).arrays["inputs"].shape[1]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, where the source has them."""
        arrays = datasets.load(self.name).arrays
        return tuple(arrays["columns"].tolist()) if "columns" in arrays else tuple(map(str, range(self.inputs)))

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.name,)

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """train, val and test, at random from `seed`. latents: row, the index in the data set."""
        return _split(self, check_whole("seed", seed, 0))


def sizes(rows: int) -> dict[str, int]:
    """How many rows each split has.

    >>> sizes(38_474), sizes(566_602)
    ({'train': 10000, 'val': 8542, 'test': 19932}, {'train': 10000, 'val': 50000, 'test': 50000})
    """
    train = min(int(rows * TRAINING), MOST_TRAINING)
    val = int((rows - train) * VALIDATION)
    return {"train": train, "val": min(val, MOST_OTHERS), "test": min(rows - train - val, MOST_OTHERS)}


def scale(training: Tensor, rows: Tensor) -> Tensor:
    """Rows (N, D) shifted and scaled so that each column of `training` covers [-1, 1]; one that is constant becomes 0.

    >>> scale(torch.tensor([[0.0, 5.0], [4.0, 5.0]]), torch.tensor([[1.0, 5.0], [8.0, 5.0]]))
    tensor([[-0.5000,  0.0000],
            [ 3.0000,  0.0000]])
    """
    whole = training.isfinite().all(0) & rows.isfinite().all(0)
    if not whole.all():
        places = ", ".join(map(str, (~whole).nonzero().flatten().tolist()[:9]))
        raise ArgumentError(f"values that are missing or infinite, in columns {places}; give whole rows")
    low, high = training.double().amin(0), training.double().amax(0)
    span = torch.where(high > low, high - low, torch.inf)
    result = (rows.double() - low) / span * 2 - 1
    return torch.where(high > low, result, 0.0).float()


@lru_cache(maxsize=32)  # 110,000 rows of covertype are 4 MB, of Higgs 11 MB
def _split(task: Tabular, seed: int) -> Mapping[str, TableSplit]:
    arrays = datasets.load(task.name).arrays
    inputs, labels = arrays["inputs"], torch.from_numpy(arrays["labels"].astype(np.int64))
    parts = random_parts(len(labels), sizes(len(labels)), torch.Generator().manual_seed(seed))
    rows = {name: torch.from_numpy(inputs[part.numpy()]) for name, part in parts.items()}
    splits = {name: TableSplit(scale(rows["train"], rows[name]), labels[at], {"row": at}) for name, at in parts.items()}
    return MappingProxyType(splits)
