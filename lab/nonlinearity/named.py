"""The named non-linearities, by their lower-case names: those of `torch.nn` that map a number to a number, and some of
the literature that it does not have."""

from __future__ import annotations

from torch import nn

from lab.errors import check_choice
from lab.nonlinearity.functions import Gaussian, ReLU2, Sinc

NAMES: dict[str, type[nn.Module]] = {
    kind.__name__.lower(): kind
    for kind in (
        nn.Identity,
        nn.GELU,
        nn.ReLU,
        nn.SiLU,
        nn.Tanh,
        nn.Sigmoid,
        nn.ELU,
        nn.SELU,
        nn.CELU,
        nn.LeakyReLU,
        nn.ReLU6,
        nn.Softplus,
        nn.Softsign,
        nn.Mish,
        nn.Hardswish,
        nn.Hardtanh,
        nn.Hardsigmoid,
        nn.LogSigmoid,
        nn.Tanhshrink,
        ReLU2,
        Sinc,
        Gaussian,
    )
}


def named(name: str) -> nn.Module:
    """A fresh module of that name, with its default settings; "identity" makes the paper's "Linear" MLP.

    >>> named("relu")
    ReLU()
    """
    check_choice("non-linearity", name, NAMES, ", or a lab.Spline")
    return NAMES[name]()
