"""Section 4 of the simplicity paper: does a function that was learned for one task help with others? (Figure 14)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.grokking.figures import steps_to_level
from lab.papers.simplicity.operation_transfer import claims
from lab.papers.simplicity.operation_transfer.settings import EVERY, GUESSES, SEEDS, everywhere_fields, functions, runs
from lab.papers.simplicity.origin import of_operations
from lab.papers.simplicity.settings import LEVEL, OPERATIONS, RELU
from lab.plots.caption import set_reading
from lab.plots.operation_table import operation_title
from lab.plots.panels import colour_bar
from lab.plots.style import INK, SEQUENTIAL, SIZE, TEMPLATE, VERMILLION
from lab.tasks.operation import ALL

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

ROW, LABELS, BELOW = 27, 128, 84  # px: a row; names of functions below the matrix; axis name and colour bar below them


def plan(scale: str, seeds: int) -> list[Planned]:
    """Every operation with every function."""
    return [
        ({"task": task.name, "function": function}, spec)
        for task in OPERATIONS[scale]
        for function in functions(scale)
        for spec in runs(scale, task, function, seeds)
    ]


def fig14(table: pd.DataFrame) -> go.Figure:
    """The matrix: rows are tasks, columns functions. table: that of `grokking.steps_to_level` and function."""
    import plotly.graph_objects as go

    cells = claims.scores(table)
    ordered = list(cells.drop_duplicates("task").sort_values("kind", kind="stable")["task"])
    known = list(cells["function"].unique())
    names = [task for task in ordered if task in known] + [name for name in known if name not in ordered]
    values = 100 * cells.pivot(index="task", columns="function", values="score").loc[ordered, names]
    kinds = cells.drop_duplicates("task").set_index("task")["kind"]
    x = [_column(name) for name in names]
    y = [f"{operation_title(task)}{' *' if kinds[task] == 'easy' else ''}" for task in ordered]
    figure = go.Figure()
    figure.add_heatmap(
        x=x,
        y=y,
        z=values.to_numpy(),
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate="%{y}, function of %{x}: %{z:.0f} %<extra></extra>",
    )
    means = values.mean()
    figure.add_scatter(
        x=x,
        y=["mean"] * len(x),
        mode="text",
        text=[f"{mean:.0f}" for mean in means],
        hoverinfo="skip",
        textfont={"size": SIZE - 1, "color": INK},
        showlegend=False,
    )
    for number, task in enumerate(ordered):
        if task in names:
            column = names.index(task)
            figure.add_shape(
                type="rect",
                x0=column - 0.48,
                x1=column + 0.48,
                y0=number - 0.46,
                y1=number + 0.46,
                line={"color": VERMILLION, "width": 2},
            )
    inner = ROW * (len(y) + 1)
    bar = colour_bar(
        "share of the best accuracy of the row; *: of the best speed (%)", -(LABELS + 24) / inner, (0, 25, 50, 75, 100)
    )
    margin = {"l": 158, "r": 14, "t": 14, "b": LABELS + BELOW}
    plain = {"showgrid": False, "showline": False, "ticks": ""}
    figure.update_layout(
        template=TEMPLATE,
        height=inner + margin["t"] + margin["b"],
        margin=margin,
        coloraxis={"colorscale": SEQUENTIAL, "cmin": 0, "cmax": 100, "colorbar": bar},
    )
    figure.update_xaxes(tickangle=-40, categoryarray=x, title={"text": "function", "standoff": 4}, **plain)
    figure.update_yaxes(autorange="reversed", categoryarray=[*y, "mean"], **plain)
    set_reading(
        figure,
        f"Rows: operations; * easy: ReLU ends with {100 * LEVEL:.0f} % test accuracy or more (mean over seeds), and"
        f" the speed counts, one over the first step with {100 * LEVEL:.0f} %; else hard, and the test accuracy at the"
        " end counts. Columns: the operation that a function was learned for; framed: the same. Means: of the columns.",
    )
    return figure


def _column(function: str) -> str:
    return operation_title(function) if function not in (RELU, EVERY) else function


def _summary(table: pd.DataFrame) -> str:
    ours = claims.transfer_printed(table).set_index("method")
    specific = claims.scores(table)
    specific = 100 * specific[~specific["function"].isin((RELU, EVERY))].groupby("function")["score"].mean()
    text = ", ".join(f"{row.ours:.1f} with {cell} (paper {row.theirs})" for cell, row in ours.iterrows())
    return (
        f"Mean score over operations in % (paper: all 22): {text}. Functions of one operation: from"
        f" {specific.min():.1f} to {specific.max():.1f} (paper 22.2 to 80.5)."
    )


def _notes(scale: str) -> list[str]:
    names = [operation_title(task.name) for task in ALL if task not in OPERATIONS[scale]]
    notes = [f"left out: {', '.join(names)}"] if names else []
    return [*notes, "scores are shares of the best in a row, so with other rows and columns they are other numbers"]


ENTRIES = (
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
        origin=of_operations(OPERATIONS.__getitem__, GUESSES, everywhere_fields),
        summary=_summary,
        notes=_notes,
        claims=claims.FIG14,
        printed=claims.transfer_printed,
        minutes={"smoke": 0.2, "laptop": 30, "overnight": 75, "paper": 6_000},
    ),
)
