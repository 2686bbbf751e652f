"""Binary operations in the simplicity paper: their tables (Figures 10 and 27, of which nothing is trained), and whether
a function that was learned for one of them helps with others (Section 4, Figure 14).

Models, recipes and searches of Figure 14 are those of Figure 28, so that one search serves both; training ends sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict
from lab.papers.entry import SILENT, Entry, Field, Planned, counted
from lab.papers.simplicity import settings
from lab.papers.simplicity.first_steps import steps_to_level
from lab.papers.simplicity.settings import LEVEL, OPERATIONS, RELU, again, grokking, of_operations
from lab.papers.tables import POINTS, numbered
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import colour_bar, grid, place, write_cells
from lab.plots.style import INK, SEQUENTIAL, SIZE, TEMPLATE, VERMILLION
from lab.plots.tasks import GREYS, operation_title, operation_titles
from lab.scale import COMMON, SCALES
from lab.spec import EpisodeSpec, Learned, Part, RunSpec, replace
from lab.tasks import Operation
from lab.tasks.operation import ALL

SIX = (
    Operation("a+b", modulus=27),
    Operation("ab", modulus=27),
    Operation("a^2+ab+b^2", modulus=53),
    Operation("a^2+b^2", modulus=27),
    Operation("a^3+ab", modulus=53),
    Operation("ab", group="S4"),
)
EVERY = "all operations"  # the function that is learned for all of them at once
# Searches of this length find functions for operations on up to 27 things, and hardly any modulo 53 (docs/log.md).
TASKS = OPERATIONS | {"overnight": tuple(task for task in ALL if task.classes <= 27)}
SEARCHES = {"smoke": 1, "laptop": 1, "overnight": 9, "paper": 1}  # of the function for all operations
SEEDS = {"smoke": 1, "laptop": 1, "overnight": 2, "paper": 3}
# Half of Figure 28's steps, for the sake of time.
_LAST = {"smoke": None, "laptop": 2_500, "overnight": 2_500, "paper": None}
GUESSES = (
    *settings.GUESSES,
    'an operation is easy (in the paper "solved with ReLUs") where runs with ReLU end with 95 % test accuracy in the'
    " mean; its score is the speed, one over the first step with 95 %, of a hard one the test accuracy at the end; both"
    " as a share of the best in its row",
    "the function for all operations is learned in episodes that take them in turn",
)
ROW, BELOW = 27, 84  # px: a row; axis name and colour bar below the names of functions


def everywhere(scale: str = "laptop") -> EpisodeSpec:
    """The search for one function for all operations, which take turns. Half the restarts of the others; inner loops of
    an operation grow faster, so that they become as long as there.

    >>> everywhere("laptop").inner_steps(359), everywhere("paper").inner_steps(4949)
    (450, 4500)
    """
    tasks, base = TASKS[scale], grokking(scale).search
    turns, growth = {"smoke": (1, base.growth), "paper": (225, base.growth)}.get(scale, (45, 10.0))
    restarts = base.restarts if scale == "paper" else base.restarts[: max(1, len(base.restarts) // 2)]
    return replace(base, task=tasks, restarts=restarts, episodes=turns * len(tasks), growth=growth)


def functions(scale: str) -> tuple[str, ...]:
    """Columns of the matrix.

    >>> functions("smoke")
    ('a+b mod 27', 'ab mod 27', 'ReLU', 'all operations')
    """
    return (*(task.name for task in TASKS[scale]), RELU, EVERY)


def runs(scale: str, task: Operation, function: str, seeds: int, search: int = 0) -> list[RunSpec]:
    """One run a seed on an operation, with ReLU, with the function of an operation (its name), or that of all. search:
    the number of the latter's, from 0."""
    base, phi = grokking(scale, task), _phi(scale, function, search)
    model, recipe = replace(base.model, phi=phi), replace(base.recipe, stop=_LAST[scale])
    return [RunSpec(base.task, model, recipe, seed, ("test", "train")) for seed in range(seeds)]


def _phi(scale: str, function: str, search: int) -> Part:
    if function == RELU:
        return "relu"
    if function == EVERY:
        return Learned(again(everywhere(scale), search), "phi")
    (of,) = (task for task in TASKS[scale] if task.name == function)
    return Learned(grokking(scale, of).search, "phi")


def plan(scale: str, seeds: int) -> list[Planned]:
    """Every operation with every function; where that for all is searched for several times, with the search's number
    as a label."""
    several = SEARCHES[scale] > 1
    return [
        ({"task": task.name, "function": function} | ({"search": search} if several else {}), spec)
        for task in TASKS[scale]
        for function in functions(scale)
        for search in range(SEARCHES[scale] if function == EVERY else 1)
        for spec in runs(scale, task, function, seeds, search)
    ]


