"""Tables and arrays in files, as they are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lab.data.numerals import decimal_of, numerals
from lab.data.tables import DATE, ENOUGH
from lab.errors import ArgumentError, LabError, check_path, listed, shortened, shown

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".csv", ".tsv", ".parquet", ".npz")
SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
GAPS = ("None", "NA", "N/A", "n/a", "NULL", "null")  # words in a column of words, and gaps in one of numbers
NEVER = ("", "nan", "NaN", "-nan", "-NaN", "<NA>", "#N/A", "#NA", "#N/A N/A")  # gaps among words, too
SEVERAL = 10_000  # rows that tell whether decimals have commas


class Table(NamedTuple):
    """frame: as it is there. notes: how it was read, where that is a guess. commas: whether all its cells are words, in
    which decimals have commas."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    commas: bool = False


def table(source: str | Path | pd.DataFrame) -> Table:
    """The table in a CSV, TSV or Parquet file. LabError where it cannot be read. A data frame stays what it is; its
    columns get words as names.

    A CSV file may have tabs or semicolons between its columns, decimal commas, and letters as Windows writes them, as
    spreadsheets write it in some countries.
    """
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return _named(source)
    path = check_path("source", source)
    kind = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".zip") else path.suffix
    readers = {".csv": _separated, ".tsv": _separated, ".parquet": lambda p: _named(pd.read_parquet(p))}
    reader = next((reader for end, reader in readers.items() if kind.lower().startswith(end)), None)
    if reader is None:
        raise ArgumentError(f"source={shown(str(path))}: give a file that ends in {', '.join(KINDS)}")
    try:
        return reader(path)
    except FileNotFoundError as error:
        raise LabError(f"there is no file {path}; give the path of a table") from error
    except (OSError, ValueError, UnicodeDecodeError) as error:  # pandas' parser errors are ValueErrors
        raise LabError(f"{path} cannot be read ({shortened(str(error))}); give a whole {path.suffix} file") from error


def _named(frame: pd.DataFrame) -> Table:
    index = [str(name) for name in frame.index.names if name is not None]
    said = f"the index ({', '.join(index)}) is no column; frame.reset_index() makes it one"
    return Table(frame.set_axis([str(column) for column in frame.columns], axis=1), (said,) if index else ())


def _separated(path: Path) -> Table:
    """In UTF-8, or else as Windows writes letters."""
    try:
        return _columns(path, "utf-8")
    except UnicodeDecodeError:
        with path.open("rb") as file:
            encoding = "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
        read = _columns(path, encoding)
        return read._replace(notes=(f"letters are no UTF-8, and were read as {encoding}", *read.notes))


def _columns(path: Path, encoding: str) -> Table:
    """By the sign that the first line has most of: commas, semicolons, tabs or bars.

    With decimal commas, all cells stay words: a point is none of decimals then.
    """
    import pandas as pd

    usual = "\t" if ".tsv" in path.name.lower() else ","
    first = ",".join(map(str, pd.read_csv(path, nrows=0, encoding=encoding).columns))
    sep = max((usual, *SIGNS), key=first.count)
    said = "" if sep == usual else f"columns are separated by {SIGNS[sep]}"
    some = pd.read_csv(path, sep=sep, encoding=encoding, dtype=str, nrows=SEVERAL)
    decimals = [decimal for name in some if (decimal := decimal_of(some[name].dropna()))]
    commas, points = decimals.count(","), decimals.count(".")
    all_words = commas > points or (sep == ";" and not points and bool(decimals))
    said = ", ".join(filter(None, (said, "decimal commas" if all_words else "")))
    how: dict[str, Any] = {"sep": sep, "encoding": encoding, **({"dtype": str} if all_words else {})}
    frame = pd.read_csv(path, **how)
    if wordy := [name for name in frame if _has_gaps_in_words(frame[name], all_words)]:
        text = pd.read_csv(path, **{**how, "dtype": str}, keep_default_na=False, na_values=list(NEVER))
        frame = frame.assign(**{name: text[name].array for name in wordy})
    return Table(frame, (said,) if said else (), all_words)


def _has_gaps_in_words(column: pd.Series, commas: bool) -> bool:
    """Whether cells are missing in a column of words: no numbers, dates, or True and False, whose NA is no word."""
    import pandas as pd

    there = column.dropna()
    if pd.api.types.is_numeric_dtype(column) or len(there) == len(column) or not len(there):
        return False
    words = there.astype(str).str.strip()
    others = words.str.fullmatch(DATE) | words.str.lower().isin(("true", "false"))
    return bool(others.mean() < ENOUGH) and numerals(there, commas) is None


def arrays(
    path: str | Path, target: str, drop: Sequence[str] = (), groups: str | None = None
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Inputs, target and groups of an .npz file; inputs are the one array that is left, or several by name."""
    try:
        with np.load(check_path("source", path), allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise LabError(f"there is no file {path}; give the path of an .npz") from error
    except (OSError, ValueError) as error:
        raise LabError(f"{path} cannot be read ({shortened(str(error))}); give what numpy.savez wrote") from error
    for name in (target, *drop, *([] if groups is None else [groups])):
        if name not in held:
            raise ArgumentError(f"there is no array {shown(name)} in {path}; there are {listed(list(held), name)}")
    inputs = {name: array for name, array in held.items() if name not in (target, groups, *drop)}
    if not inputs:
        raise ArgumentError(f"{path} has no array of inputs beside {listed(list(held))}; give one that has")
    X = next(iter(inputs.values())) if len(inputs) == 1 else inputs
    return X, held[target], None if groups is None else held[groups]
