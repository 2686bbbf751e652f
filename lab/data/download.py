"""Files from afar: over https alone, out of the indexes that pip is configured with, and out of archives.

What is read never has more than it may hold, and nothing of it is built, installed or run. (pip itself runs a source
package's `setup.py` when it downloads one.)
"""

import ast
import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import url2pathname

from lab.errors import LabError
from lab.files import put

Files = Mapping[str, bytes]
PIECE = 1 << 16  # bytes
SECONDS = 30  # that a server may be silent
MOST_SKIPPED = 4e9  # bytes, unpacked, of files in an archive that nobody asked for
DEFAULT = "https://pypi.org/simple"
LISTING = 20_000_000  # bytes of a page that lists the files of a package
LARGEST = 200_000_000  # bytes of a package
SECTIONS = ("global", "download", ":env:")  # of pip's configuration; a later one wins


class SourceError(LabError):
    """A source cannot be had, or what it gave is not what it should be."""


def download(address: str, most: int) -> bytes:
    """The content of a file. SourceError where it cannot be had, or has more than `most` bytes."""
    return follow(address, most)[0]


def follow(address: str, most: int, certificates: str | None = None) -> tuple[bytes, str]:
    """As `download`, with the address at which it ended. certificates: a file with those to trust, besides what
    REQUESTS_CA_BUNDLE names."""
    import requests
    from urllib3.exceptions import HTTPError

    place = plain_address(address)
    if urlsplit(address).scheme != "https":
        raise SourceError(f"{place}: only https is used")
    with requests.Session() as session:
        session.adapters.pop("http://")  # nor is a redirection to it followed
        if certificates:
            session.verify = certificates
        try:
            # not encoded for the way: a file that is compressed arrives as it is stored, and the limit counts its bytes
            headers = {"Accept-Encoding": "identity"}
            with session.get(address, stream=True, timeout=SECONDS, headers=headers) as answer:
                if not answer.ok:
                    raise SourceError(f"{place}: the server answers {answer.status_code} {answer.reason}")
                return _content(answer, place, most), answer.url
        except requests.exceptions.InvalidSchema as error:
            raise SourceError(f"{place}: leads to an address without https, which is not used") from error
        except requests.exceptions.SSLError as error:
            raise SourceError(f"{place}: the server's certificate is not trusted ({short(error)[-60:]})") from error
        except requests.exceptions.Timeout as error:
            raise SourceError(f"{place}: no answer for {SECONDS} seconds") from error
        except requests.exceptions.ConnectionError as error:
            raise SourceError(f"{place}: cannot be reached") from error
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            raise SourceError(f"{place}: {short(error)}") from error


def _content(answer, place: str, most: int) -> bytes:
    from tqdm import tqdm

    stated = answer.headers.get("Content-Length", "")
    total = int(stated) if stated.isdecimal() and len(stated) < 20 else None
    content = io.BytesIO()
    bar = tqdm(total=total, unit="B", unit_scale=True, desc=place.rpartition("/")[2], disable=not sys.stderr.isatty())
    with bar:
        for piece in answer.raw.stream(PIECE, decode_content=False):
            content.write(piece)
            bar.update(len(piece))
            if max(content.tell(), total or 0) > most:
                raise SourceError(f"{place}: more than {most / 1e6:,.0f} MB, which is more than it can need")
    return content.getvalue()


def plain_address(address: str) -> str:
    """An address without a user's name and password, which belong in no message.

    >>> plain_address("https://me:secret@example.org/simple/")
    'https://example.org/simple/'
    """
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def short(error: BaseException) -> str:
    """An error of a library in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "…"


def unpacked(files: Files, most: int) -> Files:
    """Files with those that are compressed (.gz) unpacked, and called without the ending.

    Raises ValueError where one has more than `most` bytes, unpacked.

    >>> unpacked({"a.csv.gz": gzip.compress(b"x,label"), "b.csv": b""}, most=7)
    {'a.csv': b'x,label', 'b.csv': b''}
    """
    contents = {}
    for name, content in files.items():
        if name.endswith(".gz"):
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
                content = bounded(file, name, most)
        contents[name.removesuffix(".gz")] = content
    return contents


def members(archive: Path, paths: tuple[str, ...], most: int) -> list[bytes]:
    """Files of a .whl, .zip, .deb or .tar.gz by their paths inside.

    Raises ValueError where one is absent, or has more than `most` bytes.
    """
    contents = _members(archive, paths, most, len(paths))
    if absent := [path for path in paths if path not in contents]:
        raise ValueError(f"no file {absent[0]} in {archive.name}")
    return [contents[path] for path in paths]


def matching(archive: Path, pattern: str, most: int) -> Files:
    """The files of an archive whose paths match a pattern ("plays/*.md"), by name.

    Raises ValueError where there are none, or one has more than `most` bytes.
    """
    files = {Path(path).name: content for path, content in sorted(_members(archive, (pattern,), most).items())}
    if not files:
        raise ValueError(f"no file {pattern} in {archive.name}")
    return files


def check_zip(content: bytes, most: int) -> None:
    """Raise ValueError where the members of a ZIP file have more than `most` bytes together, unpacked."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        total = sum(member.file_size for member in opened.infolist())
    if total > most:
        raise ValueError(f"its content has {total / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB it can need")


