"""Results of a figure in a folder: tables and provenance.json, plain or packed, each held to its checksum; and a
picture's note of where it is from: in a PNG a text chunk, in an SVG its metadata, in a PDF its metadata (XMP).

The note has the entry and scale, the command, the lab's commit, the digests of the tables that were drawn and of the
runs' keys, and a SHA-256 of note and picture together, by which a picture that was edited or relabelled is known.
"""

from __future__ import annotations

import gzip
import html
import io
import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import pandas as pd

from lab.errors import LabError
from lab.files import put
from lab.nonlinearity.document import checksum
from lab.papers.entry import Entry

PACKED = ".gz"
PROVENANCE = "provenance.json"
BROKEN = (OSError, EOFError, ValueError, zlib.error)  # what reading a damaged file raises
SEAL = "sha256"  # of provenance.json, and of a note: the digest of its other facts
FORMER = {  # methods as tables of earlier versions name them
    "ours MLP": "learned MLP",
    "ours attention": "learned attention",
    "ours MLP + attention": "learned MLP + attention",
    "GELU + ours MLP": "learned MLP from GELU",
    "ALiBi + ours MLP": "ALiBi + learned MLP",
    "GLU/ours": "GLU/learned",
    "ours, M = 1": "learned (M = 1)",
    "ours, M = 6": "learned (M = 6)",
}


@dataclass(frozen=True)
class Results:
    """Results of an entry at a scale, as `lab figure` writes them.

    folder: ENTRY/SCALE, which need not be there. What is read raises LabError where it is missing or damaged.
    """

    folder: Path

    @property
    def files(self) -> dict[str, Path]:
        """The tables that are here, plain before packed ones, by name: "table", for some "curves" or "functions"."""
        paths = (path for end in (PACKED, "") for path in self.folder.glob(f"*.csv{end}"))
        return dict(sorted({path.name.partition(".")[0]: path for path in paths}.items()))

    @cached_property
    def facts(self) -> dict:
        """The provenance; empty where there is none. One without a checksum is older than it, and read as it is."""
        path = self.folder / PROVENANCE  # the plain file before the packed one
        if not path.is_file() and not (path := path.with_name(f"{PROVENANCE}{PACKED}")).is_file():
            return {}
        try:
            facts = json.loads(_content(path))
            seal = facts.pop(SEAL, None)
        except (*BROKEN, AttributeError, TypeError, RecursionError) as error:
            raise self._unreadable(path, error) from error
        if seal is not None and seal != checksum(facts):
            raise LabError(f"{path} is damaged or was edited: it does not have its own SHA-256; {self._again}")
        return facts

    def table(self, name: str = "table") -> pd.DataFrame:
        """A table that is the one that the provenance tells of, if there is a provenance; with today's names of
        methods, whichever version wrote it."""
        path = self.files.get(name)
        if path is None:
            raise LabError(f"{self.folder} has no {name}.csv; {self._again}")
        stated = self.facts.get("tables", {})
        try:
            content = _content(path)
            if name in stated and sha256(content).hexdigest() != stated[name]:
                said = f"{path} is damaged or was edited: it has not the SHA-256 of provenance.json"
                raise LabError(f"{said}; {self._again}")
            table = pd.read_csv(io.BytesIO(content))
            return table.replace({"method": FORMER}) if "method" in table else table
        except BROKEN as error:
            raise self._unreadable(path, error) from error

    def digests(self) -> dict[str, str]:
        """Digests of all tables that are here; a damaged one raises."""
        for name in self.files:
            self.table(name)
        return digests({name: _content(path) for name, path in self.files.items()})

    def tasks(self, entry: Entry) -> tuple[str, ...]:
        """The tasks of the entry that the results show: all of them, or those that the provenance names; none where
        there are no results."""
        if not self.facts and "table" not in self.files:
            return ()
        shown = self.facts.get("tasks", entry.tasks)
        return tuple(task for task in entry.tasks if task in shown)

    @property
    def _again(self) -> str:
        name = "/".join(self.folder.parts[-3:-1])
        return f"bring it back, or make it again: lab figure {name} --scale {self.folder.name}"

    def _unreadable(self, path: Path, error: Exception) -> LabError:
        return LabError(f"{path} cannot be read ({' '.join(str(error).split())}); {self._again}")


