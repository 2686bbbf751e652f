"""Errors that a user can fix, and the checks that raise them. Their text is one line: what was given, what is expected,
what to try.

A check takes the argument's name first and gives back the value, in the type that the caller works with.
"""

import difflib
import operator
import os
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from math import inf, isfinite
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, UnionType
from typing import Any, TypeVar

T = TypeVar("T")
LONGEST, LISTED, CUT = 60, 230, 190  # characters in a message: of a value, of a list of names, of one that is cut
LARGEST = 2**63 - 1  # of a whole number: what torch and numpy take as a seed or a size


class LabError(Exception):
    """Something failed; the command line prints the text and exits with 1.

    >>> print(LabError("no column 'a\\x0bb'"))
    no column 'a\\x0bb'
    """

    def __str__(self) -> str:
        """The text on one line: names of the user's own may have characters that end lines or control a console."""
        text = super().__str__()
        if text.isprintable():
            return text
        return "".join(c if c.isprintable() or "\ud800" <= c <= "\udfff" else ascii(c)[1:-1] for c in text)


class ArgumentError(LabError, ValueError):
    """An argument is wrong: the text names the value received and the values allowed. Exit code 2."""


class LabWarning(UserWarning):
    """What is no error, and changes what a result means: one line."""


class KeywordError(ArgumentError, TypeError):
    """There is no argument of that name: what Python calls a TypeError."""


class Broken(AssertionError):
    """A law of `lab.check` does not hold: what was measured."""


class NotAsked(Exception):
    """A law of `lab.check` does not apply: why."""


def demand(holds: object, said: str) -> None:
    """Raise `Broken` where something does not hold."""
    if not holds:
        raise Broken(said)


