"""Tables and arrays in files, as they are there; and words that are numbers: with decimal commas, separators of
thousands, signs of currency or percent, a few wrong."""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lab.data.arrays import are_labels, quiet
from lab.errors import ArgumentError, LabError, check_path, listed, shortened, shown

MOST = 0.9  # share of numbers from which on the words among them are taken as mistakes
NAMED = 3  # of these words in a message
EXPONENT = r"(?:[eE][+-]?\d+)?"
PLAIN = {sign: rf"[+-]?(?:\d+{sign}?\d*|{sign}\d+){EXPONENT}" for sign in (r"\.", ",")}  # by its decimal sign
GROUPED = {r"\.": r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?", ",": r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"}
SPACED = r"([+-]?[1-9]\d{0,2}(?:[ '’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?)"
DATE = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:[T ].*)?"
DATE += r"|(?:\d{1,2}[ -][A-Za-z]{3,9}\.?|[A-Za-z]{3,9}\.? \d{1,2}),?[ -]\d{4}"  # 5 May 2020, May 5, 2020
ENOUGH = 0.9  # share of dates from which on a column of words holds dates
KINDS = (".csv", ".tsv", ".parquet", ".npz")
SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
GAPS = ("None", "NA", "N/A", "n/a", "NULL", "null")  # words in a column of words, and gaps in one of numbers
MARKS = ("?", "-", "--", "–", "—", ".", "*", "na", "n.a.", "n/a", "none", "null", "missing", "unknown")  # of a gap
NEVER = ("", "nan", "NaN", "-nan", "-NaN", "<NA>", "#N/A", "#NA", "#N/A N/A")  # gaps among words, too
ROOM, TIMES = 1 << 22, 1_100  # bytes, and times its size, that a packed file may have: more than deflate can do
SEVERAL = 10_000  # rows that tell whether decimals have commas
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
        return not self.wrong and are_labels(self.values)

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
    original = pd.Series(np.asarray(words, dtype=object)).astype(str).str.strip()
    gaps = wrong & original.str.lower().isin(MARKS).to_numpy()  # which are no mistakes
    if (wrong & ~gaps).mean() > 1 - MOST or wrong.mean() > 0.5:
        return None
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


@contextmanager
def reading(path: Path, what: str, cure: str) -> Iterator[None]:
    """LabError where a file is not there, or cannot be read in this block."""
    try:
        yield
    except LabError:
        raise
    except FileNotFoundError as error:
        raise LabError(f"there is no file {path}; give the path of {what}") from error
    except IsADirectoryError as error:
        raise LabError(f"{path} is a folder; give the path of {what}") from error
    except Exception as error:  # whatever pandas, pyarrow, numpy and the readers of archives raise at a damaged file
        said = shortened(str(error)) or type(error).__name__
        raise LabError(f"{path} cannot be read ({said}); give {cure}") from error


def _check_unpacked(path: Path) -> None:
    """LabError where a packed file says that it has more than ROOM and TIMES its size."""
    kind = path.suffix.lower()
    if kind in (".zip", ".npz"):
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    elif kind == ".parquet":
        from pyarrow.parquet import read_metadata

        metadata = read_metadata(path)  # a column of one value takes no place
        size = 8 * metadata.num_rows * metadata.num_columns
    else:
        return
    if size > ROOM + TIMES * path.stat().st_size:
        said = f"{path} unpacks to {size / 1e6:,.0f} MB, over {TIMES:,} times its size"
        raise LabError(f"{said}; where that is right, give the table or the arrays themselves")


