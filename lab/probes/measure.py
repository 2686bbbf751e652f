"""Measures of a model for landscapes: the complexity of its function. The loss on data is in `loss.py`.

A measure is a function from a model to a number; from a model with a run axis to (R,). R runs, N points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import described
from lab.probes.arguments import calling, module
from lab.probes.calling import advice, answers, few_of, given
from lab.probes.complexity import frequencies, variations
from lab.probes.loss import ROWS, number_of_runs, side_by_side
from lab.probes.paths import Paths, draw
from lab.probes.reading import asked, check_steady, reading


@dataclass(frozen=True, eq=False)
class Variation:
    """The total variation as a measure for `landscape`: as `total_variation`, with the same arguments, paths and value.

    Called with a model, it gives a number; with a model that has a run axis, one for each run, (R,). runs: as for
    `Loss`. A model that is not finite on a path has the value NaN.

    >>> Variation(np.eye(3))(nn.Linear(3, 1))
    0.0
    """

    points: Tensor | np.ndarray
    labels: Tensor | np.ndarray | None = None
    paths: int = 200
    samples: int = 100
    seed: int = 0
    runs: bool | None = None
    _each = staticmethod(variations)  # of (…, paths, samples)

    def __call__(self, model: nn.Module) -> Tensor | float:
        """The mean over paths, or that of each run, (R,)."""
        module("model", model)
        runs, shape = number_of_runs(model, self.runs), self._drawn.shape

        def values(way: np.ndarray) -> np.ndarray:
            x = torch.as_tensor(given(model, way, None))
            return answers(ask(x.reshape(-1, *shape) if shape else x), (runs or 1, len(way)))

        def ask(x: Tensor) -> Any:
            with calling(f"{type(model).__name__}, on {described(x)},", advice(model)):
                answer = asked(model, side_by_side(x, runs) if runs else x)
            return answer if runs or not isinstance(answer, Tensor) else answer[None]

        with reading(model, exact=True), np.errstate(invalid="ignore", over="ignore"):
            course = self._drawn.course(values, max(self.samples, ROWS // (runs or 1)))
            some = self._drawn.points(slice(1))
            few = some[: few_of(len(some))]
            check_steady(*(values(part)[:, : len(few)].swapaxes(0, 1) for part in (some, few)))
            finite = np.isfinite(course).all((1, 2))
            means = np.where(finite, self._each(np.where(finite[:, None, None], course, 0)).mean(1), np.nan)
        return torch.from_numpy(means) if runs else float(means[0])

    @cached_property
    def _drawn(self) -> Paths:
        return draw(self.points, self.labels, self.paths, self.samples, self.seed)[0]


@dataclass(frozen=True, eq=False)
class Frequency(Variation):
    """The mean frequency as a measure for `landscape`, as `fourier_complexity` measures it; else as `Variation`."""

    _each = staticmethod(frequencies)
