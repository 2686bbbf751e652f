"""What the simplicity paper claims of complexity around trained networks, and of their boundaries (Fig. 24).

Total variation is never compared between tables: it depends on the distances of their points (App. A).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.runs import gains, ratios
from lab.papers.simplicity.tables.claims import LONGER_SEARCHES
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, RELU, TANH

if TYPE_CHECKING:
    import pandas as pd

NEAR_IDENTITY = 0.99  # share of a function's variance that its start explains, above which it has not left it


def _part(table: pd.DataFrame, part: str, radius: float | None = None) -> pd.DataFrame:
    """Numbers of a part of Figures 7 and 24: seeds × (table, method)."""
    rows = table[table["part"] == part]
    if radius is not None:
        rows = rows[rows["radius"] == radius]
    means = rows.groupby([rows["seed"], rows["table"], rows["method"]], sort=False)["value"]
    return means.agg(lambda a: a.mean(skipna=False)).unstack(["table", "method"])


def _against(wide: pd.DataFrame, *others: str) -> dict[str, tuple]:
    """IAFs and each other method, on each table."""
    return {
        f"against {other}, {name}": ((name, IAFS), (name, other))
        for name in wide.columns.unique("table")
        for other in others
    }


def left_identity(table: pd.DataFrame, scale: str) -> str:
    """Input functions that are learned, not the identity that they start from."""
    functions = table[(table["part"] == "function") & (table["method"] == IAFS)]
    near = {
        name: 1 - float(((rows["value"] - rows["x"]) ** 2).mean() / rows["x"].var(ddof=0))
        for name, rows in functions.groupby("table")
    }
    still = [f"{name} {share:.3f}" for name, share in near.items() if share > NEAR_IDENTITY]
    return f"input functions did not leave the identity (R² {', '.join(still)})" if still else ""


def _behind(table: pd.DataFrame) -> dict[str, float]:
    """By how many points networks with input functions are behind the best other network, on each table; below 0 where
    they are the best."""
    wide = 100 * _part(table, "accuracy")
    means = wide[[column for column in wide if column[1] in (RELU, TANH, LEARNED, IAFS)]].mean()
    return {str(name): rows.drop((name, IAFS)).max() - rows[name, IAFS] for name, rows in means.groupby(level="table")}


def where_best(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of tables on which networks with input functions are the best: of others the paper does not speak."""
    return table[table["table"].isin([name for name, gap in _behind(table).items() if gap <= 0])]


def iafs_best(table: pd.DataFrame, scale: str) -> str:
    """Input functions that were learned, and make the best network of some table."""
    behind = _behind(table)
    words = ", ".join(f"{name} {gap:.1f} points" for name, gap in behind.items())
    none = f"IAFs are behind the best network: {words}" if all(gap > 0 for gap in behind.values()) else ""
    return left_identity(table, scale) or none


def several_radii(table: pd.DataFrame, scale: str) -> str:
    """The paper does not print how far the random plane reaches."""
    radii = table["radius"].dropna().nunique() if "radius" in table else 1
    return "" if radii > 1 else "one radius of the plane, which is a guess: the paper prints none"


def best_at_several_radii(table: pd.DataFrame, scale: str) -> str:
    """The paper speaks of perturbations of the best model."""
    return several_radii(table, scale) or iafs_best(table, scale)


def _most_complex(table: pd.DataFrame) -> Verdict:
    wide = np.log(_part(where_best(table), "solution"))
    return all_of(ratios(wide, _against(wide, RELU, TANH, LEARNED), above=1.0))


def _ambient_above_relu(table: pd.DataFrame) -> Verdict:
    wide = np.log(_part(where_best(table), "ambient"))
    return all_of(ratios(wide, _against(wide, RELU), above=1.0))


def _ambient_above_solution(table: pd.DataFrame) -> Verdict:
    """Around networks with input functions over their own, at every radius."""
    table = where_best(table)
    verdicts, solution = [], np.log(_part(table, "solution"))
    for radius in table["radius"].dropna().unique() if "radius" in table else [None]:
        around = np.log(_part(table, "ambient", radius))
        for name in around.columns.unique("table"):
            more = estimates.mean(around[name, IAFS] - solution[name, IAFS], covers="seeds, of one search")
            case = name if radius is None else f"{name}, radius {radius:g}"
            verdicts.append(Verdict(more.exp(), above=1.0, unit="×", case=case))
    return all_of(verdicts)


def _aligned(table: pd.DataFrame) -> Verdict:
    wide = _part(table, "alignment")
    return all_of(gains(wide, _against(wide, RELU), above=0.0))


FIG24 = (
    Claim(
        "most-complex",
        "Complexity increases to the highest level in the best model (IAFs, where they are the best)",
        _most_complex,
        iafs_best,
        LONGER_SEARCHES,
        0.4,
    ),
    Claim(
        "ambient-relu",
        "Around the best networks (IAFs) the ambient complexity is higher than around ReLU's",
        _ambient_above_relu,
        iafs_best,
        LONGER_SEARCHES,
        0.4,
    ),
    Claim(
        "ambient-solution",
        "Around the best networks (IAFs) the ambient complexity is higher than their own",
        _ambient_above_solution,
        best_at_several_radii,
        LONGER_SEARCHES,
        0.4,
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
