"""Claims of a paper, and whether they hold in a table of ours: an effect, its interval, and a verdict in a word.

An entry of the catalogue states its claims next to its plot:

    claims=(Claim("alibi", "Alibi positional encodings help", alibi_helps, needs=copies_at_all),)

`alibi_helps(table)` is pure: it takes the entry's tidy table and returns a `Verdict`. `needs(table, scale)` says in
words what is missing for the claim to be about these runs at all, such as a baseline that learned its task; nothing
missing is "". `stands_in(table, scale)` names the text, the data or the size that stands in for the paper's: the
verdict is measured as ever, and says so. Intervals are at 95 %. A claim about every case holds where each case does; it
does not hold where one fails with an interval widened for the number of cases (Bonferroni). A claim that some case
exists holds where one does with such an interval, and does not where each fails.

A paper's words ("similar", "nearly identical") are no numbers. Where the lab puts one for them, the claim is refuted
beyond another one alone (`refuted_below`, `refuted_above`: about twice as far), and what lies between is not decided.
Where a paper does not say of what it speaks (which accuracy, which output), all readings are measured
(`on_every_reading`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, isinf, isnan, nan
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import Estimate, envelope, missing
from lab.simultaneous import level_of_each
from lab.statistics import LEVEL
from lab.tasks.named import task_title

Condition = Callable[[pd.DataFrame, str], str]  # (table, scale) → what is missing, or stands in, in words
HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "does not hold", "not decided", "not measured here"
ON_STAND_IN = {HOLDS: "holds on a stand-in", FAILS: "does not hold on a stand-in"}
NOT_HERE = "no results of this scale are here"
BOUNDS = ("above", "below", "refuted_below", "refuted_above")
MEASURED = ("effect", "low", "high", "level", *BOUNDS, "unit", "n", "over", "covers", "case")
WORDS = (HOLDS, FAILS, *ON_STAND_IN.values(), UNDECIDED, ABSENT)
SHORT = 64  # characters of a case in a caption
EARLIER_RUNS = "runs with earlier settings"  # of which captions have a line
SEEDS_ALONE = ("seeds", "seeds (splits)", "seeds, of one search")  # what intervals cover, if captions do not say it
RESAMPLES, FEWEST = 2_000, 4  # of printed numbers' agreement; cells that an interval can be had from
OPEN = WORDS[2:]  # what says nothing yet of the paper's own text, data and size


@dataclass(frozen=True)
class Verdict:
    """What a claim is about, measured, and where the claim says that it lies.

    >>> from lab.estimates import mean
    >>> Verdict(mean([2.0, 3.0, 4.0]), above=0.0).word
    'holds'
    >>> Verdict(mean([0.0, 3.0, 6.0]), above=0.0).word
    'not decided'
    >>> Verdict(mean([-3.0, -3.1, -2.9]), above=-2.0, below=2.0, refuted_below=-4.0, refuted_above=4.0).word
    'not decided'
    >>> Verdict(mean([2.0, 3.0, 4.0]), above=0.0, reason="no model learned the task").word
    'not measured here'
    >>> Verdict(mean([2.0, 3.0, 4.0]), above=0.0, stand_in="plays in place of stories").word
    'holds on a stand-in'
    """

    estimate: Estimate
    above: float = -inf  # the claim: the effect is above this and below that
    below: float = inf
    # Where the bounds are the lab's own, the claim is refuted below this and above that alone; NaN: the claim's bounds.
    refuted_below: float = nan
    refuted_above: float = nan
    unit: str = ""  # of the effect
    case: str = ""  # the task, method or pair that decides, where the claim is about several
    reason: str = ""  # why these runs do not measure the claim
    stand_in: str = ""  # what was measured in place of what the paper speaks of
    level: float = LEVEL

    @property
    def effect(self) -> float:
        """NaN: no run to measure it on."""
        return self.estimate.effect

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Of the effect; NaN where one cannot be had, as from one seed."""
        return self.estimate.interval(self.level)

    @property
    def low(self) -> float:
        """Of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """Of the interval."""
        return self.interval[1]

    @property
    def n(self) -> int:
        """Units."""
        return self.estimate.n

    @property
    def over(self) -> str:
        """What a unit is: seeds, tasks, tables, models."""
        return self.estimate.over

    @property
    def covers(self) -> str:
        """What the interval is about."""
        return self.estimate.covers

    @property
    def word(self) -> str:
        """holds: the interval lies where the claim says; does not hold: it lies outside; not decided: neither."""
        word = self._where_it_lies()
        return ON_STAND_IN.get(word, word) if self.stand_in else word

    def _where_it_lies(self) -> str:
        if self.reason:
            return ABSENT
        low, high = self.low, self.high
        if self.above < low and high < self.below:
            return HOLDS
        beyond = (
            self.above if isnan(self.refuted_below) else self.refuted_below,
            self.below if isnan(self.refuted_above) else self.refuted_above,
        )
        if high <= beyond[0] or low >= beyond[1]:
            return FAILS
        return UNDECIDED

    @property
    def margin(self) -> float:
        """How far inside the claimed region the interval ends, in half widths: above 0 where the claim holds."""
        low, high = self.low, self.high
        inside, half = min(low - self.above, self.below - high), (high - low) / 2
        if isnan(inside):
            return -inf
        return inside / half if half else inf * inside if inside else 0.0

    def row(self) -> dict[str, Any]:
        """The word, why it is that one, what was measured and what is claimed, by name."""
        why = {"verdict": self.word, "reason": self.reason, "stand_in": "" if self.reason else self.stand_in}
        return why | {name: getattr(self, name) for name in MEASURED}

    def corrected(self, cases: int) -> Verdict:
        """With an interval wide enough for that many cases (Bonferroni), on top of those that it is wide enough for."""
        return replace(self, level=level_of_each(self.level, max(cases, 1)))


def absent(reason: str, **claimed) -> Verdict:
    """A case that these runs do not measure."""
    return Verdict(missing(), reason=reason, **claimed)


NOTHING = absent("no such runs")


def judged_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Claims as captions have them, those not measured for the same reason in one line. rows: claim, and what
    `Verdict.row` has; of a case of many words, which lists readings, the first few."""
    lines: dict[str, list[str]] = {}
    for row in rows:
        word = "Not judged here" if row["reason"] else row["verdict"].capitalize()
        lines.setdefault(f"{word} ({row['reason'] or _decided_by(row)})", []).append(row["claim"])
    return [f"{verdict}: {'; '.join(claims)}." for verdict, claims in lines.items()]


