"""Our numbers beside those that a paper prints: how many signs agree, and how far the ranks do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 2_000
FEWEST = 4  # cells that an interval can be had from


@dataclass(frozen=True)
class Agreement:
    """Of the cells that both have. Not known: NaN."""

    cells: int
    clear: int  # cells whose sign both know
    signs: float  # share of these with equal signs; NaN for numbers without a sign
    spearman: float  # rank correlation over cells
    low: float  # 95 % bootstrap interval over cells
    high: float

    def to_dict(self) -> dict[str, float]:
        """The numbers by name."""
        return asdict(self)


def agreement(cells: pd.DataFrame, seed: int = 0) -> Agreement:
    """Compare `ours` with `theirs`; all other columns but `clear` name the cell, numbers of our measuring left out.

    Where cells are named by two things (architecture and task), the bootstrap draws either anew, rows and columns of
    the matrix, because cells of a row have something in common. clear: whether our sign is clear of the noise of seeds.

    >>> import pandas as pd
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
    import pandas as pd

    ranks = [pd.DataFrame(side).rank(axis=1).to_numpy() for side in (a, b)]
    x, y = (side - np.nanmean(side, axis=1, keepdims=True) for side in ranks)
    products, squares = np.nansum(x * y, axis=1), np.nansum(x * x, axis=1) * np.nansum(y * y, axis=1)
    correlations = np.full(len(a), np.nan)
    np.divide(products, np.sqrt(squares), out=correlations, where=squares > 0)
    return correlations.clip(-1, 1)


def _resampled(cells: pd.DataFrame, names: list[str], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positions of cells, drawn anew, (resamples, cells), and which of them are holes of the matrix; no resamples where
    there are too few cells."""
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
