"""What a search gives back, of whatever kind it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np
from torch import Tensor

from lab.errors import ArgumentError, check_type, check_whole, described
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import keep, place
from lab.picture import Drawn
from lab.run import Stored, beyond_knots
from lab.spec import EpisodeSpec, ModuleSearch, SearchSpec, TwoLossSpec
from lab.store import Store  # noqa: F401  in the annotations of the classes below, which the reference shows
from lab.training.episodes import running_mean
from lab.versions import versions

WHEN = {"end": "at the end", "mean": "as a mean over training"}
_searches: WeakKeyDictionary[Spline, SearchResult | EpisodeResult] = WeakKeyDictionary()


class LearnedFunctions(Stored, Drawn):
    """What every kind of search gives back.

    spline: the learned function, frozen; of several the first. splines: all of them by the name of their part.
    history: how they were found.
    """

    def __repr__(self) -> str:
        line = f"{type(self).__name__}: {', '.join(self.splines)} for {self.spec.task_name}"
        return "\n".join([f"{line} (.spline, .splines, .history)", *self.notes])

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know of it, a line each."""
        notes = self._stored[2]
        return (*notes.get("said", ()), *beyond_knots("its models", notes.get("beyond"), self.spec))

    @property
    def spline(self) -> Spline:
        """The learned function, frozen; of several the first: "mlp", "phi", "phi0", …"""
        return next(iter(self.splines.values()))

    @cached_property
    def splines(self) -> dict[str, Spline]:
        """The learned functions by part: "mlp", "attention"; of perceptrons "phi", or "phi0", "phi1", … of the layers;
        "inputs" has one a row. Of a search by episodes, the winner's."""
        splines = self._splines()
        _searches.update(dict.fromkeys(splines.values(), cast(Any, self)))
        return splines

    def at(self, step: int) -> dict[str, Spline]:
        """The functions by part as they were after a step, one of `checkpoints`; of a search by episodes, what the
        winning restart would have given after so many episodes."""
        return self._splines({name: values[0] for name, values in self._learned(step).items()})

    def _splines(self, knots: Mapping[str, Tensor] | None = None) -> dict[str, Spline]:
        """knots: by part, as they are stored; by default those of the result."""
        raise NotImplementedError

    def publish(
        self,
        name: str,
        measured: Measured | None = None,
        folder: str | Path | None = None,
        replace: bool = False,
        **facts: object,
    ) -> list[str]:
        """Put the learned function into your own zoo, and return its name: lab.zoo("mine/<name>") is the function.

        name: where several functions were learned, each has its part's name added, and all names are returned.
        measured: a `lab.Comparison` with this function in it: what it gains or loses over the first of the other
            functions is kept, with where it was measured, and printed.
        folder: of the zoo. Default: the one that LAB_ZOO names, or "zoo" in the store's folder.
        replace: put it in the place of another search's function of that name, which otherwise stays.
        facts: whatever else to remember, as JSON can say it.

        Raises ArgumentError for a name that no file can have, or that another search's function has; LabError where the
        folder cannot be written.
        """
        check_type("name", name, str, "a name, such as 'digits-cnn'")
        if measured is not None and not hasattr(measured, "gain_of"):
            raise ArgumentError(
                f"measured is {described(measured)}; give the lab.Comparison, what lab.compare returned"
            )
        gain = {} if measured is None else {"gain": measured.gain_of(self)}
        paper = "simplicity" if isinstance(self.spec, EpisodeSpec) else "transformers"  # whose algorithm it is
        about = self.provenance | {"versions": versions(), "task": self.spec.task_name, "paper": paper}
        notes = {}
        for full_name, part in self.named(name).items():
            where = getattr(self.spec.model, "replace", None) or ("mlp" if part == "phi" else part)
            notes[full_name] = about | {"part": where} | gain | facts
            place(full_name, notes[full_name], folder, replace)  # all are written, or none
        names = [
            keep(full_name, self.splines[part], notes[full_name], folder, replace)
            for full_name, part in self.named(name).items()
        ]
        if gain:
            print(f"{', '.join(names)}: {gain_in_words(gain['gain'])}")
        return names

    def named(self, name: str) -> dict[str, str]:
        """The names that `publish` gives to the learned functions, and the part of each."""
        return {name if len(self.splines) == 1 else f"{name}-{part}": part for part in self.splines}


