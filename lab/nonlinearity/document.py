"""A JSON file that names its schema and carries a checksum of everything else in it: functions and their provenance.

Files without a schema are older than it; they are read as they are. The object is canonical JSON (sorted keys, no
spaces) when its SHA-256 is taken, so that only its content counts and not how it is laid out.
"""

import hashlib
import json
from pathlib import Path

from lab.errors import ArgumentError, LabError, check_type, shortened, shown
from lab.files import put

SCHEMA = 1  # raise it when a lab of today would misread a file of tomorrow


def write(path: str | Path, document: dict) -> None:
    """Write a document that JSON can say, whole or not at all. Raises OSError where that fails."""
    sealed = document | {"schema": SCHEMA}
    put(Path(path), json.dumps(sealed | {"sha256": checksum(sealed)}).encode())


def read(path: str | Path) -> dict:
    """The document as it was written. Raises LabError for a newer schema or damage, ValueError for what is none."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise ValueError("no JSON object")
    schema = document.get("schema", 0)
    if not isinstance(schema, int) or schema < 0:
        raise ValueError(f"schema {schema!r}")
    if schema > SCHEMA:
        raise LabError(f"{path} has schema {schema}, this lab reads up to {SCHEMA}: update the lab to read it")
    seal = document.pop("sha256", None)
    if (schema or seal) and seal != checksum(document):
        said = f"{path} is damaged, or was edited: its content does not have its checksum"
        raise LabError(f"{said}; bring back the file as it was, or write it anew with Spline.save")
    return document


def checksum(document: dict) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal; keys that are numbers count as the text that they are in JSON."""
    document = json.loads(json.dumps(document))
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check(name: str, facts: dict) -> None:
    """Raise ArgumentError for facts that are no dict, or that JSON cannot say. name: of the argument."""
    check_type(name, facts, dict, "a dict of facts")
    try:
        json.dumps(facts)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}={shown(facts)}: give what JSON can say ({shortened(str(error))})") from error
