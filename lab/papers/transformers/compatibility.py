"""Section 3.2 and Figure 11 of the transformers paper: do functions learned for one task serve another?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates, tasks
from lab.errors import listed
from lab.estimates import proportion
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.compatibility import best, clear, delta, square, unlearned
from lab.papers.entry import Entry, Planned
from lab.papers.heatmaps import COLOURED, FRAMED, KEY, Matrix, draw, heatmaps
from lab.papers.tables import POINTS, Labelled, curves, gains, per_seed
from lab.papers.transformers import matrix
from lab.papers.transformers.matrix import PAPER, comparable, compare, over_tasks
from lab.papers.transformers.settings import ATTENTION, ATTENTION_GUESS, BASELINE, BOTH, MLP, origin, setting
from lab.plots import go, make_subplots
from lab.plots.caption import counted, effect, set_reading, signed
from lab.plots.differences import differences, spans
from lab.plots.panels import above, colour_bar, line
from lab.plots.style import DELTA_RANGE, DIVERGING, GREY, INK, SIZE, TEMPLATE, faded
from lab.statistics import INTERVAL, LEVEL
from lab.tasks.named import task_title

PARTS = {"MLP": ("mlp",), "attention": ("attention",), "both": ("mlp", "attention")}
FIG5_SEEDS = {"smoke": 2, "laptop": 3, "paper": 6}
FIG11_SEEDS = {"smoke": 2, "laptop": 2, "paper": 6}
RELATED = ("add", "addreversed")
OFF_DIAGONAL = PAPER.to_numpy()[~np.eye(len(PAPER), dtype=bool)]
MANY = 100 * (int((OFF_DIAGONAL < 0).sum()) + matrix.MINUS_ZEROS) / len(OFF_DIAGONAL)  # % of its cells that are many


def plan(scale: str, seeds: int, parts: Sequence[str]) -> list[Planned]:
    """Each task with the standard architecture and with each one that was optimized for a task.

    Cells off the diagonal stop at the step that the matrix reads; the others are runs of figure 10, read at that step.
    """
    planned = []
    for task in tasks.NAMES:
        target = setting(task, scale)
        for part in parts:
            labels = {"part": part, "task": task, "read": target.read}
            planned += [(labels | {"architecture": BASELINE}, spec) for spec in target.runs(seeds)]
            for source in tasks.NAMES:
                search = setting(source, scale).search(PARTS[part])
                specs = target.runs(seeds, search, short=source != task or part == "attention")
                planned += [(labels | {"architecture": source}, spec) for spec in specs]
    return planned


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a run: part, architecture, task, seed, and the accuracy at the step where the paper reads the matrix."""
    table = curves(runs)
    return table[table["step"] == table["read"]].drop(columns="read").reset_index(drop=True)


def summary(table: pd.DataFrame) -> str:
    """How many cells are coloured, and where; how they compare with the paper's."""
    rows = table[table["part"] == "MLP"]
    cells, dead = delta(rows), unlearned(rows)
    coloured = cells.loc[clear(cells) & ~cells["task"].isin(dead), "task"].value_counts()
    first = f"{coloured.sum()} of {len(cells)} cells are clear of seed noise"
    first += f", {coloured.iloc[0]} of them on {task_title(coloured.index[0])}" if len(coloured) else ""
    return (f"{first}. " if cells["low"].notna().any() else "") + compare(cells, unlearned=dead).sentence()


