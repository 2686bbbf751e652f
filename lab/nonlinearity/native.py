"""The compiled CPU kernel: `kernel.c`, built once with the machine's C compiler and kept in the user's cache.

Where no compiler is found, or the build fails, `library()` is None and the spline falls back to its torch formula;
`lab doctor` says which is in use, and why.
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

SOURCE = Path(__file__).with_name("kernel.c")
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")


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
    pointer, size, count, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_float
    kernel.spline_forward.argtypes = [pointer] * 3 + [size] * 3 + [count, real, real]
    kernel.spline_backward_input.argtypes = [pointer] * 4 + [size] * 3 + [count, real, real]
    kernel.spline_backward_knots.argtypes = [pointer] * 3 + [size] * 2 + [count, real, real]
    for function in (kernel.spline_forward, kernel.spline_backward_input, kernel.spline_backward_knots):
        function.restype = None
    return kernel


def why_not() -> str | None:
    """The reason why there is no compiled kernel, or None where there is one."""
    return None if library() is not None else _reason[0]


def forward(x: Tensor, knots: Tensor, low: float, high: float) -> Tensor:
    """Spline values, shape of `x`; `x` (runs, …) or, with knots (n,), any shape; float32, contiguous."""
    y = torch.empty_like(x)
    library().spline_forward(x.data_ptr(), knots.data_ptr(), y.data_ptr(), *_sizes(x, knots), *_grid(knots, low, high))
    return y


def backward_input(x: Tensor, grad: Tensor, knots: Tensor, low: float, high: float) -> Tensor:
    """`grad` times the spline's slope at `x`."""
    out = torch.empty_like(x)
    pointers = (x.data_ptr(), grad.data_ptr(), knots.data_ptr(), out.data_ptr())
    library().spline_backward_input(*pointers, *_sizes(x, knots), *_grid(knots, low, high))
    return out


def backward_knots(x: Tensor, grad: Tensor, knots: Tensor, low: float, high: float) -> Tensor:
    """Gradient of the knots, shape of `knots`, summed in double precision."""
    total = torch.zeros(knots.shape, dtype=torch.float64)
    runs, count, _ = _sizes(x, knots)
    pointers = (x.data_ptr(), grad.data_ptr(), total.data_ptr())
    library().spline_backward_knots(*pointers, runs, count, *_grid(knots, low, high))
    return total.to(knots.dtype)


def _sizes(x: Tensor, knots: Tensor) -> tuple[int, int, int]:
    runs = 1 if knots.dim() == 1 else knots.shape[0]  # one shared table: all of x is one long run
    return runs, x.numel() // runs, knots.shape[-1]


def _grid(knots: Tensor, low: float, high: float) -> tuple[int, float, float]:
    return knots.shape[-1], low, (knots.shape[-1] - 1) / (high - low)


_reason = ["not tried"]


def _built() -> Path | None:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        _reason[0] = "no C compiler found (install gcc or clang for a spline that is several times faster)"
        return None
    # the processor is part of the name: a home folder may be shared between machines
    identity = SOURCE.read_text() + " ".join((compiler, *FLAGS)) + platform.machine() + _processor()
    path = cache_folder() / f"spline-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.so"
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            built = Path(folder) / "kernel.so"
            command = [*shlex.split(compiler), *FLAGS, "-o", str(built), str(SOURCE)]  # CC may be "ccache gcc"
            subprocess.run(command, check=True, capture_output=True, text=True)
            built.replace(path)  # atomic: two processes may build at once
    except (OSError, subprocess.CalledProcessError) as error:
        _reason[0] = f"building {SOURCE.name} with {compiler} failed: {getattr(error, 'stderr', None) or error}".strip()
        return None
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
