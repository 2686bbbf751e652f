"""What was, to go back to."""

from __future__ import annotations

from typing import Generic, TypeVar

State = TypeVar("State")
LONGEST = 500  # states


class History(Generic[State]):
    """States in their order, and which of them is now.

    >>> history = History("a")
    >>> history.add("b"), history.back(), history.back(), history.forward()
    (None, 'a', 'a', 'b')
    """

    def __init__(self, first: State):
        self._states, self._at = [first], 0

    @property
    def now(self) -> State:
        """The present state."""
        return self._states[self._at]

    @property
    def first(self) -> bool:
        """Whether there is nothing to go back to."""
        return self._at == 0

    @property
    def last(self) -> bool:
        """Whether there is nothing to go forward to."""
        return self._at == len(self._states) - 1

    def add(self, state: State) -> None:
        """A new state after the present one; what was ahead is gone."""
        self._states = [*self._states[: self._at + 1], state][-LONGEST:]
        self._at = len(self._states) - 1

    def replace(self, state: State) -> None:
        """Another state in place of the present one; what was ahead is gone."""
        self._states = [*self._states[: self._at], state]

    def back(self) -> State:
        """The state before, or the first."""
        self._at = max(0, self._at - 1)
        return self.now

    def forward(self) -> State:
        """The state after, or the last."""
        self._at = min(len(self._states) - 1, self._at + 1)
        return self.now
