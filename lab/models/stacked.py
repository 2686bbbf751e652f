"""Models of another library side by side: their parameters get the run axis in front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lab.nonlinearity.spline import Spline


class Stacked(nn.Module):
    """R modules of one shape as one: parameters (R, …), inputs (R, …) → outputs (R, …).

    The runs are computed one after the other. Parameters that are one tensor under two names stay one. Buffers are
    those of the first module: they must not depend on the run. phi: a non-linearity that all of them have; it stays one
    module, and a spline with a function for each run gives each run its own.

    >>> both = Stacked([nn.Linear(3, 2), nn.Linear(3, 2)])
    >>> both(torch.zeros(2, 5, 3)).shape, both.model.weight.shape
    (torch.Size([2, 5, 2]), torch.Size([2, 2, 3]))
    """

    def __init__(self, models: Sequence[nn.Module], phi: nn.Module | None = None):
        super().__init__()
        self.model, self.runs = models[0], len(models)
        of_phi = {id(parameter) for parameter in phi.parameters()} if phi is not None else set()
        each = isinstance(phi, Spline) and phi.values.dim() == 2
        stacked: dict[int, nn.Parameter] = {}
        for copies in zip(*(model.parameters() for model in models), strict=True):
            if id(copies[0]) in of_phi:
                stacked[id(copies[0])] = copies[0]
            else:
                whole = torch.stack([part.detach() for part in copies])
                stacked[id(copies[0])] = nn.Parameter(whole, requires_grad=copies[0].requires_grad)
        for module in self.model.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    module._parameters[name] = stacked[id(parameter)]
        shared = set() if each else of_phi
        # what all runs share: by name, since a copy of the model has other tensors
        self.common = frozenset(name for name, parameter in _named(self.model) if id(parameter) in shared)

    def forward(self, *given: Tensor | None) -> Tensor:
        """What each run's model gives for its part of the inputs; None stays None."""
        parameters = {name: parameter.unbind() for name, parameter in _named(self.model) if name not in self.common}
        return torch.stack(
            [
                functional_call(
                    self.model,
                    {name: parts[run] for name, parts in parameters.items()},
                    tuple(None if part is None else part[run] for part in given),
                    tie_weights=False,
                )
                for run in range(self.runs)
            ]
        )


def _named(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Names and parameters of each module once, tied ones under each name: a swap does not restore what it finds
    twice, as it would with `tie_weights`."""
    for home, module in model.named_modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield f"{home}.{name}" if home else name, parameter
