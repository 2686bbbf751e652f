"""Fine-tuning of a trained GPT-Neo or RoBERTa on a task of GLUE, over several seeds, and what it gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import torch

from lab.data.sentence_sets import TASKS
from lab.data.sentences import Labelled
from lab.errors import ArgumentError, LabError, check_choice, check_type, check_whole, shown
from lab.estimates import Estimate, mean
from lab.jobs.job import trainer
from lab.places import SHIPPED
from lab.probes.language import reader_of
from lab.run import MOST_SEEDS, Run, RunList, Stored, complete
from lab.spec import TUNINGS, FineTuning, RunSpec, Tuning
from lab.statistics import INTERVAL, LEVEL
from lab.store import Store, as_store
from lab.training.finetuning import Classifier, answers, one_run
from lab.training.fleet import restored

SCORES = {"accuracy": "accuracy", "f1": "F1 of class 1", "mcc": "correlation of Matthews"}
MOST_EXAMPLES = 1 << 30


@dataclass(frozen=True, eq=False)
class Tuned(Stored):
    """What one seed of a fine-tuning gave, read from the store when asked."""

    spec: FineTuning

    @property
    def table(self) -> dict[str, np.ndarray]:
        """By epoch, (T,) each: epoch, loss (in training, nats), accuracy, score (the task's own), best (whether the
        epoch counts), and constant, the score of the better constant answer."""
        return self._stored[0]

    @property
    def score(self) -> float:
        """The task's own score on `val` in the epoch that counts."""
        return self._best("score")

    def model(self) -> Classifier:
        """The tuned model after the epoch that counts: tokens (B, T), lengths (B,) → logits (B, 2)."""
        weights = self._stored[1]
        if not weights:
            raise LabError(f"fine-tuning {self.key[:12]} was stored without weights; `Store.forget` it, and tune again")
        body = one_run(cast(Any, restored(self.spec.pretrained, self.store)))
        made = Classifier(body, torch.Generator().manual_seed(0))  # the head's weights are replaced below
        if weights.keys() != {name for name, weight in made.named_parameters() if weight.requires_grad}:
            raise LabError(
                f"fine-tuning {self.key[:12]} has weights of another model; `Store.forget` it, and tune again"
            )
        made.load_state_dict(weights, strict=False)  # tied ones have one name there, and frozen functions none
        return made.requires_grad_(False).eval()

    def answers(self, examples: Sequence[Labelled]) -> np.ndarray:
        """The class that the tuned model gives each example, (N,), 0 or 1; their labels are not read."""
        return answers(self.model(), reader_of(self.spec.pretrained.task), examples, self.spec.tuning)

    def _best(self, column: str) -> float:
        return float(self.table[column][self.table["best"].astype(bool)][0])


class TunedRuns(RunList[Tuned]):
    """Fine-tunings of one run on one task, one a seed. Printed: the task's score over seeds with its interval."""

    of, named = Tuned, "the tunings of lab.finetune"

    @property
    def scores(self) -> np.ndarray:
        """The task's own score of each seed, (S,)."""
        return np.array([run.score for run in self])

    @property
    def estimate(self) -> Estimate:
        """Its mean over seeds, of the head's weights and the order of examples; the pretrained run is one."""
        return mean(self.scores.tolist())

    @property
    def table(self) -> pd.DataFrame:
        """One row a seed: key, task, seed, epoch (that counts), score, accuracy, constant (score of the better constant
        answer)."""
        rows = []
        for run in self:
            row: dict[str, Any] = {"key": run.key, "task": run.spec.task, "seed": run.spec.seed}
            row["epoch"] = int(run._best("epoch"))
            rows.append(row | {name: run._best(name) for name in ("score", "accuracy", "constant")})
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        if not len(self):
            return "no tunings"
        spec, estimate = self[0].spec, self.estimate
        low, high = estimate.interval(LEVEL)
        spread = (
            f"± {(high - low) / 2:.3f}, {INTERVAL}; {len(self)} seeds" if len(self) > 1 else "one seed, no interval"
        )
        words = f"{spec.task}, {SCORES[TASKS[spec.task].score]} on val: {estimate.effect:.3f} ({spread})"
        return f"{words}; the better constant answer has {self[0]._best('constant'):.3f}"


def finetune(
    pretrained: Run | str,
    task: str,
    seeds: int = 5,
    tuning: str | Tuning = "2024",
    examples: int | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
) -> TunedRuns:
    """Fine-tune a trained GPT-Neo or RoBERTa, with a new head, on a task of GLUE, once for each seed.

    All weights are tuned. Tunings that the store has are read, not repeated; a call that was killed continues where it
    was.

    pretrained: a `lab.Run` with a `SmallLanguageModel`, or the beginning of its key in the store (`lab store list`), or
        the key of one that is shipped with the lab.
    task: "cola", "sst2", "mrpc" or "rte"; `lab data fetch cola` downloads one.
    tuning: the settings of BabyLM's evaluation of "2023", "2024" or "2025", or a `lab.spec.Tuning`.
    examples: train on the first so many. Default: all.

    Returns TunedRuns: `.scores` (seeds,), `.table`, `.estimate` (mean with its interval), and each tuning by its
    number. The score is that of `val`, which also chooses the epoch, as in these evaluations. Raises ArgumentError for
    a wrong argument, LabError where the data are not here.

        tunings = lab.finetune("3f2a", "cola")
        print(tunings, tunings.table)
    """
    store = as_store(store)
    run = _named(pretrained, store) if isinstance(pretrained, str) else pretrained
    spec = check_type("pretrained", run, Run, "a lab.Run, or the beginning of its key").spec
    check_choice("task", task, TASKS)
    if not isinstance(tuning, Tuning):
        tuning = TUNINGS[check_choice("tuning", tuning, TUNINGS, "; or a lab.spec.Tuning")]
    if examples is not None:
        check_whole("examples", examples, 1, MOST_EXAMPLES)
    check_whole("seeds", seeds, 1, MOST_SEEDS)
    specs = [FineTuning(spec, task, tuning, seed, examples) for seed in range(seeds)]
    if run.store.has(spec):
        if diverged := run.diverged:
            raise ArgumentError(f"run {run.key[:12]} diverged at step {diverged[0]}; give one that did not")
        if not store.has(spec):
            trainer(specs[0]).check(specs[0])  # nothing is copied that cannot be tuned
            run.store.export(run.key, store.folder)
    complete(specs, store, device, progress)
    return TunedRuns([Tuned(spec, store) for spec in specs])


def _named(name: str, store: Store) -> Run:
    """The run whose key begins so: of the store, or else of those that come with the lab."""
    spec, home = store.lending(SHIPPED).look_up(name)
    if not isinstance(spec, RunSpec):
        raise ArgumentError(f"pretrained={shown(name)} is a {type(spec).__name__}; give a run of a language model")
    return Run(spec, home)
