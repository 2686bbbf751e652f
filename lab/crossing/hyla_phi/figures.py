"""A function learned as HYLA's φ, in the place of ReLU, on fuzzy logic and SRAVEN."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from lab.crossing.functions import learned_functions
from lab.crossing.hyla_phi import claims, plots
from lab.crossing.hyla_phi.settings import (
    LEARNED,
    METHODS,
    SEEDS,
    SPLITS,
    TASKS,
    TITLES,
    of_task,
    origin,
    search_phi,
)
from lab.papers.claims import Verdict
from lab.papers.entry import Entry, Planned
from lab.plots.caption import signed
from lab.run import Run
from lab.spec import Learned, replace
from lab.statistics import LEVEL

if TYPE_CHECKING:
    import pandas as pd


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each task with each method; the learned φ is of that task."""
    runs = []
    for task in TASKS:
        for method, name in METHODS.items():
            run = of_task(task, scale, name)
            if method == LEARNED:
                run = replace(run, model=replace(run.model, phi=Learned(search_phi(run, scale), "phi")))
            runs += [({"task": task, "method": method}, replace(run, seed=seed)) for seed in range(seeds)]
    return runs


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run, at its end: task, method, seed, loss (in training), score_test and score_ood (R² of fuzzy logic,
    accuracy of SRAVEN, 0 to 1: on what it trained on, and on unseen combinations), diverged."""
    import pandas as pd

    rows = []
    for labels, run in runs:
        row = labels | {"seed": run.spec.seed, "loss": float(run.loss[-1])}
        row |= {f"score_{split}": float(run.scores[f"{TITLES[labels['task']][2]}_{split}"][-1]) for split in SPLITS}
        rows.append(row | {"diverged": bool(run.diverged)})
    return pd.DataFrame(rows)


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The learned φ: task, method, x, value."""
    return learned_functions(runs, "phi", ("task", "method"))


def summary(table: pd.DataFrame) -> str:
    """By task: what the learned φ gains over ReLU."""
    test, ood = ({v.case: v for v in claims.differences(table, split)} for split in SPLITS)
    words = [f"{TITLES[task][0]} {_said(test[task])} (unseen combinations {_said(ood[task])})" for task in test]
    return f"With the learned φ, points above ReLU: {'; '.join(words)}."


def _said(verdict: Verdict) -> str:
    low, high = verdict.estimate.interval(LEVEL)
    return signed(verdict.effect) + (f" ± {(high - low) / 2:.1f}" if isfinite(low) else "")


def _notes(scale: str) -> list[str]:
    one_rule = [] if scale == "paper" else ["SRAVEN has one feature here: what is unseen of it are rules, two of eight"]
    return one_rule + [
        "which functions or rules are held out differs from run to run, and the search's models have others than those"
        " that are trained with what it finds: a φ has seen combinations that a run holds out"
    ]


ENTRIES = (
    Entry(
        "crossing/hyla_phi",
        "beyond Section 2.3 of the hypernetwork paper",
        "HYLA's φ, learned",
        "How well HYLA answers with a φ that was learned by two losses (transformers paper, Algorithm 1), with ReLU,"
        " with a linear φ, and softmax attention without one, on fuzzy logic (R²) and SRAVEN (accuracy)",
        "no paper has it; the hypernetwork paper has ReLU, without which HYLA loses some of its advantage",
        tasks=TASKS,
        plan=plan,
        measure=measure,
        functions=functions,
        plot=plots.hyla_phi,
        summary=summary,
        claims=claims.HYLA_PHI,
        origin=origin(),
        notes=_notes,
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 8, "paper": 900},
        place=("fig", "", 3, ""),
    ),
)
