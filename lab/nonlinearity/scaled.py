"""A spline whose input scale is learned, as in DeepSplines (Bohra et al. 2020)."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.nonlinearity.channels import ChannelSpline, LazyChannelSpline, check_axis
from lab.nonlinearity.spline import Spline


class ScaledSpline(nn.Module):
    """φ(s x) / s: the same function, wider or narrower. s is a parameter, at 1 in the beginning, and learns if φ does.

    phi: a `Spline` with one function, and one scale; or one a channel (`ChannelSpline`), each with its scale.
    `lab.Spline(values, learnable=True, scaled=True)` is one, too.

    >>> hat = ScaledSpline(Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0))
    >>> _ = hat.scale.data.fill_(0.5)
    >>> hat(torch.tensor([0.0, 1.0, 2.0])).tolist(), hat.spline.low, hat.spline.values.tolist()
    ([2.0, 1.0, 0.0], -2.0, [0.0, 2.0, 0.0])
    """

    def __init__(self, phi: Spline):
        super().__init__()
        if not isinstance(phi, Spline) or not (isinstance(phi, ChannelSpline) or phi.values.dim() == 1):
            raise ArgumentError(f"phi is {phi}; give a lab.Spline with one function, or one a channel")
        self.phi, learns = copy.deepcopy(phi), phi.values.requires_grad
        if isinstance(phi, LazyChannelSpline):
            self.scale: nn.Parameter = nn.UninitializedParameter(requires_grad=learns, dtype=phi.dtype)  # type: ignore[call-arg,assignment]
        else:
            self.scale = nn.Parameter(torch.ones_like(phi.values[..., 0]), requires_grad=learns)

    def forward(self, x: Tensor) -> Tensor:
        """φ(s x) / s, shape and dtype of `x`."""
        if isinstance(self.scale, nn.parameter.UninitializedParameter):
            self.phi(x)  # counts its channels
            with torch.inference_mode(False), torch.no_grad():
                self.scale.materialize((self.phi.values.shape[0],))
                self.scale.fill_(1.0)
        scale: Tensor = self.scale
        if isinstance(self.phi, ChannelSpline):
            check_axis(x, self.phi.dim, self.phi.channels)
            behind = x.dim() - 1 - self.phi.dim % x.dim()
            scale = scale.view(-1, *[1] * behind)
        scale = scale.to(x.dtype)
        return self.phi(x * scale) / scale

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """As torch's lazy modules: a scale that has no channels yet is saved as that."""
        if isinstance(self.scale, nn.parameter.UninitializedParameter):
            destination[f"{prefix}scale"] = self.scale
        else:
            super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *given: Any) -> None:
        """A scale that has no channels yet takes those of the saved one, as the values of φ do."""
        saved = state_dict.get(f"{prefix}scale")
        if isinstance(self.scale, nn.parameter.UninitializedParameter) and saved is not None:
            if not isinstance(saved, nn.parameter.UninitializedParameter):
                with torch.no_grad():
                    self.scale.materialize(saved.shape)
        super()._load_from_state_dict(state_dict, prefix, *given)

    @property
    def spline(self) -> Spline:
        """The function as it is, a frozen `Spline` on other knots."""
        if self.scale.dim():
            raise ArgumentError("this has a function a channel, each with its scale; look at .phi and .scale")
        if not self.scale.isfinite() or not self.scale:
            raise ArgumentError(f"the scale s is {float(self.scale.detach()):g}, so φ(s x) / s is no function")
        scale, values = float(self.scale.detach()), self.phi.values.detach() / self.scale.detach()
        low, high = self.phi.low / scale, self.phi.high / scale
        return Spline(values, low, high) if scale > 0 else Spline(values.flip(0), high, low)


Spline._with_scale = ScaledSpline
