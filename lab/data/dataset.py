"""A data set: its licence, its digest, and where it can come from: its publisher on the web, OpenML, a package archive
that carries it, or the interpreter.

Archives are downloaded from where the package manager is configured to look; they are read, and never installed, built
or run. A source that cannot be had says so with a `SourceError`.
"""

import hashlib
import platform
import subprocess
import sysconfig
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lab.data.convert import benchmark_table
from lab.data.download import Files, SourceError, download, matching, members, package_file, short, unpacked
from lab.data.shape import Arrays, ImageShape, TableShape, TextShape
from lab.data.texts import as_bytes, without_comments

SECONDS = 600  # that a package manager may take
CLOSED = "no open licence stated: not to be passed on"
# SHA-256 of the content that each data set must have (`lab.data.convert.digest`), where it is known
DIGESTS = {
    "mnist": "25b1a379d0a35342a5fb605ae7092594efeb1d484ce10bc5a55be448befd58ab",
    "fashion_mnist": "2eec74045003bb5cc54c46331f8c48f77611acac295f1d863e16fbd263546563",
    "cifar10_4k1k": "4cbc74d22ae5fbba1a479f3a901188bb766d302fd07c78924a4ab6f63347c008",
    "mnist_sample": "3ca21d79b6e5e1f8bf9a3a6d333b1e28b736f6edc5f81c4f7abcb8720040a44a",
    "fashion_mnist_sample": "a4ae3c0050e07bc52bdec65f808bd4f4f4d5fb38864da523a3abd32843b760fe",
    "credit": "1d674bd1455b3b38edb4a937d8130fb663a3c3996f653b28bb1da299058551f5",
    "covertype": "aff65a97c1e5f20a8aa59d3d267f84e317edd1b574b8d24dc0aab615a66dc155",
    "house_16H": "99f60d436f70e57951072c05c93d7162e7551cb065aa780f3b006bdb9f0e85c8",
    "MagicTelescope": "11bff068dc30b9a6897f6714997314b48e293b682f33a3bf6a49e4d38efe0860",
    "bank-marketing": "c894dcd59eb1c151f1a97df2acf81dd95c0a4c204c512a7fc828efce7e1e6c36",
    "eye_movements": "e57fb85ce29ed9512af55cac1247be1eb5ad863231d8094bb5fa65399862c323",
    "Diabetes130US": "2077e2bf84b459bb605fa589af777ee181aba29d197281d88726dd549e40183f",
    "default-of-credit-card-clients": "97f9fdff9425caf57763edbf66a97e23366e927d628e2ddfa092211759701ffa",
    "california": "a03e026698a2b1fe09cc182c8d44717e7476b32c12833aa02542cd812625ee14",
    "heloc": "c4c9e1985ce1fc6a80d28eff6169054316e59419bc292aa43c18b8580f4754cd",
    "covertype_sample": "41ef3c08c73af8afd03b1bccc11246ca9e15cb821fecdfb6e8b31e572a77b851",
    "shakespeare": "1d8d43407a4e6c362d696365e10e41fbf7dbc093dd23dce211111208032191be",
    "tinyshakespeare": "be8af160b8c359054fcd037f8fc3fb6d8697d3cf239f8f481eeda1895380fa36",
    "moby_dick": "8a33333af6e524eeb6b9fb7b3f14514a0e98f8043ab406f70fc5a312ec180d36",
    "gpt2_merges": "5330df6a873ce8b550811d27a7692f66ec265cfec40a24aebeb36e20ff219b32",
    "state_of_the_union": "697183ed2f6414f97273932d586944235da75580b72b3556f9e2eef7d61195b8",
    "tinystories_train_2mb": "701939e926aeaad779b534ec8cd2757a586032ec9c0d69ac6c086b389e943905",
    "blimp": "a81c5731523451efd9e01c43b88631b7a44211f2e023a5b6dc9802f69a0a0a36",
}


@dataclass(frozen=True)
class Web:
    """Files below one https address. sha256: by member, where the publisher or others state it."""

    base: str
    members: tuple[str, ...]
    read: Callable[[Files], Arrays]
    sha256: dict[str, str] = field(default_factory=dict, hash=False)

    def describe(self) -> str:
        return self.base

    def files(self, folder: Path, most: int) -> Files:
        """Download, compare digests, unpack."""
        contents = {}
        for name in self.members:
            contents[name] = download(self.base + name, most)
            digest, expected = hashlib.sha256(contents[name]).hexdigest(), self.sha256.get(name)
            if expected not in (None, digest):
                raise SourceError(f"{self.base}{name} has SHA-256 {digest[:12]}…, not {expected[:12]}…: not used")
        return unpacked(contents, most)


