"""What `--force` has forgotten and is not trained again yet: a marker, so that an interrupted call can go on.

A marker stands for a set of keys that have all been forgotten. Whatever of them is in the store was trained after that;
the others are still to be trained. It is written when the last of them is forgotten, and removed when all are back.
A call with another set (another figure, scale or number of seeds) has a marker of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from lab.store import objects


def name_of(keys: Iterable[str]) -> str:
    """The name of the marker of these keys, in any order."""
    return hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()


def mark(folder: Path, keys: Iterable[str]) -> None:
    """Say that all of these have been forgotten."""
    keys = sorted(keys)
    objects.put(folder / name_of(keys), json.dumps({"keys": keys}).encode())


def is_marked(folder: Path, keys: Iterable[str]) -> bool:
    """Whether these have a marker. A damaged one is none."""
    keys = sorted(keys)
    try:
        return json.loads((folder / name_of(keys)).read_bytes()) == {"keys": keys}
    except (OSError, ValueError):
        return False


def unmark(folder: Path, keys: Iterable[str]) -> None:
    """Remove the marker, if there is one."""
    objects.remove(folder / name_of(keys))