def contents(tables: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    """The bytes of each table's CSV, by the table's name."""
    return {name: table.to_csv(index=False).encode() for name, table in tables.items()}


def digests(tables: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each table's CSV, by the table's name: `tables` of a provenance.

    >>> digests({"table": b"seed"})["table"][:8]
    '19b25856'
    """
    return {name: sha256(content).hexdigest() for name, content in tables.items()}


def every(folder: Path) -> list[Results]:
    """All results below a folder, PAPER/FIGURE/SCALE, that have a provenance."""
    return [Results(path) for path in sorted({path.parent for path in folder.glob(f"*/*/*/{PROVENANCE}*")})]


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != PACKED:
        return content
    if not content:  # an empty file unpacks to nothing, without a complaint
        raise EOFError("it is empty")
    return gzip.decompress(content)


def pack(folder: Path) -> None:
    """Pack the tables, the plot and the provenance of a folder, as they are shipped: pandas reads packed tables.

    The same content gives the same bytes.
    """
    for path in [*sorted(folder.glob("*.csv")), *folder.glob("*.json")]:
        put(folder / f"{path.name}{PACKED}", gzip.compress(path.read_bytes(), 9, mtime=0))
        path.unlink()


def sealed(facts: Mapping[str, object]) -> bytes:
    """The content of provenance.json: the facts, and the SHA-256 of their canonical JSON."""
    facts = {name: value for name, value in facts.items() if name != SEAL}
    return (json.dumps(facts | {SEAL: checksum(facts)}, indent=1, ensure_ascii=False) + "\n").encode()


PDF = b"%PDF-"
HEAD = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"lab:figure"
NOTE = re.compile(rb'<metadata id="lab-figure">(.*?)</metadata>', re.DOTALL)
FIELDS = {"entry": str, "scale": str, "command": str, "lab": str, "seeds": int, "runs": str, "tables": dict}
FIELDS |= {"tasks": list, "seeds_asked": int}  # which a note has where not all of a figure was asked for
FIELDS |= {"format": str, "width": str}  # and these, where they were asked for
UPDATE = b"\n% lab:figure\n"  # in a PDF, before what is added at its end
XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF \
xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:lab="urn:lab:">\
<lab:figure>{}</lab:figure></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="r"?>"""


def note(facts: Mapping, **look: str) -> dict:
    """What a picture carries of a figure's provenance, which names its tables' digests. look: format and width."""
    versions, asked = facts["versions"], {name: facts[name] for name in ("tasks", "seeds_asked") if name in facts}
    command = f"lab figure {facts['entry']} --scale {facts['scale']}"
    command += f" --tasks {','.join(asked['tasks'])}" if "tasks" in asked else ""
    command += f" --seeds {asked['seeds_asked']}" if "seeds_asked" in asked else ""
    command += "".join(f" --{name} {value}" for name, value in look.items())
    return asked | {
        "entry": facts["entry"],
        "scale": facts["scale"],
        "command": command,
        "lab": versions.get("lab_commit", versions["lab"]),
        "seeds": len(facts["seeds"]),
        "runs": runs_digest(facts),
        "tables": facts["tables"],
        **look,
    }


def runs_digest(facts: Mapping) -> str:
    """SHA-256 of the keys of a figure's runs."""
    return sha256("\n".join(sorted(facts["runs"])).encode()).hexdigest()


def with_note(content: bytes, stated: Mapping) -> bytes:
    """A PNG, SVG or PDF with this note, in place of the one that it has."""
    bare, _ = split(content)
    said = dict(stated) | {SEAL: checksum({"note": dict(stated), "picture": sha256(bare).hexdigest()})}
    text = json.dumps(said, separators=(",", ":")).encode()
    if bare.startswith(PDF):
        return _updated(bare, XMP.format(html.escape(text.decode(), quote=False)).encode())
    if not bare.startswith(HEAD):
        start = bare.index(b">", bare.index(b"<svg")) + 1
        written = html.escape(text.decode(), quote=False).encode()
        return bare[:start] + b'<metadata id="lab-figure">' + written + b"</metadata>" + bare[start:]
    kind = b"iTXt" + KEYWORD + bytes(5) + text  # neither packed, nor in a language
    chunk = struct.pack(">I", len(kind) - 4) + kind + struct.pack(">I", zlib.crc32(kind))
    first = len(HEAD) + 25  # after the header, which every PNG begins with
    return bare[:first] + chunk + bare[first:]


def _updated(bare: bytes, metadata: bytes) -> bytes:
    """A PDF with metadata, added at its end: readers take what stands there in place of what it had."""
    trailer = bare[bare.rindex(b"trailer") :]
    start = int(trailer[trailer.rindex(b"startxref") :].split()[1])
    root, count = (int(re.findall(rb"/%s (\d+)" % name, trailer)[0]) for name in (b"Root", b"Size"))
    catalogue = re.findall(rb"(?s)\s%d 0 obj\s*<<(.*?)>>\s*endobj" % root, bare)[0]
    objects = [b"%d 0 obj\n<<%s\n/Metadata %d 0 R>>\nendobj\n" % (root, catalogue, count)]
    head = b"%d 0 obj\n<</Type /Metadata /Subtype /XML /Length %d>>\nstream\n" % (count, len(metadata))
    objects.append(head + metadata + b"\nendstream\nendobj\n")
    first = len(bare) + len(UPDATE)
    second = first + len(objects[0])
    table = b"xref\n%d 1\n%010d 00000 n \n%d 1\n%010d 00000 n \n" % (root, first, count, second)
    ends = b"trailer\n<</Size %d /Root %d 0 R /Prev %d>>\nstartxref\n%d\n%%%%EOF\n"
    return bare + UPDATE + b"".join(objects) + table + ends % (count + 1, root, start, second + len(objects[1]))


def split(content: bytes) -> tuple[bytes, bytes | None]:
    """A PNG, SVG or PDF without its note, and the note. ValueError where it is none of them."""
    if content.startswith(PDF):
        before, _, update = content.rpartition(UPDATE)
        match = re.search(b"<lab:figure>(.*?)</lab:figure>", update, re.DOTALL)
        return (before, html.unescape(match[1].decode()).encode()) if before and match else (content, None)
    if not content.startswith(HEAD):
        if b"<svg" not in content[:1000]:
            raise ValueError("it is neither PNG nor SVG nor PDF")
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


def read_note(path: str | Path) -> tuple[dict, bool]:
    """The note of a picture, and whether note and picture are as they were written.

    Raises LabError where the file cannot be read, or has no note of the lab's.
    """
    try:
        content = Path(path).read_bytes()
        _, text = split(content)
        stated = {} if text is None else json.loads(text)
        stated.pop(SEAL, None)
        values = {"tasks": [], "seeds_asked": 1, "format": "", "width": ""} | stated
        known = all(isinstance(values.get(name), kind) for name, kind in FIELDS.items())
        texts = [value for name, value in values.items() if FIELDS.get(name) is str]
        known = known and all(isinstance(text, str) and text.isprintable() for text in [*texts, *values["tasks"]])
        whole = known and with_note(content, stated) == content  # not a byte more or less than the lab writes
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        said = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise LabError(f"{path} cannot be read as a picture of the lab ({said})") from error
    if not known:
        raise LabError(f"{path} has no note of where it is from; programs that save a picture anew leave it out")
    return stated, whole
