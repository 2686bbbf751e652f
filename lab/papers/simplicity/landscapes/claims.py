"""What the simplicity paper claims of complexity around trained networks, and of their boundaries (Fig. 24).

It speaks of the best model of a table, which in its figures has input functions (IAFs). Which network is the best here
is read off each table; where several are as accurate, each of them may be. Total variation is never compared between
tables: it depends on the distances of their points (App. A).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of, on_every_reading
from lab.papers.runs import compare_one, gains, ratios
from lab.papers.simplicity.complexity import of_probabilities
from lab.papers.simplicity.tables.accuracy import LONGER_SEARCHES
from lab.papers.simplicity.tables.settings import IAFS, NETWORKS, RELU
from lab.statistics import LEVEL

if TYPE_CHECKING:
    import pandas as pd

    OfBest = Callable[[pd.DataFrame, str, list[str]], list[Verdict]]  # rows of a table, its best network, the others

NEAR_IDENTITY = 0.99  # share of a function's variance that its start explains, above which it has not left it


def _part(table: pd.DataFrame, part: str, radius: float | None = None) -> pd.DataFrame:
    """Numbers of a part of Figures 7 and 24: seeds × (table, method)."""
    rows = table[table["part"] == part]
    if radius is not None:
        rows = rows[rows["radius"] == radius]
    means = rows.groupby([rows["seed"], rows["table"], rows["method"]], sort=False)["value"]
    return means.agg(lambda a: a.mean(skipna=False)).unstack(["table", "method"])


def left_identity(table: pd.DataFrame, scale: str) -> str:
    """Input functions that are learned, not the identity that they start from."""
    functions = table[(table["part"] == "function") & (table["method"] == IAFS)]
    near = {
        name: 1 - float(((rows["value"] - rows["x"]) ** 2).mean() / rows["x"].var(ddof=0))
        for name, rows in functions.groupby("table")
    }
    still = [f"{name} {share:.3f}" for name, share in near.items() if share > NEAR_IDENTITY]
    return f"input functions did not leave the identity (R² {', '.join(still)})" if still else ""


def best_networks(rows: pd.DataFrame) -> list[str]:
    """Of one table, the most accurate network first, then those whose test accuracy is not clearly below its."""
    wide = 100 * _part(rows, "accuracy").droplevel("table", axis=1)
    means = wide[[name for name in NETWORKS if name in wide]].mean().dropna().sort_values(ascending=False)
    first = means.index[:1].tolist()
    return first + [
        name
        for name in means.index[1:]
        if not compare_one({name: wide[name] for name in (name, *first)}, first[0], name).interval(LEVEL)[0] > 0
    ]


def _of_the_best(table: pd.DataFrame, measure: OfBest) -> Verdict:
    """On every table what is measured of its best network; each network that may be the best is a reading of it."""
    verdicts = []
    for _, rows in table.groupby("table", sort=False):
        best = best_networks(rows)
        others = {one: [other for other in NETWORKS if other != one and other in set(rows["method"])] for one in best}
        readings = {f"of {one}": all_of(measure(rows, one, others[one])) for one in best}
        verdicts.append(on_every_reading(readings))
    return all_of(verdicts)


def _most_complex(table: pd.DataFrame) -> Verdict:
    return _of_the_best(table, lambda rows, best, others: _more(rows, "solution", best, others))


def _ambient_above_others(table: pd.DataFrame) -> Verdict:
    return _of_the_best(table, lambda rows, best, others: _more(rows, "ambient", best, others))


def _more(rows: pd.DataFrame, part: str, best: str, others: list[str]) -> list[Verdict]:
    """By how many times a part of the best network is above that of each other one."""
    wide = np.log(_part(rows, part))
    (name,) = wide.columns.unique("table")
    pairs = {f"{best} against {other}, {name}": ((name, best), (name, other)) for other in others}
    return ratios(wide, pairs, above=1.0)


def _ambient_above_solution(table: pd.DataFrame) -> Verdict:
    return _of_the_best(table, _around)


def _around(rows: pd.DataFrame, best: str, others: list[str]) -> list[Verdict]:
    """Complexity around a network over its own; each radius of the plane is a reading, for the paper prints none."""
    solution, readings = np.log(_part(rows, "solution")), {}
    (name,) = solution.columns.unique("table")
    for radius in rows["radius"].dropna().unique() if "radius" in rows else [None]:
        around = np.log(_part(rows, "ambient", radius))
        more = estimates.mean(around[name, best] - solution[name, best], covers="seeds, of one search")
        case = f"{best}, {name}"
        readings["" if radius is None else f"radius {radius:g}"] = Verdict(more.exp(), above=1.0, unit="×", case=case)
    return [on_every_reading(dict(reversed(readings.items())))]


def several_radii(table: pd.DataFrame, scale: str) -> str:
    """The paper does not print how far the random plane reaches."""
    radii = table["radius"].dropna().nunique() if "radius" in table else 1
    return "" if radii > 1 else "one radius of the plane, which is a guess: the paper prints none"


def _rises(table: pd.DataFrame) -> Verdict:
    """Complexity at the end of training over that of the initial weights, of every network."""
    course, verdicts = table[table["part"] == "course"].sort_values("x"), []
    for (name, method), rows in course.groupby(["table", "method"], sort=False):
        ways = np.log(rows.groupby("seed")["value"].agg(["first", "last"]))
        more = estimates.mean(ways["last"] - ways["first"], covers="seeds, of one search").exp()
        verdicts.append(Verdict(more, above=1.0, unit="×", case=f"{method}, {name}"))
    return all_of(verdicts)


def _aligned(table: pd.DataFrame) -> Verdict:
    wide = _part(table, "alignment")
    pairs = {f"against {RELU}, {name}": ((name, IAFS), (name, RELU)) for name in wide.columns.unique("table")}
    return all_of(gains(wide, pairs, above=0.0))


_OUTPUTS = "total variation of outputs, and networks that are trained to the end, of which one is clearly the best"
FIG24 = (
    Claim(
        "most-complex",
        "Complexity increases to the highest level in the best model of each table",
        _most_complex,
        decides=_OUTPUTS,
        hours=1.5,
        stands_in=of_probabilities,
    ),
    Claim(
        "rises",
        "Complexity increases in training, for all models",
        _rises,
        decides="total variation of outputs",
        hours=1.2,
        stands_in=of_probabilities,
    ),
    Claim(
        "ambient-others",
        "Around the best networks the ambient complexity is higher than around less accurate ones",
        _ambient_above_others,
        decides=_OUTPUTS,
        hours=1.5,
        stands_in=of_probabilities,
    ),
    Claim(
        "ambient-solution",
        "Around the best networks the ambient complexity is higher than their own",
        _ambient_above_solution,
        several_radii,
        _OUTPUTS,
        1.5,
        stands_in=of_probabilities,
    ),
    Claim(
        "aligned",
        "IAFs induce axis-aligned boundaries, as trees do (more than ReLU)",
        _aligned,
        left_identity,
        LONGER_SEARCHES,
        0.4,
    ),
)
