"""A scalar function in numbers: its profile, the inputs that it receives, the sine nearest to it, and untrained
networks with it, which show what functions an architecture prefers before any training (simplicity paper, Appendix B).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_number, check_whole, described
from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline, check_single
from lab.picture import HasPicture
from lab.probes.arguments import FAR, calling, check_room, finite, module, numbers
from lab.probes.calling import Alone, Slice1D, Slice2D, slice_1d, slice_2d
from lab.probes.complexity import Complexity, total_variation
from lab.probes.reading import reading

DRAWS = 200  # of noise, for the control
FINENESS = 40  # frequencies that are tried in each 1 / (range of x)
SIZES = (2, 64, 64, 64, 1)
CORNERS = ((-1.0, -1.0), (1.0, 1.0))  # ends of the line
POINTS, SEEN = 1000, 500  # random ones of the square: ends of the paths of the complexity, and for the inputs


@dataclass(frozen=True, repr=False)
class Profile(HasPicture):
    """A function at points of [low, high]; between them it is linear, or close to it.

    x, y (points,); slope (points - 1,): between a point and the next; constant: whether it stays at its first and last
    value outside [low, high].
    """

    x: np.ndarray
    y: np.ndarray
    slope: np.ndarray
    constant: bool

    @property
    def low(self) -> float:
        return float(self.x[0])

    @property
    def high(self) -> float:
        return float(self.x[-1])

    def heights(self, low: float, high: float) -> tuple[float, float]:
        """Smallest and largest value on [low, high]."""
        values = np.append(self.y[(self.x >= low) & (self.x <= high)], np.interp([low, high], self.x, self.y))
        return float(values.min()), float(values.max())

    def support(self, share: float = 0.01) -> tuple[float, float]:
        """Where the function is busy: the smallest interval outside which it stays within `share` of its whole
        height from its end values."""
        near = share * np.ptp(self.y)
        left, right = np.abs(self.y - self.y[0]) > near, np.abs(self.y - self.y[-1]) > near
        if not left.any():
            return self.low, self.high
        first, last = max(int(left.argmax()) - 1, 0), min(len(right) - int(right[::-1].argmax()), len(right) - 1)
        return float(self.x[first]), float(self.x[last])


def profile(phi: Callable[[Tensor], Tensor], low: float = -20.0, high: float = 20.0, samples: int = 2001) -> Profile:
    """The course of a function: at its own knots where it is a spline, which loses nothing; else at `samples` points.

    >>> hat = profile(Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0))
    >>> hat.x.tolist(), hat.y.tolist(), hat.slope.tolist()
    ([-1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, -1.0])
    """
    if isinstance(phi, Spline):
        check_single(phi)
        x, y = np.linspace(phi.low, phi.high, len(phi.values)), phi.values.detach().cpu().double().numpy()
    else:
        if not callable(phi) or isinstance(phi, type):
            raise ArgumentError(f"phi is {described(phi)}; give a lab.Spline or a function of tensors, torch.nn.GELU()")
        _check_range(low, high)
        check_room("samples", check_whole("samples", samples, 2))
        points = torch.linspace(low, high, samples, dtype=torch.float64)
        hint = "give a function that maps a tensor to another of its shape"
        with reading(phi), calling("phi", hint):
            x, y = points.numpy(), numbers("phi(x)", phi(points), "numbers of the shape of x", least=0)
        if y.shape != x.shape:
            raise ArgumentError(f"phi gave {described(y)} for {len(x)} points; {hint}")
    return Profile(x, y, np.diff(y) / np.diff(x), constant=isinstance(phi, Spline))


@dataclass(frozen=True, repr=False)
class Received(HasPicture):
    """Which inputs a function receives, by the nearest point of its profile.

    x (points,): evenly spaced; share (points,): of all inputs, sums to 1; the first and last count what lies beyond.
    """

    x: np.ndarray
    share: np.ndarray
    source: str  # where the inputs come from, in words

    def central(self, part: float = 0.99) -> tuple[float, float]:
        """The interval that holds this part of the inputs, as many left out below as above."""
        below = np.cumsum(self.share) / self.share.sum()
        first, last = np.searchsorted(below, [(1 - part) / 2, (1 + part) / 2])
        return float(self.x[first]), float(self.x[min(last, len(self.x) - 1)])


def counts(inputs: Tensor | np.ndarray, low: float, high: float, points: int) -> np.ndarray:
    """How many inputs are nearest to each of `points` evenly spaced points of [low, high]; int64, (points,).

    What lies beyond an end counts there, so the counts sum to the number of inputs. NaN is refused.

    >>> counts(torch.tensor([-9.0, -0.4, 0.4, 0.6]), low=-1.0, high=1.0, points=3).tolist()
    [1, 2, 1]
    """
    _check_range(low, high)
    check_room("points", check_whole("points", points, 2))
    flat = numbers("inputs", inputs, "a tensor or an array of numbers", least=0).ravel()
    if np.isnan(flat).any():
        raise ArgumentError(f"{int(np.isnan(flat).sum())} of {len(flat)} inputs are not a number; give finite ones")
    place = (np.clip(flat, low, high) - low) * ((points - 1) / (high - low))
    return np.bincount(np.rint(place).astype(np.int64), minlength=points)


def received(inputs: Tensor | np.ndarray, shape: Profile, source: str = "the inputs given") -> Received:
    """The share of inputs nearest to each point of a profile.

    >>> shape = profile(Spline(torch.zeros(3), low=-1.0, high=1.0))
    >>> received(torch.tensor([-9.0, -0.4, 0.4, 0.6]), shape).share.tolist()
    [0.25, 0.5, 0.25]
    """
    if not isinstance(shape, Profile):
        raise ArgumentError(f"shape is {described(shape)}; give what probes.profile.profile returned")
    frequencies = counts(inputs, shape.low, shape.high, len(shape.x))
    if not frequencies.sum():
        raise ArgumentError("no inputs were given; give a tensor with at least one")
    return Received(shape.x, frequencies / frequencies.sum(), source)


def _check_range(low: float, high: float) -> None:
    if not check_number("low", low, -FAR) < check_number("high", high, most=FAR):
        raise ArgumentError(f"low={low:g} and high={high:g}: give a low below high")


@dataclass(frozen=True)
class Wave:
    """frequency: in periods per unit of x. explained: share of the variance around the best straight line, 0 to 1.
    y: the line and the sine together at the points, (points,). noise: the share that a sine explains of white noise at
    the same points and weights, in 19 of 20 draws at most: a control, because where few points count some sine always
    fits.
    """

    frequency: float
    explained: float
    y: np.ndarray
    noise: float


def wave(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Wave:
    """The sine that, added to a straight line, is nearest to y at the points x, by least squares.

    x, y: (points,), x evenly spaced. weights: (points,), what each point counts, e.g. the share of inputs that fall
    there (default: all the same). Frequencies are tried from one period in the range of x to one period in the range
    less than points can tell apart, two points a period: functions of addition modulo 41 have 2.1 points a period. The
    paper says of functions that they are sine-like by eye (simplicity paper, Fig. 12); this is our measure of it.

    >>> x = np.linspace(-2, 2, 101)
    >>> result = wave(x, np.sin(2 * np.pi * 1.5 * x + 0.4) + 0.3 * x)
    >>> round(result.frequency, 2), round(result.explained, 2)
    (1.5, 1.0)
    """
    expected = "one row of numbers, (points,)"
    x, y = finite("x", x, expected), finite("y", y, expected)
    weights = np.ones_like(x) if weights is None else finite("weights", weights, expected)
    if not (x.shape == y.shape == weights.shape and x.ndim == 1 and len(x) > 8):
        raise ArgumentError(f"x {x.shape}, y {y.shape}, weights {weights.shape}: give three rows of more than 8 points")
    if not (weights >= 0).all() or not weights.sum() > 0:
        raise ArgumentError("weights are negative or all 0; give numbers of 0 or more, some above")
    if not np.diff(x).min() > 0 or np.ptp(np.diff(x)) > 1e-3 * np.diff(x).mean():
        raise ArgumentError(f"x goes from {x[0]:g} to {x[-1]:g} in uneven steps; give evenly spaced points, in order")
    check_room("x", len(x), FINENESS * len(x) // 2, 4)
    root, span = np.sqrt(weights), x[-1] - x[0]
    frequencies = np.arange(FINENESS, FINENESS * ((len(x) - 1) // 2 - 1) + 1) / (FINENESS * span)
    line = np.stack([np.ones_like(x), x], 1)
    angles = 2 * np.pi * frequencies[:, None] * x
    waves = np.stack([np.sin(angles), np.cos(angles)], 2)
    designs = np.concatenate([np.broadcast_to(line, (len(angles), *line.shape)), waves], 2)  # (frequencies, points, 4)
    fits = np.linalg.pinv(root[:, None] * designs) @ (root * y)  # (frequencies, 4)
    errors = (((designs @ fits[..., None])[..., 0] - y) ** 2 * weights).sum(1)
    straight = line @ (np.linalg.pinv(root[:, None] * line) @ (root * y))
    noise = _of_noise(root[:, None] * designs, root, root[:, None] * line)
    whole, best = float(((straight - y) ** 2 * weights).sum()), int(errors.argmin())
    if whole <= 1e-12 * float((y**2 * weights).sum()):  # a straight line is like no sine
        return Wave(float("nan"), 0.0, straight, noise)
    return Wave(float(frequencies[best]), float(1 - errors[best] / whole), designs[best] @ fits[best], noise)


def _of_noise(designs: np.ndarray, root: np.ndarray, line: np.ndarray) -> float:
    """The share that the best of the designs (frequencies, points, 4) explains of noise beyond the line (points, 2)."""
    noise = root[:, None] * np.random.default_rng(0).normal(size=(len(root), DRAWS))
    total, straight = (noise**2).sum(0), _within(line, noise)
    most = _within(designs, noise).max(0)
    return float(np.quantile((most - straight) / np.maximum(total - straight, 1e-12), 0.95).clip(0, 1))


def _within(designs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The part of the sum of squares of each column of values (points, draws) that lies in the span of a design."""
    bases, sizes, _ = np.linalg.svd(designs, full_matrices=False)
    bases = bases * (sizes > 1e-9 * sizes[..., :1])[..., None, :]
    return ((np.swapaxes(bases, -1, -2) @ values) ** 2).sum(-2)


