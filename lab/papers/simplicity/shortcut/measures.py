"""Section 3.4 and Appendix E.5 of the simplicity paper: perceptrons on collages of two tiles, what is measured of them,
and what the paper claims.

`paper` has what Appendix E.5 says. Its data, CIFAR-10 and SVHN, have no open licence: `laptop` has a collage of two
sets that the lab ships, and larger, fewer steps; `overnight` has the same steps on parts of the paper's MNIST and
CIFAR-10 (`lab data` says how to get that of CIFAR-10); `smoke` only runs the machinery.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.data import datasets
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.entry import Field, Origin, Planned, shipped
from lab.papers.simplicity.images.settings import TITLES
from lab.papers.simplicity.settings import RELU, episode_result, first_of_searches, numbers_of, restarts
from lab.papers.tables import POINTS, Labelled, compare_one, gains_on_rows
from lab.resolve import resolve
from lab.scale import SCALES, check_scale, model_scale
from lab.spec import ConstantRate, EpisodeSpec, Learned, Part, Perceptron, Restart, RunSpec, replace
from lab.tasks import Collage, SingleTileCollage
from lab.tasks.collage import TILES
from lab.training.descent_fleet import fleet_of

# "easy" is the tile that ReLU relies on: of MNIST and Fashion-MNIST the latter, on the unambiguous validation sets.
SHIPPED = Collage("fashion_mnist_sample", "mnist_sample")
CIFAR_PART = Collage("mnist_sample", "cifar10_4k1k")
CIFAR, SVHN = Collage("mnist", "cifar10"), Collage("mnist", "svhn")
EVALUATE = ("test", "val", "test_easy", "test_hard", "val_easy", "val_hard")
FOR = {tile: f"learned for {tile}" for tile in TILES}  # methods by the tile whose validation set a function is for
ALONE = {tile: f"ReLU, {tile} alone" for tile in TILES}  # trained where only this tile tells the label
METHODS = (RELU, *FOR.values())
SEEDS = {"smoke": 2, "laptop": 3, "overnight": 6, "paper": 6}

# The highest at which ReLU diverges neither with nor without spectral normalization (docs/log.md).
_LAPTOP_RATE = 0.1
_RECIPES = {
    "smoke": ConstantRate(steps=6, rate=_LAPTOP_RATE, batch=256, average=2, keep="last", every=2),
    "laptop": ConstantRate(steps=400, rate=_LAPTOP_RATE, batch=1024, average=10, keep="last", every=10),
    "paper": ConstantRate(steps=10_000, rate=0.01, batch=4096, keep="last", every=50),
}
HELD_OUT = 0.01  # of the training rows of an episode, which nothing is measured on: the objective has rows of its own
# App. C starts at zero or ReLU, with t = 5 and rates of .01 to .2. A larger t makes no difference (docs/log.md).
_LAPTOP_RESTARTS = tuple(
    Restart(seed, rate, knots=101, window=5, start=start)
    for seed, (start, rate) in enumerate((("relu", 0.1), ("relu", 0.3), ("zero", 0.3)))
)
_SEARCH = {  # steps of an episode, episodes, restarts
    "smoke": (2, 2, (Restart(0, 0.1, 21, 1, "relu"), Restart(1, 0.1, 21, 1, "relu"))),
    "laptop": (40, 150, _LAPTOP_RESTARTS),
    "paper": (500, 200, (*_LAPTOP_RESTARTS, Restart(3, 0.05, 101, 5, "relu"), Restart(4, 0.1, 101, 5, "zero"))),
}
GUESSES = (
    "tiles are grey, 16 × 16, one above the other (lab.tasks.collage); weights as everywhere in the lab",
    "number of steps, evaluations and seeds; the whole search (App. C has ranges)",
    "episodes are equally long from the first on: where only one tile tells the label, the loss grows with"
    " training, and functions of short episodes would always look best",
    "the loss is the cross-entropy of logits",
)
_APPENDIX = ("width", "batch", "rate", "spectral normalization")
CHANCE, ABOVE = 2.0, 4.0  # points above chance that count as chance, and from which on they do not
TEST_ROWS = 1_000  # collages that an accuracy is measured on, the same for every seed; at scale paper there are more


@dataclass(frozen=True)
class Shortcut:
    """One collage, with or without spectral normalization."""

    task: Collage
    model: Perceptron
    recipe: ConstantRate
    scale: str  # whose searches it has

    def search(self, tile: str) -> EpisodeSpec:
        """The search for the function that does best where only this tile tells the label."""
        watch = f"val_{tile}"
        steps, episodes, tries = _SEARCH[self.scale]
        inner = ConstantRate(steps, self.recipe.rate, batch=self.recipe.batch if self.scale == "paper" else 256)
        retrain = replace(self.recipe, keep="best", watch=watch)
        how: dict[str, Any] = {"episodes": episodes, "growth": float(steps), "held_out": HELD_OUT}
        return EpisodeSpec(self.task, self.model, inner, retrain, tries, objective=watch, normalized=True, **how)

    def runs(self, method: str, seeds: int) -> list[RunSpec]:
        """One run a seed."""
        task = self.task
        phi: Part = "relu"
        for tile in TILES:
            if method == FOR[tile]:
                phi = Learned(self.search(tile), "phi")
            elif method == ALONE[tile]:
                task = SingleTileCollage(task.easy, task.hard, tile)
        return [RunSpec(task, replace(self.model, phi=phi), self.recipe, seed, EVALUATE) for seed in range(seeds)]


def shortcut(scale: str = "laptop", spectral: bool = True, task: Collage = CIFAR) -> Shortcut:
    """The setting of a collage. task: that of paper scale; the others have one each.

    >>> setting = shortcut("laptop")
    >>> setting.task.name, setting.search("hard").objective, setting.runs("ReLU", seeds=2)[1].seed
    ('fashion_mnist_sample over mnist_sample', 'val_hard', 1)
    """
    if check_scale(scale, SCALES) != "paper":
        task = CIFAR_PART if scale == "overnight" else SHIPPED
    like = model_scale(scale)
    return Shortcut(task, Perceptron(width=8 if scale == "smoke" else 32, spectral=spectral), _RECIPES[like], like)


def origin(paper: Collage, spectral: tuple[bool, ...]) -> Origin:
    """Of entries that train on collages. paper: the paper's. spectral: which kinds of models it has."""

    def numbers(scale: str) -> dict[str, object]:
        setting = shortcut(scale, spectral[0], paper)
        search = setting.search("easy")
        return {
            "width": setting.model.width,
            "batch": setting.recipe.batch,
            "rate": setting.recipe.rate,
            "spectral normalization": list(spectral),
            "steps": setting.recipe.steps,
            "weights averaged over the last steps": setting.recipe.average,
            "search: batch": search.inner.batch,
            "search: inner steps": search.inner.steps,
            **numbers_of(search),
        }

    def facts(scale: str) -> Iterator[Field | str]:
        here, theirs = shortcut(scale, task=paper).task, numbers("paper")
        if here == CIFAR_PART:
            parts = (f"{image_title(source)} ({datasets.entry(source).shape})" for source in here.sources)
            yield f"collages of parts of {' and '.join(parts)}"
        elif here != paper:
            missing = image_title(paper.hard)
            yield (
                f"collages of {' and '.join(map(image_title, here.sources))}, because {missing} has no open licence and"
                f" is not shipped (paper: {image_title(paper.easy)} and {missing})"
            )
        for name, value in numbers(scale).items():
            known, other = name in _APPENDIX, "sweep with ReLU on val at laptop scale" if name == "rate" else ""
            source = "paper, App. E.5" if known else "guess, the paper does not say"
            yield Field(name, value, theirs[name], source, other, in_caption=known)

    return Origin(lambda scale: shipped(shortcut(scale, task=paper).task.sources), facts, GUESSES)


