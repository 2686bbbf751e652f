"""Rational functions with safe denominators (Padé activation units)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from lab.nonlinearity.compiled import Compiled
from lab.nonlinearity.table import Learnable, named_function

# The best fit of GELU on [-7, 7]: at most 0.0042 off
NUMERATOR = (-0.0042176316, 0.5, 0.422417866, 0.128956881, 0.0169361318, 0.000810288949)
DENOMINATOR = (0.0, 0.257913751, 0.0, 0.00162057773)
NUMERATORS, ALL = 6, 10  # coefficients


def fraction(x: Tensor, numerator: Sequence[Tensor], denominator: Sequence[Tensor]) -> Tensor:
    """(a_0 + … + a_5 x⁵) / (1 + |b_1 x + … + b_4 x⁴|) in torch's operations; coefficients broadcast with x. Beyond ±1
    both polynomials are divided by x⁴, so that no power overflows."""
    far = x.abs() > 1
    v = torch.where(far, 1 / torch.where(far, x, 1.0), x)
    above = [torch.where(far, last, first) for first, last in zip(numerator, numerator[::-1], strict=True)]
    below = torch.where(far, _horner(denominator[::-1], v), v * _horner(denominator, v)).abs()
    ratio = _horner(above, v) / (torch.where(far, v.square().square(), 1.0) + below)
    return torch.where(far, x, 1.0) * ratio


def _horner(coefficients: Sequence[Tensor], x: Tensor) -> Tensor:
    """c_0 + c_1 x + …"""
    y = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = y * x + c
    return y


def _of_rows(x: Tensor, coefficients: Tensor) -> Tensor:
    """As the kernel is called."""
    shape = (-1, *[1] * (x.dim() - 1)) if coefficients.dim() == 2 else ()
    numbers = [c.view(shape) for c in coefficients.unbind(-1)]
    return fraction(x, numbers[:NUMERATORS], numbers[NUMERATORS:])


KERNEL = Compiled("rational", ALL, _of_rows)


@named_function(
    "rational",
    "(a0 + … + a5 x⁵) / (1 + |b1 x + … + b4 x⁴|); GELU on [-7, 7] at the start; x / 2 far out",
    "Molina et al. 2019 (safe PAU); Delfosse et al. 2021",
)
class Rational(Learnable):
    """(a_0 + … + a_5 x⁵) / (1 + |b_1 x + … + b_4 x⁴|), the safe Padé unit of Molina et al. 2019; numerator a (6,) and
    denominator b (4,) learn. There is another reading, 1 + |b_1 x| + … + |b_4 x⁴|, which is the default of the package
    rational-activations; this is its version B. At the start it is the best fit of GELU on [-7, 7], within 0.0042; far
    out it tends to x / 2.

    Beyond ±1 both polynomials are divided by x⁴, so that no power overflows. `Rational(8)` has a function for each of
    eight groups of channels, as KAT (Yang & Wang 2024).

    >>> x = torch.linspace(-7, 7, 99)
    >>> torch.allclose(Rational()(x), torch.nn.functional.gelu(x), atol=0.0043)
    True
    >>> Rational()(torch.tensor([1e30])).isfinite().item()
    True
    """

    start = {"numerator": NUMERATOR, "denominator": DENOMINATOR}
    numerator: Tensor
    denominator: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return KERNEL.of(self, x, torch.cat([self.numerator, self.denominator], -1))

    def compute(self, x: Tensor, numerator: Sequence[Tensor], denominator: Sequence[Tensor]) -> Tensor:
        return fraction(x, numerator, denominator)


@named_function(
    "pade",
    "as rational, with the numerator fixed: a5 x⁵ + … + a0 of GELU's fit; the denominator learns",
    "a variant of Molina et al. 2019: the denominator's 4 numbers learn",
)
class Pade(Rational):
    """As `Rational`; the numerator is a buffer, and the denominator's four numbers learn."""

    fixed = ("numerator",)
