"""A picture's note of where it is from: in a PNG a text chunk, in an SVG its metadata, and read back.

The note has the entry and scale, the command, the lab's commit, the digests of the tables that were drawn and of the
runs' keys, and a SHA-256 of note and picture together, by which a picture that was edited or relabelled is known.
"""

import html
import json
import re
import struct
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from lab.errors import LabError
from lab.nonlinearity.document import checksum

HEAD = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"lab:figure"
NOTE = re.compile(rb'<metadata id="lab-figure">(.*?)</metadata>', re.DOTALL)
SEAL = "sha256"
FIELDS = {"entry": str, "scale": str, "command": str, "lab": str, "seeds": int, "runs": str, "tables": dict}
FIELDS |= {"tasks": list, "seeds_asked": int}  # which a note has where not all of a figure was asked for


def note(facts: Mapping) -> dict:
    """What a picture carries of a figure's provenance, which names its tables' digests."""
    versions, asked = facts["versions"], {name: facts[name] for name in ("tasks", "seeds_asked") if name in facts}
    command = f"lab figure {facts['entry']} --scale {facts['scale']}"
    command += f" --tasks {','.join(asked['tasks'])}" if "tasks" in asked else ""
    command += f" --seeds {asked['seeds_asked']}" if "seeds_asked" in asked else ""
    return asked | {
        "entry": facts["entry"],
        "scale": facts["scale"],
        "command": command,
        "lab": versions.get("lab_commit", versions["lab"]),
        "seeds": len(facts["seeds"]),
        "runs": runs_digest(facts),
        "tables": facts["tables"],
    }


def runs_digest(facts: Mapping) -> str:
    """SHA-256 of the keys of a figure's runs."""
    return sha256("\n".join(sorted(facts["runs"])).encode()).hexdigest()


def with_note(content: bytes, stated: Mapping) -> bytes:
    """A PNG or SVG with this note, in place of the one that it has."""
    bare, _ = split(content)
    said = dict(stated) | {SEAL: _seal(bare, stated)}
    text = json.dumps(said, separators=(",", ":")).encode()
    if not bare.startswith(HEAD):
        start = bare.index(b">", bare.index(b"<svg")) + 1
        written = html.escape(text.decode(), quote=False).encode()
        return bare[:start] + b'<metadata id="lab-figure">' + written + b"</metadata>" + bare[start:]
    kind = b"iTXt" + KEYWORD + bytes(5) + text  # neither packed, nor in a language
    chunk = struct.pack(">I", len(kind) - 4) + kind + struct.pack(">I", zlib.crc32(kind))
    first = len(HEAD) + 25  # after the header, which every PNG begins with
    return bare[:first] + chunk + bare[first:]


def split(content: bytes) -> tuple[bytes, bytes | None]:
    """A PNG or SVG without its note, and the note. ValueError where it is neither."""
    if not content.startswith(HEAD):
        if b"<svg" not in content[:1000]:
            raise ValueError("it is neither PNG nor SVG")
        match = NOTE.search(content)
        if match is None:
            return content, None
        return content[: match.start()] + content[match.end() :], html.unescape(match[1].decode()).encode()
    bare, text, place = [HEAD], None, len(HEAD)
    while place < len(content):
        size = int.from_bytes(content[place : place + 4], "big") + 12
        chunk = content[place : place + size]
        if len(chunk) < size:
            raise ValueError("it ends in the middle")
        if chunk[4:].startswith(b"iTXt" + KEYWORD):
            text = chunk[8 + len(KEYWORD) + 5 : -4]
        else:
            bare.append(chunk)
        place += size
    return b"".join(bare), text


def read(path: str | Path) -> tuple[dict, bool]:
    """The note of a picture, and whether note and picture are as they were written.

    Raises LabError where the file cannot be read, or has no note of the lab's.
    """
    try:
        bare, text = split(Path(path).read_bytes())
        stated = {} if text is None else json.loads(text)
        seal = stated.pop(SEAL, None)
        values = {"tasks": [], "seeds_asked": 1} | stated
        known = all(isinstance(values.get(name), kind) for name, kind in FIELDS.items())
        texts = [value for name, value in values.items() if FIELDS.get(name) is str]
        known = known and all(isinstance(text, str) and text.isprintable() for text in [*texts, *values["tasks"]])
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise LabError(f"{path} cannot be read as a picture of the lab ({' '.join(str(error).split())})") from error
    if not known:
        raise LabError(f"{path} has no note of where it is from; programs that save a picture anew leave it out")
    return stated, seal == _seal(bare, stated)


def _seal(bare: bytes, stated: Mapping) -> str:
    return checksum({"note": dict(stated), "picture": sha256(bare).hexdigest()})
