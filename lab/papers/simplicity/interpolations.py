"""Appendix D of the simplicity paper: variants of its search, their settings at each scale, and the functions that it
learns with different interpolations (Figure 15). Models are those of `lab.papers.simplicity.images.settings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict
from lab.papers.entry import Entry, Origin, Planned
from lab.papers.simplicity.images.settings import REGRESSION, RELU, TITLES, Setting, images, present, sample
from lab.papers.simplicity.images.settings import origin as image_origin
from lab.papers.simplicity.settings import KNOT_RATES, both_starts, episode_result, restarts
from lab.papers.tables import Labelled
from lab.plots import go
from lab.plots.caption import counted, set_reading, true_minus
from lab.plots.panels import above, grid, line, place
from lab.plots.style import BLACK, BLUE, ORANGE, SIZE
from lab.scale import SCALES, model_scale
from lab.spec import EpisodeSpec, InterpolatedSpec, Learned, RunSpec, replace
from lab.statistics import LEVEL
from lab.training.inner_task import FINE

SET, LAYERS = "fashion_mnist", 1  # App. D
SEEDS = {"smoke": 2, "laptop": 6, "overnight": 10, "paper": 10}  # App. D: 10
# Each with restarts of its own: what a search happens to find varies more than what seeds make of it.
SEARCHES = {"smoke": 1, "laptop": 1, "overnight": 10, "paper": 1}
DRAWN_SEARCHES = SEARCHES | {"overnight": 30}  # Figure 15, which trains next to nothing with what they find
# Seeds with ReLU for one with a learned function: its spread is known from these alone, that of functions from all.
RELU_TIMES = {"smoke": 1, "laptop": 1, "overnight": 4, "paper": 1}
LINEAR = "linear"
INTERPOLATIONS = {"nearest": "nearest neighbor", "linear": "linear", "cubic": "cubic spline"}
STARTS = {"relu": "from ReLU", "zero": "from zero"}
ABLATED = f"{TITLES[SET]} as {REGRESSION}"
_MOST = {"smoke": 2, "laptop": 80, "overnight": 160, "paper": 400}  # episodes
DRAWN = 3  # of several searches
INSIDE = 4.6  # |x|, beyond which the last control points stand out
PAIRS, COLUMNS = 6, 3  # of functions that are compared, and panels in a row
IDENTICAL, OTHERS = 0.9, 0.8  # correlation of functions above which they are "nearly identical", and below which not
NEAR_RELU = 0.99  # correlation with ReLU from which on a function has not left it
ALL_BUT_ONE = 1 - 1e-9  # of a correlation, so that its transform is finite
FEWEST = 4  # restarts that found a function of their own, for something to be said of them
INTERPOLATED = (
    f"control points are learned; between two of them the network has {FINE} straight lines."
    " Nearest: all but the middle one are flat; that one lets a gradient through (the paper does not say how"
    " weights before such a function learn). Cubic: the natural spline"
)


def setting(scale: str) -> Setting:
    """The models of App. D: a night has more searches and seeds of a laptop's."""
    return images(model_scale(scale), SET, REGRESSION)


def search(scale: str, interpolation: str = LINEAR, objective: str = "val", number: int = 0) -> EpisodeSpec:
    """A search for the function of models with one hidden layer, from ReLU and from zero, as in App. C.

    interpolation: "linear", or one of `lab.training.inner_task`. objective: of the knots, "val", "train" or "test".
    number: of several searches; their restarts have other seeds.

    >>> search("laptop", "cubic").interpolation, [r.start for r in search("laptop", objective="train").restarts]
    ('cubic', ['relu', 'relu', 'zero', 'zero'])
    """
    of = model_scale(scale)
    spec = with_depth(setting(scale).base, of, LAYERS, KNOT_RATES[of], number, objective=objective)
    if interpolation == LINEAR:
        return spec
    same = {field.name: getattr(spec, field.name) for field in fields(spec)}
    return InterpolatedSpec(**same, interpolation=interpolation)


def searches_of(
    scale: str, interpolation: str = LINEAR, objective: str = "val", searches: Mapping[str, int] = SEARCHES
) -> list[tuple[dict, EpisodeSpec]]:
    """The searches of a kind; where there are several, each with its number as a label."""
    each = [search(scale, interpolation, objective, number) for number in range(searches[scale])]
    return [({"search": number} if len(each) > 1 else {}, one) for number, one in enumerate(each)]


