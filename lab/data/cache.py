"""The folder of what was fetched: a file a set, with its arrays, where they are from, and their digest.

A file gets its name when it is complete. What is not finished is in a folder `.tmp-…`, locked by the process that
writes into it; a process that is killed leaves it, and the next one that writes removes it.
"""

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from lab import files
from lab.data import convert
from lab.errors import LabError
from lab.files import abandoned, temporary, user_folder
from lab.places import default_folder

NOTES = ("origin", "digest")  # in a file of the cache, beside the arrays


def folder() -> Path:
    """LAB_CACHE, `data/cache` of the checkout, or `cache` in the user's data folder; it need not be there."""
    given = user_folder("LAB_CACHE")
    return given.absolute() if given else default_folder("cache")


def path(name: str) -> Path:
    """The file that has, or would have, the set of that name."""
    return folder() / f"{name}.npz"


def keep(target: Path, arrays: convert.Arrays, origin: str) -> None:
    notes = {"origin": np.array(origin), "digest": np.array(convert.digest(arrays))}
    write(target, dict(arrays) | notes)


def read(archive: Path, most: int) -> tuple[convert.Arrays, str, str | None]:
    """Arrays, origin and digest of a file as they were kept; the digest is None in a file without one.

    Raises what numpy and zipfile raise at a damaged file. most: bytes of all arrays.
    """
    if archive.stat().st_size > most:
        raise ValueError("it is larger than the set can be")
    arrays = convert.npz({archive.name: archive.read_bytes()}, most)
    notes = {note: str(arrays[note]) for note in NOTES if note in arrays}
    data = {key: array for key, array in arrays.items() if key not in NOTES}
    return data, notes.get("origin", "fetched before"), notes.get("digest")


def digest(archive: Path) -> str | None:
    """The digest that a kept set has as it says itself; None where none can be read."""
    try:
        with archive.open("rb") as file, np.load(file, allow_pickle=False) as arrays:  # of a path, numpy leaves it open
            return str(arrays["digest"])
    except Exception:  # whatever numpy and zipfile raise at a damaged file: `lab data verify` names the damage
        return None


def write(target: Path, arrays: convert.Arrays, small: bool = False) -> None:
    """Write arrays as .npz in a folder for what is not finished; it gets its name when it is complete.

    small: pack them as tightly as ZIP files allow, which is slow; numpy reads them all the same.
    """
    with unfinished(target.parent) as temporary, _writing(target.parent):
        with (temporary / target.name).open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA if small else zipfile.ZIP_DEFLATED) as archive:
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        files.keep(temporary / target.name, target)


@contextmanager
def unfinished(parent: Path) -> Iterator[Path]:
    """An empty folder below `parent` that is removed at the end. Those of processes that were killed go first."""
    with ExitStack() as stack:
        with _writing(parent):
            parent.mkdir(parents=True, exist_ok=True)
            for left in abandoned(parent):
                shutil.rmtree(left, ignore_errors=True)
            folder = stack.enter_context(temporary(parent))
        yield folder


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        text = f"cannot write to {place} ({error.strerror or error}); name another folder with LAB_CACHE"
        raise LabError(text) from error