@dataclass(frozen=True, repr=False)
class Portrait(HasPicture):
    """A random network of two inputs on the square [−1, 1]².

    line: from corner to corner; plane: the square; received: what the non-linearity received at 500 random points of
    the square, in all hidden layers, (inputs,).
    """

    line: Slice1D
    plane: Slice2D
    received: np.ndarray


def portrait(phi: nn.Module, seed: int = 0, scale: float = 1.0, grid: int = 100, samples: int = 201) -> Portrait:
    """The function of a perceptron with three hidden layers of 64 and random weights, with this non-linearity.

    seed, scale: of the weights, as for `lab.models.mlp.MLP`; grid: points along a side of the plane; samples: of the
    line. The points at which inputs are looked at are the same for every seed.

    >>> result = portrait(nn.Identity(), samples=3)  # a linear network: half-way is the mean of the ends
    >>> bool(np.isclose(result.line.values[1], result.line.values[[0, 2]].mean(), atol=1e-5))
    True
    """
    network = random_network(phi, seed, scale)
    check_whole("grid", grid, 2), check_whole("samples", samples, 2)
    with reading(network), calling("phi", "give a torch.nn.Module that maps a tensor to another of its shape"):
        received = torch.cat([inputs.flatten() for inputs in network.received(square(SEEN)[None])])
    start, end = torch.tensor(CORNERS)
    line = slice_1d(Alone(network), start, end, samples)
    return Portrait(line, slice_2d(Alone(network), torch.zeros(2), (0, 1), grid), received.numpy())


def variation(phi: nn.Module, seed: int = 0, scale: float = 1.0) -> Complexity:
    """The total variation of the same network, on paths between 1000 random points of the square, those of every seed.

    >>> variation(nn.Identity()).value
    0.0
    """
    return total_variation(Alone(random_network(phi, seed, scale)), square(POINTS))


def random_network(phi: nn.Module, seed: int = 0, scale: float = 1.0) -> MLP:
    """The network itself, with one run."""
    module("phi", phi)
    return MLP(SIZES, [check_whole("seed", seed, 0)], phi, check_number("scale", scale, 0)).requires_grad_(False)


def square(points: int) -> Tensor:
    """Random points of the square, (points, 2), those of every seed."""
    return 2 * torch.rand(points, 2, generator=torch.Generator().manual_seed(0)) - 1