def _members(archive: Path, patterns: tuple[str, ...], most: int, count: int | None = None) -> dict[str, bytes]:
    """Files by their paths. count: how many there are, where that is known."""
    if archive.suffix in (".whl", ".zip"):
        contents = {}
        with zipfile.ZipFile(archive) as opened:
            for path in (name for name in opened.namelist() if _fits(name, patterns)):
                with opened.open(path) as file:
                    contents[path] = bounded(file, path, most)
        return contents
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


def _of_tar(file, patterns: tuple[str, ...], most: int, count: int | None) -> dict[str, bytes]:
    contents = {}
    with tarfile.open(fileobj=file, mode="r|*") as opened:
        skipped = 0
        for member in opened:  # a compressed archive unpacks what is skipped, too
            skipped += 0 if _fits(member.name, patterns) else member.size
            if skipped > MOST_SKIPPED:
                raise ValueError(f"more than {MOST_SKIPPED / 1e9:g} GB of other files stand before {patterns[0]}")
            if member.isfile() and _fits(member.name, patterns):
                contents[member.name] = bounded(opened.extractfile(member), member.name, most)
            if len(contents) == count:
                break
    return contents


def bounded(file, name: str, most: int) -> bytes:
    """The content of a file that is open. Raises ValueError where it has more than `most` bytes."""
    content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{name} unpacks to more than {most / 1e6:,.0f} MB, which is more than it can need")
    return content


def package_file(package: str, version: str, sha256: str, folder: Path) -> Path:
    """The package's file with that digest, written into `folder`. SourceError: what was asked, and what it answered."""
    options = configuration()
    certificates, tried = options.get("cert"), []
    for place in places(package, options):
        try:
            files = links(place, certificates)
            fitting = [at for name, at, stated in files if _is(name, package, version) and stated in ("", sha256)]
            if not fitting:
                said = f"has no {package} {version}" + (" with the digest it should have" if files else "")
                raise SourceError(f"{plain_address(place)} {said}")
            for address in fitting:
                content, _ = read_file(address, LARGEST, certificates)
                digest = hashlib.sha256(content).hexdigest()
                if digest == sha256:
                    path = folder / _name(address)
                    put(path, content)
                    return path
                tried.append(f"{plain_address(address)} has SHA-256 {digest[:12]}…, not {sha256[:12]}…: not used")
        except SourceError as error:
            tried.append(str(error))
    raise SourceError("; ".join(tried) or "pip is configured to use no index")


def configuration() -> dict[str, str]:
    """What pip is configured with that counts for a download, by the option's name; nothing where there is no pip."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    sections: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in done.stdout.splitlines() if done.returncode == 0 else ():
        key, _, value = line.partition("=")
        section, _, name = key.partition(".")
        if section in sections:
            sections[section][name] = str(ast.literal_eval(value))
    return {name: value for section in SECTIONS for name, value in sections[section].items()}


def places(package: str, options: dict[str, str]) -> list[str]:
    """Addresses of the pages that list the package's files: of local folders first, they cost nothing."""
    from packaging.utils import canonicalize_name

    indexes = [options.get("index-url", DEFAULT), *options.get("extra-index-url", "").split()]
    if options.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        indexes = []
    pages = [f"{index.rstrip('/')}/{canonicalize_name(package)}/" for index in indexes]
    folders = options.get("find-links", "").split()
    pages += [place if "://" in place else Path(place).absolute().as_uri() for place in folders]
    return sorted(dict.fromkeys(pages), key=lambda page: not page.startswith("file:"))


def links(place: str, certificates: str | None) -> list[tuple[str, str, str]]:
    """(name, address, SHA-256 or "") of each file that a page links to, or that is in a local folder."""
    if (folder := _local(place)) and folder.is_dir() and not (folder / "index.html").is_file():
        return [(path.name, path.as_uri(), "") for path in sorted(folder.iterdir()) if path.is_file()]
    content, ended = read_file(place, LISTING, certificates)
    page = _Page()
    page.feed(content.decode("utf-8", errors="replace"))
    addresses = (urldefrag(urljoin(ended, link)) for link in page.links)
    return [(_name(address), address, part.partition("sha256=")[2]) for address, part in addresses]


def read_file(address: str, most: int, certificates: str | None) -> tuple[bytes, str]:
    """Content of a file of an index, local or on the web, and the address at which it was."""
    path = _local(address)
    if path is None:
        return follow(address, most, certificates)
    path = path / "index.html" if path.is_dir() else path
    try:
        if path.stat().st_size > most:
            raise SourceError(f"{path}: more than {most / 1e6:,.0f} MB, which is more than it can need")
        return path.read_bytes(), path.as_uri()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or short(error)}") from error


class _Page(HTMLParser):
    """The links of a page of an index (PEP 503)."""

    def __init__(self):
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _is(file: str, package: str, version: str) -> bool:
    from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
    from packaging.version import Version

    try:
        name, release = (parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename)(file)[:2]
    except ValueError:  # packaging's own are among them
        return False
    return name == canonicalize_name(package) and release == Version(version)


def _local(address: str) -> Path | None:
    parts = urlsplit(address)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def _name(address: str) -> str:
    return Path(unquote(urlsplit(address).path)).name
