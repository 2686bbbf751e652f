"""A training loop that keeps checkpoints in the store, and goes on from the last one."""

import functools
import hashlib
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
from lab.versions import ARITHMETIC, trained_with

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
        if (written := saved.pop(NOTES, None)) is not None:
            before = json.loads(bytes(written.tolist()))
        state.restore(saved)
    # the kernel before there is anything to lose: one that is asked for may not be there
    here = {"device_name": device_name(job.device), "kernel": op.kernel_name(job.device)} | trained_with()
    here["numerics"] = numerics(job.device)
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


def _continued(before: Mapping[str, Any], here: Mapping[str, str]) -> dict[str, str]:
    """Notes of a training that goes on here; what differs is named in its order: "AVX2, then AVX512"."""
    joined = {}
    for name, word in here.items():
        words = before.get(name, word).split(", then ")
        joined[name] = ", then ".join(words if words[-1] == word else [*words, word])
    return joined


@functools.cache
def numerics(device: str = "cpu") -> str:
    """Digest of how numbers are rounded here: of the bits of some products of matrices, sums, functions, splines and
    their gradients, in float32 with one thread, and of the revision of the lab's arithmetic. 12 hexadecimal digits.

    Training can be chaotic: runs of one spec are sure to agree to their last step only where this agrees.

    >>> numerics() == numerics(), len(numerics())
    (True, 12)
    """
    angles = torch.linspace(-300, 300, 96 * 96, dtype=torch.float64)
    values = angles.sin().float().reshape(96, 96).to(device)
    threads, digest = torch.get_num_threads(), hashlib.sha256(str(ARITHMETIC).encode())
    torch.set_num_threads(1)
    try:
        for rows in (1, 7, 33, 96):
            with torch.inference_mode(False), torch.enable_grad():
                x, knots = (part.clone().requires_grad_() for part in (values[:rows], values[0, :41]))
                y = torch.nn.functional.layer_norm(x @ values, (96,)).softmax(-1) + torch.nn.functional.gelu(x).tanh()
                (y.logsumexp(-1).sum() + op.spline(x, knots, -1.0, 1.0).square().mean()).backward()
            for part in (y.detach(), x.grad, knots.grad):
                digest.update(b"" if part is None else part.cpu().contiguous().numpy().tobytes())
    finally:
        torch.set_num_threads(threads)
    return digest.hexdigest()[:12]
