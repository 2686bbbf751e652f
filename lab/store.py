"""The store: finished runs and searches on disk, each a folder named by the key of its spec.

A folder holds `spec.json`, `history.npz`, `weights.safetensors` and, written last, `done.json` with the digest of each
of the others. Folders are written under a temporary name on the same file system and renamed in: nothing half-written
ever looks finished, and several processes may share a store. `checkpoints/` holds the state of fleets in training.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from lab.errors import LabError
from lab.spec import RunSpec, SearchSpec, from_json, key, to_json

Spec = RunSpec | SearchSpec


class DamagedError(LabError):
    """A stored result whose files do not have the digests written when it was finished."""


class Store:
    """Results by spec. folder: `LAB_STORE`, or `data/store` of the checkout, or else `~/.cache/lab/store`."""

    def __init__(self, folder: str | Path | None = None):
        self.folder = Path(folder or os.environ.get("LAB_STORE") or _default_folder()).absolute()

    def path(self, spec: Spec) -> Path:
        """The folder of a spec's result, whether it is there or not."""
        kind = "searches" if isinstance(spec, SearchSpec) else "runs"
        return self.folder / kind / key(spec)

    def has(self, spec: Spec) -> bool:
        """Whether a finished result is there. It is checked for damage when it is read."""
        return (self.path(spec) / "done.json").is_file()

    def save(self, spec: Spec, history: dict[str, np.ndarray], weights: dict[str, Tensor], notes: dict) -> None:
        """Keep a finished result. notes: anything else to remember (JSON), e.g. device and wall time."""
        arrays = io.BytesIO()
        np.savez(arrays, **history)
        weights = {name: tensor.contiguous() for name, tensor in weights.items()}
        files = {"spec.json": to_json(spec).encode(), "history.npz": arrays.getvalue(),
                 "weights.safetensors": save_tensors(weights)}  # fmt: skip
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        files["done.json"] = json.dumps({"files": digests, "notes": notes}, sort_keys=True).encode()
        target = self.path(spec)
        with self._writing(target), _temporary(target) as folder:
            for name, data in files.items():
                _write(folder / name, data)
            _move_in(folder, target)

    def load(self, spec: Spec) -> tuple[dict[str, np.ndarray], dict[str, Tensor], dict]:
        """History, weights and notes of a finished result; DamagedError where a file is not what was written."""
        folder = self.path(spec)
        files, notes = self._checked(folder)
        with np.load(io.BytesIO(files["history.npz"]), allow_pickle=False) as arrays:
            history = {name: arrays[name] for name in arrays.files}
        return history, load_tensors(files["weights.safetensors"]), notes

    def forget(self, spec: Spec) -> None:
        """Remove a result, so that it is trained again."""
        _remove(self.path(spec))

    def results(self) -> Iterator[Path]:
        """Folders of all results, finished or not."""
        for kind in ("searches", "runs"):
            folder = self.folder / kind
            names = sorted(folder.iterdir()) if folder.is_dir() else ()
            yield from (path for path in names if path.is_dir() and not path.name.startswith("."))

    def verify(self) -> list[str]:
        """One line for each damaged result; an empty list means that all is well."""
        found = []
        for folder in self.results():
            try:
                files, _ = self._checked(folder)
                if key(from_json(files["spec.json"].decode())) != folder.name:
                    found.append(f"{folder.parent.name}/{folder.name}: its spec has another key")
            except LabError as error:
                found.append(str(error))
        return found

    def clean(self) -> list[str]:
        """Remove damaged results, checkpoints and left-over temporary folders; return what was removed."""
        removed = []
        for folder in list(self.results()):
            try:
                self._checked(folder)
            except DamagedError:
                removed.append(f"{folder.parent.name}/{folder.name}")
                _remove(folder)
        for path in [*self.folder.glob("*/.tmp-*"), *self.folder.glob("checkpoints/*")]:
            removed.append(str(path.relative_to(self.folder)))
            _remove(path)
        return removed

    def keep_checkpoint(self, specs: Sequence[Spec], tensors: dict[str, Tensor]) -> None:
        """Write the state of a fleet in training, in place of the state before."""
        path = self._checkpoint(specs)
        members = {"specs": json.dumps([to_json(spec) for spec in specs])}
        data = save_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, members)
        with self._writing(path), _temporary(path) as folder:
            _write(folder / "state", hashlib.sha256(data).digest() + data)
            (folder / "state").replace(path)

    def checkpoint(self, specs: Sequence[Spec]) -> dict[str, Tensor] | None:
        """The last state of this fleet, or None. A damaged one counts as none: training then starts over."""
        data = _intact(self._checkpoint(specs))
        return None if data is None else load_tensors(data)

    def checkpoints(self) -> Iterator[tuple[Spec, ...]]:
        """The specs of each fleet that has a state here."""
        for path in sorted(self.folder.glob("checkpoints/[!.]*")):
            if (data := _intact(path)) is not None:
                header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])  # safetensors: length, then JSON
                yield tuple(from_json(text) for text in json.loads(header["__metadata__"]["specs"]))

    def drop_checkpoint(self, specs: Sequence[Spec]) -> None:
        """Remove the state of a fleet that is finished."""
        self._checkpoint(specs).unlink(missing_ok=True)

    def _checkpoint(self, specs: Sequence[Spec]) -> Path:
        name = hashlib.sha256("\n".join(key(spec) for spec in specs).encode()).hexdigest()
        return self.folder / "checkpoints" / name

    def _checked(self, folder: Path) -> tuple[dict[str, bytes], dict]:
        where = f"{folder.parent.name}/{folder.name}"
        mend = "run `lab store clean` to remove it; it is then trained again when it is needed"
        try:
            done = json.loads((folder / "done.json").read_text())
            digests, notes = dict(done["files"]), done["notes"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"{where} in {self.folder}: done.json is unreadable ({error}); {mend}") from error
        files = {}
        for name, digest in digests.items():
            try:
                files[name] = (folder / name).read_bytes()
            except OSError as error:
                raise DamagedError(
                    f"{where} in {self.folder}: {name} is unreadable ({error.strerror}); {mend}"
                ) from error
            if hashlib.sha256(files[name]).hexdigest() != digest:
                raise DamagedError(f"{where} in {self.folder}: {name} is damaged (its digest is another); {mend}")
        return files, notes

    @contextmanager
    def _writing(self, target: Path) -> Iterator[None]:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            yield
        except OSError as error:
            what = "is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else f"cannot be written ({error.strerror})"
            raise LabError(
                f"the store {self.folder} {what}; free space there or name another folder with LAB_STORE. "
                "What was finished before is kept"
            ) from error


def _default_folder() -> Path:
    checkout = Path(__file__).parents[1]
    return checkout / "data" / "store" if (checkout / "pyproject.toml").is_file() else Path.home() / ".cache/lab/store"


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=".tmp-", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _intact(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # a power cut after the rename must not find an empty file


def _move_in(folder: Path, target: Path) -> None:
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if (target / "done.json").is_file():
            return  # another process finished the same run first; a spec has one result
        _remove(target)
        folder.rename(target)


def _remove(path: Path) -> None:
    if path.is_dir():
        (path / "done.json").unlink(missing_ok=True)  # first, so that a half-removed result does not look finished
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
