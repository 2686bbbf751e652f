"""The console that commands print to: characters that it does not have, and readers that leave early."""

from __future__ import annotations

import codecs
import os
import select
import sys
import unicodedata

ERRORS = "lab.plain"
PLAIN = {  # in ASCII, what Unicode's own decompositions do not give
    **dict.fromkeys("─━╌═‐‑‒–—―−", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼", "+"),
    **dict.fromkeys("•●◦", "*"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”„«»", '"'),
    **{"·": ".", "×": "x", "÷": "/", "±": "+-", "→": "->", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf"},
    **{"α": "alpha", "β": "beta", "φ": "phi", "σ": "sigma", "✔": "v", "✘": "x"},
}


def readable() -> None:
    """Let stdout and stderr replace what their encoding lacks, so that no text is an error on any console.

    A file's name that is no text is printed with its own bytes where the console takes UTF-8.
    """
    codecs.register_error(ERRORS, _replaced)
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None)
        if encoding and hasattr(stream, "reconfigure"):
            unicode = codecs.lookup(encoding).name.startswith("utf")
            stream.reconfigure(errors="surrogateescape" if unicode else ERRORS)


def plain(text: str) -> str:
    """Text in ASCII.

    >>> plain("2 × 10 → 19–21, naïve ☃")
    '2 x 10 -> 19-21, naive ?'
    """
    return "".join(char if char.isascii() else _plain(char) for char in text)


def _plain(char: str) -> str:
    decomposed = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return PLAIN.get(char, decomposed or "?")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


def reader_left() -> bool:
    """Whether nobody reads stdout any more, as after `lab figures | head`; then nothing is said of it at exit."""
    output = sys.stdout.fileno()
    if hasattr(select, "poll"):  # not on Windows
        pipe = select.poll()
        pipe.register(output, select.POLLOUT)
        if not any(event & (select.POLLERR | select.POLLHUP) for _, event in pipe.poll(0)):
            return False  # some other pipe is broken
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True
