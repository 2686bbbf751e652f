"""Data of tables for R runs: batches of rows, and the evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lab.kinds import Sizes, batch_key, check, sizes, training_data
from lab.spec import RunSpec
from lab.tasks.table import TableTask
from lab.training.sequences import Order, check_splits, followed

CHUNK = 2**22  # values of a hidden layer that an evaluation has in memory at once, all runs together
STACKED = 2**20  # numbers in a table up to which runs on different tables train side by side, each with a copy


@dataclass(frozen=True, eq=False)
class TableBatch:
    """R runs × B rows of D columns."""

    task: TableTask
    inputs: Tensor  # (R, B, D)
    targets: Tensor  # (R, B)

    def outputs(self, model: nn.Module) -> Tensor:
        """Predictions (R, B, O)."""
        return model(self.inputs)

    def loss(self, outputs: Tensor) -> Tensor:
        """The task's loss, (R, B, O) → (R,)."""
        return self.task.loss(outputs, self.targets)


class Rows:
    """A split for R runs on a device; one copy where all runs have the same table."""

    def __init__(self, specs: Sequence[RunSpec], name: str, device: torch.device):
        tables = [spec.task.split(spec.task_seed)[name] for spec in specs]
        tables = tables[:1] if len({(spec.task, spec.task_seed) for spec in specs}) == 1 else tables
        self.task, self.runs = specs[0].task, len(specs)
        self.inputs = torch.stack([table.inputs for table in tables]).to(device)  # (1 or R, N, D)
        self.targets = torch.stack([table.targets for table in tables]).to(device)  # (1 or R, N)

    def __len__(self) -> int:
        return self.inputs.shape[1]

    def at(self, index: Tensor | slice) -> TableBatch:
        """The rows at index (R, B) int64, or the same slice of rows for all runs."""
        if isinstance(index, slice):
            inputs, targets = self.inputs[:, index], self.targets[:, index]
            return TableBatch(self.task, inputs.expand(self.runs, -1, -1), targets.expand(self.runs, -1))
        table = torch.arange(len(index), device=index.device)[:, None] if len(self.inputs) > 1 else 0
        return TableBatch(self.task, self.inputs[table, index], self.targets[table, index])


class TableData:
    """Batches of the split `train`, and the evaluation on the splits that are followed."""

    def __init__(self, task: TableTask, specs: Sequence[RunSpec], device: torch.device):
        recipe, model = specs[0].recipe, specs[0].model
        self.task, self.device = task, device
        self.metric_signs = self.task.metric_signs
        self.training = Rows(specs, "train", device)
        self.followed = {name: Rows(specs, name, device) for name in followed(specs[0])}
        self.columns = [f"{score}_{split}" for split in self.followed for score in self.metric_signs]
        self.chunk = max(1, CHUNK // (len(specs) * max(model.width, self.task.outputs)))
        self.order = None  # full batches
        if recipe.batch is not None and recipe.batch < len(self.training):
            self.order = Order([spec.seed for spec in specs], len(self.training), recipe.batch)
        self.whole = self.training.at(slice(None))

    def at(self, step: int) -> TableBatch:
        return self.whole if self.order is None else self.training.at(self.order.at(step).to(self.device))

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """<score>_<split> (R,), for every split that is followed: the accuracy, 0 to 1, and the loss by its name."""
        scores: dict[str, np.ndarray] = {}
        for split, rows in self.followed.items():
            sums: dict[str, Tensor] = {}
            for start in range(0, len(rows), self.chunk):
                batch = rows.at(slice(start, start + self.chunk))
                new = self.task.scores(batch.outputs(model), batch.targets)
                count = batch.targets.shape[1]
                sums = {name: count * value + sums.get(name, 0.0) for name, value in new.items()}
            means = {name: value / len(rows) for name, value in sums.items()}
            known = self.task.of_split(means, rows.targets)
            scores |= {f"{name}_{split}": value.cpu().numpy() for name, value in known.items()}
        return scores


def held_rows(count: int, share: float) -> int:
    """How many of `count` rows a search holds out of the training of its models: that share, but one row at least, and
    not the last one.

    >>> held_rows(100, 0.2), held_rows(3, 0.99), held_rows(3, 0.01)
    (20, 2, 1)
    """
    return max(1, min(count - 1, round(share * count)))


training_data.register(TableTask, TableData)


@sizes.register(TableTask)
def _(task: TableTask, seed: int) -> Sizes:
    return Sizes("row", task.inputs, task.outputs, examples=len(task.split(seed)["train"]))


@batch_key.register(TableTask)
def _(task: TableTask, spec: RunSpec) -> tuple:
    """All of a table where it is large, else its sizes."""
    splits = task.split(spec.task_seed)
    if splits["train"].inputs.numel() > STACKED:
        return task, spec.task_seed
    rows = tuple((name, len(splits[name])) for name in dict.fromkeys(["train", *followed(spec)]))
    signs = tuple(task.metric_signs.items())  # by which all of a fleet are compared, in this order
    return type(task).__name__, task.inputs, task.classes, task.classification, task.loss_name, signs, rows


@check.register(TableTask)
def _(task: TableTask, spec: RunSpec) -> None:
    check_splits(task.name, followed(spec), task.split(spec.task_seed))
