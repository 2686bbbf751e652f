"""Folders that commands write into."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lab.errors import ArgumentError, LabError, check_path


def writable(out: Path) -> Path:
    """`out`, if files could be written there; asked before hours of training."""
    check_path("--out", out)
    try:
        place = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    except OSError as error:
        raise LabError(f"cannot write to {out} ({error.strerror}); name another folder with --out") from error
    if not place.is_dir():
        raise ArgumentError(f"--out {out}: {place} is a file; name a folder")
    try:
        with tempfile.TemporaryFile(dir=place):  # rights alone do not say it: /proc, a full disk
            return out
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LabError(f"cannot write to {place} ({reason}); name another folder with --out") from error
