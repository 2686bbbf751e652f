"""The linear spline: a learnable scalar function, the lab's main object (transformers paper, App. B).

Values at evenly spaced knots of [low, high], linear between them, constant outside. Outside, the slope is 0; on a
knot, it is the slope to its right; ±inf gives the end value. NaN in gives NaN out, a NaN gradient of that input, and
NaN gradients of the first two knots. `op` has the kernels; they agree with each other in all of this.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx import Proxy

from lab.errors import (
    ArgumentError,
    LabError,
    check_flag,
    check_number,
    check_path,
    check_type,
    check_whole,
    shortened,
    shown,
)
from lab.nonlinearity import document
from lab.nonlinearity.arithmetic import Arithmetic
from lab.nonlinearity.checks import check_finite, check_single
from lab.nonlinearity.elementwise import check_elementwise
from lab.nonlinearity.op import spline
from lab.nonlinearity.polynomial import Polynomial, chebyshev_series, least_squares, support
from lab.nonlinearity.symmetry import Symmetrized, symmetrize
from lab.nonlinearity.traced import traced

DTYPES = {str(t).removeprefix("torch."): t for t in (torch.float32, torch.float64, torch.bfloat16, torch.float16)}

KINDS = frozenset(DTYPES.values())  # of inputs
FINITE = (-3e38, 3e38)  # positions that float32 has
FEWEST_POINTS = 33  # at which a function is tried
MOST = 2**24  # knots: float32 tells no more of them apart


class Spline(Arithmetic, nn.Module):
    """A piecewise linear function φ: ℝ→ℝ with evenly spaced knots, constant outside (transformers paper, App. B).

    values: (knots,) for one function; or (runs, knots), one function for each run: then the leading axis of its inputs
        is the run axis. It becomes a Parameter, frozen unless `learnable`.
    low, high: positions of the first and the last knot.
    scaled: True returns a `ScaledSpline` around this function: its input has a scale that is learned with it.

    Raises ArgumentError for fewer than two knots, values that are no numbers, and low ≥ high.

    >>> hat = Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0)
    >>> hat(torch.tensor([-5.0, -0.5, 0.0, 0.25])).tolist()
    [0.0, 0.5, 1.0, 0.75]
    """

    _with_scale: ClassVar[Callable[[Spline], nn.Module]]  # `lab.nonlinearity.scaled`, which knows this module, sets it

    def __new__(cls, *args: Any, scaled: bool = False, **given: Any) -> Any:
        """A `ScaledSpline` where one is asked for."""
        return cls._with_scale(cls(*args, **given)) if check_flag("scaled", scaled) else super().__new__(cls)

    def __init__(
        self,
        values: Tensor,
        low: float = -20.0,
        high: float = 20.0,
        learnable: bool = False,
        *,
        scaled: bool = False,
    ):
        super().__init__()
        values = _numbers(values)
        if values.dim() not in (1, 2) or values.shape[-1] < 2:
            raise ArgumentError(
                f"values has shape {tuple(values.shape)}; it must be (knots,) or (runs, knots) with ≥ 2 knots"
            )
        self.low, self.high = check_number("low", low, *FINITE), check_number("high", high, *FINITE)
        if not self.low < self.high:
            raise ArgumentError(f"low={self.low:g}, high={self.high:g}: low must be below high")
        if np.float32(self.low) >= np.float32(self.high) or values.shape[-1] / (self.high - self.low) > FINITE[1]:
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
        phi = cls(torch.zeros(check_whole("knots", knots, 2, MOST)), low, high, learnable)
        if not callable(f):
            raise ArgumentError(f"f={shown(f)}: give a function of a tensor, such as torch.sin")
        with torch.no_grad():
            values = _numbers(f(phi.positions), "f gives")
            if values.shape != phi.values.shape or not values.isfinite().all():
                raise ArgumentError(
                    f"f gives shape {tuple(values.shape)} for {knots} knots, {int(values.isfinite().sum())} values"
                    f" finite; it must give one finite value a knot on [{low:g}, {high:g}]"
                )
            phi.values.copy_(values)
            check_elementwise(f, torch.linspace(phi.low, phi.high, max(knots, FEWEST_POINTS), dtype=phi.values.dtype))
        return phi

    @property
    def positions(self) -> Tensor:
        """Knot positions, (knots,)."""
        return torch.linspace(self.low, self.high, self.values.shape[-1], dtype=self.values.dtype)

    @property
    def spacing(self) -> float:
        """Distance between two knots."""
        return (self.high - self.low) / (self.values.shape[-1] - 1)

    def forward(self, x: Tensor) -> Tensor:
        """φ(x), shape and dtype of `x`."""
        if isinstance(x, Proxy):  # torch.fx takes down the operator; the checks are of numbers that it does not have
            return spline(x, self.values, self.low, self.high)
        if not isinstance(x, Tensor):
            raise ArgumentError(f"input {shown(x)} is a {type(x).__name__}; give a tensor, such as torch.as_tensor(x)")
        if self.values.dim() == 2 and (x.dim() == 0 or x.shape[0] != self.values.shape[0]):
            raise ArgumentError(
                f"input of shape {tuple(x.shape)} for {len(self.values)} functions: give one whose first axis has the"
                f" length {len(self.values)}, a function for each index of it"
            )
        if x.dtype not in KINDS or x.layout != torch.strided:
            said = x.dtype if x.layout == torch.strided else x.layout
            cure = "floating-point numbers, for example x.float()" if x.layout == torch.strided else "x.to_dense()"
            raise ArgumentError(f"input of type {said}: give {cure}")
        # torch.func (vmap, grad, jvp) does not see through the kernel
        under = torch._C._are_functorch_transforms_active()
        return (traced if under else spline)(x, self.values, self.low, self.high)

    def save(self, path: str | Path, provenance: dict | None = None) -> None:
        """Write the function as JSON: low, high, values and their type, with a schema version and a checksum.

        Every value is kept exactly. provenance: facts to keep with the function, as JSON can say them. Raises
        ArgumentError for a path that cannot be, LabError where it cannot write.
        """
        path = check_path("path", path)
        if provenance is not None:
            _check_facts(provenance)
        dtype = str(self.values.dtype).removeprefix("torch.")
        numbers = {"kind": "linear spline", "low": self.low, "high": self.high, "dtype": dtype}
        numbers["values"] = self.values.tolist()
        try:
            document.write(path, numbers | ({"provenance": provenance} if provenance else {}))
        except OSError as error:
            raise LabError(f"path={shown(str(path))} cannot be written ({error.strerror}); give another") from error

    @classmethod
    def load(cls, path: str | Path, learnable: bool = False) -> Spline:
        """The function written by `save`. Raises LabError for a file that is damaged, or of a newer schema."""
        path = check_path("path", path)
        try:
            content = document.read(path)
            values = torch.tensor(content["values"], dtype=DTYPES[content.get("dtype", "float32")])
            return cls(values, content["low"], content["high"], learnable)
        except (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # torch's own, too
            said = getattr(error, "strerror", None) or shortened(str(error))
            raise LabError(f"{path} is not a saved spline ({said}); give a file written by Spline.save") from error

    @property
    def support(self) -> tuple[float, float]:
        """The interval outside which the function is zero; all of [low, high] where it is zero or ends on other values.

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
        _, y = self._numbers()
        values, mirror, shift, correlation = symmetrize(y)
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

        if not (isinstance(bandwidth, Real) and 0 <= bandwidth <= self.high - self.low):
            most = self.high - self.low
            raise ArgumentError(f"bandwidth={shown(bandwidth)}: give a width in units of x, 0 to {most:g}")
        y, sigma = self.values.detach().cpu().double().numpy(), bandwidth / self.spacing
        if sigma >= 1 / 8:  # below, neighbours have no weight: scipy cuts the Gaussian at 4 deviations
            y = gaussian_filter1d(y, sigma, mode="nearest")
        return self._like(y)

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Knot positions and values of one function, (knots,), in double precision."""
        y = check_finite(check_single(self)).values.detach().cpu().double().numpy()
        return np.linspace(self.low, self.high, len(y)), y

    def _like(self, values: np.ndarray | Tensor) -> Spline:
        """Another function of this one's range, type and device, frozen."""
        return Spline(torch.as_tensor(values).to(self.values), self.low, self.high)

    def extra_repr(self) -> str:
        """Shape and range, for print(model)."""
        return f"{tuple(self.values.shape)} knots on [{self.low:g}, {self.high:g}]"


def _numbers(values: object, name: str = "values") -> Tensor:
    """Values as a tensor of floating-point numbers."""
    try:
        numbers = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise ArgumentError(f"{name} {shown(values)}; give numbers, one a knot") from error
    if numbers.is_complex() or numbers.layout != torch.strided:
        raise ArgumentError(f"{name} numbers of type {numbers.dtype}, {numbers.layout}; give real ones, not sparse")
    return numbers if numbers.is_floating_point() else numbers.to(torch.get_default_dtype())


def _check_facts(provenance: dict) -> None:
    check_type("provenance", provenance, dict, "a dict of facts")
    try:
        json.dumps(provenance)
    except (TypeError, ValueError) as error:
        said = shortened(str(error))
        raise ArgumentError(f"provenance={shown(provenance)}: give what JSON can say ({said})") from error
