"""The functions that restarts of a search learn: side by side, whatever number of knots each has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from lab.nonlinearity.functions import named
from lab.nonlinearity.op import spline
from lab.seeds import stream
from lab.spec import EpisodeSpec, InterpolatedSpec, Knots, KnotTable, Perceptron
from lab.training.interpolation import refine

NOISE = 0.1  # standard deviation of the values that a search starts from as "noise"


class Functions:
    """The knots of R restarts, in groups of one number of knots.

    names: what is learned, as in `Perceptron.parts`. values: for each group (g, P, knots), g restarts with P functions:
    one for all layers, one a layer, or one an input dimension. With an `InterpolatedSpec` these are control points, and
    the function has finer knots.
    """

    def __init__(self, spec: EpisodeSpec, device: torch.device):
        self.low, self.high, self.inputs = spec.low, spec.high, spec.learn == "inputs"
        self.names = learned_names(spec.learn, spec.model.layers)
        count = spec.tasks[0].inputs if self.inputs else len(self.names)
        numbers = [restart.knots for restart in spec.restarts]
        self.groups = [[r for r, k in enumerate(numbers) if k == knots] for knots in dict.fromkeys(numbers)]
        self.values: list[Tensor] = []
        kind = spec.interpolation if isinstance(spec, InterpolatedSpec) else None
        first = [numbers[group[0]] for group in self.groups]
        self._finer = [None if kind is None else refine(kind, knots).to(device) for knots in first]
        for group in self.groups:
            restarts = [spec.restarts[r] for r in group]
            start = torch.stack([start_values(r.start, r.seed, r.knots, count, self.low, self.high) for r in restarts])
            self.values.append(start.to(device).requires_grad_())
        flat = [r for group in self.groups for r in group]
        self._back = torch.tensor([flat.index(r) for r in range(len(flat))], device=device)
        self._members = [torch.tensor(group, device=device) for group in self.groups]

    def modules(self) -> dict[str, nn.Module]:
        """A module for each name; it follows the knots as they change."""
        return {name: _Function(self, number) for number, name in enumerate(self.names)}

    def at(self, x: Tensor, number: int) -> Tensor:
        """Function `number` of each restart, or where inputs have theirs all of them: x (R, B, C) → (R, B, C)."""
        parts = []
        for members, values in zip(self._members, self._fine(self.values), strict=True):
            part = x if len(self.groups) == 1 else x[members]
            if self.inputs:
                columns = part.mT.reshape(-1, part.shape[1])  # (g·D, B)
                y = spline(columns, values.flatten(0, 1), self.low, self.high)
                parts.append(y.view(len(part), part.shape[2], part.shape[1]).mT)
            else:
                parts.append(spline(part, values[:, number], self.low, self.high))
        return parts[0] if len(parts) == 1 else torch.cat(parts)[self._back]

    def _fine(self, knots: Sequence[Tensor]) -> list[Tensor]:
        """Knots like `values` as values at the knots that the functions have."""
        return [v if finer is None else v @ finer.mT for v, finer in zip(knots, self._finer, strict=True)]

    def lengths(self, gradients: Sequence[Tensor]) -> Tensor:
        """Euclidean length of each restart's gradient, all its functions together, (R,)."""
        return torch.cat([g.flatten(1).norm(dim=1) for g in gradients])[self._back]

    @torch.no_grad()
    def descend(self, gradients: Sequence[Tensor], rates: Tensor, alive: np.ndarray) -> None:
        """One step of gradient descent for the restarts that are alive, each with its rate (R,)."""
        lives = torch.from_numpy(alive).to(rates.device)
        for members, values, gradient in zip(self._members, self.values, gradients, strict=True):
            next_values = values - rates[members].view(-1, 1, 1) * gradient
            values.copy_(torch.where(lives[members].view(-1, 1, 1), next_values, values))

    @torch.no_grad()
    def chosen(self, which: np.ndarray, new: Sequence[Tensor], old: Sequence[Tensor]) -> list[Tensor]:
        """Knots `new` for the restarts where `which` (R,) says so, `old` elsewhere."""
        return [
            torch.where(torch.from_numpy(which[group]).to(a.device).view(-1, 1, 1), a, b)
            for group, a, b in zip(self.groups, new, old, strict=True)
        ]

    def parts(self, knots: Sequence[Tensor], restart: int) -> dict[str, Knots | KnotTable]:
        """The functions of one restart, by their names, from knots like `values`."""
        group = next(i for i, members in enumerate(self.groups) if restart in members)
        rows = self._fine(knots)[group][self.groups[group].index(restart)].detach().cpu().tolist()
        if self.inputs:
            return {"inputs": KnotTable(self.low, self.high, tuple(map(tuple, rows)))}
        return {name: Knots(self.low, self.high, tuple(row)) for name, row in zip(self.names, rows, strict=True)}


class _Function(nn.Module):
    def __init__(self, functions: Functions, number: int):
        super().__init__()
        self._functions, self._number = functions, number

    def forward(self, x: Tensor) -> Tensor:
        return self._functions.at(x, self._number)


def start_values(start: str, seed: int, knots: int, count: int, low: float, high: float) -> Tensor:
    """Where a search begins, (count, knots): "zero", the name of a function, or "noise" from the seed."""
    if start == "noise":
        generator = torch.Generator().manual_seed(stream(seed, "noise"))
        return NOISE * torch.randn(count, knots, generator=generator)
    positions = torch.linspace(low, high, knots)
    values = torch.zeros_like(positions) if start == "zero" else named(start)(positions).detach()
    return values.expand(count, -1).clone()


def learned_names(learn: str, layers: int) -> list[str]:
    """The names in `Perceptron.parts` of what is learned.

    >>> learned_names("layers", 2)
    ['phi0', 'phi1']
    """
    return {"shared": ["phi"], "layers": [f"phi{i}" for i in range(layers)], "inputs": ["inputs"]}[learn]


def with_places(model: Perceptron, learn: str) -> Perceptron:
    """The model with a place, now the identity, for each function that is learned."""
    parts = {name: part for name, part in model.parts.items() if (learn == "inputs") == name.startswith("phi")}
    return model.having(parts | dict.fromkeys(learned_names(learn, model.layers), "identity"))
