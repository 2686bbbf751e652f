"""Which restart of a search by episodes is kept: the one whose functions are best in networks trained from scratch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from lab.spec import EpisodeSpec, Resolved, RunSpec, replace

SELECTION_SEED = 5_000_000  # of the models that decide between restarts: none that other runs use


def selection_steps(spec: EpisodeSpec) -> int:
    """Training steps of the runs that decide between restarts."""
    return spec.retrain.last * spec.retrain_seeds * len(spec.tasks) * len(spec.restarts)


def selection_runs(
    spec: EpisodeSpec, learned: Sequence[Mapping[str, Resolved]], given: Mapping[str, Resolved]
) -> list[list[RunSpec]]:
    """For each restart, the runs that are trained from scratch with its functions to decide between restarts.

    learned: the functions of each restart. given: the other non-linearities of the model.
    """
    wide = spec.model if spec.retrain_width is None else replace(spec.model, width=spec.retrain_width)
    listed = []
    for parts in learned:
        model = wide.having({**given, **parts})
        listed.append(
            [
                RunSpec(task, model, spec.retrain, SELECTION_SEED + seed, (spec.retrain.watch,), spec.task_seed)
                for task in spec.tasks
                for seed in range(spec.retrain_seeds)
            ]
        )
    return listed


def result(spec: RunSpec, history: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> tuple[float, float]:
    """A score of which more is better, and the loss, on the watched split, of the weights that a run kept: those of
    the step "kept" in its notes, without it the last ones. NaN where it kept none, -inf where the last diverged.
    """
    (score, loss), sign = deciding(spec.task)
    scores, losses = (history[f"{name}_{spec.recipe.watch}"] for name in (score, loss))
    if "kept" not in notes:
        return (sign * float(scores[-1]), float(losses[-1])) if notes["diverged"] is None else (-np.inf, np.inf)
    at = np.flatnonzero(history["steps"] == notes["kept"])
    return (sign * float(scores[at[0]]), float(losses[at[0]])) if len(at) else (np.nan, np.nan)


@singledispatch
def deciding(task: Any) -> tuple[tuple[str, str], int]:
    """Names of the score and the loss that decide, and 1 where more of the score is better, -1 where less is."""
    score, loss = task.judged
    return (score, loss), 1


def best(results: Sequence[Sequence[tuple[float, float]]]) -> int:
    """The restart whose runs have the highest mean score; of equal ones, that with the lowest mean loss.

    results: by restart and run a score, of which more is better (it may be negative), and the loss. A restart with a
    run that diverged, whose score is NaN or -inf, loses against every restart without one.

    >>> best([[(0.5, 0.1), (0.7, 0.1)], [(0.8, 0.3), (0.4, 0.0)], [(0.9, 0.1), (float("nan"), float("nan"))]])
    0
    >>> best([[(-0.1, 1.1)], [(float("nan"), float("nan"))]])
    0
    """
    values = np.array(results, dtype=float)  # (restarts, runs, 2)
    score = np.nan_to_num(values[..., 0], nan=-1e30, neginf=-1e30).mean(1).round(12)
    loss = np.nan_to_num(values[..., 1], nan=np.inf).mean(1)
    return int(np.lexsort((loss, -score))[0])
