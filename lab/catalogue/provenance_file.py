"""provenance.json, with a checksum of its own content: facts that were changed, or a damaged file, are reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from lab.errors import LabError
from lab.nonlinearity.document import checksum

SEAL = "sha256"


def as_json(facts: Mapping[str, object]) -> bytes:
    """What is in provenance.json: the facts, and the SHA-256 of their canonical JSON."""
    facts = {name: value for name, value in facts.items() if name != SEAL}
    return (json.dumps(facts | {SEAL: checksum(facts)}, indent=1, ensure_ascii=False) + "\n").encode()


def read(path: Path, again: str) -> dict:
    """The facts in a provenance.json. Those without a checksum are older than it, and read as they are.

    Raises LabError, which ends with `again`, where it cannot be read, or does not have its checksum.
    """
    try:
        facts = json.loads(path.read_bytes())
        seal = facts.pop(SEAL, None)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise LabError(f"{path} cannot be read ({' '.join(str(error).split())}); {again}") from error
    if seal is not None and seal != checksum(facts):
        raise LabError(f"{path} is damaged or was edited: it does not have its own SHA-256; {again}")
    return facts
