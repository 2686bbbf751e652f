"""Hyper-parameters of the algorithmic tasks at each scale, and where each comes from.

`paper` is Table 4 of the transformers paper. Several of its cells lost their borders in the text that was available;
what is read from a cell's position is marked (unsure) in `SOURCES`. `laptop` is reduced until all figures train on two CPU
cores; its rates were chosen on `val` by `lab sweep` (data/results/transformers/sweep). `smoke` only runs the machinery.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.scale import check_scale
from lab.spec import Learned, ModelSpec, Recipe, RunSpec, SearchSpec, replace
from lab.tasks import NAMES as TASKS

STAGE_ONE_SEED = 0
SEEDS = {"smoke": 2, "laptop": 6, "paper": 6}


@dataclass(frozen=True)
class Setting:
    """What one task is trained with: baseline model and recipe, and the search that replaces its non-linearities."""

    task: str
    model: ModelSpec
    recipe: Recipe
    read: int  # step at which the compatibility matrix is read (App. B)
    models: int = 8  # M of Algorithm 1
    knots: int = 361  # spacing 1/9 on [-20, 20]
    spline_rate: float = 0.02
    learned_rate: float | None = None  # peak rate with learned functions, where the baseline's own makes the search fail

    def search(self, learn: tuple[str, ...] = ("mlp",)) -> SearchSpec:
        """The stage-I search of this task, with the recipe of its stage II."""
        return SearchSpec(self.task, self.model, self._recipe(learned=True), learn, self.models, knots=self.knots,
                          spline_rate=self.spline_rate, seed=STAGE_ONE_SEED)  # fmt: skip

    def runs(self, seeds: int, search: SearchSpec | None = None, short: bool = False, **changes) -> list[RunSpec]:
        """Baseline runs, or runs with what `search` found; `changes` go to the model, `short` stops at `read`."""
        learned = {part: Learned(search, part) for part in search.learn} if search else {}
        model = replace(self.model, **(learned | changes))
        recipe = replace(self._recipe(bool(learned)), stop=self.read if short else None)
        return [RunSpec(self.task, model, recipe, seed) for seed in range(seeds)]

    def _recipe(self, learned: bool) -> Recipe:
        return replace(self.recipe, rate=self.learned_rate or self.recipe.rate) if learned else self.recipe


def setting(task: str, scale: str) -> Setting:
    """The hyper-parameters of a task at a scale.

    >>> setting("mano", "paper").model.heads
    8
    """
    return _SETTINGS[check_scale(scale)](task)


def _paper(task: str) -> Setting:
    mano = task == "mano"
    model = ModelSpec(
        layers=4 if mano else 2,
        heads=8 if mano else 2,
        width=32 if task in ("memorize", "parentheses", "addmod") else 128,
        positions="alibi" if task == "copy" else "learned",
        canon=mano,
        tied=mano,
    )
    steps, rate, read = _TABLE_4[task]
    betas = (0.92, 0.98) if task in ("addreversed", "copy") else (0.9, 0.999)
    recipe = Recipe(steps, rate, batch=64 if mano else 512, betas=betas, every=50 if steps > 1000 else 25)
    return Setting(task, model, recipe, read)


_TABLE_4 = {  # steps, peak rate, step of the compatibility matrix
    "memorize": (500, 0.005, 150),
    "addmod": (1000, 0.02, 300),
    "add": (1000, 0.001, 700),
    "addreversed": (1000, 0.001, 350),
    "mano": (5000, 0.001, 3000),
    "haystack": (1000, 0.001, 400),
    "copy": (2000, 0.004, 2000),
    "parentheses": (500, 0.001, 300),
}
