"""A store in a bucket: S3 and whatever speaks like it, and the other object stores that fsspec knows.

`put`, `read`, `remove`, `is_there`, `exists`, `below` and `is_being_written` take a path of this machine as well: who
calls them need not ask where the store is. The other functions are for buckets.

Objects have no rename, no lock and no folder. An object is there whole or not at all. So a result's files are written
under names with their digests, and `done.json` last, on the condition that there is none yet: two writers never mix,
and the first one's result stays. What is written in place of something (states, pulses of leases) is one object.
"""

import errno
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import files
from lab.errors import ArgumentError, LabError, shown

UNFINISHED = 3600.0  # seconds after which nobody is still writing a result's files
OPTIONS: dict[str, dict] = {  # of fsspec's file systems: no old listings, and no long waits
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
    kind, _, place = url.partition("://")
    if not place.strip("/") and (kind != "file" or not place):
        raise ArgumentError(f"store {shown(url)} names no place; give a folder, or a URL such as s3://bucket/folder")
    if kind == "file":
        return Path(place)
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
    kinds = []
    for module, name in (("botocore.exceptions", "BotoCoreError"), ("aiohttp", "ClientError")):
        if module in sys.modules:
            kinds.append(getattr(sys.modules[module], name))
    return tuple(kinds)


@contextmanager
def accessing(folder: Path, deed: str, rest: str = "") -> Iterator[None]:
    """Say in one line what the disk refuses."""
    try:
        yield
    except OSError as error:
        what, advice = f"cannot be {deed} ({error.strerror or error})", "fix that"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what, advice = "is full", "free space there"
        raise LabError(f"the store {folder} {what}; {advice}, or name another folder with LAB_STORE{rest}") from error
    except refusals() as error:
        line = str(error).partition("\n")[0]
        raise LabError(
            f"the store {folder} cannot be {deed} ({line}); fix that, or name another folder with LAB_STORE{rest}"
        ) from error


def put(path: Any, data: bytes) -> None:
    """Write an object or a file, in place of the one before: whole, or not at all."""
    if not in_bucket(path):
        files.put(path, data)
        return
    path.fs.pipe_file(path.path, data)


def create(path: Any, data: bytes) -> bool:
    """Write an object if there is none; False where there is one."""
    try:
        path.fs.pipe_file(path.path, data, mode="create")
    except FileExistsError:
        return False
    return True


def read(path: Any, end: int | None = None) -> bytes:
    """The bytes of an object or a file, or the first of them."""
    if not in_bucket(path):
        with path.open("rb") as file:
            return file.read(end)
    return path.fs.cat_file(path.path, start=0 if end else None, end=end)


def remove(path: Any) -> None:
    """Remove an object or a file, if it is there."""
    if not in_bucket(path):
        path.unlink(missing_ok=True)
        return
    try:
        path.fs.rm_file(path.path)
    except FileNotFoundError:
        return


def is_there(path: Any) -> bool:
    """Whether there is such an object or file. A bucket that does not answer is an error, and not a no."""
    if not in_bucket(path):
        return path.is_file()
    try:
        return path.fs.info(path.path)["type"] == "file"
    except FileNotFoundError:
        return False


def exists(path: Any) -> bool:
    """Whether there is anything: an object, a file, or a folder; in a bucket a folder is there with what lies in it."""
    return bool(below(path)) or is_there(path) if in_bucket(path) else path.exists()


def below(folder: Any) -> list[Any]:
    """What lies in a folder, objects or files and folders, by name; nothing where there is no such folder."""
    if not in_bucket(folder):
        return sorted(folder.iterdir()) if folder.is_dir() else []
    try:
        names = folder.fs.ls(folder.path, detail=False)
    except FileNotFoundError:
        return []
    return sorted((folder / name.rstrip("/").rsplit("/", 1)[1] for name in names), key=lambda path: path.name)


def listed(folder: Any) -> Iterator[tuple[Any, float]]:
    """The objects of a folder, by name, each with the seconds since it was written."""
    try:
        entries = folder.fs.ls(folder.path, detail=True)
    except FileNotFoundError:
        return
    for entry in sorted(entries, key=lambda entry: entry["name"]):
        if entry["type"] == "file":
            times = map(entry.get, ("LastModified", "last_modified", "created", "mtime"))
            written = next(filter(None, times), 0)
            seconds = written.timestamp() if hasattr(written, "timestamp") else float(written)
            yield folder / entry["name"].rsplit("/", 1)[1], time.time() - seconds


def is_being_written(folder: Any) -> bool:
    """Whether a result has no `done.json`, but files that were written a short while ago.

    A folder of this machine never: it is renamed to its place when it is whole.
    """
    if not in_bucket(folder):
        return False
    ages = {path.name: age for path, age in listed(folder)}
    return bool(ages) and "done.json" not in ages and min(ages.values()) < UNFINISHED