def gain_in_words(gain: Mapping[str, Any]) -> str:
    """What a function gains or loses, as `lab.Comparison.gain_of` has it.

    >>> gain_in_words({"gain_end": -9.26, "low_end": -17.1, "high_end": -0.9, "unit": "points", "measured": "accuracy"})
    'accuracy: a loss of 9.26 points [-17.1, -0.9] at the end'
    """
    parts = []
    for at, when in WHEN.items():
        if (mean := gain.get(f"gain_{at}")) is None:  # every run diverged, or nobody asked
            continue
        low, high = gain.get(f"low_{at}"), gain.get(f"high_{at}")
        ends = "without an interval" if low is None else f"[{low:.3g}, {high:.3g}]"
        clear = low is None or high is None or low > 0 or high < 0
        word = "a gain" if mean > 0 else "a loss" if mean < 0 else "no difference"
        size = f" of {abs(mean):.3g} {gain.get('unit', '')}".rstrip()
        parts.append(f"{word}{size} {ends} {when}{'' if clear else ', which seeds alone would explain'}")
    return f"{gain['measured']}: {'; '.join(parts) or 'every run diverged'}"


class Measured(Protocol):
    """A comparison that knows what a function gains."""

    def gain_of(self, result: LearnedFunctions) -> dict[str, object]: ...


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(LearnedFunctions):
    """The result of a search by two losses (transformers paper, Algorithm 1), as `lab.search` returns it.

    >>> import lab
    >>> result = lab.search("memorize", scale="smoke", progress=False)
    >>> result.spline, result.history["loss"].shape == (len(result.history["steps"]), result.spec.models)
    (Spline((361,) knots on [-20, 20]), True)
    """

    spec: SearchSpec | TwoLossSpec | ModuleSearch

    @property
    def history(self) -> dict[str, np.ndarray]:
        """search_loss (steps,): loss on `search`, mean over models; loss (T, M): of each model on `train`, at steps
        (T,), NaN from where it diverged; died (M,): the step at which a model's loss was no longer finite, -1 for none.
        """
        stored = self._stored[0]
        steps, died = stored["steps"][:, None], stored["died"]
        return {**stored, "loss": np.where((died >= 0) & (steps > died), np.nan, stored["loss"])}

    @property
    def notes(self) -> tuple[str, ...]:
        """As of all searches, and how many of its models diverged."""
        died = self._stored[0]["died"]
        count = int((died >= 0).sum())
        said = (
            f"{count} of {len(died)} models diverged, the last at step {died.max(initial=-1)}; search at a lower rate"
        )
        return (*super().notes, *([said] if count else []))

    def _splines(self, knots: Mapping[str, Tensor] | None = None) -> dict[str, Spline]:
        knots = self._stored[1] if knots is None else knots  # a file has no order
        parts = sorted(knots, key=lambda part: (part != "mlp", part))
        return {part: Spline(knots[part], self.spec.low, self.spec.high) for part in parts}


def search_of(spline: Spline) -> SearchResult | EpisodeResult | None:
    """The search that gave this very spline, in this process."""
    return _searches.get(spline)


@dataclass(frozen=True, eq=False, repr=False)
class EpisodeResult(LearnedFunctions):
    """The result of a search by episodes (simplicity paper, Algorithm 1), as `lab.search` returns it for tables.

    >>> import lab
    >>> result = lab.search("ab mod 5", scale="smoke", progress=False)
    >>> result.spline, result.results.shape[-1]
    (Spline((21,) knots on [-2, 2]), 2)
    """

    spec: EpisodeSpec

    @property
    def notes(self) -> tuple[str, ...]:
        """As of all searches; whether models diverged with every function, and whether the winner's is its start."""
        said, means = [], running_mean(self.history["loss"][:, self.winner])
        if not np.isfinite(self.results).all((1, 2)).any():
            said.append("with every restart's function models diverged; search at lower rates")
        elif np.isfinite(means).any() and not np.nanargmin(means):
            said.append("no episode had a lower mean loss than the first: the function is what the search began with")
        return (*super().notes, *said)

    @property
    def winner(self) -> int:
        """The number of the restart whose function did best when models were trained with it from scratch."""
        return self._stored[2]["winner"]

    def of_restart(self, restart: int | None = None) -> dict[str, Spline]:
        """The functions of a restart, by name as in `splines`. Default: the winner's."""
        return self._splines(restart=restart)

    def _splines(self, knots: Mapping[str, Tensor] | None = None, restart: int | None = None) -> dict[str, Spline]:
        if restart is not None:
            check_whole("restart", restart, 0, len(self.spec.restarts) - 1)
        end = f"@{self.winner if restart is None else restart}"
        named = (self._stored[1] if knots is None else knots).items()
        knots = {n.removesuffix(end): values for n, values in named if n.endswith(end)}
        return {name: Spline(knots[name], self.spec.low, self.spec.high) for name in sorted(knots)}

    @property
    def results(self) -> np.ndarray:
        """How models did that were trained from scratch with each restart's function, (restarts, models, 2): accuracy
        and loss on the split that chooses the winner.
        """
        return self._stored[0]["results"]

    @property
    def history(self) -> dict[str, np.ndarray]:
        """By episode and restart: see `lab.training.episodes.Episodes.arrays`."""
        return self._stored[0]
