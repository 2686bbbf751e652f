"""What the transformers paper claims of individual tasks (Figs. 2, 3, 4, 10): percentage points, or ×."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.runs import POINTS, compare_one, gains, per_seed, speed_up
from lab.papers.transformers.claims import gain, over_tasks
from lab.papers.transformers.conditions import (
    NOT_LEARNED,
    comparable,
    copies,
    learned_tasks,
    left_trivial,
    unlike_paper,
)
from lab.papers.transformers.settings import BASELINE, BOTH, MLP, TRAINED_TO

if TYPE_CHECKING:
    import pandas as pd

CONVERGED = 0.9  # accuracy that counts as convergence; the paper names no number
LITTLE = 5.0  # points of accuracy, below which a difference is taken as little; the paper names no number
STILL = 1.0  # point: a baseline that rises by less in the last fifth of training has levelled off
PERFECT = 0.99  # accuracy from which on nothing is left to reach


def _faster(table: pd.DataFrame) -> Verdict:
    """At least twice, on both."""
    others = unlike_paper(table)
    verdicts = [absent(others[task], case=task) for task in ("add", "mano") if task in others]
    for task in ("add", "mano"):
        if task in others:
            continue
        rows = table[table["task"] == task]
        slow, fast = (rows[rows["method"] == method] for method in (BASELINE, MLP))
        verdicts.append(speed_up(slow, fast, level=CONVERGED, above=2.0, case=task))
    return all_of(verdicts)


def _faster_on(*tasks: str) -> Callable[[pd.DataFrame], Verdict]:
    """Mean accuracy over training, ours minus baseline, on each of the tasks; over searches, where there are some."""
    return lambda table: _on_each(table, tasks)


def _reaches_more(table: pd.DataFrame) -> Verdict:
    """Accuracy at the last step, ours minus baseline; on one task at least where the baseline's is not perfect, no
    longer that of a trivial answer, and rises no more: else ours may just be earlier."""
    last = table[table["step"] == table.groupby("task")["step"].transform("max")]
    baseline = {task: rows for task, rows in last[last["method"] == BASELINE].groupby("task", sort=False)}
    others = unlike_paper(table)
    short = [task for task in learned_tasks(table) if baseline[task]["accuracy"].mean() < PERFECT]
    known = [task for task in short if left_trivial(baseline[task]) and task not in others]
    early = [
        absent(others.get(task, "the baseline is near a trivial answer"), case=task)
        for task in short
        if task not in known
    ]
    ends = [task for task in known if _late_rise(table[table["task"] == task]) < STILL]
    rising = [absent("the baseline still rises when training ends", case=task) for task in known if task not in ends]
    return any_of(_by_task(last, ends) + rising + early)


def _late_rise(rows: pd.DataFrame) -> float:
    """By how many points the baseline's mean accuracy rises in the last fifth of training, on one task."""
    means = 100 * rows[rows["method"] == BASELINE].groupby("step")["accuracy"].mean()
    return float(means.iloc[-1] - means[means.index <= 0.8 * means.index[-1]].iloc[-1])


def _faster_everywhere(table: pd.DataFrame) -> Verdict:
    """Mean accuracy over training, ours minus baseline, on every task."""
    return _on_each(table, table["task"].unique())


def _on_each(table: pd.DataFrame, tasks: Iterable[str]) -> Verdict:
    """Ours minus baseline on every one of these tasks, in the paper's setting."""
    learned, others = comparable(table), unlike_paper(table)
    dead = [absent(others.get(task, NOT_LEARNED), case=task) for task in tasks if task not in learned]
    return all_of(_by_task(table, [task for task in tasks if task in learned]) + dead)


def _by_task(table: pd.DataFrame, tasks: list[str]) -> list[Verdict]:
    """Ours minus baseline in the mean of the rows of each task."""
    return [Verdict(gain(table[table["task"] == task]), above=0.0, unit=POINTS, case=task) for task in tasks]


def _steadier(table: pd.DataFrame) -> Verdict:
    """Standard deviation over seeds of the mean accuracy over training, baseline over ours; over tasks."""
    spreads = per_seed(table, ["task", "method"]).std(ddof=1).unstack().loc[comparable(table)]
    logs = [log(a / b) for a, b in zip(spreads[BASELINE], spreads[MLP], strict=True) if a > 0 and b > 0]
    return Verdict(over_tasks(logs).exp(), above=1.0, unit="×")


