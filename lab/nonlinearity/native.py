"""The compiled CPU kernel: `kernel.c`, built once with the machine's C compiler and kept in the user's cache.

Plain C behind ctypes, not a C++ extension of torch: it needs no headers and no C++ compiler, is built in two seconds
instead of half a minute, fits every version of torch, and ctypes lets go of the interpreter's lock.
Where no compiler is found, or the build fails, `library()` is None and numba takes its place; `lab doctor` says which
is in use, and why.

What lies in the cache is executed, so it is used only where nobody else could have written it: file and folder belong
to this user (or to root) and nobody else may write there. The name of a library ends on the digest of its content: one
that is cut short, which would end Python with a bus error, or changed is no library and is built anew. Name and content
appear in one rename, so a kill leaves no half of it, and several processes may build at once.

A kernel's work is shared among as many threads as torch uses, but one where more cost more than they save. It is cut
into items: slices of a run. How it is cut depends on the size of the input alone, and each item sums its own knot
gradients, so results are the same, bit for bit, for any number of threads. Python's threads and not OpenMP's: those
hang in a process that was forked after they were used.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from lab.errors import LabError, shortened, shown
from lab.files import keep

SPLINE = tuple(Path(__file__).with_name(name) for name in ("kernel.c", "kernel.h"))
FLAGS = ("-O3", "-march=native", "-funroll-loops", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
PATIENCE = 600.0  # seconds after which a compiler has failed; it takes two
ABANDONED = 3600.0  # seconds after which nobody is still building in a temporary folder
BUILDING = ".building-"
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
SMALLEST, MOST = 2**16, 64  # inputs a slice at least; slices a run at most (each has a table of knot gradients)
ALONE = 2**22  # below so many inputs, waking another thread costs more than it saves (benchmarks/README.md)


class BuildError(LabError):
    """There is no compiled kernel; the text says why."""


def cache_folder() -> Path:
    """Where compiled kernels are kept: `lab/kernels` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lab" / "kernels"


def built(name: str = "spline", sources: Sequence[Path] = SPLINE) -> Path:
    """The library for this machine, sources and flags: from the cache, or built now. Raises BuildError.

    sources: the file to compile, then those that it includes.
    """
    compiler = os.environ.get("CC", "").strip() or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise BuildError("no C compiler found (install gcc or clang for a spline that is several times faster)")
    try:
        command = shlex.split(compiler)  # CC may be "ccache gcc"
    except ValueError as error:
        raise BuildError(f"CC={shown(compiler)} is no command ({error}); correct it, or unset it") from error
    # the processor is part of the name: a home folder may be shared between machines
    parts = [source.read_text(encoding="utf-8") for source in sources]
    parts += [compiler, *FLAGS, platform.machine(), processor()]
    name += "-" + hashlib.sha256(" ".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]
    try:
        folder = cache_folder()
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        _refuse_foreign(folder)
        for path in sorted(folder.glob(f"{name}-*.so")):
            _refuse_foreign(path)
            if path.name == f"{name}-{_digest(path)}.so":
                return path
            path.unlink(missing_ok=True)  # damaged
        return _build(command, folder, name, sources[0])
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:  # RuntimeError: there is no home folder
        said = getattr(error, "stderr", None) or str(error)
        said = next((line for line in said.splitlines() if "error" in line), said).strip()
        raise BuildError(f"building {sources[0].name} with {shown(compiler)} failed: {shortened(said, 160)}") from error


