"""What is said of a training: a bar in a terminal or a notebook, lines in a file, and how long it takes."""

from __future__ import annotations

import sys
import time
from typing import Any

LINES = 60.0  # seconds between lines of progress, where stderr is a file
LONG = 15.0  # seconds: what takes longer says so as soon as that can be known
MEASURED = 2.0  # seconds of training that a pace is measured over, at least
AGREE, PATIENCE = 1.25, 5  # two paces one after the other differ by this factor at most; else so many are waited for


class Progress:
    """Counts training steps, for `lab.engine`; a context.

    announce: whether a training of more than 15 seconds is announced with the time that it will take here. Its pace is
    that of four seconds or more in which it was even: processes start one after the other, and a machine may be busy.
    """

    def __init__(self, announce: bool = True):
        self._announce = announce
        self._bar: Any = None
        self._said = time.monotonic()
        self._marks: list[tuple[float, int]] = []  # when steps were counted, and how many: where two paces begin
        self._start, self._is_even = 0.0, False

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
        if self._announce and left is not None and self._is_even:
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
        """Seconds until all is done, by the pace over the last half of the time or more; None as long as nobody
        knows."""
        now, marks = time.monotonic(), self._marks
        if not marks or done < marks[-1][1]:
            marks[:] = [(now, done)]
            self._start = now
        (first, before), (last, since) = marks[0], marks[-1]
        if now - first < MEASURED or done <= before:
            return None
        seconds = (now - first) / (done - before)
        if now - last >= max(MEASURED, last - first) and done > since:
            paces = [(last - first) / (since - before), (now - last) / (done - since)] if since > before else []
            is_late = now - self._start >= PATIENCE * MEASURED
            self._is_even |= is_late or bool(paces) and max(paces) <= AGREE * min(paces)
            marks[:] = [(last, since), (now, done)]
        return (total - done) * seconds

    def _say(self, line: str) -> None:
        if self._bar.disable:
            print(line, file=sys.stderr, flush=True)
        else:  # above the bar
            self._bar.write(line, file=sys.stderr)


def lasting(seconds: float) -> str:
    """A time in words, with one or two digits.

    >>> [lasting(seconds) for seconds in (0.4, 44, 89, 100, 3000, 9000, 360_000)]
    ['1 second', '40 seconds', '90 seconds', '2 minutes', '50 minutes', '2.5 hours', '100 hours']
    """
    if seconds < 95:
        whole = max(1, round(seconds) if seconds < 10 else 10 * round(seconds / 10))
        return f"{whole} second{'s' if whole != 1 else ''}"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 95 else f"{minutes / 60:{'.2g' if minutes < 570 else '.0f'}} hours"
