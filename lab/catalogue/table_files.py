"""The tables of a figure as files: plain CSV or packed (`.csv.gz`), held to the digests in their provenance."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from lab.catalogue import provenance_file
from lab.errors import LabError
from lab.temporary import temporary, write

if TYPE_CHECKING:
    import pandas as pd

PACKED = ".gz"
ENDINGS = (".csv", f".csv{PACKED}")
BROKEN = (OSError, EOFError, ValueError, zlib.error)  # what reading a damaged file raises


def contents(tables: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    """The bytes of each table's CSV, by the table's name."""
    return {name: table.to_csv(index=False).encode() for name, table in tables.items()}


def digests(tables: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each table's CSV, by the table's name: `tables` of a provenance.

    >>> digests({"table": b"seed"})["table"][:8]
    '19b25856'
    """
    return {name: sha256(content).hexdigest() for name, content in tables.items()}


def find(folder: Path, name: str = "table") -> Path | None:
    """The file of a table, plain or packed; None where there is none."""
    return next((path for end in ENDINGS if (path := folder / f"{name}{end}").is_file()), None)


def names(folder: Path) -> list[str]:
    """The tables in a folder, by name."""
    return sorted({path.name.partition(".")[0] for end in ENDINGS for path in folder.glob(f"*{end}")})


def read(folder: Path, name: str = "table") -> pd.DataFrame:
    """A table that `lab figure` wrote into ENTRY/SCALE.

    Raises LabError where it is not there, cannot be read, or is not the one that provenance.json tells of.
    """
    import pandas as pd

    again = f"bring it back, or make it again: {_command(folder)}"
    path = find(folder, name)
    if path is None:
        raise LabError(f"{folder} has no {name}.csv; {again}")
    try:
        content = _content(path)
    except BROKEN as error:
        raise LabError(f"{path} cannot be read ({_said(error)}); {again}") from error
    stated = _stated(folder).get(name)
    if stated and sha256(content).hexdigest() != stated:
        raise LabError(f"{path} is damaged or was edited: it has not the SHA-256 of provenance.json; {again}")
    try:
        return pd.read_csv(io.BytesIO(content))
    except ValueError as error:
        raise LabError(f"{path} cannot be read ({_said(error)}); {again}") from error


def digests_of(folder: Path) -> dict[str, str]:
    """Digests of all tables that are in a folder, once each has been found to be whole."""
    for name in names(folder):
        read(folder, name)
    return digests({name: _content(path) for name in names(folder) if (path := find(folder, name))})


def pack(folder: Path) -> None:
    """Pack the tables and the plot of a folder, as they are shipped: a tenth of their size, and pandas reads them.

    The same content gives the same bytes.
    """
    with temporary(folder) as new:
        for path in [*sorted(folder.glob("*.csv")), *folder.glob("figure.json")]:
            packed = new / f"{path.name}{PACKED}"
            write(packed, gzip.compress(path.read_bytes(), 9, mtime=0))
            packed.replace(folder / packed.name)
            path.unlink()


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != PACKED:
        return content
    if not content:  # an empty file unpacks to nothing, without a complaint
        raise EOFError("it is empty")
    return gzip.decompress(content)


def _stated(folder: Path) -> dict[str, str]:
    """Digests of tables, by name; none where nobody noted them."""
    path = folder / "provenance.json"
    if not path.is_file():
        return {}
    return provenance_file.read(path, f"bring it back, or make it again: {_command(folder)}").get("tables", {})


def _command(folder: Path) -> str:
    """What makes the files of ENTRY/SCALE again."""
    return f"lab figure {'/'.join(folder.parts[-3:-1])} --scale {folder.name}"


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())