def summary_fig11(table: pd.DataFrame) -> str:
    """How many cells tell anything; what each part gains with a task's own function, over tasks."""
    parts = {part: table[table["part"] == part] for part in table["part"].unique()}
    cells = pd.concat([delta(rows) for rows in parts.values()])
    dead = unlearned(table)
    cells = _without(cells, dead)
    count = int(clear(cells).sum())
    gained = {part: own_and_others(table, part) for part in parts}
    means = [f"{part} {effect(over_tasks(gain['own']))}" for part, gain in gained.items()]
    others = [f"{part} {effect(over_tasks(gain['others'])).split()[0]}" for part, gain in gained.items()]
    chance = " (by chance as many)" if count <= (1 - LEVEL) * len(cells) else ""
    return (
        f"Mean gain with a task's own function, points [95 % interval over tasks]: {', '.join(means)}; with those of"
        f" other tasks: {', '.join(others)}. {count} of {counted(len(cells), 'cell')} {'is' if count == 1 else 'are'}"
        f" clear of seed noise{chance}."
    )


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of the MLP's matrix beside those that the paper prints: architecture, task, ours, theirs, clear."""
    cells = matrix.common_cells(delta(table[table["part"] == "MLP"]))
    return cells.rename(columns={"delta": "ours", "paper": "theirs"}).assign(clear=clear(cells))


def _learned_matrix(table: pd.DataFrame, part: str = "MLP") -> pd.DataFrame:
    """The matrix of a part, of tasks that are learned in settings that can be the paper's."""
    known = comparable(table)
    names = [task for task in PAPER if task in known]
    return square(delta(table[table["part"] == part])).reindex(index=names, columns=names)


def _best_on_diagonal(table: pd.DataFrame) -> Verdict:
    """Share of the tasks whose own function is best. Usually: of more than half; the paper's own matrix has half."""
    cells = _learned_matrix(table)
    hits = len(best(cells) & {(task, task) for task in cells})
    return Verdict(proportion(hits, len(cells.columns), "tasks").scaled(100), above=50.0, unit="%")


def _own_before_others(table: pd.DataFrame) -> Verdict:
    """What the function learned for a task gains there, minus the mean of what the others gain; over tasks."""
    cells = _learned_matrix(table)
    lead = [cells.loc[task, task] - cells[task].drop(task).mean() for task in cells]
    return Verdict(over_tasks(lead), above=0.0, unit=POINTS)


def _transfer(table: pd.DataFrame) -> Verdict:
    """On one task at least, of a function learned for another; the variance is pooled over the functions of a task."""
    means, verdicts = per_seed(table[table["part"] == "MLP"], ["task", "architecture"]), []
    known = comparable(table)
    for task in known:
        others = [source for source in means[task] if source in known and source != task]
        pairs = {f"{source} on {task}": (source, BASELINE) for source in others}
        verdicts += gains(means[task], pairs, above=0.0, unit=POINTS)
    return any_of(verdicts)


def _related_gain(table: pd.DataFrame) -> Verdict:
    """Of each of two related tasks, the gain of the other's function minus the mean of what all others' gain."""
    known, others, verdicts = comparable(table), matrix.unlike_paper(table), []
    if dead := [task for task in RELATED if task not in known]:
        return all_of(absent(others.get(task, matrix.NOT_LEARNED), case=task) for task in dead)
    for one, other in (RELATED, RELATED[::-1]):
        means = per_seed(table[(table["part"] == "MLP") & (table["task"] == one)], "architecture")
        rest = means[[source for source in means if source in known and source not in RELATED]]
        groups = {"other": means[other], "rest": rest.mean(axis=1)}
        verdicts += gains(groups, {f"{other} on {one}": ("other", "rest")}, above=0.0, unit=POINTS)
    return all_of(verdicts)


def _many_are_worse(table: pd.DataFrame) -> Verdict:
    """Share of functions of other tasks with less accuracy than the baseline; over functions and tasks."""
    cells = _learned_matrix(table)
    diagonal = cells.index.to_numpy()[:, None] == cells.columns.to_numpy()
    worse = np.where(diagonal | cells.isna(), np.nan, 100.0 * (cells < 0))
    return Verdict(estimates.crossed(worse, "tasks", "functions and tasks").cut(0, 100), above=MANY, unit="%")


def _mlp_before(part: str) -> Callable[[pd.DataFrame], Verdict]:
    """On the diagonals: the gain with the MLP's function alone minus that with another part's; over tasks."""

    def measure(table: pd.DataFrame) -> Verdict:
        ours, other = (_learned_matrix(table, one) for one in ("MLP", part))
        return Verdict(over_tasks(ours.loc[t, t] - other.loc[t, t] for t in ours), above=0.0, unit=POINTS)

    return measure