def image_title(source: str) -> str:
    """The name of an image set as figures spell it.

    >>> image_title("fashion_mnist_sample")
    'Fashion-MNIST'
    """
    name = source.removesuffix("_sample").removesuffix("_4k1k")
    return TITLES.get(name, name)


def planned(
    task: Collage, spectral: Sequence[bool] = (True,), methods: Sequence[str] = METHODS
) -> Callable[[str, int], list[Planned]]:
    """The plan of an entry: each method, with or without spectral normalization."""

    def plan(scale: str, seeds: int) -> list[Planned]:
        return [
            ({"task": base.task.name, "spectral": normalized, "method": method}, spec)
            for normalized in spectral
            for base in (shortcut(scale, normalized, task),)
            for method in methods
            for spec in base.runs(method, seeds)
        ]

    return plan


def measure(runs: Labelled) -> pd.DataFrame:
    """One row per run and evaluation, the first one of the initial weights: task, spectral, method, seed, step,
    diverged, and accuracies, 0 to 1: accuracy and val on these splits (both tiles tell the label; for models trained on
    one tile: that one does); easy, hard, val_easy and val_hard where only one tile does."""
    parts = []
    names = {"accuracy": "test", "val": "val"} | {tile: f"test_{tile}" for tile in TILES}
    names |= {f"val_{tile}": f"val_{tile}" for tile in TILES}
    for labels, run in runs:
        initial = tuple(resolve(part, run.store) for part in run.spec.model.parts.values())
        first = fleet_of([run.spec], [initial]).scores()
        columns = labels | {"seed": run.spec.seed, "step": [0, *run.steps]}
        columns |= {
            name: [float(first[f"accuracy_{split}"][0]), *run.accuracy_on(split)] for name, split in names.items()
        }
        parts.append(pd.DataFrame(columns | {"diverged": bool(run.diverged)}))
    return pd.concat(parts, ignore_index=True).round(dict.fromkeys(names, 5))


