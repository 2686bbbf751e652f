"""Tables: numbers, dates, categories and missing values made into numbers, by rules of the training rows alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lab.data.arrays import are_labels, counts_rows, is_numbering, plain
from lab.data.files import DATE, ENOUGH, decimal_of, numerals
from lab.errors import ArgumentError, listed, shown

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

MOST_LEVELS = 50  # of a column of words: where there are more, it is no category
MOST_LABELS = 20  # of a column of plain whole numbers in words: where there are more, they are numbers
LARGEST = 1e150  # of a number that is scaled: its square has to be a float
DATES = ("drop", "ordinal", "parts")
INDICATOR = "missingindicator_"  # before the name of a column: whether its number is missing
NO_COLUMN = " (none of these rows has such a gap, so that no column says so)"


def divided(
    table: pd.DataFrame, target: str, drop: Sequence[str], keep: Sequence[str], dates: str, commas: bool
) -> tuple[pd.DataFrame, np.ndarray, list[str], np.ndarray]:
    """Columns to learn from, the target, what was left out, a line each, and which rows of the table have a target.

    keep: columns that stay though they count the rows or have many different words. dates: see `_dates`. commas:
    whether the file has decimal commas.
    """
    columns = list(map(str, table.columns))
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ArgumentError(f"{columns.count(twice)} columns are called {shown(twice)}; give each a name of its own")
    table = table.set_axis(columns, axis=1)
    for name in (target, *drop, *keep):
        if name not in columns:
            raise ArgumentError(f"there is no column {shown(name)}; there are {listed(columns, name)}")
    notes, known = [], ~_blank(table[target])
    if missing := int((~known).sum()):
        notes.append(f"{missing} rows without {target} were left out")
    inputs = table.drop(columns=list({target, *drop}))
    inputs, said = _without_numbering(inputs, keep)
    notes += said
    table, inputs = table[known].reset_index(drop=True), inputs[known].reset_index(drop=True)
    inputs, said = _dates(_typed(inputs), dates)
    notes += said
    inputs, said = _with_numbers(inputs, commas)
    notes, words = notes + said, {}
    for name in inputs:
        column = inputs[name]
        if column.isna().all():
            words[name] = "empty"
        elif column.nunique() < 2 and not column.isna().any():
            words[name] = "one value"
        elif not _is_number(column) and column.nunique() > MOST_LEVELS and name not in keep:
            words[name] = f"{column.nunique()} different words"
    if words:
        notes.append(f"columns left out: {', '.join(f'{name} ({why})' for name, why in words.items())}")
        inputs = inputs.drop(columns=list(words))
    if not len(table) or not inputs.shape[1]:
        size, why = f"{len(table)} rows and {inputs.shape[1]} columns", f" ({'; '.join(notes)})" if notes else ""
        raise ArgumentError(f"the table has {size} to learn from{why}; give more")
    notes += filter(None, (_sentinel(name, inputs[name]) for name in inputs))
    values = table[target]
    if pd.api.types.is_timedelta64_dtype(values):
        values, notes = values / pd.Timedelta(days=1), [*notes, f"{target} was read as days"]
    if pd.api.types.is_datetime64_any_dtype(values):
        raise ArgumentError(f"{target} holds dates; give numbers to predict, such as days, or classes, such as months")
    if missing and pd.api.types.is_float_dtype(values) and are_labels(values.to_numpy(float)):
        values = values.astype(np.int64)  # pandas has no gaps among whole numbers
        notes.append(f"{target} was read as whole numbers")
    return inputs, values.to_numpy() if _is_number(values) else _words(values, commas), notes, known


def _sentinel(name: str, column: pd.Series) -> str:
    """A line where a number as -999 may stand for no number: far from all others, and there several times."""
    if not _is_number(column) or not len(there := column.dropna().astype(float)):
        return ""
    value = float(there.mode().iloc[0])
    others, count = there[there != value], int((there == value).sum())
    if count < 2 or len(others) < 2 or not re.fullmatch(r"-?9{2,}", f"{value:g}"):
        return ""
    low, high = others.min(), others.max()
    if low - (high - low) < value < high + (high - low):
        return ""
    said = f"{name} is {value:g} in {count} rows and else from {low:g} to {high:g}"
    return f"{said}: where that stands for no number, leave the cell empty"


def _blank(column: pd.Series) -> np.ndarray:
    """Which cells are missing, or have words without a letter, (N,) bool."""
    there = column.notna().to_numpy()
    return ~there if _is_number(column) else ~there | (column.astype(str).str.strip() == "").to_numpy()


def _words(column: pd.Series, commas: bool) -> np.ndarray:
    """Python's numbers as such, and those of a file with decimal commas; else words. Whole ones are labels."""
    values = plain(column.to_numpy(dtype=object))
    if values.dtype != object:
        return values.astype(np.int64) if values.dtype.kind == "f" and are_labels(values) else values
    read = numerals(column, commas) if commas else None
    if read is None or read.wrong:
        return column.astype(str).to_numpy()
    return read.values.astype(np.int64) if read.is_whole else read.values


