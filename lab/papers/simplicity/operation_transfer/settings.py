"""Functions learned for one operation, used for others (simplicity paper, Section 4): settings at each scale.

Models, recipes and searches are those of Figure 28, so that one search serves both figures; training ends sooner.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.papers.origin import SILENT, Field
from lab.papers.simplicity import settings
from lab.papers.simplicity.settings import OPERATIONS, RELU, grokking
from lab.spec import ConstantRate, EpisodeSpec, Learned, Part, RunSpec, replace
from lab.tasks import Operation

EVERY = "all operations"  # the function that is learned for all of them at once
SEEDS = {"smoke": 1, "laptop": 1, "overnight": 4, "paper": 3}
# Half of Figure 28's steps, for the sake of time.
_LAST = {"smoke": None, "laptop": 2_500, "overnight": 2_500, "paper": None}


def everywhere(scale: str = "laptop") -> EpisodeSpec:
    """The search for one function for all operations, which take turns. Half the restarts of the others; inner loops of
    an operation grow faster, so that they become as long as there.

    >>> everywhere("laptop").inner_steps(359), everywhere("paper").inner_steps(4949)
    (450, 4500)
    """
    tasks, base = OPERATIONS[scale], grokking(scale).search
    turns, growth = {"smoke": (1, base.growth), "paper": (225, base.growth)}.get(scale, (45, 10.0))
    restarts = base.restarts if scale == "paper" else base.restarts[: max(1, len(base.restarts) // 2)]
    return replace(base, task=tasks, restarts=restarts, episodes=turns * len(tasks), growth=growth)


def runs(scale: str, task: Operation, function: str, seeds: int) -> list[RunSpec]:
    """One run a seed on an operation, with ReLU, with the function of an operation (its name), or that of all."""
    base = grokking(scale, task)
    recipe: ConstantRate = replace(base.recipe, stop=_LAST[scale])
    phi: Part = "relu"
    if function != RELU:
        search = everywhere(scale) if function == EVERY else grokking(scale, _named(scale)[function]).search
        phi = Learned(search, "phi")
    model = replace(base.model, phi=phi)
    return [
        RunSpec(task=base.task, model=model, recipe=recipe, seed=seed, evaluate=("test", "train"))
        for seed in range(seeds)
    ]


def functions(scale: str) -> tuple[str, ...]:
    """Columns of the matrix.

    >>> functions("smoke")
    ('a+b mod 27', 'ab mod 27', 'ReLU', 'all operations')
    """
    return (*_named(scale), RELU, EVERY)


def _named(scale: str) -> dict[str, Operation]:
    return {task.name: task for task in OPERATIONS[scale]}


GUESSES = (
    *settings.GUESSES,
    'an operation is easy (in the paper "solved with ReLUs") where runs with ReLU end with 95 % test accuracy in the'
    " mean; its score is the speed, one over the first step with 95 %, of a hard one the test accuracy at the end; both"
    " as a share of the best in its row",
    "the function for all operations is learned in episodes that take them in turn",
)


def everywhere_fields(scale: str) -> Iterator[Field]:
    """Of the search on all operations, and where training ends."""
    search = everywhere(scale)
    source = "guess, the paper does not say" if scale == "paper" else f"reduced for scale {scale}"
    numbers = {"episodes": search.episodes, "inner steps more a turn": search.growth, "restarts": len(search.restarts)}
    for name, value in numbers.items():
        yield Field(f"search: {name}", value, SILENT, source, task=EVERY)
    if _LAST[scale]:
        yield Field("last step", _LAST[scale], SILENT, source)
