"""Section 3.2 and Figure 11 of the transformers paper: do functions learned for one task serve another?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lab import estimates, tasks
from lab.estimates import proportion
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.compatibility import FAINT, NO_MODEL_LEARNS, best, clear, delta, square, unlearned
from lab.papers.entry import Entry, Planned
from lab.papers.tables import POINTS, Labelled, curves, gains, per_seed
from lab.papers.transformers import matrix
from lab.papers.transformers.matrix import PAPER, comparable, compare, over_tasks
from lab.papers.transformers.settings import ATTENTION_GUESS, BASELINE, origin, setting
from lab.plots import go, make_subplots
from lab.plots.caption import counted, set_reading, signed
from lab.plots.panels import above, colour_bar
from lab.plots.style import CELL_INK, DELTA_RANGE, DIVERGING, SIZE, TEMPLATE, cell_ink
from lab.statistics import INTERVAL
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
    rows = table[table["part"] == "MLP"]
    return compare(delta(rows), unlearned=unlearned(rows)).sentence()


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
    """Tasks whose models are not of the paper's width."""
    names = [task for task in table["task"].unique() if _width(task, scale) != _width(task, "paper")]
    said = ", ".join(f"{task_title(task)} {_width(task, scale)}" for task in names)
    return f"models of smaller width ({said}) in place of {_width(names[0], 'paper')}" if names else ""


def _width(task: str, scale: str) -> int:
    return setting(task, scale).model.width


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
TITLE, LABELS = 30, 56  # px: title above a matrix, task names below it
BELOW = 84  # px: axis name and colour bar below the last
LINE, TWO_LINES = 25, 36  # px: height of a row with one or two lines of text
MARK = " †"  # at the name of a task that no model has learned


class Matrix(NamedTuple):
    """One heat map: its title and its cells (columns of `delta`; `low`, `high` NaN where there is no interval).

    unlearned: tasks that no model has learned, whose columns are grey and have no best.
    """

    title: str
    cells: pd.DataFrame
    unlearned: frozenset[str] = frozenset()


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
    """One matrix for each part that was optimized. table: part, architecture, task, seed, accuracy."""
    parts = {part: delta(table[table["part"] == part]) for part in table["part"].unique()}
    dead = unlearned(table)
    titles = [f"Optimized: {part}. {_means(cells[~cells['task'].isin(dead)])}" for part, cells in parts.items()]
    figure = heatmaps([Matrix(title, cells, dead) for title, cells in zip(titles, parts.values(), strict=True)])
    everything = pd.concat(parts.values(), ignore_index=True)
    means = "Means in the titles: over cells of tasks that are learned, architecture and task the same or not."
    set_reading(figure, *_key(everything, dead), means, CORRELATION)
    return figure


def heatmaps(matrices: Sequence[Matrix]) -> go.Figure:
    """Matrices of differences below each other, on one colour scale."""
    rows = [one.cells["architecture"].nunique() for one in matrices]
    heights = [
        n * (LINE if one.cells["low"].isna().all() else TWO_LINES) for n, one in zip(rows, matrices, strict=True)
    ]
    inner = sum(heights) + (len(heights) - 1) * (TITLE + LABELS)
    spacing = (TITLE + LABELS) / inner if len(heights) > 1 else 0
    figure = make_subplots(len(heights), 1, row_heights=heights, vertical_spacing=spacing)
    margin = {"l": 104, "r": 24, "t": TITLE, "b": LABELS + BELOW}
    for number, one in enumerate(matrices, 1):
        _draw(figure, one, number)
        above(figure, f"<b>{one.title}</b>", number, 1, size=SIZE + 1)
    figure.update_yaxes(title_text="architecture optimized for")
    figure.update_xaxes(title_text="trained and tested on", row=len(matrices))
    ends, half = f"{DELTA_RANGE:.0f}", f"{DELTA_RANGE / 2:.0f}"
    title = "Δ test accuracy, optimized − baseline (percentage points)"
    bar = colour_bar(title, -(LABELS + 24) / inner, DELTA_RANGE * np.linspace(-1, 1, 5))
    bar |= {"ticktext": [f"≤ −{ends}", f"−{half}", "0", f"+{half}", f"≥ +{ends}"]}
    colours = {"colorscale": DIVERGING, "cmin": -DELTA_RANGE, "cmax": DELTA_RANGE, "colorbar": bar}
    height = inner + margin["t"] + margin["b"]
    figure.update_layout(template=TEMPLATE, height=height, margin=margin, coloraxis=colours)
    return figure