def with_depth(
    base: EpisodeSpec, scale: str, layers: int, rates: Sequence[float], number: int = 0, **changes
) -> EpisodeSpec:
    """A search of the image figures with another depth, and restarts from ReLU and from zero at each of the rates."""
    model, restarts = replace(base.model, layers=layers), both_starts(scale, rates, number)
    return replace(base, model=model, restarts=restarts, episodes=min(base.episodes, _MOST[scale]), **changes)


def relu(scale: str, seeds: int) -> list[RunSpec]:
    """Models of App. D with ReLU."""
    return setting(scale).runs(RELU, LAYERS, seeds)


def learned(scale: str, seeds: int, spec: EpisodeSpec, restart: int | None = None) -> list[RunSpec]:
    """The same with the function that a search finds, or one of its restarts."""
    phi = Learned(spec, "phi" if restart is None else f"phi@{restart}")
    return [replace(run, model=replace(run.model, phi=phi)) for run in relu(scale, seeds)]


def notes(scale: str, *more: str, searches: Mapping[str, int] = SEARCHES) -> list[str]:
    """What captions say of the searches, and more."""
    number = searches[scale]
    times = "once, by the restarts of one search" if number == 1 else f"by {number} searches, each with restarts"
    return [f"functions are learned {times}; seeds are those of the models that are trained with them", *more]


def origin(
    names: tuple[str, ...] = (SET,),
    search: Callable[[str], EpisodeSpec] = search,
    data_scale: Callable[[str], str] = model_scale,  # a night has more searches and seeds of a laptop's models
    sources: tuple[str, str] = ("paper, App. D", "paper, Table 1"),
) -> Origin:
    """Of entries that train with these settings, or with those of App. E.3. sources: of the depth and the number of
    restarts of a search."""

    def numbers(scale: str) -> dict[str, tuple[object, str]]:
        of = data_scale(scale)
        one, spec = images(of, names[0], REGRESSION), search(scale)
        rates = sorted({images(of, name, REGRESSION).recipe.rate for name in present(of, names)})
        recipe, guess = one.recipe, "guess, the paper does not say"
        return {
            "width": (one.model.width, guess),
            "optimizer": (recipe.optimizer, guess),
            "rate": (rates, "sweep with ReLU on val at laptop scale"),
            "batch": (recipe.batch, "paper, App. E.1"),
            "steps": (recipe.steps, guess),
            "weights averaged over the last steps": (recipe.average, "paper, App. E.1"),
            "search: hidden layers": (spec.model.layers, sources[0]),
            "search: width": (spec.model.width, "guess; the paper has small widths"),
            "search: batch": (spec.inner.batch, "paper, App. E.1"),
            "search: episodes a set": (spec.episodes, guess),
            "search: most inner steps": (spec.inner.steps, guess),
            "search: inner steps differentiated": (spec.restarts[0].window, "paper, App. C: typically 5"),
            "search: knots": (spec.restarts[0].knots, "paper, App. C: typically 50, on [-5, 5]"),
            "search: restarts": (len(spec.restarts), sources[1]),
            "search: rates of knots": (sorted({one.rate for one in spec.restarts}), "paper, App. C: .01 to .2"),
        }

    return image_origin(names, numbers, data_scale)


def plan(scale: str, seeds: int, searches: Mapping[str, int] = DRAWN_SEARCHES) -> list[Planned]:
    """Runs with the function of each interpolation. searches: how many for each, by scale."""
    return [
        ({"method": kind} | labels, run)
        for kind in INTERPOLATIONS
        for labels, one in searches_of(scale, kind, searches=searches)
        for run in learned(scale, seeds, one)
    ]


def measure(runs: Labelled) -> pd.DataFrame:
    """The function of each restart of each search, one row a knot: method, search (where there are several), restart
    (its seed), start, chosen, accuracy_val (of the model that was trained with it to decide), x, value."""
    parts = []
    for labels, run in {tuple(labels.values()): (labels, run) for labels, run in reversed(runs)}.values():
        result = episode_result(run)
        for restart, one in zip(result.spec.restarts, restarts(result), strict=True):
            row = labels | {"restart": restart.seed, "start": restart.start, "chosen": one["chosen"]}
            row |= {"accuracy_val": one["accuracy_val"], "x": one["x"].round(4), "value": one["value"].round(4)}
            parts.append(pd.DataFrame(row))
    order = list(INTERPOLATIONS)
    return pd.concat(sorted(parts, key=lambda part: order.index(part["method"].iloc[0])), ignore_index=True)


