"""Section 3.1 and Appendix E.2 of the simplicity paper: the functions that are learned for image sets (Figures 3 and
16). Figure 3 is of MNIST alone.

A search moves knots by steps of a fixed length, which leaves noise of single knots: the smaller a function is, the more
irregular it looks. So what goes up and down more has to do so smoothed, too, and not over its own range alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of, on_every_reading
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.images import settings
from lab.papers.simplicity.images.accuracy import TASKS, plan
from lab.papers.simplicity.images.settings import CLASSIFICATION, FROM_RELU, FROM_ZERO, REGRESSION, RELU, TITLES
from lab.papers.simplicity.settings import again, episode_result, first_of_searches, received
from lab.papers.tables import Labelled, numbered
from lab.plots import go
from lab.plots.caption import effect, set_reading
from lab.plots.functions import draw_inputs, gelu
from lab.plots.panels import above, grid, line, named
from lab.plots.style import BLACK, GREY, SEQUENCE, SIZE, colour, faded, method_title
from lab.probes.profile import counts
from lab.run import Run
from lab.scale import SCALES
from lab.search_results import EpisodeResult
from lab.spec import EpisodeSpec, Learned, Perceptron, RunSpec, replace
from lab.statistics import LEVEL

NEAR_RELU = 0.99  # share of a function's variance that ReLU explains, above which the search has not left it
LIKE = 0.9  # share of the variance, above which a function is called like ReLU or GELU
AVERAGED = 5  # knots, of the lines that show what is not the noise of single ones
CLOSE, WIDE = 3.0, 4.4  # largest |x| of panels: of functions like ReLU; of others, where an average has no end in it
SMOOTHED = {"as they are": 1, "over 3 knots": 3, "over 5 knots": 5}
SEARCHES = {"smoke": 1, "laptop": 1, "overnight": 3, "paper": 1}  # of Figure 16, for each set, mode and start
ONE_FUNCTION = ["set", "search", "restart", "mode"]
Number = Callable[[np.ndarray, np.ndarray], float]  # of knots and values


def learned(scale: str, seeds: int, names: Sequence[str] = settings.SETS, searches: int = 1) -> list[Planned]:
    """One model for each search, of the size that the function was learned with. Where there are several searches, each
    has its number as a label, and layer-specific functions have one."""
    first = [
        ({key: labels[key] for key in ("set", "mode", "method")}, spec)
        for labels, spec in plan(scale, seeds, names)
        if labels["method"] != RELU and labels["layers"] == settings.BASE[scale]
    ]
    if searches == 1:
        return first
    return [
        (labels | {"search": number}, _of_search(spec, number))
        for labels, spec in first
        for number in range(1 if labels["method"] == settings.PER_LAYER else searches)
    ]


def _of_search(spec: RunSpec, number: int) -> RunSpec:
    """The run with the function that another search finds."""
    if not number:
        return spec
    assert isinstance(spec.model, Perceptron) and isinstance(spec.model.phi, Learned)
    phi = replace(spec.model.phi, search=again(spec.model.phi.search, number))
    return replace(spec, model=replace(spec.model, phi=phi))


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a function that a search found: set, mode, method, restart, layer (from 1), accuracy (on `val`, 0 to 1,
    of the model that was trained with it to decide), chosen, turns, gelu, relu (`r_squared` of both, at all knots)."""
    rows = []
    for labels, _, result, restart, layer, x, y in _searched_functions(runs):
        row = {"restart": restart, "layer": layer, "accuracy": float(result.results[restart, :, 0].mean())}
        like = {"gelu": r_squared(y, gelu(x)), "relu": r_squared(y, x.clip(0))}
        rows.append(labels | row | {"chosen": restart == result.winner, "turns": relative_variation(y)} | like)
    return pd.DataFrame(rows).round({"accuracy": 6, "turns": 6, "gelu": 6, "relu": 6})


