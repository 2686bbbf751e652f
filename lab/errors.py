"""Errors that a user can mend. Their text is one line: what went wrong, and what to try."""

from pathlib import Path


class LabError(Exception):
    """Something failed; the command line prints the text and exits with 1."""


class ArgumentError(LabError, ValueError):
    """An argument is wrong: the text names the value received and the values allowed. Exit code 2."""


def shown(value: object, most: int = 60) -> str:
    """A value as a message quotes it: on one line, and cut short.

    >>> shown("ab" * 500, most=8)
    "'ababab…"
    """
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # an integer of too many digits, or an object whose repr fails
        text = f"{type(value).__name__} ({error})"
    return text if len(text) <= most else text[: most - 1] + "…"


def check_folder(name: str, value: object) -> Path:
    """The absolute path of a folder, which need not be there; name: of the argument or variable that has the value.

    >>> check_folder("LAB_CACHE", "~/data").name
    'data'
    """
    try:
        path = Path(value).expanduser().absolute()  # type: ignore[arg-type]
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArgumentError(f"{name}={shown(value)} cannot be a folder ({reason}); name another") from error
    return path


def check_whole(name: str, value: int, least: int = 1) -> int:
    """The value, if it is a whole number of at least `least`.

    >>> check_whole("seeds", 6)
    6
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise ArgumentError(f"{name}={value!r}: give a whole number, {least} or more")
    return int(value)
