"""Token files in the format of the NanoGPT speedrun: a header of 256 32-bit numbers, then tokens of 16 bits.

The header begins with a mark, the version of the format and the number of tokens. Files are mapped into memory: one of
10 GB costs none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from lab.datasets.shape import Arrays
from lab.datasets.unpack import Files
from lab.errors import LabError

MARK, VERSION, HEADER = 20240520, 1, 256
MOST = 1 << 16  # tokens that 16 bits tell apart


def write(path: Path, parts: Iterable[np.ndarray]) -> int:
    """Write parts of a token file one after the other, each (N,) below 65,536; gives the number of all tokens."""
    count = 0
    with path.open("wb") as file:
        np.zeros(HEADER, "<i4").tofile(file)
        for part in parts:
            part.astype("<u2").tofile(file)
            count += len(part)
        header = np.zeros(HEADER, "<i4")
        header[:3] = MARK, VERSION, count
        file.seek(0)
        header.tofile(file)
    return count


def mapped(path: Path) -> np.ndarray:
    """The tokens of a file, (N,) uint16, read as they are asked for. LabError, one line, for another format."""
    try:
        size = path.stat().st_size
        header = np.fromfile(path, "<i4", HEADER)
    except OSError as error:
        raise LabError(f"{path} cannot be read ({error.strerror}); give a token file") from error
    count = _count(header, size, str(path))
    return np.memmap(path, "<u2", "r", 4 * HEADER, (count,))


def parts(files: Files, names: Mapping[str, str]) -> Arrays:
    """Token files that are parts of one text: names, by part, of its file. Arrays of uint16."""
    tokens = {}
    for part, name in names.items():
        header = np.frombuffer(files[name], "<i4", min(HEADER, len(files[name]) // 4))
        tokens[part] = np.frombuffer(files[name], "<u2", _count(header, len(files[name]), name), 4 * HEADER)
    return tokens


def _count(header: np.ndarray, size: int, path: str) -> int:
    """How many tokens a file of `size` bytes has; LabError for another format."""
    if len(header) < HEADER or header[0] != MARK:
        raise LabError(f"{path} is no token file: it does not begin with {MARK}; give one in the speedrun's format")
    if header[1] != VERSION:
        raise LabError(f"{path} has version {header[1]} of the format, and version {VERSION} is known; convert it")
    count = int(header[2])
    if count < 1 or size != 4 * HEADER + 2 * count:
        tokens = (size - 4 * HEADER) // 2
        raise LabError(f"{path} says that it has {count:,} tokens, and has {tokens:,}; fetch it again")
    return count
