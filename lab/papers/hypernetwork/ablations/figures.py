"""Appendix A.1 of the hypernetwork paper: what each part of HYLA is good for, on fuzzy logic and on SRAVEN (Table A1).

The first three rows are runs of Figures 2C and 4A.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.models.hyper import METHODS
from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.ablations import claims, plots
from lab.papers.hypernetwork.ablations.settings import LENGTH
from lab.papers.hypernetwork.logic.figures import POINT, finals
from lab.papers.hypernetwork.origin import joined, origin
from lab.papers.hypernetwork.printed import PRINTED, means
from lab.papers.hypernetwork.settings import logic, sraven
from lab.papers.hypernetwork.sraven_variations.figures import FEWER
from lab.papers.origin import Origin
from lab.plots.style import method_title
from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT = 0.7
# On a laptop the column of SRAVEN would add half an hour a seed.
TASKS = {"smoke": ("logic", "sraven"), "laptop": ("logic",), "overnight": ("logic",), "paper": ("logic", "sraven")}
NAMES = {"logic": "fuzzy logic", "sraven": "SRAVEN"}
SEEDS = {"smoke": 1, "laptop": 3, "overnight": 3, "paper": 3}
SCORES = {"logic": "r2_paper", "sraven": "accuracy"}


def plan(scale: str, seeds: int) -> list[Planned]:
    """Runs of every method on each task; at paper scale, of every point of the grid."""
    planned = []
    for task in TASKS[scale]:
        for method in METHODS:
            if task == "logic":
                setting = logic(scale, method, LENGTH[scale], HELD_OUT)
            else:
                setting = sraven(scale, method, problems=FEWER[scale][0])
            for spec in setting.grid(seeds) if scale == "paper" else setting.runs(seeds):
                point = {name: getattr(spec.recipe, name) for name in POINT}
                tokens = LENGTH[scale] if task == "logic" else float("nan")
                planned.append(({"task": task, "method": method, "tokens": tokens} | point, spec))
    return planned


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The last evaluation of each run: task, method, tokens (of fuzzy logic), point of the grid, seed, step, value (R²
    or accuracy on unseen combinations, 0 to 1), seen (the same on seen ones), val, diverged, chosen (see
    `fuzzy.choose`)."""
    import pandas as pd

    parts = []
    for task, score in SCORES.items():
        task_runs = [(labels, run) for labels, run in runs if labels["task"] == task]
        if task_runs:
            names = {f"{score}_ood": "value", f"{score}_test": "seen", f"{score}_val": "val"}
            table = finals(task_runs, by=f"{score}_val").rename(columns=names)
            columns = ["task", "method", "tokens", *POINT, "seed", "step", *names.values(), "diverged", "chosen"]
            parts.append(table[columns])
    return pd.concat(parts, ignore_index=True)


def _summary(table: pd.DataFrame) -> str:
    """Best and worst row of each task, and how much our order of the rows is the paper's."""
    from scipy.stats import spearmanr

    words = []
    for task, rows in means(table).groupby("task", sort=False):
        rows = rows[rows["mean"].notna()].sort_values("mean", kind="stable")
        if len(rows) < 3:
            words.append(f"{NAMES[task]}: only {len(rows)} rows have runs that did not diverge")
            continue
        ends = [
            f"{method_title(row['method'])} {row['mean']:.0f} (paper {row['paper']:.0f})"
            for row in (rows.iloc[-1], rows.iloc[0])
        ]
        order = spearmanr(rows["mean"], rows["paper"]).statistic
        words.append(
            f"{NAMES[task]} in %: highest {ends[0]}, lowest {ends[1]}; Spearman correlation of the {len(rows)} rows"
            f" with the paper's {order:.2f}"
        )
    return "; ".join(words) + f".{plots.other_length(table)}"


def _notes(scale: str) -> list[str]:
    notes = []
    if LENGTH[scale] != LENGTH["paper"]:
        notes.append(f"fuzzy logic: {LENGTH[scale]} tokens (paper {LENGTH['paper']})")
    if left := [NAMES[task] for task in PRINTED if task not in TASKS[scale]]:
        notes.append(f"no column of {left[0]}: it would take half an hour more a seed; paper scale has it")
    else:
        _, spec = next(pair for pair in plan(scale, 1) if pair[0]["task"] == "sraven")
        problems = spec.recipe.steps * spec.recipe.batch
        notes += [f"SRAVEN: {problems:,} problems (paper 20 million)"] if scale != "paper" else []
    return [*notes, f"{100 * HELD_OUT:.0f} % of the functions held out"]


def _origins(scale: str) -> list[Origin]:
    known = {"logic": origin("logic", ("length",)), "sraven": origin("sraven", ("steps",))}
    return [known[task] for task in TASKS[scale]]


ENTRIES = (
    Entry(
        "hypernetwork/tableA1",
        "A.1",
        "Ablations of HYLA, and mixtures of experts",
        "Score on unseen combinations at the end of training (columns: tasks), for the attentions between linear"
        " attention and HYLA, a deeper value network, and mixtures of experts (MoE) in place of feed-forward layers",
        "RMSHead alone and HYLA without nonlinearity help slightly, HYLA and a deep value network most, softmax in"
        " place of RMSHead least",
        tasks=("logic", "sraven"),
        plan=plan,
        measure=measure,
        plot=plots.table_a1,
        summary=_summary,
        notes=_notes,
        origin=joined(_origins),
        seeds=SEEDS,
        claims=claims.TABLEA1,
        printed=claims.printed_ablations,
        minutes={"smoke": 1, "laptop": 20, "overnight": 400, "paper": 1_700},
    ),
)
