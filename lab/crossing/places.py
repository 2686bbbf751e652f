"""A task and a model of each paper, and the place in it where any function can stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab.crossing.hyla_phi.settings import logic, search_phi
from lab.papers.activations.small_models import settings as activations
from lab.papers.simplicity.tables.settings import RELU, START, network
from lab.papers.simplicity.tables.settings import search as search_table
from lab.papers.transformers.settings import setting
from lab.run import Run
from lab.scale import check_scale
from lab.spec import Learned, Part, RunSpec, Search, SearchSpec, replace

BASELINE = "baseline"
TUNING_SEED = 100  # no figure reports it
TEST, VAL = "test", "val"
TABLES = {"smoke": "bank-marketing", "laptop": "covertype_sample", "paper": "covertype_sample"}


@dataclass(frozen=True)
class Place:
    """Where a function can stand.

    base: a run of the paper's own baseline, whose score on `test` is followed. part: the name of the place in its
    model. learned: the function of this place. rates: from which each function has its best on `val`.
    """

    name: str
    base: RunSpec
    part: str
    learned: Learned
    rates: tuple[float, ...]
    score: str = "accuracy"

    @property
    def search(self) -> Search:
        """The search for its own function."""
        return self.learned.search

    def runs(self, phi: Part | None, rate: float, seeds: int) -> list[RunSpec]:
        """One run a seed with a function (None: the baseline's), and one on `val`, with a seed that no figure uses."""
        model = self.base.model if phi is None else replace(self.base.model, **{self.part: phi})
        run = replace(self.base, model=model, recipe=replace(self.base.recipe, rate=rate))
        return [*(replace(run, seed=seed) for seed in range(seeds)), replace(run, seed=TUNING_SEED, evaluate=(VAL,))]

    def value(self, run: Run) -> float:
        """The score of a run at its end, or of the evaluation that it kept; on `val` where it was trained for that."""
        values = run.scores[f"{self.score}_{VAL if run.spec.tuning else TEST}"]
        step = run.notes.get("kept")
        return float(values[-1] if step is None or run.diverged else values[run.steps == step][0])


def transformer(scale: str) -> Place:
    """Key–value pairs, memorized by a transformer (transformers paper, Section 3.1)."""
    task_setting = setting("memorize", scale)
    (base,) = task_setting.runs(1, short=True)
    rates = (task_setting.recipe.rate,) if scale == "smoke" else (0.0025, 0.005, 0.01, 0.02, 0.04)
    return Place("transformer", base, "mlp", Learned(task_setting.search()), rates)


def table(scale: str) -> Place:
    """A table, by a perceptron (simplicity paper, Section 3.3); its function is learned by episodes."""
    name = TABLES[scale]
    base = replace(network(scale, name, RELU), evaluate=(TEST,))
    search, rate = search_table(scale, name, START), base.recipe.rate
    rates = (rate,) if scale == "smoke" else (rate, 3 * rate, 9 * rate)
    return Place("perceptron", base, "phi", Learned(search, "phi"), rates)


def hyla(scale: str) -> Place:
    """Fuzzy logic in context, by HYLA (hypernetwork paper, Section 3)."""
    base = replace(logic(scale), seed=0, evaluate=(TEST,))
    rate = base.recipe.rate
    rates = (rate,) if scale == "smoke" else (0.001, 0.003, 0.01)
    return Place("HYLA", base, "phi", Learned(search_phi(base, scale), "phi"), rates, "r2")


def language(scale: str) -> Place:
    """Text, by a small GPT-Neo (activations paper)."""
    (base,) = activations.runs(check_scale(scale), "gpt_neo", "gelu", 1)
    if scale == "laptop":
        base = replace(base, recipe=replace(base.recipe, steps=300, every=300))
    search = SearchSpec(
        base.task,
        replace(base.model, activation="identity"),  # any function in the place that is learned
        base.recipe,
        learn=("activation",),
        models=2 if scale == "smoke" else 3,
        low=-10.0,
        high=10.0,
        knots=121,
        start="gelu",
    )
    rate = base.recipe.rate
    rates = (rate,) if scale == "smoke" else (rate / 8, rate / 4, rate / 2, rate)
    return Place("language model", base, "activation", Learned(search, "activation"), rates)


PLACES: tuple[Callable[[str], Place], ...] = (transformer, table, hyla, language)


def places(scale: str) -> list[Place]:
    """Those of a scale, one a paper.

    >>> [place.name for place in places("laptop")]
    ['transformer', 'perceptron', 'HYLA', 'language model']
    """
    return [make(scale) for make in PLACES]


def function_of(run: RunSpec, part: str) -> Any:
    """What stands in the place."""
    return getattr(run.model, part)
