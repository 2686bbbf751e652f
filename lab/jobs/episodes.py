"""A search by episodes, and the runs that decide between its restarts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np
import torch

from lab.jobs.checkpoints import keep, run_with_checkpoints
from lab.jobs.job import Job, Tell, Work, jobs_of, perform, wait, work
from lab.resolve import resolve
from lab.spec import EpisodeSpec
from lab.store import Store
from lab.training import episodes
from lab.training.episodes import Episodes, best, result, selection_runs, selection_steps


class EpisodeSearch(Work):
    """What the engine must know of a search by episodes."""

    nouns = ("search by episodes", "searches by episodes")

    def check(self, spec: EpisodeSpec) -> None:
        """As `Work.check`."""
        episodes.check(spec)

    def threads(self, spec: EpisodeSpec) -> int:
        """As `Work.threads`."""
        return spec.retrain.threads

    def steps(self, specs: Sequence[EpisodeSpec]) -> int:
        """As `Work.steps`; of the runs that decide, too."""
        return sum(map(episodes.steps, specs))

    def size(self, specs: Sequence[EpisodeSpec]) -> float:
        """As `Work.size`."""
        return sum(float(episodes.steps(s) * episodes.pool(s) * s.model.width * s.model.layers) for s in specs)

    def name(self, specs: Sequence[EpisodeSpec]) -> str:
        """As `Work.name`."""
        return f"{specs[0].task_name}: search by episodes"

    def train(self, job: Job, store: Store, report: Tell) -> None:
        """As `Work.train`. The runs that decide stay in the store like any other."""
        spec = cast(EpisodeSpec, job.specs[0])
        others = {name: part for name, part in spec.model.parts.items() if not episodes.learns(spec, name)}
        given = {name: resolve(part, store) for name, part in others.items()}
        state = Episodes(spec, job.device, given)

        def tell(state: Episodes) -> None:
            report(state.steps, state.words())

        notes = run_with_checkpoints(job, store, state, episodes.search, tell)
        keep(job, store, state, notes)  # a kill among the runs below must not bring the search back
        start, learned = time.perf_counter(), state.functions()
        listed = selection_runs(spec, learned, given)
        wanted, done = [run for runs in listed for run in runs], episodes.steps(spec) - selection_steps(spec)
        while missing := [run for run in wanted if not store.has(run)]:
            ended = False
            for members in jobs_of(store.free(missing), job.device, store):
                if perform(members, partial(_tell, report, done)):
                    ended, done = True, done + members.steps
            if not ended:
                wait(missing, store, partial(report, done))
        results, remarks = [], []
        for runs in listed:
            stored = [store.load(run) for run in runs]
            results.append([result(run, s[0], s[2]) for run, s in zip(runs, stored, strict=True)])
            remarks.append({name: stored[0][2][name] for name in ("beyond", "said") if name in stored[0][2]})
        winner = best(results)
        weights = {name: torch.tensor(part.values) for name, part in learned[winner].items()}
        for restart, parts in enumerate(learned):
            weights |= {f"{name}@{restart}": torch.tensor(part.values) for name, part in parts.items()}
        history = state.arrays() | {"died": state.died, "stopped": state.stopped, "results": np.array(results)}
        notes |= remarks[winner] | {"winner": winner, "seconds": notes["seconds"] + time.perf_counter() - start}
        store.save(spec, history, weights, notes)
        store.drop_checkpoint(job.specs)
        report(job.steps)


def _tell(report: Tell, done: int, steps: int, words: str = "") -> None:
    """Of the runs that decide, which begin where `done` steps are."""
    report(done + steps, "trains with the learned functions")


@work.register(EpisodeSpec)
def _(spec: EpisodeSpec) -> EpisodeSearch:
    return EpisodeSearch()
