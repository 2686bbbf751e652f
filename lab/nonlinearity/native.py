"""The compiled CPU kernel: `kernel.c`, built once with the machine's C compiler and kept in the user's cache.

Plain C behind ctypes, not a C++ extension of torch: it needs no headers and no C++ compiler, is built in two seconds
instead of half a minute, fits every version of torch, and ctypes lets go of the interpreter's lock.
Where no compiler is found, or the build fails, `library()` is None and numba takes its place; `lab doctor` says which
is in use, and why.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from lab.nonlinearity.threads import Cut

SOURCES = [Path(__file__).with_name(name) for name in ("kernel.c", "kernel.h")]
FLAGS = ("-O3", "-march=native", "-funroll-loops", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def cache_folder() -> Path:
    """Where compiled kernels are kept: `$XDG_CACHE_HOME/lab`, or `~/.cache/lab`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lab"


@functools.lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The loaded kernel, or None; `why_not()` then says why."""
    path = _built()
    if path is None:
        return None
    try:
        kernel = ctypes.CDLL(str(path))
    except OSError as error:  # a damaged file, or a folder from which nothing may be executed
        _reason[0] = f"loading {path} failed: {error} (delete the file to have it built again)"
        return None
    pointer, size, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_double
    grid = [size] * 4 + [number] * 2 + [real] * 2
    for dtype in DTYPES:
        for name, before in (("forward", [pointer] * 3), ("backward", [pointer] * 5 + [number])):
            function = getattr(kernel, f"spline_{name}_{str(dtype).removeprefix('torch.')}")
            function.argtypes, function.restype = before + grid, number
    kernel.spline_collect.argtypes, kernel.spline_collect.restype = [pointer] * 2 + [size] * 2 + [number], None
    return kernel


def why_not() -> str | None:
    """The reason why there is no compiled kernel, or None where there is one."""
    return None if library() is not None else _reason[0]


def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """Spline values: shape and dtype of `x`, which is (runs, …) or, with values (knots,), of any shape."""
    inside, table = _ready(x, values)
    y = torch.empty_like(inside)
    _call("forward", inside, table, low, high, inside.data_ptr(), table.data_ptr(), y.data_ptr())
    return y if y.dtype == x.dtype else y.to(x.dtype)


def backward(grad: Tensor, x: Tensor, values: Tensor, low: float, high: float, of_x: bool, of_values: bool):
    """Gradients of Σ grad · φ(x): of x, shape and dtype of `x`, and of the values, theirs; None where not asked for.

    Knot gradients are summed in double precision.
    """
    inside, table = _ready(x, values)
    grad = grad.to(inside.dtype).contiguous()
    gx = torch.empty_like(inside) if of_x else None
    gv = _backward(grad, inside, table, low, high, gx, of_values, slope=False)
    return gx if gx is None else gx.to(x.dtype), gv if gv is None else gv.to(values.dtype)


def slope_backward(grad: Tensor, x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """Gradient of Σ grad · φ'(x) in the values: the mixed second derivative. Shape and dtype of `values`."""
    inside, table = _ready(x, values)
    grad = grad.to(inside.dtype).contiguous()
    return _backward(grad, inside, table, low, high, None, True, slope=True).to(values.dtype)


def _backward(
    grad: Tensor, x: Tensor, table: Tensor, low: float, high: float, gx: Tensor | None, of_values: bool, slope: bool
) -> Tensor | None:
    """Fills gx, if any; returns the gradient of the values in double, if asked for."""
    knots, partial = table.shape[-1], None
    if of_values:
        cut = Cut(x, table)
        partial = torch.empty(cut.runs * cut.slices, knots, dtype=torch.float64)
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in (x, grad, table, gx, partial)]
    _call("backward", x, table, low, high, *pointers, slope)
    if partial is None or cut.slices == 1:
        return partial if partial is None else partial.view(table.shape)
    total = torch.empty(table.shape, dtype=torch.float64)
    library().spline_collect(partial.data_ptr(), total.data_ptr(), cut.runs, cut.slices, knots)
    return total


def _ready(x: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Both contiguous, in types that the kernel has: it computes in double if one of them is, else in single."""
    double = torch.float64 in (x.dtype, values.dtype)
    x, wide = x.to(torch.float64) if double else x, torch.float64 if double else torch.float32
    return x.contiguous(), (values if values.dtype == wide else values.to(wide)).contiguous()


@functools.cache
def _function(name: str, dtype: torch.dtype, kernel: ctypes.CDLL):
    return getattr(kernel, f"spline_{name}_{str(dtype).removeprefix('torch.')}")


def _call(name: str, x: Tensor, table: Tensor, low: float, high: float, *pointers) -> None:
    function = _function(name, x.dtype, library())
    cut, knots = Cut(x, table), table.shape[-1]
    inverse, shared = (knots - 1) / (high - low), table.dim() == 1

    def work(first: int, end: int) -> None:
        if function(*pointers, cut.count, cut.slice, first, end, shared, knots, low, inverse):
            raise MemoryError(f"no memory for tables of {knots} knots")

    cut.share(work)


_reason = ["not tried"]


def _built() -> Path | None:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        _reason[0] = "no C compiler found (install gcc or clang for a spline that is several times faster)"
        return None
    # the processor is part of the name: a home folder may be shared between machines
    parts = [source.read_text() for source in SOURCES] + [compiler, *FLAGS, platform.machine(), _processor()]
    path = cache_folder() / f"spline-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:16]}.so"
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            built = Path(folder) / "kernel.so"
            command = [*shlex.split(compiler), *FLAGS, "-o", str(built), str(SOURCES[0])]  # CC may be "ccache gcc"
            subprocess.run(command, check=True, capture_output=True, text=True)
            built.replace(path)  # atomic: two processes may build at once
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or error
        _reason[0] = f"building {SOURCES[0].name} with {compiler} failed: {said}".strip()
        return None
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
