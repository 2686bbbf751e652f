"""Temporary folders: what is written into them is renamed to its place when it is whole. `put` writes a single file so.

A folder is locked by the process that writes it. What a killed process has left is therefore known at once, and
`abandoned` lists it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lab.locks import exclusive, lock, locked

PREFIX = ".tmp-"
NAME = re.compile(r"\.tmp-[0-9a-f]{16}")
ABANDONED = 3600.0  # seconds after which nobody is still writing, where there are no locks to ask


@contextmanager
def temporary(parent: Path) -> Iterator[Path]:
    """A new folder in `parent`, which is made if need be. At the end it is removed, unless it was renamed."""
    parent.mkdir(parents=True, exist_ok=True)
    folder, handle = parent / f"{PREFIX}{secrets.token_hex(8)}", None
    with exclusive(parent):  # `abandoned` must not look between these two lines
        folder.mkdir()  # tempfile would keep it to this user, whatever the umask says
        with suppress(OSError):
            handle = lock(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def abandoned(parent: Path) -> list[Path]:
    """Temporary folders in `parent` whose process has ended."""
    with exclusive(parent):
        return [path for path in sorted(parent.glob(f"{PREFIX}*")) if is_temporary(path) and _abandoned(path)]


def is_temporary(path: Path) -> bool:
    """Whether `temporary` has made this folder: its name, and no link."""
    return NAME.fullmatch(path.name) is not None and not path.is_symlink()


def write(path: Path, data: bytes) -> None:
    """Write a file, onto the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # a power cut after the rename must not find an empty file


def put(path: Path, data: bytes) -> None:
    """Write a file in place of the one before: whole and on the disk, or not at all. Of a link, the file that it names;
    rights stay. Raises OSError where it cannot, and then the older file is as it was."""
    path = path.resolve()
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe; a folder raises
        path.write_bytes(data)
        return
    with temporary(path.parent) as folder:
        write(folder / path.name, data)
        if path.exists():
            shutil.copymode(path, folder / path.name)
        (folder / path.name).replace(path)
        sync(path.parent)


def sync(folder: Path) -> None:
    """Have the disk keep the names in a folder, too: without it, a rename may be gone after a power cut."""
    with suppress(OSError):  # Windows and some network file systems open no folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _abandoned(path: Path) -> bool:
    held = locked(path)
    try:
        return time.time() - path.stat().st_mtime > ABANDONED if held is None else not held
    except FileNotFoundError:  # its process has just removed it
        return False
