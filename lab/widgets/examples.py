"""Examples that a user's model is looked at with, in every form that `lab.Data` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.data import Data, arrays, measures
from lab.data.data import take
from lab.data.targets import order_of
from lab.data.targets import targets as numbered
from lab.errors import ArgumentError
from lab.probes.loss import LossFunction

FEW = 512  # examples that are looked at


@dataclass(frozen=True, eq=False)
class Examples:
    """The first examples.

    inputs   (N, …) by the names of the model's arguments; one alone has the name ""
    targets  (N, …) class ids or values, or None
    classes  labels in the order of their ids, where targets were words
    loss     of the data, where they have one
    notes    what was done to the inputs, a line each
    """

    inputs: Mapping[str, Tensor]
    targets: Tensor | None = None
    classes: tuple[str, ...] = ()
    loss: LossFunction | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))

    def check(self, outputs: Tensor) -> None:
        """ArgumentError where a model's outputs (B, …) are not one for each class: some may be absent from targets."""
        count, size = len(self.classes), outputs.shape[-1] if outputs.ndim > 1 else 1
        if self.classes and size != (1 if count == 2 and size == 1 else count):
            raise ArgumentError(
                f"targets have {count} different words, and the model {size} outputs; give class numbers from 0 to "
                f"{size - 1}, or inputs=data, the lab.Data that the model learned from"
            )


def examples_of(inputs: Any, targets: Any = None) -> Examples:
    """inputs: a `lab.Data`, or (N, …) numbers, or such by name; targets: (N, …) numbers or words. ArgumentError for
    others.

    >>> examples_of([[0.5], [1.5]], ["no", "yes"]).targets
    tensor([0, 1])
    """
    if isinstance(inputs, Data):
        if targets is not None:
            raise ArgumentError(f"the data {inputs.name!r} have targets; leave targets out, or give arrays as inputs")
        some = take(inputs.inputs, torch.arange(len(inputs))[:FEW])
        return Examples(
            {"": some} if isinstance(some, Tensor) else some,
            inputs.targets[:FEW],
            loss=partial(measures.losses, inputs.loss, last=inputs.is_causal),
            notes=inputs.notes,
        )
    single = not isinstance(inputs, Mapping)
    names = {"": "inputs"} if single else {name: f"inputs[{name!r}]" for name in inputs}
    parts = {name: arrays.array(inputs if single else inputs[name], said) for name, said in names.items()}
    if single and parts[""].ndim < 2:
        raise ArgumentError(
            f"inputs have shape {parts[''].shape}, {parts[''].dtype}; give (N, …) numbers, such as X, or a dictionary"
        )
    counts = sorted({len(part) for part in parts.values()})
    if len(counts) > 1:
        raise ArgumentError(f"the parts of inputs have {', '.join(map(str, counts))} examples; give as many of each")
    few = {name: part[:FEW] for name, part in parts.items()}
    known, notes = arrays.inputs(few[""] if single else few, "inputs")
    arrays.check_finite(known, "inputs")
    made = {"": known} if isinstance(known, Tensor) else dict(known)
    if targets is None:
        return Examples(made, notes=notes)
    answers, classes = _targets(targets)
    if len(answers) != counts[0]:
        raise ArgumentError(f"{counts[0]} inputs and {len(answers)} targets; give one target an input")
    return Examples(made, answers[:FEW], classes, notes=notes)


def _targets(given: Any) -> tuple[Tensor, tuple[str, ...]]:
    """Numbers as they are, since a model has learned what each stands for; words by their order, as in `lab.Data`."""
    answers = arrays.plain(arrays.array(given, "targets"))
    if answers.dtype.kind in "iub":
        return torch.from_numpy(answers.astype(np.int64)), ()
    if answers.dtype.kind == "f":
        return torch.from_numpy(np.ascontiguousarray(answers)), ()
    order = [str(label) for label in order_of(given)]
    words = numbered(answers, "classification", order=order)
    if not order:
        return words.values, words.classes
    codes = torch.tensor([order.index(label) for label in words.classes])  # unused categories have one, too
    return codes[words.values], tuple(order)
