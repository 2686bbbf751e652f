"""Locks on files and folders that end with the process that holds them, however it ends.

They are `flock`'s: the kernel keeps such a lock for as long as the file is open. Nobody has to guess whether a process
number still means the same process, on this machine or in another container. Windows and some network file systems
have none; `lock` then raises an OSError, and whoever wanted the lock goes on without.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # a module, or nothing

PATIENCE = 10.0  # seconds to wait for a lock that is held for milliseconds, unless its owner was stopped


def lock(path: Path) -> int:
    """Lock a file or folder and return the handle that holds the lock: `os.close` ends it.

    Raises BlockingIOError where a process, or another part of this one, has the lock; OSError where there are no locks.
    """
    if fcntl is None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle


def locked(path: Path) -> bool | None:
    """Whether a living process holds the lock; None where that cannot be known."""
    try:
        os.close(lock(path))
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Be alone among the processes that say so for this folder. After PATIENCE, and without locks, go on regardless."""
    handle, end = None, time.monotonic() + PATIENCE
    while handle is None and time.monotonic() < end:
        try:
            handle = lock(path)
        except BlockingIOError:
            time.sleep(0.005)
        except OSError:
            break
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)
