"""Appendix A.1 of the hypernetwork paper: what each part of HYLA is good for, on fuzzy logic and on SRAVEN (Table A1).

The first three rows are runs of Figures 2C and 4A.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from lab.models.hyper import METHODS
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.entry import Entry, Origin, Planned
from lab.papers.hypernetwork.settings import (
    FEWER,
    GUESSES,
    POINT,
    SOLVED,
    best,
    finals,
    logic,
    origin,
    sraven,
)
from lab.papers.tables import Labelled, paired, per_seed
from lab.plots import go
from lab.plots.caption import TOO_EARLY, diverged_runs, set_reading, too_early, true_minus
from lab.plots.differences import beside_printed
from lab.plots.style import GREY, method_title

# In percent, with the standard error over 3 seeds. Logic: R² on unseen combinations with 32 tokens and 70 % held out.
# SRAVEN: accuracy on unseen combinations, 4 layers, 20 million problems.
_TABLE = {  # method → fuzzy logic, SRAVEN
    "softmax": ((63.28, 2.31), (56.56, 1.05)),
    "linear": ((59.89, 5.22), (56.3, 1.11)),
    "hyla": ((81.13, 7.77), (69.13, 1.9)),
    "linear_rms_head": ((68.93, 5.1), (59.01, 2.5)),
    "linear_rms_head_nonlinear": ((56.91, 4.25), (55.38, 0.32)),
    "hyla_no_rms_head": ((81.27, 7.88), (62.53, 5.73)),
    "hyla_linear": ((84.54, 5.32), (56.54, 0.21)),
    "hyla_linear_no_rms_head": ((79.42, 7.43), (56.33, 1.41)),
    "hyla_softmax": ((70.98, 7.08), (38.21, 2.98)),
    "hyla_deep": ((87.65, 4.54), (66.59, 0.08)),
    "softmax_experts": ((63.83, 6.07), (57.68, 1.31)),
    "linear_experts": ((60.09, 6.16), (64.34, 4.3)),
    "hyla_experts": ((82.37, 6.55), (66.94, 3.94)),
}
PRINTED = {task: {name: row[at] for name, row in _TABLE.items()} for at, task in enumerate(("logic", "sraven"))}
PRINTED_AT = 32  # tokens of the printed column of fuzzy logic
LENGTH = {"smoke": 16, "laptop": 16, "overnight": 32, "paper": 32}  # tokens: with 32, a laptop takes twice as long
HELD_OUT = 0.7
FEWEST = 1 / 30  # of the paper's examples: with fewer, models say nothing of the paper's
# On a laptop the column of SRAVEN would add half an hour a seed.
TASKS = {"smoke": ("logic", "sraven"), "laptop": ("logic",), "overnight": ("logic",), "paper": ("logic", "sraven")}
NAMES = {"logic": "fuzzy logic", "sraven": "SRAVEN"}
SCORES = {"logic": "r2_paper", "sraven": "accuracy"}
TITLES = {"logic": "fuzzy logic: R² (%)", "sraven": "SRAVEN: accuracy (%)"}
LOWEST = -40  # percent: the axis goes no lower, the digits do


def plan(scale: str, seeds: int) -> list[Planned]:
    """Runs of every method on each task; at paper scale, of every point of the grid."""
    planned: list[Planned] = []
    for task, method in product(TASKS[scale], METHODS):
        setting, tokens = sraven(scale, method, problems=FEWER[scale][0]), float("nan")
        if task == "logic":
            setting, tokens = logic(scale, method, LENGTH[scale], HELD_OUT), LENGTH[scale]
        planned += setting.planned(scale, seeds, task=task, method=method, tokens=tokens)
    return planned


def measure(runs: Labelled) -> pd.DataFrame:
    """The last evaluation of each run: task, method, tokens (of fuzzy logic), point of the grid, seed, step, value (R²
    or accuracy on unseen combinations, 0 to 1), seen (the same on seen ones), val, diverged, chosen (see
    `lab.papers.hypernetwork.settings.choose`)."""
    parts = []
    for task, score in SCORES.items():
        if task_runs := [(labels, run) for labels, run in runs if labels["task"] == task]:
            names = {f"{score}_ood": "value", f"{score}_test": "seen", f"{score}_val": "val"}
            table = finals(task_runs, by=f"{score}_val").rename(columns=names)
            columns = ["task", "method", "tokens", *POINT, "seed", "step", *names.values(), "diverged", "chosen"]
            parts.append(table[columns])
    return pd.concat(parts, ignore_index=True)


def means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a task and method, in the order of Table A1, in percent: task, method, mean over seeds, error (standard
    error; NaN for one run), runs in the mean, lost (diverged), paper, paper_error.

    table: task, method, tokens (NaN where a task has none), seed, value (0 to 1), diverged, chosen, one row a run.
    """
    table, rows = best(table), []
    for task, method in product(PRINTED, METHODS):
        part = table[(table["task"] == task) & (table["method"] == method)]
        if len(part):
            values = 100 * part["value"].astype(float)
            values = values[np.isfinite(values)]
            about = {"task": task, "method": method, "mean": values.mean(), "error": values.sem(), "runs": len(values)}
            paper, error = PRINTED[task][method]
            rows.append(about | {"lost": int(part["diverged"].sum()), "paper": paper, "paper_error": error})
    return pd.DataFrame(rows)


