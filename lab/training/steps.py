"""The losses of a training step, as they stand or as `torch.compile` makes them.

Small fleets wait for Python and for the calls of small kernels. With the environment variable LAB_STEPS=compiled a
fleet's model and loss are compiled, once for each fleet, for some ten seconds; on CUDA the kernels of a step are then
recorded and replayed as one (CUDA graphs). Sums are taken in another order, so the bits differ from those of plain
steps: it is off unless asked for, and the notes of a run say so, with the kernel. Where nothing can be compiled, one
line says why, and the training goes on with plain steps.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import torch
from torch import Tensor

from lab.errors import ArgumentError, shortened, shown
from lab.kinds import Batch
from lab.training.fleet import Fleet

CHOICES = ("plain", "compiled")


def wants_compiled() -> bool:
    """Whether steps are to be compiled. Raises ArgumentError for what LAB_STEPS may not be."""
    chosen = os.environ.get("LAB_STEPS") or CHOICES[0]
    if chosen not in CHOICES:
        raise ArgumentError(f"LAB_STEPS={shown(chosen)}: give {' or '.join(CHOICES)}, or unset it")
    return chosen == "compiled"


def losses_of(fleet: Fleet) -> Callable[[Batch], Tensor]:
    """What gives the losses (R,) of a batch, ready for backward(); the same for all steps of a fleet."""
    if fleet.losses is None:
        fleet.losses = Compiled(fleet) if wants_compiled() else lambda batch: batch.loss(batch.outputs(fleet.model))
    return fleet.losses


def note_of(fleet: Fleet) -> str:
    """What is added to the name of the kernel in the notes of its runs."""
    return ", compiled steps" if isinstance(fleet.losses, Compiled) and fleet.losses.is_compiled else ""


class Compiled:
    """The losses of one fleet, whose batches have one size: with another, it compiles again."""

    def __init__(self, fleet: Fleet):
        model, self.weights = fleet.model, fleet.weights

        def losses(batch: Batch) -> Tensor:
            return batch.loss(batch.outputs(model))

        torch.compiler.reset()  # what fleets before it had: torch keeps eight of a function at most
        mode = "reduce-overhead" if fleet.device.type == "cuda" else None
        self.plain, self.compiled = losses, torch.compile(losses, dynamic=False, mode=mode)
        self.is_tried, self.is_compiled = False, False

    def __call__(self, batch: Batch) -> Tensor:
        """The losses (R,)."""
        if self.is_tried and not self.is_compiled:
            return self.plain(batch)
        try:
            torch.compiler.cudagraph_mark_step_begin()
            if not self.is_tried:  # the backward pass may be compiled when it is first wanted
                self.is_tried = True
                torch.autograd.grad(self.compiled(batch).sum(), self.weights, allow_unused=True)
                self.is_compiled = True
            return self.compiled(batch)
        except Exception as error:  # of the compiler; where it is the model's own, plain steps raise it, too
            self.is_compiled = False
            lines = [line for line in str(error).splitlines() if line.strip() and not line.endswith("raised:")]
            said = f"{type(error).__name__}: {shortened(lines[0] if lines else '', 160)}"
            print(f"steps are not compiled ({said}); plain ones take their place", file=sys.stderr)
            return self.plain(batch)
