"""Where what an entry trains with comes from: numbers, data, departures from the paper. Papers have their own kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


class Origin(Protocol):
    """What captions and provenance tell of an entry's settings, at a scale."""

    @property
    def guesses(self) -> Sequence[str]:
        """What was chosen where the paper is silent."""

    def data(self, scale: str) -> list[dict]:
        """Sources, each with a name, where it is from, and a digest where it is a file or could be one."""

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """Every number, and where it comes from."""

    def departures(self, scale: str) -> list[str]:
        """How the scale differs from the paper, in words."""


@runtime_checkable
class ByTask(Origin, Protocol):
    """An origin that can tell of some of its tasks alone."""

    def for_tasks(self, names: Sequence[str]) -> Origin:
        """The origin of a figure of these tasks."""


@dataclass(frozen=True)
class Counted:
    """What is counted or estimated, and not trained. numbers: by name, the value and where it comes from."""

    data_from: str
    numbers: tuple[tuple[str, object, str], ...] = ()
    guesses: Sequence[str] = ()
    name: str = "sraven"  # of the task

    def data(self, scale: str) -> list[dict]:
        """The task."""
        return [{"name": self.name, "from": self.data_from}]

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """The numbers."""
        return {name: {"value": value, "from": source} for name, value, source in self.numbers}

    def departures(self, scale: str) -> list[str]:
        """An entry's own notes have them."""
        return []
