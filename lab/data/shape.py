"""What the arrays of a set must look like: how many rows, columns and pixels, and how often each class occurs.

The catalogue states it for every set. Whatever is read is compared with it, also where no digest is known. Each shape
has `kind`, `bytes` (what a file with it may take, unpacked), `misfit(arrays)` (what of them is not as it should be, in
words; empty where all of it is), and says in words what it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

Arrays = Mapping[str, np.ndarray]
DIGITS = 40  # characters of a number in a text file, at most
SLACK = 32_000_000  # bytes: for columns of a publisher's table that are not kept, and headers


@dataclass(frozen=True)
class TableShape:
    """A table: rows × columns of inputs, and two classes that are equally frequent (the benchmark balanced them).

    >>> str(TableShape(38_474, 7))
    '38,474 rows × 7 columns'
    """

    rows: int
    columns: int
    kind: ClassVar[str] = "table"

    def __str__(self) -> str:
        return f"{_count(self.rows, 'row')} × {_count(self.columns, 'column')}"

    @property
    def bytes(self) -> int:
        return SLACK + DIGITS * self.rows * (self.columns + 1)

    def misfit(self, arrays: Arrays) -> str:
        if missing := _missing(arrays, {"inputs": (2, "float32"), "labels": (1, "uint8")}):
            return missing
        inputs, labels = arrays["inputs"], arrays["labels"]
        wrong = _unlike(len(inputs), self.rows, "row")
        wrong += _unlike(inputs.shape[1], self.columns, "column", " of inputs")
        wrong += _unlike(len(labels), len(inputs), "label")
        zeros, ones = int((labels == 0).sum()), int((labels == 1).sum())
        if zeros + ones < len(labels):
            wrong.append("classes other than 0 and 1")
        elif zeros != ones and len(labels) == len(inputs):
            wrong.append(f"{zeros:,} rows of one class and {ones:,} of the other, not as many of each")
        names = arrays.get("columns")
        if names is not None and (names.dtype.kind != "U" or names.shape != inputs.shape[1:]):
            wrong.append(f"{names.dtype} of shape {names.shape} as names of columns")
        elif holes := unusable(arrays):
            wrong.append(holes)
        return "; ".join(wrong)


@dataclass(frozen=True)
class ImageShape:
    """Images of ten classes: how many for training and for testing; pixels: (height, width), in colour with 3 behind.

    >>> str(ImageShape(60_000, 10_000, (28, 28)))
    '60,000 + 10,000 images, 28×28'
    """

    train: int
    test: int
    pixels: tuple[int, ...]
    kind: ClassVar[str] = "images"

    def __str__(self) -> str:
        colour = "colour " if len(self.pixels) == 3 else ""
        return f"{self.train:,} + {self.test:,} {colour}images, {self.pixels[0]}×{self.pixels[1]}"

    @property
    def bytes(self) -> int:
        return SLACK + 2 * (self.train + self.test) * (prod(self.pixels) + 1)

    def misfit(self, arrays: Arrays) -> str:
        axes = 1 + len(self.pixels)
        wanted = {f"{part}_images": (axes, "uint8") for part in ("train", "test")}
        if missing := _missing(arrays, wanted | {f"{part}_labels": (1, "uint8") for part in ("train", "test")}):
            return missing
        wrong: list[str] = []
        for part, count in (("train", self.train), ("test", self.test)):
            images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
            wrong += _unlike(len(images), count, f"{part} image")
            if images.shape[1:] != self.pixels:
                wrong.append(f"{part} images of {_times(images.shape[1:])} pixels, not {_times(self.pixels)}")
            wrong += _unlike(len(labels), len(images), f"{part} label")
            if len(np.unique(labels)) != 10 or labels.max() != 9:
                wrong.append(f"{part} labels that are not the ten classes 0 to 9")
        return "; ".join(wrong)


@dataclass(frozen=True)
class TextShape:
    """Text in UTF-8. megabytes: how large it is, about; parts: the publisher's, where there are several.

    >>> str(TextShape(5.2))
    '5.2 MB of text'
    """

    megabytes: float
    parts: tuple[str, ...] = ("text",)
    kind: ClassVar[str] = "text"

    def __str__(self) -> str:
        said = f" in {len(self.parts)} parts ({', '.join(self.parts)})" if len(self.parts) > 1 else ""
        return f"{self.megabytes:g} MB of text{said}"

    @property
    def bytes(self) -> int:
        return SLACK + int(3e6 * self.megabytes)

    def misfit(self, arrays: Arrays) -> str:
        given = ("text",) if "text" in arrays else self.parts  # a user's own file has one part
        wrong = [f"{name} is empty" for name in given if name in arrays and not arrays[name].size]
        if wrong or (missing := _missing(arrays, {name: (1, "uint8") for name in given})):
            return "; ".join(wrong) or missing
        for name in given:
            try:
                arrays[name].tobytes().decode()
            except UnicodeDecodeError as error:
                return f"{name} is no text in UTF-8: byte {error.start:,} is {error.object[error.start]:#04x}"
        return ""


@dataclass(frozen=True)
class ShardShape(TextShape):
    """A text that its publisher gives out as tokens of GPT-2's byte-pair encoding."""

    def __str__(self) -> str:
        return f"{self.megabytes / 2:g} million tokens of GPT-2's encoding in {len(self.parts)} parts"

    def misfit(self, arrays: Arrays) -> str:
        return _missing(arrays, {name: (1, "uint16") for name in self.parts})


@dataclass(frozen=True)
class MergesShape(TextShape):
    """The merges of a byte-pair encoding, one a line."""

    kind: ClassVar[str] = "tokens"

    def __str__(self) -> str:
        return "the merges of a byte-pair encoding"


def unusable(arrays: Arrays) -> str:
    """Which columns of a table have values that are no finite numbers, and how many; empty where none has.

    >>> unusable({"inputs": np.array([[0.0, 1.0], [np.nan, 2.0]]), "columns": np.array(["height", "width"])})
    "1 value missing or infinite in column 'height'"
    """
    inputs = arrays["inputs"]
    counts = len(inputs) - np.isfinite(inputs).sum(0)
    names = arrays["columns"].tolist() if "columns" in arrays else [str(n) for n in range(inputs.shape[1])]
    places = [(name, int(count)) for name, count in zip(names, counts, strict=True) if count]
    said = [f"{_count(count, 'value')} missing or infinite in column {name!r}" for name, count in places[:1]]
    said += [f"{count:,} in column {name!r}" for name, count in places[1:4]]
    said += [f"and more in {len(places) - 4} other columns"] if len(places) > 4 else []
    return ", ".join(said)


def _missing(arrays: Arrays, wanted: dict[str, tuple[int, str]]) -> str:
    for name, (axes, kind) in wanted.items():
        if name not in arrays:
            return f"no array {name!r} among {', '.join(map(repr, arrays)) or 'none'}"
        array = arrays[name]
        if array.ndim != axes or array.dtype != kind or 0 in array.shape:
            return f"{name} is {array.dtype} of shape {array.shape}, not {kind} with {axes} axes"
    return ""


def _unlike(there: int, wanted: int, noun: str, of: str = "") -> list[str]:
    return [] if there == wanted else [f"{_count(there, noun)}{of}, not {wanted:,}"]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _times(size: tuple[int, ...]) -> str:
    return "×".join(map(str, size))