def _summary(table: pd.DataFrame) -> str:
    words = []
    for task, rows in above_linear(table).groupby("task", sort=False):
        rows = rows[rows["mean"].notna()].sort_values("mean", kind="stable")
        if len(rows) < 3:
            words.append(f"{NAMES[task]}: only {len(rows)} of {len(METHODS) - 1} rows have runs that did not diverge")
            continue
        highest, lowest = (
            f"{method_title(row['method'])} {row['mean']:+.1f} (paper {row['paper']:+.1f})"
            for row in (rows.iloc[-1], rows.iloc[0])
        )
        order = rows["mean"].corr(rows["paper"], method="spearman")
        words.append(
            f"{NAMES[task]}, above linear attention ({_linear(table, task)}): most {highest}, least {lowest};"
            f" rank correlation of {len(rows)} rows with the paper's {order:.2f}"
        )
    early = " and ".join(said + f" of {NAMES[task]}" * (len(words) > 1) for task, said in _few_learn(table).items())
    text = true_minus("; ".join(words))
    problem = f"{early} are below {SOLVED:.0f} % on what they saw" if early else ""
    return f"{too_early(problem)}{text[:1].upper()}{text[1:]}."


def _few_learn(table: pd.DataFrame) -> dict[str, str]:
    """The tasks of which most methods do not solve what they have seen, so that their order says little: how many."""
    shares = 100 * best(table).groupby(["task", "method"], sort=False)["seen"].mean()
    few = (shares < SOLVED).groupby("task", sort=False).agg(["sum", "size"])
    return {task: f"{count} of {rows} models" for task, count, rows in few.itertuples() if 2 * count > rows}


def _notes(scale: str) -> list[str]:
    notes = []
    if LENGTH[scale] != LENGTH["paper"]:
        notes.append(f"fuzzy logic: {LENGTH[scale]} tokens (paper {LENGTH['paper']})")
    if left := [NAMES[task] for task in PRINTED if task not in TASKS[scale]]:
        notes.append(f"no column of {left[0]}: it would take half an hour more a seed; paper scale has it")
    elif scale != "paper":
        problems = sraven(scale, problems=FEWER[scale][0]).problems
        notes.append(f"SRAVEN: {problems:,} problems (paper 20 million)")
    return [*notes, f"{100 * HELD_OUT:.0f} % of the functions held out"]


def _origins(scale: str) -> list[Origin]:
    varied = {"logic": ("length",), "sraven": ("steps",)}
    return [origin(task, varied[task]) for task in TASKS[scale]]


def _gains(*pairs: tuple[str, str]) -> Callable[[pd.DataFrame], Verdict]:
    """By how much the score of the first method of each pair is above that of the second, on every task."""

    def measure(table: pd.DataFrame) -> Verdict:
        scores = per_seed(best(table), ["task", "method"], "value")
        cases = {
            f"{more} on {task}": scores[task, more] - scores[task, less]
            for task in table["task"].unique()
            for more, less in pairs
        }
        return all_of(paired(cases, above=0.0))

    return measure


def _shorter(table: pd.DataFrame, scale: str) -> str:
    """Fuzzy logic of another length than that of Table A1."""
    return "" if LENGTH[scale] == PRINTED_AT else f"{LENGTH[scale]} tokens in place of Table A1's {PRINTED_AT}"


def _trained_on_enough(table: pd.DataFrame, scale: str) -> str:
    """As many examples as say something of the paper's models."""
    ours, theirs = (logic(one).problems for one in (scale, "paper"))
    return f"fuzzy logic with {ours:,} examples in place of {theirs:,}" if ours < FEWEST * theirs else ""


def printed_ablations(table: pd.DataFrame) -> pd.DataFrame:
    """Table A1: task, method, ours, theirs, in percent; no row where every run diverged."""
    rows = means(table)[["task", "method", "mean", "paper"]].rename(columns={"mean": "ours", "paper": "theirs"})
    return rows[rows["ours"].notna()]


def _claim(name: str, says: str, *pairs: tuple[str, str]) -> Claim:
    decides = "the ablations at scale overnight: 32 tokens, a third of the examples"
    return Claim(name, says, _gains(*pairs), _trained_on_enough, decides, 5.0, stands_in=_shorter)


TABLEA1 = (
    _claim(
        "parts",
        "RMSHead, and HYLA without nonlinearity, by themselves each boost linear attention",
        ("linear_rms_head", "linear"),
        ("hyla_linear", "linear"),
    ),
    _claim("softmax", "With softmax in place of RMSHead, HYLA performs poorly", ("hyla", "hyla_softmax")),
    _claim(
        "experts",
        "Mixtures of experts give moderate general improvements",
        *((f"{method}_experts", method) for method in ("softmax", "linear", "hyla")),
    ),
)