@dataclass(frozen=True)
class OpenML:
    """A data set of OpenML by its number, and the name it must have there; its label is the last column."""

    number: int
    name: str
    read: Callable[[Files], Arrays] = benchmark_table
    members: tuple[str, ...] = ()

    def describe(self) -> str:
        return f"OpenML {self.number}"

    def files(self, folder: Path, most: int) -> Files:
        """Download, as CSV. scikit-learn reads the table before its size can be compared with `most`."""
        from sklearn.datasets import fetch_openml

        options = {"as_frame": True, "parser": "pandas", "n_retries": 1, "delay": 0.1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of network errors and of columns with one value
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
        return f"{self.tool} archive {self.package} {self.version}"

    def command(self) -> list[str]:
        """What downloads the archive into the current folder, where no index of Python packages has it."""
        if self.tool == "npm":
            return ["npm", "pack", "--silent", "--ignore-scripts", f"{self.package}@{self.version}"]
        return ["apt-get", "download", "-qq", f"{self.package}={self.version}"]

    def files(self, folder: Path, most: int) -> Files:
        """Download, compare digests, read the members."""
        folder = Path(tempfile.mkdtemp(dir=folder))
        if self.tool == "pip":
            try:
                archive = package_file(self.package, self.version, self.sha256, folder)
            except SourceError as error:
                raise SourceError(f"{self.describe()}: {error}") from error
        else:
            archive = self._by_command(folder)
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.sha256:
            raise SourceError(f"{self.describe()} has SHA-256 {digest[:12]}…, not {self.sha256[:12]}…: not used")
        return self.unpack(archive, most)

    def unpack(self, archive: Path, most: int) -> Files:
        try:
            if self._pattern:
                return matching(archive, self._pattern, most)
            content = members(archive, self.paths, most)
            return unpacked(dict(zip(self.members, content, strict=True)), most)
        except Exception as error:  # what zipfile, tarfile, zlib, lzma and dpkg-deb raise at what is no archive
            raise SourceError(f"{self.describe()} cannot be read: {short(error)}") from error

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


@dataclass(frozen=True)
class OwnFiles:
    """A publisher's files where a user has them."""

    members: tuple[str, ...]
    read: Callable[[Files], Arrays]

    def describe(self) -> str:
        return " + ".join(self.members)

    def files(self, folder: Path, most: int) -> Files:
        raise SourceError(f"{self.describe()}: only from the folder LAB_DATA")


# Each has `members`, the names of the files that it gives (a user's own copies of them will do as well); `read`, which
# makes arrays of them; `describe`, where that is; and `files`, the members' content from afar. folder: for what is not
# finished; most: bytes of one, unpacked.
Source = Web | OpenML | Archive | OwnFiles


@dataclass(frozen=True)
class Interpreter:
    """The standard library of the Python that runs: the modules that are files and no packages, ordered by name.

    >>> Interpreter().folder.is_dir()
    True
    """

    @property
    def folder(self) -> Path:
        return Path(sysconfig.get_paths()["stdlib"])

    @property
    def version(self) -> str:
        """That of the interpreter: another one has other text."""
        return platform.python_version()

    def describe(self) -> str:
        return f"the standard library of Python {self.version}"

    def read(self) -> Arrays:
        """Their code, without comments and docstrings. Takes a few seconds."""
        modules = sorted(self.folder.glob("*.py"))
        return {"text": as_bytes(without_comments(path.read_text(encoding="utf-8")) for path in modules)}


@dataclass(frozen=True)
class Dataset:
    """One data set. shape: what its arrays must have (`str` says it in words); megabytes: to download, about."""

    name: str
    about: str
    shape: TableShape | ImageShape | TextShape
    licence: str
    megabytes: float
    sources: tuple[Source, ...] = ()
    sample_of: str = ""  # where it is a part of another set, which `lab.data.convert.sample` takes
    installed: Interpreter | None = None  # where every machine that runs the lab has it

    @property
    def kind(self) -> str:
        """Of its shape: "table", "images", "text", "tokens", "pairs" or "sentences"."""
        return self.shape.kind

    @property
    def digest(self) -> str | None:
        """SHA-256 that its content has (`lab.data.convert.digest`), where it is known."""
        return DIGESTS.get(self.name)

    @property
    def files(self) -> tuple[tuple[str, ...], ...]:
        """Sets of files, any of which satisfies it in the folder that LAB_DATA names (compressed with gzip or not).
        Several files may be in one ZIP file."""
        sets: tuple[tuple[str, ...], ...] = ((f"{self.name}.npz",),)
        if self.kind == "text":
            sets = ((f"{self.name}.txt",), *sets)
        given = tuple(dict.fromkeys(source.members for source in self.sources if source.members))
        zipped = any(len(members) > 1 for members in given)
        return (*sets, *given, (f"{self.name}.zip",)) if zipped else (*sets, *given)
