"""Files from the web: over https alone, and never more than they may hold."""

from __future__ import annotations

import io
import sys
from urllib.parse import urlsplit

from lab.errors import LabError

PIECE = 1 << 16  # bytes
SECONDS = 30  # that a server may be silent


class SourceError(LabError):
    """A source cannot be had, or what it gave is not what it should be."""


def download(address: str, most: int, certificates: str | None = None) -> bytes:
    """The content of a file. SourceError where it cannot be had, or has more than `most` bytes.

    certificates: a file with those to trust, besides what REQUESTS_CA_BUNDLE names.
    """
    return follow(address, most, certificates)[0]


def follow(address: str, most: int, certificates: str | None = None) -> tuple[bytes, str]:
    """As `download`, with the address at which it ended."""
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
