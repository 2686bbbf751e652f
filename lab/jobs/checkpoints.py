"""A training loop that keeps checkpoints in the store, and goes on from the last one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from lab.devices import device_name
from lab.jobs.job import Job
from lab.nonlinearity import op
from lab.store import Store
from lab.versions import trained_with

CHECKPOINT_SECONDS = 30.0
NOTES = "notes"  # name of the tensor with the notes so far, in a checkpoint


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
    """Run a loop to its end, from its last checkpoint where there is one, keeping new ones; notes of what it took, in
    all processes that worked on it."""
    before: Mapping[str, Any] = {}
    if (saved := store.checkpoint(job.specs)) is not None:
        before = _notes(saved.pop(NOTES, None))
        state.restore(saved)
    # the kernel before there is anything to lose: one that is asked for may not be there
    here = {"device_name": device_name(job.device), "kernel": op.kernel_name(job.device)} | trained_with()
    notes = {"device": job.device} | _continued(before, here)
    start, clock = time.perf_counter(), [time.monotonic()]

    def so_far() -> dict:
        return notes | {"seconds": before.get("seconds", 0.0) + time.perf_counter() - start}

    def each_step(state: State) -> bool:
        tell(state)
        if time.monotonic() - clock[0] > CHECKPOINT_SECONDS and not state.over:
            keep(job, store, state, so_far())
            clock[0] = time.monotonic()
        return True

    loop(state, each_step)
    return so_far()


def keep(job: Job, store: Store, state: State, notes: Mapping[str, Any]) -> None:
    """Write a checkpoint: a state, and the notes so far."""
    written = torch.frombuffer(bytearray(json.dumps(dict(notes)).encode()), dtype=torch.uint8)
    store.keep_checkpoint(job.specs, state.state() | {NOTES: written})


def _notes(written: Tensor | None) -> dict:
    """Those that `keep` wrote."""
    return {} if written is None else json.loads(bytes(written.tolist()))


def _continued(before: Mapping[str, Any], here: Mapping[str, str]) -> dict[str, str]:
    """Notes of a training that goes on here; what differs is named in its order: "AVX2, then AVX512"."""
    joined = {}
    for name, word in here.items():
        words = before.get(name, word).split(", then ")
        joined[name] = ", then ".join(words if words[-1] == word else [*words, word])
    return joined