def values(runs: Labelled) -> pd.DataFrame:
    """The same functions, one row a knot: set, mode, method, restart, layer, chosen, x, value, density (of chosen ones,
    the share of inputs nearest to this knot, on test rows, in the first model that was trained with it; NaN of a model
    that diverged)."""
    parts = []
    for labels, run, result, restart, layer, x, y in _searched_functions(runs):
        chosen = restart == result.winner
        density = _density(run, result.spec, layer, len(x)) if chosen else np.nan
        columns = labels | {"restart": restart, "layer": layer, "chosen": chosen}
        parts.append(pd.DataFrame(columns | {"x": x.round(6), "value": y.round(6), "density": density}))
    return pd.concat(parts, ignore_index=True).round({"density": 6})


def _searched_functions(runs: Labelled) -> Iterator[tuple[dict, Run, EpisodeResult, int, int, np.ndarray, np.ndarray]]:
    """Labels, first run, search, restart, layer, and knots x, y of all functions, each search once."""
    for labels, run in first_of_searches(runs):
        result = episode_result(run)
        for restart in range(len(result.results)):
            for layer, spline in enumerate(result.of_restart(restart).values(), 1):
                y = spline.values.detach().double().numpy().ravel()
                yield labels, run, result, restart, layer, np.linspace(spline.low, spline.high, len(y)), y


def _density(run: Run, search: EpisodeSpec, layer: int, knots: int) -> np.ndarray:
    """Share of what a function receives in a trained model, by the nearest knot; of a shared one, in all layers."""
    parts = received(run)
    inputs = parts[layer - 1] if search.learn == "layers" else torch.cat([part.flatten() for part in parts])
    inputs = inputs[inputs.isfinite()]
    number = counts(inputs, search.low, search.high, knots) if inputs.numel() else np.full(knots, np.nan)
    return number / number.sum()


def relative_variation(y: np.ndarray) -> float:
    """How far a function goes up and down, in multiples of its range: 1 where it is monotone; NaN of a constant.

    >>> relative_variation(np.array([0.0, 1.0, 0.0, 1.0])), relative_variation(np.array([0.0, 0.5, 2.0]))
    (3.0, 1.0)
    """
    reach = np.ptp(y)
    return float(np.abs(np.diff(y)).sum() / reach) if reach > 0 else float("nan")


def r_squared(y: np.ndarray, other: np.ndarray) -> float:
    """Share of the variance of a function that a·other + c explains, 0 to 1; NaN of a constant.

    >>> round(r_squared(np.array([1.0, 3.0, 5.0]), np.array([0.0, 1.0, 2.0])), 9)
    1.0
    """
    if not np.ptp(y) > 0 or not np.ptp(other) > 0:
        return float("nan")
    return float(np.corrcoef(y, other)[0, 1] ** 2)


