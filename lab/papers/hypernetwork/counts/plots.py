"""How many SRAVEN tasks and problems there are, and how many are ambiguous (hypernetwork paper, Fig. A9, Table A2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plots.caption import set_reading
from lab.plots.panels import grid
from lab.plots.style import BLACK, BLUE, GREY, INK, ORANGE, SEQUENCE, SIZE, TEMPLATE

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

TRAINED_ON = 4e7  # the most problems that the paper trains on (Fig. 4)
SYMBOLS = ("circle", "diamond", "square", "triangle-up")
LEAST = 1e-4  # low end of the axis of fractions: none at all is drawn there


def fig_a9(table: pd.DataFrame) -> go.Figure:
    """Two panels: tasks, and problems by number of values, against the number of features.

    table: features, values, tasks, problems (whole numbers of any size, as text).
    """
    figure = grid(["A: tasks", "B: problems"], 2, height=280, top=64, horizontal=70)
    first = table[table["values"] == table["values"].min()]
    figure.add_scatter(
        x=first["features"],
        y=[float(number) for number in first["tasks"]],
        name="tasks",
        mode="lines+markers",
        line={"color": BLACK, "width": 2},
        marker={"symbol": "x", "size": 7},
        showlegend=False,
        customdata=[str(number) for number in first["tasks"]],
        hovertemplate="K = %{x}: %{customdata} tasks",
        row=1,
        col=1,
    )
    for number, (values, rows) in enumerate(table.groupby("values")):
        figure.add_scatter(
            x=rows["features"],
            y=[float(problems) for problems in rows["problems"]],
            name=f"F = {values}",
            mode="lines+markers",
            line={"color": SEQUENCE[number], "width": 2},
            marker={"symbol": SYMBOLS[number], "size": 7},
            hovertemplate=f"K = %{{x}}, F = {values}: %{{y:.3g}} problems",
            row=1,
            col=2,
        )
    figure.add_hline(y=TRAINED_ON, line={"color": GREY, "dash": "dash", "width": 1.2}, row=1, col=2)
    figure.update_xaxes(title_text="features K", dtick=1)
    figure.update_yaxes(type="log", exponentformat="power", dtick=2, title_text="tasks (log scale)", row=1, col=1)
    figure.update_yaxes(dtick=10, title_text="problems (log scale)", exponentformat="power", type="log", row=1, col=2)
    set_reading(figure, "Dashed: 40 million, the most problems that the paper trains on.")
    return figure


def table_a2(table: pd.DataFrame) -> go.Figure:
    """A point for each number of values and way of counting, with what the paper prints beside it.

    table: values, counting, fraction, standard_error, paper, paper_error (NaN where nothing is printed).
    """
    import plotly.graph_objects as go

    figure, values = go.Figure(), sorted(table["values"].unique())
    counted = zip(table.groupby("counting", sort=False), (BLUE, ORANGE), strict=True)
    series = [(counting, rows, "fraction", "standard_error", ink, "circle") for (counting, rows), ink in counted]
    printed = table[table["paper"].notna()]
    series.insert(1, ("printed in the paper", printed, "paper", "paper_error", INK, "diamond-open"))
    for number, (name, rows, value, error, ink, symbol) in enumerate(series):
        place = [values.index(one) + 0.18 * (number - 1) for one in rows["values"]]
        figure.add_scatter(
            x=place,
            y=rows[value].clip(lower=LEAST),
            error_y={"array": rows[error], "thickness": 1.2, "width": 4},
            name=name,
            mode="markers+text",
            marker={"color": ink, "symbol": symbol, "size": 9},
            text=[f" {fraction:.4f} " for fraction in rows[value]],
            textposition=f"middle {'right' if number else 'left'}",
            textfont={"size": SIZE - 2},
            customdata=rows[[value, error]],
            hovertemplate=f"{name}: %{{customdata[0]:.4f}} ± %{{customdata[1]:.4f}}",
        )
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        margin={"l": 70, "r": 16, "t": 40, "b": 50},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={
            "title": {"text": "values a feature F"},
            "tickvals": list(range(len(values))),
            "ticktext": values,
            "range": (-0.5, len(values) - 0.4),
        },
        yaxis={
            "title": {"text": "ambiguous problems (fraction, log scale)"},
            "type": "log",
            "dtick": 1,
            "exponentformat": "power",
            "range": (-4.1, 0.2),
        },
    )
    none = f" None at all is drawn at {LEAST:g}." if (table["fraction"] == 0).any() else ""
    set_reading(figure, f"Whiskers: ± one standard error of the estimate.{none}")
    return figure
