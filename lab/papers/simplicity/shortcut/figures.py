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
from lab.plots.panels import Panel, grid, line, named, points, whiskers
from lab.plots.style import BLACK, GREY, INK, METHOD_SYMBOLS, SIZE, colour, faded
from lab.statistics import INTERVAL, LEVEL, half_width
from lab.tasks import Collage
from lab.tasks.collage import TILES

CHANCE = 10.0  # percent: one of ten classes
PREFERS = "how much more each prefers its tile"
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
    return f"{_steering(table)} Accuracy on its tile, and {RELU}'s: {', '.join(phrases)}."


def _other_collages(table: pd.DataFrame) -> str:
    return f"{' over '.join(names_of(table['task'].iloc[0]).values())} (paper: MNIST and SVHN). {_steering(table)}"


def _steering(table: pd.DataFrame) -> str:
    """Which functions prefer their tile more than ReLU does, with the same early stopping."""
    words: list[str] = []
    names = names_of(table["task"].iloc[0])
    for spectral, rows in table.groupby("spectral", sort=False):
        more = {name: estimates.mean(measures.steering(rows, tile)) for tile, name in names.items()}
        ends = {name: points.interval(LEVEL) for name, points in more.items()}
        steers = [name for name, (low, _) in ends.items() if low > 0]
        of = "it" if words else "spectral normalization"
        which = f"with{'' if spectral else 'out'} {of} " if table["spectral"].nunique() > 1 else ""
        verdict = "each function steers" if len(steers) == 2 else "neither function clearly steers"
        verdict = f"only the function for {steers[0]} clearly steers" if len(steers) == 1 else verdict
        away = [f", {name}'s steers away" for name, (_, high) in ends.items() if high < 0]
        numbers = ", ".join(f"{name} {effect(points)}" for name, points in more.items())
        unit, to = ("", "") if words else (" points over ReLU", " to its tile")
        sure = np.isfinite([*ends.values()]).all()
        words.append(which + (f"{verdict}{to}{''.join(away)} ({numbers}{unit})" if sure else f"{numbers}{unit}{to}"))
    text = "; ".join(words)
    return f"{text[0].upper()}{text[1:]}."


_PREFERS = (
    "prefers: accuracy where its tile alone tells the label minus that where the other one does; each function and ReLU"
    " at the step that is best on validation data of that tile"
)


