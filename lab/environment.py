"""Folders that the user names in the environment: LAB_STORE, LAB_ZOO, LAB_CACHE, LAB_DATA, all read in one way."""

from __future__ import annotations

import os
from pathlib import Path

from lab.errors import ArgumentError, absolute_path


def folder(variable: str) -> Path | None:
    """The folder that the environment variable names, with `~` expanded; None where it is unset or empty.

    It need not be there. Raises ArgumentError where it cannot be: a file has its name, or that of a folder above it.

    >>> folder("LAB_NO_SUCH_VARIABLE") is None
    True
    """
    text = os.environ.get(variable)
    if not text:
        return None
    absolute_path(variable, text)
    path = Path(text).expanduser()  # as it was given: messages and listings show it so
    check_no_file(path, f"{variable}={text}")
    return path


def check_no_file(path: Path, text: str) -> None:
    """Raise ArgumentError, which begins with `text`, where no folder can be at this path."""
    for place in (path.absolute(), *path.absolute().parents):
        try:
            if place.is_dir():
                return
            if place.exists() or place.is_symlink():
                what = "a file" if place.exists() else "a link to nothing"
                raise ArgumentError(f"{text}: {place} is {what}; name a folder")
        except OSError:  # not to be seen from here: reading and writing say why
            return
