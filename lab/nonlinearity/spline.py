"""The linear spline: a learnable scalar function, the lab's main object (transformers paper, App. B).

Values at evenly spaced knots of [low, high], linear between them, constant outside. Outside, the slope is 0; on a
knot, it is the slope to its right; ±inf gives the end value. NaN in gives NaN out, a NaN gradient of that input, and
NaN gradients of the first two knots. `op` has the kernels; they agree with each other in all of this.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx import Proxy
from torch.nn.parameter import is_lazy

from lab.errors import ArgumentError, LabError, check_flag, check_number, check_path, check_whole, shortened, shown
from lab.nonlinearity import document
from lab.nonlinearity.functions import check_elementwise
from lab.nonlinearity.op import is_seen_through, spline, traced
from lab.nonlinearity.shapes import Polynomial, chebyshev_series, few_kinks, least_squares, support, symmetrize
from lab.nonlinearity.table import Configured, as_floats, check_floating
from lab.picture import Drawn

PER_CHANNEL = "linear spline per channel"  # the kind of a `ChannelSpline`
DTYPES = {str(t).removeprefix("torch."): t for t in (torch.float32, torch.float64, torch.bfloat16, torch.float16)}
LARGEST = 3e38  # position, or slope: what float32 has
FEWEST_POINTS = 33  # at which a function is tried
MOST = 2**24  # knots: float32 tells no more of them apart


class Spline(Configured, Drawn):
    """A piecewise linear function φ: ℝ→ℝ with evenly spaced knots, constant outside (transformers paper, App. B).

    values: (knots,) for one function; or (runs, knots), one function for each run: then the leading axis of its inputs
        is the run axis. It becomes a Parameter, frozen unless `learnable`.
    low, high: positions of the first and the last knot.
    scaled: True returns a `ScaledSpline` around this function: its input has a scale that is learned with it.

    Functions on the same knots can be added, subtracted and multiplied by numbers; results are frozen.

    Raises ArgumentError for fewer than two knots, values that are no numbers, low ≥ high, and high - low above 3e38.

    >>> hat = Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0)
    >>> hat(torch.tensor([-5.0, -0.5, 0.0, 0.25])).tolist()
    [0.0, 0.5, 1.0, 0.75]
    >>> (2 * hat - hat / 2).values.tolist()
    [0.0, 1.5, 0.0]
    """

    kind = "linear spline"  # as its files have it
    dim: int | None = None  # axis of inputs that has the channels: see `ChannelSpline`
    __array_ufunc__ = None  # numpy.float64(2) * phi: numpy leaves it to us

    def __new__(cls, *args: Any, scaled: bool = False, **given: Any) -> Any:
        return ScaledSpline(cls(*args, **given)) if check_flag("scaled", scaled) else super().__new__(cls)

    def __init__(
        self, values: Tensor, low: float = -20.0, high: float = 20.0, learnable: bool = False, *, scaled: bool = False
    ):
        super().__init__()
        values = as_floats(values)
        if values.dim() not in (1, 2) or values.shape[-1] < 2:
            shape = tuple(values.shape)
            raise ArgumentError(f"values has shape {shape}; it must be (knots,) or (runs, knots) with ≥ 2 knots")
        self.low, self.high = check_number("low", low, -LARGEST, LARGEST), check_number("high", high, -LARGEST, LARGEST)
        if not 0 < self.high - self.low <= LARGEST:
            said = f"low={self.low:g}, high={self.high:g}: low must be below high"
            raise ArgumentError(f"{said}, by {LARGEST:g} at most" if self.low < self.high else said)
        if np.float32(self.low) >= np.float32(self.high) or values.shape[-1] / (self.high - self.low) > LARGEST:
            raise ArgumentError(f"low={self.low:g}, high={self.high:g}: float32 tells no knots apart that are so close")
        self.values = nn.Parameter(values.detach().clone(), requires_grad=check_flag("learnable", learnable))

    @classmethod
    def zeros(cls, knots: int = 361, low: float = -20.0, high: float = 20.0, learnable: bool = True) -> Spline:
        """The zero function, from which searches start (transformers paper, Algorithm 1).

        >>> Spline.zeros(knots=361).spacing * 9
        1.0
        """
        return cls(torch.zeros(check_whole("knots", knots, 2, MOST)), low, high, learnable)

    @classmethod
    def from_function(
        cls,
        f: Callable[[Tensor], Tensor],
        low: float = -20.0,
        high: float = 20.0,
        knots: int = 361,
        learnable: bool = False,
    ) -> Spline:
        """The spline through a function's values at evenly spaced knots of [low, high].

        f: from a tensor (knots,) to one of the same shape, e.g. `torch.sin`, a module, another spline. It has
            to treat each number by itself, and to give the same at each call, which is tried at other points, too.

        Raises ArgumentError for what is no such function, as softmax or dropout.

        >>> Spline.from_function(torch.relu, low=-2.0, high=2.0, knots=5)(torch.tensor([-1.5, 1.5, 9.0])).tolist()
        [0.0, 1.5, 2.0]
        """
        phi = cls.zeros(knots, low, high, learnable)
        if not callable(f):
            raise ArgumentError(f"f={shown(f)}: give a function of a tensor, such as torch.sin")
        with torch.no_grad():
            values = as_floats(f(phi.positions), "f gives")
            if values.shape != phi.values.shape or not values.isfinite().all():
                said = f"shape {tuple(values.shape)} for {knots} knots, {int(values.isfinite().sum())} values finite"
                raise ArgumentError(f"f gives {said}; it must give one finite value a knot on [{low:g}, {high:g}]")
            phi.values.copy_(values)
            check_elementwise(f, torch.linspace(phi.low, phi.high, max(knots, FEWEST_POINTS), dtype=phi.values.dtype))
        return phi

    @property
    def configuration(self) -> dict[str, Any]:
        """What the values do not tell: range, and axis of channels."""
        return {"low": self.low, "high": self.high} | ({} if self.dim is None else {"dim": self.dim})

    @property
    def positions(self) -> Tensor:
        return torch.linspace(self.low, self.high, self.values.shape[-1], dtype=self.values.dtype)

    @property
    def spacing(self) -> float:
        """Distance between two knots."""
        return (self.high - self.low) / (self.values.shape[-1] - 1)

    def forward(self, x: Tensor) -> Tensor:
        """φ(x), shape and dtype of `x`."""
        if isinstance(x, Proxy):  # torch.fx takes down the operator; the checks are of numbers that it does not have
            return spline(x, self.values, self.low, self.high)
        check_floating(x)
        count = len(self.values)
        if self.values.dim() == 2 and (x.dim() == 0 or x.shape[0] != count):
            cure = f"give one whose first axis has the length {count}, a function for each index of it"
            raise ArgumentError(f"input of shape {tuple(x.shape)} for {count} functions: {cure}")
        if x.layout != torch.strided:
            raise ArgumentError(f"input of type {x.layout}: give x.to_dense()")
        if x.dtype not in DTYPES.values():  # float8
            raise ArgumentError(f"input of type {x.dtype}: give {', '.join(DTYPES)}, for example x.float()")
        return self._evaluated(x)

    def _evaluated(self, x: Tensor) -> Tensor:
        return (traced if is_seen_through() else spline)(x, self.values, self.low, self.high)

    def save(self, path: str | Path, provenance: dict | None = None) -> None:
        """Write the function as JSON: low, high, values and their type, with a schema version and a checksum.

        Every value is kept exactly. provenance: facts to keep with the function, as JSON can say them. Raises
        ArgumentError for a path that cannot be, LabError where it cannot write.
        """
        path = check_path("path", path)
        if provenance is not None:
            document.check("provenance", provenance)
        dtype = str(self.values.dtype).removeprefix("torch.")
        content = {"kind": self.kind, **self.configuration, "dtype": dtype, "values": self.values.tolist()}
        try:
            document.write(path, content | ({"provenance": provenance} if provenance else {}))
        except OSError as error:
            raise LabError(f"path={shown(str(path))} cannot be written ({error.strerror}); give another") from error

    @classmethod
    def load(cls, path: str | Path, learnable: bool = False) -> Spline:
        """The function written by `save`; of one a channel, a `ChannelSpline`. Raises LabError for a file that is
        damaged, or of a newer schema."""
        path = check_path("path", path)
        try:
            content = document.read(path)
            kind = content.get("kind", Spline.kind)
            if kind not in (Spline.kind, PER_CHANNEL):
                raise ValueError(f"its kind is {shown(kind)}")
            values = torch.tensor(content["values"], dtype=DTYPES[content.get("dtype", "float32")])
            given = values, content["low"], content["high"], learnable
            if kind == PER_CHANNEL:
                return import_module("lab.nonlinearity.channels").ChannelSpline(*given, dim=content["dim"])
            return cls(*given)
        except (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # torch's own, too
            said = getattr(error, "strerror", None) or shortened(str(error))
            raise LabError(f"{path} is not a saved spline ({said}); give a file written by Spline.save") from error

    @property
    def support(self) -> tuple[float, float]:
        """The interval outside which the values at the knots are zero; all of [low, high] of the zero function.

        Where the first or the last value is not zero, the function keeps it beyond low or high.

        >>> Spline(torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), low=0.0, high=5.0).support
        (1.0, 3.0)
        """
        x, _ = support(*self._numbers())
        return float(x[0]), float(x[-1])

    def symmetrized(self) -> Symmetrized:
        """The average of the function and its most similar mirror image (transformers paper, App. D).

        >>> result = Spline(torch.tensor([-2.0, -1.0, 0.0, 1.0, 3.0]), low=-2.0, high=2.0).symmetrized()
        >>> result.mirror, result.shift, round(result.correlation, 3), result.spline.values.tolist()
        ('both', 0.0, 0.933, [-2.5, -1.0, 0.0, 1.0, 2.5])
        """
        values, mirror, shift, correlation = symmetrize(self._numbers()[1])
        return Symmetrized(self._like(values), mirror, shift * self.spacing, correlation, self.low, self.high)

    def polynomial(self, degree: int = 18) -> Polynomial:
        """The least-squares polynomial at the knots where the function is not zero (transformers paper, App. F).

        Beyond them it is constant. It is a module for any model, and states its largest error and its RMS error. Above
        degree 18, float32 has too few digits for it: take `chebyshev`. Raises ArgumentError for several functions
        (runs, knots).

        >>> wave = Spline.from_function(torch.sin, low=-3.0, high=3.0, knots=61)
        >>> [round(wave.polynomial(degree).rms_error, 4) for degree in (1, 3, 5)]
        [0.4071, 0.0552, 0.0034]
        """
        return least_squares(*self._numbers(), degree)

    def chebyshev(self, degree: int = 18) -> Polynomial:
        """The Chebyshev series, up to a degree, of the function where it is not zero (transformers paper, App. F).

        Beyond, it is constant. It is a module for any model, states its largest error and its RMS error, and is
        accurate at every degree. Raises ArgumentError for several functions (runs, knots).

        >>> wave = Spline.from_function(torch.sin, low=-3.0, high=3.0, knots=61)
        >>> [round(wave.chebyshev(degree).rms_error, 4) for degree in (1, 3, 5)]
        [0.4555, 0.0618, 0.0036]
        """
        return chebyshev_series(*self._numbers(), degree)

    def smoothed(self, bandwidth: float) -> Spline:
        """The function averaged with Gaussian weights; each of several functions (runs, knots) by itself.

        bandwidth: standard deviation of the weights, in units of x, from 0 (changes nothing) to the whole range. Beyond
        its ends, the function counts as constant. Raises ArgumentError for another bandwidth.

        >>> hat = Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0)
        >>> [round(value, 3) for value in hat.smoothed(0.5).values.tolist()]
        [0.106, 0.787, 0.106]
        """
        from scipy.ndimage import gaussian_filter1d

        most = self.high - self.low
        if not (isinstance(bandwidth, Real) and 0 <= bandwidth <= most):
            raise ArgumentError(f"bandwidth={shown(bandwidth)}: give a width in units of x, 0 to {most:g}")
        y, sigma = self.values.detach().cpu().double().numpy(), bandwidth / self.spacing
        if sigma >= 1 / 8:  # below, neighbours have no weight: scipy cuts the Gaussian at 4 deviations
            y = gaussian_filter1d(y, sigma, mode="nearest")
        return self._like(y)

    def tv2(self) -> Tensor:
        """The sum of |changes of slope| at the inner knots (second-order total variation; Bohra et al. 2020): of one
        function a number, of several (functions,). It can be differentiated: a penalty on it leaves fewer kinks.

        >>> float(Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0).tv2())
        2.0
        """
        return self.values.diff(n=2).abs().sum(-1) / self.spacing

    def limited(self, low: float, high: float) -> Spline:
        """The function with its slopes clipped to [low, high], and its mean over the knots kept; frozen. Where the
        bounds hold already, it stays what it is. low = -1, high = 1: no two outputs are farther apart than the inputs.

        >>> Spline(torch.tensor([0.0, 4.0, 4.0]), low=0.0, high=2.0).limited(-1, 1).values.diff().tolist()
        [1.0, 0.0]
        """
        low, high = check_number("low", low, -LARGEST, LARGEST), check_number("high", high, low, LARGEST)
        values = self.values.detach()
        steps = values.diff()
        clipped = steps.clamp(low * self.spacing, high * self.spacing)
        sums = torch.cat([torch.zeros_like(values[..., :1]), clipped.cumsum(-1)], -1)
        result = sums + (values - sums).mean(-1, keepdim=True)
        return self._like(torch.where((steps == clipped).all(-1, keepdim=True), values, result))

    def limit_(self, low: float, high: float) -> Self:
        """As `limited`, in place: after each step of an optimizer, it keeps a learnable function within the bounds."""
        with torch.no_grad():
            self.values.copy_(self.limited(low, high).values)
        return self

    def simplified(self, tolerance: float) -> Simplified:
        """The function with as few kinks as stay within `tolerance` of it everywhere; on the same knots, between which
        it is straight, and frozen.

        >>> result = Spline.from_function(torch.sin, low=-3.0, high=3.0, knots=301).simplified(0.01)
        >>> len(result.kept) < 30, result.error <= 0.01
        (True, True)
        """
        x, y = self._numbers()
        indices = few_kinks(x, y, check_number("tolerance", tolerance, 0))
        values = np.interp(x, x[indices], y[indices])
        return Simplified(self._like(values), x[indices], float(np.abs(values - y).max()))

    def __neg__(self) -> Spline:
        return self._like(-self.values)

    def __mul__(self, factor: float) -> Spline:
        return self._like(self.values * check_number("factor", factor)) if isinstance(factor, Real) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Spline:
        if not isinstance(divisor, Real):
            return NotImplemented
        if not check_number("divisor", divisor):
            raise ArgumentError("divisor=0: nothing is divided by 0; give another number")
        return self._like(self.values / float(divisor))

    def __add__(self, other: Spline) -> Spline:
        return self._like(self.values + self._on_my_knots(other)) if isinstance(other, Spline) else NotImplemented

    def __sub__(self, other: Spline) -> Spline:
        return self._like(self.values - self._on_my_knots(other)) if isinstance(other, Spline) else NotImplemented

    def _on_my_knots(self, other: Spline) -> Tensor:
        """The other's values, if the two functions, or sets of as many functions, have the same knots."""
        grids = [(phi.low, phi.high, phi.values.shape[-1]) for phi in (self, other)]
        runs = {len(phi.values) for phi in (self, other) if phi.values.dim() == 2}
        if grids[0] != grids[1] or len(runs) > 1:
            cure = "bring one to the other's with Spline.from_function(phi, low, high, knots)"
            raise ArgumentError(f"{self} and {other} have different knots; {cure}")
        return other.values

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Knot positions and values of one function, (knots,), in double precision."""
        y = check_finite(check_single(self)).values.detach().cpu().double().numpy()
        return np.linspace(self.low, self.high, len(y)), y

    def _like(self, values: np.ndarray | Tensor) -> Spline:
        """Another function of this one's range, type and device, frozen."""
        return Spline(torch.as_tensor(values).to(self.values), self.low, self.high)

    def _for_input(self, numbers: Tensor, x: Tensor) -> Tensor:
        """Numbers, one a function, in a shape that multiplies x."""
        return numbers

    def extra_repr(self) -> str:
        return f"{tuple(self.values.shape)} knots on [{self.low:g}, {self.high:g}]"


