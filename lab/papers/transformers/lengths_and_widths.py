"""Figures 3 and 4 of the transformers paper: longer sequences than those that were trained on, and smaller models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from lab import tasks
from lab.papers.claims import Claim, Verdict, any_of
from lab.papers.entry import Entry, Planned
from lab.papers.tables import POINTS, Labelled, compare_one, final, per_seed
from lab.papers.transformers.learning_curves import (
    PALE,
    by_learned,
    by_method,
    by_task,
    differences,
    diverged_sentence,
    draw_floor,
    floor_and_gains,
    heights,
)
from lab.papers.transformers.matrix import learned_tasks
from lab.papers.transformers.settings import SEARCHED_TO, TRAINED_TO, origin, setting
from lab.plots import go
from lab.plots.caption import interval_note, set_reading
from lab.plots.panels import ACCURACY, FULL, above, band, grid, method_line, name_axes, percent_whiskers, place
from lab.plots.style import GREY, LEGEND_ABOVE, SIZE, TEMPLATE, colour, methods_of
from lab.statistics import over_seeds
from lab.tasks.named import task_title
from lab.training.sequences import Data

WIDTHS = {"smoke": (8, 16), "laptop": (8, 16, 32, 64), "paper": (8, 16, 32, 64, 128)}
ABSOLUTE, ALIBI, LEARNED = "absolute positions", "ALiBi", "ALiBi + learned MLP"
LEARNED_LENGTH = 10.0  # percent copied: below it a model has not learned the lengths that it was trained on


def plan_fig3(scale: str, seeds: int) -> list[Planned]:
    """COPY with absolute positions, with ALiBi, and with ALiBi and a learned function."""
    base = setting("copy", scale)
    kinds = {ABSOLUTE: base.runs(seeds, positions="learned"), ALIBI: base.runs(seeds)}
    kinds[LEARNED] = base.runs(seeds, base.search(("mlp",)))
    return [({"method": kind}, spec) for kind, specs in kinds.items() for spec in specs]


def plan_fig4(scale: str, seeds: int) -> list[Planned]:
    """The learned function is found once, at the task's own width, and used at every width."""
    return [
        planned
        for task in tasks.NAMES
        for width in WIDTHS[scale]
        if width <= setting(task, scale).model.width
        for planned in by_method(task, scale, seeds, width=width)
    ]


def by_length(runs: Labelled) -> pd.DataFrame:
    """COPY: share of sequences copied without a mistake, by length; one row per run and length."""
    split = tasks.load("copy").splits["lengths"]
    batch = Data(split, torch.device("cpu")).at(torch.arange(len(split))[None])
    rows = []
    for labels, run in runs:
        with torch.no_grad():
            right = batch.hits(run.model()(batch.tokens, batch.positions))[0].all(-1)
        for length in split.latents["length"].unique().tolist():
            share = float("nan") if run.diverged else float(right[split.latents["length"] == length].float().mean())
            row = {"seed": run.spec.seed, "length": length, "accuracy": share, "diverged": bool(run.diverged)}
            rows.append(labels | row)
    return pd.DataFrame(rows)


def lengths(table: pd.DataFrame) -> str:
    """Beyond the lengths that were trained on, and at the longest of these, without which nothing can be extended."""
    words, failed = [], []
    for method, rows in table.groupby("method", sort=False):
        if rows["accuracy"].isna().all():
            words.append(f"{method} – (every run diverged)")
            continue
        at, beyond = (
            (100 * rows.loc[chosen, "accuracy"]).mean()
            for chosen in (rows["length"] == TRAINED_TO, rows["length"] > TRAINED_TO)
        )
        words.append(f"{method} {at:.1f} and {beyond:.1f} %")
        failed += [method] if at < LEARNED_LENGTH else []
    text = f"Copied exactly at length {TRAINED_TO}, and in the mean of longer ones: {', '.join(words)}."
    return f"{text} Not even length {TRAINED_TO} is learned here by {', '.join(failed)}." if failed else text


def widths(table: pd.DataFrame) -> str:
    small = _smaller(table)
    return f"Below the full width, {differences(small, learned_tasks(small))}"


def _smaller(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["width"] < table.groupby("task")["width"].transform("max")]


def _beyond(table: pd.DataFrame, more: str, less: str, covers: str) -> Verdict:
    """COPY: accuracy on lengths that no weights were trained on."""
    means = per_seed(table[table["length"] > TRAINED_TO], "method")
    return Verdict(compare_one(means, more, less, covers), above=0.0, unit=POINTS)


def _copies(table: pd.DataFrame, scale: str) -> str:
    """ALiBi has learned to copy what it was trained on: else it has nothing to extend."""
    share = table.loc[(table["method"] == ALIBI) & (table["length"] == TRAINED_TO), "accuracy"].mean()
    return "" if share > 0.5 else f"at length {TRAINED_TO}, up to which it is trained, ALiBi copies {100 * share:.0f} %"


def _keeps_at_small_widths(table: pd.DataFrame) -> Verdict:
    """Ours minus baseline, mean over the widths below a task's full one; on one task at least."""
    small = _smaller(table)
    return any_of(by_task(small, learned_tasks(small)))