def _without_numbering(inputs: pd.DataFrame, keep: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Without columns that number the rows, by their names or since they count them one by one; and a line."""
    named = [name for name in inputs if name not in keep and is_numbering(name, inputs[name])]
    counting = [name for name in inputs if name not in (*keep, *named) and counts_rows(inputs[name].to_numpy())]
    if counting and len(named) + len(counting) == inputs.shape[1]:  # a small example, as of x and y
        return inputs.drop(columns=named), [f"{', '.join(counting)} counts the rows, and is all that there is to read"]
    if not (out := [*named, *counting]):
        return inputs, []
    said = f"columns that number the rows were left out: {', '.join(out)}; keep={out} reads them"
    return inputs.drop(columns=out), [said]


def _typed(inputs: pd.DataFrame) -> pd.DataFrame:
    """Cells of Python's numbers as numbers, times between as days. ArgumentError for cells that are no values."""
    made = {}
    for name in inputs:
        column = inputs[name]
        if held := next((type(value).__name__ for value in column if isinstance(value, (list, dict, set))), None):
            raise ArgumentError(f"column {name!r} holds a {held} in a cell; give numbers or words, or drop=[{name!r}]")
        if pd.api.types.is_complex_dtype(column):
            raise ArgumentError(f"column {name!r} holds complex numbers; give their parts, or drop=[{name!r}]")
        if pd.api.types.is_timedelta64_dtype(column):
            made[name] = column / pd.Timedelta(days=1)
        elif isinstance(column.dtype, pd.PeriodDtype):
            made[name] = column.dt.to_timestamp()
        elif column.dtype == object and (values := plain(column.to_numpy())).dtype.kind in "iuf":
            made[name] = values
    return inputs.assign(**made)


def _dates(inputs: pd.DataFrame, dates: str) -> tuple[pd.DataFrame, list[str]]:
    """Columns of dates left out ("drop"), as days since 1970 ("ordinal"), or as year, month, day, weekday and, where
    there are times, hour ("parts"); and a line."""
    columns = {name: read for name in inputs if (read := _as_dates(inputs[name])) is not None}
    if not columns:
        return inputs, []
    names = [name + order for name, (_, order) in columns.items()]
    made = {}
    for name, (times, _) in columns.items():
        if dates == "ordinal":
            made[name] = (times - pd.Timestamp(0).as_unit(times.dt.unit)) / pd.Timedelta(days=1)
        elif dates == "parts":
            parts = {part: getattr(times.dt, part) for part in ("year", "month", "day")}
            parts["weekday"] = times.dt.day_of_week
            parts["hour"] = (times - times.dt.normalize()) / pd.Timedelta(hours=1)
            made |= {f"{name}_{part}": column.astype(float) for part, column in parts.items() if column.nunique() > 1}
    what = {
        "drop": "left out: dates='ordinal' reads days, dates='parts' year, month, day and weekday",
        "ordinal": "read as days since 1970",
        "parts": "read as year, month, day, weekday and hour, those that differ",
    }[dates]
    others = inputs.drop(columns=list(columns))
    if twice := [name for name in made if name in others]:
        cure = "rename it, or have dates='ordinal'"
        raise ArgumentError(f"dates='parts' makes a column {shown(twice[0])}, and the table has one; {cure}")
    return others.assign(**made), [f"dates ({', '.join(names)}) were {what}"]


def _as_dates(column: pd.Series) -> tuple[pd.Series, str] | None:
    """A column of dates as times without a zone, NaT where there are none; and in which order words have day and month,
    where it is a guess."""
    order, there = "", column.dropna()
    if _is_number(column) or not len(there) or isinstance(column.dtype, pd.CategoricalDtype):
        return None
    if not pd.api.types.is_datetime64_any_dtype(column) and pd.api.types.infer_dtype(there) not in ("datetime", "date"):
        words = there.astype(str).str.strip()
        if words.str.fullmatch(DATE).mean() < ENOUGH:
            return None
        parts = words.str.extract(r"^(\d{1,2})([-/.])(\d{1,2})[-/.]\d").dropna()
        first, second = parts[0].astype(int), parts[2].astype(int)
        by_day = bool((first > 12).any() or (not (second > 12).any() and (parts[1] == ".").any()))
        order = "" if not len(parts) else ", day first" if by_day else ", month first"
        column = pd.to_datetime(column.astype(object), errors="coerce", format="mixed", dayfirst=by_day, utc=True)
        if column.notna().sum() < ENOUGH * len(there):
            return None
    times = pd.to_datetime(column, errors="coerce", utc=True).dt.tz_localize(None)
    return times, order


def _with_numbers(inputs: pd.DataFrame, commas: bool) -> tuple[pd.DataFrame, list[str]]:
    """Columns of words that are numbers nearly all as such, the words missing; and a line for each.

    Plain numbers in words are categories where they are whole and few, or begin with a 0, as codes do. commas: the file
    has decimal commas, and all its cells are words.
    """
    notes, made = [], {}
    known = {name: inputs[name][~_blank(inputs[name])] for name in inputs if not _is_number(inputs[name])}
    known = {name: there for name, there in known.items() if there.nunique() > 1 and not _is_bool(there)}
    decimals = [] if commas else [decimal_of(there) for there in known.values()]
    with_comma = commas or decimals.count(",") > decimals.count(".")
    for name, there in known.items():
        read = numerals(there, with_comma)
        if read is None:
            continue
        few = read.is_whole and there.nunique() <= MOST_LABELS
        is_category = few or str(there.dtype) == "category" or there.astype(str).str.match(r"0\d").any()  # 00123
        if read.is_plain and is_category and not commas:
            continue
        made[name] = np.full(len(inputs), np.nan)
        made[name][inputs.index.get_indexer(there.index)] = read.values
        taken = " taken as missing" if read.wrong else ""
        how = f", {read}{taken}" if not read.is_plain else ""
        if read.wrong or not commas:
            notes.append(f"{name} was read as numbers{how}; drop=[{name!r}] leaves it out")
    return inputs.assign(**made), notes


def numbers(inputs: pd.DataFrame, training: np.ndarray) -> tuple[np.ndarray, list[str], list[str]]:
    """Rows of numbers (N, D), the names of their columns, and what was done, a line each.

    Numbers are shifted and scaled to mean 0 and standard deviation 1; where some are missing, by the median, and a
    column says so. Words become a column a category. All of it by what the rows `training` say.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    inputs = inputs.copy()
    plain = [name for name in inputs if _is_number(inputs[name])]
    words = [name for name in inputs if name not in plain]
    for name in words:
        inputs[name] = pd.Series(np.where(_blank(inputs[name]), "missing", inputs[name].astype(str)), dtype=object)
    inputs[plain] = inputs[plain].astype(float).replace([np.inf, -np.inf], np.nan)
    for name in plain:
        check_size(name, inputs[name].to_numpy())
    gaps = inputs[plain].isna().sum()
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    fill = make_pipeline(imputer, StandardScaler())
    code = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    made = ColumnTransformer([("numbers", fill, plain), ("words", code, words)], verbose_feature_names_out=False)
    made.fit(inputs.iloc[training])
    with np.errstate(over="ignore"):  # of what is too large for float32
        matrix = made.transform(inputs).astype(np.float32)
    columns = _distinct(plain, words, made)
    _check_held(matrix, columns)
    notes = [f"{_columns(plain)} of numbers, each to mean 0 and standard deviation 1 on the training rows"]
    if missing := {name: int(count) for name, count in gaps.items() if count}:
        there = [name for name in missing if f"{INDICATOR}{name}" in columns]
        for names, how in (
            (there, ", with a column that says so"),
            ([n for n in missing if n not in there], NO_COLUMN),
        ):
            if said := ", ".join(f"{name} {missing[name]}" for name in names):
                notes.append(f"missing numbers filled by the median of the training rows{how}: {said}")
    if words:
        categories = made.named_transformers_["words"].categories_
        levels = ", ".join(f"{name} {len(kinds)}" for name, kinds in zip(words, categories, strict=True))
        notes.append(f"{_columns(words)} of words, a column for each category (missing is one): {levels}")
    return matrix, columns, notes


def _distinct(plain: Sequence[str], words: Sequence[str], made: ColumnTransformer) -> list[str]:
    """The names of the columns that are made of these. ArgumentError where two have one."""
    indicator = made.named_transformers_["numbers"][0].indicator_ if plain else None
    gaps = indicator.features_.tolist() if indicator is not None else []
    names = [*plain, *(f"{INDICATOR}{plain[number]}" for number in gaps)]
    categories = made.named_transformers_["words"].categories_ if words else []
    names += [f"{name}_{kind}" for name, kinds in zip(words, categories, strict=True) for kind in kinds]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        said = "words have a column for each category (NAME_CATEGORY), and numbers with gaps one more"
        raise ArgumentError(f"two columns would be called {shown(twice[0])}: {said}; rename a column of the table")
    return names


def _check_held(matrix: np.ndarray, columns: Sequence[str]) -> None:
    if len(large := np.argwhere(~np.isfinite(matrix))):
        row, column = large[0].tolist()
        said = f"row {row} has a number in column {columns[column]!r} that is over 1e38 standard deviations off"
        raise ArgumentError(f"{said}, more than float32 holds; drop this row, or correct it")


def check_size(name: str, values: np.ndarray) -> None:
    """Raise ArgumentError where a number is so large that its square, for a standard deviation, is infinite."""
    if len(large := np.flatnonzero(np.abs(values) > LARGEST)):
        said = f"column {name!r} has {values[large[0]]:g} in row {large[0]}"
        raise ArgumentError(f"{said}, whose square no float holds; drop this row, or correct it")


def _is_number(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column)) and not bool(pd.api.types.is_bool_dtype(column))


def _is_bool(column: pd.Series) -> bool:
    return bool(pd.api.types.is_bool_dtype(column)) or pd.api.types.infer_dtype(column) == "boolean"


def _columns(names: Sequence[object]) -> str:
    return f"{len(names)} {'column' if len(names) == 1 else 'columns'}"