def _curves(table: pd.DataFrame) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each restart that has both: knots of the linear function, its values, those of the cubic one there."""
    of = {
        kind: {restart: (rows["x"].to_numpy(), rows["value"].to_numpy()) for restart, rows in part.groupby("restart")}
        for kind, part in table.groupby("method")
        if kind in (LINEAR, "cubic")
    }
    both = sorted(of.get(LINEAR, {}).keys() & of.get("cubic", {}).keys())
    return [(*of[LINEAR][one], np.interp(of[LINEAR][one][0], *of["cubic"][one])) for one in both]


def restart_correlations(table: pd.DataFrame) -> np.ndarray:
    """Of the linear and the cubic function of each restart, over the knots of the former; NaN where one is constant."""
    return np.array([_correlation(straight, cubic) for _, straight, cubic in _curves(table)])


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float("nan") if min(np.ptp(one), np.ptp(other)) == 0 else float(np.corrcoef(one, other)[0, 1])


def relu_correlation(x: np.ndarray, values: np.ndarray) -> float:
    """Correlation of a function with ReLU; NaN of a constant.

    >>> x = np.array([-1.0, 0.0, 1.0, 2.0])
    >>> round(relu_correlation(x, x.clip(0)), 9)
    1.0
    """
    return _correlation(values, np.maximum(x, 0))


def left_relu(table: pd.DataFrame) -> np.ndarray:
    """For each restart, whether both functions have left ReLU: two that stay there are alike, however they are made."""
    return np.array(
        [all(not relu_correlation(x, one) > NEAR_RELU for one in (line, cubic)) for x, line, cubic in _curves(table)]
    )


def functions_moved(table: pd.DataFrame, scale: str) -> str:
    """There are restarts enough that found a function of their own."""
    free = left_relu(table)
    return "" if free.sum() >= FEWEST else f"{(~free).sum()} of {len(free)} restarts did not leave ReLU"


def fishers_mean(table: pd.DataFrame) -> estimates.Estimate:
    """Of the correlations of restarts that left ReLU: the mean of Fisher's transforms, for the correlations themselves
    are skewed, and one of -.8 weighs as much as ten."""
    correlations = restart_correlations(table)[left_relu(table)]
    transformed = np.arctanh(correlations.clip(-ALL_BUT_ONE, ALL_BUT_ONE))
    mean = estimates.mean(transformed, "restarts", "restarts that left ReLU")
    return mean.mapped(lambda z: float(np.tanh(z)))


FIG15 = (
    Claim(
        "alike",
        "The linear and cubic functions are nearly identical (correlated above .8 to .9)",
        lambda table: Verdict(fishers_mean(table), above=IDENTICAL, refuted_below=OTHERS),
        functions_moved,
        "what the paper calls nearly identical, for which it prints no number: this lies between the lab's .8 and .9,"
        " and does so, too, with knots weighted by the inputs that reach them (docs/log.md)",
        stands_in=sample,
    ),
)


def fig15(table: pd.DataFrame) -> go.Figure:
    """Above, a panel an interpolation: the chosen functions of a few searches, of the start that most of them have.
    Below: the linear and the cubic function of one restart, from the least alike to the most.

    table: method, search (where there are several), restart, start, chosen, accuracy_val, x, value.
    """
    shown, pairs = [kind for kind in INTERPOLATIONS if kind in set(table["method"])], _pairs(table)
    figure = grid([*[""] * COLUMNS, *pairs], COLUMNS, 150, gap=58, top=98, horizontal=34)
    drawn = []
    for number, kind in enumerate(shown):
        at, chosen = place(number, COLUMNS), table[(table["method"] == kind) & table["chosen"].astype(bool)]
        starts = chosen.groupby("start")["restart"].nunique()
        start = starts.idxmax()
        words = f"{starts.max()} of {starts.sum()} searches chose one {STARTS.get(start, start)}"
        above(figure, f"<b>{INTERPOLATIONS[kind]}</b><br>{words}", *at)
        curves = list(chosen[chosen["start"] == start].groupby("restart"))[:DRAWN]
        drawn.append(len(curves))
        for n, (restart, rows) in enumerate(curves):
            look: dict[str, Any] = {"name": "chosen function", "showlegend": not n + number, "legendgroup": "chosen"}
            hover = f"restart {restart + 1}: φ(%{{x:.2f}}) = %{{y:.3f}}"
            line(figure, rows["x"], rows["value"], BLUE, at, 1.6, hovertemplate=hover, **look)
        relu = [relu_correlation(rows["x"].to_numpy(), rows["value"].to_numpy()) for _, rows in curves]
        if all(r > NEAR_RELU for r in relu):
            corner = {"x": 0.04, "y": 0.96, "xref": "x domain", "yref": "y domain", "xanchor": "left", "yanchor": "top"}
            figure.add_annotation(text="stayed ReLU", row=at[0], col=at[1], **corner)
        inside = np.concatenate([rows.loc[rows["x"].abs() <= INSIDE, "value"] for _, rows in curves])
        _limit(figure, inside, at)
    for number, (x, straight, cubic) in enumerate(pairs.values(), COLUMNS):
        at, both = place(number, COLUMNS), ((LINEAR, straight, BLACK, ""), ("cubic", cubic, ORANGE, "dash"))
        for kind, values, ink, dash in both:
            look = {"name": f"{INTERPOLATIONS[kind]}, a restart", "legendgroup": kind, "showlegend": number == COLUMNS}
            line(figure, x, values, ink, at, 1.8, dash, hovertemplate="φ(%{x:.2f}) = %{y:.3f}", **look)
        _limit(figure, np.concatenate([straight, cubic])[np.tile(abs(x) <= INSIDE, 2)], at)
    figure.update_xaxes(title_text="input x", row=1 + -(-len(pairs) // COLUMNS))
    figure.update_yaxes(title_text="φ(x)", col=1)
    figure.update_annotations(selector={"yshift": 3}, font_size=SIZE - 1)
    few = " to ".join(dict.fromkeys(map(str, (min(drawn), max(drawn)))))
    set_reading(
        figure,
        f"Above: {few} of the functions that searches chose on validation data, of the start that most have. Below:"
        " one restart's linear and cubic function, ranked from the least to the most alike; r: their correlation over"
        f" control points. Vertical scales differ, and go by |x| up to {INSIDE}.",
    )
    return figure


def _limit(figure: go.Figure, values: np.ndarray, at: tuple[int, int]) -> None:
    """End the vertical axis of a panel where these values do."""
    pad = 0.1 * np.ptp(values) or 0.5
    figure.update_yaxes(range=(values.min() - pad, values.max() + pad), row=at[0], col=at[1])


def _pairs(table: pd.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The linear and the cubic function of a few restarts that left ReLU, evenly from the least to the most alike; by
    their place and their correlation, in words."""
    values = np.where(left_relu(table), restart_correlations(table), np.nan)
    order = [int(one) for one in np.argsort(values) if np.isfinite(values[one])]
    places = dict.fromkeys(np.linspace(0, len(order) - 1, min(PAIRS, len(order))).round().astype(int))
    curves = _curves(table)
    return {true_minus(f"rank {n + 1} of {len(order)}, r = {values[order[n]]:.2f}"): curves[order[n]] for n in places}


