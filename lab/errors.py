"""Errors that a user can mend. Their text is one line: what went wrong, and what to try."""


class LabError(Exception):
    """Something failed; the command line prints the text and exits with 1."""


class ArgumentError(LabError, ValueError):
    """An argument is wrong: the text names the value received and the values allowed. Exit code 2."""


def check_whole(name: str, value: int, least: int = 1) -> int:
    """The value, if it is a whole number of at least `least`.

    >>> check_whole("seeds", 6)
    6
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise ArgumentError(f"{name}={value!r}: give a whole number, {least} or more")
    return int(value)
