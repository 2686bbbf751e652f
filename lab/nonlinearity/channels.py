"""One spline a channel, as DeepSplines has them; the same kernels, with the channels in the place of runs."""

import torch
from torch import Tensor, nn
from torch.fx import Proxy

from lab.errors import ArgumentError, check_whole, shown
from lab.nonlinearity.spline import PER_CHANNEL, Spline, check_single
from lab.nonlinearity.table import check_floating

MOST_AXES = 8  # that an input can have


class ChannelSpline(Spline):
    """φ_c for each channel c of an axis of the input.

    values: (channels, knots). dim: the axis of x that has the channels: 1 of images (B, C, H, W) and of rows (B, C), -1
        of tokens (B, T, C). Otherwise as `Spline`.

    >>> two = ChannelSpline(torch.tensor([[0.0, 1.0], [0.0, 3.0]]), low=0.0, high=1.0)
    >>> two(torch.tensor([[0.5, 0.5]])).tolist()
    [[0.5, 1.5]]
    """

    kind = PER_CHANNEL
    dim: int

    def __init__(self, values: Tensor, low: float = -20.0, high: float = 20.0, learnable: bool = False, dim: int = 1):
        super().__init__(values, low, high, learnable)
        if self.values.dim() != 2:
            raise ArgumentError(f"values has shape {tuple(self.values.shape)}; it must be (channels, knots)")
        self.dim = check_whole("dim", dim, -MOST_AXES, MOST_AXES)

    @property
    def channels(self) -> int:
        return len(self.values)

    def forward(self, x: Tensor) -> Tensor:
        if not isinstance(x, Proxy):  # as in `Spline.forward`
            check_axis(x, self.dim, self.channels)
        return self._evaluated(x.movedim(self.dim, 0).contiguous()).movedim(0, self.dim)

    def of_channel(self, channel: int) -> Spline:
        """The function of one channel."""
        return Spline(self.values[check_whole("channel", channel, 0, self.channels - 1)], self.low, self.high)

    def _like(self, values: object) -> Spline:
        made = super()._like(values)  # type: ignore[arg-type]
        return ChannelSpline(made.values, self.low, self.high, dim=self.dim) if made.values.dim() == 2 else made

    def _for_input(self, numbers: Tensor, x: Tensor) -> Tensor:
        check_axis(x, self.dim, self.channels)
        return numbers.view(-1, *[1] * (x.dim() - 1 - self.dim % x.dim()))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, dim={self.dim}"


class LazyChannelSpline(nn.modules.lazy.LazyModuleMixin, ChannelSpline):
    """A `ChannelSpline` that counts its channels at the first call: each begins as a copy of one function.

    >>> lazy = LazyChannelSpline(Spline(torch.tensor([0.0, 1.0]), low=0.0, high=1.0))
    >>> _ = lazy(torch.zeros(5, 3)); lazy.values.shape
    torch.Size([3, 2])
    """

    cls_to_become = ChannelSpline

    def __init__(self, phi: Spline, dim: int = 1):
        super().__init__(check_single(phi).values.detach()[None], phi.low, phi.high, dim=dim)
        learnable, self.first = phi.values.requires_grad, phi.values.detach().clone()
        self.values = nn.UninitializedParameter(requires_grad=learnable, dtype=self.first.dtype)  # type: ignore[call-arg,assignment]

    def initialize_parameters(self, x: Tensor) -> None:
        """Of as many channels as the first input has."""
        if self.has_uninitialized_params():
            check_axis(x, self.dim)
            with torch.inference_mode(False), torch.no_grad():
                self.values.materialize((x.shape[self.dim], len(self.first)))  # type: ignore[attr-defined]
                self.values.copy_(self.first.to(self.values))

    def extra_repr(self) -> str:
        return f"{len(self.first)} knots a channel on [{self.low:g}, {self.high:g}], dim={self.dim}"


def channel_axis(per_channel: bool | int) -> int:
    """The axis of channels, where a user says that there is one; ArgumentError for what is no axis of channels.

    >>> channel_axis(True), channel_axis(-1)
    (1, -1)
    """
    if per_channel is True:
        return 1
    whole = isinstance(per_channel, int) and not isinstance(per_channel, bool)
    if not whole or not -MOST_AXES <= per_channel < MOST_AXES or per_channel == 0:  # the examples are on axis 0
        choices = "True (channels on axis 1), False (one function), or the number of the channels' axis, such as -1"
        raise ArgumentError(f"per_channel={shown(per_channel)}: give {choices}")
    return per_channel


def check_axis(x: Tensor, dim: int, channels: int | None = None) -> None:
    """ArgumentError where an input has no such axis, or not as many channels there. None: any number of channels."""
    check_floating(x)
    if not -x.dim() <= dim < x.dim():
        cure = "give the axis of its channels, as per_channel= of lab.swap or dim="
        raise ArgumentError(f"input of shape {tuple(x.shape)} has no axis {dim} for channels; {cure}")
    if channels is not None and x.shape[dim] != channels:
        cure = f"give one with {channels} there, or another axis (per_channel= of lab.swap, dim=)"
        raise ArgumentError(f"input of shape {tuple(x.shape)} for {channels} channels on axis {dim}; {cure}")