def _decided_by(row: Mapping[str, Any]) -> str:
    """The effect; its interval, how wide it is for several cases, and what it covers but seeds; what is claimed; and on
    what it was measured. Runs with earlier settings have a line of their own."""
    case = row["case"] if len(row["case"]) <= SHORT else re.split(r": | \(", row["case"])[0]
    level = f" at {100 * row['level']:.1f} % for its several cases" if row["level"] > LEVEL else ""
    over = level if row["covers"] in SEEDS_ALONE else f"{level} over {row['covers']}"
    words = effect_found({**row, "case": case if len(case) <= SHORT else ""})
    other = row["stand_in"].partition(EARLIER_RUNS)[0].rstrip("; ")
    on = f"; measured on {other}" if other else ""
    return f"{words}{over if isfinite(row['low']) else ''}; claimed {claimed(row)}{on}"


def effect_found(row: Mapping[str, Any]) -> str:
    """The effect and its interval in words, with the case that decides. row: as `Verdict.row` has it."""
    if not isfinite(row["effect"]):
        return "nothing to measure it on"
    where, unit = f"{row['case']}: " if row["case"] else "", f" {row['unit']}" if row["unit"] else ""
    ends = f"[{_number(row['low'])}, {_number(row['high'])}]" if isfinite(row["low"]) else "without an interval"
    return f"{where}{_number(row['effect'])}{unit} {ends}"


def claimed(row: Mapping[str, Any]) -> str:
    """Where a claim says that the effect lies, and beyond what it is refuted. row: as `Verdict.row` has it."""
    bounds = [f"{name} {_number(row[name])}" for name in BOUNDS[:2] if not isinf(row[name])]
    beyond = [f"{name[8:]} {_number(row[name])}" for name in BOUNDS[2:] if isfinite(row[name])]
    return " and ".join(bounds) + (f", refuted {' or '.join(beyond)}" if beyond else "")


