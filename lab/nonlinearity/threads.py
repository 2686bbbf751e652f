"""Sharing a kernel's work among threads: as many as torch uses, but one where more cost more than they save.

The work is cut into items: slices of a run. How it is cut depends on the size of the input alone, and each item sums
its own knot gradients, so results are the same, bit for bit, for any number of threads. Python's threads and not
OpenMP's: those hang in a process that was forked after they were used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

SMALLEST, MOST = 2**16, 64  # inputs a slice at least; slices a run at most (each has a table of knot gradients)
ALONE = 2**22  # below so many inputs, waking another thread costs more than it saves (benchmarks/README.md)


class Cut:
    """How an input is cut: `runs` runs of `count` numbers, each into `slices` slices of `slice` numbers.

    x: the input; values: (knots,), which makes all of x one run, or (runs, knots).

    >>> cut = Cut(torch.empty(2, 3, 100_000), torch.empty(2, 5))
    >>> cut.runs, cut.count, cut.slices
    (2, 300000, 5)
    """

    __slots__ = ("count", "runs", "slice", "slices")

    def __init__(self, x: Tensor, values: Tensor):
        self.runs = 1 if values.dim() == 1 else values.shape[0]
        self.count = x.numel() // self.runs
        self.slice = max(SMALLEST, -(-self.count // MOST))
        self.slices = -(-self.count // self.slice)

    def share(self, work: Callable[[int, int], None]) -> None:
        """Call work(first, end) so that all items are done once, on torch's number of threads."""
        items = self.runs * self.slices
        threads = min(torch.get_num_threads(), items) if self.runs * self.count >= ALONE else 1
        if threads == 1:
            work(0, items)
            return
        bounds = [items * i // threads for i in range(threads + 1)]
        others = [_pool(threads - 1).submit(work, *bounds[i : i + 2]) for i in range(1, threads)]
        try:
            work(*bounds[:2])
        finally:  # not before all are done: they write into the caller's tensors
            errors = [other.exception() for other in others]
        for error in filter(None, errors):
            raise error


_pools: dict[int, ThreadPoolExecutor] = {}  # by size


def _pool(size: int) -> ThreadPoolExecutor:
    return _pools.get(size) or _pools.setdefault(size, ThreadPoolExecutor(size, "lab-spline"))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork, their pool would wait for ever
