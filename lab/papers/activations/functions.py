"""Section 3.1 of the activations paper: what the activations of GPT-Neo and RoBERTa that learn have learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from lab.models.small_language import ACTIVATIONS, SmallLanguageModel, Stacked, learned
from lab.nonlinearity.kan import bases, knots
from lab.papers.activations.settings import FAMILIES, FIXED, KANS, METHODS, NAMES, SEEDS, TITLES, origin, plan
from lab.papers.activations.small_models import COLOURS
from lab.papers.entry import Entry
from lab.papers.tables import Labelled, alive
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import Panel, grid, line
from lab.plots.style import INK, faded
from lab.run import Run

WIDE = 4.0  # functions are drawn from -WIDE to WIDE
POINTS = 81
QUANTILES = {"5 %": 0.05, "median": 0.5, "95 %": 0.95}
BOX = {"lowerfence": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 0.95}
FIXED_LINE = "fixed"
EDGES = 1_000  # functions of a KAN's layer that quantiles are of
LEARNING = (*FIXED, "kan")
BEFORE = dict.fromkeys(FIXED, 1.0) | {"prelu": 0.25}  # a learned parameter before training
PARAMETERS = {"slope": "slope", "beta": "β"}
PARAMETER = dict.fromkeys(FIXED, "β") | {"prelu": "slope"}


def parameters(runs: Labelled) -> pd.DataFrame:
    """What activations have learned, a row for each channel of each layer: task, family, method, seed, layer, channel,
    parameter ("beta" or "slope"), value, diverged. KANs have none of these."""
    rows = [
        labels
        | {"seed": run.spec.seed, "layer": layer, "channel": channel, "parameter": name, "value": value}
        | {"diverged": bool(run.diverged)}
        for labels, run in runs
        if labels["method"] in FIXED
        for layer, tensors in enumerate(learned(cast(Stacked, run.model())))
        for name, values in tensors.items()
        for channel, value in enumerate(values[0].tolist())
    ]
    return pd.DataFrame(rows).round({"value": 6})


def functions(runs: Labelled) -> pd.DataFrame:
    """The functions, by family and method: line ("fixed": of the activation without parameters; "5 %", "median",
    "95 %": of all channels, layers and seeds at this x), x, value. Of a gated activation: of the gate, the other half
    is 1. Of a KAN: of edges of the first layers."""
    x = torch.linspace(-WIDE, WIDE, POINTS)
    groups: dict[tuple[str, str], list[Tensor]] = {}
    for labels, run in runs:
        if not run.diverged:
            groups.setdefault((labels["family"], labels["method"]), []).append(_channels(run, x))
    rows = []
    for (family, method), channels in groups.items():
        every = torch.cat(channels)
        lines = {name: every.quantile(share, 0) for name, share in QUANTILES.items()}
        if method in FIXED:
            lines = {FIXED_LINE: _values(ACTIVATIONS[FIXED[method]](1), x[:, None], FIXED[method])[:, 0]} | lines
        rows += [
            {"family": family, "method": method, "line": name, "x": a, "value": b}
            for name, values in lines.items()
            for a, b in zip(x.tolist(), values.tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=["family", "method", "line", "x", "value"]).round(6)


@torch.no_grad()
def _channels(run: Run, x: Tensor) -> Tensor:
    """Every function of a run, (functions, points)."""
    spec = cast(SmallLanguageModel, run.spec.model)
    layers, name = learned(cast(Stacked, run.model())), cast(str, spec.activation)
    if name in KANS:
        return torch.cat(list(edges(spec, layers, x)))
    curves = []
    for tensors in layers:
        phi = ACTIVATIONS[name](spec.hidden)
        phi.load_state_dict({parameter: value[0] for parameter, value in tensors.items()})
        curves.append(_values(phi, x[:, None].expand(-1, spec.hidden), name).T)
    return torch.cat(curves)


@torch.no_grad()
def _values(phi: nn.Module, x: Tensor, name: str) -> Tensor:
    return phi(torch.cat([torch.ones_like(x), x], -1)) if name.endswith("geglu") else phi(x)


def edges(spec: SmallLanguageModel, layers: Sequence[dict[str, Tensor]], x: Tensor) -> Iterator[Tensor]:
    """Functions of a KAN's edges into the hidden units, at most EDGES of each layer, evenly chosen."""
    splines = bases(x, knots(spec.grid, spec.order, -1.0, 1.0).float(), spec.order)  # (points, G)
    for tensors in layers:
        base, scale = (tensors[f"up.{name}"][0].flatten() for name in ("base", "scale"))
        coefficients = tensors["up.coefficients"][0].flatten(0, 1)
        chosen = torch.linspace(0, len(base) - 1, min(EDGES, len(base))).long()
        spline = (coefficients[chosen] * scale[chosen, None]) @ splines.T
        yield base[chosen, None] * torch.nn.functional.silu(x) + spline


def summary(table: pd.DataFrame) -> str:
    words = []
    for family, rows in alive(table).groupby("family", sort=False):
        quantiles = rows.groupby("method", sort=False)["value"].quantile((0.05, 0.95)).unstack()
        ranges = [f"{TITLES[str(method)]} {low:.2f} to {high:.2f}" for method, (low, high) in quantiles.iterrows()]
        words.append(f"{FAMILIES[str(family)]}: {', '.join(ranges)}")
    return f"Nine of ten learned parameters of {'; '.join(words)}; at first .25 (PReLU), 1 (others)."


