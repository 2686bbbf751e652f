"""The modes of a model's parts: what its author left in evaluation mode, as a frozen batch norm, stays there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


def train(net: nn.Module) -> nn.Module:
    """A new model in training mode, all of it where it comes in evaluation mode (as of `from_pretrained`), else without
    the parts that do.

    >>> net = train(nn.Sequential(nn.Dropout().eval(), nn.Dropout()))
    >>> net[0].training, net[1].training, train(net.eval())[0].training
    (False, True, True)
    """
    return net if net.training else net.train()


def parts_in_evaluation(net: nn.Module) -> dict[str, nn.Module]:
    """The parts of a model in training mode that are in evaluation mode, by their names."""
    return {name: part for name, part in net.named_modules() if not part.training}


@contextmanager
def evaluating(net: nn.Module) -> Iterator[nn.Module]:
    """Within the block all of a model is in evaluation mode; afterwards each part is in the one that it was in."""
    modes = {part: part.training for part in net.modules()}
    try:
        yield net.eval()
    finally:
        for part, training in modes.items():
            part.training = training