def _origin_of_every(scale: str) -> Iterator[Field]:
    """Of the search on all operations, and where training ends."""
    search = everywhere(scale)
    source = "guess, the paper does not say" if scale == "paper" else f"reduced for scale {scale}"
    numbers = {"episodes": search.episodes, "inner steps more a turn": search.growth, "restarts": len(search.restarts)}
    for name, value in numbers.items():
        yield Field(f"search: {name}", value, SILENT, source, task=EVERY)
    if _LAST[scale]:
        yield Field("last step", _LAST[scale], SILENT, source)


def tables(operations: Sequence[Operation]) -> pd.DataFrame:
    """One row for each operation and pair of operands: task, a, b, result.

    >>> tables([Operation("a+b", modulus=3)])["result"].tolist()
    [0, 1, 2, 1, 2, 0, 2, 0, 1]
    """
    parts = []
    for task in operations:
        a, b = np.indices((task.classes, task.classes))
        result = task.table().numpy().ravel()
        parts.append(pd.DataFrame({"task": task.name, "a": a.ravel(), "b": b.ravel(), "result": result}))
    return pd.concat(parts, ignore_index=True)


def scores(table: pd.DataFrame) -> pd.DataFrame:
    """Figure 14: for each operation and function the speed (easy) or accuracy (hard) as a share of the best of its
    operation, 0 to 1: task, function, kind, score. Easy, or "solved with ReLUs": these end with `LEVEL` or more in the
    mean. Scores are means over seeds; NaN where no run has a number.

    table: task, function, seed, step (NaN: never), accuracy, diverged.
    """
    known = ~table["diverged"].astype(bool) & table["accuracy"].notna()
    speed = (1 / table["step"]).fillna(0.0).where(known)
    table = table.assign(easy=speed, hard=table["accuracy"].where(known))
    parts = []
    for _, rows in table.groupby("task", sort=False):
        kind = "easy" if rows.loc[rows["function"] == RELU, "hard"].mean() >= LEVEL else "hard"
        means = rows.groupby(["task", "function"], sort=False)[kind].mean()
        parts.append((means / means.max()).rename("score").reset_index().assign(kind=kind))
    return pd.concat(parts, ignore_index=True)[["task", "function", "kind", "score"]]


def _by_function(table: pd.DataFrame) -> pd.DataFrame:
    """For each operation the score in percent: "relu", "every" (function of all), "specific" (mean of others)."""
    cells = scores(table)
    kind = cells["function"].map({RELU: "relu", EVERY: "every"}).fillna("specific")
    return (100 * cells["score"]).groupby([cells["task"], kind]).mean().unstack()