class ScaledSpline(nn.Module):
    """φ(s x) / s: the same function, wider or narrower (DeepSplines; Bohra et al. 2020). s is a parameter, at 1 in the
    beginning, and learns if φ does.

    phi: a `Spline` with one function, and one scale; or one a channel (`ChannelSpline`), each with its scale.
    `lab.Spline(values, learnable=True, scaled=True)` is one, too.

    >>> hat = ScaledSpline(Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0))
    >>> _ = hat.scale.data.fill_(0.5)
    >>> hat(torch.tensor([0.0, 1.0, 2.0])).tolist(), hat.spline.low, hat.spline.values.tolist()
    ([2.0, 1.0, 0.0], -2.0, [0.0, 2.0, 0.0])
    """

    def __init__(self, phi: Spline):
        super().__init__()
        if not isinstance(phi, Spline) or (phi.dim is None and phi.values.dim() == 2):
            raise ArgumentError(f"phi is {phi}; give a lab.Spline with one function, or one a channel")
        self.phi, learns = copy.deepcopy(phi), phi.values.requires_grad
        if is_lazy(phi.values):
            self.scale: nn.Parameter = nn.UninitializedParameter(requires_grad=learns, dtype=phi.values.dtype)
        else:
            self.scale = nn.Parameter(torch.ones_like(phi.values[..., 0]), requires_grad=learns)

    def forward(self, x: Tensor) -> Tensor:
        if is_lazy(self.scale):
            self.phi(x)  # counts its channels
            with torch.inference_mode(False), torch.no_grad():
                self.scale.materialize((len(self.phi.values),))
                self.scale.fill_(1.0)
        scale = self.phi._for_input(self.scale, x).to(x.dtype)
        return self.phi(x * scale) / scale

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """As torch's lazy modules: a scale that has no channels yet is saved as that."""
        if is_lazy(self.scale):
            destination[f"{prefix}scale"] = self.scale
        else:
            super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *given: Any) -> None:
        """A scale that has no channels yet takes those of the saved one, as the values of φ do."""
        saved = state_dict.get(f"{prefix}scale")
        if is_lazy(self.scale) and saved is not None and not is_lazy(saved):
            with torch.no_grad():
                self.scale.materialize(saved.shape)
        super()._load_from_state_dict(state_dict, prefix, *given)

    @property
    def spline(self) -> Spline:
        """The function as it is, a frozen `Spline` on other knots."""
        if self.scale.dim():
            raise ArgumentError("this has a function a channel, each with its scale; look at .phi and .scale")
        scale = float(self.scale.detach())
        if not np.isfinite(scale) or not scale:
            raise ArgumentError(f"the scale s is {scale:g}, so φ(s x) / s is no function")
        values, low, high = self.phi.values.detach() / self.scale.detach(), self.phi.low / scale, self.phi.high / scale
        return Spline(values, low, high) if scale > 0 else Spline(values.flip(0), high, low)


