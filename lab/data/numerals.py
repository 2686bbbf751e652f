"""Words that are numbers: with decimal commas, separators of thousands, signs of currency or percent, a few wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lab.errors import listed, shown

if TYPE_CHECKING:
    import pandas as pd

MOST = 0.9  # share of numbers from which on the words among them are taken as mistakes
NAMED = 3  # of these words in a message
EXPONENT = r"(?:[eE][+-]?\d+)?"
PLAIN = {sign: rf"[+-]?(?:\d+{sign}?\d*|{sign}\d+){EXPONENT}" for sign in (r"\.", ",")}  # by its decimal sign
GROUPED = {r"\.": r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?", ",": r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"}
SPACED = r"([+-]?[1-9]\d{0,2}(?:[ '’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?)"
BESIDE = {"a sign of currency": r"[$€£¥₹]", "%": r"%"}  # a number: before it or behind it


class Numerals(NamedTuple):
    """values: NaN where there is a word. words: those, each once. wrong: how many cells have one. marks: how numbers
    are written, where not plainly, and how many."""

    values: np.ndarray
    words: tuple[str, ...]
    wrong: int
    marks: dict[str, int]

    @property
    def is_plain(self) -> bool:
        """Whether all are plain numbers, which may be labels."""
        return not self.wrong and not self.marks

    @property
    def is_whole(self) -> bool:
        """Whether all are whole numbers."""
        return not self.wrong and bool((self.values == np.round(self.values)).all())

    def __str__(self) -> str:
        parts = [f"{_many(count, 'number')} with {mark}" for mark, count in self.marks.items()]
        if self.wrong:
            named = listed([shown(word) for word in self.words[:NAMED]])
            parts.append(f"{_many(self.wrong, 'word')} ({named}{', …' if len(self.words) > NAMED else ''})")
        return " and ".join(parts)


def numerals(words: Sequence[object] | np.ndarray | pd.Series, commas: bool = False) -> Numerals | None:
    """The numbers that these words say, if nearly all do. commas: whether decimals have a comma where these words do
    not tell: 1,234 is 1234 otherwise.

    >>> read = numerals(["1.5", "2"] * 20 + ["N/A?", "1,234"])
    >>> read.values[-2:], str(read)
    (array([  nan, 1234.]), "1 number with commas between thousands and 1 word ('N/A?')")
    >>> numerals(["0,5", "0,512", "1.234,5"]).values.tolist(), numerals(["45 %", "7.5%"]).values.tolist()
    ([0.5, 0.512, 1234.5], [45.0, 7.5])
    >>> numerals(["1", "2", "3"]).is_plain, numerals(["Rome", "1"])
    (True, None)
    """
    import pandas as pd

    text, marks = _bare(words)
    if not len(text):
        return None
    said = _decimal(text)
    comma = commas if said is None else said
    sign, other, named = (",", ".", "points") if comma else (r"\.", ",", "commas")
    grouped = text.str.fullmatch(GROUPED[sign])
    plain = text.where(~grouped, text.str.replace(other, ""))
    if comma:
        with_comma = text.str.contains(",")
        plain = plain.where(plain.str.fullmatch(PLAIN[","]), "").str.replace(",", ".")
        marks |= {"decimal commas": int(with_comma.sum())}
    marks |= {f"{named} between thousands": int(grouped.sum())}
    values = pd.to_numeric(plain, errors="coerce").to_numpy(float)
    wrong = np.isnan(values)
    if wrong.mean() > 1 - MOST:
        return None
    original = pd.Series(np.asarray(words, dtype=object)).astype(str).str.strip()
    marks = {mark: count for mark, count in marks.items() if count}
    return Numerals(values, tuple(pd.unique(original[wrong])), int(wrong.sum()), marks)


def decimal_of(words: Sequence[object] | np.ndarray | pd.Series) -> str:
    """What words that are numbers have before decimals: "," or "."; "?" where either may be, as in 1,234 or 1.234; ""
    where there are no decimals, or no numbers.

    >>> [decimal_of(words) for words in (["0,5", "1,234"], ["1.5"], ["1,234"], ["1", "2"], ["Rome"])]
    [',', '.', '?', '', '']
    """
    if not len(words) or (numerals(words) is None and numerals(words, commas=True) is None):
        return ""
    text = _bare(words)[0]
    said = _decimal(text)
    if said is None:
        return "?" if text.str.contains(r"[.,]").any() else ""
    return "," if said else "."


def _bare(words: Sequence[object] | np.ndarray | pd.Series) -> tuple[pd.Series, dict[str, int]]:
    """Numbers without spaces and signs around them, and how many had some."""
    import pandas as pd

    text = pd.Series(np.asarray(words, dtype=object)).astype(str).str.strip().str.replace("−", "-")
    bare = text.str.replace(r"^\(([^()]+)\)$", r"-\1", regex=True)
    text, marks = bare, {"brackets, which are below zero": int((bare != text).sum())}
    for mark, sign in BESIDE.items():
        bare = text.str.replace(rf"^([+-]?)\s*{sign}\s*(?=[\d.,])|(?<=[\d.,])\s*{sign}$", r"\1", regex=True)
        changed = bare != text
        if mark != "%" or changed.sum() >= MOST * len(text):  # where some have it and others do not, they are no shares
            text, marks[mark] = bare, int(changed.sum())
    spaced = text.str.fullmatch(SPACED)
    marks["spaces between thousands"] = int(spaced.sum())
    return text.where(~spaced, text.str.replace(r"[^\d.,+-]", "", regex=True)), marks


def _decimal(text: pd.Series) -> bool | None:
    """Whether more of these can only be read with decimal commas than only with points; None where none can only be."""
    comma, point = (text.str.fullmatch(rf"{PLAIN[sign]}|{GROUPED[sign]}") for sign in (",", r"\."))
    commas, points = int((comma & ~point).sum()), int((point & ~comma).sum())
    return None if commas == points else commas > points


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
