"""A store in a bucket: S3 and whatever speaks like it, and the other object stores that fsspec knows.

Objects have no rename, no lock and no folder. An object is there whole or not at all. So a result's files are written
under names with their digests, and `done.json` last, on the condition that there is none yet: two writers never mix,
and the first one's result stays. What is written in place of something (states, pulses of leases) is one object.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.errors import ArgumentError, LabError, shown

UNFINISHED = 3600.0  # seconds after which nobody is still writing a result's files
OPTIONS: dict[str, dict] = {  # of fsspec's file systems: nothing may be seen as it was, and nothing be waited for long
    "s3": {
        "use_listings_cache": False,
        "config_kwargs": {
            "connect_timeout": 10,
            "read_timeout": 60,
            "retries": {"mode": "standard", "max_attempts": 6},
        },
    },
}


def is_url(folder: object) -> bool:
    """Whether this names a place by a URL, such as s3://bucket/folder.

    >>> is_url("s3://bucket/runs"), is_url("data/store")
    (True, False)
    """
    return isinstance(folder, str) and "://" in folder


def opened(url: str) -> Any:
    """The place as a path (`upath.UPath`), or a `pathlib.Path` for file://. Raises ArgumentError, LabError."""
    kind = url.partition("://")[0]
    if kind == "file":
        return Path(url.partition("://")[2])
    try:
        from upath import UPath

        path = UPath(url.rstrip("/"), **OPTIONS.get(kind, {}))
        _ = path.fs
        return path
    except ImportError as error:
        raise LabError(
            f"the store {url} needs more packages ({error}); pip install 'lab-nonlinearities[cloud]'"
        ) from error
    except ValueError as error:
        raise ArgumentError(
            f"store {shown(url)}: {error}; give a folder, or a URL such as s3://bucket/folder"
        ) from error


def in_bucket(path: Any) -> bool:
    """Whether a path is an object's, and none of this machine's file system."""
    return not isinstance(path, Path)


def refusals() -> tuple[type[Exception], ...]:
    """What object stores raise besides OSError, as far as their packages are loaded."""
    found = []
    for module, name in (("botocore.exceptions", "BotoCoreError"), ("aiohttp", "ClientError")):
        if module in sys.modules:
            found.append(getattr(sys.modules[module], name))
    return tuple(found)


def put(path: Any, data: bytes) -> None:
    """Write an object, in place of the one before."""
    path.fs.pipe_file(path.path, data)


def create(path: Any, data: bytes) -> bool:
    """Write an object if there is none; False where there is one."""
    try:
        path.fs.pipe_file(path.path, data, mode="create")
    except FileExistsError:
        return False
    return True


def read(path: Any, end: int | None = None) -> bytes:
    """The bytes of an object, or the first of them."""
    return path.fs.cat_file(path.path, start=0 if end else None, end=end)


def remove(path: Any) -> None:
    """Remove an object, if it is there."""
    try:
        path.fs.rm_file(path.path)
    except FileNotFoundError:
        return


def is_there(path: Any) -> bool:
    """Whether there is such an object. A store that does not answer is an error, and not a no."""
    try:
        return path.fs.info(path.path)["type"] == "file"
    except FileNotFoundError:
        return False


def below(folder: Any) -> list[Any]:
    """What lies in a folder, objects and folders, by name."""
    try:
        found = folder.fs.ls(folder.path, detail=False)
    except FileNotFoundError:
        return []
    return sorted((folder / name.rstrip("/").rsplit("/", 1)[1] for name in found), key=lambda path: path.name)


def listed(folder: Any) -> Iterator[tuple[Any, float]]:
    """The objects of a folder, by name, each with the seconds since it was written."""
    try:
        found = folder.fs.ls(folder.path, detail=True)
    except FileNotFoundError:
        return
    for told in sorted(found, key=lambda told: told["name"]):
        if told["type"] == "file":
            written = told.get("LastModified") or told.get("last_modified") or told.get("created") or told.get("mtime")
            seconds = written.timestamp() if hasattr(written, "timestamp") else float(written or 0)
            yield folder / told["name"].rsplit("/", 1)[1], time.time() - seconds


def is_being_written(folder: Any) -> bool:
    """Whether a result has no `done.json`, but files that were written a short while ago."""
    ages = {path.name: age for path, age in listed(folder)}
    return bool(ages) and "done.json" not in ages and min(ages.values()) < UNFINISHED
