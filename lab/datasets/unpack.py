"""Compressed files and archives: what is in them is read, never more than it may hold, and nothing of it is run."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

Files = Mapping[str, bytes]
MOST_SKIPPED = 4e9  # bytes, unpacked, of files in an archive that nobody asked for


def plain(files: Files, most: int) -> Files:
    """Files with those that are compressed (.gz) unpacked, and called without the ending.

    Raises ValueError where one has more than `most` bytes, unpacked.

    >>> plain({"a.csv.gz": gzip.compress(b"x,label"), "b.csv": b""}, most=7)
    {'a.csv': b'x,label', 'b.csv': b''}
    """
    return {
        name.removesuffix(".gz"): _gunzip(content, name, most) if name.endswith(".gz") else content
        for name, content in files.items()
    }


def members(archive: Path, paths: tuple[str, ...], most: int) -> list[bytes]:
    """Files of a .whl, .zip, .deb or .tar.gz by their paths inside.

    Raises ValueError where one is absent, or has more than `most` bytes.
    """
    contents = _read(archive, paths, most, len(paths))
    if absent := [path for path in paths if path not in contents]:
        raise ValueError(f"no file {absent[0]} in {archive.name}")
    return [contents[path] for path in paths]


def matching(archive: Path, pattern: str, most: int) -> Files:
    """The files of an archive whose paths match a pattern ("plays/*.md"), by name.

    Raises ValueError where there are none, or one has more than `most` bytes.
    """
    files = {Path(path).name: content for path, content in sorted(_read(archive, (pattern,), most).items())}
    if not files:
        raise ValueError(f"no file {pattern} in {archive.name}")
    return files


def check_zip(content: bytes, most: int) -> None:
    """Raise ValueError where the members of a ZIP file have more than `most` bytes together, unpacked."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        total = sum(member.file_size for member in opened.infolist())
    if total > most:
        raise ValueError(f"its content has {total / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB it can need")


def _read(archive: Path, patterns: tuple[str, ...], most: int, count: int | None = None) -> dict[str, bytes]:
    """Files by their paths. count: how many there are, where that is known."""
    if archive.suffix in (".whl", ".zip"):
        return _of_zip(archive, patterns, most)
    if archive.suffix == ".deb":
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as process:
            try:
                return _of_tar(process.stdout, patterns, most, count)
            finally:
                process.kill()  # it need not unpack the rest
    with archive.open("rb") as file:
        return _of_tar(file, patterns, most, count)


def _fits(path: str, patterns: tuple[str, ...]) -> bool:
    return path in patterns or any(fnmatchcase(path, pattern) for pattern in patterns if "*" in pattern)


def _of_zip(archive: Path, patterns: tuple[str, ...], most: int) -> dict[str, bytes]:
    contents = {}
    with zipfile.ZipFile(archive) as opened:
        for path in (name for name in opened.namelist() if _fits(name, patterns)):
            with opened.open(path) as file:
                contents[path] = _bounded(file, path, most)
    return contents


def _of_tar(file, patterns: tuple[str, ...], most: int, count: int | None) -> dict[str, bytes]:
    contents = {}
    with tarfile.open(fileobj=file, mode="r|*") as opened:
        skipped = 0
        for member in opened:  # a compressed archive unpacks what is skipped, too
            skipped += 0 if _fits(member.name, patterns) else member.size
            if skipped > MOST_SKIPPED:
                raise ValueError(f"more than {MOST_SKIPPED / 1e9:g} GB of other files stand before {patterns[0]}")
            if member.isfile() and _fits(member.name, patterns):
                contents[member.name] = _bounded(opened.extractfile(member), member.name, most)
            if len(contents) == count:
                break
    return contents


def _gunzip(content: bytes, name: str, most: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        return _bounded(file, name, most)


def _bounded(file, name: str, most: int) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{name} unpacks to more than {most / 1e6:,.0f} MB, which is more than it can need")
    return content
