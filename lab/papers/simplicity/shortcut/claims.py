"""What the simplicity paper claims of shortcut learning (Sec. 3.4, App. E.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.claims import Claim, Verdict, all_of, mean
from lab.papers.simplicity.grokking.settings import RELU
from lab.papers.simplicity.shortcut.settings import FOR
from lab.tasks.collage import TILES

if TYPE_CHECKING:
    import pandas as pd


def watched(method: str) -> str:
    """The column of validation accuracy that stops a method's training: of its tile, or of ambiguous collages.

    >>> watched("learned for hard"), watched("ReLU")
    ('val_hard', 'val')
    """
    return next((f"val_{tile}" for tile, name in FOR.items() if name == method), "val")


def stopped(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """For each seed of one kind of runs, the first evaluation that is best in `column`; NaN where the run diverged."""
    trained = rows[rows["step"] > 0].sort_values(["seed", "step"], kind="stable", ignore_index=True)
    known = trained[column].fillna(-np.inf)
    found = trained.loc[known.groupby(trained["seed"]).idxmax()].set_index("seed")
    lost = found["diverged"].astype(bool)
    values = found.select_dtypes(float).columns
    return found.assign(**{name: found[name].where(~lost) for name in values})


def _relies_on_easy(table: pd.DataFrame) -> Verdict:
    """With ReLU: accuracy where only the easy tile tells the label, less that where only the hard one does."""
    found = []
    for spectral, rows in table[table["method"] == RELU].groupby("spectral", sort=False):
        ends = stopped(rows, watched(RELU))
        found.append(mean(100 * (ends["easy"] - ends["hard"]), above=0.0, unit="points", case=_case(spectral)))
    return all_of(found)


def _ignores_hard(table: pd.DataFrame) -> Verdict:
    """With ReLU: accuracy where only the hard tile tells the label, less chance. Two points: a test split of 1,000."""
    found = []
    for spectral, rows in table[table["method"] == RELU].groupby("spectral", sort=False):
        ends = stopped(rows, watched(RELU))
        found.append(mean(100 * ends["hard"] - 10, below=2.0, unit="points", case=_case(spectral)))
    return all_of(found)


def _raises_its_tile(table: pd.DataFrame) -> Verdict:
    """Accuracy of each learned function where its tile alone tells the label, less that of ReLU with the same early
    stopping; the less favourable tile."""
    found = []
    for spectral, rows in table.groupby("spectral", sort=False):
        for tile in TILES:
            both = [stopped(rows[rows["method"] == method], f"val_{tile}")[tile] for method in (FOR[tile], RELU)]
            case = f"{tile} tile, {_case(spectral)}"
            found.append(mean(100 * (both[0] - both[1]), above=0.0, unit="points", case=case))
    return all_of(found)


def steering(rows: pd.DataFrame) -> pd.Series:
    """For each seed: by how many points the function for the easy tile prefers that tile (its accuracy less that of the
    hard one) more than the function for the hard tile does; less what early stopping on either tile does to ReLU."""
    preferred = {}
    for tile in TILES:
        for method in (FOR[tile], RELU):
            ends = stopped(rows[rows["method"] == method], f"val_{tile}")
            preferred[method == RELU, tile] = 100 * (ends["easy"] - ends["hard"])
    return (preferred[False, "easy"] - preferred[False, "hard"]) - (preferred[True, "easy"] - preferred[True, "hard"])


def _steers(table: pd.DataFrame) -> Verdict:
    by_kind = table.groupby("spectral", sort=False)
    return all_of(mean(steering(rows), above=0.0, unit="points", case=_case(kind)) for kind, rows in by_kind)


def _steers_more(table: pd.DataFrame) -> Verdict:
    with_it, without = (steering(table[table["spectral"].astype(bool) == kind]) for kind in (True, False))
    return mean(with_it - without, above=0.0, unit="points")


def _case(spectral: bool) -> str:
    return "spectral normalization" if spectral else "no normalization"


_STEERS = Claim("The functions learned for either tile steer towards it", _steers)
FIG9 = (
    Claim("ReLU goes by the easy tile more than by the hard one", _relies_on_easy),
    Claim("With ReLU the hard tile is at chance (within two points)", _ignores_hard),
    Claim("Either learned function is better on its tile than ReLU", _raises_its_tile),
    _STEERS,
)
FIG25 = (Claim("Learned functions steer more with spectral normalization", _steers_more),)
FIG26 = (_STEERS,)
