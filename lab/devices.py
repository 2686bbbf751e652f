"""The device that trains: which there is, and its name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lab.errors import ArgumentError, check_choice

DEVICES = ("auto", "cpu", "cuda")
_GPU_MEMORY: ContextVar[int | None] = ContextVar("gpu_memory", default=None)


def choose_device(device: str) -> str:
    """Where to train: "auto" is cuda where torch finds it, else cpu."""
    import torch  # takes seconds, and names of devices need none

    if check_choice("device", device, DEVICES) == "cuda" and not torch.cuda.is_available():
        raise ArgumentError("device 'cuda' was asked for, but torch finds no CUDA device; use cpu or auto")
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def device_name(device: str) -> str:
    """The device in words."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    return f"CPU, {os.cpu_count()} cores"


def gpu_memory() -> int:
    """Bytes of the GPU that jobs are planned for: this machine's, unless `planned_for_gpu` says otherwise."""
    import torch

    planned = _GPU_MEMORY.get()
    return torch.cuda.get_device_properties(0).total_memory if planned is None else planned


@contextmanager
def planned_for_gpu(memory: int) -> Iterator[None]:
    """Within the block, jobs for "cuda" are planned for a GPU of so many bytes, on another machine.

    >>> with planned_for_gpu(2**34):
    ...     gpu_memory()
    17179869184
    """
    token = _GPU_MEMORY.set(memory)
    try:
        yield
    finally:
        _GPU_MEMORY.reset(token)