def shown(value: object) -> str:
    """A value as messages say it: on one line, cut where it is long; of an array its shape.

    >>> shown([1, 2]), len(shown("ab" * 100))
    ('[1, 2]', 59)
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape):
        return f"a {type(value).__name__} of shape {tuple(shape)}"
    try:
        return shortened(repr(value))
    except Exception:  # a whole number of too many digits, or an object of the user's own
        return f"a {type(value).__name__} that cannot be printed"


def described(value: object) -> str:
    """What was given, in a few words: never the whole of it; of an array or a tensor its type and shape.

    >>> described(len), described([1, 2]), described(dict), described("gelu")
    ('a function', 'a list of 2', 'the class dict', "'gelu'")
    >>> from collections import namedtuple
    >>> described(namedtuple("Point", "x y z")(0, 0, 0))
    'a Point'
    """
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex)):
        return shown(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (FunctionType, MethodType, BuiltinFunctionType)):
        return "a function"
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):  # a named tuple has no number of entries
        return f"a {type(value).__name__} of {len(value)}"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and isinstance(shape, tuple):  # torch.Size is a tuple
        return f"{dtype} of shape {tuple(shape)}".removeprefix("torch.")
    return f"a {type(value).__name__}"


def summary(value: Any) -> str:
    """A dataclass in one line: fields as `described` says them, of arrays the type and shape; results as they print."""
    values = {field.name: getattr(value, field.name) for field in fields(value)}
    parts = (f"{name}={part if is_dataclass(part) else described(part)}" for name, part in values.items())
    return f"{type(value).__name__}({', '.join(parts)})"


def shortened(text: str, most: int = LONGEST) -> str:
    """A text on one line, cut in its middle where it is longer.

    >>> shortened("one\\ntwo three", 9)
    'one …hree'
    """
    text, half = " ".join(text.split()), (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def listed(known: Collection[str], near: object = None) -> str:
    """Names in a row; where they are many, the first of them, their number, and the one that `near` may stand for.

    >>> listed(["cpu", "cuda"])
    'cpu, cuda'
    """
    text = ", ".join(known)
    if len(text) <= LISTED:
        return text
    similar = difflib.get_close_matches(near[:LONGEST], known, 1) if isinstance(near, str) else []
    meant = f"; did you mean {similar[0]!r}?" if similar else ""
    return f"{text[: max(text.rfind(', ', 0, CUT), 0) or CUT]}, … ({len(known)} in all){meant}"


def check_whole(name: str, value: int, least: int = 1, most: int = LARGEST) -> int:
    """The value, if it is a whole number of at least `least` and at most `most`.

    >>> check_whole("seeds", 6)
    6
    """
    try:
        whole = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        whole = None
    if whole is None or not least <= whole <= most:
        limit = f"{least} or more"
        if whole is not None and whole > most:
            limit = f"{least} to {most}" if most < LARGEST else f"at most {most}"
        raise ArgumentError(f"{name}={shown(value)}: give a whole number, {limit}")
    return whole


def check_number(name: str, value: float, least: float = -inf, most: float = inf) -> float:
    """The value as a float, if it is a finite number from `least` to `most`. Arrays of one number count.

    >>> check_number("low", -20)
    -20.0
    """
    try:
        number = None if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # RuntimeError: a tensor of several numbers
        number = None
    if number is None or not isfinite(number) or not least <= number <= most:
        limit = "" if (least, most) == (-inf, inf) else f", {least:g} to {most:g}"
        raise ArgumentError(f"{name}={shown(value)}: give a finite number{limit}")
    return number


def check_above_zero(name: str, value: float) -> float:
    """The value as a float, if it is a finite number above 0.

    >>> check_above_zero("rate", 1e-3)
    0.001
    """
    number = check_number(name, value)
    if number <= 0:
        raise ArgumentError(f"{name}={shown(value)}: give a number above 0, such as 1e-3")
    return number


def check_flag(name: str, value: bool) -> bool:
    """The value, if it is True or False.

    >>> check_flag("learnable", True)
    True
    """
    if type(value).__name__ not in ("bool", "bool_"):  # numpy has its own
        raise ArgumentError(f"{name}={shown(value)}: give True or False")
    return bool(value)


def check_type(name: str, value: T, kinds: type | tuple[type, ...] | UnionType, expected: str) -> T:
    """The value, if it is of one of these kinds. expected: these in words, with an example.

    >>> check_type("name", "transformers/memorize", str, "a name, such as 'transformers/memorize'")
    'transformers/memorize'
    """
    if not isinstance(value, kinds):
        raise ArgumentError(f"{name}={shown(value)} has the type {type(value).__name__}; give {expected}")
    return value


def check_choice(name: str, value: object, known: Collection[str], more: str = "") -> str:
    """The value, if it is one of the known words. more: what else could be given.

    >>> check_choice("device", "cpu", ("auto", "cpu", "cuda"))
    'cpu'
    """
    if not isinstance(value, str) or value not in known:
        names, mark, meant = listed(known, value).partition("; did you mean ")
        raise ArgumentError(f"unknown {name} {shown(value)}; known: {names}{more}{mark}{meant}")
    return value


def check_path(name: str, value: str | os.PathLike) -> Path:
    """The value as a path, if it is one that the file system can have; whether anything is there is not asked.

    >>> check_path("folder", "out").name
    'out'
    """
    if not isinstance(value, (str, os.PathLike)) or not str(value) or isinstance(value, bytes):
        raise ArgumentError(f"{name}={shown(value)}: give a path, as text or a pathlib.Path")
    path = Path(value)
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:  # too long; with a zero byte, or half a character
        said = getattr(error, "strerror", None) or "no path"
        raise ArgumentError(f"{name}={shown(str(value))}: {said}; give another path") from error
    return path


def absolute_path(name: str, value: str | os.PathLike) -> Path:
    """The value as an absolute path, checked by `check_path`; a ~ in front is the user's home.

    >>> absolute_path("LAB_CACHE", "~/data").name
    'data'
    """
    try:
        return check_path(name, check_path(name, value).expanduser()).absolute()
    except RuntimeError as error:
        raise ArgumentError(f"{name}={shown(value)}: whose home that is, is not known; give another path") from error