FIG3 = (
    Claim(
        "alibi",
        "Alibi positional encodings help on lengths above 10",
        lambda table: _beyond(table, ALIBI, ABSOLUTE, "seeds"),
        _copies,
        "COPY at the paper's scale, where ALiBi learns to copy",
        3.5,
    ),
    Claim(
        "extends",
        "Optimizing the Alibi architecture extends the benefits to longer sequences",
        lambda table: _beyond(table, LEARNED, ALIBI, "seeds, of one search"),
        _copies,
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


def fig3(table: pd.DataFrame) -> go.Figure:
    """COPY: accuracy by sequence length, with the lengths that weights and non-linearity were trained on.

    table: method, seed, length, accuracy.
    """
    figure = go.Figure()
    for method in methods_of(table):
        stats = 100 * over_seeds(table[table["method"] == method], "length", "accuracy")[["mean", "half"]]
        band(figure, stats, colour(method), method, percent=True)
        hover: dict[str, Any] = {"customdata": stats["half"]}
        hover |= {"hovertemplate": "length %{x}: %{y:.1f} ± %{customdata:.1f} %"}
        method_line(figure, stats.index, stats["mean"], method, width=2.5, showlegend=None, **hover)
    note = {"yref": "paper", "y": 1, "yanchor": "bottom", "xanchor": "center", "font": {"size": SIZE - 1}}
    for length, what in ((TRAINED_TO, "weights"), (SEARCHED_TO, "non-linearity")):
        text = note | {"text": f"{what}: ≤ {length}"}
        stroke = {"color": GREY, "dash": "dash", "width": 1}
        figure.add_vline(x=length, line=stroke, annotation_position="top", annotation=text)
    figure.update_layout(
        template=TEMPLATE,
        height=390,
        margin={"l": 62, "r": 16, "t": 54, "b": 50},
        legend=LEGEND_ABOVE,
        xaxis={"title": {"text": "sequence length (symbols to copy)"}, "dtick": 2, "tick0": 0},
        yaxis={"title": {"text": "test accuracy, whole sequence (%)"}, "range": FULL},
    )
    set_reading(
        figure,
        f"Line: mean over seeds. {interval_note(table, 'Band')}",
        f"Dashed lines: weights are trained on lengths up to {TRAINED_TO}, the non-linearity up to {SEARCHED_TO}.",
        diverged_sentence(table, "method"),
    )
    return figure


def fig4(table: pd.DataFrame) -> go.Figure:
    """Accuracy at the end of training over width, one panel a task.

    table: task, method, width, seed, accuracy.
    """
    known, columns = learned_tasks(_smaller(table)), 2
    tasks = by_learned(table["task"].unique(), known)
    figure = grid([task_title(task) for task in tasks], columns, height=150, gap=64, top=64)
    for number, task in enumerate(tasks):
        at, of_task = place(number, columns), table[table["task"] == task]
        for method in methods_of(of_task):
            stats = over_seeds(of_task[of_task["method"] == method], "width", "accuracy")[["mean", "half"]] * 100
            hover: dict[str, Any] = {"customdata": stats["half"], "opacity": 1.0 if task in known else PALE}
            hover |= {"hovertemplate": "width %{x}: %{y:.1f} ± %{customdata:.1f} %"}
            whiskers = percent_whiskers(stats, 4)
            method_line(figure, stats.index, stats["mean"], method, at, error_y=whiskers, **hover)
        draw_floor(figure, of_task, "width", at)
        if task in learned_tasks(of_task) and task not in known:
            above(figure, "not learned below the full width", *at, side="right", size=SIZE - 2)
        widths = sorted(of_task["width"].unique().tolist())
        ends = (np.log10(widths[0]) - 0.08, np.log10(widths[-1]) + 0.08)
        ticks = {"type": "log", "tickvals": widths, "range": ends, "minor": {"ticks": ""}}
        figure.update_xaxes(**ticks, row=at[0], col=at[1])
        figure.update_yaxes(range=heights(of_task), row=at[0], col=at[1])
    name_axes(figure, len(tasks), columns, "model width (channels, log₂ scale)", ACCURACY)
    points = f"Points: mean over seeds. {interval_note(table, 'Whiskers')}"
    divergences = diverged_sentence(table, "task", "method", "width")
    set_reading(figure, points, *floor_and_gains(table), divergences)
    return figure


ENTRIES = (
    Entry(
        "transformers/fig3",
        "3.1",
        "Length generalization on COPY",
        "Share of sequences copied without a mistake, by length: absolute positions, ALiBi (attention biased by"
        " distance), and ALiBi with an MLP non-linearity learned on lengths 2-15; weights always learn on lengths 2-10",
        "the baseline fails beyond length 10, ALiBi helps, the learned function extends it",
        tasks=("copy",),
        plan=plan_fig3,
        measure=by_length,
        plot=fig3,
        summary=lengths,
        claims=FIG3,
        origin=origin(["copy"]),
        seeds={"smoke": 2, "laptop": 6, "paper": 3},  # at the paper's scale one run takes ten minutes of a core
        minutes={"smoke": 0.1, "laptop": 4, "paper": 2},
    ),
    Entry(
        "transformers/fig4",
        "3.1",
        "Smaller models",
        "Test accuracy at the end of training against the width of the model, for the baseline (GELU) and for the MLP"
        " non-linearity learned for the task at its full width",
        "some tasks keep their accuracy at smaller widths",
        tasks=tasks.NAMES,
        plan=plan_fig4,
        measure=final,
        histories=True,
        plot=fig4,
        summary=widths,
        claims=FIG4,
        origin=origin(tasks.NAMES),
        minutes={"smoke": 0.3, "laptop": 13, "paper": 8},
    ),
)
