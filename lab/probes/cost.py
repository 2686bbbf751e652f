"""Times of functions, taken in turn, so that whatever else the machine does falls on all alike."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_flag, check_number, check_type, check_whole, described
from lab.nonlinearity.spline import Spline, check_single
from lab.picture import HasPicture
from lab.probes.arguments import calling, check_room
from lab.probes.arguments import functions as named_functions


@dataclass(frozen=True, repr=False)
class Cost(HasPicture):
    """seconds (functions, repeats): of each call, in the order of `names`; and how they were taken."""

    names: tuple[str, ...]
    seconds: np.ndarray
    elements: int
    backward: bool
    dtype: str
    device: str
    threads: int  # of torch, on a CPU

    def ratio(self, name: str, to: str) -> float:
        """Median time of one function over that of another."""
        medians = dict(zip(self.names, np.median(self.seconds, axis=1), strict=True))
        return float(medians[name] / medians[to])


def cost(
    functions: Mapping[str, Callable[[Tensor], Tensor]],
    elements: int = 1 << 20,
    repeats: int = 15,
    backward: bool = True,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    spread: float = 3.0,
    seed: int = 0,
) -> Cost:
    """Time functions of a tensor, forward, and `backward` to the input and to what learns in them.

    elements: of the input, normal numbers with standard deviation `spread`. repeats: rounds; in each, every function is
    called once. Two rounds before these are not counted: kernels are built, memory is got.

    >>> result = cost({"relu": torch.relu, "exp": torch.exp}, elements=1000, repeats=3)
    >>> result.names, result.seconds.shape, bool((result.seconds > 0).all())
    (('relu', 'exp'), (2, 3), True)
    """
    named_functions("functions", functions, "{'GELU': torch.nn.GELU()}")
    check_room("repeats", check_whole("repeats", repeats), len(functions))
    check_flag("backward", backward)
    check_room("elements", check_whole("elements", elements))
    if not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise ArgumentError(f"dtype is {described(dtype)}; give one of floating point, as torch.float32")
    generator = torch.Generator().manual_seed(check_whole("seed", seed, 0))
    x = check_number("spread", spread, 0) * torch.randn(elements, generator=generator)
    check_type("device", device, str, "cpu or cuda")
    with calling(f"device={device!r}", "give one that torch knows, cpu or cuda"):
        x = x.to(device, dtype).requires_grad_(backward)
    grad, seconds = torch.ones_like(x), np.empty((len(functions), repeats))
    for round_ in range(-2, repeats):
        for number, (name, function) in enumerate(functions.items()):
            with calling(f"function {name!r}", "give one that maps a tensor to another of its shape, with a gradient"):
                took = _timed(function, x, grad if backward else None)
            if round_ >= 0:
                seconds[number, round_] = took
    threads = torch.get_num_threads()
    return Cost(tuple(functions), seconds, elements, backward, str(dtype).removeprefix("torch."), device, threads)


def _timed(function: Callable[[Tensor], Tensor], x: Tensor, grad: Tensor | None) -> float:
    learned = [p for p in getattr(function, "parameters", lambda: ())() if p.requires_grad]
    wait = partial(torch.cuda.synchronize, x.device) if x.is_cuda else lambda: None
    wait()
    start = time.perf_counter()
    with torch.set_grad_enabled(grad is not None):
        y = function(x)
        if grad is not None:
            torch.autograd.grad(y, [x, *learned], grad)
    wait()
    return time.perf_counter() - start


def listings(phi: Spline) -> dict[str, nn.Module]:
    """The same function as the transformers paper evaluates it (Listing 1): as it stands, and compiled, where the C++
    compiler is here that this takes. For `cost`.

    >>> "Listing 1" in listings(Spline([0.0, 1.0, 0.0]))
    True
    """
    check_type("phi", phi, Spline, "a lab.Spline")
    given: dict[str, Any] = {"Listing 1": Listing1(phi)}
    return given | ({"Listing 1, compiled": torch.compile(Listing1(phi))} if can_compile() else {})


class Listing1(nn.Module):
    """A spline as Listing 1 of the transformers paper (App. F) evaluates it: a search for each input's interval, two
    look-ups, linear interpolation. The same function as `phi`; the paper compiles it: `torch.compile(Listing1(phi))`.

    >>> hat = Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0)
    >>> Listing1(hat)(torch.tensor([-5.0, -0.5, 0.0, 0.25])).tolist()
    [0.0, 0.5, 1.0, 0.75]
    """

    positions: Tensor

    def __init__(self, phi: Spline):
        super().__init__()
        learnable = check_single(phi).values.requires_grad
        self.values = nn.Parameter(phi.values.detach().clone(), requires_grad=learnable)
        self.register_buffer("positions", phi.positions.to(phi.values.device))

    def forward(self, x: Tensor) -> Tensor:
        index = (torch.bucketize(x, self.positions) - 1).clamp(0, len(self.positions) - 2)
        step = self.positions[1] - self.positions[0]
        fraction = ((x - (self.positions[0] + index * step)) / step).clamp(0.0, 1.0)
        left, right = self.values[index], self.values[index + 1]
        return (left + fraction * (right - left)).to(x.dtype)


def can_compile() -> bool:
    """Whether the C++ compiler is here that torch.compile needs for a CPU: $CXX, or g++ (clang++ on a Mac)."""
    usual = "clang++" if sys.platform == "darwin" else "g++"
    return shutil.which(os.environ.get("CXX") or usual) is not None
