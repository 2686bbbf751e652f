"""Comparisons of numbers that were trained elsewhere; what does not fit is refused, what is left out is said."""

from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd

from lab import estimates
from lab.data import files
from lab.differences import Difference, check_level, difference_of, interval_of, paragraph
from lab.errors import ArgumentError, check_choice, listed, shown
from lab.plots import go


@dataclass(frozen=True, eq=False)
class TableComparison:
    """The result of `lab.Comparison.from_table`, which has an example.

    table: one row a run: function, seed, value (in the metric's own unit, NaN where there is none), and with `pair_by`
        the pair. notes: what one should know of it, a line each.
    """

    table: pd.DataFrame
    group: str
    metric: str
    pair_by: str | None
    baseline: str
    notes: tuple[str, ...]

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
        b = self.baseline if b is None else b
        for name, given in (("a", a), ("b", b)):
            check_choice(name, given, self.functions)
        if a == b:
            raise ArgumentError(f"a and b are both {shown(a)}; name two groups of {listed(self.functions)}")
        check_level(level)
        what = f"{self.metric}, {a} minus {b}"
        values = self._values()
        if self.pair_by is None:
            return difference_of({name: values[name] for name in (a, b)}, "seeds", level, what)
        known = self.table[np.isfinite(self.table["value"])]
        means = known.groupby(["pair", "function"], sort=False)["value"].mean().unstack().reindex(columns=[a, b])
        empty = tuple(name for name in (a, b) if not len(estimates.finite(values[name][0])))
        if not empty and not means.notna().all(axis=1).any():
            raise ArgumentError(
                f"{a} and {b} have no {self.pair_by} in common; leave pair_by out, or name another column"
            )
        estimate = estimates.mean(means[a] - means[b], f"pairs by {self.pair_by}", f"values of {self.pair_by}")
        low, high = estimate.interval(level)
        low, high = (nan, nan) if low == high else (low, high)
        return Difference(
            estimate.effect, low, high, estimate.n, estimate.over, estimate.covers, level, what, "", empty
        )

    def report(self, level: float = 0.95) -> str:
        """A paragraph for a paper: how many runs, means, differences from the baseline with their intervals, how these
        are made, and what they cover. level: of the intervals."""
        values, others = self._values(), self.functions[1:]
        differences = []
        for name in others:
            kind = interval_of({name: values[name], self.baseline: values[self.baseline]})
            paired = "Student's t over differences of pairs" if self.pair_by is not None else kind
            differences.append((self.difference(name, level=level), paired))
        text = paragraph(f"{self.metric} was compared by {self.group}.", values, differences, "")
        return " ".join([text, *(f"{note[:1].upper()}{note[1:]}." for note in self.notes)])

    def plot(self) -> go.Figure:
        """Every run, and the mean of each group with its own interval."""
        from lab.plots.scores import draw_scores

        order = pd.Categorical(self.table["function"], self.functions)
        return draw_scores(self.table.iloc[np.argsort(order.codes, kind="stable")], self.metric)

    def __repr__(self) -> str:
        counts = self.table.groupby("function", sort=False).size()
        head = f"Comparison of {self.metric} by {self.group}: "
        lines = [head + ", ".join(f"{name} ({counts[name]} runs)" for name in self.functions)]
        return "\n".join([*lines, *(str(self.difference(name)) for name in self.functions[1:]), *self.notes])

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
    frame = files.table(source).frame
    roles = {"group": group, "seed": seed, "metric": metric} | ({} if pair_by is None else {"pair_by": pair_by})
    for role, column in roles.items():
        check_choice(role, column, [str(name) for name in frame.columns])
    apart = [group, seed, metric, *([pair_by] if pair_by not in (None, seed) else [])]
    if len(set(apart)) < len(apart):
        said = ", ".join(f"{role}={column!r}" for role, column in roles.items())
        raise ArgumentError(f"{said}: each is a column of its own; pair_by alone can be that of the seeds")
    if twice := [column for column in apart if list(frame.columns).count(column) > 1]:
        raise ArgumentError(f"several columns are named {twice[0]!r}; give each a name of its own")
    for role, column in roles.items():
        if role != "metric" and (missing := int(frame[column].isna().sum())):
            raise ArgumentError(f"{column!r} is empty in {missing} of {len(frame)} rows; fill or drop them")
    values = _numbers(frame[metric], metric)
    keys = list(dict.fromkeys([group, seed, *([pair_by] if pair_by else [])]))
    if (repeated := frame.duplicated(keys, keep=False)).any():
        raise ArgumentError(_repeated(frame[repeated], keys, metric, pair_by))
    scores = pd.DataFrame({"function": frame[group].astype(str), "seed": frame[seed], "value": values})
    if pair_by is not None:
        scores["pair"] = frame[pair_by]
    scores = scores.reset_index(drop=True)
    functions = list(dict.fromkeys(scores["function"]))
    if len(functions) < 2:
        there = functions[0] if functions else "empty"
        raise ArgumentError(f"group={group!r} is {there} alone; give rows of at least two to compare")
    return scores, _notes(scores, metric, seed, pair_by)


def _numbers(column: pd.Series, metric: str) -> np.ndarray:
    """The values of a column, which may be missing or infinite."""
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = column[numbers.isna() & column.notna()]
    is_text = wrong.astype(str).str.strip().str.lower().ne("nan")
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_complex_dtype(column) or is_text.any():
        example = wrong[is_text].iloc[0] if is_text.any() else column.iloc[0]
        raise ArgumentError(f"metric={metric!r} has {shown(example)}; give a column of real numbers, without signs")
    return numbers.to_numpy(float, na_value=np.nan)


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
