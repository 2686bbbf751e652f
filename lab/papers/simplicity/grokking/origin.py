"""Where the settings of the simplicity paper's figures on operations come from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lab.papers.simplicity.grokking import settings
from lab.tasks import Operation


@dataclass(frozen=True)
class GrokkingProvenance:
    """The simplicity paper, operations: the settings of `lab.papers.simplicity.grokking.settings`."""

    tasks: tuple[Operation, ...]
    by_scale: Mapping[str, tuple[Operation, ...]] | None = None  # those of a scale, where it has not all
    guesses: Sequence[str] = settings.GUESSES

    def for_tasks(self, names: Sequence[str]) -> GrokkingProvenance:
        """Of the operations of these names alone."""

        def chosen(tasks: Sequence[Operation]) -> tuple[Operation, ...]:
            return tuple(task for task in tasks if task.name in names)

        by_scale = {scale: chosen(tasks) for scale, tasks in self.by_scale.items()} if self.by_scale else None
        return replace(self, tasks=chosen(self.tasks), by_scale=by_scale)

    def data(self, scale: str) -> list[dict]:
        """The whole tables, with the digest of all results."""
        return [
            {
                "name": task.name,
                "from": "all pairs of operands, split by lab.tasks.operation with seed 0",
                "sha256": hashlib.sha256(task.table().numpy().tobytes()).hexdigest(),
            }
            for task in self._of(scale)
        ]

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """By task: App. E.6 for models, App. C for the search; the rest are guesses."""
        found = {}
        for task in self._of(scale):
            paper = self._fields("paper", task)
            for name, value in self._fields(scale, task).items():
                source = _APPENDIX.get(name, "guess, the paper does not say")
                if value != paper[name]:
                    source = f"reduced for scale {scale}"
                if name == "rate" and scale == "laptop":
                    source = "sweep with ReLU on val at laptop scale, for 27 classes; in proportion to the classes"
                found[f"{task.name}: {name}"] = {"value": value, "from": source}
        return found

    def departures(self, scale: str) -> list[str]:
        """What differs from the settings of the paper, where it has any."""
        told: dict[str, list[str]] = {}
        for task in self._of(scale):
            paper = self._fields("paper", task)
            words = [
                f"{name} {value:.4g} (paper {paper[name]:g})"
                for name, value in self._fields(scale, task).items()
                if value != paper[name] and name in _APPENDIX
            ]
            told.setdefault(", ".join(words), []).append(task.name)
        return [f"{', '.join(names)}: {words}" for words, names in told.items() if words]

    def _of(self, scale: str) -> tuple[Operation, ...]:
        return self.by_scale[scale] if self.by_scale else self.tasks

    def _fields(self, scale: str, task: Operation) -> dict[str, object]:
        found = settings.grokking(scale, task)
        search, recipe = found.search, found.recipe
        restarts = {
            name: sorted({getattr(restart, name) for restart in search.restarts})
            for name in ("rate", "knots", "window", "start")
        }
        return {
            "width": found.model.width,
            "steps": recipe.steps,
            "rate": recipe.rate,
            "steps averaged": recipe.average,
            "share that is not the test split": task.fraction,
            "initial weights, U(±1/√inputs) times": 1.0,
            "search: width": search.model.width,
            "search: rate": search.inner.rate,
            "search: most inner steps": search.inner.steps,
            "search: inner steps more an episode": search.growth,
            "search: episodes": search.episodes,
            "search: restarts": len(search.restarts),
            "search: rates of knots": restarts["rate"],
            "search: numbers of knots": restarts["knots"],
            "search: inner steps differentiated": restarts["window"],
            "search: starts": restarts["start"],
            "search: range of knots": [search.low, search.high],
            "search: steps of models that decide": search.retrain.steps,
        }


_APPENDIX = {
    "width": "paper, App. E.6",
    "steps": "paper, App. E.6",
    "rate": "paper, App. E.6",
    "share that is not the test split": "paper, App. E.6",
}