def smaller(table: pd.DataFrame, scale: str) -> str:
    """Tasks whose models are not of the paper's width; how wide they are departures say, which are those of the runs:
    settings may have changed since."""
    widths = {
        task: [setting(task, one).model.width for one in (scale, "paper")] for task in matrix.learned_tasks(table)
    }
    names = [task_title(task) for task, (ours, theirs) in widths.items() if ours != theirs]
    return f"smaller models of {listed(names)}" if names else ""


_claim = partial(
    Claim, decides="ADD and ADDREVERSED with three searches each, and 12 seeds a cell", hours=2.0, stands_in=smaller
)
FIG5 = (
    _claim(
        "diagonal",
        "The best option per task is usually on the diagonal (for more than half of the tasks)",
        _best_on_diagonal,
        decides="more tasks: of eight it takes seven, and 1 to 2 of ours are best on it",
        hours=float("nan"),
    ),
    _claim(
        "own",
        "Optimized architectures are task-specific: they gain more on their own task than others",
        _own_before_others,
    ),
    _claim(
        "transfer",
        "Some benefits transfer across tasks",
        _transfer,
        decides="6 seeds more a cell of ADDMOD and PARENTHESES",
        hours=0.5,
        stands_in=None,  # the task that decides has the paper's models
    ),
    _claim("related", "Benefits transfer mostly across closely related tasks like ADD and ADDREVERSED", _related_gain),
    _claim(
        "worse", "Many perform worse than a standard transformer (as many as in the paper's matrix)", _many_are_worse
    ),
)
FIG11 = (
    _claim(
        "mlp-alone",
        "Optimizing only the MLPs gains more than optimizing only the attention, over tasks",
        _mlp_before("attention"),
    ),
    _claim(
        "mlp-both",
        "Optimizing only the MLPs gains more than optimizing both, over tasks",
        _mlp_before("both"),
        decides="the figure at today's settings, with three searches of the MLP and of both on each task",
        hours=12.0,
    ),
)

CORRELATION = "Correlation with the paper: in brackets a 95 % bootstrap interval over rows and columns."
METHODS = {"MLP": MLP, "attention": ATTENTION, "both": BOTH}  # whose colours the parts have
HEIGHTS = (260, 165)  # px of the means, and of the matrices


def fig5(table: pd.DataFrame) -> go.Figure:
    """Our matrix above the paper's. table: architecture, task, seed, accuracy (and part, of one value)."""
    cells, dead = delta(table), unlearned(table)
    known = [PAPER.loc[a, t] if a in PAPER.index and t in PAPER else np.nan for a, t in cells.iloc[:, :2].to_numpy()]
    paper = cells[["architecture", "task"]].assign(delta=known, error=np.nan, low=np.nan, high=np.nan, seeds=6, lost=0)
    seeds = counted(int((cells["seeds"] + cells["lost"]).max()), "seed")
    titles = f"Here (mean of {seeds})", "Paper, Figure 5 (mean of 6 seeds)"
    figure = heatmaps([Matrix(titles[0], cells, dead), Matrix(titles[1], paper)])
    comparison = compare(cells)
    if not np.isnan(comparison.spearman):
        above(figure, f"Spearman {comparison.rank_correlation}", 2, 1, side="right", size=SIZE - 1)
    set_reading(figure, *_key(cells, dead), f"Paper: {matrix.PAPER_SOURCE}.", CORRELATION)
    return figure


