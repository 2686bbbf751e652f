"""What is said of a training: a bar in a terminal or a notebook, lines in a file, and how long it takes."""

from __future__ import annotations

import sys
import time
from typing import Any

LINES = 60.0  # seconds between lines of progress, where stderr is a file
LONG = 15.0  # seconds: what takes longer says so as soon as that can be known
MEASURED = 2.0  # seconds of training that a pace is measured over


class Progress:
    """Counts training steps, for `lab.engine`; a context.

    announce: whether a training of more than 15 seconds is announced with the time that it will take here, by its pace
    in the first two.
    """

    def __init__(self, announce: bool = True):
        self._announce = announce
        self._bar: Any = None
        self._said = time.monotonic()
        self._first: tuple[float, int] | None = None  # when steps were first counted, and how many

    def __enter__(self) -> Progress:
        from tqdm.auto import tqdm

        self._bar = tqdm(
            total=0, unit="step", unit_scale=True, leave=False, dynamic_ncols=True, delay=0.3, disable=None
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def __call__(self, done: int, total: int, what: str) -> None:
        """So many of the steps are done; what: of what, in words."""
        left = self.left(done, total)
        if self._announce and left is not None:
            self._announce = False
            if left > LONG:
                self._say(f"{what}: {total:,} steps, about {lasting(left)} here")
        if self._bar.disable and time.monotonic() - self._said >= LINES:  # a file has no use for a bar
            more = f", about {lasting(left)} left" if left is not None and done < total else ""
            self._say(f"{what}: {done:,} of {total:,} steps{more}")
            self._said = time.monotonic()
        self._bar.total, self._bar.desc = total, what
        self._bar.update(done - self._bar.n)
        if what.startswith("waits"):  # nothing is done, so that the bar would not say it
            self._bar.refresh()

    def left(self, done: int, total: int) -> float | None:
        """Seconds until all is done, by the pace so far; None as long as nobody knows."""
        now = time.monotonic()
        if self._first is None or done < self._first[1]:
            self._first = now, done
        start, before = self._first
        if now - start < MEASURED or done <= before:
            return None
        return (total - done) * (now - start) / (done - before)

    def _say(self, line: str) -> None:
        if self._bar.disable:
            print(line, file=sys.stderr, flush=True)
        else:  # above the bar
            self._bar.write(line, file=sys.stderr)


def lasting(seconds: float) -> str:
    """A time in words, with one or two digits.

    >>> [lasting(seconds) for seconds in (0.4, 44, 89, 100, 3000, 9000)]
    ['1 second', '40 seconds', '90 seconds', '2 minutes', '50 minutes', '2.5 hours']
    """
    if seconds < 95:
        whole = max(1, round(seconds) if seconds < 10 else 10 * round(seconds / 10))
        return f"{whole} second{'s' if whole != 1 else ''}"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 95 else f"{minutes / 60:.2g} hours"
