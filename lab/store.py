"""The store: finished runs and searches on disk, each a folder named by the key of its spec.

A folder holds `spec.json`, `history.npz`, `weights.safetensors` and, written last, `done.json` with the digest of each
of the others. Folders are written under a temporary name on the same file system and renamed in: nothing half-written
ever looks finished, and several processes may share a store. `checkpoints/` holds the state of fleets in training.

Some runs come with the lab, in `data/runs`: who looks at a trained model need not train it first. They are read where a
store is told to (`shipped`), checked like any other, and never written.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from lab.errors import ArgumentError, LabError
from lab.spec import EpisodeSpec, RunSpec, SearchSpec, TwoLossSpec, from_json, key, searches, to_json

Spec = RunSpec | SearchSpec | EpisodeSpec | TwoLossSpec
FILES = ("spec.json", "history.npz", "weights.safetensors")
ABANDONED = 3600.0  # seconds after which nobody is still writing into a temporary folder
SHIPPED = Path(__file__).parents[1] / "data"
MEND = "run `lab store clean` to remove it; it is then trained again when it is needed"


class DamagedError(LabError):
    """A stored result whose files do not have the digests written when it was finished."""


class Store:
    """Results by spec. folder: `LAB_STORE`, or `data/store` of the checkout, or else `~/.cache/lab/store`.

    shipped: a second folder, with `runs/`, to read a run from which the first lacks; None: there is none.
    """

    def __init__(self, folder: str | Path | None = None, shipped: str | Path | None = None):
        self.folder = Path(folder or os.environ.get("LAB_STORE") or _default_folder()).absolute()
        self.shipped, self._cure = None, MEND
        if shipped is not None:
            self.shipped = Store(shipped)
            self.shipped._cure = "it came with the lab: bring it back from where you have the lab from"

    def path(self, spec: Spec) -> Path:
        """The folder of a spec's result, whether it is there or not."""
        kind = "searches" if searches(spec) else "runs"
        return self.folder / kind / key(spec)

    def has(self, spec: Spec) -> bool:
        """Whether a finished result is there. It is checked for damage when it is read."""
        return self._finished(spec) or bool(self._lent(spec))

    def _finished(self, spec: Spec) -> bool:
        with self._reading():
            return (self.path(spec) / "done.json").is_file()

    def _lent(self, spec: Spec) -> Store | None:
        """The shipped store, if it has the run and this one does not."""
        there = self.shipped and isinstance(spec, RunSpec) and self.shipped.has(spec) and not self._finished(spec)
        return self.shipped if there else None

    def save(self, spec: Spec, history: dict[str, np.ndarray], weights: dict[str, Tensor], notes: dict) -> None:
        """Keep a finished result. notes: anything else to remember (JSON), e.g. device and wall time."""
        arrays = io.BytesIO()
        np.savez(arrays, **history)
        weights = {name: tensor.contiguous() for name, tensor in weights.items()}
        files = {"spec.json": to_json(spec).encode(), "history.npz": arrays.getvalue(),
                 "weights.safetensors": save_tensors(weights)}  # fmt: skip
        done = {"files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, "notes": notes}
        files["done.json"] = json.dumps(done | {"digest": _digest(done)}, sort_keys=True).encode()
        target = self.path(spec)
        with self._writing():
            _place(files, target)

    def load(self, spec: Spec) -> tuple[dict[str, np.ndarray], dict[str, Tensor], dict]:
        """History, weights and notes of a finished result; DamagedError where a file is not what was written."""
        if lender := self._lent(spec):
            return lender.load(spec)
        files, notes = self._checked(self.path(spec))
        with np.load(io.BytesIO(files["history.npz"]), allow_pickle=False) as arrays:
            history = {name: arrays[name] for name in arrays.files}
        return history, load_tensors(files["weights.safetensors"]), notes

    def export(self, name: str, folder: str | Path) -> Path:
        """Copy one finished result, as it is, into another store, for shipping it; its folder there.

        name: its key, or as much of the beginning as tells it from the others.
        """
        found = [path for path in self.results() if name and path.name.startswith(name)]
        if len(found) != 1:
            raise ArgumentError(f"{len(found)} results have a key that begins with {name!r}; `lab store list` has them")
        files, _ = self._checked(found[0])
        files["done.json"] = (found[0] / "done.json").read_bytes()
        other = Store(folder)
        target = other.folder / found[0].parent.name / found[0].name
        with other._writing():
            _place(files, target)
        return target

    def forget(self, specs: Iterable[Spec]) -> None:
        """Remove these results, and the states of fleets that train them, so that they are trained again."""
        specs = set(specs)
        with self._writing():
            for members in list(self.checkpoints()):
                if specs & set(members):
                    self.drop_checkpoint(members)
            for spec in specs:
                _remove(self.path(spec))

    def results(self) -> Iterator[Path]:
        """Folders of all results, finished or not."""
        for kind in ("searches", "runs"):
            folder = self.folder / kind
            with self._reading():
                names = sorted(folder.iterdir()) if folder.is_dir() else ()
            yield from (path for path in names if path.is_dir() and not path.name.startswith("."))

    def verify(self) -> list[str]:
        """One line for each damaged result; an empty list means that all is well."""
        found = []
        for folder in self.results():
            try:
                self._checked(folder)
            except LabError as error:
                found.append(str(error))
        return found

    def clean(self) -> list[str]:
        """Remove damaged results, states that no training needs, and abandoned temporary folders; return what went.

        The state of a fleet that is not finished stays: to go on from it is what it was kept for.
        """
        removed = []
        for folder in self.results():
            try:
                self._checked(folder)
            except DamagedError:
                removed.append(folder)
        for path in sorted(self.folder.glob("checkpoints/[!.]*")):
            members = _members(path)
            if members is None or all(map(self.has, members)):
                removed.append(path)
        now = time.time()
        removed += [path for path in self.folder.glob("*/.tmp-*") if now - path.stat().st_mtime > ABANDONED]
        with self._writing():
            for path in removed:
                _remove(path)
        return [str(path.relative_to(self.folder)) for path in removed]

    def check_writable(self) -> None:
        """Raise LabError where nothing could be kept; to be asked before hours of training."""
        for kind in ("searches", "runs", "checkpoints"):
            with self._writing(), _temporary(self.folder / kind) as folder:
                _write(folder / "test", b"test")

    def keep_checkpoint(self, specs: Sequence[Spec], tensors: dict[str, Tensor]) -> None:
        """Write the state of a fleet in training, in place of the state before."""
        path = self._checkpoint(specs)
        members = {"specs": json.dumps([to_json(spec) for spec in specs])}
        data = save_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, members)
        with self._writing(), _temporary(path.parent) as folder:
            _write(folder / "state", hashlib.sha256(data).digest() + data)
            (folder / "state").replace(path)

    def checkpoint(self, specs: Sequence[Spec]) -> dict[str, Tensor] | None:
        """The last state of this fleet, or None. A damaged one counts as none: training then starts over."""
        data = _intact(self._checkpoint(specs))
        return None if data is None else load_tensors(data)

    def checkpoints(self) -> Iterator[tuple[Spec, ...]]:
        """The specs of each fleet that has a state here."""
        for path in sorted(self.folder.glob("checkpoints/[!.]*")):
            if (members := _members(path)) is not None:
                yield members

    def drop_checkpoint(self, specs: Sequence[Spec]) -> None:
        """Remove the state of a fleet that is finished."""
        with self._writing():
            self._checkpoint(specs).unlink(missing_ok=True)

    def _checkpoint(self, specs: Sequence[Spec]) -> Path:
        return self.folder / "checkpoints" / _name(specs)

    def _checked(self, folder: Path) -> tuple[dict[str, bytes], dict]:
        """The files of a result and its notes, if all of them are as they were written, for the spec in its name."""

        def damage(what: str) -> DamagedError:
            return DamagedError(f"{folder.parent.name}/{folder.name} in {self.folder}: {what}; {self._cure}")

        if not folder.exists():
            raise LabError(f"{folder.parent.name}/{folder.name} is not in the store {self.folder}; train it first")
        files = {}
        for name in ("done.json", *FILES):
            try:
                files[name] = (folder / name).read_bytes()
            except PermissionError as error:  # somebody else's file is no damage, and not to be cleaned away
                raise self._failed("read", error) from error
            except OSError as error:
                raise damage(f"{name} is unreadable ({error.strerror})") from error
        try:
            done = json.loads(files.pop("done.json"))
            digests, notes, own = done["files"], done["notes"], done.pop("digest", None)
            whole = set(done) == {"files", "notes"} and set(digests) == set(FILES)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise damage("done.json is damaged") from error
        if not whole or own not in (_digest(done), None):  # None: written before notes had a digest
            raise damage("done.json is damaged")
        for name, data in files.items():
            if hashlib.sha256(data).hexdigest() != digests[name]:
                raise damage(f"{name} is damaged (its digest is another)")
        if _key_of(files["spec.json"]) != folder.name:
            raise damage("it holds another spec than its name says, or is from another version of the lab")
        return files, notes

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failed("written", error) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failed("read", error) from error

    def _failed(self, deed: str, error: OSError) -> LabError:
        what, cure = f"cannot be {deed} ({error.strerror})", "mend that"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what, cure = "is full", "free space there"
        kept = ". What was finished before is kept" if deed == "written" else ""
        return LabError(f"the store {self.folder} {what}; {cure}, or name another folder with LAB_STORE{kept}")


