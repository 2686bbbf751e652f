"""A result on disk: a folder of four files, whole or damaged; and what looks like one and is none of this lab's."""

import errno
import hashlib
import io
import json
import re
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from lab.errors import LabError, shortened
from lab.files import keep, read, sync, temporary
from lab.spec import from_json, key, to_json
from lab.store import objects

FILES = ("spec.json", "history.npz", "weights.safetensors")
NAMES = {"done.json", *FILES}
KEY = re.compile("[0-9a-f]{64}")
TIMES = 1_100  # its size, that a packed history may unpack to: what deflate can do
DIGITS = 16  # of a file's digest that stand behind its name in a bucket
VERSIONS = range(1000)  # numbers that another version of the lab may have for SCHEMA
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST)


class DamagedError(LabError):
    """A stored result whose files do not have the digests written when it was finished."""


def pack(spec: object, history: dict[str, np.ndarray], weights: dict[str, Tensor], notes: dict) -> dict[str, bytes]:
    """The files of a result by name; `done.json`, which says that it is whole, is the last. ValueError for arrays of
    Python's objects, which numpy would pickle."""
    if odd := [name for name, array in history.items() if np.asarray(array).dtype.hasobject]:
        raise ValueError(f"history {odd[0]!r} is of Python's objects; give numbers")
    arrays = io.BytesIO()
    named: dict[str, Any] = history  # numpy's own options are not among the names
    np.savez(arrays, **named)
    weights = {name: tensor.contiguous() for name, tensor in weights.items()}
    files = {
        "spec.json": to_json(spec).encode(),
        "history.npz": arrays.getvalue(),
        "weights.safetensors": save_tensors(weights),
    }
    done = {"files": {name: _sha256(data) for name, data in files.items()}, "notes": notes}
    return files | {"done.json": json.dumps(done | {"digest": _digest(done)}, sort_keys=True).encode()}


def unpack(files: dict[str, bytes], folder: Path, advice: str) -> tuple[dict[str, np.ndarray], dict[str, Tensor]]:
    """History and weights. DamagedError where others wrote, with digests that fit, what is neither."""
    try:
        with zipfile.ZipFile(io.BytesIO(files["history.npz"])) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > TIMES * len(files["history.npz"]):
            raise ValueError(f"history.npz unpacks to more than {TIMES:,} times its size")
        with np.load(io.BytesIO(files["history.npz"]), allow_pickle=False) as arrays:
            history: dict[str, Any] = {name: arrays[name] for name in arrays.files}
        return history, load_tensors(files["weights.safetensors"])
    except Exception as error:  # whatever numpy, zipfile and safetensors raise
        raise damage(folder, f"it cannot be read ({shortened(str(error))})", advice) from error


def damage(folder: Path, what: str, advice: str) -> DamagedError:
    """The error that names a result, or a file beside results, and what is wrong with it."""
    return DamagedError(f"{folder.parent.name}/{folder.name} in {folder.parents[1]}: {what}; {advice}")


def check(folder: Path, advice: str) -> tuple[dict[str, bytes], dict]:
    """The files of a result and its notes, if all of them are as they were written, for the spec in its name.

    Raises DamagedError, which names the result and ends with `advice`; OSError for a file that is there and cannot be
    read now, which is no damage: nothing is removed for it.
    """

    files: dict[str, bytes] = {}
    for name in ("done.json", *FILES):
        try:
            data = read(folder / _stored_as(folder, name, files))
        except OSError as error:
            said = f"{error.strerror or error}: {folder.parent.name}/{folder.name}/{name}"
            raise OSError(error.errno, said) from error
        if data is None:
            raise damage(folder, f"{name} is not there", advice)
        files[name] = data
    try:
        done = json.loads(files["done.json"])
        digests, notes, done_digest = done["files"], done["notes"], done.pop("digest", None)
        whole = set(done) == {"files", "notes"} and set(digests) == set(FILES)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise damage(folder, "done.json is damaged", advice) from error
    if not whole or done_digest not in (_digest(done), None):  # None: written before notes had a digest
        raise damage(folder, "done.json is damaged", advice)
    for name in FILES:
        if _sha256(files[name]) != digests[name]:
            raise damage(folder, f"{name} is damaged (its digest is another)", advice)
    if _key(files["spec.json"]) != folder.name:
        raise damage(folder, "it holds another spec than its name says", advice)
    return files, notes


def done(folder: Path) -> dict:
    """What `done.json` of a finished result says, unchecked; empty where it is missing or damaged."""
    try:
        said = json.loads(read(folder / "done.json") or b"")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def place(files: dict[str, bytes], target: Path) -> None:
    """Write the files of a result, all of them or none. One that is there already stays: a spec has one result."""
    if objects.in_bucket(target):
        _place_in_bucket(files, target)
        return
    with temporary(target.parent) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)
        try:
            keep(folder, target)
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            if (target / "done.json").is_file():
                sync(target.parent)  # another process finished the same run first, and may be dead
                return
            remove(target)
            if not target.exists():
                keep(folder, target)
            else:  # somebody keeps a file of his own there
                for name in (*FILES, "done.json"):  # which says that the others are there
                    keep(folder / name, target / name)


