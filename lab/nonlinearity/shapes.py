"""Other shapes of a spline, computed from its knots: a polynomial, a symmetric function, one with few kinks.

`Spline.polynomial`, `chebyshev`, `symmetrized` and `simplified` are the way in. Polynomials (transformers paper, App.
F, Listing 2) stand on the support of the spline, the interval outside which it is zero, and stay constant beyond it:
the input is clamped.

Powers: the paper's least squares on the knots, evaluated with Horner's method. Its coefficients grow about tenfold with
every two degrees, so that in float32 rounding takes over between degrees 18 and 24; the errors that a fit states are
measured with the module itself and show it. Chebyshev series: the function's expansion, cut off at the degree;
coefficients stay small at every degree (Clenshaw's method). Up to degree 18 the two are nearly the same function.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, check_choice, check_whole
from lab.nonlinearity.op import is_seen_through
from lab.nonlinearity.table import Configured, check_floating
from lab.picture import Drawn

BETWEEN = 16  # points a knot at which errors are measured
NODES = 1 << 14  # at which the integrals of a Chebyshev series are taken; knots have hundreds
MIRRORS = ("x", "y", "both")
TIE = 1e-12  # correlations closer than this differ by rounding alone


class Polynomial(Configured, Drawn):
    """A polynomial on [low, high], constant outside: its slope is 0 there; NaN in gives NaN out.

    coefficients: of degrees 0, 1, … in `basis`: "powers" of x / max(|low|, |high|), as in Listing 2, or "chebyshev"
        polynomials of (2x − low − high) / (high − low). They are kept in double precision whatever the model is cast
        to, and in its `state_dict`. Inputs below float32 are evaluated in float32.
    maximum_error, rms_error: where it approximates a spline, the largest and the root-mean-square difference over
        [low, high], measured in float32 at the knots and 15 points between each two. Between these the largest can be
        larger, of powers up to degree 18 by some percent.

    >>> square = Polynomial([0.0, 0.0, 4.0], low=-2.0, high=2.0)  # 4 (x / 2)² = x²
    >>> square(torch.tensor([-1.5, 1.0, 7.0])).tolist()
    [2.25, 1.0, 4.0]
    """

    maximum_error: float | None = None
    rms_error: float | None = None

    def __init__(self, coefficients: Sequence[float], low: float, high: float, basis: str = "powers"):
        super().__init__()
        check_choice("basis", basis, CHAINS)
        self.coefficients = tuple(float(c) for c in coefficients)
        if not self.coefficients or not np.isfinite([low, high, *self.coefficients]).all() or not low < high:
            said = f"low={low}, high={high}, {len(self.coefficients)} coefficients"
            raise ArgumentError(f"{said}: give at least one, all numbers finite, and low below high")
        self.low, self.high, self.basis = float(low), float(high), basis

    @property
    def configuration(self) -> dict[str, str]:
        """What range and coefficients do not tell."""
        return {"basis": self.basis}

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    def forward(self, x: Tensor) -> Tensor:
        """p(x), shape and dtype of `x`."""
        check_floating(x)
        # torch.compile, torch.func (vmap, grad, jvp) and forward-mode differentiation see through the formula
        evaluate = formula if torch.compiler.is_compiling() or is_seen_through() else _Value.apply
        return evaluate(x, self.coefficients, self.low, self.high, self.basis)

    def get_extra_state(self) -> Tensor:
        """Range and coefficients, float64: what `state_dict` keeps."""
        return torch.tensor([self.low, self.high, *self.coefficients], dtype=torch.float64)

    def set_extra_state(self, state: Tensor) -> None:
        """Take up what `get_extra_state` gave; errors stated before are those of another polynomial."""
        low, high, *coefficients = state.tolist()
        if (low, high, *coefficients) != (self.low, self.high, *self.coefficients):
            self.low, self.high, self.coefficients = low, high, tuple(coefficients)
            self.maximum_error = self.rms_error = None

    def extra_repr(self) -> str:
        text = f"degree {self.degree}, {self.basis}, on [{self.low:.4g}, {self.high:.4g}]"
        if self.maximum_error is None:
            return text
        return f"{text}, error {self.maximum_error:.3g} at most, {self.rms_error:.3g} RMS"


def least_squares(x: np.ndarray, y: np.ndarray, degree: int) -> Polynomial:
    """The polynomial of this degree with the least squared error at the knots of the support (App. F).

    x, y (knots,): the spline. Raises ArgumentError where the support has too few knots for the degree.
    """
    x, y = support(x, y)
    if check_whole("degree", degree, 0) >= len(x):
        raise ArgumentError(f"degree={degree}: the function's support has {len(x)} knots; give a degree below that")
    scale = max(abs(x[0]), abs(x[-1]))
    fit, _ = np.polynomial.Polynomial.fit(x, y, degree, domain=(-scale, scale), full=True)  # full: no RankWarning
    return _measured(x, y, fit.coef, "powers")


def chebyshev_series(x: np.ndarray, y: np.ndarray, degree: int) -> Polynomial:
    """The Chebyshev series of the spline on its support, cut off at this degree (App. F names it).

    Of all polynomials of the degree it has the least squared error with weight 1 / √(1 − u²), u from −1 to 1 over the
    support: errors near the ends weigh most, so it has no artifacts there. It follows the spline between knots, too,
    where least squares on knots, in whatever basis, swings once the degree passes twice the root of their number.
    """
    from scipy.fft import dct

    if check_whole("degree", degree, 0) > NODES // 16:
        raise ArgumentError(f"degree={degree}: give at most {NODES // 16}")
    x, y = support(x, y)
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    nodes = (x[0] + x[-1]) / 2 + (x[-1] - x[0]) / 2 * np.cos(angles)
    coefficients = dct(np.interp(nodes, x, y)) / NODES  # 2/π ∫ f(cos θ) cos kθ dθ, by the midpoint rule
    coefficients[0] /= 2
    return _measured(x, y, coefficients[: degree + 1], "chebyshev")


def support(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The knots between which the function is not zero, with one zero knot at each end where there is one; all knots
    of the zero function."""
    busy = np.flatnonzero(y)
    inside = slice(max(busy[0] - 1, 0), busy[-1] + 2) if len(busy) else slice(None)
    return x[inside], y[inside]


