"""The functions that are learned for image sets, as tables and as a drawing (simplicity paper, Figures 3 and 16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from lab.errors import ArgumentError
from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline
from lab.papers.simplicity.images.settings import CLASSIFICATION, FROM_RELU, FROM_ZERO, PER_LAYER, RELU, TITLES
from lab.papers.simplicity.origin import episode_result
from lab.plots.caption import set_reading
from lab.plots.functions import draw_inputs, gelu, window
from lab.plots.panels import above, grid, place
from lab.plots.style import BLACK, GREY, SEQUENCE, SIZE, colour, faded, method_title
from lab.probes.profile import counts
from lab.run import Run
from lab.search_results import EpisodeResult
from lab.spec import EpisodeSpec, needs

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

COLUMNS = (FROM_RELU, FROM_ZERO, PER_LAYER)


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


def shapes(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a function that a search found: set, mode, method, restart, layer (from 1), accuracy (on `val`, 0 to 1,
    of the model that was trained with it to decide), chosen, turns, gelu, relu (`r_squared` of both, at all knots)."""
    import pandas as pd

    rows = []
    for labels, _, result, restart, layer, x, y in _searched_functions(runs):
        row = {"restart": restart, "layer": layer, "accuracy": float(result.results[restart, :, 0].mean())}
        like = {"gelu": r_squared(y, gelu(x)), "relu": r_squared(y, x.clip(0))}
        rows.append(labels | row | {"chosen": restart == result.winner, "turns": relative_variation(y)} | like)
    return pd.DataFrame(rows).round({"accuracy": 6, "turns": 6, "gelu": 6, "relu": 6})


