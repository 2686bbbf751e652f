"""A training loop that keeps checkpoints in the store, and goes on from the last one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from torch import Tensor

from lab.devices import device_name
from lab.jobs.job import Job
from lab.nonlinearity import op
from lab.store import Store
from lab.versions import trained_with

CHECKPOINT_SECONDS = 30.0


class State(Protocol):
    """What a loop works on."""

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""

    def state(self) -> dict[str, Tensor]:
        """Everything that a bit-for-bit continuation needs."""

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the state that `state` gave."""


def run_with_checkpoints(job: Job, store: Store, state: State, loop: Callable, tell: Callable[[Any], None]) -> dict:
    """Run a loop to its end, from its last checkpoint where there is one, keeping new ones; notes of what it took."""
    saved = store.checkpoint(job.specs)
    if saved is not None:
        state.restore(saved)
    kernel = op.kernel_name(job.device)  # before there is anything to lose: one that is asked for may not be there
    start, clock = time.perf_counter(), [time.monotonic()]

    def each_step(state: State) -> bool:
        tell(state)
        if time.monotonic() - clock[0] > CHECKPOINT_SECONDS and not state.over:
            store.keep_checkpoint(job.specs, state.state())
            clock[0] = time.monotonic()
        return True

    loop(state, each_step)
    return {
        "device": job.device,
        "device_name": device_name(job.device),
        "kernel": kernel,
        **trained_with(),
        "seconds": time.perf_counter() - start,
    }
