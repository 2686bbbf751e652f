"""Errors that a user can mend. Their text is one line: what went wrong, and what to try."""


class LabError(Exception):
    """Something failed; the command line prints the text and exits with 1."""


class ArgumentError(LabError, ValueError):
    """An argument is wrong: the text names the value received and the values allowed. Exit code 2."""