def share_of_gelu(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """How far a function has gone from ReLU to GELU, in least squares with weights of the knots: a·ReLU + b·(GELU -
    ReLU) + c has b / a, 0 for ReLU and 1 for GELU, whatever its scale.

    >>> x = np.linspace(-5, 5, 51)
    >>> round(share_of_gelu(x, 3 * gelu(x) + 1, np.ones(51)), 6)
    1.0
    """
    relu = x.clip(0)
    terms = np.column_stack([relu, gelu(x) - relu, np.ones_like(x)]) * np.sqrt(weights)[:, None]
    if not (np.isfinite(y).all() and np.isfinite(weights).all() and weights.any()):
        return float("nan")
    a, b, _ = np.linalg.lstsq(terms, y * np.sqrt(weights), rcond=None)[0]
    return float(b / a) if a else float("nan")


def _by_function(functions: pd.DataFrame, method: str, number: Number) -> pd.DataFrame:
    """A number of each function of a method, the mean of its layers: (set, search, restart) × mode."""
    rows = numbered(functions[functions["method"] == method]).sort_values("x")
    numbers = rows.groupby([*ONE_FUNCTION, "layer"], sort=False)[["x", "value"]].apply(
        lambda one: number(one["x"].to_numpy(float), one["value"].to_numpy(float))
    )
    means = numbers.groupby(ONE_FUNCTION, sort=False).mean()
    return means.unstack("mode").reindex(columns=[CLASSIFICATION, REGRESSION])


def averaged(y: np.ndarray, knots: int) -> np.ndarray:
    """The mean over an odd number of neighbouring knots; beyond its ends a function is constant.

    >>> averaged(np.array([0.0, 3.0, 0.0]), 3)
    array([1., 1., 1.])
    """
    return np.convolve(np.pad(y, knots // 2, mode="edge"), np.ones(knots) / knots, "valid")


def _turns(functions: pd.DataFrame, method: str, knots: int) -> pd.DataFrame:
    """`relative_variation` of averages over so many knots."""
    return _by_function(functions, method, lambda x, y: relative_variation(averaged(y, knots)))


def _detours(functions: pd.DataFrame, method: str) -> pd.DataFrame:
    """How far each goes up and down beyond its range, in multiples of the mean range of a restart's two functions."""
    ranges = _by_function(functions, method, lambda x, y: float(np.ptp(y)))
    ways = _by_function(functions, method, lambda x, y: float(np.abs(np.diff(y)).sum()))
    return (ways - ranges).div(ranges.mean(axis=1), axis=0)


def _on_each(numbers: Mapping[str, pd.Series], above: float, unit: str) -> Verdict:
    """The mean over the functions of each set, (set, search, restart), by reading."""

    def on_sets(each: pd.Series) -> Verdict:
        count = each.index.unique("search").size
        covers = f"restarts of {count} searches" if count > 1 else "restarts of one search"
        return all_of(
            Verdict(estimates.mean(values, "functions", covers), above=above, case=TITLES[str(name)], unit=unit)
            for name, values in each.groupby("set", sort=False)
        )

    return on_every_reading({name: on_sets(each) for name, each in numbers.items()})


def _more_irregular(functions: pd.DataFrame, method: str) -> Verdict:
    """Ups and downs of functions learned for regression less those for classification; a restart of a set makes a
    pair, whose functions have nothing in common but the set."""
    pairs = {name: _turns(functions, method, knots) for name, knots in SMOOTHED.items()}
    pairs["over the range of both"] = _detours(functions, method)
    return _on_each({name: one[REGRESSION] - one[CLASSIFICATION] for name, one in pairs.items()}, 0.0, "× range")


def _left_relu(functions: pd.DataFrame, scale: str) -> str:
    """Some function learned from ReLU for regression is no longer it: where a search never moved, it found nothing."""
    of = functions[functions["mode"] == REGRESSION]
    still = _by_function(of, FROM_RELU, lambda x, y: r_squared(y, x.clip(0)))[REGRESSION] > NEAR_RELU
    return f"none of {len(still)} functions left ReLU (R² above {NEAR_RELU})" if len(still) and still.all() else ""


def _like_gelu(functions: pd.DataFrame) -> Verdict:
    """At the inputs that the chosen function of a search receives, and at all knots alike."""
    rows = numbered(functions)
    rows = rows[(rows["mode"] == CLASSIFICATION) & (rows["method"] == FROM_RELU)].sort_values("x")
    chosen = rows[rows["chosen"].astype(bool)]
    inputs = {search: one["density"].to_numpy(float) for search, one in chosen.groupby(["set", "search"])}
    shares: dict[str, dict] = {"at the inputs": {}, "at all knots": {}}
    for (name, number, restart), one in rows.groupby(["set", "search", "restart"], sort=False):
        x, y = one["x"].to_numpy(float), one["value"].to_numpy(float)
        density = inputs.get((name, number), np.full(len(x), np.nan))
        shares["at the inputs"][name, number, restart] = share_of_gelu(x, y, density)
        shares["at all knots"][name, number, restart] = share_of_gelu(x, y, np.ones_like(x))
    series = {reading: pd.Series(each).rename_axis(["set", "search", "restart"]) for reading, each in shares.items()}
    return _on_each(series, 0.5, "of the way to GELU")


def _wavelet(functions: pd.DataFrame) -> Verdict:
    """Ups and downs of functions learned from zero for classification; a monotone one has 1."""
    return _on_each(
        {name: _turns(functions, FROM_ZERO, knots)[CLASSIFICATION] for name, knots in SMOOTHED.items()}, 2.0, "× range"
    )


_claim = partial(Claim, hours=1.0, of_functions=True)
FIG16 = (
    _claim(
        "irregular",
        "Functions for regression have more irregularities (learned from zeros)",
        lambda functions: _more_irregular(functions, FROM_ZERO),
        decides="a search whose steps get smaller, so that knots have no noise of their own",
    ),
    _claim(
        "irregular-relu",
        "Functions for regression have more irregularities (learned from a ReLU)",
        lambda functions: _more_irregular(functions, FROM_RELU),
        _left_relu,
        decides="searches of 400 episodes at rates above .2, where more functions leave ReLU",
    ),
    _claim(
        "gelu",
        "For classification, the activation learned from a ReLU resembles GELU (more than ReLU)",
        _like_gelu,
        decides="three searches a set: MNIST's functions are like GELU where inputs are, Fashion-MNIST's are not",
    ),
    _claim(
        "wavelets",
        "For classification, functions learned from zeros rise and fall, as wavelets do",
        _wavelet,
        decides="ten searches a set: where five knots are averaged, those of Fashion-MNIST are near the lab's bound of"
        " 2 times their range",
        hours=3.0,
    ),
)


def _summary(table: pd.DataFrame) -> str:
    chosen, words = table[table["chosen"].astype(bool)], []
    for (name, mode, method), rows in chosen.groupby(["set", "mode", "method"], sort=False):
        turns = "/".join(rows["turns"].fillna(0).map("{:.1f}".format))  # NaN: flat
        words.append(f"{TITLES[name]}, {mode}, {method} {turns}")
    return f"How far functions go up and down, in multiples of their range: {'; '.join(words)}."


def _likeness(rows: pd.DataFrame) -> str:
    """How much of a function's variance ReLU and GELU explain, or how far it goes up and down; the mean over layers.

    >>> _likeness(pd.DataFrame({"relu": [0.9966], "gelu": [0.9957], "turns": 1.1}))
    'like both: ReLU 99.7 %, GELU 99.6 %'
    """
    relu, gelu = 100 * rows[["relu", "gelu"]].mean()
    like = {(True, True): "both", (False, False): "neither", (True, False): "ReLU", (False, True): "GELU"}
    verdict = like[bool(relu > 100 * LIKE), bool(gelu > 100 * LIKE)]
    turns = f"neither; {rows['turns'].mean():.1f} × range"
    return "like " + (turns if verdict == "neither" else f"{verdict}: ReLU {relu:.1f} %, GELU {gelu:.1f} %")


def _like_which(table: pd.DataFrame) -> str:
    """Of Figure 3, which has one image set."""
    chosen, both = table[table["chosen"].astype(bool)], "near to ReLU and to GELU"
    of_mode = chosen[chosen["method"] == FROM_RELU].groupby("mode")[["relu", "gelu"]].mean()
    relu, gelu = 100 * of_mode.loc[CLASSIFICATION]
    words = both if min(relu, gelu) > 100 * LIKE else f"nearer to {'ReLU' if relu > gelu else 'GELU'}"
    too = "; so is that for regression" if words == both and min(of_mode.loc[REGRESSION]) > LIKE else ""
    ups = chosen[chosen["method"] == FROM_ZERO].itertuples()
    turns = " and ".join(f"{row.turns:.1f} times ({row.mode})" for row in ups)
    first = f"For classification, the function from ReLU is {words} ({relu:.1f} and {gelu:.1f} % of its variance){too}"
    return f"{first}; that from zero goes up and down by {turns} its range."


def _surely_more(functions: pd.DataFrame, knots: int) -> tuple[str, str]:
    """Whether functions from zero, averaged over so many knots, go up and down more for regression; by how much."""
    turns = _turns(functions, FROM_ZERO, knots)
    gap = estimates.mean(turns[REGRESSION] - turns[CLASSIFICATION])
    low, high = gap.interval(LEVEL)  # of one pair: nan
    return "more " if low > 0 else "less " if high < 0 else "neither surely more nor less " * (low == low), effect(gap)


def _averaged_summary(functions: pd.DataFrame) -> str:
    """How irregular functions learned from zero are, and what is left of it where knots are averaged."""
    (more, gap), (then, left) = (_surely_more(functions, knots) for knots in (1, AVERAGED))
    return (
        f"From zero, functions for regression go up and down {more}{'than' if more else 'against'} those for"
        f" classification (total variation over range, restarts of all sets: {gap}); averaged over {AVERAGED} knots"
        f" {then}({left})."
    )


def _of_first_search(rows: pd.DataFrame) -> pd.DataFrame:
    """What the first search found."""
    rows = numbered(rows)
    return rows[rows["search"] == 0].assign(chosen=lambda these: these["chosen"].astype(bool))


def draw(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a set and mode, one column a method; the first search's choice, its inputs, and its other restarts.

    table: as `measure` has it; functions: as `values` has it.
    """
    every, table, functions = functions, _of_first_search(table), _of_first_search(functions)
    kinds = list(table.groupby(["set", "mode"], sort=False))
    methods = [method for method in settings.METHODS if method in set(table["method"])]
    count = len(methods)
    figure = grid([""] * (count * len(kinds)), count, height=150, gap=82, top=144, horizontal=44, second_y=True)
    for row, ((name, mode), rows) in enumerate(kinds, 1):
        of = functions[(functions["set"] == name) & (functions["mode"] == mode)]
        for column, method in enumerate(methods, 1):
            best = rows[(rows["method"] == method) & rows["chosen"]]
            like = len(best) > 0 and bool((best["relu"] > LIKE).all())
            _panel(figure, of[of["method"] == method], method, like, (row, column))
            if len(best):
                words = _likeness(best)
                if method == FROM_ZERO and "× range" in words:
                    turns = [_turns(every, method, knots)[mode].xs(name, level="set").mean() for knots in (1, AVERAGED)]
                    words = words.removeprefix("like neither; ") + "; restarts {:.1f}, averaged {:.1f}".format(*turns)
                above(figure, f"{method_title(method)}<br>{words}", row, column, size=SIZE - 2)
        above(figure, f"<b>{TITLES[name]}, {mode}</b>", row, 1, size=SIZE + 1, yshift=32)
    figure.update_yaxes(title_text="φ(x)", col=1, secondary_y=False)
    figure.update_xaxes(title_text="input x", row=len(kinds))
    set_reading(
        figure,
        f"Percent: how much of a function's variance ReLU and GELU explain; neither: {100 * LIKE:g} % at most. × range:"
        f" total variation over range; restarts: mean of all. Black, averaged: over {AVERAGED} knots; layer-"
        f"specific ones (the best of restarts from ReLU and from zero) and what is like ReLU (to |x| = {CLOSE:g}) are"
        " drawn as they are. Shaded: inputs in a trained network. Grey: other restarts.",
    )
    return figure


def _panel(figure: go.Figure, rows: pd.DataFrame, method: str, like: bool, at: tuple[int, int]) -> None:
    """Draw functions of a method. like: those of ReLU, whose bend an average would round, and which differ near 0."""
    where = {"row": at[0], "col": at[1]}
    if not len(rows):
        figure.update_yaxes(visible=False, secondary_y=True, **where)
        return
    chosen, end = rows[rows["chosen"]], CLOSE if like else WIDE
    known = chosen.groupby("x")["density"].mean()
    x = known.index.to_numpy()
    draw_inputs(figure, x, np.nan_to_num(known.to_numpy(float)), at, legend=not named(figure, "inputs"))

    def curve(y: np.ndarray, name: str, ink: str, width: float, dash: str = "") -> None:
        look = {"name": name, "legendgroup": name, "showlegend": not named(figure, name), "secondary_y": False}
        line(figure, x, y, ink, at, width, dash, hovertemplate="φ(%{x:.2f}) = %{y:.3g}", **look)

    def values_of(part: pd.DataFrame) -> np.ndarray:
        return part.sort_values("x")["value"].to_numpy(float)

    if like:
        curve(x.clip(0), RELU, colour(RELU), 1.4, "6px,3px")
        curve(gelu(x), "GELU", BLACK, 1.2, "dot")
    others = (
        []
        if method == settings.PER_LAYER
        else [values_of(part) for _, part in rows[~rows["chosen"]].groupby("restart")]
    )
    for y in others:
        curve(y, "other restarts", faded(GREY, 0.4), 1)
    for layer, part in chosen.groupby("layer"):
        of_layer = f"layer {layer}", SEQUENCE[2 + (layer - 1) % 4]
        name, ink = of_layer if method == settings.PER_LAYER else (method_title(method), colour(method))
        y = values_of(part)
        others.append(y)
        curve(y, name, ink, 2)
        if not like and method != settings.PER_LAYER:  # an average would hide a spike where a layer's inputs are
            curve(averaged(y, AVERAGED), "averaged", BLACK, 1)
    shown = np.concatenate([y[abs(x) <= end] for y in others])
    pad = 0.08 * np.ptp(shown) or 0.5
    figure.update_xaxes(range=(-end, end), nticks=6, **where)
    figure.update_yaxes(range=(shown.min() - pad, shown.max() + pad), nticks=5, secondary_y=False, **where)


def _notes(scale: str, searches: int = 1) -> list[str]:
    several = [f"{searches} searches for each function, and one for layer-specific ones (the paper does not say)"]
    return [f"functions learned with {settings.BASE[scale]} hidden layers", *several * (searches > 1)]


_SAME_ONES = "learned from ReLU, from zero, and one for each layer"
_SHARED: dict[str, Any] = {
    "measure": measure,
    "functions": values,
    "plot": draw,
    "tasks": TASKS,
    "seeds": dict.fromkeys(SCALES, 1),
    "summary": _like_which,
    "numbers": _summary,
    "notes": _notes,
}
ENTRIES = (
    Entry(
        "simplicity/fig3",
        "3.1",
        "Functions learned for MNIST",
        f"Functions for MNIST as classification and as regression, {_SAME_ONES}",
        "for classification, from a ReLU, a function like GELU, and from zero a wavelet; for regression irregular ones",
        plan=lambda scale, seeds: learned(scale, seeds, settings.FIRST),
        origin=settings.origin(settings.FIRST),
        minutes={"smoke": 0.1, "laptop": 5, "overnight": 8, "paper": 100},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig16",
        "E.2",
        "Functions learned for image sets",
        f"Functions for image sets as classification and as regression, {_SAME_ONES}",
        "those for regression are more irregular",
        plan=lambda scale, seeds: learned(scale, seeds, searches=SEARCHES[scale]),
        origin=settings.origin(),
        functions_summary=_averaged_summary,
        minutes={"smoke": 0.2, "laptop": 9, "overnight": 40, "paper": 200},
        claims=FIG16,
        **_SHARED
        | {
            "summary": lambda table: "",
            "notes": lambda scale: _notes(scale, SEARCHES[scale]),
        },
    ),
)
