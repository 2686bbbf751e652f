"""Leases in a bucket, where there are no locks: an object whose time is renewed, and who finds another's steps back.

Whoever wants a lease writes it, and then looks for others. Of two that do so at once each sees at least one, so never
do both go on; those that were there before stay. A lease counts for as long as its object is younger than LOST, by the
clock of the object store and this machine's: they may differ by half of that.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Event, Thread
from typing import Any

from lab.store import objects

PULSE = 15.0  # seconds between two signs of life
LOST = 60.0  # seconds without one after which a lease counts no more
FRESH = 3.0  # seconds in which the owner of a lease may still step back
TRIES = 4


@contextmanager
def lease(folder: Any, content: dict) -> Iterator[bool]:
    """As `leases.lease`; content: what stands in the lease. Where the store refuses, its block goes on without one."""
    path, data = folder / f"{secrets.token_hex(8)}.json", json.dumps(content).encode()
    refused: tuple[type[Exception], ...] = (OSError, *objects.refusals())
    held, free = False, True
    try:
        held, free = _taken(path, data, set(content["keys"]))
    except refused:
        pass
    ended = Event()
    pulse = Thread(target=_beat, args=(path, data, ended, refused), daemon=True)
    if held:
        pulse.start()
    try:
        yield free
    finally:
        ended.set()
        if held:
            pulse.join()
            with suppress(*refused):
                objects.remove(path)


def counting(folder: Any) -> Iterator[tuple[Any, dict]]:
    """The leases that count, and what stands in them."""
    for path, age in objects.listed(folder):
        if age < LOST:
            with suppress(FileNotFoundError, ValueError, LookupError, TypeError):  # it ends
                yield path, _content(path)


def abandoned(folder: Any) -> list[Any]:
    """Leases whose owner has given no sign of life."""
    return [path for path, age in objects.listed(folder) if age >= LOST]


def _taken(path: Any, data: bytes, keys: set[str]) -> tuple[bool, bool]:
    """Whether this lease is there now, and whether its keys are free."""
    for _ in range(TRIES):
        objects.put(path, data)
        others = [one for other, one in counting(path.parent) if other.name != path.name and keys & set(one["keys"])]
        if not others:
            return True, True
        objects.remove(path)
        if any(time.time() - one["began"] > FRESH for one in others):
            break
        time.sleep(random.uniform(0.0, 0.3))  # both stepped back, perhaps
    return False, False


@lru_cache(maxsize=4096)
def _content(path: Any) -> dict:
    """Nobody writes another lease under a name that was drawn for one."""
    return json.loads(objects.read(path))


def _beat(path: Any, data: bytes, ended: Event, refused: tuple[type[Exception], ...]) -> None:
    while not ended.wait(PULSE):
        with suppress(*refused):
            objects.put(path, data)
