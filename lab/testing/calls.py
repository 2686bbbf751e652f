"""The calls of the system that a block makes for files, one by one: noted, refused, or the last of a killed process."""

import builtins
import errno
import io
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

from lab import files

SYSTEM = [(os, "open mkdir rename replace unlink rmdir fsync scandir listdir stat"), (files.fcntl, "flock")]


class Killed(BaseException):
    """Where a killed process would have ended."""


class FileCalls:
    """Within the block: the calls of the system for paths that begin with `prefix`, one by one.

    done: what has happened, as (name, path, …). At the call number `at`, counted from 1, `error` (of `errno`) is
    raised, after a half of what should be written; without one the process is killed: from there on nothing happens.
    between: what another process does just before that call, or, where this one has a lock for which that one would
    wait, before the first one without; the call itself then happens.
    owners: objects and the names of their functions, whose first argument is a path or a handle.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, FileCalls(folder) as calls:
    ...     _ = (Path(folder) / "a").write_bytes(b"1")
    >>> [name for name, *_ in calls.done]
    ['open', 'write']
    """

    def __init__(
        self,
        prefix: object,
        at: int = 0,
        error: int | None = None,
        between: Callable[[], object] | None = None,
        owners: Sequence[tuple] = SYSTEM,
    ):
        self.prefix, self.at, self.error, self.between, self.owners = str(prefix), at, error, between, owners
        self.done: list[tuple] = []
        self.count, self.dead = 0, False
        self.handles: dict[int, str] = {}  # that are open, and their paths

    def __enter__(self) -> "FileCalls":
        self._close, self._open = os.close, io.open
        changed: list[tuple[Any, str, Any]] = [(os, "close", self._closed), (shutil, "_use_fd_functions", False)]
        changed += [(owner, "open", self._opened) for owner in (io, builtins)]
        for owner, names in self.owners:
            if owner is not None:  # Windows has no flock
                changed += [(owner, name, self._watched(name, getattr(owner, name))) for name in names.split()]
        self._real = [(owner, name, getattr(owner, name)) for owner, name, _ in changed]
        for one in changed:
            setattr(*one)
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._real:
            setattr(*one)
        if self.dead:
            self.close()

    def close(self) -> None:
        """Close what is open, as the end of a process does: its locks end."""
        for handle in self.handles:
            os.close(handle)
        self.handles = {}

    def happens(self, name: str, *said: Any) -> None:
        """Count a call that is about to happen; OSError or Killed where it does not."""
        self.count += 1
        if self.between is not None:
            if self.count >= self.at and all(files.PREFIX in path for path in self.handles.values()):
                between, self.between, self.at = self.between, None, 0
                between()
            return
        if self.dead or (self.count == self.at and self.error is None):
            self.dead = True
            raise Killed(name)
        if self.count == self.at and self.error is not None:
            raise OSError(self.error, os.strerror(self.error), said[0])

    def _watched(self, name: str, real: Callable) -> Callable:
        def call(path: Any = ".", *rest: Any, **options: Any) -> Any:
            place = self.handles.get(path, "") if isinstance(path, int) else os.fspath(path)
            if not str(place).startswith(self.prefix):
                return real(path, *rest, **options)
            self.happens(name, place)
            result = real(path, *rest, **options)
            if name == "open":
                self.handles[result] = place
            else:
                self.done.append((name, place, *(map(str, rest[:1]) if name in ("rename", "replace") else ())))
            return result

        return call

    def _closed(self, handle: int) -> None:
        self.handles.pop(handle, None)
        self._close(handle)

    def _opened(self, file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if isinstance(file, int) or not os.fspath(file).startswith(self.prefix):
            return self._open(file, mode, *rest, **options)
        raw = _Raw(self, os.fspath(file), mode)
        buffer: Any = io.BufferedReader(raw) if raw.readable() else io.BufferedWriter(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, options.get("encoding"))


class _Raw(io.FileIO):
    """A file whose reads and writes are calls that are watched."""

    def __init__(self, calls: FileCalls, path: str, mode: str):
        calls.happens("open", path)
        super().__init__(path, mode.strip("bt"))
        self.calls, self.path = calls, path
        if self.writable():
            calls.done.append(("open", path))

    def readall(self) -> bytes:
        self.calls.happens("read", self.path)
        return super().readall()

    def write(self, data: Any) -> int:
        try:
            self.calls.happens("write", self.path)
        except BaseException:
            if self.calls.count == self.calls.at and self.calls.error != errno.EINTR:  # after which it is tried again
                super().write(bytes(data)[: len(data) // 2])
            raise
        self.calls.done.append(("write", self.path, bytes(data)))
        return super().write(data) or 0
