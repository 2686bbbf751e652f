"""How training steps are taken on a CPU: in one call of C, by plain operators, or by compiled ones (LAB_STEPS)."""

import os
import sys
from typing import Any

import torch
from torch import Tensor

from lab.errors import shortened
from lab.kinds import Batch
from lab.nonlinearity import op
from lab.training.perceptron import chosen_steps


def describe() -> str:
    """How steps are taken on a CPU: a line for `lab doctor`."""
    chosen, asked = chosen_steps(), " (LAB_STEPS)" if os.environ.get("LAB_STEPS") else ""
    if chosen == "kernel" and not op.describe().startswith("compiled C"):
        return f"plain{asked}: those in one call are for splines in compiled C"
    taken = f"in C for perceptrons on tables and transformers{'' if asked else ', not on texts'}; plain for others"
    return (taken if chosen == "kernel" else chosen) + asked


class Compiled:
    """The losses of one fleet, compiled; with another size of batches, it compiles again.

    Small fleets wait for Python and for the calls of small kernels. With the environment variable LAB_STEPS=compiled
    model and loss are compiled, for some ten seconds a fleet; on CUDA the kernels of a step are recorded and replayed
    as one (CUDA graphs). Sums are taken in another order, so the bits differ from those of plain steps, and the notes
    of a run say so. Where nothing can be compiled, one line says why, and plain steps take their place.
    """

    def __init__(self, fleet: Any):
        model, self.weights = fleet.model, fleet.weights

        def losses(batch: Batch) -> Tensor:
            return batch.loss(batch.outputs(model))

        torch.compiler.reset()  # what fleets before it had: torch keeps eight of a function at most
        mode = "reduce-overhead" if fleet.device.type == "cuda" else None
        self.plain, self.compiled = losses, torch.compile(losses, dynamic=False, mode=mode)
        self.is_tried, self.is_compiled = False, False

    def __call__(self, batch: Batch) -> Tensor:
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