def fig9(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Top: how much more than ReLU each function prefers its tile, and accuracy over training. Bottom: the functions.

    table: as `measure` has it. functions: as `functions` has it.
    """
    names = names_of(table["task"].iloc[0])
    heads = [PREFERS, "over training", *(title(method, names) for method in FOR.values())]
    figure = grid(heads, 2, height=200, gap=82, top=112, horizontal=62)
    _draw_steering(figure, table, (1, 1), names)
    _draw_ways(figure, table, (1, 2), names, legend=True)
    _name_marks(figure, _WAYS)
    _draw_chance(figure, (1, 2), legend=True)
    for column, method in enumerate(FOR.values(), 1):
        _draw_restarts(figure, functions[functions["method"] == method], method, (2, column))
    figure.update_xaxes(title_text=f"accuracy on {names['easy']} (%)", row=1, col=2)
    figure.update_yaxes(title_text=f"accuracy on {names['hard']} (%)", row=1, col=2)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1)
    set_reading(
        figure,
        f"Above, left: {_PREFERS}. Small, thin: one run; large, thick: means; whiskers: {INTERVAL}.",
        _diverged(table, names),
    )
    return figure


def fig25(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Left: without, right: with spectral normalization. Top: accuracy over training; bottom: how much each function
    steers.

    Arguments: as of `fig9`; the table has also runs that were trained on one tile.
    """
    names = names_of(table["task"].iloc[0])
    heads = ["no normalization", "spectral normalization", PREFERS, PREFERS]
    figure = grid(heads, 2, height=190, gap=88, top=132)
    together = 100 * table.loc[table["method"].isin(METHODS), "hard"]
    low, high = together.min() - 1, together.max() + 2
    figure.update_yaxes(range=(low, high), row=1)
    for column, spectral in enumerate((False, True), 1):
        rows = table[table["spectral"].astype(bool) == spectral]
        _draw_ways(figure, rows, (1, column), names, legend=column == 1)
        _draw_bounds(figure, rows, (low, high), (1, column), names)
        _draw_chance(figure, (1, column), legend=column == 1)
        _draw_steering(figure, rows, (2, column), names)
    _name_marks(figure, _WAYS)
    for column, spectral in enumerate((False, True), 1):
        chosen = functions[functions["chosen"].astype(bool) & (functions["spectral"].astype(bool) == spectral)]
        for method in FOR.values():
            words = _likeness(chosen[chosen["method"] == method])
            corner = {"x": 1, "xref": "x domain", "xanchor": "right", "y": method, "yshift": -16, "showarrow": False}
            figure.add_annotation(text=words, font={"size": SIZE - 2}, row=2, col=column, **corner)
    figure.update_xaxes(title_text=f"accuracy on {names['easy']} (%)", title_font_size=SIZE, row=1)
    figure.update_yaxes(title_text=f"accuracy on {names['hard']} (%)", row=1, col=1)
    figure.update_xaxes(row=2, matches="x3")
    set_reading(
        figure,
        "Thin lines: one run; thick: mean over seeds. Trained on … alone: where only this tile tells the label, stopped"
        f" early. Below: {_PREFERS} (a noisy step, so that whiskers are wide, even where a function stayed ReLU);"
        f" whiskers: {INTERVAL}; r: correlation of a function's values with ReLU's.",
        _diverged(table, names),
    )
    return figure


def _draw_steering(figure: go.Figure, table: pd.DataFrame, at: Panel, names: dict[str, str]) -> None:
    """How many points more than ReLU, stopped in the same way, each function prefers its tile."""
    for rank, (tile, method) in enumerate(reversed(FOR.items())):
        values = measures.steering(table, tile).dropna().to_numpy(float)
        if not len(values):
            continue
        half, ink = half_width(values), colour(method)
        look: dict[str, Any] = {"name": f"{method}, steering", "legendgroup": method, "showlegend": False}
        look |= {"error_x": None if np.isnan(half) else whiskers([half], 5, 1.8) | {"color": ink}}
        mark = [values.mean()], [method], ink, at, 10, METHOD_SYMBOLS[method]
        points(figure, *mark, hovertemplate="%{x:+.1f}", **look)
        words = f"{title(method, names)}: {signed(values.mean())}"
        place: dict[str, Any] = {"x": 0.02, "xref": "x domain", "xanchor": "left", "y": method, "yshift": 22}
        figure.add_annotation(text=words, showarrow=False, row=at[0], col=at[1], **place)
        nothing = {"x0": 0, "x1": 0, "y0": rank - 0.3, "y1": rank + 0.13, "line": {"color": GREY, "width": 1.4}}
        figure.add_shape(type="line", row=at[0], col=at[1], **nothing)
    order = {"categoryorder": "array", "categoryarray": list(FOR.values())[::-1], "range": (-0.4, 1.5)}
    figure.update_yaxes(type="category", showticklabels=False, ticks="", showgrid=False, row=at[0], col=at[1], **order)
    figure.update_xaxes(title_text="more than ReLU does (points)", row=at[0], col=at[1])


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


def _draw_bounds(
    figure: go.Figure, table: pd.DataFrame, edges: tuple[float, float], at: Panel, names: dict[str, str]
) -> None:
    """What ReLU learns of one tile alone: a line for the easy one, and for the hard one a number at the upper edge,
    below which the panel ends where accuracies do."""
    alone = {tile: ends(table, method)[tile].mean() for tile, method in ALONE.items() if method in set(table["method"])}
    if "easy" in alone:
        name = f"ReLU trained on {names['easy']} alone"
        look: dict[str, Any] = {"name": name, "legendgroup": name, "showlegend": not named(figure, name)}
        line(figure, [alone["easy"]] * 2, edges, GREY, at, 1.4, "dash", hovertemplate="%{x:.1f} %", **look)
    if "hard" in alone:
        arrow = "↑ " if alone["hard"] > edges[1] else ""
        _inside(figure, f"{arrow}{alone['hard']:.0f} %: ReLU trained on {names['hard']} alone", at)


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
        "a learned function steers to its tile; ReLU is at chance (10 %) on CIFAR-10",
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
        "steering is slightly better with spectral normalization",
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
        " ReLU and with functions learned for either tile",
        "similar effects with MNIST and SVHN, but trajectories are not as distinct",
        plan=planned(SVHN),
        plot=fig9,
        summary=_other_collages,
        tasks=(SHIPPED.name, SVHN.name),
        origin=origin(SVHN, (True,)),
        notes=_notes(SVHN),
        minutes={"smoke": 0.1, "laptop": 7, "paper": 60},
        **_SHARED,
    ),
)