def _measured(x: np.ndarray, y: np.ndarray, coefficients: np.ndarray, basis: str) -> Polynomial:
    fit = Polynomial(coefficients.tolist(), x[0], x[-1], basis)
    points = np.linspace(x[0], x[-1], BETWEEN * (len(x) - 1) + 1)
    error = fit(torch.from_numpy(points).float()).double().numpy() - np.interp(points, x, y)
    fit.maximum_error, fit.rms_error = float(np.abs(error).max()), float(np.sqrt(np.mean(error**2)))
    return fit


def formula(
    x: Tensor, coefficients: tuple[float, ...], low: float, high: float, basis: str, in_place: bool = False
) -> Tensor:
    """The polynomial in torch's own operations: shape and dtype of `x`. They can be differentiated, unless done in
    place, which takes a third of the time where tensors are large."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    wide = torch.where(((wide >= low) & (wide < high)) | wide.isnan(), wide, wide.detach().clamp(low, high))
    middle, half = _frame(low, high, basis)
    return CHAINS[basis]((wide - middle) / half, coefficients, in_place).to(x.dtype)


class _Value(torch.autograd.Function):
    """The same without the intermediate results that autograd would keep, two for each degree. The slope is one more
    such polynomial, so there are derivatives of every order."""

    @staticmethod
    def forward(ctx, x: Tensor, *function) -> Tensor:
        ctx.save_for_backward(x)
        ctx.function = function
        coefficients, low, high, basis = function
        return formula(x, coefficients, low, high, basis, in_place=True)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (x,), (coefficients, low, high, basis) = ctx.saved_tensors, ctx.function
        _, half = _frame(low, high, basis)
        scaled = tuple(c / half for c in DERIVATIVES[basis](coefficients))
        slope = _Value.apply(x, scaled, low, high, basis)
        return torch.where((x >= low) & (x < high), grad * slope, 0.0), None, None, None, None


def _frame(low: float, high: float, basis: str) -> tuple[float, float]:
    """What becomes 0, and the distance from it that becomes 1."""
    return (0.0, max(abs(low), abs(high))) if basis == "powers" else ((low + high) / 2, (high - low) / 2)


def _horner(u: Tensor, coefficients: tuple[float, ...], in_place: bool) -> Tensor:
    y = coefficients[-1] + 0 * u  # NaN stays NaN at degree 0, too
    for c in coefficients[-2::-1]:
        y = (y.mul_(u) if in_place else y * u).add_(c)
    return y


def _clenshaw(u: Tensor, coefficients: tuple[float, ...], in_place: bool) -> Tensor:
    """b_k = c_k + 2u b_{k+1} − b_{k+2}; the sum is c_0 + u b_1 − b_2."""
    one, two, double = 0 * u, 0 * u, 2 * u
    for c in coefficients[:0:-1]:
        b = two.neg_().addcmul_(double, one) if in_place else (double * one).sub_(two)
        one, two = b.add_(c), one
    return (u * one).sub_(two).add_(coefficients[0])


def _differentiate_powers(c: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(k * c[k] for k in range(1, len(c))) or (0.0,)


def _differentiate_chebyshev(c: tuple[float, ...]) -> tuple[float, ...]:
    """d_{k−1} = d_{k+1} + 2k c_k, half of that for d_0."""
    d = [0.0] * (len(c) + 1)
    for k in range(len(c) - 1, 0, -1):
        d[k - 1] = d[k + 1] + 2 * k * c[k]
    d[0] /= 2
    return tuple(d[: max(1, len(c) - 1)])


CHAINS = {"powers": _horner, "chebyshev": _clenshaw}
DERIVATIVES = {"powers": _differentiate_powers, "chebyshev": _differentiate_chebyshev}


def symmetrize(values: np.ndarray) -> tuple[np.ndarray, str, int, float]:
    """The average of a function, given by its values (knots,), and its most similar mirror image (transformers paper,
    App. D): values, mirror, shift in knots, correlation.

    Images are mirrored along x, along y, or along both, and shifted to where their cross-correlation with the function
    is largest. It takes the function as 0 outside its range, where learned functions are 0, and is divided by the
    energy, the sum of squares, which an image shares with the original. The average takes ends as constant, as the
    spline does. Of equally similar images the least shifted one counts. The zero function is its own image.

    >>> values, mirror, shift, correlation = symmetrize(np.array([0.0, 0.0, 0.0, 1.0, 0.0]))
    >>> values.tolist(), mirror, shift, round(correlation, 6)  # even around its fourth knot
    ([0.0, 0.0, 0.0, 1.0, 0.0], 'x', 2, 1.0)
    """
    knots, energy = len(values), float(values @ values)
    if energy == 0:
        return values.copy(), MIRRORS[0], 0, 1.0
    images = dict(zip(MIRRORS, (values[::-1], -values, -values[::-1]), strict=True))
    alignments = {mirror: _align(values, image, energy) for mirror, image in images.items()}
    top = max(correlation for _, correlation in alignments.values())
    equal = [name for name in MIRRORS if alignments[name][1] >= top - TIE]
    mirror = min(equal, key=lambda name: abs(alignments[name][0]))
    shift, correlation = alignments[mirror]
    reflection = images[mirror][np.clip(np.arange(knots) - shift, 0, knots - 1)]
    return (values + reflection) / 2, mirror, shift, min(correlation, 1.0)


def _align(values: np.ndarray, image: np.ndarray, energy: float) -> tuple[int, float]:
    """The shift at which the image correlates best, and how much; of several equal ones the smallest shift."""
    shifts = np.arange(1 - len(values), len(values))
    correlation = np.correlate(values, image, "full") / energy
    best = shifts[correlation >= correlation.max() - TIE]
    shift = int(best[np.argmin(np.abs(best))])
    return shift, float(correlation[shift + len(values) - 1])


def few_kinks(x: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    """Indices of knots through which straight lines stay within `tolerance` of (x, y), as few as a greedy walk finds:
    from each kept knot to the farthest one that a line may reach.

    >>> few_kinks(np.arange(5.0), np.array([0.0, 1.0, 2.0, 1.0, 0.0]), 1e-9).tolist()
    [0, 2, 4]
    """
    indices, start = [0], 0
    while start < len(x) - 1:
        gaps, rises = x[start + 1 :] - x[start], y[start + 1 :] - y[start]
        # the slopes of lines from here that stay within the tolerance at all knots so far
        least = np.maximum.accumulate((rises - tolerance) / gaps)
        most = np.minimum.accumulate((rises + tolerance) / gaps)
        slope = rises / gaps
        fits = np.flatnonzero((slope >= least - 1e-15) & (slope <= most + 1e-15))
        start += int(fits[-1]) + 1
        indices.append(start)
    return np.array(indices)
