"""Section 3.4 of the simplicity paper: can a non-linearity steer a network to one feature of several that tell the
label? Figures 9, 25 and 26, on collages of two tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.entry import Entry
from lab.papers.simplicity.settings import RELU
from lab.papers.simplicity.shortcut import measures
from lab.papers.simplicity.shortcut.measures import ALONE, CIFAR, FOR, METHODS, SHIPPED, SVHN, ends, origin, planned
from lab.plots import go
from lab.plots.caption import diverged_runs, effect, set_reading, signed, true_minus
from lab.plots.panels import Panel, grid, line, points, whiskers
from lab.plots.style import BLACK, GREY, INK, METHOD_SYMBOLS, SIZE, colour, faded
from lab.statistics import INTERVAL, half_width
from lab.tasks import Collage
from lab.tasks.collage import TILES

CHANCE = 10.0  # percent: one of ten classes
ALIKE = "ReLU, stopped alike"  # with the early stopping of a learned function
NEAR_RELU = 0.99  # correlation with ReLU from which on a function has not left it


def names_of(task: str) -> dict[str, str]:
    """Titles of both tiles, from the name of a collage.

    >>> names_of("fashion_mnist_sample over mnist_sample")
    {'easy': 'Fashion-MNIST', 'hard': 'MNIST'}
    """
    return dict(zip(TILES, map(measures.image_title, task.split(", ")[0].split(" over ")), strict=True))


def title(method: str, names: dict[str, str]) -> str:
    """A method's name with the data set of its tile.

    >>> title("learned for hard", {"easy": "Fashion-MNIST", "hard": "MNIST"})
    'learned for MNIST'
    """
    return next((f"learned for {names[tile]}" for tile, name in FOR.items() if name == method), method)


def _percent(table: pd.DataFrame, method: str, stopped_for: str) -> dict[str, str]:
    """Test accuracy of a method on each tile, mean over seeds, stopped where it is best for what a method is for."""
    return {tile: f"{mean:.0f} %" for tile, mean in ends(table, method, measures.watched(stopped_for)).mean().items()}


def _accuracies(table: pd.DataFrame) -> str:
    words, names = [], names_of(table["task"].iloc[0])
    for spectral, rows in table.groupby("spectral", sort=False):
        phrases = []
        for method in METHODS:
            pair = ", ".join(f"{value} on {names[tile]}" for tile, value in _percent(rows, method, method).items())
            phrases.append(f"{title(method, names)} {pair}")
            if method != RELU:
                phrases[-1] += f" (ReLU stopped alike {' and '.join(_percent(rows, RELU, method).values())})"
        words.append(f"With{'' if spectral else 'out'} spectral normalization: {'; '.join(phrases)}")
    return (
        f"Test accuracy where only one tile tells the label, mean over seeds. {'. '.join(words)}. Of each run the"
        " evaluation counts that is best on validation data: ambiguous ones for ReLU, those of its tile for a"
        " learned function."
    )


def _summary(table: pd.DataFrame) -> str:
    phrases = []
    for tile, name in names_of(table["task"].iloc[0]).items():
        learned, relu = (_percent(table, method, FOR[tile])[tile] for method in (FOR[tile], RELU))
        phrases.append(f"{name} {learned} and {relu}")
    kinds = f"with its function, and {RELU} stopped alike"
    return f"Accuracy where one tile alone tells the label, {kinds}: {', '.join(phrases)}. {_steering(table)}"


def _steering(table: pd.DataFrame) -> str:
    words = []
    for spectral, rows in table.groupby("spectral", sort=False):
        names = names_of(table["task"].iloc[0])
        phrases = [f"{name} {effect(estimates.mean(measures.steering(rows, tile)))}" for tile, name in names.items()]
        which = f" with{'' if spectral else 'out'} spectral normalization" if table["spectral"].nunique() > 1 else ""
        words.append(f"{', '.join(phrases)}{which}")
    return f"Points by which each function prefers its tile more than ReLU does: {'; '.join(words)}."


def fig9(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Top: accuracy on either tile with early stopping, and over training. Bottom: the learned functions.

    table: as `measure` has it. functions: as `functions` has it.
    """
    names = names_of(table["task"].iloc[0])
    heads = ["early stopping", "over training", *(title(method, names) for method in FOR.values())]
    figure = grid(heads, 2, height=200, gap=82, top=112, horizontal=62)
    _draw_ends(figure, table, (1, 1))
    _draw_ways(figure, table, (1, 2), names, legend=True)
    _name_marks(figure, {ALIKE: (GREY, "circle-open")} | _WAYS)
    _draw_chance(figure, (1, 2), legend=True)
    if 100 * table["hard"].median() < 2 * CHANCE:
        _draw_chance(figure, (1, 1), legend=False)
    for column, method in enumerate(FOR.values(), 1):
        _draw_restarts(figure, functions[functions["method"] == method], method, (2, column))
    _name_axes(figure, names)
    set_reading(
        figure,
        "Early stopping: at the evaluation that is best on validation data, of ambiguous collages for ReLU, of those"
        " where its tile tells the label for a learned function; hollow: ReLU stopped as the function that its arrow"
        f" leads to. Small, thin: one run; large, thick: means; whiskers: {INTERVAL}.",
        _diverged(table, names),
    )
    return figure


