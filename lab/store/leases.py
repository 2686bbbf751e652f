"""Leases: which process trains what, so that another one that wants the same does other work, or waits.

A lease is a file with the process, its host, the time and the keys of the specs that it trains. Its process holds a
lock on it (`lab.files`), which ends with the process, and gives it a new time every few seconds. It counts for as
long as both are so: a process that was killed has no lock, one that was stopped has no pulse. Leases save work and
decide nothing: results are whole without them, and two processes that train the same write the same. So whoever cannot
have one, on a full disk or a system without locks, trains without. A bucket has its own (`bucket_leases`).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from lab.files import exclusive, lock, locked
from lab.store import bucket_leases, objects

NAME = re.compile(r"[0-9a-f]{16}\.(json|new)")
PULSE = 5.0  # seconds between two signs of life
LOST = 60.0  # seconds without one after which a lease counts no more


@dataclass(frozen=True)
class Lease:
    """A lease that counts. host: its machine's name; began: Unix time in seconds."""

    process: int
    host: str
    began: float
    keys: frozenset[str]

    @property
    def holder(self) -> str:
        """Who has it, in words."""
        return f"process {self.process} on {self.host}, since {time.strftime('%H:%M', time.localtime(self.began))}"


@contextmanager
def lease(folder: Path, keys: Iterable[str]) -> Iterator[bool]:
    """Have a lease on these keys within the block; False where another process has one of them."""
    if objects.in_bucket(folder):
        with bucket_leases.lease(folder, _content(sorted(keys))) as free:
            yield free
        return
    keys, path, handle = sorted(keys), folder / f"{secrets.token_hex(8)}.json", None
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder):  # between looking and writing, nobody else may write
        free = all(other.keys.isdisjoint(keys) for other in leases(folder))
        if free:
            with suppress(OSError):
                handle = _write(path, keys)
    ended = Event()
    pulse = Thread(target=_beat, args=(path, ended), daemon=True) if handle is not None else None
    try:
        if pulse is not None:
            pulse.start()
        yield free
    finally:
        ended.set()
        if pulse is not None and pulse.ident is not None:
            pulse.join()
        if handle is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            os.close(handle)


def leases(folder: Path) -> list[Lease]:
    """All leases that count."""
    if objects.in_bucket(folder):
        return [_lease(content) for _, content in bucket_leases.counting(folder)]
    counting = []
    for path in sorted(folder.glob("*.json")):
        with suppress(OSError, ValueError, LookupError, TypeError):  # it ends, or a full disk has cut it
            if locked(path) and time.time() - path.stat().st_mtime < LOST:
                counting.append(_lease(json.loads(path.read_bytes())))
    return counting


def abandoned(folder: Path) -> list[Path]:
    """Files of leases whose process has ended."""
    if objects.in_bucket(folder):
        return bucket_leases.abandoned(folder)
    with exclusive(folder):
        return [path for path in sorted(folder.iterdir()) if is_lease(path) and locked(path) is False]


def is_lease(path: Path) -> bool:
    """Whether a lease has, or had while it was written, this name."""
    return NAME.fullmatch(path.name) is not None


def _content(keys: list[str]) -> dict:
    """What stands in a lease."""
    return {"process": os.getpid(), "host": socket.gethostname(), "began": time.time(), "keys": keys}


def _lease(content: dict) -> Lease:
    return Lease(content["process"], content["host"], content["began"], frozenset(content["keys"]))


def _write(path: Path, keys: list[str]) -> int:
    """Write a lease, and return the handle that holds its lock."""
    new, handle = path.with_suffix(".new"), None  # who looks at leases tries their locks, and must not be first
    try:
        new.write_text(json.dumps(_content(keys)), encoding="utf-8")
        handle = lock(new)
        new.rename(path)
        return handle
    except BaseException:
        new.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)
        raise


def _beat(path: Path, ended: Event) -> None:
    while not ended.wait(PULSE):
        with suppress(OSError):
            os.utime(path)
