"""Words that are numbers, nearly all of them: columns of a table in which a few cells are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lab.errors import listed, shown

if TYPE_CHECKING:
    import pandas as pd

MOST = 0.9  # share of numbers from which on the words among them are taken as mistakes
NAMED = 3  # of these words in a message


class Numerals(NamedTuple):
    """values: NaN where there is a word. words: those, each once. wrong: how many cells have one. commas: how many
    numbers have separators of thousands."""

    values: np.ndarray
    words: tuple[str, ...]
    wrong: int
    commas: int

    def __str__(self) -> str:
        parts = []
        if self.commas:
            parts.append(f"{_many(self.commas, 'number')} with commas between thousands")
        if self.wrong:
            named = listed([shown(word) for word in self.words[:NAMED]])
            parts.append(f"{_many(self.wrong, 'word')} ({named}{', …' if len(self.words) > NAMED else ''})")
        return " and ".join(parts)


def numerals(words: Sequence[object] | np.ndarray | pd.Series) -> Numerals | None:
    """The numbers that these words say, if nearly all do, and not all of them plainly: then they may be labels.

    >>> read = numerals(["1.5", "2"] * 20 + ["N/A?", "1,234"])
    >>> read.values[-2:], str(read)
    (array([  nan, 1234.]), "1 number with commas between thousands and 1 word ('N/A?')")
    >>> numerals(["1", "2", "3"]) is None and numerals(["Rome", "1"]) is None
    True
    """
    import pandas as pd

    text = pd.Series(np.asarray(words, dtype=object)).astype(str).str.strip()
    grouped = text.str.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
    values = pd.to_numeric(text.where(~grouped, text.str.replace(",", "")), errors="coerce").to_numpy(float)
    wrong = np.isnan(values)
    if not len(values) or wrong.mean() > 1 - MOST or not (wrong.any() or grouped.any()):
        return None
    return Numerals(values, tuple(pd.unique(text[wrong])), int(wrong.sum()), int(grouped.sum()))


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
