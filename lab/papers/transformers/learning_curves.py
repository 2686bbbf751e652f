"""Figures 2 and 10 of the transformers paper: test accuracy during training, with GELU and with functions learned for
the task (Section 3.1, Appendix C). Figure 2 reads runs that Figure 10 trains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import log
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates, tasks
from lab.errors import listed
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of, on_every_reading
from lab.papers.entry import Entry, Planned
from lab.papers.tables import POINTS, curves, gains, numbered, per_seed, speed_up
from lab.papers.transformers.matrix import NOT_LEARNED, comparable, gain, learned_tasks, over_tasks, unlike_paper
from lab.papers.transformers.settings import ATTENTION_GUESS, BASELINE, BOTH, MLP, origin, setting
from lab.plots import go
from lab.plots.caption import diverged_runs, effect, set_reading, true_minus
from lab.plots.panels import ACCURACY, FULL, STEP, above, grid, line, name_axes, named, place
from lab.plots.style import BLACK, SIZE, colour, faded, methods_of
from lab.statistics import LEVEL, diverged
from lab.tasks.named import learned, task_title, trivial

FIG2_TASKS = ("memorize", "addmod", "add", "mano")
# Where functions of the attention are learned, too: on the other tasks that takes 2 to 6 hours of a core a search.
BOTH_TASKS = {"paper": ("memorize", "addmod", "add", "addreversed", "parentheses")}
# How many times as many seeds a task has as others: the baseline of ADD ends on one plateau or another; at the paper's
# settings a run of MANO takes most of an hour of a core.
SEED_FACTORS = {"laptop": {"add": 6.0}, "paper": {"mano": 0.5}}


def by_method(task: str, scale: str, seeds: int, methods: Sequence[str] = (BASELINE, MLP), **changes) -> list[Planned]:
    """Runs of a task with the standard non-linearities and with those learned for it, labelled with the method."""
    base = setting(task, scale)
    searches = {BASELINE: None, MLP: base.search(("mlp",)), BOTH: base.search(("mlp", "attention"))}
    return [
        ({"task": task, "method": method} | changes, spec)
        for method in methods
        for spec in base.runs(seeds, searches[method], **changes)
    ]


def _seeds(task: str, scale: str, seeds: int) -> int:
    return max(1, round(seeds * SEED_FACTORS.get(scale, {}).get(task, 1)))


def plan_fig2(scale: str, seeds: int) -> list[Planned]:
    """With as many searches as the task's setting has; what is not searched for is labelled with search 0."""
    runs = []
    for task in FIG2_TASKS:
        base, count = setting(task, scale), _seeds(task, scale, seeds)
        runs += [({"task": task, "method": BASELINE, "search": 0}, spec) for spec in base.runs(count)]
        for number in range(base.searches):
            labels = {"task": task, "method": MLP, "search": number}
            runs += [(labels, spec) for spec in base.runs(count, base.search(seed=number))]
    return runs


def plan_fig10(scale: str, seeds: int) -> list[Planned]:
    """Each task with each method; with functions of the attention where the scale has them."""
    runs = []
    for task in tasks.NAMES:
        runs += by_method(task, scale, _seeds(task, scale, seeds))
        if task in BOTH_TASKS.get(scale, tasks.NAMES):
            runs += by_method(task, scale, seeds, (BOTH,))
    return runs


def notes_fig2(scale: str) -> list[str]:
    """Tasks that more or fewer runs are trained of than of the others."""
    factors = SEED_FACTORS.get(scale, {})
    return [f"{task}: {times:g} times as many seeds as other tasks" for task, times in factors.items()]


def notes_fig10(scale: str) -> list[str]:
    """The same, and where functions of the attention are missing."""
    missing = [task for task in tasks.NAMES if task not in BOTH_TASKS.get(scale, tasks.NAMES)]
    fewer = f"no attention functions are learned for {listed(missing)} at this scale: a search takes hours of a core"
    return [ATTENTION_GUESS, *notes_fig2(scale), *([fewer] if missing else [])]


def summary(table: pd.DataFrame) -> str:
    return f"Mean over training, {differences(table, learned_tasks(table), unlike_paper(table))}"


def differences(table: pd.DataFrame, known: Sequence[str], others: Collection[str] = ()) -> str:
    """By task; a run that diverged is left out whole: its first steps say nothing of the rest. known: tasks that some
    method has learned, without which there is no difference. others: tasks that get a star."""
    words = []
    for task in table["task"].unique():
        if task in known:
            estimate = gain(table[table["task"] == task])
            searches = f" ({estimate.n} searches)" if estimate.over == "searches" and estimate.n > 1 else ""
            star = "*" if task in others else ""
            words.append(f"{task_title(task)}{star} {effect(estimate, signs=False)}{searches}")
    dead = [task_title(task) for task in table["task"].unique() if task not in known]
    note = " (–: every run of a kind diverged)" if any(word.endswith("–") for word in words) else ""
    spread = " [95 % interval]" if any("[" in word for word in words) else ""
    text = f"{MLP} minus baseline, in points{spread}: {', '.join(words) or 'none'}{note}"
    return f"{text}; not learned: {', '.join(dead)}." if dead else f"{text}."