def _draw(figure: go.Figure, matrix: Matrix, row: int) -> None:
    at = {"row": row, "col": 1}
    cells = matrix.cells.assign(half=(matrix.cells["high"] - matrix.cells["low"]) / 2, clear=clear(matrix.cells))
    values, halves = square(cells), square(cells, "half")
    dead = [task for task in values if task in matrix.unlearned]
    x, y = [task_title(t) for t in values.columns], [task_title(a) for a in values.index]
    z = values.assign(**dict.fromkeys(dead, np.nan)).to_numpy()
    look: dict[str, Any] = {"name": matrix.title, "coloraxis": "coloraxis", "xgap": 1, "ygap": 1, "hoverongaps": False}
    look |= {"customdata": [[[a, t, _interval(halves.loc[a, t])] for t in values.columns] for a in values.index]}
    hover = "optimized for %{y}, trained on %{x}: %{z:+.2f}%{customdata[2]} points<extra></extra>"
    figure.add_heatmap(x=x, y=y, z=z, hovertemplate=hover, **look, **at)
    _write(figure, cells, row, dead)
    for task in dead:
        column = values.columns.get_loc(task)
        box = {"x0": column - 0.5, "x1": column + 0.5, "y0": -0.5, "y1": len(values) - 0.5}
        figure.add_shape(type="rect", **box, layer="below", fillcolor=NO_MODEL_LEARNS, line={"width": 0}, **at)
    for architecture, task in sorted(best(values.drop(columns=dead))):  # a set: in an order that stays
        column, line = values.columns.get_loc(task), values.index.get_loc(architecture)
        box = {"x0": column - 0.48, "x1": column + 0.48, "y0": line - 0.46, "y1": line + 0.46}
        figure.add_shape(type="rect", **box, line={"color": CELL_INK, "width": 2}, **at)
    plain = {"showgrid": False, "showline": False, "ticks": "", "categoryorder": "array"} | at
    figure.update_xaxes(tickangle=-30, categoryarray=x, **plain)
    if dead:
        marked = [f"{name}{MARK}" if task in dead else name for name, task in zip(x, values.columns, strict=True)]
        figure.update_xaxes(tickvals=x, ticktext=marked, **at)
    figure.update_yaxes(autorange="reversed", categoryarray=y, **plain)


def _write(figure: go.Figure, cells: pd.DataFrame, row: int, dead: Sequence[str]) -> None:
    """The numbers in the cells. Not the heat map's own text, which lays the lines of a cell on top of each other."""
    spread = cells[cells["half"].notna()]
    numbers = [_number(*one) for one in cells[["delta", "half", "clear"]].itertuples(index=False)]
    lines = [(numbers, cells, SIZE, "top" if len(spread) else "middle")]
    if len(spread):
        lines.append(([_spread(half) for half in spread["half"]], spread, SIZE - 2, "bottom"))
    for text, rows, size, side in lines:
        inks = [
            FAINT if task in dead else cell_ink(value, -DELTA_RANGE, DELTA_RANGE)
            for task, value in zip(rows["task"], rows["delta"], strict=True)
        ]
        x, y = ([task_title(name) for name in rows[name_of]] for name_of in ("task", "architecture"))
        look: dict[str, Any] = {"mode": "text", "textposition": f"{side} center", "hoverinfo": "skip"}
        look |= {"textfont": {"size": size, "color": inks}, "showlegend": False, "row": row, "col": 1}
        figure.add_scatter(x=x, y=y, text=text, **look)


def _number(value: float, half: float, clear: bool) -> str:
    """A difference, bold where it is clear of noise; whole numbers where the source prints whole numbers.

    >>> _number(-12.34, 0.5, True)
    '<b>−12</b>'
    """
    if np.isnan(value):
        return "–"
    published = np.isnan(half) and value == round(value)
    text = f"{value + 0.0:+.0f}" if published else f"{value:+{_places(value)}}"
    text = text.replace("-0.0", "+0.0").replace("-", "−")
    return f"<b>{text}</b>" if clear and not np.isnan(half) else text


def _spread(half: float) -> str:
    """Half an interval; none that is wider than the scale of differences.

    >>> _spread(3.21), _spread(404.0)
    ('± 3.2', '± > 40')
    """
    return f"± > {DELTA_RANGE:.0f}" if half > DELTA_RANGE else f"± {half:{_places(half)}}"


def _places(value: float) -> str:
    return ".0f" if abs(value) >= 9.95 else ".1f"


def _interval(half: float) -> str:
    return "" if np.isnan(half) else f" ± {half:.2f}"


def _key(cells: pd.DataFrame, dead: frozenset[str]) -> list[str]:
    divergences, runs = int(cells["lost"].sum()), int((cells["seeds"] + cells["lost"]).sum())
    return [
        "Framed: best of the column.",
        "Grey †: no model here does better than a trivial answer, so that differences are noise." if dead else "",
        f"±: {INTERVAL}, of differences between runs of the same seed; bold: it leaves 0 out."
        if cells["low"].notna().any()
        else "One seed only: no interval.",
        f"Diverged: {divergences} of {runs} pairs of runs, left out of the means." if divergences else "",
    ]


def _means(cells: pd.DataFrame) -> str:
    if cells.empty:
        return "No task is learned"
    same = cells["architecture"] == cells["task"]
    on, off = cells.loc[same, "delta"].mean(), cells.loc[~same, "delta"].mean()
    return f"Mean Δ {signed(on)} on the diagonal, {signed(off)} off it"


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
        summary=summary,
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
        notes=partial(_fewer, FIG5_SEEDS),
        claims=FIG5,
        minutes={"smoke": 0.5, "laptop": 14, "paper": 15},
    ),
    _entry(
        "transformers/fig11",
        "C",
        "Compatibility: MLP, attention, both",
        "The matrix of Figure 5 with the functions of the MLP, of the attention, or of both learned",
        "optimizing the attention is hard; the best results come from the MLP alone",
        parts=tuple(PARTS),
        seeds=FIG11_SEEDS,
        plot=fig11,
        notes=lambda scale: [ATTENTION_GUESS, *_fewer(FIG11_SEEDS, scale)],
        claims=FIG11,
        minutes={"smoke": 1, "laptop": 32, "paper": 40},
    ),
)