def functions(runs: Labelled) -> pd.DataFrame:
    """What each restart of each search found, one row a knot: spectral, method, restart, accuracy_val (where only the
    tile of the method tells the label, of the model that decided), chosen, x, value."""
    parts = []
    for labels, run in first_of_searches(runs):
        kind = {name: labels[name] for name in ("spectral", "method")}
        parts += [pd.DataFrame(kind | restart) for restart in restarts(episode_result(run))]
    return pd.concat(parts, ignore_index=True).round({"x": 6, "value": 6})


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
    values = best.select_dtypes(float).columns
    best[values] = best[values].where(~best["diverged"].astype(bool))
    return best


def ends(table: pd.DataFrame, method: str, column: str = "") -> pd.DataFrame:
    """Accuracy in percent where only one tile tells the label, seeds × tiles: of a method, at the evaluation that is
    best in `column`, or in what stops its training."""
    return 100 * stopped(table[table["method"] == method], column or watched(method))[list(TILES)]


def steering(table: pd.DataFrame, tile: str) -> pd.Series:
    """For each seed: by how many points the function for a tile prefers that tile (its accuracy less that of the other
    one) more than ReLU does with the same early stopping."""
    (other,) = set(TILES) - {tile}
    learned, relu = (ends(table, method, f"val_{tile}") for method in (FOR[tile], RELU))
    return (learned[tile] - learned[other]) - (relu[tile] - relu[other])


def _tiles_of_paper(table: pd.DataFrame, scale: str) -> str:
    """Collages of MNIST and CIFAR-10, of which one is easy and the other hard."""
    names = table["task"].unique()
    ours = all("mnist" in name and "cifar10" in name and "fashion" not in name for name in names)
    return "" if ours else f"other images: {', '.join(names)}, where the paper has MNIST and CIFAR-10"