def fig25(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Left: without, right: with spectral normalization. Top: accuracy over training; bottom: how much each function
    steers.

    Arguments: as of `fig9`; the table has also runs that were trained on one tile.
    """
    names = names_of(table["task"].iloc[0])
    heads = ["no normalization", "spectral normalization", *["steers to its own tile"] * 2]
    figure = grid(heads, 2, height=190, gap=88, top=132, left=150, horizontal=40)
    for column, spectral in enumerate((False, True), 1):
        rows = table[table["spectral"].astype(bool) == spectral]
        _draw_ways(figure, rows, (1, column), names, legend=column == 1)
        for tile in TILES:
            _draw_bound(figure, rows, tile, (1, column), names, legend=column == 1)
        _draw_chance(figure, (1, column), legend=column == 1)
        for tile, method in FOR.items():
            _draw_steering(figure, measures.steering(rows, tile), method, (2, column))
        figure.add_vline(x=0, line={"color": GREY, "width": 1.4}, row=2, col=column)
    _name_marks(figure, _WAYS)
    labels = [f"learned for {names[tile]}" for tile in TILES]
    for column, spectral in enumerate((False, True), 1):
        chosen = functions[functions["chosen"].astype(bool) & (functions["spectral"].astype(bool) == spectral)]
        for method in FOR.values():
            words = _likeness(chosen[chosen["method"] == method])
            corner = {"x": 1, "xref": "x domain", "xanchor": "right", "y": method, "yshift": -16, "showarrow": False}
            figure.add_annotation(text=words, font={"size": SIZE - 2}, row=2, col=column, **corner)
    order = {"categoryorder": "array", "categoryarray": list(FOR.values())[::-1], "range": (-0.6, 1.6)}
    ticks = {"tickvals": list(FOR.values()), "ticktext": labels, "ticks": "", "showgrid": False}
    figure.update_yaxes(type="category", row=2, **order, **ticks)
    figure.update_yaxes(showticklabels=False, row=2, col=2)
    figure.update_xaxes(title_text=f"accuracy on {names['easy']} (%)", title_font_size=SIZE, row=1)
    figure.update_yaxes(title_text=f"accuracy on {names['hard']} (%)", row=1, col=1)
    figure.update_xaxes(title_text="more than ReLU does (points)", row=2, matches="x3")
    figure.update_yaxes(row=1, matches="y")
    set_reading(
        figure,
        "Thin lines: one run; thick: mean over seeds. Straight lines: ReLU networks that were trained where only this"
        f" tile tells the label, stopped early. Below: whiskers, {INTERVAL}; r: correlation of a function's values with"
        " ReLU's.",
        _diverged(table, names),
    )
    return figure


def _draw_steering(figure: go.Figure, by_seed: pd.Series, method: str, at: Panel) -> None:
    values = by_seed.dropna().to_numpy(float)
    if not len(values):
        return
    half, ink = half_width(values), colour(method)
    bar = None if np.isnan(half) else whiskers([half], 5, 1.8) | {"color": ink}
    look: dict[str, Any] = {"name": f"{method}, steering", "legendgroup": method, "showlegend": False, "error_x": bar}
    look |= {"mode": "markers+text", "text": [signed(values.mean())], "textposition": "top center"}
    points(figure, [values.mean()], [method], ink, at, 10, METHOD_SYMBOLS[method], hovertemplate="%{x:+.1f}", **look)


def _draw_ends(figure: go.Figure, table: pd.DataFrame, at: Panel) -> None:
    """Accuracy on either tile with early stopping; arrows from ReLU with that stopping to the learned functions."""
    means = {}
    for method in METHODS:
        percent, ink, symbol = ends(table, method).dropna(), colour(method), METHOD_SYMBOLS[method]
        hidden: dict[str, Any] = {"showlegend": False, "legendgroup": method}
        look = hidden | {"marker": {"color": ink, "symbol": symbol, "size": 5, "opacity": 0.5}, "mode": "markers"}
        look |= {"customdata": percent.index, "hovertemplate": "seed %{customdata}: %{x:.1f} %, %{y:.1f} %"}
        where = {"row": at[0], "col": at[1]}
        figure.add_scatter(x=percent["easy"], y=percent["hard"], name=f"{method}, runs", **look, **where)
        if percent.empty:
            continue
        means[method] = percent.mean()
        halves = [half_width(percent[tile].to_numpy()) for tile in TILES]
        bars = [None if np.isnan(half) else {"array": [half], "color": ink, "thickness": 1.2} for half in halves]
        x, y = ([mean] for mean in means[method])
        hidden |= {"name": f"{method}, mean", "error_x": bars[0], "error_y": bars[1]}
        points(figure, x, y, ink, at, 8, symbol, hovertemplate="mean: %{x:.1f} %, %{y:.1f} %", **hidden)
    panel = figure.get_subplot(*at)
    x, y = (axis.plotly_name.replace("axis", "") for axis in (panel.xaxis, panel.yaxis))
    arrow = {"xref": x, "yref": y, "axref": x, "ayref": y, "text": "", "standoff": 7, "startstandoff": 5}
    arrow |= {"showarrow": True, "arrowhead": 2, "arrowwidth": 1.2, "arrowcolor": GREY}
    for tile, method in FOR.items():
        start = ends(table, RELU, f"val_{tile}").mean()
        if method not in means or start.isna().any():
            continue
        hidden = {"name": f"ReLU, stopped as {method}", "showlegend": False, "legendgroup": RELU}
        hidden |= {"hovertemplate": f"ReLU, stopped as {method}, mean: %{{x:.1f}} %, %{{y:.1f}} %"}
        symbol = f"{METHOD_SYMBOLS[RELU]}-open"
        points(figure, [start["easy"]], [start["hard"]], colour(RELU), at, 9, symbol, **hidden)
        end = means[method]
        figure.add_annotation(x=end["easy"], y=end["hard"], ax=start["easy"], ay=start["hard"], **arrow)


def _draw_ways(figure: go.Figure, table: pd.DataFrame, at: Panel, names: dict[str, str], legend: bool) -> None:
    for method in METHODS:
        rows = table[table["method"] == method]
        easy, hard = (100 * rows.pivot(index="step", columns="seed", values=tile) for tile in TILES)
        ink, label = colour(method), title(method, names)
        hidden: dict[str, Any] = {"legendgroup": method, "showlegend": False}
        for seed in easy:
            look = hidden | {"name": f"{label}, seed {seed}", "hoverinfo": "skip"}
            line(figure, easy[seed], hard[seed], faded(ink, 0.35), at, 1, **look)
        x, y = easy.mean(axis=1), hard.mean(axis=1)
        look = {"name": label, "legendgroup": method, "showlegend": legend, "customdata": x.index}
        width = 4 if method == RELU else 2.2  # it is the first, and seen below others that do the same
        line(figure, x, y, ink, at, width, hovertemplate="step %{customdata}: %{x:.1f} %, %{y:.1f} % (mean)", **look)
        for one, mark, symbol, name in ((0, BLACK, "circle", "initial weights"), (-1, ink, "square", "last step")):
            look = hidden | {"name": f"{label}, {name}", "hovertemplate": f"{name}: %{{x:.1f}} %, %{{y:.1f}} %"}
            points(figure, x.iloc[[one]], y.iloc[[one]], mark, at, 7, symbol, **look)


_WAYS = {"initial weights": (BLACK, "circle"), "last step": (GREY, "square")}


def _name_marks(figure: go.Figure, marks: dict[str, tuple[str, str]]) -> None:
    """Marks that stand for more than one method, in the legend: ink and symbol by name."""
    for name, (ink, symbol) in marks.items():
        points(figure, [None], [None], ink, (1, 1), 7, symbol, name=name, hoverinfo="skip")


def _draw_chance(figure: go.Figure, at: Panel, legend: bool) -> None:
    """A line where the hard tile is guessed, as wide as what is drawn."""
    panel = figure.get_subplot(*at)
    x = panel.xaxis.plotly_name.replace("axis", "")
    drawn = [place for trace in figure.select_traces({"xaxis": x}) for place in trace.x if place is not None]
    ends = [float(np.nanmin(drawn)), float(np.nanmax(drawn))]
    name = f"chance ({CHANCE:.0f} %)"
    line(figure, ends, [CHANCE] * 2, INK, at, 1, "dashdot", name=name, showlegend=legend, hoverinfo="skip")


def _draw_bound(
    figure: go.Figure, table: pd.DataFrame, tile: str, at: Panel, names: dict[str, str], legend: bool
) -> None:
    if not (table["method"] == ALONE[tile]).any():
        return
    value, (other,) = ends(table, ALONE[tile])[tile].mean(), set(TILES) - {tile}
    across = [100 * table[other].min(), 100 * table[other].max()]  # as far as there is something to see
    x, y = ([value] * 2, across) if tile == "easy" else (across, [value] * 2)
    look: dict[str, Any] = {"name": f"ReLU trained on {names[tile]} alone", "legendgroup": ALONE[tile]}
    look |= {"showlegend": legend, "hovertemplate": f"{value:.1f} %"}
    line(figure, x, y, GREY, at, 1.4, "dash" if tile == "easy" else "dot", **look)


def _draw_restarts(figure: go.Figure, rows: pd.DataFrame, method: str, at: Panel) -> None:
    chosen = rows["chosen"].astype(bool)
    for restart, curve in rows[~chosen].groupby("restart"):
        about = f"restart {restart}, {100 * curve['accuracy_val'].iloc[0]:.1f} % on validation data"
        look: dict[str, Any] = {"name": f"restart {restart}", "showlegend": False}
        hover = f"{about}: φ(%{{x:.2f}}) = %{{y:.3g}}"
        line(figure, curve["x"], curve["value"], faded(colour(method), 0.35), at, 1, hovertemplate=hover, **look)
    x = rows.loc[chosen, "x"]
    line(figure, x, x.clip(lower=0), GREY, at, 1.4, "dot", hoverinfo="skip", showlegend=False, name="ReLU, φ")
    _draw_function(figure, rows[chosen], method, at)
    others = ["thin: other restarts"] * bool((~chosen).any())
    _inside(figure, "<br>".join(filter(None, [_likeness(rows[chosen]), "dotted: ReLU", *others])), at)


def _draw_function(figure: go.Figure, rows: pd.DataFrame, method: str, at: Panel) -> None:
    look: dict[str, Any] = {"name": f"{method}, φ", "legendgroup": method, "showlegend": False}
    line(figure, rows["x"], rows["value"], colour(method), at, hovertemplate="φ(%{x:.2f}) = %{y:.3g}", **look)


def _inside(figure: go.Figure, text: str, at: Panel) -> None:
    """Lines in the upper left corner of a panel, where a function like ReLU is far away."""
    if text:
        corner = {"x": 0.02, "y": 0.98, "xanchor": "left", "yanchor": "top", "align": "left", "showarrow": False}
        where = {"xref": "x domain", "yref": "y domain", "row": at[0], "col": at[1]}
        figure.add_annotation(text=text, font={"size": SIZE - 2}, **corner, **where)


def _likeness(rows: pd.DataFrame) -> str:
    """The correlation of a function's values with ReLU's, in words; empty where there is none."""
    if rows.empty or np.ptp(rows["value"]) == 0:
        return ""
    correlation = np.corrcoef(rows["x"].clip(lower=0), rows["value"])[0, 1]
    r = true_minus(f"r = {correlation.round(2) + 0.0:.2f}")  # no -0.00
    return f"stayed ReLU ({r})" if correlation > NEAR_RELU else f"{r} with ReLU"


def _name_axes(figure: go.Figure, names: dict[str, str]) -> None:
    figure.update_xaxes(title_text=f"accuracy on {names['easy']} (%)", title_font_size=SIZE, row=1)
    figure.update_yaxes(title_text=f"accuracy on {names['hard']} (%)", row=1, col=1)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1)


def _diverged(table: pd.DataFrame, names: dict[str, str]) -> str:
    def kind(spectral: bool, method: str) -> str:
        return f"{title(method, names)}{', spectral normalization' if spectral else ''}"

    return diverged_runs(table, ["spectral", "method"], kind, "left out from there on")


def _notes(task: Collage) -> Callable[[str], list[str]]:
    def notes(scale: str) -> list[str]:
        if measures.shortcut(scale, task=task).task != SHIPPED:
            return []
        easy = measures.image_title(SHIPPED.easy)
        lines = [f"{easy} is called the easy tile because ReLU relies on it (chosen on validation data)"]
        return [*lines, "at this scale the runs are those of Figure 9"] if task == SVHN else lines

    return notes


_SHARED: dict[str, Any] = {"measure": measures.measure, "functions": measures.functions, "numbers": _accuracies}
_SHARED |= {"seeds": measures.SEEDS}
ENTRIES = (
    Entry(
        "simplicity/fig9",
        "3.4",
        "Shortcut learning: functions that steer to one tile or the other",
        "Collages of two images that both tell the label in training; test accuracy where only one of them does, with"
        " ReLU and with functions learned for either tile, at early stopping and over training",
        "a learned function steers to its tile; ReLU is at chance (10 %) on the hard one",
        plan=planned(CIFAR),
        plot=fig9,
        summary=_summary,
        tasks=(SHIPPED.name, measures.CIFAR_PART.name, CIFAR.name),
        origin=origin(CIFAR, (True,)),
        notes=_notes(CIFAR),
        claims=measures.FIG9,
        minutes={"smoke": 0.1, "laptop": 7, "overnight": 7, "paper": 60},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig25",
        "E.5",
        "Shortcut learning with and without spectral normalization",
        "Collages of two images: test accuracy where only one tile tells the label, over training, with and without"
        " every weight matrix divided by its largest singular value",
        "the ability to steer is slightly better with spectral normalization",
        plan=planned(CIFAR, (False, True), (*METHODS, *ALONE.values())),
        plot=fig25,
        summary=_steering,
        tasks=(SHIPPED.name, measures.CIFAR_PART.name, CIFAR.name),
        origin=origin(CIFAR, (False, True)),
        notes=_notes(CIFAR),
        claims=measures.FIG25,
        minutes={"smoke": 0.2, "laptop": 14, "overnight": 14, "paper": 150},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig26",
        "E.5",
        "Shortcut learning on other collages",
        "Collages of two images that both tell the label in training; test accuracy where only one of them does, with"
        " ReLU and functions learned for either; not the image sets of Figure 9, but those that the axes name",
        "similar effects with MNIST and SVHN, but trajectories are not as distinct",
        plan=planned(SVHN),
        plot=fig9,
        summary=_summary,
        tasks=(SHIPPED.name, SVHN.name),
        origin=origin(SVHN, (True,)),
        notes=_notes(SVHN),
        minutes={"smoke": 0.1, "laptop": 7, "paper": 60},
        **_SHARED,
    ),
)