def _functions_summary(table: pd.DataFrame) -> str:
    values = restart_correlations(table)[left_relu(table)]
    values = values[np.isfinite(values)]
    if not len(values):
        return "No restart left ReLU and zero, so there are no functions to compare."
    mean = fishers_mean(table)
    low, high = mean.interval(LEVEL)
    spread = f", interval of the mean [{low:.2f}, {high:.2f}]" if np.isfinite(low) else ""
    words = f"{mean.effect:.2f} by Fisher's mean ({values.min():.2f} to {values.max():.2f})"
    restarts = f"in the {counted(len(values), 'restart')} that left ReLU and zero"
    alike = f"In {(values > IDENTICAL).sum()} of {len(values)} restarts the two correlate above {IDENTICAL}."
    return f"{alike} Correlation of the linear and the cubic function: {words} {restarts}{spread}."


ENTRIES = (
    Entry(
        "simplicity/fig15",
        "D",
        "Functions learned with different interpolations",
        f"What the searches of Table 2 found for {ABLATED}: values at control points, with steps, straight lines or a"
        " cubic spline between them",
        "the linear and cubic ones are nearly identical",
        plan=plan,
        measure=measure,
        plot=fig15,
        summary=_functions_summary,
        notes=lambda scale: notes(scale, INTERPOLATED, searches=DRAWN_SEARCHES),
        claims=FIG15,
        seeds=dict.fromkeys(SCALES, 1),
        minutes={"smoke": 0.1, "laptop": 3, "overnight": 20, "paper": 120},
        tasks=(ABLATED,),
        origin=origin(),
    ),
)
