"""Commands that train more or less than a figure: a search, a sweep of learning rates, all figures of a scale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lab import environment
from lab.cli.folder import writable
from lab.errors import LabError


@dataclass(frozen=True)
class Search:
    """Learn a non-linearity for a task."""

    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """memorize, addmod, add, addreversed, mano, haystack, copy or parentheses; a text: shakespeare, "shakespeare gpt2";
    or a table: "a+b mod 27", "mnist_sample as numbers", bank-marketing, ..."""
    scale: str = "laptop"
    """smoke, laptop or paper."""
    learn: tuple[Literal["mlp", "attention", "shared", "layers", "inputs"], ...] | None = None
    """What to learn: mlp (default), attention, or both. For a table: one function for all hidden layers (shared, the
    default), one a layer (layers), or one an input (inputs)."""
    by: Literal["two_loss", "episodes"] | None = None
    """How: two_loss (algorithmic tasks), or episodes (default for tables)."""
    seed: int = 0
    """Seed of the search."""
    device: str = "auto"
    """cpu, cuda or auto."""
    out: Path | None = None
    """Folder for the learned function(s) as JSON, with provenance. Default: your zoo, LAB_ZOO; without it, out/zoo."""

    def run(self) -> None:
        """Search and write the splines."""
        from lab.api import search
        from lab.catalogue.zoo import publish

        out = writable(self.out or environment.folder("LAB_ZOO") or Path("out/zoo"))
        found = search(self.task, self.scale, self.learn, self.seed, self.device, by=self.by)
        for path in publish(found, out, re.sub(r"[^\w+^-]+", "-", self.task)):
            print(path)


@dataclass(frozen=True)
class FineTune:
    """Tune a trained GPT-Neo or RoBERTa on a task of GLUE, several seeds; print its score with an interval."""

    run_key: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="KEY")]
    """The run to begin with: its key, or the beginning of it (`lab store list`)."""
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
    """cola, sst2, mrpc or rte (`lab data fetch cola` gets one)."""
    seeds: int = 5
    """Seeds of the new head's weights and of the order of examples."""
    tuning: str = "2024"
    """Settings of BabyLM's evaluation of 2023, 2024 or 2025."""
    examples: int | None = None
    """Of the training examples the first so many. Default: all."""
    device: str = "auto"
    """cpu, cuda or auto."""
    out: Path | None = None
    """Folder for scores.csv, one row a seed, with the key under which the store has the tuned weights. Default: none is
    written."""

    def run(self) -> None:
        """Tune, print one line, and the table."""
        from lab.finetuning import finetune

        out = None if self.out is None else writable(self.out)
        tunings = finetune(self.run_key, self.task, self.seeds, self.tuning, self.examples, self.device)
        print(tunings)
        print(tunings.table.assign(key=[run.key[:12] for run in tunings]).round(4).to_string(index=False))
        if out is not None:
            try:
                out.mkdir(parents=True, exist_ok=True)
                tunings.table.to_csv(out / "scores.csv", index=False)
            except OSError as error:
                raise LabError(
                    f"cannot write to {out} ({error.strerror}); name another folder with --out; the tunings are kept"
                ) from error
            print(out / "scores.csv")


@dataclass(frozen=True)
class Sweep:
    """Tune on `val`: train the baseline of tasks at each rate of a grid, print the best, write the table."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[TASK ...]")] = ()
    """Tasks; none means all."""
    scale: str = "laptop"
    """smoke, laptop or paper."""
    device: str = "auto"
    """cpu, cuda or auto."""
    searches: bool = False
    """Sweep the learning rate of the knots in the searches instead."""
    out: Path = Path("out/sweep")
    """Folder for sweep.csv, or searches.csv."""

    def run(self) -> None:
        """Sweep and write."""
        from lab.papers.transformers.sweep import sweep

        print(sweep(self.tasks, self.scale, self.device, writable(self.out), self.searches))


@dataclass(frozen=True)
class TrainAll:
    """Train every figure of a scale, those first whose open claims cost least, and write each that is complete."""

    scale: str = "laptop"
    """smoke, laptop, overnight (figures that have it) or paper."""
    hours: float = 10.0
    """When to stop. What is trained is kept; the same command goes on from there."""
    papers: tuple[Literal["transformers", "hypernetwork", "simplicity", "activations", "crossing"], ...] = ()
    """Of these papers. Default: all."""
    device: str = "auto"
    """cpu, cuda or auto."""
    out: Path = Path("out")
    """Folder to write into: OUT/NAME/SCALE."""
    cluster: str | None = None
    """Train on a Dask cluster, as in `lab figure`; the runs of all figures at once, the first figures' first."""

    def run(self) -> None:
        """Train, and say what is left."""
        from lab.catalogue.training_queue import train_all

        train_all(self.scale, self.hours, writable(self.out), self.device, self.papers, cluster=self.cluster)