def fig_functions(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row an activation. Left: its functions, a panel a family; right: its learned parameters by family and layer.

    table: family, method, layer, parameter, value, diverged; functions: family, method, line, x, value.
    """
    methods = [name for name in LEARNING if name in set(functions["method"])]
    families = [family for family in FAMILIES if family in set(functions["family"])]
    first, *others = (FAMILIES[family] for family in families)
    titles = [
        title
        for method in methods
        for title in (
            f"{TITLES[method]}, {first}" if others else TITLES[method],
            *others,
            "" if method == "kan" else f"{TITLES[method]}, its {PARAMETER[method]} by layer",
        )
    ]
    last = len(families) + 1
    figure = grid(titles, last, 118, gap=52, top=70, horizontal=52)
    for row, method in enumerate(methods, 1):
        for column, family in enumerate(families, 1):
            curves = functions[(functions["method"] == method) & (functions["family"] == family)]
            _draw_functions(figure, curves, family, (row, column))
        rows = alive(table)[lambda rows, method=method: rows["method"] == method]
        if len(rows):
            _draw_parameters(figure, rows, method, (row, last))
    for column in range(1, last):
        figure.update_xaxes(title_text="input", row=len(methods), col=column)
    set_reading(
        figure,
        f"Left{' and middle' if others else ''}: line and band are of all channels, layers and seeds; of gated"
        " activations, the gate's function; of a KAN, functions of edges, which have no parameter in common. Right: G1"
        " is GPT-Neo's first layer; boxes, quartiles; whiskers, 5th to 95th percentile; dotted, before training.",
    )
    return figure


def _draw_functions(figure: go.Figure, rows: pd.DataFrame, family: str, at: Panel) -> None:
    lines = {name: part.set_index("x")["value"] for name, part in rows.groupby("line")}
    if not set(QUANTILES) <= set(lines):
        return  # every run diverged
    low, middle, high = (lines[name] for name in QUANTILES)
    ink = COLOURS[family]
    look: dict[str, Any] = {"fill": "toself", "mode": "none", "fillcolor": faded(ink, 0.25)}
    look |= {"name": f"{FAMILIES[family]}, 5th to 95th percentile", "showlegend": at[0] == 1}
    look |= {"hoverinfo": "skip", "row": at[0], "col": at[1]}
    x, y = np.concatenate([low.index, low.index[::-1]]), np.concatenate([high, low[::-1]])
    figure.add_scatter(x=x, y=y, **look)
    look = {"name": f"{FAMILIES[family]}, median after training", "legendgroup": family, "showlegend": at[0] == 1}
    line(figure, middle.index, middle, ink, at, 2.2, hovertemplate="φ(%{x:.2f}) = %{y:.3f}", **look)
    if FIXED_LINE in lines:
        fixed = lines[FIXED_LINE]
        look = {"name": "without parameters", "legendgroup": FIXED_LINE, "showlegend": at == (1, 1)}
        line(figure, fixed.index, fixed, INK, at, 1.2, "dot", hoverinfo="skip", **look)


def _draw_parameters(figure: go.Figure, rows: pd.DataFrame, method: str, at: Panel) -> None:
    """A box a layer and family: G1 is GPT-Neo's first layer."""
    for family, of_family in rows.groupby("family", sort=False):
        title, values = FAMILIES[str(family)], of_family.groupby("layer")["value"]
        shares = values.quantile(list(BOX.values())).unstack()
        box = {name: shares[share] for name, share in BOX.items()}
        look = {
            "name": title,
            "marker": {"color": COLOURS[str(family)]},
            "showlegend": False,
            "row": at[0],
            "col": at[1],
        }
        figure.add_box(x=[f"{title[0]}{layer + 1}" for layer in shares.index], **box, **look)
    figure.add_hline(BEFORE[method], line={"color": INK, "width": 1.2, "dash": "dot"}, row=at[0], col=at[1])
    figure.update_yaxes(title_text=PARAMETERS[rows["parameter"].iloc[0]], row=at[0], col=at[1])
    if method == list(FIXED)[-1]:
        figure.update_xaxes(title_text="model and layer", row=at[0], col=at[1])


ENTRIES = (
    Entry(
        "activations/fig_functions",
        "3.1",
        "Activations with learned parameters, in small language models",
        "Each activation that learns, by family of models, next to the one without parameters: the middle nine tenths"
        " of the functions of all channels, layers and seeds, and the distribution of their parameters by layer",
        "what the parameters learn is not printed; they are expected to help",
        # runs of the table
        plan=lambda scale, seeds: plan(scale, seeds, [name for name in METHODS[scale] if name in LEARNING]),
        measure=parameters,
        functions=functions,
        plot=fig_functions,
        tasks=NAMES,
        summary=summary,
        seeds=SEEDS,
        origin=origin(),
        minutes={"smoke": 0.5, "laptop": 18, "overnight": 75, "paper": 700},
        place=("fig", "", 1, ""),
    ),
)
