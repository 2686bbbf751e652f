"""What one function for several tasks is learned with, at each scale. Models are trained as in figures of the
transformers paper."""

from __future__ import annotations

from collections.abc import Iterator

from lab.papers.origin import SILENT, Field, Origin
from lab.papers.transformers.origin import origin as algorithmic
from lab.papers.transformers.settings import setting
from lab.spec import SearchSpec, SharedSearch, replace

SEEDS = {"smoke": 2, "laptop": 6, "paper": 6}
TASKS = {
    "smoke": ("memorize", "addmod"),
    "laptop": ("memorize", "addmod", "parentheses"),
    "paper": ("memorize", "addmod", "add", "addreversed", "haystack", "parentheses"),
}
STEPS = {"smoke": 6, "laptop": 600, "paper": 1_000}  # of the shared search, on all tasks at once
MODELS = {"smoke": 2, "laptop": 3, "paper": 8}  # M, for each task


def one_search(task: str, scale: str) -> SearchSpec:
    """A task's part of the shared search: its own search, with as many steps as the others."""
    base = setting(task, scale)
    recipe = replace(base.recipe, steps=STEPS[scale], stop=None)
    return replace(base.search(), recipe=recipe, models=MODELS[scale])


def shared(scale: str) -> SharedSearch:
    """The search for one function for all tasks of a scale.

    >>> shared("laptop").task_name, shared("laptop").models
    ('memorize, addmod, parentheses', 9)
    """
    return SharedSearch(tuple(one_search(task, scale) for task in TASKS[scale]))


GUESSES = (
    "how long the shared search takes, and how many models of each task share the function",
    "the losses of all tasks count the same for the knots, in nats a predicted token",
)


def origin() -> Origin:
    """Where these settings come from."""

    def facts(scale: str) -> Iterator[Field | str]:
        yield from algorithmic(TASKS[scale], matrix=True).facts(scale)
        yield Field("steps of the shared search", STEPS[scale], SILENT, "guess")
        yield Field("models of each task in the shared search", MODELS[scale], SILENT, "guess")

    return Origin(
        lambda scale: algorithmic(TASKS[scale]).data(scale), facts, (*algorithmic(TASKS["paper"]).guesses, *GUESSES)
    )
