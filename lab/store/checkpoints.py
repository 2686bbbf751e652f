"""The state of a fleet in training, in a file named by the keys of its runs: a digest, then tensors with the specs."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from lab.files import read, sync, temporary
from lab.spec import FineTuning, RunSpec, Search, from_json, key, to_json
from lab.store import objects

Spec = RunSpec | FineTuning | Search
MOST_HEADER = 100_000_000  # bytes, as safetensors has it
COURSE = "course: "  # before the names of a course's tensors among those of a fleet's state


def name_of(specs: Sequence[Spec]) -> str:
    """The name of a fleet's state."""
    return hashlib.sha256("\n".join(key(spec) for spec in specs).encode()).hexdigest()


def keep(path: Path, specs: Sequence[Spec], tensors: dict[str, Tensor]) -> None:
    """Write the state of a fleet, in place of the state before."""
    members = {"specs": json.dumps([to_json(spec) for spec in specs])}
    data = save_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, members)
    objects.put(path, hashlib.sha256(data).digest() + data)


def load(path: Path) -> dict[str, Tensor] | None:
    """A state, or None where it is missing or damaged."""
    data = whole(path)
    return None if data is None else load_tensors(data)


def remove(path: Any, damaged: bool = False) -> bool:
    """Remove a state: whether it went. damaged: unless it is whole by now, because its training has written it again,
    and then it stays. In a bucket it goes in any case: an object has no second name under which it could be looked at.
    """
    if not damaged or objects.in_bucket(path):
        objects.remove(path)
        return True
    goes = False
    with temporary(path.parent) as place, suppress(FileNotFoundError):  # another process was faster
        gone = place / path.name
        path.rename(gone)  # at once: what is written from here on is another file
        try:
            goes = whole(gone) is None
        finally:
            if not goes and not path.exists():  # it is whole, or cannot be read now
                gone.rename(path)
            sync(path.parent)
    return goes


def members(path: Path) -> tuple[Spec, ...] | None:
    """The specs of a fleet's state; None where it is damaged, or from another version of the lab."""
    return specs_of(_beginning(path) if objects.in_bucket(path) else whole(path), path.name)


def specs_of(data: bytes | None, name: str) -> tuple[Spec, ...] | None:
    """As `members`, of what `whole` gives, under this name."""
    if data is None:
        return None
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])  # safetensors: length, then JSON
        specs = tuple(cast(Spec, from_json(text)) for text in json.loads(header["__metadata__"]["specs"]))
        return specs if name_of(specs) == name else None
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def number_kept(path: Path, before: str = "") -> int | None:
    """How many checkpoints a course has, or a state keeps (before: COURSE), by the first bytes alone; None where there
    are none. The rest may be large: `load` says whether it is damaged."""
    try:
        start = 40 + int.from_bytes(objects.read(path, 40)[32:], "little")
        first, end = json.loads(_first(path, start)[40:])[f"{before}keep"]["data_offsets"]
        return int.from_bytes(_first(path, start + end)[start + first :], "little")
    except (FileNotFoundError, NotADirectoryError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _first(path: Path, end: int) -> bytes:
    if not 0 <= end < MOST_HEADER:
        raise ValueError(f"{end} bytes are no header's")
    return objects.read(path, end)


def is_state(path: Any) -> bool:
    """Whether a file begins as states do: a digest, then safetensors' length and JSON, one of which may be damaged."""
    try:
        data = objects.read(path, 41)
    except FileNotFoundError:
        return False
    return data[40:41] == b"{" or 0 < int.from_bytes(data[32:40], "little") < MOST_HEADER


def whole(path: Path) -> bytes | None:
    """What was written, if the digest before it is its own. OSError, if it cannot be read: no reason to start over."""
    data = read(path)
    return None if data is None or hashlib.sha256(data[32:]).digest() != data[:32] else data[32:]


def _beginning(path: Any) -> bytes | None:
    """The header of a state in a bucket, where nothing is half written; the rest may be large, and far away."""
    try:
        length = objects.read(path, 40)[32:]
        return objects.read(path, 40 + int.from_bytes(length, "little"))[32:]
    except FileNotFoundError:
        return None
