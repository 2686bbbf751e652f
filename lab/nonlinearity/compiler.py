"""Building kernels in C with the machine's compiler, once, and keeping the libraries in the user's cache.

What lies in the cache is executed, so it is used only where nobody else could have written it: file and folder belong
to this user (or to root) and nobody else may write there. The name of a library ends on the digest of its content: one
that is cut short, which would end Python with a bus error, or changed is no library and is built anew. Name and content
appear in one rename, so a kill leaves no half of it, and several processes may build at once.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lab.errors import LabError, shortened, shown

SPLINE = tuple(Path(__file__).with_name(name) for name in ("kernel.c", "kernel.h"))
FLAGS = ("-O3", "-march=native", "-funroll-loops", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
PATIENCE = 600.0  # seconds after which a compiler has failed; it takes two
ABANDONED = 3600.0  # seconds after which nobody is still building in a temporary folder
BUILDING = ".building-"


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
    parts = [source.read_text(encoding="utf-8") for source in sources] + [
        compiler,
        *FLAGS,
        platform.machine(),
        processor(),
    ]
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
        subprocess.run(
            [*command, *FLAGS, "-o", str(library), str(source)],
            check=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        library.chmod(0o700)  # whatever the umask says
        with library.open("rb") as file:
            os.fsync(file.fileno())  # a power cut after the rename must not find an empty file
        return library.replace(folder / f"{name}-{_digest(library)}.so")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _refuse_foreign(path: Path) -> None:
    """BuildError where another user owns a path or may write to it; root may do everything anyway."""
    if not hasattr(os, "geteuid"):  # no such owners and rights
        return
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise BuildError(
            f"{path} belongs to another user (number {status.st_uid}) and is not used; remove it, or name "
            "a cache folder of your own with XDG_CACHE_HOME"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BuildError(f"others may write to {path}, so it is not used; run `chmod go-w {shlex.quote(str(path))}`")
