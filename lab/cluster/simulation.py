"""How jobs spread over workers, without training them: who does what when, in the order in which a cluster does it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Seconds. total: of one worker. critical: of the longest chain of jobs that wait for each other, however many
    workers there are. lasts: from the first job's begin to the last one's end.
    """

    total: float
    critical: float
    lasts: float
    workers: int

    @property
    def busy(self) -> float:
        """Share of the workers' time in which they train, 0 to 1."""
        return self.total / (self.lasts * self.workers) if self.lasts else 1.0


def spread(seconds: Sequence[float], after: Sequence[set[int]], workers: int) -> Spread:
    """Let workers take the jobs in the order given, each as soon as those before it are done.

    seconds: of each job. after: for each, the indices of those that it waits for.

    >>> spread([3.0, 1.0, 1.0, 2.0], [set(), set(), {0}, set()], 2)
    Spread(total=7.0, critical=4.0, lasts=4.0, workers=2)
    """
    left = [len(before) for before in after]
    then: list[list[int]] = [[] for _ in seconds]
    for index, before in enumerate(after):
        for other in before:
            then[other].append(index)
    ready = [index for index, count in enumerate(left) if not count]
    ends: list[tuple[float, int]] = []  # of what is under way, and its index
    heapq.heapify(ready)
    now = 0.0
    while ready or ends:
        while ready and len(ends) < workers:
            index = heapq.heappop(ready)
            heapq.heappush(ends, (now + seconds[index], index))
        now, index = heapq.heappop(ends)
        for other in then[index]:
            left[other] -= 1
            if not left[other]:
                heapq.heappush(ready, other)
    if any(left):
        raise ValueError("jobs wait for each other in a circle")
    return Spread(float(sum(seconds)), _critical(seconds, after), now, workers)


def _critical(seconds: Sequence[float], after: Sequence[set[int]]) -> float:
    """The longest chain: as if there were a worker for each job."""
    ends: dict[int, float] = {}
    for index in range(len(seconds)):
        stack = [index]
        while stack:
            at = stack[-1]
            waiting = [other for other in after[at] if other not in ends]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            ends.setdefault(at, seconds[at] + max((ends[other] for other in after[at]), default=0.0))
    return max(ends.values(), default=0.0)
