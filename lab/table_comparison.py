"""Comparisons of numbers that were trained elsewhere; what does not fit is refused, what is left out is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from math import nan
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.data import files
from lab.differences import Difference, adjusted, check_level, difference_of, interval_of, paragraph, scaled
from lab.errors import ArgumentError, check_choice, listed, shown
from lab.plots import go
from lab.simultaneous import p_value

BETTER = {"higher": 1, "lower": -1}


@dataclass(frozen=True, eq=False)
class TableComparison:
    """The result of `lab.Comparison.from_table`, which has an example.

    table: one row a run: function, seed, value (in the metric's own unit, NaN where there is none), and with `pair_by`
        the pair. notes: what one should know of it, a line each. better: 1 where more is, -1 where less is; 0: unsaid.
    """

    table: pd.DataFrame
    group: str
    metric: str
    pair_by: str | None
    baseline: str
    notes: tuple[str, ...]
    better: int = 0

    @property
    def functions(self) -> list[str]:
        """Names of the groups, the baseline first."""
        return list(dict.fromkeys([self.baseline, *self.table["function"]]))

    def difference(self, a: str, b: str | None = None, level: float = 0.95) -> Difference:
        """How much more group a has than group b (default: the baseline), in the metric's own unit, with its interval.

        level: of the interval, above 0 and below 1. Without `pair_by` it is that of `lab.compare`; with it, Student's t
        over the differences of pairs, of means where a group has several seeds in one. Raises ArgumentError for a name
        that is not in the table.
        """
        a, b = files.word_of(a), self.baseline if b is None else files.word_of(b)
        for name, given in (("a", a), ("b", b)):
            check_choice(name, given, self.functions)
        if a == b:
            raise ArgumentError(f"a and b are both {shown(a)}; name two groups of {listed(self.functions)}")
        check_level(level)
        what = f"{self.metric}, {a} minus {b}"
        values = self._values()
        groups = {name: values[name] for name in (a, b)}
        empty = tuple(name for name in (a, b) if not np.isfinite(values[name][0]).any())
        has = "has no finite value; fill in its" if len(empty) == 1 else "have no finite value; fill in their"
        lacking = f"{' and '.join(empty)} {has} numbers, or drop the rows" if empty else ""
        if self.pair_by is None:
            return replace(difference_of(groups, "seeds", level, what), lacking=lacking)
        factor = scaled(groups)[1]
        means = self._pairs(a, b, factor)
        if not empty and not len(means):
            raise ArgumentError(
                f"{a} and {b} have no {self.pair_by} in common; leave pair_by out, or name another column"
            )
        estimate = estimates.mean(means[a] - means[b], f"pairs by {self.pair_by}", f"values of {self.pair_by}")
        estimate = estimates.unless_equal(estimate.mapped(lambda value: value / factor))
        low, high = estimate.interval(level)
        p = nan if np.isnan(low) else p_value(estimate)
        return Difference(
            estimate.effect, low, high, estimate.n, estimate.over, estimate.covers, level, what, "", empty, lacking, p
        )

    def report(self, level: float = 0.95, simultaneous: bool = False) -> str:
        """A paragraph for a paper: how many runs, means, differences from the baseline with their intervals and
        p-values, how these are made, which groups are better (where `better` was given), and what the intervals cover.

        level: of the intervals. simultaneous: as of `Comparison.report`."""
        values, paired = self._values(), self.pair_by is not None
        differences = {}
        for name in self.functions[1:]:
            kind = interval_of({name: values[name], self.baseline: values[self.baseline]})
            kind = "Student's t over differences of pairs" if paired else kind
            differences[name] = self.difference(name, level=level), kind
        why = ""
        if simultaneous:

            def again(name: str, level: float) -> Difference:
                return self.difference(name, level=level)

            differences, why = adjusted(differences, values, self.baseline, level, again, paired)
        pairs = f"pairs by {self.pair_by}" if paired else "runs, taken as independent"
        head = f"{self.metric} was compared by {self.group}, over {pairs}."
        text = paragraph(head, values, differences, "", self.better, why)
        means = self._means_of_pairs() if self.pair_by is not None else []
        return " ".join([text, *means, *(f"{note[:1].upper()}{note[1:]}." for note in self.notes)])

    def plot(self) -> go.Figure:
        """Every run, and the mean of each group with its own interval."""
        from lab.plots.learning_curves import draw_scores

        order = pd.Categorical(self.table["function"], self.functions)
        return draw_scores(self.table.iloc[np.argsort(order.codes, kind="stable")], self.metric)

    def __repr__(self) -> str:
        counts = self.table.groupby("function", sort=False).size()
        head = f"Comparison of {self.metric} by {self.group}: "
        lines = [head + ", ".join(f"{name} ({counts[name]} runs)" for name in self.functions)]
        return "\n".join([*lines, *(str(self.difference(name)) for name in self.functions[1:]), *self.notes])

    def _pairs(self, a: str, b: str, factor: float) -> pd.DataFrame:
        """The means of two groups, times a factor, in each pair that both have: a row a pair."""
        known = self.table[np.isfinite(self.table["value"])]
        known = known.assign(value=factor * known["value"])
        means = known.groupby(["pair", "function"], sort=False)["value"].mean().unstack()
        return means.reindex(columns=[a, b]).dropna()

    def _means_of_pairs(self) -> list[str]:
        """A sentence for each difference whose pairs have other means than all runs: as where a pair lacks one."""
        values, sentences = self._values(), []
        for name in self.functions[1:]:
            pair = (name, self.baseline)
            factor = scaled({one: values[one] for one in pair})[1]
            means = self._pairs(*pair, factor)
            runs = [estimates.finite(factor * values[one][0]) for one in pair]
            if len(means) and any(
                f"{means[one].mean():.4g}" != f"{v.mean():.4g}" for one, v in zip(pair, runs, strict=True)
            ):
                said = " and ".join(f"{one} {means[one].mean() / factor:.4g}" for one in pair)
                number = f"{len(means)} value{'s' * (len(means) != 1)} of {self.pair_by} that both have"
                sentences.append(f"The means above are over all runs; over the {number} they are {said}.")
        return sentences

    def _values(self) -> dict[str, list[np.ndarray]]:
        """By group all its values, in the form of those of one search."""
        groups = self.table.groupby("function", sort=False)["value"]
        return {name: [groups.get_group(name).to_numpy()] for name in self.functions}


def scores_of(
    source: str | Path | pd.DataFrame, group: str, seed: str, metric: str, pair_by: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """One row a run: function, seed, value (NaN where there is none), and with pair_by the pair; and what one should
    know of them, a line each.

    ArgumentError for columns that are not there, rows without a group, seed or pair, text among the numbers, several
    rows of one run, and a single group.
    """
    read = files.table(source)
    frame = read.frame
    roles = {"group": group, "seed": seed, "metric": metric} | ({} if pair_by is None else {"pair_by": pair_by})
    for role, column in roles.items():
        more = f"; {read.notes[0]}" if isinstance(source, pd.DataFrame) and read.notes else ""
        check_choice(role, column, list(frame.columns), more)
    apart = [group, seed, metric, *([pair_by] if pair_by not in (None, seed) else [])]
    if len(set(apart)) < len(apart):
        said = ", ".join(f"{role}={column!r}" for role, column in roles.items())
        raise ArgumentError(f"{said}: each is a column of its own; pair_by alone can be that of the seeds")
    if twice := [column for column in apart if column in read.repeated or list(frame.columns).count(column) > 1]:
        raise ArgumentError(f"several columns are named {twice[0]!r}; give each a name of its own")
    merged: list[str] = []
    for column in dict.fromkeys([group, seed, *([pair_by] if pair_by else [])]):
        words, lines = _as_words(frame[column])
        frame, merged = frame.assign(**{column: words}), [*merged, *lines]
    for role, column in roles.items():
        if role != "metric" and (missing := int((frame[column].isna() | frame[column].astype(str).eq("")).sum())):
            raise ArgumentError(f"{column!r} is empty in {missing} of {len(frame)} rows; fill or drop them")
    values = _numbers(_with_points(frame[metric], metric) if read.commas else frame[metric], metric)
    keys = list(dict.fromkeys([group, seed, *([pair_by] if pair_by else [])]))
    if (repeated := frame.duplicated(keys, keep=False)).any():
        raise ArgumentError(_repeated(frame[repeated], keys, metric, pair_by))
    scores = pd.DataFrame({"function": frame[group].astype(str), "seed": frame[seed], "value": values})
    if pair_by is not None:
        scores["pair"] = frame[pair_by]
    scores = scores.reset_index(drop=True)
    functions = list(dict.fromkeys(scores["function"]))
    guessed = [] if isinstance(source, pd.DataFrame) else [f"how the file was read: {note}" for note in read.notes]
    if len(functions) < 2:
        there = functions[0] if functions else "empty"
        raise ArgumentError(f"group={group!r} is {there} alone; give rows of at least two to compare")
    return scores, [*guessed, *merged, *_notes(scores, metric, seed, pair_by)]


def _as_words(column: pd.Series) -> tuple[pd.Series, list[str]]:
    """Names of groups, seeds or pairs as words without spaces around them, where they are not all numbers or dates; and
    which of them are taken as one, a line each."""
    types = pd.api.types
    if types.is_numeric_dtype(column) or types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return column, []
    for cell in column:
        if not types.is_hashable(cell) or (hasattr(cell, "shape") and not isinstance(cell, np.generic)):
            raise ArgumentError(f"{column.name!r} has {shown(cell)}; give words or numbers, such as str() of each")
    words = [_word(cell) for cell in column]
    forms: dict[str, dict[str, None]] = {}
    for word, cell in zip(words, column, strict=True):
        forms.setdefault(word, {})[str(word) if isinstance(cell, Real) else shown(cell)] = None
    several = [" and ".join(forms[word]) for word in forms if len(forms[word]) > 1]
    said = [f"{column.name}: {listed(several)} are taken as one"] if several else []
    return pd.Series(words, column.index, dtype=object, name=column.name), said


def _word(cell: Any) -> Any:
    if pd.api.types.is_scalar(cell) and pd.isna(cell):
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _with_points(column: pd.Series, metric: str) -> pd.Series:
    """Words of a file with decimal commas as numbers. ArgumentError where 1.234 may be 1234."""
    words = column.dropna().astype(str)
    words = words[words.str.contains("[.,]")]
    if not len(words):
        return column
    how = "read it with pandas.read_csv(path, sep=..., decimal=...), and give that table"
    points = words[words.str.contains(".", regex=False)]
    if len(points) and files.decimal_of(words) == "?":
        raise ArgumentError(
            f"metric={metric!r}: whether {points.iloc[0]} has decimals or thousands is not clear; {how}"
        )
    numbers = files.numerals(words, commas=True)
    if numbers is None or numbers.wrong or not numbers.marks.keys() <= {"decimal commas", "points between thousands"}:
        example = numbers.words[0] if numbers is not None and numbers.wrong else words.iloc[0]
        raise ArgumentError(f"metric={metric!r} has {shown(example)} in a file with decimal commas; {how}")
    return column.astype(object).where(~column.index.isin(words.index), pd.Series(numbers.values, words.index))


def _numbers(column: pd.Series, metric: str) -> np.ndarray:
    """The values of a column, which may be missing or infinite."""
    cells = column.astype(object)
    wrong = [cell for cell in cells if not _is_number(cell)]
    if column.dtype.kind in "mM" and not wrong:  # no date at all
        wrong = list(cells[:1])
    if not wrong:
        try:
            numbers = pd.to_numeric(column, errors="coerce")
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(f"metric={metric!r} has no real numbers alone ({error}); give such a column") from error
        there = column[numbers.isna() & column.notna()]
        wrong = [cell for cell in there if str(cell).strip().lower() != "nan"]
        if not wrong:
            return numbers.to_numpy(float, na_value=np.nan)
    how = "give a column of real numbers, without signs"
    if isinstance(wrong[0], (bool, np.bool_)):
        how += ", such as 1 and 0 for True and False: .astype(float)"
    elif isinstance(wrong[0], timedelta):
        how += ", such as seconds: .dt.total_seconds()"
    elif isinstance(wrong[0], str) and "," in wrong[0]:
        how += "; pandas.read_csv(path, sep=';', decimal=',') reads decimal commas"
    elif hasattr(wrong[0], "item"):
        how += ", such as .item() of each"
    raise ArgumentError(f"metric={metric!r} has {shown(wrong[0])}; {how}")


def _is_number(cell: Any) -> bool:
    """Whether a cell is a real number, missing, or a text, which may be one."""
    if isinstance(cell, (bool, np.bool_, np.timedelta64)):
        return False
    return cell is None or cell is pd.NA or cell is pd.NaT or isinstance(cell, (Real, Decimal, str, bytes))


def _repeated(rows: pd.DataFrame, keys: list[str], metric: str, pair_by: str | None) -> str:
    """What is said of several rows of one run: which column tells them apart, if there is one."""
    first = rows[(rows[keys] == rows[keys].iloc[0]).all(axis=1)]
    run = ", ".join(f"{key} {shown(first[key].iloc[0])}" for key in keys)
    said = f"{run} has {len(first)} rows of {metric}"
    for column in rows.columns.difference([*keys, metric], sort=False):
        if not rows.duplicated([*keys, column]).any():
            values = [shown(value) for value in first[column]]
            pairs = f", or give pair_by={column!r} where it is a task or a split" if pair_by is None else ""
            one = f"table[table[{column!r}] == {values[-1]}]"
            return f"{said}, of {column} {listed(values)}: keep one, as {one}{pairs}"
    return f"{said}; give one row a run"


def _notes(scores: pd.DataFrame, metric: str, seed: str, pair_by: str | None) -> list[str]:
    known, notes = np.isfinite(scores["value"]), []
    if not known.all():
        who = [f"{name} ({int(count)})" for name, count in scores[~known]["function"].value_counts(sort=False).items()]
        notes.append(
            f"{int((~known).sum())} of {len(scores)} values of {metric} are missing or not finite, and are "
            f"left out: {listed(who)}"
        )
    runs = scores[known].groupby("function", sort=False)["seed"].nunique()
    if pair_by is not None:
        cells = scores[known].groupby(["pair", "function"]).size().unstack()
        if partial := [str(pair) for pair in cells.index[cells.isna().any(axis=1)]]:
            notes.append(f"{pair_by} {listed(partial)}: not of all, and left out of differences that lack one")
    elif runs.nunique() > 1:
        notes.append(f"numbers of {seed} differ: {listed([f'{name} {count}' for name, count in runs.items()])}")
    return notes