def values(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The same functions, one row a knot: set, mode, method, restart, layer, chosen, x, value, density (of chosen ones,
    the share of inputs nearest to this knot, on test rows, in the first model that was trained with it; NaN of a model
    that diverged)."""
    import pandas as pd

    parts = []
    for labels, run, result, restart, layer, x, y in _searched_functions(runs):
        chosen = restart == result.winner
        density = _density(run, result.spec, layer) if chosen else np.nan
        columns = labels | {"restart": restart, "layer": layer, "chosen": chosen}
        parts.append(pd.DataFrame(columns | {"x": x.round(6), "value": y.round(6), "density": density}))
    return pd.concat(parts, ignore_index=True).round({"density": 6})


def chosen(functions: pd.DataFrame, name: str, mode: str, method: str) -> Spline:
    """The function that was chosen, of the first layer where each has its own. functions: as `values` has it."""
    columns = {"set": name, "mode": mode, "method": method, "layer": 1, "chosen": True}
    rows = functions[np.logical_and.reduce([functions[key] == value for key, value in columns.items()])]
    if not len(rows):
        raise ArgumentError(
            f"no function of {name}, {mode}, {method} is in this table; it has "
            + "; ".join(sorted(set(functions["set"] + ", " + functions["mode"])))
        )
    x, values = rows["x"].to_numpy(), torch.tensor(rows["value"].to_numpy(), dtype=torch.float32)
    return Spline(values, float(x[0]), float(x[-1]))


def blend(phi: Spline, share: float) -> Spline:
    """A function between ReLU (share 0) and another one (share 1), at the knots of that one.

    >>> blend(Spline(torch.tensor([4.0, 0.0, 2.0]), -1.0, 1.0), 0.5).values.tolist()
    [2.0, 0.0, 1.5]
    """
    positions = torch.linspace(phi.low, phi.high, phi.values.shape[-1])
    return Spline((1 - share) * positions.relu() + share * phi.values.detach(), phi.low, phi.high)


def _searched_functions(
    runs: Sequence[tuple[dict, Run]],
) -> Iterator[tuple[dict, Run, EpisodeResult, int, int, np.ndarray, np.ndarray]]:
    """Labels, first run, search, restart, layer, and knots x, y of all functions, each search once."""
    known = set()
    for labels, run in runs:
        searches = needs(run.spec)
        if not searches or searches[0] in known:
            continue
        known.add(searches[0])
        result = episode_result(run)
        for restart in range(len(result.results)):
            for number, spline in enumerate(result.of_restart(restart).values(), 1):
                y = spline.values.detach().double().numpy().ravel()
                yield labels, run, result, restart, number, np.linspace(spline.low, spline.high, len(y)), y


def _density(run: Run, search: EpisodeSpec, layer: int) -> np.ndarray:
    """Share of what a function receives in a trained model, by the nearest knot; of a shared one, in all layers."""
    chosen = EpisodeResult(search, run.store)
    knots = next(iter(chosen.splines.values())).values.shape[-1]
    model = run.model()
    assert isinstance(model, MLP)
    with torch.no_grad():
        received = model.received(run.spec.task.split(run.spec.task_seed)["test"].inputs[None])
    inputs = received[layer - 1] if search.learn == "layers" else torch.cat([part.flatten() for part in received])
    inputs = inputs[inputs.isfinite()]
    if not inputs.numel():
        return np.full(knots, np.nan)
    number = counts(inputs, search.low, search.high, knots)
    return number / number.sum()


def draw(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a set and mode, one column a method; the chosen function, what it receives, other restarts.

    table: as `shapes` has it; functions: as `values` has it.
    """
    pairs = list(table.drop_duplicates(["set", "mode"])[["set", "mode"]].itertuples(index=False, name=None))
    methods = [method for method in COLUMNS if method in set(table["method"])]
    count = len(methods)
    figure = grid([""] * (count * len(pairs)), count, height=140, gap=70, top=132, horizontal=44, second_y=True)
    shown: set[str] = set()
    for line, (name, mode) in enumerate(pairs):
        of = functions[(functions["set"] == name) & (functions["mode"] == mode)]
        rows = table[(table["set"] == name) & (table["mode"] == mode)]
        for number, method in enumerate(methods):
            at = place(line * count + number, count)
            _panel(figure, of[of["method"] == method], mode, method, at, shown)
            best = rows[(rows["method"] == method) & rows["chosen"].astype(bool)]
            if len(best):
                up = " and ".join("constant" if np.isnan(value) else f"{value:.1f}" for value in best["turns"])
                above(figure, f"{method_title(method)}: {up}", *at, size=SIZE - 2)
        above(figure, f"<b>{TITLES[name]}, {mode}</b>", line + 1, 1, size=SIZE + 1)
        figure.layout.annotations[-1].update(yshift=19)
        figure.update_yaxes(title_text="φ(x)", row=line + 1, col=1, secondary_y=False)
    figure.update_xaxes(title_text="input x", row=len(pairs))
    set_reading(
        figure,
        "Above each panel: how far the function goes up and down, in multiples of its range (1: it only rises or only"
        " falls). Shaded: inputs that it receives in a trained network, on test rows; panels show where nearly all of"
        " them are, their height is that of the function where 98 % are. Thin: what the restarts"
        " found that were not chosen. Outside its knots a function is constant.",
    )
    return figure


def _panel(figure: go.Figure, rows: pd.DataFrame, mode: str, method: str, at: tuple[int, int], shown: set[str]) -> None:
    where = {"row": at[0], "col": at[1]}
    if not len(rows):
        figure.update_yaxes(visible=False, secondary_y=True, **where)
        return

    def line(rows: pd.DataFrame, name: str, ink: str, width: float, y: str = "value", **more) -> None:
        figure.add_scatter(
            x=rows["x"],
            y=rows[y],
            mode="lines",
            name=name,
            legendgroup=name,
            line={"color": ink, "width": width, **more.pop("line", {})},
            showlegend=name not in shown,
            secondary_y=False,
            **{"hovertemplate": "φ(%{x:.2f}) = %{y:.3g}"} | more,
            **where,
        )
        shown.add(name)

    chosen = rows[rows["chosen"].astype(bool)]
    known = chosen.groupby("x")["density"].mean()
    x, density = known.index.to_numpy(), np.nan_to_num(known.to_numpy(float))
    draw_inputs(figure, x, density, at, legend="inputs" not in shown)
    shown.add("inputs")
    others = rows[~rows["chosen"].astype(bool)]
    for _, part in others.groupby(["restart", "layer"]):
        line(part, "other restarts", faded(GREY, 0.6), 1, hoverinfo="skip", hovertemplate=None)
    first = chosen[chosen["layer"] == 1].sort_values("x")
    if method == FROM_RELU:
        known = first.assign(relu=first["x"].clip(lower=0), gelu=gelu(first["x"].to_numpy()))
        line(known, RELU, colour(RELU), 1.4, "relu", line={"dash": "6px,3px"}, hoverinfo="skip", hovertemplate=None)
        if mode == CLASSIFICATION:
            line(known, "GELU", BLACK, 1.2, "gelu", line={"dash": "dot"}, hoverinfo="skip", hovertemplate=None)
    if method == PER_LAYER:
        for layer, part in chosen.groupby("layer"):
            line(part.sort_values("x"), f"layer {layer}", SEQUENCE[2 + (layer - 1) % 4], 2)
    else:
        line(first, method_title(method), colour(method), 2)
    low, high = window(x, density)
    low, high = max(low, x[0]), min(high, x[-1])
    often = known_often(x, density)
    inside = chosen.loc[chosen["x"].between(max(low, often[0]), min(high, often[1])), "value"].to_numpy()
    pad = 0.12 * np.ptp(inside) or 0.5
    figure.update_xaxes(range=(low, high), nticks=6, **where)
    figure.update_yaxes(range=(inside.min() - pad, inside.max() + pad), nticks=5, secondary_y=False, **where)


def known_often(x: np.ndarray, density: np.ndarray, share: float = 0.98) -> tuple[float, float]:
    """The stretch of knots with so much of the inputs, tails cut alike; all of it where no inputs are known.

    >>> known_often(np.arange(5.0), np.array([0.005, 0.3, 0.4, 0.29, 0.005]))
    (1.0, 3.0)
    """
    if not density.sum() > 0:
        return float(x[0]), float(x[-1])
    total, tail = np.cumsum(density) / density.sum(), (1 - share) / 2
    return float(x[np.searchsorted(total, tail)]), float(x[min(int(np.searchsorted(total, 1 - tail)), len(x) - 1)])


def summary(table: pd.DataFrame) -> str:
    """The result in a sentence."""
    chosen, words = table[table["chosen"].astype(bool)], []
    methods = chosen["method"].unique()
    for (name, mode), rows in chosen.groupby(["set", "mode"], sort=False):
        each = rows.groupby("method")["turns"].mean().fillna(0).map("{:.1f}".format)  # NaN: flat
        words.append(f"{TITLES[name]}, {mode} {', '.join(each.get(method, '–') for method in methods)}")
    return f"How far functions go up and down, in multiples of their range ({', '.join(methods)}): {'; '.join(words)}."
