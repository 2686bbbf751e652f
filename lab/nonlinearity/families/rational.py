"""Rational functions with safe denominators (Padé activation units)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from lab.nonlinearity.rational_kernel import fraction, is_fast, rational
from lab.nonlinearity.table import Learnable, in_float32, named_function

# The best fit of GELU on [-7, 7]: at most 0.0042 off
NUMERATOR = (-0.0042176316, 0.5, 0.422417866, 0.128956881, 0.0169361318, 0.000810288949)
DENOMINATOR = (0.0, 0.257913751, 0.0, 0.00162057773)


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
        wide = in_float32(x)
        if not is_fast(wide, self.numerator, self.denominator):
            return super().forward(x)
        numbers = torch.cat([self.numerator, self.denominator], -1)
        if self.functions is None:
            return rational(wide, numbers).to(x.dtype)
        self.broadcast(self.numerator[:, 0], x)  # refuses what does not fit
        rows = wide.movedim(self.dim, 0).contiguous()
        return rational(rows.view(self.functions, -1), numbers).view(rows.shape).movedim(0, self.dim).to(x.dtype)

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