def _mlp_gains_most(table: pd.DataFrame) -> Verdict:
    """The MLP's function gains, and gains more than learning the attention, too, adds to it; over tasks. Where learning
    the attention does harm, it adds nothing; the paper has it hard to learn, too."""
    means = _means(table)
    gain, both = means[MLP] - means[BASELINE], means[BOTH] - means[BASELINE]
    cases = {"gain": gain, "more than attention adds": gain - (both - gain)}
    return all_of(Verdict(over_tasks(one), above=0.0, unit=POINTS, case=case) for case, one in cases.items())


def _attention_changes_little(table: pd.DataFrame) -> Verdict:
    """Mean accuracy over training with both learned minus that with the MLP's function alone, on every task."""
    verdicts = []
    for task in _means(table).index:
        runs = per_seed(table[table["task"] == task], "method")
        verdicts += gains(runs, {task: (BOTH, MLP)}, above=-LITTLE, below=LITTLE, unit=POINTS)
    return all_of(verdicts)


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy over training by task and method: of comparable tasks that every method was trained on."""
    return per_seed(table, ["task", "method"]).mean().unstack().loc[comparable(table)].dropna()


def _beyond(table: pd.DataFrame, more: str, less: str, covers: str) -> Verdict:
    """COPY: accuracy on lengths that no weights were trained on."""
    means = per_seed(table[table["length"] > TRAINED_TO], "method")
    return Verdict(compare_one(means, more, less, covers), above=0.0, unit=POINTS)


def _keeps_at_small_widths(table: pd.DataFrame) -> Verdict:
    """Ours minus baseline, mean over the widths below a task's full one; on one task at least."""
    small = table[table["width"] < table.groupby("task")["width"].transform("max")]
    return any_of(_by_task(small, learned_tasks(small)))


FIG2 = (
    Claim(
        "faster",
        "For ADD and MANO, convergence (90 %) occurs 2-3 times faster",
        _faster,
        decides="a setting of MANO that leaves GELU below 71 % at step 3,000 (batch 64, clipped gradients), then three"
        " searches; ADD with more steps, so that it converges",
        hours=6.0,
    ),
    Claim(
        "reaches-more",
        "Optimized architectures reach an accuracy that the baseline does not (on some task)",
        _reaches_more,
        decides="ADD trained until the baseline rises no more, some 10,000 steps",
        hours=4.0,
    ),
    Claim(
        "memorize",
        "On MEMORIZE, optimized architectures converge faster (mean accuracy over training)",
        _faster_on("memorize"),
    ),
    Claim(
        "addmod",
        "On ADDMOD, optimized architectures converge faster (mean accuracy over training)",
        _faster_on("addmod"),
        decides="ADDMOD with six searches",
        hours=0.5,
    ),
)
FIG3 = (
    Claim(
        "alibi",
        "Alibi positional encodings help on lengths above 10",
        lambda table: _beyond(table, "ALiBi", "absolute positions", "seeds"),
        copies,
        "COPY at the paper's scale, where ALiBi learns to copy",
        3.5,
    ),
    Claim(
        "extends",
        "Optimizing the Alibi architecture extends the benefits to longer sequences",
        lambda table: _beyond(table, "ALiBi + ours MLP", "ALiBi", "seeds, of one search"),
        copies,
        "COPY at the paper's scale with three searches and six seeds",
        4.0,
    ),
)
FIG4 = (
    Claim(
        "small-widths",
        "On some tasks, optimized architectures keep higher accuracy at smaller widths",
        _keeps_at_small_widths,
    ),
)
FIG10 = (
    Claim(
        "everywhere",
        "Optimized architectures always converge faster (mean accuracy over training)",
        _faster_everywhere,
        decides="settings of MANO and HAYSTACK that leave GELU below 71 and 87 % where Figure 5 is read; COPY with more"
        " steps, until it copies the lengths of its test; 12 seeds, and three searches a task",
        hours=20.0,
    ),
    Claim(
        "sums",
        "On ADD and ADDREVERSED, optimized architectures converge faster (mean over training)",
        _faster_on("add", "addreversed"),
        decides="three searches of each, and 12 seeds",
        hours=3.0,
    ),
    Claim(
        "variance",
        "Optimized architectures vary less across seeds, over tasks",
        _steadier,
        decides="24 seeds",
        hours=1.0,
    ),
    Claim(
        "mlp",
        "Most of the benefits come from the MLP layers rather than the attention, over tasks",
        _mlp_gains_most,
        decides="three searches of MLP and attention on each task, at other rates: one search that fails decides here",
        hours=15.0,
    ),
    Claim(
        "attention-little",
        f"Learning the attention, too, makes little difference (within {LITTLE:.0f} points, each task)",
        _attention_changes_little,
        decides="three searches of MLP and attention on each task",
        hours=15.0,
    ),
)