def remove(folder: Path, damaged: bool = False) -> None:
    """Remove a result: its files, and the folder where nothing else lies in it. Of a link, the link alone.

    damaged: unless it is whole by now, because another process has saved it again. OSError where it cannot be read now,
        and then it stays.
    """
    if damaged:
        with suppress(DamagedError):
            check(folder, "")
            return
    if objects.in_bucket(folder):
        while True:
            objects.remove(folder / "done.json")
            for path, _ in objects.listed(folder):
                if _plain(path) in FILES:
                    objects.remove(path)
            if not objects.is_there(folder / "done.json"):  # else it was saved in between, and has lost files
                return
    if folder.is_symlink():
        folder.unlink()
        return
    if not all(path.name in NAMES and path.is_file() for path in _below(folder)):
        _remove_files(folder)
        return
    if not folder.is_dir():
        return
    with temporary(folder.parent) as place, suppress(FileNotFoundError):  # another process was faster
        gone = place / folder.name
        folder.rename(gone)  # at once: what another process saves from here on is another folder
        stays = damaged
        try:
            if damaged:
                check(gone, "")
        except DamagedError:
            stays = False
        finally:
            if stays:  # it is whole, or cannot be read now
                gone.rename(folder)
            sync(folder.parent)


def _remove_files(folder: Path) -> None:
    """Of a folder in which something else lies: what is half removed must not look finished."""
    for name in ("done.json", *FILES):
        file = folder / name
        if file.is_dir() and not file.is_symlink():
            _remove_empty(file)
        else:
            with suppress(NotADirectoryError):
                file.unlink(missing_ok=True)
        if name == "done.json":
            sync(folder)  # after a power cut either
    _remove_empty(folder)


def _below(folder: Path) -> list[Path]:
    """What lies in a folder; nothing, if another process removes it at this moment."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def foreign(path: Path) -> str | None:
    """Why this is no result of this version of the lab, in words; None: it is one, whole or damaged.

    A result has a key as name, and nothing but the lab's files, or some of them. A whole one whose name is the key of
    its spec in another version belongs to that version.
    """
    if objects.in_bucket(path):
        names = {_plain(file) for file, _ in objects.listed(path)}
    elif path.is_symlink() and not path.exists():
        return "a link to nothing"
    elif path.is_file():
        return "a file"
    else:
        names = {file.name for file in _below(path)}
    if not KEY.fullmatch(path.name):
        return "a folder that is not named by a key"
    if names and (names.isdisjoint((*FILES, "done.json")) or not _may_be_a_result(path, names)):
        return "a folder without the files of a result"
    return "a result of another version of the lab" if _is_of_another_version(path) else None


def _may_be_a_result(folder: Path, names: set[str]) -> bool:
    """Whether one of the files that say what a result is is as the lab writes it; or neither is there, because somebody
    was about to remove it. In a bucket the names of files, with their digests, say so."""
    if objects.in_bucket(folder):
        return True
    said = [done(folder).get("files")] if "done.json" in names else []
    if "spec.json" in names:
        with suppress(ValueError, AttributeError):
            said.append(json.loads(read(folder / "spec.json") or b"").get("type"))
    return bool(not {"done.json", "spec.json"} & names or any(said))


def _is_of_another_version(folder: Path) -> bool:
    try:
        text = read(folder / "done.json") or b""
        done = json.loads(text)
        spec = read(folder / _stored_as(folder, "spec.json", {"done.json": text})) or b""
        done_digest, whole = done.pop("digest", None), done["files"]["spec.json"] == _sha256(spec)
        other = set(done) != {"files", "notes"} or set(done["files"]) != set(FILES)
    except (ValueError, LookupError, TypeError, AttributeError):
        return False
    if not whole or done_digest not in (_digest(done), None) or _key(spec) == folder.name:
        return False
    if (done_digest is not None and other) or any(_name(number, spec) == folder.name for number in VERSIONS):
        return True
    try:
        from_json(spec.decode())
    except (ValueError, LookupError, TypeError, AttributeError):
        return True
    return False


def _place_in_bucket(files: dict[str, bytes], target: Any) -> None:
    """Files first, each under a name that only the same content has; `done.json` makes a result of them, once."""
    if objects.is_there(target / "done.json"):
        return
    mine = {name: _stored_as(target, name, files) for name in FILES}
    for name in FILES:
        objects.put(target / mine[name], files[name])
    if not objects.create(target / "done.json", files["done.json"]):  # another process finished the same run first
        theirs = {"done.json": objects.read(target / "done.json")}
        for name in FILES:
            if mine[name] != _stored_as(target, name, theirs):
                objects.remove(target / mine[name])
        return
    for name in FILES:
        if not objects.is_there(target / mine[name]):  # another process forgot the result in between
            objects.put(target / mine[name], files[name])


def _stored_as(folder: Any, name: str, files: dict[str, bytes]) -> str:
    """The name of a result's file: in a bucket, with the digest that `done.json` says."""
    if name == "done.json" or not objects.in_bucket(folder):
        return name
    try:
        return f"{name}.{json.loads(files['done.json'])['files'][name][:DIGITS]}"
    except (ValueError, LookupError, TypeError):  # damaged, as `check` finds
        return name


def _plain(path: Any) -> str:
    """The name of a result's file without what a bucket adds."""
    name, _, digits = path.name.rpartition(".")
    return name if objects.in_bucket(path) and re.fullmatch(f"[0-9a-f]{{{DIGITS}}}", digits) else path.name


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in ABSENT:
            raise


def _key(spec: bytes) -> str | None:
    """The key of a spec by its JSON; None for what is no spec to this lab."""
    try:
        return key(from_json(spec.decode()))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _name(schema: int, spec: bytes) -> str:
    return _sha256(f"{schema}\n".encode() + spec)


def _digest(done: dict) -> str:
    return _sha256(json.dumps(done, sort_keys=True).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