CONVERGED = 0.9  # accuracy that counts as convergence; the paper names no number
LEVELS = (0.5, 0.6, 0.7, 0.8)  # that ADD reaches, which ends at 88 % at most
LITTLE = 5.0  # points of accuracy, below which a difference is taken as little; the paper names no number
STILL = 1.0  # point: a baseline that rises by less in the last fifth of training has levelled off
PERFECT = 0.99  # accuracy from which on nothing is left to reach


def by_task(table: pd.DataFrame, tasks: Iterable[str]) -> list[Verdict]:
    """Ours minus baseline in the mean of the rows of each task."""
    return [Verdict(gain(table[table["task"] == task]), above=0.0, unit=POINTS, case=task) for task in tasks]


def _twice_as_fast(table: pd.DataFrame) -> Verdict:
    others, pair = unlike_paper(table), ("add", "mano")
    verdicts = [absent(others[task], case=task) for task in pair if task in others]
    for task in pair:
        rows = table[table["task"] == task]
        slow, fast = (rows[rows["method"] == method] for method in (BASELINE, MLP))
        if task not in others:
            verdicts.append(speed_up(slow, fast, level=CONVERGED, above=2.0, case=task))
    return all_of(verdicts)


def _add_sooner(table: pd.DataFrame) -> Verdict:
    """Whether sooner at all, at levels that most runs here reach; the paper's 2-3 times is `_twice_as_fast`."""
    slow, fast = (table[(table["task"] == "add") & (table["method"] == method)] for method in (BASELINE, MLP))
    return on_every_reading(
        {f"to {100 * level:.0f} %": speed_up(slow, fast, level, above=1.0, case="add") for level in LEVELS}
    )


def _faster_on(table: pd.DataFrame, *tasks: str) -> Verdict:
    """Mean accuracy over training, ours minus baseline, on each of the tasks, in the paper's setting."""
    known, others = comparable(table), unlike_paper(table)
    dead = [absent(others.get(task, NOT_LEARNED), case=task) for task in tasks if task not in known]
    return all_of(by_task(table, [task for task in tasks if task in known]) + dead)


def _reaches_more(table: pd.DataFrame) -> Verdict:
    """Accuracy at the last step, ours minus baseline; on one task at least where the baseline's is not perfect, is
    clear of the trivial answer (by the interval of its mean), and rises no more: else ours may just be earlier."""
    last = table[table["step"] == table.groupby("task")["step"].transform("max")]
    others, ends, rising, early = unlike_paper(table), [], [], []
    for task in learned_tasks(table):
        baseline = last.loc[(last["task"] == task) & (last["method"] == BASELINE), "accuracy"]
        if not baseline.mean() < PERFECT:
            continue
        if task in others or not learned(task, estimates.mean(baseline).interval(LEVEL)[0]):
            early.append(absent(others.get(task, "the baseline is near a trivial answer"), case=task))
        elif _late_rise(table[table["task"] == task]) < STILL:
            ends.append(task)
        else:
            rising.append(absent("the baseline still rises when training ends", case=task))
    return any_of(by_task(last, ends) + rising + early)


def _late_rise(rows: pd.DataFrame) -> float:
    """By how many points the baseline's mean accuracy rises in the last fifth of training, on one task."""
    means = 100 * rows[rows["method"] == BASELINE].groupby("step")["accuracy"].mean()
    return float(means.iloc[-1] - means[means.index <= 0.8 * means.index[-1]].iloc[-1])


