"""Runs side by side, as one fleet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lab import kinds
from lab.devices import gpu_memory
from lab.jobs.checkpoints import keep, run_with_checkpoints
from lab.jobs.job import Job, Tell, Work, work
from lab.resolve import resolve
from lab.spec import RunSpec
from lab.store import Store
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import Fleet, note_of, train, wants_compiled

CPU_FLEET_TOKENS = 4_000  # see fleet_size
# memory a fleet needs for each token × layer × channel of a step: activations kept for the backward pass
GPU_BYTES = 400
LOGIT_BYTES = 16  # and for each logit: its value, its softmax, their gradients, in float32


class Runs(Work):
    """What the engine must know of runs."""

    rank = 1
    nouns = ("run", "runs")

    def check(self, spec: RunSpec) -> None:
        """As `Work.check`."""
        kinds.check_run(spec)
        wants_compiled()  # a wrong word in the environment is said before searches are trained

    def batch_key(self, spec: RunSpec) -> object:
        """As `Work.batch_key`."""
        return kinds.fleet_key(spec)

    def most(self, spec: RunSpec, device: str) -> int:
        """As `Work.most`."""
        if (most := kinds.side_by_side(spec.model, spec, device)) is not None:
            return most
        shape = kinds.sizes(spec.task, spec.task_seed)
        logits = shape.outputs if shape.form == "tokens" else 0
        return fleet_size(spec.model, kinds.batch_size(spec), shape.trained or shape.length, device, logits)

    def steps(self, specs: Sequence[RunSpec]) -> int:
        """As `Work.steps`."""
        return sum(spec.recipe.last for spec in specs)

    def size(self, specs: Sequence[RunSpec]) -> float:
        """As `Work.size`."""
        return sum(size_of(spec) for spec in specs)

    def name(self, specs: Sequence[RunSpec]) -> str:
        """As `Work.name`."""
        return f"{specs[0].task_name}: {len(specs)} run{'s' if len(specs) != 1 else ''}"

    def train(self, job: Job, store: Store, report: Tell) -> None:
        """As `Work.train`."""
        parts = [tuple(resolve(part, store) for part in spec.model.parts.values()) for spec in job.specs]
        fleet = fleet_of(cast(Sequence[RunSpec], job.specs), parts, job.device)

        def tell(fleet: Fleet) -> None:
            report(fleet.step * len(fleet.specs))

        notes = run_with_checkpoints(job, store, fleet, train, tell)
        if len(job.specs) > 1:  # a kill between two of the saves below must not leave the rest to another fleet
            keep(job, store, fleet, notes)
        notes["kernel"] += note_of(fleet)
        save(store, fleet, notes)
        store.drop_checkpoint(job.specs)
        report(job.steps)


@work.register(RunSpec)
def _(spec: RunSpec) -> Runs:
    return Runs()


def size_of(spec: Any) -> float:
    """Rough number of values that the layers of a model compute, over all steps."""
    return float(spec.recipe.last * kinds.batch_size(spec) * spec.model.width * max(1, spec.model.layers))


def fleet_size(model: Any, batch: int, length: int, device: str, logits: int = 0) -> int:
    """How many runs of this shape train side by side fastest. logits: numbers that are predicted for each token.

    CPU: stacking saves Python's overhead, which matters only while a step's tensors are small; past CPU_FLEET_TOKENS
    (tokens × width / 32; `benchmarks/fleet.py` measures the crossing) one run after the other is as fast, and
    leaves more fleets to share between the processes.
    """
    if device == "cuda":
        token = GPU_BYTES * max(1, model.layers) * model.activation_memory(length) + LOGIT_BYTES * logits
        return max(1, int(0.7 * gpu_memory() / (batch * length * token)))
    return max(1, int(CPU_FLEET_TOKENS / (batch * length * model.width / 32)))


def save(store: Store, fleet: Fleet, notes: dict) -> None:
    """Keep the history and the weights of each run, with its share of the time."""
    arrays = fleet.history.arrays()
    for run, spec in enumerate(fleet.specs):
        history = {name: array if name == "steps" else array[:, run] for name, array in arrays.items()}
        diverged = None if fleet.died[run] < 0 else [int(fleet.died[run]), repr(float(fleet.last_value[run]))]
        run_notes = notes | {
            "seconds": notes["seconds"] / len(fleet.specs),
            "fleet": len(fleet.specs),
            "diverged": diverged,
        }
        run_notes |= fleet.run_notes(run) | fleet.beyond_of([run])
        if not store.has(spec):
            store.save(spec, history, fleet.run_weights(run), run_notes)
