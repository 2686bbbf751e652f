"""Functions of one number: those with a name (of `torch.nn`, and of the transformers paper's Table 3), the user's own,
and whether a function of a tensor is one: softmax is not, nor is dropout."""

import warnings
from collections.abc import Callable
from math import prod, sqrt

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_choice

Compute = Callable[[Tensor], Tensor]
SHAPES = ((30,), (5, 6), (2, 3, 5), (2, 3, 5, 2))  # tried in this order: some functions need several axes
RANDOM = "gives other values at each call; give one that draws no random numbers (a module with dropout after .eval())"
MIXING = (
    "is not a function of one number: its value at a point depends on the other points; give one that treats each"
    " number by itself, such as torch.sin"
)


class ReLU2(nn.Module):
    """max(0, x)² (So et al. 2021).

    >>> ReLU2()(torch.tensor([-3.0, 3.0]))
    tensor([0., 9.])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.relu().square()


class Sinc(nn.Module):
    """sin(πx) / (πx), 1 at 0 (Saratchandran et al. 2024).

    The transformers paper gives no frequency. A guess: that of the sampling theorem, with zeros at the integers.

    >>> Sinc()(torch.tensor([0.0, 0.5])).tolist() == [1.0, torch.sinc(torch.tensor(0.5)).item()]
    True
    """

    def forward(self, x: Tensor) -> Tensor:
        return torch.sinc(x)


class Gaussian(nn.Module):
    """exp(-x²) (Saragadam et al. 2023, who write exp(-(s x)²)). The transformers paper gives no s. A guess: 1.

    >>> Gaussian()(torch.tensor(0.0)).item()
    1.0
    """

    def forward(self, x: Tensor) -> Tensor:
        return (-x.square()).exp()


class Called(nn.Module):
    """A function of the user's, such as torch.sin, as a module.

    >>> Called(torch.sin)
    Called(sin)
    """

    def __init__(self, function: Callable[[Tensor], Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)

    def extra_repr(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


TORCH = (
    "Identity GELU ReLU SiLU Tanh Sigmoid ELU SELU CELU LeakyReLU ReLU6 Softplus Softsign Mish Hardswish Hardtanh "
    "Hardsigmoid LogSigmoid Tanhshrink"
)
NAMES: dict[str, type[nn.Module]] = {name.lower(): getattr(nn, name) for name in TORCH.split()}
NAMES |= {"relu2": ReLU2, "sinc": Sinc, "gaussian": Gaussian}


def named(name: str) -> nn.Module:
    """A fresh module of that name, with its default settings; "identity" makes the paper's "Linear" MLP.

    >>> named("relu")
    ReLU()
    """
    check_choice("non-linearity", name, NAMES, ", or a lab.Spline")
    return NAMES[name]()


def name_of(given: nn.Module | Callable) -> str | None:
    """The name of a module, with its default settings, or of a function of torch; None for all others.

    >>> name_of(nn.GELU()), name_of(nn.GELU("tanh")), name_of(torch.relu)
    ('gelu', None, 'relu')
    """
    for name, kind in NAMES.items():
        if isinstance(given, nn.Module):
            if type(given) is kind and repr(given) == repr(kind()):
                return name
        elif any(getattr(home, name, None) is given for home in (torch, nn.functional)):
            return name
    return None


def check_elementwise(f: Compute, x: Tensor) -> None:
    """Raise ArgumentError where f(x) differs at a second call, or at points that stay while others change.

    f: from a tensor to one of the same shape. x: any shape; of 30 numbers or more, so that orders and largest values
    are noticed, too. What f raises is raised. Differences of rounding, up to the root of the type's precision, are
    allowed.

    >>> check_elementwise(torch.sin, torch.linspace(-1, 1, 5))
    >>> check_elementwise(lambda x: x.softmax(0), torch.linspace(-1, 1, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lab.errors.ArgumentError: f is not a function of one number: its value at a point depends on the other points; ...
    """
    if _draws(f, x):
        raise ArgumentError(f"f {RANDOM}")
    if _mixes(f, x):
        raise ArgumentError(f"f {MIXING}")


def _draws(f: Compute, x: Tensor) -> bool:
    """Whether f(x) differs at a second call, as noise and dropout do."""
    return not _same(_value(f, x), _value(f, x))


def _mixes(f: Compute, x: Tensor) -> bool:
    """Whether f(x) differs at points that stay while others change, or has another shape than x.

    Some points of the first half stay, no two of which are neighbours on an axis. Those that change are the ends among
    others, so that sums, largest values, orders and neighbours all change.
    """
    index = torch.arange(x.numel())
    stays = ((index % 4 == 1) & (index < max(2, x.numel() // 2))).view(x.shape)
    first, middle = _value(f, x), x.reshape(-1)[x.numel() // 2]
    other = _value(f, torch.where(stays, x, middle))
    return first.shape != x.shape or other.shape != x.shape or not _same(first[stays], other[stays])


def check_unmixed(f: Compute, name: str) -> None:
    """Raise ArgumentError where `f` mixes the numbers of an input, of a shape that it takes. What takes none of these
    shapes, gives another one, or draws random numbers, as a noisy ReLU does, is left to the model that calls it."""
    for shape in SHAPES:
        x = torch.linspace(-2.0, 2.0, prod(shape)).view(shape)
        try:
            fits = _value(f, x).shape == x.shape
        except Exception:  # the user's code, which may need other shapes, types or devices
            continue
        if fits:
            if not _draws(f, x) and _mixes(f, x):
                raise ArgumentError(f"{name} {MIXING}")
            return


def _value(f: Compute, x: Tensor) -> Tensor:
    """f(x), of a copy, since f may work in place; as a copy, since it may give the same tensor at each call."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that it does not like; the user's own call shows them
        return torch.as_tensor(f(x.clone())).clone()


def _same(one: Tensor, other: Tensor) -> bool:
    precision = torch.finfo(one.dtype).eps if one.is_floating_point() else 0.0
    one, other = one.double(), other.double()
    largest = max((float(y[y.isfinite()].abs().max()) for y in (one, other) if y.isfinite().any()), default=0.0)
    return torch.allclose(one, other, rtol=0.0, atol=sqrt(precision) * largest, equal_nan=True)