def _steadier(table: pd.DataFrame) -> Verdict:
    """Standard deviation over seeds of the mean accuracy over training, baseline over ours; over tasks."""
    spreads = per_seed(table, ["task", "method"]).std(ddof=1).unstack().loc[comparable(table)]
    logs = [log(a / b) for a, b in zip(spreads[BASELINE], spreads[MLP], strict=True) if a > 0 and b > 0]
    return Verdict(over_tasks(logs).exp(), above=1.0, unit="×")


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy over training by task and method: of comparable tasks that every method was trained on."""
    return per_seed(table, ["task", "method"]).mean().unstack().loc[comparable(table)].dropna()


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


FIG2 = (
    Claim(
        "faster",
        "For ADD and MANO, convergence (90 %) occurs 2-3 times faster",
        _twice_as_fast,
        decides="MANO with batches of 64 at a rate of .0005, which leaves GELU at 31 to 38 % at step 3,000, and three"
        " searches there; ADD with more steps, so that it converges",
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
        lambda table: _faster_on(table, "memorize"),
    ),
    Claim(
        "addmod",
        "On ADDMOD, optimized architectures converge faster (mean accuracy over training)",
        lambda table: _faster_on(table, "addmod"),
        decides="ADDMOD with six searches",
        hours=0.5,
    ),
    Claim(
        "add",
        "For ADD, they reach 50 to 80 % in fewer steps (the paper says 2-3 times fewer, to convergence)",
        _add_sooner,
        decides="three searches of ADD, and 12 seeds",
        hours=3.0,
    ),
)
FIG10 = (
    Claim(
        "everywhere",
        "Optimized architectures always converge faster (mean accuracy over training)",
        lambda table: _faster_on(table, *table["task"].unique()),
        decides="settings of MANO and HAYSTACK that leave GELU below 71 and 87 % where Figure 5 is read; COPY with more"
        " steps, until it copies the lengths of its test; 12 seeds, and three searches a task",
        hours=20.0,
    ),
    Claim(
        "sums",
        "On ADD and ADDREVERSED, optimized architectures converge faster (mean over training)",
        lambda table: _faster_on(table, "add", "addreversed"),
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

CURVES = "Thin: one run a seed. Thick: mean over runs."
PALE = 0.4  # opacity of what no method has learned


def draw(table: pd.DataFrame) -> go.Figure:
    """Accuracy over training, one panel a task, its methods in each; tasks that none has learned are pale, at the end.

    table: task, method, seed, step, accuracy, diverged, and search where a task has several; a task may lack methods.
    """
    known, columns, others = learned_tasks(table), 2, unlike_paper(table)
    tasks = by_learned(table["task"].unique(), known)
    gap = 76 if diverged(table)[0] else 66
    titles = [f"{task_title(task)}{'*' * (task in others)}" for task in tasks]
    figure = grid(titles, columns, height=150, gap=gap, top=68)
    for number, task in enumerate(tasks):
        at, rows = place(number, columns), table[table["task"] == task]
        opacity = 1.0 if task in known else PALE
        for method in methods_of(table):
            if method in set(rows["method"]):
                part = rows[rows["method"] == method]
                _draw_runs(figure, part, method, at, legend=not named(figure, method), opacity=opacity)
        _mark_diverged(figure, rows, at)
        words = [f"{method}: not trained" for method in methods_of(table) if method not in set(rows["method"])]
        if task in known and not diverged(rows)[0]:
            words.insert(0, f"MLP − baseline: {effect(gain(rows), signs=False)}")
            if BOTH in set(rows["method"]):
                more = rows[rows["method"] != BASELINE].replace({"method": {MLP: BASELINE}})  # beside the MLP's
                words.append(f"MLP + attention − MLP: {effect(gain(more, BOTH), signs=False)}")
        above(figure, true_minus("<br>".join(words)), *at, side="right", size=SIZE - 2)
        draw_floor(figure, rows, "step", at)
        figure.update_yaxes(range=heights(rows), row=at[0], col=at[1])
    name_axes(figure, len(tasks), columns, STEP, ACCURACY)
    star = "*: the paper's baseline is worse, so its setting is another." if others else ""
    set_reading(
        figure,
        star,
        CURVES,
        "Above panels: points, mean over training.",
        *floor_and_gains(table),
        diverged_sentence(table, "task", "method"),
    )
    return figure


def floor_and_gains(table: pd.DataFrame) -> tuple[str, str]:
    """What dashed lines are, and what intervals of gains cover, in a sentence each."""
    some_value = "; in Haystack some value of the list" * ("haystack" in set(table["task"]))
    searches = ", and over searches where several are named" * ("search" in table and table["search"].nunique() > 1)
    floor = f"Dashed: the best trivial answer (one token for all{some_value})."
    return floor, f"Intervals of gains: over seeds{searches}."


def by_learned(tasks: Iterable[str], known: Collection[str]) -> list[str]:
    """Tasks in their order, those that are not learned at the end."""
    return sorted(tasks, key=lambda task: task not in known)


def heights(rows: pd.DataFrame) -> tuple[float, float]:
    """The axis of accuracies in percent: to 100, or to 50 or 10 where no run is above it."""
    top = next((share for share in (0.1, 0.5) if rows["accuracy"].max() <= share), 1.0)
    return FULL[0] * top, FULL[1] * top


def diverged_sentence(table: pd.DataFrame, *kinds: str) -> str:
    """How many runs of each kind diverged; nothing where none did."""

    def name(*values) -> str:
        words = zip(kinds, values, strict=True)
        return ", ".join(f"width {value}" if kind == "width" else task_title(value) for kind, value in words)

    return diverged_runs(table, kinds, name, "left out of means from there on")


def _draw_runs(
    figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int], legend: bool, opacity: float
) -> None:
    """One thin curve a seed, dotted where the run diverged; the mean of those that have a value at a step on top."""
    rows = numbered(rows)
    searches, ink = rows["search"].nunique(), colour(method)
    thin = faded(ink, 0.4 if searches == 1 else 0.16)  # many runs of several searches do not hide those of one
    runs = rows.pivot(index="step", columns=["search", "seed"], values="accuracy").sort_index(axis=1)
    diverged_rows = rows[rows["diverged"].astype(bool)] if "diverged" in rows else rows[:0]
    dotted = set(zip(diverged_rows["search"], diverged_rows["seed"], strict=True))
    hover = "step %{x}: %{y:.1f} %"
    for search, seed in runs:
        name = f"{method}, search {search}, seed {seed}" if searches > 1 else f"{method}, seed {seed}"
        dash = "dot" if (search, seed) in dotted else "solid"
        look: dict[str, Any] = {"name": name, "legendgroup": method, "showlegend": False, "hovertemplate": hover}
        look["opacity"] = opacity
        line(figure, runs.index, 100 * runs[search, seed], thin, at, 1, dash, **look)
    look = {"name": method, "legendgroup": method, "showlegend": legend, "hovertemplate": f"{hover} (mean)"}
    line(figure, runs.index, 100 * runs.mean(axis=1), ink, at, 2.6, opacity=opacity, **look)


def draw_floor(figure: go.Figure, rows: pd.DataFrame, by: str, at: tuple[int, int]) -> None:
    """The trivial answer's accuracy over a panel, and a note where no method, in the mean, is better."""
    task = rows["task"].iloc[0]
    if not np.isfinite(trivial(task)):
        return
    look: dict[str, Any] = {"name": "trivial answer", "showlegend": False}
    look |= {"hovertemplate": "best trivial answer: %{y:.1f} %"}
    line(figure, [rows[by].min(), rows[by].max()], [100 * trivial(task)] * 2, BLACK, at, 1, "dash", **look)
    if not learned(task, rows.groupby([by, "method"])["accuracy"].mean().max()):
        _write_in(figure, "not learned: no better<br>than a trivial answer", at)