def processor() -> str:
    """The instructions that this processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _build(command: list[str], folder: Path, name: str, source: Path) -> Path:
    for left in folder.glob(f"{BUILDING}*"):  # by processes that were killed
        if time.time() - left.stat().st_mtime > ABANDONED:
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=BUILDING, dir=folder) as place:
        library = Path(place) / "kernel.so"
        command = [*command, *FLAGS, "-o", str(library), str(source)]
        quiet: Any = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"}
        subprocess.run(command, check=True, timeout=PATIENCE, **quiet)
        library.chmod(0o700)  # whatever the umask says
        return keep(library, folder / f"{name}-{_digest(library)}.so")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _refuse_foreign(path: Path) -> None:
    """BuildError where another user owns a path or may write to it; root may do everything anyway."""
    if not hasattr(os, "geteuid"):  # no such owners and rights
        return
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        said = f"{path} belongs to another user (number {status.st_uid}) and is not used"
        raise BuildError(f"{said}; remove it, or name a cache folder of your own with XDG_CACHE_HOME")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BuildError(f"others may write to {path}, so it is not used; run `chmod go-w {shlex.quote(str(path))}`")


def loaded(name: str, sources: Sequence[Path], functions: Mapping[str, list]) -> ctypes.CDLL:
    """A library of C functions, built if need be. functions: the types of their arguments. Raises BuildError."""
    path = built(name, sources)
    try:
        kernel = ctypes.CDLL(str(path))
        for function, types in functions.items():
            getattr(kernel, function).argtypes = types
        return kernel
    except OSError as error:  # of another architecture, or in a folder from which nothing may be executed
        said = f"loading {path} failed: {error}"
    except AttributeError as error:
        said = f"{path} lacks a function ({error})"
    raise BuildError(f"{' '.join(said.split())} (delete the file to have it built again)")


@functools.lru_cache(maxsize=1)
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    pointer, size, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_double
    grid: list[Any] = [size] * 4 + [number] * 2 + [real] * 2
    functions: dict[str, list[Any]] = {}
    for dtype in DTYPES:
        for name, before in (("forward", [pointer] * 3), ("backward", [pointer] * 5 + [number])):
            functions[f"spline_{name}_{str(dtype).removeprefix('torch.')}"] = [*before, *grid]
    functions["spline_collect"] = [pointer] * 2 + [size] * 2 + [number]
    try:
        return loaded("spline", SPLINE, functions), ""
    except BuildError as error:
        return None, str(error)


def library() -> ctypes.CDLL | None:
    """The loaded kernel, or None; `why_not()` then says why."""
    return _loaded()[0]


def why_not() -> str | None:
    """The reason why there is no compiled kernel, or None where there is one."""
    return _loaded()[1] or None


def build() -> str:
    """How all kernels are built here, told by the spline's, which need not be built for it: flags, and the digest of
    its library, in which compiler and processor have left their traces. Empty where there is none."""
    kernel = library()
    return "" if kernel is None else " ".join([*FLAGS, Path(kernel._name).stem.rpartition("-")[2]])


class Cut:
    """How an input is cut: `runs` runs of `count` numbers, each into `slices` slices of `slice` numbers.

    x: the input; values: (knots,), which makes all of x one run, or (runs, knots).

    >>> cut = Cut(torch.empty(2, 3, 100_000), torch.empty(2, 5))
    >>> cut.runs, cut.count, cut.slices
    (2, 300000, 5)
    """

    __slots__ = ("count", "runs", "slice", "slices")

    def __init__(self, x: Tensor, values: Tensor):
        self.runs = 1 if values.dim() == 1 else values.shape[0]
        self.count = x.numel() // self.runs
        self.slice = max(SMALLEST, -(-self.count // MOST))
        self.slices = -(-self.count // self.slice)

    def share(self, work: Callable[[int, int], None]) -> None:
        """Call work(first, end) so that all items are done once, on torch's number of threads."""
        share(work, self.runs * self.slices, worthwhile=self.runs * self.count >= ALONE)


def share(work: Callable[[int, int], None], items: int, worthwhile: bool) -> None:
    """Call work(first, end) so that all items are done once, on torch's number of threads where that is worthwhile."""
    threads = min(torch.get_num_threads(), items) if worthwhile else 1
    if threads == 1:
        work(0, items)
        return
    bounds = [items * i // threads for i in range(threads + 1)]
    others = [_pool(threads - 1).submit(work, *bounds[i : i + 2]) for i in range(1, threads)]
    try:
        work(*bounds[:2])
    finally:  # not before all are done: they write into the caller's tensors
        errors = [other.exception() for other in others]
    for error in filter(None, errors):
        raise error


_pools: dict[int, ThreadPoolExecutor] = {}  # by size


def _pool(size: int) -> ThreadPoolExecutor:
    return _pools.get(size) or _pools.setdefault(size, ThreadPoolExecutor(size, "lab-spline"))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork, their pool would wait for ever


def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """As `formula.forward`."""
    inside, table = _ready(x, values)
    y = torch.empty_like(inside)
    _call("forward", Cut(inside, table), inside, table, low, high, inside.data_ptr(), table.data_ptr(), y.data_ptr())
    return y if y.dtype == x.dtype else y.to(x.dtype)


def backward(
    grad: Tensor, x: Tensor, values: Tensor, low: float, high: float, of_x: bool, of_values: bool, slope: bool = False
) -> tuple[Tensor | None, Tensor | None]:
    """As `formula.backward`, knot gradients summed in double precision."""
    inside, table = _ready(x, values)
    grad, cut, knots = grad.to(inside.dtype).contiguous(), Cut(inside, table), table.shape[-1]
    gx = torch.empty_like(inside) if of_x else None
    gv = torch.empty(cut.runs * cut.slices, knots, dtype=torch.float64) if of_values else None
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in (inside, grad, table, gx, gv)]
    _call("backward", cut, inside, table, low, high, *pointers, slope)
    if gv is not None and cut.slices > 1:
        partial, gv = gv, torch.empty(cut.runs, knots, dtype=torch.float64)
        cast(ctypes.CDLL, library()).spline_collect(partial.data_ptr(), gv.data_ptr(), cut.runs, cut.slices, knots)
    return None if gx is None else gx.to(x.dtype), None if gv is None else gv.view(table.shape).to(values.dtype)


def _ready(x: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Both contiguous, in types that the kernel has: it computes in double if one of them is, else in single."""
    double = torch.float64 in (x.dtype, values.dtype)
    x, wide = x.to(torch.float64) if double else x, torch.float64 if double else torch.float32
    return x.contiguous(), (values if values.dtype == wide else values.to(wide)).contiguous()


@functools.cache
def _function(name: str, dtype: torch.dtype, kernel: ctypes.CDLL):
    return getattr(kernel, f"spline_{name}_{str(dtype).removeprefix('torch.')}")


def _call(name: str, cut: Cut, x: Tensor, table: Tensor, low: float, high: float, *pointers) -> None:
    function, knots = _function(name, x.dtype, library()), table.shape[-1]
    inverse, shared = (knots - 1) / (high - low), table.dim() == 1

    def work(first: int, end: int) -> None:
        if function(*pointers, cut.count, cut.slice, first, end, shared, knots, low, inverse):
            raise MemoryError(f"no memory for tables of {knots} knots")

    cut.share(work)
