"""Fine-tuning of a run that the store has, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from lab import kinds
from lab.data.sentences import labelled
from lab.errors import ArgumentError, check_choice
from lab.jobs.checkpoints import run_with_checkpoints
from lab.jobs.job import Job, Tell, Work, work
from lab.models.small_language import SmallLanguageModel
from lab.probes.language import reader_of
from lab.spec import FineTuning
from lab.store import Store
from lab.training.finetuning import TASKS, Tuner, tune
from lab.training.fleet import restored

EXAMPLES = 2_000  # of a task, roughly: for the order of jobs alone


class FineTunings(Work):
    """What the engine must know of fine-tuning."""

    rank = 2  # after the runs that it begins with
    nouns = ("fine-tuning", "fine-tunings")

    def threads(self, spec: FineTuning) -> int:
        """As `Work.threads`."""
        return 1

    def check(self, spec: FineTuning) -> None:
        """As `Work.check`; the task's data have to be here."""
        check_choice("task", spec.task, TASKS)
        if not isinstance(spec.model, SmallLanguageModel):
            said = f"the run is of {spec.pretrained.task_name} with a {type(spec.model).__name__}"
            raise ArgumentError(f"{said}; give one of a GPT-Neo or RoBERTa, whose keys `lab store list` prints")
        kinds.check_run(spec.pretrained)
        for part in ("train", "val"):
            labelled(spec.task, part)

    def steps(self, specs: Sequence[FineTuning]) -> int:
        """As `Work.steps`."""
        return sum(spec.tuning.epochs * _batches(spec) for spec in specs)

    def size(self, specs: Sequence[FineTuning]) -> float:
        """As `Work.size`."""
        each = (spec.tuning.epochs * (spec.examples or EXAMPLES) * spec.tuning.length for spec in specs)
        return float(sum(size * spec.model.width for size, spec in zip(each, specs, strict=True)))

    def name(self, specs: Sequence[FineTuning]) -> str:
        """As `Work.name`."""
        return f"{specs[0].task}: fine-tuning"

    def train(self, job: Job, store: Store, report: Tell) -> None:
        """As `Work.train`. The result has the course of the tuning, and the weights after the epoch that counts."""
        (spec,) = job.specs
        assert isinstance(spec, FineTuning)
        tuner = Tuner(
            restored(spec.pretrained, store).to(job.device),  # type: ignore[arg-type]  # check saw its kind
            reader_of(spec.pretrained.task),
            spec.task,
            labelled(spec.task, "train")[: spec.examples],
            labelled(spec.task, "val"),
            seed=spec.seed,
            tuning=spec.tuning,
        )

        def tell(tuner: Tuner) -> None:
            report(tuner.step)

        notes = run_with_checkpoints(job, store, tuner, tune, tell)
        columns = ("epoch", "loss", "accuracy", "score", "constant", "best")
        history = {name: tuner.table[name].to_numpy(float) for name in columns}
        store.save(spec, history, tuner.best, notes | {"diverged": None})
        store.drop_checkpoint(job.specs)
        report(job.steps)


def _batches(spec: FineTuning) -> int:
    """Steps of an epoch."""
    return ceil(len(labelled(spec.task, "train")[: spec.examples]) / spec.tuning.batch)


@work.register(FineTuning)
def _(spec: FineTuning) -> FineTunings:
    return FineTunings()
