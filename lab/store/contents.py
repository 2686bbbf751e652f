"""What lies in the folders of a store: results, states, what killed processes have left, and what is foreign."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lab.files import abandoned as abandoned_folders
from lab.files import is_temporary
from lab.store import checkpoints, leases, objects, results

RESULTS = ("searches", "runs")
STATES = ("checkpoints", "courses")
FOLDERS = (*RESULTS, *STATES, "forced", "leases")


def result_folders(store: Path) -> Iterator[Path]:
    """Folders of results, finished or not."""
    for kind in RESULTS:
        for path in objects.below(store / kind):
            if results.foreign(path) is None and not objects.is_being_written(path):
                yield path


def states(store: Path, kind: str = STATES[0]) -> list[Path]:
    """Files of states, or of courses, whole or damaged."""
    return [path for path in objects.below(store / kind) if _is_state(path)]


def damaged_courses(store: Path) -> list[Path]:
    """Files of checkpoints that are not what was written."""
    there = states(store, STATES[1])
    return [path for path in there if checkpoints.whole(path) is None and objects.is_there(path)]


def abandoned(store: Path) -> list[Path]:
    """Temporary folders and leases of processes that have ended."""
    folders = () if objects.in_bucket(store) else FOLDERS
    left = [path for kind in folders for path in abandoned_folders(store / kind)]
    return left + leases.abandoned(store / "leases")


def foreign(store: Path) -> list[str]:
    """One line for each thing in these folders that this version of the lab has not written."""
    lines = []
    for kind in FOLDERS:
        place = store / kind
        if not objects.in_bucket(place) and not place.is_dir() and (place.exists() or place.is_symlink()):
            lines.append(f"{kind}: not a folder")
        for path in objects.below(store / kind):
            if (reason := _foreign(kind, path)) is not None:
                lines.append(f"{kind}/{path.name}: {reason}")
    return sorted(lines)


def problem(store: Path) -> str | None:
    """Why nothing can be kept in a store's folder, in words; None where it can."""
    here = next(path for path in (store, *store.parents) if path.exists() or path.is_symlink())
    for place in (here, *(store / kind for kind in FOLDERS)):
        if not place.is_dir():
            if place == here or place.exists() or place.is_symlink():
                return f"{place} is no folder: move it away, or name another store with LAB_STORE"
            continue
        try:
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError as error:
            said = (error.strerror or str(error)).lower()
            return f"{place} cannot be written ({said}); name another store with LAB_STORE"
    return None


def remove(path: Path) -> None:
    """Remove a damaged result, a lease or a temporary folder."""
    if path.parent.name in RESULTS and not is_temporary(path):
        results.remove(path, damaged=True)
    elif is_temporary(path):
        with suppress(FileNotFoundError):  # another process removes it, too
            shutil.rmtree(path)
    else:
        objects.remove(path)


def _foreign(kind: str, path: Path) -> str | None:
    if is_temporary(path) and path.is_dir():
        return None
    if kind in RESULTS:
        return results.foreign(path)
    ours = _is_state if kind in STATES else leases.is_lease if kind == "leases" else _is_file_of_key
    if not ours(path):
        return "not a file of the lab"
    if kind in STATES and checkpoints.whole(path) is not None and checkpoints.members(path) is None:
        return "a state of another version of the lab"
    return None


def _is_state(path: Path) -> bool:
    """Whether this is a state, whole or damaged, and no file of somebody else who names his by digests, too."""
    return _is_file_of_key(path) and checkpoints.is_state(path)


def _is_file_of_key(path: Path) -> bool:
    return results.KEY.fullmatch(path.name) is not None and objects.is_there(path)
