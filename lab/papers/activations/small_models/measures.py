"""What is measured of small language models: their scores, and what their activations have learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from lab.datasets import MissingError
from lab.datasets.blimp import PHENOMENA
from lab.datasets.pairs import pairs
from lab.models.small_language import ACTIVATIONS, SmallLanguageModel, Stacked, learned
from lab.nonlinearity.learnable import bases, knots
from lab.papers.activations.small_models.settings import EACH, FIXED, KANS, YEAR, scale_of
from lab.probes.minimal_pairs import minimal_pairs, reader_of
from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd

WIDE = 4.0  # functions are drawn from -WIDE to WIDE
POINTS = 81
QUANTILES = {"5 %": 0.05, "median": 0.5, "95 %": 0.95}
FIXED_LINE = "fixed"
EDGES = 1_000  # functions of a KAN's layer that quantiles are of


def scores(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, family, method, seed, step, loss (held-out text, nats a token that is predicted), bits (a
    character; NaN for RoBERTa, which predicts masked tokens), parameters, seconds (of training), diverged; in percent
    blimp, ties, and the accuracy of each phenomenon, NaN where BLiMP is not here; pairs that were read.
    """
    import pandas as pd

    return pd.DataFrame([labels | _scores(run) for labels, run in runs])


def _scores(run: Run) -> dict[str, float]:
    bits = run.scores.get("bits_test")
    return {
        "seed": run.spec.seed,
        "step": int(run.steps[-1]),
        "loss": float(run.score("loss", "test")[-1]),
        "bits": nan if bits is None else float(bits[-1]),
        "parameters": sum(weight.numel() for weight in run.model().parameters()),
        "seconds": float(run.notes["seconds"]),
        "diverged": bool(run.diverged),
    } | _blimp(run)


def _blimp(run: Run) -> dict[str, float]:
    names = ("blimp", "ties", *PHENOMENA)
    try:
        chosen = [] if run.diverged else pairs(EACH[scale_of(run.spec.task)])
    except MissingError:  # BLiMP is not shipped: the figure says so
        chosen = []
    if not chosen:
        return dict.fromkeys(names, nan) | {"pairs": 0}
    result = minimal_pairs(run.model(), reader_of(run.spec.task), chosen, YEAR)
    numbers = (result.mean, result.tied.mean(1), *(result.phenomena[name] for name in PHENOMENA))
    return {name: 100 * float(value[0]) for name, value in zip(names, numbers, strict=True)} | {"pairs": len(chosen)}


def parameters(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """What activations have learned, a row for each channel of each layer: task, family, method, seed, layer, channel,
    parameter ("beta" or "slope"), value, diverged. KANs have none of these."""
    import pandas as pd

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


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The functions, by family and method: line ("fixed": of the activation without parameters; "5 %", "median",
    "95 %": of all channels, layers and seeds at this x), x, value. Of a gated activation: of the gate, the other half
    is 1. Of a KAN: of edges of the first layers."""
    import pandas as pd

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
            {"family": family, "method": method, "line": line, "x": a, "value": b}
            for line, values in lines.items()
            for a, b in zip(x.tolist(), values.tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=["family", "method", "line", "x", "value"]).round(6)


@torch.no_grad()
def _channels(run: Run, x: Tensor) -> Tensor:
    """Every function of a run, (functions, points)."""
    spec = run.spec.model
    assert isinstance(spec, SmallLanguageModel)
    layers = learned(cast(Stacked, run.model()))
    if spec.activation in KANS:
        return torch.cat(list(_edges(spec, layers, x)))
    curves = []
    for tensors in layers:
        phi = ACTIVATIONS[cast(str, spec.activation)](spec.hidden)
        phi.load_state_dict({name: value[0] for name, value in tensors.items()})
        curves.append(_values(phi, x[:, None].expand(-1, spec.hidden), cast(str, spec.activation)).T)
    return torch.cat(curves)


@torch.no_grad()
def _values(phi: nn.Module, x: Tensor, name: str) -> Tensor:
    return phi(torch.cat([torch.ones_like(x), x], -1)) if name.endswith("geglu") else phi(x)


def _edges(spec: SmallLanguageModel, layers: Sequence[dict[str, Tensor]], x: Tensor) -> Iterator[Tensor]:
    """Functions of the edges into the hidden units, at most EDGES of each layer, evenly chosen."""
    splines = bases(x, knots(spec.grid, spec.order, -1.0, 1.0).float(), spec.order)  # (points, G)
    for tensors in layers:
        base, scale = (tensors[f"up.{name}"][0].flatten() for name in ("base", "scale"))
        coefficients = tensors["up.coefficients"][0].flatten(0, 1)
        chosen = torch.linspace(0, len(base) - 1, min(EDGES, len(base))).long()
        spline = (coefficients[chosen] * scale[chosen, None]) @ splines.T
        yield base[chosen, None] * torch.nn.functional.silu(x) + spline
