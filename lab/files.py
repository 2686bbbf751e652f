"""Files and folders: those that the user names in the environment, locks, and what is written whole or not at all.

Locks are `flock`'s: they end with the process that holds them, however it ends, for the kernel keeps one as long as the
file is open. Nobody has to guess whether a process number still means the same process, on this machine or in another
container. Windows and some network file systems have none; `lock` then raises an OSError, and whoever wanted the lock
goes on without.

What is written into a temporary folder is renamed to its place when it is whole, by `keep`, which has the disk write it
before, and its name after: a power cut costs nothing that was reported as kept. The folder is locked by the process
that writes it: what a killed process has left is known at once, and `abandoned` lists it.
"""

import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lab.errors import ArgumentError, absolute_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # a module, or nothing

PATIENCE = 10.0  # seconds to wait for a lock that is held for milliseconds, unless its owner was stopped
PREFIX = ".tmp-"
TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{16}")
ABANDONED = 3600.0  # seconds after which nobody is still writing, where there are no locks to ask
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)  # no file has this name, now and later
NO_SYNC = (*NO_FILE, errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


def user_folder(variable: str) -> Path | None:
    """The folder that the environment variable names, with `~` expanded; None where it is unset or empty.

    It need not be there. Raises ArgumentError where it cannot be: a file has its name, or that of a folder above it.

    >>> user_folder("LAB_NO_SUCH_VARIABLE") is None
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


@contextmanager
def temporary(parent: Path) -> Iterator[Path]:
    """A new folder in `parent`, which is made if need be. At the end it is removed, unless it was renamed."""
    make(parent)
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
    return TEMPORARY.fullmatch(path.name) is not None and not path.is_symlink()


def make(folder: Path) -> None:
    """Make a folder, and those above it; the disk keeps their names."""
    lacking = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in lacking:
        sync(place.parent)


def keep(new: Path, path: Path) -> Path:
    """Rename a file, or a folder of files, that is written; return its path, at which the disk has it whole.

    All that is to be kept comes here. Where the rename is refused, both places are as they were.
    """
    is_folder = new.is_dir()
    for part in (*new.iterdir(), new) if is_folder else (new,):
        sync(part)  # a power cut after the rename must not find an empty file, or a folder that lacks one
    if is_folder:
        new.rename(path)  # over another folder, `replace` is refused in Windows as if rights were missing
    else:
        new.replace(path)
    sync(path.parent)
    return path


def put(path: Path, data: bytes) -> None:
    """Write a file in place of the one before: whole and on the disk, or not at all. Of a link, the file that it names;
    rights stay. Raises OSError where it cannot, and then the older file is as it was (unless the folder's own writing
    failed)."""
    path = path.resolve()
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe; a folder raises
        path.write_bytes(data)
        return
    with temporary(path.parent) as folder:
        (folder / path.name).write_bytes(data)
        with suppress(FileNotFoundError):
            shutil.copymode(path, folder / path.name)
        keep(folder / path.name, path)


def read(path: Path) -> bytes | None:
    """The bytes of a file; None where there is none of that name. Raises OSError where it cannot be read now."""
    try:
        return path.read_bytes()
    except OSError as error:
        if isinstance(error, FileNotFoundError) or error.errno in NO_FILE:
            return None
        raise


def sync(path: Path) -> None:
    """Have the disk write a file, or the names in a folder. Raises OSError where it fails, as a full disk does; where
    folders cannot be written so, as in Windows and some network file systems, nothing happens."""
    is_folder = path.is_dir()
    try:  # Windows writes what it may change; elsewhere a file that this user may only read is written, too
        handle = os.open(path, os.O_RDWR if os.name == "nt" and not is_folder else os.O_RDONLY)
        try:
            os.fsync(handle)
            if (whole := getattr(fcntl, "F_FULLFSYNC", None)) is not None:  # macOS: else the drive may still have it
                fcntl.fcntl(handle, whole)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in NO_SYNC and not (is_folder and error.errno in (errno.EACCES, errno.EPERM)):
            raise


def _abandoned(path: Path) -> bool:
    held = locked(path)
    try:
        return time.time() - path.stat().st_mtime > ABANDONED if held is None else not held
    except FileNotFoundError:  # its process has just removed it
        return False
