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
from lab.papers.entry import Entry
from lab.papers.tables import Labelled, alive
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import Panel, grid, line, named
from lab.plots.style import BLUE, GREY, INK, ORANGE, faded
from lab.run import Run

WIDE = 4.0  # functions are drawn from -WIDE to WIDE
POINTS = 81
QUANTILES = {"5 %": 0.05, "median": 0.5, "95 %": 0.95}
BOX = {"lowerfence": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 0.95}
FIXED_LINE = "fixed"
LAYER_INKS = (ORANGE, BLUE)
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
    words, farther = [], []
    for family, rows in alive(table).groupby("family", sort=False):
        of_family = []
        for method, values in rows.groupby("method", sort=False):
            medians, start = values.groupby("layer")["value"].median(), BEFORE[str(method)]
            farther.append(abs(medians.iloc[-1] - start) > abs(medians.iloc[0] - start))
            of_family.append(f"{TITLES[str(method)]} {', '.join(f'{one:.2f}' for one in medians)}")
        words.append(f"{FAMILIES[str(family)]} {'; '.join(of_family)}")
    verdict = "The last layer leaves its start farther than the first. " if farther and all(farther) else ""
    return f"{verdict}Medians by layer: {'. '.join(words)}. At first .25 (PReLU), 1 (others)."


def fig_functions(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row an activation. Left: its functions by layer, a panel a family; right: its parameters by family and layer.

    table: family, method, layer, parameter, value, diverged; functions: family, method, line, x, value (drawn of KANs,
    which have no parameter in common; others follow from their parameters, in which they rise or fall at every x).
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
    last, table = len(families) + 1, alive(table)
    figure = grid(titles, last, 118, gap=52, top=70, horizontal=52)
    for row, method in enumerate(methods, 1):
        rows = table[table["method"] == method]
        for column, family in enumerate(families, 1):
            of_family, at = rows[rows["family"] == family], (row, column)
            curves = functions[(functions["method"] == method) & (functions["family"] == family)]
            if method == "kan":
                lines = {name: part.set_index("x")["value"] for name, part in curves.groupby("line")}
                _draw_band(figure, lines, "KAN: all layers", GREY, at)
                continue
            for layer, values in of_family.groupby("layer")["value"]:
                lines = {name: _curve(method, values.quantile(share)) for name, share in QUANTILES.items()}
                _draw_band(figure, lines, f"layer {layer + 1}", LAYER_INKS[layer % len(LAYER_INKS)], at)
            start = _curve(method, BEFORE[method])
            look = {"name": "start of training", "legendgroup": "start", "showlegend": not named(figure, "start")}
            line(figure, start.index, start, INK, at, 1.2, "dot", hoverinfo="skip", **look)
        if len(rows):
            _draw_parameters(figure, rows, method, (row, last))
    for column in range(1, last):
        figure.update_xaxes(title_text="input", row=len(methods), col=column)
    figure.update_yaxes(title_text="output", col=1)
    set_reading(
        figure,
        "Lines, and lines in boxes: medians of all channels and seeds; bands, whiskers: 5th to 95th percentile; boxes:"
        " quartiles. Of gated activations: the gate's function. Of a KAN: functions of edges.",
    )
    return figure


@torch.no_grad()
def _curve(method: str, value: float) -> pd.Series:
    """The function with this parameter, over x."""
    x, phi = torch.linspace(-WIDE, WIDE, POINTS), ACTIVATIONS[method](1)
    for parameter in phi.parameters():
        parameter.fill_(value)
    return pd.Series(_values(phi, x[:, None], method)[:, 0].tolist(), x.tolist())


def _draw_band(figure: go.Figure, lines: dict[str, pd.Series], name: str, ink: str, at: Panel) -> None:
    if not set(QUANTILES) <= set(lines):
        return  # every run diverged
    low, middle, high = (lines[one] for one in QUANTILES)
    look: dict[str, Any] = {"fill": "toself", "mode": "none", "fillcolor": faded(ink, 0.25), "hoverinfo": "skip"}
    look |= {"name": f"{name}, 5th to 95th percentile", "showlegend": False, "row": at[0], "col": at[1]}
    x, y = np.concatenate([low.index, low.index[::-1]]), np.concatenate([high, low[::-1]])
    figure.add_scatter(x=x, y=y, **look)
    look = {"name": name, "legendgroup": name, "showlegend": not named(figure, name)}
    line(figure, middle.index, middle, ink, at, 2.2, hovertemplate="φ(%{x:.2f}) = %{y:.3f}", **look)


def _draw_parameters(figure: go.Figure, rows: pd.DataFrame, method: str, at: Panel) -> None:
    """A box a layer and family."""
    for (family, layer), values in rows.groupby(["family", "layer"], sort=False)["value"]:
        box = {name: [values.quantile(share)] for name, share in BOX.items()}
        place = f"layer {layer + 1}" if rows["family"].nunique() == 1 else f"{FAMILIES[family]}, {layer + 1}"
        look = {"marker": {"color": LAYER_INKS[layer % len(LAYER_INKS)]}, "showlegend": False}
        figure.add_box(x=[place], name=f"{FAMILIES[family]}, layer {layer + 1}", **box, **look, row=at[0], col=at[1])
    figure.add_hline(BEFORE[method], line={"color": INK, "width": 1.2, "dash": "dot"}, row=at[0], col=at[1])
    figure.update_yaxes(title_text=PARAMETERS[rows["parameter"].iloc[0]], row=at[0], col=at[1])


ENTRIES = (
    Entry(
        "activations/fig_functions",
        "3.1",
        "Activations with learned parameters, in small language models",
        "Left: functions of each activation that learns, by layer, next to the start of training. Right: their"
        " parameters",
        "what the parameters learn is not printed",
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