def _number(value: float) -> str:
    """Three digits; whole from 1,000 on.

    >>> _number(12.345), _number(-0.0), _number(0.0123)
    ('12.3', '0', '0.0123')
    """
    return f"{value + 0.0:.3g}" if abs(value) < 1000 else f"{value:,.0f}"  # + 0: no -0


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and the function that measures it in the table of its entry.

    name: unique within the entry. decides, hours: what would decide the claim, and for how many hours of a machine of
    two cores (NaN: it takes a GPU or data that are not here). of_functions: it is measured in the entry's second table.
    with_entry: another entry, whose table stands below the entry's own; a column `entry` says which rows are whose.
    stands_in: what the table has in place of the paper's text, data or size; "" where it has the paper's own.
    """

    name: str
    says: str
    measure: Callable[..., Verdict]
    needs: Condition | None = None
    decides: str = ""
    hours: float = nan
    of_functions: bool = False
    with_entry: str = ""
    stands_in: Condition | None = None

    def verdict(self, table: pd.DataFrame, scale: str) -> Verdict:
        """Of a table from runs of that scale; what is missing goes before what is measured."""
        missing_here = self.needs(table, scale) if self.needs else ""
        stand_in = self.stands_in(table, scale) if self.stands_in else ""
        verdict = self.measure(table)
        return replace(verdict, reason=missing_here or verdict.reason, stand_in=stand_in)

    def judged(self, tables: Mapping[str, pd.DataFrame], scale: str, earlier: str = "") -> Verdict:
        """In the tables of a figure, by name, those of `with_entry` by the other's. earlier: settings of the runs that
        have changed since."""
        table = tables.get(self.with_entry or ("functions" if self.of_functions else "table"))
        verdict = absent(NOT_HERE) if table is None else self.verdict(table, scale)
        changed = [f"{EARLIER_RUNS} ({earlier})"] if earlier else []
        return replace(verdict, stand_in="; ".join(filter(None, [verdict.stand_in, *changed])))


def both(name: str, table: pd.DataFrame, other: str, theirs: pd.DataFrame) -> pd.DataFrame:
    """The table of a claim that is of two entries."""
    return pd.concat([table.assign(entry=name), theirs.assign(entry=other)], ignore_index=True)


def text_in_place_of(named: str, tasks: Collection[str]) -> Condition:
    """Whose texts a table has where they are not the paper's own, which are called `named` and are in these tasks; and
    that models are smaller than the paper's, and trained on less.

    >>> text_in_place_of("Moby-Dick", ["moby_dick char"])(pd.DataFrame({"task": ["shakespeare char"]}), "laptop")
    'Shakespeare, char, and smaller models, trained on less, in place of Moby-Dick'
    """

    def stands_in(table: pd.DataFrame, scale: str) -> str:
        others = [task_title(task) for task in table["task"].unique() if task not in tasks]
        smaller = "" if scale == "paper" else "smaller models, trained on less,"
        instead = ", and ".join(filter(None, [", ".join(others), smaller]))
        theirs = named if others else "the paper's"
        return f"{instead} in place of {theirs}" if instead else ""

    return stands_in


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a claim about every case: the one that fails most clearly, else one not measured, else the nearest to failing.

    >>> from lab.estimates import mean
    >>> cases = {"a": [1.0, 1.1, 1.2], "b": [-1.0, 0.0, 1.0]}
    >>> verdict = all_of(Verdict(mean(values), above=0.0, case=case) for case, values in cases.items())
    >>> verdict.case, verdict.word
    ('b', 'not decided')
    """
    measured, others = _split(verdicts)
    wide = [verdict.corrected(len(measured)) for verdict in measured]
    if failing := [verdict for verdict in wide if verdict.word == FAILS]:
        return min(failing, key=lambda verdict: verdict.margin)
    if others or not measured:
        return _without(others)
    worst = min(measured, key=lambda verdict: verdict.margin)
    return worst if worst.word != FAILS else worst.corrected(len(measured))


def any_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a claim that some case exists: the clearest one, or one that is not measured where all that are fail.

    >>> from lab.estimates import mean
    >>> cases = {"a": [0.0, 1.0, -1.0], "b": [5.0, 5.1, 5.2]}
    >>> any_of(Verdict(mean(values), above=0.0, case=case) for case, values in cases.items()).case
    'b'
    """
    measured, others = _split(verdicts)
    if all(verdict.word == FAILS for verdict in measured):
        return _without(others) if others or not measured else max(measured, key=lambda verdict: verdict.margin)
    wide = [verdict.corrected(len(measured)) for verdict in measured]
    return max((verdict for verdict in wide if verdict.word != FAILS), key=lambda verdict: verdict.margin)


def without_tasks(verdict: Verdict, left_out: Iterable[str], function: str) -> Verdict:
    """A verdict whose case names the tasks that it leaves out, since models with a function do not learn them."""
    names = ", ".join(map(task_title, left_out))
    said = f" (left out, for {function} does not learn them: {names})" * bool(names)
    return replace(verdict, case=verdict.case + said)


def on_every_reading(readings: Mapping[str, Verdict]) -> Verdict:
    """Of a claim that can be read in several ways: decided where all readings agree, and then the least clear one; else
    the first one's effect, with an interval around those of all. What a reading does not measure does not count.

    >>> from lab.estimates import mean
    >>> pair = {"at 95 %": Verdict(mean([5.0, 5.1]), above=7.0), "at 100 %": Verdict(mean([9.0, 9.1]), above=7.0)}
    >>> found = on_every_reading(pair)
    >>> found.word, found.case
    ('not decided', 'at 95 % 5.05, at 100 % 9.05')
    """
    measured = {name: one for name, one in readings.items() if not one.reason}
    if len(words := {one.word for one in measured.values()}) < 2:
        clear = {HOLDS: min, FAILS: max}.get(next(iter(words), ""))
        every = list((measured or readings).values())
        return clear(every, key=lambda one: one.margin) if clear else next(iter(every), NOTHING)
    first = next(iter(measured.values()))
    said = ", ".join(f"{name} {one.effect:.3g}" for name, one in measured.items())
    around = envelope([one.estimate for one in measured.values()])
    around = replace(around, covers=f"{first.covers}, and the readings of the claim")
    level = max(one.level for one in measured.values())
    return replace(first, estimate=around, level=level, case=f"{first.case}: {said}" if first.case else said)


def _split(verdicts: Iterable[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Those that are measured, and the others."""
    sides: tuple[list[Verdict], list[Verdict]] = ([], [])
    for verdict in verdicts:
        sides[bool(verdict.reason)].append(verdict)
    return sides


