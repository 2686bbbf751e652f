"""Leases: which process trains what, so that another one that wants the same does other work, or waits.

A lease is a file with the process, its host, the time and the keys of the specs that it trains. Its process holds a
lock on it (`lab.files`), which ends with the process, and gives it a new time every few seconds. It counts for as
long as both are so: a process that was killed has no lock, one that was stopped has no pulse.

In a bucket there are no locks. Whoever wants a lease writes it there, and then looks for others: of two that do so at
once each sees at least one, so never do both go on; those that were there before stay. Such a lease counts for as long
as its object is younger than LOST, by the clocks of the object store and of this machine, which may differ by half of
that.

Leases save work and decide nothing: results are whole without them, and two processes that train the same write the
same. So whoever cannot have one, on a full disk or a system without locks, trains without.
"""

import json
import os
import random
import re
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

from lab.files import exclusive, lock, locked
from lab.store import objects

NAME = re.compile(r"[0-9a-f]{16}\.(json|new)")
PULSE, BUCKET_PULSE = 5.0, 15.0  # seconds between two signs of life
LOST = 60.0  # seconds without one after which a lease counts no more
FRESH = 3.0  # seconds in which the owner of a lease in a bucket may still step back
TRIES = 4


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
    path, keys = folder / f"{secrets.token_hex(8)}.json", sorted(keys)
    content = {"process": os.getpid(), "host": socket.gethostname(), "began": time.time(), "keys": keys}
    data = json.dumps(content).encode()
    refused: tuple[type[Exception], ...] = (OSError, *objects.refusals())
    handle = None
    if objects.in_bucket(folder):
        free = held = False
        try:
            free = held = _taken(path, data, set(keys))
        except refused:
            free = True
        beat, pulse = partial(objects.put, path, data), BUCKET_PULSE
    else:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder):  # between looking and writing, nobody else may write
            free = all(other.keys.isdisjoint(keys) for other in leases(folder))
            if free:
                with suppress(OSError):
                    handle = _write(path, data)
        held, beat, pulse = handle is not None, partial(os.utime, path), PULSE
    ended = Event()
    thread = Thread(target=_repeat, args=(beat, pulse, ended, refused), daemon=True)
    try:
        if held:
            thread.start()
        yield free
    finally:
        ended.set()
        if thread.ident is not None:
            thread.join()
        if held:
            with suppress(*refused):
                objects.remove(path)
        if handle is not None:
            os.close(handle)


def leases(folder: Path) -> list[Lease]:
    """All leases that count."""
    if objects.in_bucket(folder):
        return [one for _, one in _counting(folder)]
    counting = []
    for path in sorted(folder.glob("*.json")):
        with suppress(OSError, ValueError, LookupError, TypeError):  # it ends, or a full disk has cut it
            if locked(path) and time.time() - path.stat().st_mtime < LOST:
                counting.append(_lease(path.read_bytes()))
    return counting


def abandoned(folder: Path) -> list[Path]:
    """Files of leases whose process has ended; in a bucket, whose owner has given no sign of life."""
    if objects.in_bucket(folder):
        return [path for path, age in objects.listed(folder) if age >= LOST]
    with exclusive(folder):
        return [path for path in objects.below(folder) if is_lease(path) and locked(path) is False]


def is_lease(path: Path) -> bool:
    """Whether a lease has, or had while it was written, this name."""
    return NAME.fullmatch(path.name) is not None


def _lease(data: bytes) -> Lease:
    content = json.loads(data)
    return Lease(content["process"], content["host"], content["began"], frozenset(content["keys"]))


def _repeat(beat: Callable[[], object], seconds: float, ended: Event, refused: tuple[type[Exception], ...]) -> None:
    while not ended.wait(seconds):
        with suppress(*refused):
            beat()


def _write(path: Path, data: bytes) -> int:
    """Write a lease, and return the handle that holds its lock."""
    new, handle = path.with_suffix(".new"), None  # who looks at leases tries their locks, and must not be first
    try:
        new.write_bytes(data)
        handle = lock(new)
        new.rename(path)
        return handle
    except BaseException:
        new.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)
        raise


def _taken(path: Any, data: bytes, keys: set[str]) -> bool:
    """Put a lease into a bucket; False where others have its keys."""
    for _ in range(TRIES):
        objects.put(path, data)
        others = [one for other, one in _counting(path.parent) if other.name != path.name and keys & one.keys]
        if not others:
            return True
        objects.remove(path)
        if any(time.time() - one.began > FRESH for one in others):
            break
        time.sleep(random.uniform(0.0, 0.3))  # both stepped back, perhaps
    return False


def _counting(folder: Any) -> Iterator[tuple[Any, Lease]]:
    """The leases of a bucket that count, and where they are."""
    for path, age in objects.listed(folder):
        if age < LOST:
            with suppress(FileNotFoundError, ValueError, LookupError, TypeError):  # it ends
                yield path, _read(path)


@lru_cache(maxsize=4096)
def _read(path: Any) -> Lease:
    """Nobody writes another lease under a name that was drawn for one."""
    return _lease(objects.read(path))