@dataclass(frozen=True, eq=False)
class Symmetrized(Drawn):
    """A symmetric version of a function, and how it was found.

    spline: the average of the function and its image. mirror: "x" (the image is φ(−x)), "y" (−φ(x)) or "both"
    (−φ(−x)); x is mirrored at the middle of the range. shift: of the image to the right, in units of x, a whole number
    of knots. correlation: of function and shifted image, from 0 (nothing in common) to 1 (the function is symmetric).
    low, high: the function's range.
    """

    spline: Spline
    mirror: str
    shift: float
    correlation: float
    low: float
    high: float

    @property
    def centre(self) -> float | None:
        """Where the axis (mirror "x") or the point (mirror "both") of symmetry is; None for mirror "y"."""
        return None if self.mirror == "y" else (self.low + self.high + self.shift) / 2


@dataclass(frozen=True)
class Simplified:
    """A function with fewer kinks. kept: positions of those that are left, the ends among them. error: the largest
    difference from the function before, everywhere."""

    spline: Spline
    kept: np.ndarray
    error: float


def check_single(phi: Spline, name: str = "this spline") -> Spline:
    """The spline, if it is one function; ArgumentError where it has several. name: what it is called in the message."""
    if phi.values.dim() != 1:
        example = "lab.Spline(phi.values[0], phi.low, phi.high)"
        raise ArgumentError(f"{name} has {len(phi.values)} functions; give one of them, for example {example}")
    return phi


def check_finite(phi: Spline, name: str = "this spline") -> Spline:
    """The spline, if its values are finite; ArgumentError where some are not. name: as for `check_single`."""
    if not phi.values.isfinite().all():
        raise ArgumentError(f"{name} has values that are not finite; give one whose values are")
    return phi
