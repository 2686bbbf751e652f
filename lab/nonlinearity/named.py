"""The named non-linearities: those of `torch.nn` that map a number to a number, by their lower-case names."""

from __future__ import annotations

from torch import nn

from lab.errors import check_choice

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
    )
}


def named(name: str) -> nn.Module:
    """A fresh module of that name, with torch's default settings; "identity" makes the paper's "Linear" MLP.

    >>> named("relu")
    ReLU()
    """
    check_choice("non-linearity", name, NAMES, ", or a lab.Spline")
    return NAMES[name]()