class Table(NamedTuple):
    """frame: as it is there. notes: how it was read, where that is a guess. commas: whether all its cells are words, in
    which decimals have commas. repeated: names that the file's first line has more than once, and pandas changes."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    commas: bool = False
    repeated: tuple[str, ...] = ()


def table(source: str | Path | pd.DataFrame) -> Table:
    """The table in a CSV, TSV or Parquet file. LabError where it cannot be read. A data frame stays what it is; its
    columns get words as names.

    A CSV file may have tabs or semicolons between its columns, decimal commas, and letters as Windows writes them, as
    spreadsheets write it in some countries.
    """
    if isinstance(source, pd.DataFrame):
        return _named(source)
    if isinstance(source, (list, dict)):
        raise ArgumentError(f"source is a {type(source).__name__}; give pandas.DataFrame(...) of it, or a file")
    path = check_path("source", source)
    kind = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".zip") else path.suffix
    readers = {".csv": _separated, ".tsv": _separated, ".parquet": _parquet}
    reader = next((reader for end, reader in readers.items() if kind.lower().startswith(end)), None)
    if reader is None:
        raise ArgumentError(f"source={shown(str(path))}: give a file that ends in {', '.join(KINDS)}")
    with reading(path, "a table", f"a whole {path.suffix} file"):
        _check_unpacked(path)
        return reader(path)


def _parquet(path: Path) -> Table:
    import pyarrow

    frame = pd.read_parquet(path)
    for name in frame:
        if isinstance(frame[name].dtype, pd.StringDtype):  # whose letters are read when they are asked for
            pyarrow.array(frame[name].array).validate(full=True)
    return _named(frame)


def word_of(name: Any) -> Any:
    """A name as a table's columns and groups have it: 0 is "0"."""
    return str(name) if isinstance(name, (Real, tuple)) else name


def _named(frame: pd.DataFrame) -> Table:
    if frame.columns.nlevels > 1:
        cure = "give each one name, as frame.columns = ['_'.join(map(str, name)) for name in frame.columns]"
        raise ArgumentError(f"names of columns have {frame.columns.nlevels} levels; {cure}")
    index = [str(name) for name in frame.index.names if name is not None]
    said = f"the index ({', '.join(index)}) is no column; frame.reset_index() makes it one"
    named = frame.set_axis(list(map(str, frame.columns)), axis=1)
    for number, kind in enumerate(named.dtypes):
        if isinstance(kind, np.dtype) and kind.kind == "f":
            named.isetitem(number, quiet(named.iloc[:, number].to_numpy()))
    return Table(named, (said,) if index else ())


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
    usual = "\t" if ".tsv" in path.name.lower() else ","
    first = ",".join(map(str, pd.read_csv(path, nrows=0, encoding=encoding).columns))
    sep = max((usual, *SIGNS), key=first.count)
    said = "" if sep == usual else f"columns are separated by {SIGNS[sep]}"
    some = pd.read_csv(path, sep=sep, encoding=encoding, dtype=str, nrows=SEVERAL)
    head = pd.read_csv(path, sep=sep, encoding=encoding, dtype=str, nrows=1, header=None).iloc[0].dropna()
    decimals = [decimal for name in some if (decimal := decimal_of(some[name].dropna()))]
    commas, points = decimals.count(","), decimals.count(".")
    all_words = commas > points or (sep == ";" and not points and bool(decimals))
    said = ", ".join(filter(None, (said, "decimal commas" if all_words else "")))
    how: dict[str, Any] = {"sep": sep, "encoding": encoding, **({"dtype": str} if all_words else {})}
    frame = pd.read_csv(path, **how)
    coded = [name for name in frame if name in some and _differ_by_zeros(some[name].dropna())]
    if wordy := [name for name in frame if name in coded or _has_gaps_in_words(frame[name], all_words)]:
        text = pd.read_csv(path, **{**how, "dtype": str}, keep_default_na=False, na_values=list(NEVER))
        frame = frame.assign(**{name: text[name].array for name in wordy})
    return Table(frame, (said,) if said else (), all_words, tuple(head[head.duplicated()].unique()))


def _differ_by_zeros(words: pd.Series) -> bool:
    """Whether some differ by zeros in front alone, as the codes 01 and 1, which are no numbers then."""
    if not (zeros := words.str.fullmatch(r"0\d+")).any():
        return False
    return words.nunique() > words.where(~zeros, words.str.lstrip("0").replace("", "0")).nunique()


def _has_gaps_in_words(column: pd.Series, commas: bool) -> bool:
    """Whether cells are missing in a column of words: no numbers, dates, or True and False, whose NA is no word."""
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
    path = check_path("source", path)
    with reading(path, "an .npz", "what numpy.savez wrote"):
        _check_unpacked(path)
        with np.load(path, allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive.files}
    for name in (target, *drop, *([] if groups is None else [groups])):
        if name not in held:
            raise ArgumentError(f"there is no array {shown(name)} in {path}; there are {listed(list(held), name)}")
    inputs = {name: array for name, array in held.items() if name not in (target, groups, *drop)}
    if not inputs:
        raise ArgumentError(f"{path} has no array of inputs beside {listed(list(held))}; give one that has")
    X = next(iter(inputs.values())) if len(inputs) == 1 else inputs
    return X, held[target], None if groups is None else held[groups]
