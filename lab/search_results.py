"""What a search gives back, of whatever kind it was."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from lab.errors import check_type, check_whole
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import keep
from lab.run import Stored
from lab.spec import EpisodeSpec, ModuleSearch, SearchSpec, TwoLossSpec
from lab.store import Store  # noqa: F401  in the annotations of the classes below, which the reference shows
from lab.versions import versions

_searches: WeakKeyDictionary[Spline, SearchResult | EpisodeResult] = WeakKeyDictionary()


class LearnedFunctions(Stored, ABC):
    """What every kind of search gives back.

    spline: the learned function, frozen; of several the first. splines: all of them by the name of their part.
    history: how they were found.
    """

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}: {', '.join(self.splines)} for {self.spec.task_name} (.spline, .splines, .history)"
        )

    @property
    @abstractmethod
    def spline(self) -> Spline:
        """The learned function; of several the first."""

    @property
    @abstractmethod
    def splines(self) -> Mapping[str, Spline]:
        """The learned functions by part."""

    @property
    @abstractmethod
    def history(self) -> Mapping[str, np.ndarray]:
        """How they were found."""

    def publish(
        self, name: str, measured: Measured | None = None, folder: str | Path | None = None, **facts: object
    ) -> list[str]:
        """Put what was found into your own zoo; return the names: lab.zoo("mine/<name>") is the function.

        name: of it; where there are several, their parts follow it. measured: a comparison with this function in it:
            its gain over the first of the other functions is kept, and where it was measured. folder: of the zoo;
            default: the one that LAB_ZOO names, or "zoo" in the store's folder. facts: whatever else to remember.
        """
        check_type("name", name, str, "a name, such as 'digits-cnn'")
        gain = {} if measured is None else {"gain": measured.gain_of(self)}
        paper = "simplicity" if isinstance(self.spec, EpisodeSpec) else "transformers"  # whose algorithm it is
        about = self.provenance | {"versions": versions(), "task": self.spec.task_name, "paper": paper}
        written = {}
        for part, spline in self.splines.items():
            own = name if len(self.splines) == 1 else f"{name}-{part}"
            where = getattr(self.spec.model, "replace", None) or part
            written[own] = (spline, about | {"part": where} | gain | facts)
        return [keep(own, spline, notes, folder) for own, (spline, notes) in written.items()]


class Measured(Protocol):
    """A comparison that knows what a function gains."""

    def gain_of(self, found: LearnedFunctions) -> dict[str, object]: ...


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(LearnedFunctions):
    """What a search by two losses found: stage I, on a table, or in models of your own."""

    spec: SearchSpec | TwoLossSpec | ModuleSearch

    @property
    def spline(self) -> Spline:
        """The learned function for the MLP, frozen; for the attention where only that was searched for."""
        return self.splines.get("mlp") or next(iter(self.splines.values()))

    @cached_property
    def splines(self) -> dict[str, Spline]:
        """The learned functions by part: "mlp", "attention"; of perceptrons "phi", or "phi0", "phi1", …; "inputs"."""
        found = self._stored[1]  # a file has no order
        parts = sorted(found, key=lambda part: (part != "mlp", part))
        splines = {part: Spline(found[part], self.spec.low, self.spec.high) for part in parts}
        _searches.update(dict.fromkeys(splines.values(), self))
        return splines

    @property
    def history(self) -> dict[str, np.ndarray]:
        """search_loss (steps,): mean over models of the loss on `search`; loss (T, M): on `train`, at steps (T,)."""
        return self._stored[0]


def search_of(spline: Spline) -> SearchResult | EpisodeResult | None:
    """The search that gave this very spline, in this process."""
    return _searches.get(spline)


@dataclass(frozen=True, eq=False, repr=False)
class EpisodeResult(LearnedFunctions):
    """What a search by episodes found."""

    spec: EpisodeSpec

    @property
    def winner(self) -> int:
        """The restart whose function did best when models were trained with it from scratch."""
        return self._stored[2]["winner"]

    @property
    def spline(self) -> Spline:
        """The winner's function; of several (layers, input dimensions) the first."""
        return next(iter(self.splines.values()))

    @cached_property
    def splines(self) -> dict[str, Spline]:
        """The winner's functions by their names in `Perceptron.parts`: "phi", or "phi0", "phi1", …; "inputs" has one a
        row."""
        splines = self.of_restart()
        _searches.update(dict.fromkeys(splines.values(), self))
        return splines

    def of_restart(self, restart: int | None = None) -> dict[str, Spline]:
        """Functions of a restart, or of the winner, as `splines`."""
        if restart is not None:
            check_whole("restart", restart, 0, len(self.spec.restarts) - 1)
        end = f"@{self.winner if restart is None else restart}"
        found = {n.removesuffix(end): values for n, values in self._stored[1].items() if n.endswith(end)}
        return {name: Spline(found[name], self.spec.low, self.spec.high) for name in sorted(found)}

    @property
    def results(self) -> np.ndarray:
        """Accuracy and loss on the watched split of the models that decided, (restarts, models, 2)."""
        return self._stored[0]["results"]

    @property
    def history(self) -> dict[str, np.ndarray]:
        """By episode and restart: see `lab.training.episodes.Episodes.arrays`."""
        return self._stored[0]
