"""A search by two losses, for the functions of transformers or of perceptrons."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from lab.jobs.checkpoints import run_with_checkpoints
from lab.jobs.job import Job, Tell, Work, work
from lab.jobs.runs import size_of
from lab.resolve import resolve
from lab.spec import ModuleSearch, SearchSpec, SharedSearch, TwoLossSpec
from lab.store import Store
from lab.training import modules, table_search  # noqa: F401  these register their searches
from lab.training.two_loss import Search, search, search_class


class TwoLosses(Work):
    """What the engine must know of a search by two losses."""

    def check(self, spec: SearchSpec | SharedSearch | TwoLossSpec) -> None:
        """As `Work.check`."""
        search_class(spec).check(spec)

    def counted(self, specs: Sequence[SearchSpec | SharedSearch | TwoLossSpec]) -> str:
        """As `Work.counted`, with the models of each, whose steps count."""
        models = {spec.models for spec in specs}
        of = f" of {models.pop()} models{' each' if len(specs) > 1 else ''}" if len(models) == 1 else ""
        return super().counted(specs) + of

    def steps(self, specs: Sequence[SearchSpec | SharedSearch | TwoLossSpec]) -> int:
        """As `Work.steps`; those of all models."""
        return sum(spec.recipe.last * spec.models for spec in specs)

    def size(self, specs: Sequence[SearchSpec | SharedSearch | TwoLossSpec]) -> float:
        """As `Work.size`."""
        return sum(size_of(spec) for spec in specs)

    def name(self, specs: Sequence[SearchSpec | SharedSearch | TwoLossSpec]) -> str:
        """As `Work.name`."""
        return f"{specs[0].task_name}: {search_class(specs[0]).description(specs[0])}"

    def train(self, job: Job, store: Store, report: Tell) -> None:
        """As `Work.train`."""
        spec, kind = job.specs[0], search_class(job.specs[0])
        others = {part: known for part, known in spec.model.parts.items() if not kind.learns(spec, part)}
        given = {part: resolve(known, store) for part, known in others.items()}
        state = kind(spec, job.device, given)

        def tell(state: Search) -> None:
            report(state.step * len(state.specs))

        notes = run_with_checkpoints(job, store, state, search, tell) | state.run_notes(0)
        save(store, state, notes | state.beyond_of(range(len(state.specs))))
        store.drop_checkpoint(job.specs)
        report(job.steps)


@work.register(SearchSpec)
@work.register(SharedSearch)
@work.register(TwoLossSpec)
@work.register(ModuleSearch)
def _(spec: SearchSpec | SharedSearch | TwoLossSpec) -> TwoLosses:
    return TwoLosses()


def save(store: Store, state: Search, notes: dict) -> None:
    """Keep the knots, and how they were found."""
    knots = {part: spline.values.detach().cpu() for part, spline in state.splines.items()}
    history = state.history.arrays() | {"search_loss": torch.tensor(state.search_loss).numpy(), "died": state.died}
    store.save(state.spec, history, knots, notes)
