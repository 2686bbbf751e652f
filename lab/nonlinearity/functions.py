"""Functions by name, the user's own functions, and whether a function of a tensor is one of one number: softmax is not,
nor is dropout."""

import warnings
from collections.abc import Callable, Sequence
from math import prod, sqrt

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_choice
from lab.nonlinearity import families
from lab.nonlinearity.table import TABLE, Learnable, Row

Compute = Callable[[Tensor], Tensor]
SHAPES = ((30,), (5, 6), (2, 3, 5), (2, 3, 5, 2))  # tried in this order: some functions need several axes
RANDOM = "gives other values at each call; give one that draws no random numbers (a module with dropout after .eval())"
MIXING = (
    "is not a function of one number: its value at a point depends on the other points; give one that treats each"
    " number by itself, such as torch.sin"
)


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


GATES = {"swiglu": "silu", "geglu": "gelu", "reglu": "relu"}  # of transformers, and the function in them
KAN = "kan"
HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
MARK = "of_swap"  # attribute of the modules that `lab.swap` puts into a model
UNSET = ("_parameters", "_buffers", "_is_full_backward_hook", "_compiled_call_impl", "training", MARK)  # no settings
families.read()


def scalars() -> list[str]:
    """Names of the functions of one number: those of the table without the ones that mix numbers.

    >>> "gelu" in scalars(), "polynorm" in scalars()
    (True, False)
    """
    return [name for name, row in TABLE.items() if not row.mixes]


def named(name: str, runs: int | None = None) -> nn.Module:
    """A fresh module of that name, with its default settings; "identity" makes the paper's "Linear" MLP.

    runs: models side by side, the first axis of the inputs; each has the parameters that learn for itself.

    >>> named("relu")
    ReLU()
    >>> named("xielu", runs=3).alpha_p.shape
    torch.Size([3])
    """
    make = TABLE[check_choice("non-linearity", name, TABLE, ", or a lab.Spline")].make
    return make(runs, dim=0) if runs is not None and issubclass(make, Learnable) else make()


def row_of(given: nn.Module | Callable) -> Row | None:
    """The row of the table that a module is of, with default settings, whatever it has learned and whatever hooks it
    has; or a function of torch.

    >>> row_of(nn.GELU("tanh")), row_of(torch.relu).name, row_of(named("prelu", 2)).name
    (None, 'relu', 'prelu')
    """
    for name, row in TABLE.items():
        if isinstance(given, nn.Module):
            several = (given.functions, given.dim) if isinstance(given, Learnable) else ()
            if type(given) is row.make and _is_set_as(given, row.make(*several)):
                return row
        elif any(getattr(home, name, None) is given for home in (torch, nn.functional)) and not row.learns:
            return row
    return None


def name_of(given: nn.Module | Callable) -> str | None:
    """The name of a module as it is made by its name, without hooks and with its parameters at their start; or of a
    function of torch; None for all others.

    >>> name_of(nn.GELU()), name_of(nn.GELU("tanh")), name_of(torch.relu)
    ('gelu', None, 'relu')
    """
    row = row_of(given)
    if row is None or any(getattr(given, hooks, None) for hooks in HOOKS):
        return None
    if not isinstance(given, nn.Module):
        return row.name
    state, fresh = given.state_dict(), row.make().state_dict()
    same = all(torch.equal(state[name].cpu(), start.to(state[name].dtype)) for name, start in fresh.items())
    return row.name if same and all(p.requires_grad for p in given.parameters()) else None


def _is_set_as(given: nn.Module, fresh: nn.Module) -> bool:
    """Whether attributes print alike: all but parameters, buffers, hooks, and what is not of the function."""
    names = [name for name in vars(given) | vars(fresh) if "_hooks" not in name and name not in UNSET]
    return all(repr(getattr(given, name, None)) == repr(getattr(fresh, name, None)) for name in names)


def check_function(name: str, given: str, also: Sequence[str] = (), more: str = "") -> str:
    """The name of a function in the table; ArgumentError for an unknown one, and for a gate or a layer, which stand in
    models and are no functions. name: of the argument. also: further names. more: what else may be
    given, in words."""
    if given in GATES:
        said = f"{name}={given!r} is a gate, which multiplies two halves of a layer, no function of one number"
        raise ArgumentError(f"{said}; give {GATES[given]!r}, or to lab.train on a task with tokens mlp={given!r}")
    if given == KAN:
        cure = "put a lab.nonlinearity.kan.KANLayer into a model"
        raise ArgumentError(f"{name}={given!r} is a layer with weights of its own, no function; {cure}")
    return check_choice(name, given, (*also, *TABLE), more)


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