def fig11(table: pd.DataFrame) -> go.Figure:
    """Means over tasks; below, small, one matrix for each part that was optimized, without tasks that no model learns.
    table: part, architecture, task, seed, accuracy."""
    parts, dead = {part: delta(table[table["part"] == part]) for part in table["part"].unique()}, unlearned(table)
    heads = [{"colspan": len(parts)}, *[None] * (len(parts) - 1)]
    figure = make_subplots(
        *(2, len(parts)),
        specs=[heads, [{}] * len(parts)],
        row_heights=HEIGHTS,
        vertical_spacing=0.17,
        horizontal_spacing=0.02,
    )
    figure.update_layout(template=TEMPLATE, height=sum(HEIGHTS) + 210, margin={"l": 104, "r": 16, "t": 30, "b": 96})
    bar = colour_bar("Δ accuracy (points)", -0.21, DELTA_RANGE * np.linspace(-1, 1, 5))
    colours = {"colorscale": DIVERGING, "cmin": -DELTA_RANGE, "cmax": DELTA_RANGE, "colorbar": bar}
    figure.update_layout(coloraxis=colours, margin_b=158, height=figure.layout.height + 62)
    _draw_means(figure, table)
    for column, (part, cells) in enumerate(parts.items(), 1):
        draw(figure, Matrix(part, _without(cells, dead), framed=False), (2, column))
        above(figure, f"<b>Optimized: {part}</b>", 2, column)
        figure.update_yaxes(showticklabels=column == 1, row=2, col=column)
    figure.update_xaxes(tickangle=-45, row=2)
    figure.update_yaxes(title_text="optimized for", row=2, col=1)
    figure.update_xaxes(title_text="trained and tested on", row=2, col=(len(parts) + 1) // 2)
    everything = pd.concat(parts.values(), ignore_index=True)
    names, seeds = ", ".join(map(task_title, sorted(dead))), table["seed"].nunique()
    set_reading(
        figure,
        "Above: points of accuracy minus the baseline's; mean over the tasks learned, 95 % interval over tasks (filled:"
        f" without 0); grey: one task each. Below: means of {counted(seeds, 'seed')}. {COLOURED}"
        f" ±: {INTERVAL}, of differences between runs of the same seed.",
        f"Left out, for no model is better than a trivial answer: {names}." if dead else "",
        _divergences(everything),
    )
    return figure


def _without(cells: pd.DataFrame, tasks: Collection[str]) -> pd.DataFrame:
    """The cells of neither these tasks nor the functions that were learned for them."""
    return cells[~cells["task"].isin(tasks) & ~cells["architecture"].isin(tasks)]


def own_and_others(table: pd.DataFrame, part: str) -> pd.DataFrame:
    """By task that is learned: the gain with the function of this part that was learned for it, and the mean gain with
    those that were learned for others of these tasks; columns own, others."""
    dead = unlearned(table)
    cells = delta(table[table["part"] == part])
    cells = _without(cells, dead)
    same = np.where(cells["architecture"] == cells["task"], "own", "others")
    return cells.groupby(["task", same], sort=False)["delta"].mean().unstack().reindex(columns=["own", "others"])


def _draw_means(figure: go.Figure, table: pd.DataFrame) -> None:
    """In the first panel, over the parts: what a task's own function gains, and what the functions of others gain."""
    by_part = {part: own_and_others(table, part) for part in table["part"].unique()}
    names, apart = list(by_part), len(by_part) + 1
    for shift, kind in ((0, "own"), (apart, "others")):
        places = [shift + at for at in range(len(names))]
        last = by_part[names[-1]][kind].dropna().sort_values()
        for task in by_part[names[0]].index:
            values = [by_part[part].loc[task, kind] for part in names]
            look: dict[str, Any] = {"name": task_title(task), "showlegend": False}
            line(figure, places, values, faded(GREY, 0.5), (1, 1), 1, hovertemplate="%{y:+.1f} points", **look)
        heights = last.to_numpy().copy()
        for at in range(1, len(heights)):  # names stay apart
            heights[at] = max(heights[at], heights[at - 1] + 3.5)
        for task, height in zip(last.index, heights, strict=True):
            look = {"showlegend": False, "name": task_title(task), "hoverinfo": "skip"}
            line(figure, (places[-1], places[-1] + 0.16), (last[task], height), faded(GREY, 0.5), (1, 1), 1, **look)
            words: dict[str, Any] = {
                "text": task_title(task),
                "xanchor": "left",
                "font": {"color": INK, "size": SIZE - 2},
            }
            figure.add_annotation(x=places[-1] + 0.17, y=height, showarrow=False, **words, row=1, col=1)
        for at, part in zip(places, names, strict=True):
            mean = over_tasks(by_part[part][kind])
            differences(figure, [at], spans([mean]), METHODS[part], (1, 1))
            if np.isfinite(mean.effect):
                words = {"text": f"<b>{signed(mean.effect)}</b>", "xanchor": "right", "xshift": -9}
                words |= {"bgcolor": "rgba(255, 255, 255, 0.85)"}
                figure.add_annotation(x=at, y=mean.effect, showarrow=False, **words, row=1, col=1)
    ticks = [*range(len(names)), *(apart + at for at in range(len(names)))]
    figure.update_xaxes(range=(-0.6, apart + len(names)), tickvals=ticks, ticktext=names * 2, row=1, col=1)
    figure.update_yaxes(title_text="Δ accuracy (points)", row=1, col=1)
    figure.add_hline(y=0, line={"color": GREY, "width": 1.2}, row=1, col=1)
    for shift, title in ((0, "with the task's own function"), (apart, "with those of other tasks")):
        head = {"text": f"<b>{title}</b>", "font": {"size": SIZE + 1}, "yanchor": "bottom", "yshift": 3}
        figure.add_annotation(x=shift - 0.5, xref="x", xanchor="left", y=1, yref="y domain", showarrow=False, **head)


def _key(cells: pd.DataFrame, dead: frozenset[str]) -> list[str]:
    return [
        *(
            [KEY, f"±: {INTERVAL}, of differences between runs of the same seed."]
            if cells["low"].notna().any()
            else [FRAMED, "One seed only: no interval."]
        ),
        "Grey †: no model here does better than a trivial answer, so that differences are noise." if dead else "",
        _divergences(cells),
    ]


def _divergences(cells: pd.DataFrame) -> str:
    """How many pairs of runs diverged, for the key."""
    divergences, runs = int(cells["lost"].sum()), int((cells["seeds"] + cells["lost"]).sum())
    return f"Diverged: {divergences} of {runs} pairs of runs, left out of the means." if divergences else ""


def _entry(name: str, section: str, title: str, shows: str, says: str, parts: Sequence[str], seeds, **rest) -> Entry:
    return Entry(
        name,
        section,
        title,
        shows,
        says,
        tasks=tasks.NAMES,
        plan=lambda scale, count: plan(scale, count, parts),
        measure=measure,
        histories=True,
        seeds=seeds,
        curves=True,
        printed=printed,
        origin=origin(tasks.NAMES, matrix=True),
        **rest,
    )


def _fewer(seeds: dict[str, int], scale: str) -> list[str]:
    return [] if scale == "paper" else [f"{seeds[scale]} seeds a cell (paper 6)"]


ENTRIES = (
    _entry(
        "transformers/fig5",
        "3.2",
        "Compatibility of architectures across algorithmic tasks",
        "Difference in test accuracy with the baseline, in percentage points, after a fixed number of steps:"
        " non-linearities learned for the row's task, models trained on the column's task",
        "the best option of a task is usually on the diagonal; some positive transfer, mostly between related tasks",
        parts=("MLP",),
        seeds=FIG5_SEEDS,
        plot=fig5,
        summary=summary,
        notes=partial(_fewer, FIG5_SEEDS),
        claims=FIG5,
        minutes={"smoke": 0.5, "laptop": 14, "paper": 15},
    ),
    _entry(
        "transformers/fig11",
        "C",
        "Compatibility: MLP, attention, both",
        "Gain in accuracy with functions learned for the MLP, for the attention, or for both: on their own task and on"
        " others; below, a matrix as that of Figure 5 for each",
        "optimizing the attention is hard; the best results come from the MLP alone",
        parts=tuple(PARTS),
        seeds=FIG11_SEEDS,
        plot=fig11,
        summary=summary_fig11,
        notes=lambda scale: [ATTENTION_GUESS, *_fewer(FIG11_SEEDS, scale)],
        claims=FIG11,
        minutes={"smoke": 1, "laptop": 32, "paper": 40},
    ),
)
