"""Is there one function for several algorithmic tasks? The transformers paper (Section 6) leaves it to future work."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from lab.crossing.functions import learned_functions
from lab.crossing.multitask import claims, plots
from lab.crossing.multitask.claims import ALL
from lab.crossing.multitask.settings import SEEDS, TASKS, origin, shared
from lab.papers.claims import Verdict
from lab.papers.entry import Entry, Planned
from lab.papers.transformers.settings import BASELINE, MLP, setting
from lab.plots.caption import signed
from lab.run import Run
from lab.spec import Learned
from lab.statistics import LEVEL
from lab.tasks.named import task_title

if TYPE_CHECKING:
    import pandas as pd


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each task with the baseline, with its own function, and with the one for all."""
    pairs, together = [], Learned(shared(scale))
    for task in TASKS[scale]:
        base = setting(task, scale)
        methods = {
            BASELINE: base.runs(seeds),
            MLP: base.runs(seeds, base.search()),
            ALL: base.runs(seeds, mlp=together),
        }
        pairs += [
            ({"task": task, "method": name, "read": base.read}, run) for name, runs in methods.items() for run in runs
        ]
    return pairs


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, method, seed, accuracy (0 to 1, on `test`, mean over training), early (at the step where the
    transformers paper reads its matrix), last (at the end), diverged."""
    import pandas as pd

    rows = []
    for labels, run in runs:
        early = dict(zip(map(int, run.steps), run.accuracy, strict=True))[labels["read"]]
        row = {"task": labels["task"], "method": labels["method"], "seed": run.spec.seed}
        row |= {"accuracy": float(run.accuracy.mean()), "early": float(early), "last": float(run.accuracy[-1])}
        rows.append(row | {"diverged": bool(run.diverged)})
    return pd.DataFrame(rows)


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The functions that were trained with: task, method, x, value."""
    return learned_functions(runs, "mlp", ("task", "method"))


def summary(table: pd.DataFrame) -> str:
    """By task: what either function gains over the baseline."""
    specific, together = ({v.case: v for v in claims.differences(table, one, BASELINE)} for one in (MLP, ALL))
    words = [f"{task_title(task)} {_said(together[task])} (its own {_said(specific[task])})" for task in specific]
    return (
        "Accuracy over training with one function for all, minus the baseline, in percentage points:"
        f" {'; '.join(words)}."
    )


def _said(verdict: Verdict) -> str:
    if verdict.reason:
        return "not learned"
    low, high = verdict.estimate.interval(LEVEL)
    return signed(verdict.effect) + (f" ± {(high - low) / 2:.1f}" if isfinite(low) else "")


ENTRIES = (
    Entry(
        "crossing/multitask",
        "beyond Section 6 of the transformers paper",
        "One function for several algorithmic tasks",
        "Test accuracy, mean over training, with GELU, with a function learned for each task, and with one function"
        " that was learned for all of these tasks at once",
        "no paper has it; the transformers paper leaves one architecture for several tasks to future work",
        tasks=tuple(dict.fromkeys(task for scale in TASKS for task in TASKS[scale])),
        plan=plan,
        measure=measure,
        functions=functions,
        plot=plots.multitask,
        summary=summary,
        claims=claims.MULTITASK,
        origin=origin(),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 15, "paper": 300},
        place=("fig", "", 2, ""),
    ),
)
