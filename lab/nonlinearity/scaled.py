"""A spline whose input scale is learned, as in DeepSplines (Bohra et al. 2020)."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.nonlinearity.channels import ChannelSpline, LazyChannelSpline
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
            with torch.no_grad():
                self.scale.materialize((self.phi.values.shape[0],))
                self.scale.fill_(1.0)
        scale = self.scale.to(x.dtype)
        if isinstance(self.phi, ChannelSpline):
            behind = x.dim() - 1 - self.phi.dim % x.dim()
            scale = scale.view(-1, *[1] * behind)
        return self.phi(x * scale) / scale

    @property
    def spline(self) -> Spline:
        """The function as it is, a frozen `Spline` on other knots."""
        if self.scale.dim():
            raise ArgumentError("this has a function a channel, each with its scale; look at .phi and .scale")
        scale, values = float(self.scale.detach()), self.phi.values.detach() / self.scale.detach()
        low, high = self.phi.low / scale, self.phi.high / scale
        return Spline(values, low, high) if scale > 0 else Spline(values.flip(0), high, low)
