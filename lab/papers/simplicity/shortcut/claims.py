"""What the simplicity paper claims of shortcut learning (Sec. 3.4, App. E.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.runs import POINTS, compare_one, gains_on_rows
from lab.papers.simplicity.settings import RELU
from lab.papers.simplicity.shortcut.settings import ALONE, FOR
from lab.tasks.collage import TILES

if TYPE_CHECKING:
    import pandas as pd

CHANCE, ABOVE = 2.0, 4.0  # points above chance that count as chance, and from which on they do not
TEST_ROWS = 1_000  # collages that an accuracy is measured on, the same for every seed; at scale paper there are more


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
    best = trained.loc[known.groupby(trained["seed"]).idxmax()].set_index("seed")
    diverged = best["diverged"].astype(bool)
    values = best.select_dtypes(float).columns
    return best.assign(**{name: best[name].where(~diverged) for name in values})


def tiles_of_paper(table: pd.DataFrame, scale: str) -> str:
    """Collages of MNIST and CIFAR-10, of which one is easy and the other hard."""
    names = table["task"].unique()
    ours = all("mnist" in name and "cifar10" in name and "fashion" not in name for name in names)
    return "" if ours else f"other images: {', '.join(names)}, where the paper has MNIST and CIFAR-10"


def _ignores_hard(table: pd.DataFrame) -> Verdict:
    """With ReLU: accuracy where only the hard tile tells the label, less chance. The seeds share a test split, whose
    size limits what they can tell of chance."""
    verdicts = []
    for spectral, rows in table[table["method"] == RELU].groupby("spectral", sort=False):
        right = stopped(rows, watched(RELU))["hard"]
        above = estimates.mean_on_sample(right, TEST_ROWS).scaled(100).shifted(-10)
        verdicts.append(Verdict(above, below=CHANCE, refuted_above=ABOVE, unit=POINTS, case=_case(spectral)))
    return all_of(verdicts)


def _raises_its_tile(table: pd.DataFrame) -> Verdict:
    """Accuracy of each learned function where its tile alone tells the label, less that of ReLU with the same early
    stopping; the less favourable tile."""
    groups, pairs = {}, {}
    for spectral, rows in table.groupby("spectral", sort=False):
        for tile in TILES:
            case = f"{tile} tile, {_case(spectral)}"
            for method in (FOR[tile], RELU):
                groups[case, method] = 100 * stopped(rows[rows["method"] == method], f"val_{tile}")[tile]
            pairs[case] = ((case, FOR[tile]), (case, RELU))
    return all_of(gains_on_rows(groups, pairs, dict.fromkeys(pairs, TEST_ROWS), above=0.0, unit=POINTS))


def steering(rows: pd.DataFrame, tile: str) -> pd.Series:
    """For each seed: by how many points the function for a tile prefers that tile (its accuracy less that of the other
    one) more than ReLU does with the same early stopping."""
    other = next(name for name in TILES if name != tile)
    preferred = {}
    for method in (FOR[tile], RELU):
        ends = stopped(rows[rows["method"] == method], f"val_{tile}")
        preferred[method] = 100 * (ends[tile] - ends[other])
    return preferred[FOR[tile]] - preferred[RELU]


def _steers(table: pd.DataFrame) -> Verdict:
    """Each function towards its tile."""
    return all_of(
        Verdict(
            estimates.mean(steering(rows, tile), covers="seeds, of one search a tile"),
            above=0.0,
            unit=POINTS,
            case=f"{tile} tile, {_case(spectral)}",
        )
        for spectral, rows in table.groupby("spectral", sort=False)
        for tile in TILES
    )


def _steers_more(table: pd.DataFrame) -> Verdict:
    """Each function towards its tile, the less favourable one: in a sum of both, what ReLU loses on one would count."""
    verdicts = []
    for tile in TILES:
        groups = {on: steering(table[table["spectral"].astype(bool) == on], tile) for on in (True, False)}
        more = compare_one(groups, True, False, "seeds, of one search a tile")
        verdicts.append(Verdict(more, above=0.0, unit=POINTS, case=f"{tile} tile"))
    return all_of(verdicts)


def _below_alone(table: pd.DataFrame) -> Verdict:
    """Accuracy on the hard tile of ReLU that is trained on it alone, less that with the function learned for it."""
    groups, pairs = {}, {}
    for spectral, rows in table.groupby("spectral", sort=False):
        case = _case(spectral)
        for method in (ALONE["hard"], FOR["hard"]):
            groups[case, method] = 100 * stopped(rows[rows["method"] == method], watched(method))["hard"]
        pairs[case] = ((case, ALONE["hard"]), (case, FOR["hard"]))
    return all_of(gains_on_rows(groups, pairs, dict.fromkeys(pairs, TEST_ROWS), above=0.0, unit=POINTS))


def _simple_in_the_end(table: pd.DataFrame) -> Verdict:
    """By how many points the function for the hard tile prefers the easy one more at the end of training than at early
    stopping. The others go by the easy tile from the start."""
    verdicts = []
    for spectral, rows in table.groupby("spectral", sort=False):
        of = rows[rows["method"] == FOR["hard"]]
        early = stopped(of, watched(FOR["hard"]))
        late = stopped(of[of["step"] == of["step"].max()], watched(FOR["hard"]))
        preferred = [100 * (one["easy"] - one["hard"]) for one in (late, early)]
        more = estimates.mean(preferred[0] - preferred[1], covers="seeds, of one search")
        verdicts.append(Verdict(more, above=0.0, unit=POINTS, case=_case(spectral)))
    return all_of(verdicts)


def _case(spectral: bool) -> str:
    return "spectral normalization" if spectral else "no normalization"


_CIFAR = "all of CIFAR-10 in colour, 32 × 32, where a network that is trained on it alone has more than 40 %"
FIG9 = (
    Claim(
        "shortcut",
        "With ReLU, the accuracy on the hard tile is not better than chance (within 2 to 4 points)",
        _ignores_hard,
        tiles_of_paper,
        _CIFAR,
    ),
    Claim(
        "own-tile",
        "The accuracy shifts towards the tile that a function is learned for",
        _raises_its_tile,
        tiles_of_paper,
        _CIFAR,
    ),
    Claim(
        "steers",
        "Using either learned activation steers the learning towards either tile",
        _steers,
        tiles_of_paper,
        _CIFAR,
    ),
)
FIG25 = (
    Claim(
        "spectral",
        "Learned functions steer more with spectral normalization (towards either tile)",
        _steers_more,
        tiles_of_paper,
        _CIFAR,
    ),
    Claim(
        "below-alone",
        "Accuracy on the hard tile remains below that of a model trained on unambiguous images",
        _below_alone,
        tiles_of_paper,
        _CIFAR,
    ),
    Claim(
        "iterations",
        "The model relies on simple features with more iterations (with the function for the hard tile)",
        _simple_in_the_end,
        tiles_of_paper,
        _CIFAR,
    ),
)