def _without(others: Sequence[Verdict]) -> Verdict:
    """One verdict of several cases that are not measured: each reason with the cases that it is of."""
    if not others:
        return NOTHING
    words = []
    for reason in dict.fromkeys(verdict.reason for verdict in others):
        names = ", ".join(verdict.case for verdict in others if verdict.case and verdict.reason == reason)
        words.append(f"{names}: {reason}" if names else reason)
    return replace(others[0], case="", reason="; ".join(words))


@dataclass(frozen=True)
class Agreement:
    """Of the cells that both have. Not known: NaN."""

    cells: int
    clear: int  # cells whose sign both know
    signs: float  # share of these with equal signs; NaN for numbers without a sign
    spearman: float  # rank correlation over cells
    low: float  # 95 % bootstrap interval over cells
    high: float


def agreement(cells: pd.DataFrame, seed: int = 0) -> Agreement:
    """Compare `ours` with `theirs`; all other columns but `clear` name the cell, numbers of our measuring left out.

    Where cells are named by two things (architecture and task), the bootstrap draws either anew, rows and columns of
    the matrix, because cells of a row have something in common. clear: whether our sign is clear of the noise of seeds.

    >>> same = pd.DataFrame({"task": list("abcd"), "ours": [1, 2, 3, 4], "theirs": [10, 20, 30, 40]})
    >>> agreement(same).spearman
    1.0
    """
    names = [name for name in ("architecture", "task", "method", "values") if name in cells]
    cells = cells.dropna(subset=["ours", "theirs"])
    ours, theirs = (cells[side].to_numpy(float) for side in ("ours", "theirs"))
    clear = cells["clear"].to_numpy(bool) & (theirs != 0) if "clear" in cells else np.zeros(len(cells), bool)
    agree = np.sign(ours[clear]) == np.sign(theirs[clear])
    drawn, holes = _resampled(cells, names, np.random.default_rng(seed))
    known = _spearman(*(np.where(holes, np.nan, side[drawn]) for side in (ours, theirs)))
    known = known[np.isfinite(known)]
    low, high = np.percentile(known, (2.5, 97.5)) if len(known) else (np.nan, np.nan)
    share = float(agree.mean()) if len(agree) else float("nan")
    return Agreement(len(cells), int(clear.sum()), share, spearman(ours, theirs), float(low), float(high))


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of ranks, ties in the middle of their places; NaN where one side has equal numbers only.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 100.0]))
    1.0
    """
    return float(_spearman(a[None], b[None])[0]) if len(a) > 1 else float("nan")


def _spearman(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same for each row; NaN in both marks what is not there."""
    ranks = [pd.DataFrame(side).rank(axis=1).to_numpy() for side in (a, b)]
    x, y = (side - np.nanmean(side, axis=1, keepdims=True) for side in ranks)
    products, squares = np.nansum(x * y, axis=1), np.nansum(x * x, axis=1) * np.nansum(y * y, axis=1)
    correlations = np.full(len(a), np.nan)
    np.divide(products, np.sqrt(squares), out=correlations, where=squares > 0)
    return correlations.clip(-1, 1)


def _resampled(cells: pd.DataFrame, names: list[str], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions of cells, drawn anew, (resamples, cells), and which are holes of the matrix; none of too few cells."""
    if len(cells) < FEWEST:
        drawn = np.zeros((0, len(cells)), int)
    elif len(names) < 2:
        drawn = rng.integers(len(cells), size=(RESAMPLES, len(cells)))
    else:
        places = [cells[name].astype("category").cat for name in names[:2]]
        at = np.full([len(place.categories) for place in places], -1)
        at[places[0].codes, places[1].codes] = np.arange(len(cells))
        rows, columns = (rng.integers(size, size=(RESAMPLES, size)) for size in at.shape)
        drawn = at[rows[:, :, None], columns[:, None, :]].reshape(RESAMPLES, -1)
    return drawn, drawn < 0
