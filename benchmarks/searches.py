"""What a learned function costs and is worth: the search by episodes against the one by two losses. One table, one run.

    python benchmarks/searches.py                                # prints; about five minutes of one CPU core
    python benchmarks/searches.py --tasks "ab mod 27"            # on a table of your own choice
    python benchmarks/searches.py --write benchmarks/README.md   # and puts the table into its place there

Both searches are those of `lab.search(task, by=...)` at laptop scale, from an empty store, in one process with one
thread. Models of full width are then trained from scratch with ReLU and with each function. Seconds are those of the
processor, which other work on the machine changes less; of the episodes they include the models that decide between
restarts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import date

import numpy as np
import torch
from report import heading, machine, publish, table_parser

from lab.papers.simplicity.settings import SEARCHES, of_table
from lab.run import Run, complete
from lab.spec import Learned, replace
from lab.statistics import half_width
from lab.store import Store
from lab.task_names import HELP
from lab.tasks.named import table_named

TASKS = ("fashion_mnist_sample as numbers", "a+b mod 27")


def seconds(specs: list, store: Store) -> float:
    """Processor time that training these takes."""
    start = time.process_time()
    complete(specs, store, "cpu", workers=1, progress=sys.stderr.isatty())
    return time.process_time() - start


def accuracies(runs: list, store: Store) -> np.ndarray:
    """(runs, 2): accuracy on the test split in percent, of the weights that were kept, and the mean of all evaluations,
    which is higher the sooner a model is right; NaN for a run that diverged."""
    read, accuracy = [Run(spec, store) for spec in runs], np.full((len(runs), 2), np.nan)
    for row, run in zip(accuracy, read, strict=True):
        if not run.diverged:
            test = 100 * run.accuracy_on("test")
            row[:] = test[run.steps == run.notes["kept"]].item(), test.mean()
    return accuracy


def measure(name: str, scale: str, seeds: int, store: Store) -> list[dict]:
    """Rows of a task: with ReLU, and by each search."""
    setting, rows = of_table(table_named(name), scale), []
    for by in (None, *SEARCHES):
        search = None if by is None else setting.search(by=by)
        cost = 0.0 if search is None else seconds([search], store)
        phi = "relu" if search is None else Learned(search, "phi")
        runs = [replace(run, model=replace(run.model, phi=phi)) for run in setting.runs(seeds)]
        seconds(runs, store)
        rows.append({"task": name, "by": by or "ReLU, no search", "cost": cost, "accuracy": accuracies(runs, store)})
        print(row(rows[-1], rows), file=sys.stderr, flush=True)
    return rows


def row(one: dict, rows: list[dict]) -> str:
    """A line of the table."""
    values = one["accuracy"][np.isfinite(one["accuracy"]).all(1)]
    means = [f"{value.mean():.1f} ± {half_width(value):.1f}" if len(value) else "–" for value in values.T]
    diverged = len(one["accuracy"]) - len(values)
    means[0] += f" ({diverged} of {len(one['accuracy'])} diverged)" if diverged else ""
    full = next((r["cost"] for r in rows if r["task"] == one["task"] and r["by"] == SEARCHES[0]), 0.0)
    share = f"{one['cost'] / full:.2f}" if full and one["cost"] else "–"
    cost = f"{one['cost']:.1f}" if one["cost"] else "–"
    return f"| {one['task']} | {one['by']} | {cost} | {share} | {' | '.join(means)} |"


def table(rows: list[dict], scale: str, seeds: int) -> str:
    """Markdown."""
    where = f"{machine()}. {date.today():%d %B %Y}, torch {torch.__version__}, 1 thread, scale {scale}."
    where += f" Test accuracies in percent: means of {seeds} seeds ± half of their 95 % intervals."
    names = ["task", "function found by", "search, core-seconds", "of the episodes'", "test accuracy", "over training"]
    return "\n".join([where, "", *heading(names), *(row(one, rows) for one in rows)])


def main() -> None:
    parser = table_parser(__doc__)
    parser.add_argument("--tasks", nargs="+", default=TASKS, help=HELP)
    parser.add_argument("--scale", default="laptop")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    if unknown := [name for name in asked.tasks if table_named(name) is None]:
        parser.error(f"unknown task {unknown[0]!r}; give {HELP}")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [one for name in asked.tasks for one in measure(name, asked.scale, asked.seeds, Store(folder))]
    publish(table(rows, asked.scale, asked.seeds), asked.write, "searches")


if __name__ == "__main__":
    main()
