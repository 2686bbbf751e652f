"""What the transformers paper claims of individual tasks (Figs. 2, 3, 4, 10): percentage points, or ×."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.runs import POINTS, compare_one, per_seed, speed_up
from lab.papers.transformers.claims import gain, over_tasks
from lab.papers.transformers.conditions import NOT_LEARNED, copies, learned_tasks, left_trivial
from lab.papers.transformers.settings import BASELINE, BOTH, MLP, TRAINED_TO

if TYPE_CHECKING:
    import pandas as pd

CONVERGED = 0.9  # accuracy that counts as convergence; the paper names no number
POINTS_LOST = 2.0  # by which models with learned attention may fall behind
STILL = 1.0  # point: a baseline that rises by less in the last fifth of training has levelled off
FAILING = 1.0  # percent of sequences, below which a model fails completely
PERFECT = 0.99  # accuracy from which on nothing is left to reach


def _faster(table: pd.DataFrame) -> Verdict:
    """At least twice, on both."""
    verdicts = []
    for task in ("add", "mano"):
        rows = table[table["task"] == task]
        slow, fast = (rows[rows["method"] == method] for method in (BASELINE, MLP))
        verdicts.append(speed_up(slow, fast, level=CONVERGED, above=2.0, case=task))
    return all_of(verdicts)


def _faster_on_addmod(table: pd.DataFrame) -> Verdict:
    """Mean accuracy over training, ours minus baseline; over searches, which differ."""
    return _by_task(table, ["addmod"])[0]


def _reaches_more(table: pd.DataFrame) -> Verdict:
    """Accuracy at the last step, ours minus baseline; on one task at least where the baseline's is not perfect, no
    longer that of a trivial answer, and rises no more: else ours may just be earlier."""
    last = table[table["step"] == table.groupby("task")["step"].transform("max")]
    baseline = {task: rows for task, rows in last[last["method"] == BASELINE].groupby("task", sort=False)}
    short = [task for task in learned_tasks(table) if baseline[task]["accuracy"].mean() < PERFECT]
    known = [task for task in short if left_trivial(baseline[task])]
    early = [absent("the baseline is near a trivial answer", case=task) for task in short if task not in known]
    ends = [task for task in known if _late_rise(table[table["task"] == task]) < STILL]
    rising = [absent("the baseline still rises when training ends", case=task) for task in known if task not in ends]
    return any_of(_by_task(last, ends) + rising + early)


def _late_rise(rows: pd.DataFrame) -> float:
    """By how many points the baseline's mean accuracy rises in the last fifth of training, on one task."""
    means = 100 * rows[rows["method"] == BASELINE].groupby("step")["accuracy"].mean()
    return float(means.iloc[-1] - means[means.index <= 0.8 * means.index[-1]].iloc[-1])


def _faster_everywhere(table: pd.DataFrame) -> Verdict:
    """Mean accuracy over training, ours minus baseline, on every task."""
    learned = learned_tasks(table)
    dead = [absent(NOT_LEARNED, case=task) for task in table["task"].unique() if task not in learned]
    return all_of(_by_task(table, learned) + dead)


def _by_task(table: pd.DataFrame, tasks: list[str]) -> list[Verdict]:
    """Ours minus baseline in the mean of the rows of each task."""
    return [Verdict(gain(table[table["task"] == task]), above=0.0, unit=POINTS, case=task) for task in tasks]


def _steadier(table: pd.DataFrame) -> Verdict:
    """Standard deviation over seeds of the mean accuracy over training, baseline over ours; over tasks."""
    spreads = per_seed(table, ["task", "method"]).std(ddof=1).unstack().loc[learned_tasks(table)]
    logs = [log(a / b) for a, b in zip(spreads[BASELINE], spreads[MLP], strict=True) if a > 0 and b > 0]
    return Verdict(over_tasks(logs).exp(), above=1.0, unit="×")


def _mlp_gains_most(table: pd.DataFrame) -> Verdict:
    """The MLP's function gains, and gains more than learning the attention, too, adds to it; over tasks."""
    means = _means(table)
    gain, both = means[MLP] - means[BASELINE], means[BOTH] - means[BASELINE]
    cases = {"gain": gain, "more than attention adds": gain - (both - gain)}
    return all_of(Verdict(over_tasks(one), above=0.0, unit=POINTS, case=case) for case, one in cases.items())


def attention_trains(table: pd.DataFrame, scale: str) -> str:
    """Learning the attention, too, costs nothing: a search that fails says nothing of where benefits come from."""
    means = _means(table)
    behind = [task for task, row in means.iterrows() if row[BOTH] < row[BASELINE] - POINTS_LOST]
    return f"with learned attention, models of {', '.join(behind)} fall behind the baseline" if behind else ""


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy over training by task and method: of learned tasks that every method was trained on."""
    return per_seed(table, ["task", "method"]).mean().unstack().loc[learned_tasks(table)].dropna()


def _beyond(table: pd.DataFrame, more: str, less: str, covers: str) -> Verdict:
    """COPY: accuracy on lengths that no weights were trained on."""
    means = per_seed(table[table["length"] > TRAINED_TO], "method")
    return Verdict(compare_one(means, more, less, covers), above=0.0, unit=POINTS)


def _fails_beyond(table: pd.DataFrame) -> Verdict:
    """COPY: share of sequences that the baseline copies, on lengths that no weights were trained on."""
    means = per_seed(table[table["length"] > TRAINED_TO], "method")["absolute positions"]
    return Verdict(estimates.mean(means), below=FAILING, unit="%")


def _keeps_at_small_widths(table: pd.DataFrame) -> Verdict:
    """Ours minus baseline, mean over the widths below a task's full one; on one task at least."""
    widest = table["width"] == table.groupby("task")["width"].transform("max")
    return any_of(_by_task(table[~widest], learned_tasks(table)))


FIG2 = (
    Claim(
        "faster",
        "For ADD and MANO, convergence (90 %) occurs 2-3 times faster",
        _faster,
        decides="ADD with more steps, so that it converges; MANO with six seeds and three searches",
        hours=7.0,
    ),
    Claim(
        "reaches-more",
        "Optimized architectures reach an accuracy that the baseline does not (on some task)",
        _reaches_more,
        decides="ADD trained until the baseline rises no more, some 10,000 steps",
        hours=4.0,
    ),
    Claim(
        "addmod",
        "On ADDMOD, optimized architectures converge faster (mean accuracy over training)",
        _faster_on_addmod,
        decides="ADDMOD with six searches",
        hours=0.5,
    ),
)
FIG3 = (
    Claim(
        "baseline-fails",
        "The baseline completely fails on unseen lengths (above 10; less than 1 % are copied)",
        _fails_beyond,
        copies,
        "COPY at the paper's scale, where models learn to copy",
        3.5,
    ),
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
        decides="COPY with more steps, until it copies the lengths of its test; 12 seeds, and three searches a task",
        hours=10.0,
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
        attention_trains,
        "searches of the attention that do not harm: other rates and more models, on a GPU",
    ),
)
