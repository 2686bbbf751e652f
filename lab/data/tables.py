"""Tables: numbers, categories and missing values made into numbers, by rules of the training rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.data.numerals import numerals
from lab.errors import ArgumentError, listed, shown

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 50  # of a column of words: where there are more, it is no category


def divided(table: pd.DataFrame, target: str, drop: Sequence[str]) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Columns to learn from, the target, and what was left out, a line each."""
    columns = [str(column) for column in table.columns]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ArgumentError(f"{columns.count(twice)} columns are called {shown(twice)}; give each a name of its own")
    table = table.set_axis(columns, axis=1)
    for name in (target, *drop):
        if name not in columns:
            raise ArgumentError(f"there is no column {shown(name)}; there are {listed(columns, name)}")
    notes, known = [], table[target].notna()
    if missing := int((~known).sum()):
        notes.append(f"{missing} rows without {target} were left out")
    table = table[known].reset_index(drop=True)
    inputs = table.drop(columns=[target, *drop])
    for name in inputs:
        if held := next((type(value).__name__ for value in inputs[name] if isinstance(value, (list, dict, set))), None):
            raise ArgumentError(f"column {name!r} holds a {held} in a cell; give numbers or words, or drop=[{name!r}]")
    inputs, said = _with_numbers(inputs)
    notes, words = notes + said, []
    for name in inputs:
        column = inputs[name]
        if column.isna().all():
            words.append(f"{name} (empty)")
        elif column.nunique() < 2 and not column.isna().any():
            words.append(f"{name} (one value)")
        elif not _is_number(column) and column.nunique() > MOST_LEVELS:
            words.append(f"{name} ({column.nunique()} different words)")
    if words:
        notes.append(f"columns left out: {', '.join(words)}")
        inputs = inputs.drop(columns=[word.rpartition(" (")[0] for word in words])
    if not len(table) or not inputs.shape[1]:
        raise ArgumentError(f"the table has {len(table)} rows and {inputs.shape[1]} columns to learn from; give more")
    values = table[target]
    return inputs, values.to_numpy() if _is_number(values) else values.astype(str).to_numpy(), notes


def _with_numbers(inputs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Columns of words that are numbers nearly all as such, the words missing; and a line for each."""
    notes, made = [], {}
    for name in inputs:
        there = inputs[name].notna().to_numpy()
        if _is_number(inputs[name]) or inputs[name].nunique() < 2:
            continue
        if read := numerals(inputs[name][there]):
            made[name] = np.full(len(inputs), np.nan)
            made[name][there] = read.values
            taken = " taken as missing" if read.wrong else ""
            notes.append(f"{name} was read as numbers, {read}{taken}; drop=[{name!r}] leaves it out")
    return inputs.assign(**made), notes


def numbers(inputs: pd.DataFrame, training: np.ndarray) -> tuple[np.ndarray, list[str], list[str]]:
    """Rows of numbers (N, D), the names of their columns, and what was done, a line each.

    Numbers are shifted and scaled to mean 0 and standard deviation 1; where some are missing, by the median, and a
    column says so. Words become a column a category. All of it by what the rows `training` say.
    """
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    inputs = inputs.copy()
    plain = [name for name in inputs if _is_number(inputs[name])]
    words = [name for name in inputs if name not in plain]
    for name in words:
        inputs[name] = pd.Series(np.where(inputs[name].isna(), "missing", inputs[name].astype(str)), dtype=object)
    inputs[plain] = inputs[plain].astype(float).replace([np.inf, -np.inf], np.nan)
    gaps = inputs[plain].isna().sum()
    fill = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
    )
    code = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    made = ColumnTransformer([("numbers", fill, plain), ("words", code, words)], verbose_feature_names_out=False)
    made.fit(inputs.iloc[training])
    matrix = made.transform(inputs).astype(np.float32)
    notes = [f"{_columns(plain)} of numbers, each to mean 0 and standard deviation 1 on the training rows"]
    if missing := {name: int(count) for name, count in gaps.items() if count}:
        said = ", ".join(f"{name} {count}" for name, count in missing.items())
        notes.append(f"missing numbers filled by the median of the training rows, with a column that says so: {said}")
    if words:
        levels = ", ".join(f"{name} {len(kinds)}" for name, kinds in zip(words, _kinds(made), strict=True))
        notes.append(f"{_columns(words)} of words, a column for each category (missing is one): {levels}")
    return matrix, [str(name) for name in made.get_feature_names_out()], notes


def _kinds(made: Any) -> list[np.ndarray]:
    return made.named_transformers_["words"].categories_


def _is_number(column: pd.Series) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column)) and not bool(pd.api.types.is_bool_dtype(column))


def _columns(names: Sequence[object]) -> str:
    return f"{len(names)} {'column' if len(names) == 1 else 'columns'}"
