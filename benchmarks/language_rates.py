"""Peak learning rates of the small language models: the loss on `val` at each rate, with GELU and the learned function.

    python benchmarks/language_rates.py                                # prints; a quarter of an hour of one CPU core
    python benchmarks/language_rates.py --write benchmarks/README.md   # and puts the table into its place there

Models and recipes are those of figures at scale laptop (`lab/papers/transformers/settings.py`, which has its
rates from here). The function of a text comes from the figures' own search, at their rate. No figure reports the seeds,
and the split `test` is not looked at. What is trained is kept in the store.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date

import numpy as np
import torch
from report import heading, machine, publish, table_parser

from lab.papers.transformers.language import changes
from lab.papers.transformers.settings import BASELINE, MLP, TEXTS, Setting, deeper, language
from lab.run import Run, complete
from lab.spec import RunSpec, replace
from lab.store import Store
from lab.tasks.named import task_title

RATES = (0.001, 0.002, 0.004)
FINER = {"shakespeare gpt2": (0.001, 0.0015, 0.002)}  # .002 learns, but one seed in three late
SEEDS = {("shakespeare char", 2): (50, 51), ("shakespeare gpt2", 2): (51, 52)}  # where one does not decide
ONE_SEED = (50,)
METHODS = {BASELINE: "GELU", MLP: "learned"}
Losses = dict[float, float]  # by rate: mean over seeds, nats a token; infinite where a run diverged


def rows(scale: str, methods: Sequence[str] = tuple(METHODS)) -> list[tuple[Setting, str]]:
    """Each text with each function; the models of twice as many layers with GELU, whose rate theirs is."""
    deep = [(deeper(scale), BASELINE)] if BASELINE in methods else []
    return [*((language(name, scale), method) for name in TEXTS[scale] for method in methods), *deep]


def plan(base: Setting, method: str) -> dict[float, list[RunSpec]]:
    """By rate: the runs, one a seed."""
    run = base.runs(1, **changes(base, method))[0]
    return {
        rate: [
            replace(run, recipe=replace(run.recipe, rate=rate), seed=seed, evaluate=("val",)) for seed in seeds_of(base)
        ]
        for rate in FINER.get(base.task_name, RATES)
    }


def seeds_of(base: Setting) -> tuple[int, ...]:
    """Seeds that no figure reports."""
    return SEEDS.get((base.task_name, base.model.layers), ONE_SEED)


def losses(base: Setting, method: str, store: Store) -> Losses:
    """Loss on `val` at the end of training."""
    runs = plan(base, method)
    complete([run for each in runs.values() for run in each], store, progress=sys.stderr.isatty())
    return {rate: float(np.mean([_last(Run(run, store)) for run in each])) for rate, each in runs.items()}


def _last(run: Run) -> float:
    return float("inf") if run.diverged else float(run.score("loss", "val")[-1])


def row(base: Setting, method: str, loss: Losses, rates: Sequence[float]) -> str:
    """A line of the table; the lowest loss is bold."""
    lowest = min(loss.values())
    cells = [
        "–" if rate not in loss else f"**{loss[rate]:.3f}**" if loss[rate] == lowest else f"{loss[rate]:.3f}"
        for rate in rates
    ]
    seeds = " and ".join(map(str, seeds_of(base)))
    what = [task_title(base.task_name), str(base.model.layers), METHODS[method], seeds]
    return f"| {' | '.join([*what, *cells, f'{base.recipe.rate:g}'])} |"


def main() -> None:
    parser = table_parser(__doc__)
    parser.add_argument("--scale", default="laptop", choices=["smoke", "laptop"])
    parser.add_argument("--functions", nargs="+", choices=list(METHODS.values()), default=list(METHODS.values()))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    methods = [method for method, name in METHODS.items() if name in asked.functions]
    known, store = rows(asked.scale, methods), Store()
    rates = sorted({rate for base, method in known for rate in plan(base, method)})
    heads = ["text", "layers", "function", "seeds", *(f"{rate:g}" for rate in rates), "figures have"]
    lines = [
        f"{machine()}, one thread. {date.today():%d %B %Y}, torch {torch.__version__}, scale {asked.scale}. Loss on"
        f" `val` after {known[0][0].recipe.steps} steps, nats a token, by peak rate; the lowest of a row is bold."
        " Of several seeds the mean.",
        "",
        *heading(heads),
    ]
    for base, method in known:
        lines.append(row(base, method, losses(base, method, store), rates))
        print(lines[-1], file=sys.stderr, flush=True)
    publish("\n".join(lines), asked.write, "language_rates")


if __name__ == "__main__":
    main()