def _kinds(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    groups = table.groupby("spectral", sort=False)
    return [("spectral normalization" if spectral else "no normalization", rows) for spectral, rows in groups]


def _gains(cases: dict[str, list[pd.Series]]) -> Verdict:
    """By case, by how many points the first accuracy is above the second, all on the same rows."""
    groups = {(case, side): percent for case, pair in cases.items() for side, percent in enumerate(pair)}
    pairs = {case: ((case, 0), (case, 1)) for case in cases}
    return all_of(gains_on_rows(groups, pairs, dict.fromkeys(pairs, TEST_ROWS), above=0.0, unit=POINTS))


def _ignores_hard(table: pd.DataFrame) -> Verdict:
    """Seeds share a test split, whose size limits what they can tell of chance."""
    verdicts = []
    for case, rows in _kinds(table[table["method"] == RELU]):
        right = estimates.mean_on_sample(stopped(rows, watched(RELU))["hard"], TEST_ROWS)
        above = right.scaled(100).shifted(-10)
        verdicts.append(Verdict(above, below=CHANCE, refuted_above=ABOVE, unit=POINTS, case=case))
    return all_of(verdicts)


def _raises_its_tile(table: pd.DataFrame) -> Verdict:
    """Where the tile of each function alone tells the label, less ReLU with the same early stopping."""
    return _gains(
        {
            f"{tile} tile, {case}": [ends(rows, method, f"val_{tile}")[tile] for method in (FOR[tile], RELU)]
            for case, rows in _kinds(table)
            for tile in TILES
        }
    )


def _steers(table: pd.DataFrame) -> Verdict:
    return all_of(
        Verdict(
            estimates.mean(steering(rows, tile), covers="seeds, of one search a tile"),
            above=0.0,
            unit=POINTS,
            case=f"{tile} tile, {case}",
        )
        for case, rows in _kinds(table)
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
    methods = (ALONE["hard"], FOR["hard"])
    return _gains({case: [ends(rows, method)["hard"] for method in methods] for case, rows in _kinds(table)})


def _simple_in_the_end(table: pd.DataFrame) -> Verdict:
    """By how many points the function for the hard tile prefers the easy one more at the end than at early stopping."""
    verdicts = []
    for case, rows in _kinds(table[table["method"] == FOR["hard"]]):
        early, late = (ends(part, FOR["hard"]) for part in (rows, rows[rows["step"] == rows["step"].max()]))
        more = (late["easy"] - late["hard"]) - (early["easy"] - early["hard"])
        estimate = estimates.mean(more, covers="seeds, of one search")
        verdicts.append(Verdict(estimate, above=0.0, unit=POINTS, case=case))
    return all_of(verdicts)


def _claim(name: str, says: str, measure: Callable[[pd.DataFrame], Verdict]) -> Claim:
    decides = "all of CIFAR-10 in colour, 32 × 32, where a network that is trained on it alone has more than 40 %"
    return Claim(name, says, measure, _tiles_of_paper, decides, stands_in=_small_sets)


def _small_sets(table: pd.DataFrame, scale: str) -> str:
    return "" if scale == "paper" else "collages of 4,000 to 5,000 images a set in place of whole sets"


FIG9 = (
    _claim(
        "shortcut",
        "With ReLU, the accuracy on the hard tile is not better than chance (within 2 to 4 points)",
        _ignores_hard,
    ),
    _claim("own-tile", "The accuracy shifts towards the tile that a function is learned for", _raises_its_tile),
    _claim("steers", "Using either learned activation steers the learning towards either tile", _steers),
)
FIG25 = (
    _claim("spectral", "Learned functions steer more with spectral normalization (towards either tile)", _steers_more),
    _claim(
        "below-alone",
        "Accuracy on the hard tile remains below that of a model trained on unambiguous images",
        _below_alone,
    ),
    _claim(
        "iterations",
        "The model relies on simple features with more iterations (with the function for the hard tile)",
        _simple_in_the_end,
    ),
)
