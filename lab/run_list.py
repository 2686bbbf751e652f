"""A list of runs of one kind: what `lab.train` and `lab.finetune` return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Self, TypeVar, overload

from lab.errors import ArgumentError, check_type, shown

R = TypeVar("R")


class NoRunError(ArgumentError, IndexError):
    """There is no run of that number. It is an IndexError, too, by which Python knows where a sequence ends."""


class RunList(Sequence[R]):
    """Runs in a row, of one class; a slice is a list of them, too."""

    of: ClassVar[type]  # the class
    named: ClassVar[str]  # how messages call it

    def __init__(self, runs: Sequence[R]):
        if isinstance(runs, str) or not isinstance(runs, Iterable):
            raise ArgumentError(f"runs={shown(runs)}: give a list of {self.named}")
        self._runs: list[R] = [check_type("runs", run, self.of, f"a list of {self.named}") for run in runs]

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self._runs[index])
        try:
            return self._runs[index]
        except (IndexError, TypeError) as error:
            few = f"0 to {len(self) - 1}" if len(self) else "there are no runs"
            raise NoRunError(f"index={shown(index)}: give the number of a run, {few}") from error

    def __iter__(self) -> Iterator[R]:
        return iter(self._runs)