def transfer_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Mean scores beside those of the paper: method, ours, theirs."""
    means = _by_function(table).mean()
    kinds = {"ReLU": "relu", "functions of one operation": "specific", "the function of all operations": "every"}
    theirs = (19.9, 54.0, 61.5)
    return pd.DataFrame({"method": list(kinds), "ours": means[list(kinds.values())].to_numpy(), "theirs": theirs})


def _gains(first: str, second: str) -> Callable[[pd.DataFrame], Verdict]:
    """Over operations and, where there are several, over searches of the function for all."""

    def measure(table: pd.DataFrame) -> Verdict:
        table = numbered(table)
        searches = [table[(table["function"] != EVERY) | (table["search"] == n)] for n in table["search"].unique()]
        gaps = np.array([means[first] - means[second] for means in map(_by_function, searches)])
        seeds = table["seed"].nunique()
        words = f"{seeds} seed{'s' if seeds > 1 else ''}"
        if len(gaps) > 1:
            estimate = estimates.crossed(gaps, "searches", f"operations and {len(gaps)} searches, of {words}")
        else:
            estimate = estimates.mean(gaps[0], "operations", f"operations, of one search and {words}")
        return Verdict(estimate, above=0.0, unit=POINTS)

    return measure


def _others_over_relu(table: pd.DataFrame) -> np.ndarray:
    """Functions × operations: by how many points a function of another operation is above ReLU; NaN on its own."""
    wide = 100 * scores(table).pivot(index="function", columns="task", values="score")
    gaps = wide.drop(index=[RELU, EVERY]) - wide.loc[RELU]
    diagonal = gaps.index.to_numpy()[:, None] == gaps.columns.to_numpy()
    return np.where(diagonal, np.nan, gaps.to_numpy(float))


def _transfer(table: pd.DataFrame) -> Verdict:
    return Verdict(estimates.crossed(_others_over_relu(table), "operations", _BOTH), above=0.0, unit=POINTS)


def _dense(table: pd.DataFrame) -> Verdict:
    """Share of the cells beside the diagonal with more than ReLU has."""
    gaps = _others_over_relu(table)
    above = np.where(np.isfinite(gaps), 100.0 * (gaps > 0), np.nan)
    return Verdict(estimates.crossed(above, "operations", _BOTH).cut(0, 100), above=50.0, unit="%")


_BOTH = "functions and operations, of one search each"
_MORE = "the operations modulo 53 and in S5, with inner loops long enough for them"
_claim = partial(Claim, decides=_MORE, hours=6.0)
FIG14 = (
    _claim("transfer", "The learned activations do transfer: they score above ReLU on other operations", _transfer),
    _claim("dense", "The matrix is densely filled, positive transfer across many tasks (over half of it)", _dense),
    Claim("every", "An activation learned on all tasks scores above ReLU, over operations", _gains("every", "relu")),
    Claim(
        "every-specific",
        "An activation learned on all tasks scores above task-specific ones",
        _gains("every", "specific"),
        decides="more searches of the function for all operations",
        hours=0.3,
    ),
)


def fig14(table: pd.DataFrame) -> go.Figure:
    """The matrix: rows are tasks, columns functions. table: that of `first_steps.steps_to_level` and function."""
    cells, several = scores(table), numbered(table)["search"].nunique()
    kinds = cells.drop_duplicates("task").set_index("task")["kind"].sort_values(kind="stable")
    tasks, known = list(kinds.index), list(cells["function"].unique())
    names = [task for task in tasks if task in known] + [name for name in known if name not in tasks]
    values = 100 * cells.pivot(index="task", columns="function", values="score").loc[tasks, names]
    short, ring = operation_titles(tasks)
    x = [short.get(name, name) for name in names]
    y = [f"{short[task]}{' *' if kind == 'easy' else ''}" for task, kind in kinds.items()]
    figure = go.Figure()
    hover = "%{y}, function of %{x}: %{z:.0f} %<extra></extra>"
    look = {"coloraxis": "coloraxis", "xgap": 1, "ygap": 1, "hoverongaps": False}
    figure.add_heatmap(x=x, y=y, z=values.to_numpy(), hovertemplate=hover, **look)
    texts = [["" if np.isnan(value) else f"{value:.0f}" for value in row] for row in values.to_numpy()]
    write_cells(figure, x, y, texts, values.to_numpy(), (0.0, 100.0), size=SIZE - 1, scale=SEQUENTIAL)
    means, font = [f"{mean:.0f}" for mean in values.mean()], {"size": SIZE - 1, "color": INK}
    look = {"mode": "text", "textfont": font, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=x, y=["mean"] * len(x), text=means, **look)
    for row, task in enumerate(tasks):
        if task in names:
            column = names.index(task)
            corners = {"x0": column - 0.48, "x1": column + 0.48, "y0": row - 0.46, "y1": row + 0.46}
            figure.add_shape(type="rect", line={"color": VERMILLION, "width": 2}, **corners)
    inner, labels = ROW * (len(y) + 1), round(14 + 3.8 * max(map(len, x)))
    title = "share of the best accuracy of the row; *: of the best speed (%)"
    bar = colour_bar(title, -(labels + 24) / inner, (0, 25, 50, 75, 100))
    figure.update_layout(
        template=TEMPLATE,
        height=14 + inner + labels + BELOW,
        margin={"l": 158, "r": 14, "t": 14, "b": labels + BELOW},
        coloraxis={"colorscale": SEQUENTIAL, "cmin": 0, "cmax": 100, "colorbar": bar},
    )
    plain = {"showgrid": False, "showline": False, "ticks": ""}
    of_all = f" this operation ({ring})" if ring else ""
    figure.update_xaxes(
        tickangle=-40, categoryarray=x, title={"text": f"function learned for{of_all}, or ReLU", "standoff": 4}, **plain
    )
    figure.update_yaxes(autorange="reversed", categoryarray=[*y, "mean"], **plain)
    set_reading(
        figure,
        f"Rows: operations; * easy: ReLU ends with {100 * LEVEL:.0f} % test accuracy or more (mean over seeds), and"
        f" the speed counts, one over the first step with {100 * LEVEL:.0f} %; else hard, and the test accuracy at the"
        " end counts. Columns: the operation that a function was learned for; framed: the same. Means: of the columns.",
        f"All operations: {several} searches." if several > 1 else "",
        "" if any("mod 53" in task for task in tasks) else "No operations modulo 53: short searches fail on them.",
    )
    return figure


def images(table: pd.DataFrame, columns: int, height: int) -> go.Figure:
    """An image an operation, so many in a row. table: task, a, b, result."""
    tasks = list(table["task"].unique())
    heads = [operation_title(task).replace(" (", "<br></b>(") + "<b>" for task in tasks]  # ring below the form
    figure = grid(heads, columns, height=height, gap=46, top=44, left=34, horizontal=26)
    for number, (task, rows) in enumerate(table.groupby("task", sort=False)):
        row, column = place(number, columns)
        at = {"row": row, "col": column}
        z = rows.pivot(index="a", columns="b", values="result").to_numpy(np.int16)
        hover = "a = %{y}, b = %{x}: %{z}"
        figure.add_heatmap(z=z, colorscale=GREYS, showscale=False, name=task, hovertemplate=hover, **at)
        x = figure.get_subplot(row, column).xaxis.plotly_name
        figure.update_yaxes(scaleanchor=x.replace("axis", ""), **at)
        if column == 1:
            figure.update_yaxes(title={"text": "a", "standoff": 2}, **at)
        if number + columns >= len(tasks):
            figure.update_xaxes(title={"text": "b", "standoff": 2}, **at)
    plain = {"constrain": "domain", "showticklabels": False, "ticks": "", "showgrid": False, "showline": False}
    figure.update_xaxes(constraintoward="left", **plain)
    figure.update_yaxes(constraintoward="top", autorange="reversed", **plain)
    figure.update_annotations(font_size=SIZE - 1, align="left")
    set_reading(
        figure,
        "One pixel a pair of operands: a from top to bottom, b from left to right, each from 0. Black:"
        " 0, or the identity; white: the highest result. Permutations are in lexicographic order.",
    )
    return figure


def _summary(table: pd.DataFrame) -> str:
    ours, cells = transfer_printed(table), scores(table)
    specific = cells[~cells["function"].isin((RELU, EVERY))]
    means = 100 * specific.groupby("function")["score"].mean()
    text = ", ".join(f"{row.method} {row.ours:.1f} (paper {row.theirs})" for row in ours.itertuples())
    count = table["task"].nunique()
    fewer = f"{count} of the paper's {len(ALL)} operations, so means are not over the same ones. "
    return (
        f"{fewer if count < len(ALL) else ''}Mean score in %: {text}; columns from {means.min():.1f} to"
        f" {means.max():.1f} (paper 22.2 to 80.5)."
    )


def _notes(scale: str) -> list[str]:
    names = [operation_title(task.name) for task in ALL if task not in TASKS[scale]]
    notes = [f"left out: {', '.join(names)}"] if names else []
    return [*notes, "scores are shares of the best in a row, so with other rows and columns they are other numbers"]


def _sizes(table: pd.DataFrame) -> str:
    pairs = table.groupby("task", sort=False).size()
    return f"{len(pairs)} operations, with {pairs.min():,} to {pairs.max():,} pairs of operands."


_ORDER = "the paper does not say in which order it draws permutations"
_GUESSED = (
    "the paper's text names nine operations; the others of its 22 are drawn in it, and guessed here (see"
    " lab.tasks.operation)"
)
_TABLES: dict[str, Any] = {
    "plan": lambda scale, seeds: [],
    "summary": _sizes,
    "seeds": dict.fromkeys(SCALES, 1),
    "minutes": dict.fromkeys(COMMON, 0.1),
    "origin": counted("counted by lab.tasks.operation", name="operation"),
}
ENTRIES = (
    Entry(
        "simplicity/fig10",
        "3.5",
        "Tables of binary operations",
        "Six of the operations on which grokking is studied, as images: the result for every pair of operands a, b",
        "these patterns are very different from the tasks for which typical architectures were developed",
        measure=lambda runs: tables(SIX),
        plot=partial(images, columns=3, height=165),
        tasks=tuple(task.name for task in SIX),
        notes=lambda scale: [_ORDER],
        **_TABLES,
    ),
    Entry(
        "simplicity/fig27",
        "E.6",
        "Tables of all binary operations",
        "All operations on which grokking is studied, as images: the result for every pair of operands a, b",
        "22 operations, those of Power et al. (2022)",
        measure=lambda runs: tables(ALL),
        plot=partial(images, columns=4, height=112),
        tasks=tuple(task.name for task in ALL),
        notes=lambda scale: [_GUESSED, _ORDER],
        **_TABLES,
    ),
    Entry(
        "simplicity/fig14",
        "4",
        "Transfer of learned functions across operations",
        "Networks trained on each operation with the function learned for each operation, with ReLU, and with one"
        " function that was learned for all of them; shown is how fast or how well they generalize",
        "the matrix is densely filled: functions transfer across many tasks",
        plan=plan,
        measure=steps_to_level,
        plot=fig14,
        tasks=tuple(task.name for task in ALL),
        seeds=SEEDS,
        origin=of_operations(TASKS.__getitem__, GUESSES, _origin_of_every),
        summary=_summary,
        notes=_notes,
        claims=FIG14,
        printed=transfer_printed,
        minutes={"smoke": 0.2, "laptop": 7, "overnight": 25, "paper": 6_000},
    ),
)
