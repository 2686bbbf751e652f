"""What commands share: the console they print to, their options, and the folders that they write into."""

import codecs
import os
import select
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import Annotated, Any

import tyro

from lab.devices import DEVICES
from lab.errors import ArgumentError, LabError, check_choice, check_path
from lab.scale import COMMON

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


def default(text: str, **more: Any) -> Any:
    """An annotation for an option whose default is better said in words than as a value (None, an empty tuple)."""
    return tyro.conf.arg(help_behavior_hint=f"(default: {text})", **more)


Device = Annotated[str, tyro.conf.arg(metavar="DEVICE", help="auto (a GPU if there is one), cpu or cuda.")]
ScaleName = Annotated[str, tyro.conf.arg(metavar="SCALE")]


def check_words(command: Any) -> None:
    """Refuse a scale or a device that a command cannot take, before torch is imported, which takes seconds.

    command: whose `scales` it takes; by default those that every figure has.
    """
    for name, known in (("scale", getattr(command, "scales", COMMON)), ("device", DEVICES)):
        if (given := getattr(command, name, None)) is not None:
            check_choice(name, given, known)


def writable(out: Path, hint: str = "name another folder with --out") -> Path:
    """`out`, if files could be written there; asked before hours of training."""
    check_path("--out", out)
    try:
        place = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    except OSError as error:
        raise LabError(f"cannot write to {out} ({error.strerror}); {hint}") from error
    if not place.is_dir():
        raise ArgumentError(f"--out {out}: {place} is a file; name a folder")
    try:
        with tempfile.TemporaryFile(dir=place):  # rights alone do not say it: /proc, a full disk
            return out
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LabError(f"cannot write to {place} ({reason}); {hint}") from error
