"""How much of a gain is the luck of one search: searches with other seeds, and models trained with what each found.

    python benchmarks/luck.py                                # prints; about a quarter of an hour on two CPU cores
    python benchmarks/luck.py --write benchmarks/README.md   # and puts the table into its place there

Tasks, searches and models are those of Figure 2 of the transformers paper; search 0 is the figure's own. What is
trained is kept in the store.
"""

from __future__ import annotations

import sys
from datetime import date

import numpy as np
import torch
from report import heading, machine, publish, table_parser

from lab.nonlinearity.op import kernel_name
from lab.papers.transformers.settings import setting
from lab.run import Run, complete
from lab.spec import replace
from lab.statistics import half_width
from lab.store import Store
from lab.tasks.named import task_title

TASKS = ("memorize", "addmod", "add")


RESAMPLES = 10_000


def gains(task: str, searches: int, seeds: int, scale: str) -> np.ndarray:
    """(searches, seeds): mean test accuracy over training minus that of the baseline with the same seed, in points.

    All searches are compared with the same baseline runs.
    """
    base, store = setting(task, scale), Store()
    search = base.search()
    each = [base.runs(seeds, replace(search, seed=search.seed + number)) for number in range(searches)]
    complete([run for runs in (base.runs(seeds), *each) for run in runs], store, progress=sys.stderr.isatty())
    before, *after = (np.array([Run(run, store).accuracy.mean() for run in runs]) for runs in (base.runs(seeds), *each))
    return 100 * (np.array(after) - before)


def interval(values: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of `gains`: searches are drawn anew, and seeds, the same for all of them,
    because searches share the baseline runs and so rise and fall together with a seed."""
    rng = np.random.default_rng(seed)
    rows, columns = (rng.integers(size, size=(RESAMPLES, size)) for size in values.shape)
    drawn = values[rows[:, :, None], columns[:, None, :]].mean((1, 2))
    low, high = np.percentile(drawn, (2.5, 97.5))
    return float(low), float(high)


def row(task: str, values: np.ndarray) -> str:
    """A line of the table."""
    means, (low, high) = values.mean(1), interval(values)
    cells = " | ".join(f"{gain:+.1f} ± {half_width(seeds):.1f}" for gain, seeds in zip(means, values, strict=True))
    return f"| {task_title(task)} | {cells} | {means.mean():+.1f} [{low:+.1f}, {high:+.1f}] |"


def main() -> None:
    parser = table_parser(__doc__)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--scale", default="laptop")
    asked = parser.parse_args()
    where = f"{machine()}. {date.today():%d %B %Y}, torch {torch.__version__}, kernel {kernel_name('cpu')}, scale"
    where += f" {asked.scale}. Points of mean test accuracy over training above GELU. ±: half of the 95 % interval of a"
    where += f" search over {asked.seeds} models. Last column: 95 % bootstrap interval over searches and seeds, nested:"
    where += " all searches share the baseline runs."
    heads = ["task", *(f"search {number}" for number in range(asked.searches)), "mean of searches"]
    lines = [where, "", *heading(heads)]
    for task in asked.tasks:
        lines.append(row(task, gains(task, asked.searches, asked.seeds, asked.scale)))
        print(lines[-1], file=sys.stderr, flush=True)
    publish("\n".join(lines), asked.write, "luck")


if __name__ == "__main__":
    main()