def _default_folder() -> Path:
    checkout = Path(__file__).parents[1]
    return checkout / "data" / "store" if (checkout / "pyproject.toml").is_file() else Path.home() / ".cache/lab/store"


@contextmanager
def _temporary(parent: Path) -> Iterator[Path]:
    folder = parent / f".tmp-{secrets.token_hex(8)}"
    folder.mkdir(parents=True)  # tempfile would keep it to this user, whatever the umask says
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _key_of(text: bytes) -> str | None:
    """The key of a spec by its JSON; None for what is no spec to this lab."""
    try:
        return key(from_json(text.decode()))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _digest(done: dict) -> str:
    return hashlib.sha256(json.dumps(done, sort_keys=True).encode()).hexdigest()


def _name(specs: Sequence[Spec]) -> str:
    return hashlib.sha256("\n".join(key(spec) for spec in specs).encode()).hexdigest()


def _members(path: Path) -> tuple[Spec, ...] | None:
    """The specs of a fleet's state; None where it is damaged, or from another version of the lab."""
    if (data := _intact(path)) is None:
        return None
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])  # safetensors: length, then JSON
        members = tuple(from_json(text) for text in json.loads(header["__metadata__"]["specs"]))
        return members if _name(members) == path.name else None
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


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


def _place(files: dict[str, bytes], target: Path) -> None:
    """Write the files of a result, all of them or none."""
    with _temporary(target.parent) as folder:
        for name, data in files.items():
            _write(folder / name, data)
        _move_in(folder, target)


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
        if (path / "done.json").is_file():  # first, so that a half-removed result does not look finished
            (path / "done.json").unlink()
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