def _write_in(figure: go.Figure, text: str, at: tuple[int, int]) -> None:
    """Why a panel shows nothing, in its upper half."""
    panel = figure.get_subplot(*at)
    x, y = (f"{axis.plotly_name.replace('axis', '')} domain" for axis in (panel.xaxis, panel.yaxis))
    font = {"size": SIZE - 2}
    figure.add_annotation(text=text, font=font, xref=x, yref=y, x=0.5, y=0.7, showarrow=False)


def _mark_diverged(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int]) -> None:
    counts = {str(method): diverged(part) for method, part in rows.groupby("method", sort=False)}
    words = [
        f'<span style="color:{colour(m)}">{count} of {runs}</span>' for m, (count, runs) in counts.items() if count
    ]
    if words:
        above(figure, f"diverged: {', '.join(words)}", *at, side="right", size=SIZE - 2)


_SHARED: dict[str, Any] = {"measure": curves, "histories": True, "summary": summary}
ENTRIES = (
    Entry(
        "transformers/fig2",
        "3.1",
        "Learning curves with learned non-linearities",
        "Test accuracy against training step, one curve a seed, for the baseline (GELU) and for the MLP"
        " non-linearity learned for the task",
        "2-3 times faster convergence on ADD and MANO, less variance across seeds",
        tasks=FIG2_TASKS,
        plan=plan_fig2,
        plot=draw,
        notes=notes_fig2,
        claims=FIG2,
        origin=origin(FIG2_TASKS),
        minutes={"smoke": 0.2, "laptop": 36, "paper": 4},
        **_SHARED,
    ),
    Entry(
        "transformers/fig10",
        "C",
        "Learning curves on all tasks",
        "Test accuracy against training step, task by task, one curve a seed: baseline, learned MLP non-linearity,"
        " learned MLP and attention non-linearities",
        "faster, less variance, mostly by the MLP",
        tasks=tasks.NAMES,
        plan=plan_fig10,
        plot=draw,
        notes=notes_fig10,
        claims=FIG10,
        origin=origin(tasks.NAMES),
        minutes={"smoke": 0.5, "laptop": 28, "paper": 10},
        **_SHARED,
    ),
)
