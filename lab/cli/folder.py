"""Folders that commands write into."""

from __future__ import annotations

import os
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
    if not os.access(place, os.W_OK | os.X_OK):
        raise LabError(f"cannot write to {place} (permission denied); name another folder with --out")
    return out