def table_a1(table: pd.DataFrame) -> go.Figure:
    """A panel a task, a row a method: its score above that of linear attention, ours and the paper's. table: as for
    `means`."""
    panels, ends, early = [], [], _few_learn(table)
    shown = above_linear(table)  # in the order of what the paper prints
    shown = shown.sort_values(
        "method", key=lambda names: -names.map(lambda name: PRINTED["logic"][name][0]), kind="stable"
    )
    for task, rows in shown.groupby("task", sort=False):
        tokens = table.loc[table["task"] == task, "tokens"].iloc[0]
        lengths = f"here {tokens:.0f} tokens, printed {PRINTED_AT}" if tokens == tokens else ""
        lengths += f" (see Figure 2c for {PRINTED_AT})" if tokens < PRINTED_AT else ""
        names = [_two_lines(method_title(name)) for name in rows["method"]]
        rows = rows.assign(name=[f"<b>{name}</b>" if name == "HYLA" else name for name in names])
        more = "; ".join(filter(None, [TOO_EARLY if task in early else "", lengths]))
        panels.append((f"{TITLES[task]} above linear attention<br>{more}", rows))
        known = rows[["mean", "paper"]].to_numpy(float)
        ends.append((max(LOWEST, min(0.0, np.nanmin(known)) - 8), max(0.0, np.nanmax(known)) + 9))
    figure = beside_printed(panels, ends, errors=2.0)
    for column, task in enumerate(shown["task"].unique(), 1):
        figure.update_traces(opacity=0.7 if task in early else 1, selector={"name": "here"}, row=1, col=column)
        figure.add_vline(x=0, line={"color": GREY, "width": 1.4}, row=1, col=column)
    figure.update_annotations(align="left")  # titles of two lines
    figure.update_xaxes(title_text="points above linear attention")
    one = table["seed"].nunique() == 1
    left_out = [NAMES[task] for task in PRINTED if task not in set(table["task"])]
    set_reading(
        figure,
        "By how many points a method is above linear attention on unseen combinations, mean over seeds;",
        "one seed only, so ours have no interval."
        if one
        else "whiskers and ±: one standard error (the paper's from both that it prints); pale: less than two from 0.",
        f"Not trained here: {left_out[0]}." if left_out else "",
        diverged_runs(best(table), ["task", "method"], lambda task, method: f"{method_title(method)} ({task})"),
    )
    return figure


def _linear(table: pd.DataFrame, task: str) -> str:
    """Its own score on a task, in words."""
    ((ours, theirs),) = means(table).query("method == 'linear' and task == @task")[["mean", "paper"]].to_numpy()
    return f"{ours:.0f} %, paper {theirs:.0f}"


def above_linear(table: pd.DataFrame) -> pd.DataFrame:
    """As `means`, of differences from linear attention: ours within seeds, the paper's between its two rows."""
    rows, scores = means(table), per_seed(best(table), ["task", "method"], "value")
    gaps = {
        (task, name): scores[task, name] - scores[task, "linear"] for task, name in scores if (task, "linear") in scores
    }
    keys = list(zip(rows["task"], rows["method"], strict=True))
    base = rows[rows["method"] == "linear"].set_index("task")
    error = np.hypot(rows["paper_error"], rows["task"].map(base["paper_error"]))
    rows = rows.assign(paper=rows["paper"] - rows["task"].map(base["paper"]), paper_error=error)
    rows["mean"] = [gaps[key].mean() if key in gaps else np.nan for key in keys]
    rows["error"] = [gaps[key].sem() if key in gaps else np.nan for key in keys]
    return rows[rows["method"] != "linear"]


def _two_lines(title: str) -> str:
    """The title broken before a sign, where it is too long for the margin.

    >>> _two_lines("HYLA + MoE"), _two_lines("linear attention + RMSHead + nonlinear value")
    ('HYLA + MoE', 'linear attention<br>+ RMSHead + nonlinear value')
    """
    if len(title) <= 24:
        return title
    cut = min(place for sign in "+−" if (place := title.find(f" {sign} ")) > 0)
    return f"{title[:cut]}<br>{title[cut + 1 :]}"


ENTRIES = (
    Entry(
        "hypernetwork/tableA1",
        "A.1",
        "Ablations of HYLA, and mixtures of experts",
        "What each part of HYLA, a deeper value network, and mixtures of experts (MoE) in place of feed-forward layers"
        " gain over linear attention on unseen combinations, at the end of training",
        "parts of HYLA help alone, HYLA + deep value network most",
        tasks=("logic", "sraven"),
        plan=plan,
        measure=measure,
        plot=table_a1,
        summary=_summary,
        notes=_notes,
        origin=Origin(
            data=lambda scale: [source for part in _origins(scale) for source in part.data(scale)],
            facts=lambda scale: [fact for part in _origins(scale) for fact in part.facts(scale)],
            guesses=GUESSES,
        ),
        seeds={"smoke": 1, "laptop": 3, "overnight": 3, "paper": 3},
        claims=TABLEA1,
        printed=printed_ablations,
        minutes={"smoke": 1, "laptop": 20, "overnight": 400, "paper": 1_700},
    ),
)
