"""What was trained, as explorers draw it: its curves, and in words how it was trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go

from lab.plots.caption import counted
from lab.plots.panels import FULL, STEP
from lab.plots.style import TEMPLATE
from lab.spec import RunSpec

LOSS = "training loss"


@dataclass
class Drawn:
    """Runs that differ in their seed.

    label: what their curves are called. measured: by name ("accuracy_test", …, "loss") the values of all runs, (R, T),
    at steps (T,).
    """

    label: str
    colour: str
    specs: Sequence[RunSpec]
    steps: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    measured: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def setting(self) -> tuple[str, str]:
        """What the curves are called, and how they came about, from the runs themselves."""
        recipe = self.specs[0].recipe
        reached, last = (int(self.steps[-1]) if len(self.steps) else 0), recipe.last
        steps = counted(last, "step") if reached >= last else f"{reached:,} of {counted(last, 'step')}"
        seeds = [spec.seed for spec in self.specs]
        row = seeds == list(range(seeds[0], seeds[0] + len(seeds)))
        listed = f"{seeds[0]} to {seeds[-1]}" if row else ", ".join(map(str, seeds))
        named = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds ({listed})"
        parts = [named, steps, f"learning rate {recipe.rate:g}", *([f"batch {recipe.batch}"] if recipe.batch else [])]
        return self.label, ", ".join(parts)


def heading_of(trainings: Sequence[Drawn]) -> str:
    """The names of trainings, at most two written out; empty where there are none."""
    labels = list(dict.fromkeys(one.label for one in trainings))
    more = f" and {len(labels) - 2} more" if len(labels) > 2 else ""
    return "; ".join(labels[:2]) + more


def curves(trainings: Sequence[Drawn]) -> dict[str, list[go.Figure]]:
    """By what was measured, in words, a figure of every run's values by step."""
    names = list(dict.fromkeys(name for one in trainings for name in one.measured))
    names.sort(key=lambda name: ("accuracy" not in name, name == "loss"))
    return {_title(name): [_figure(trainings, name)] for name in names}


def _title(name: str) -> str:
    measure, _, split = name.rpartition("_")
    words = {"accuracy": "accuracy (%)", "r2": "R²"}.get(measure, measure.replace("_", " "))
    return LOSS if name == "loss" else f"{split} {words}"


def _figure(trainings: Sequence[Drawn], name: str) -> go.Figure:
    percent = name.startswith("accuracy")
    figure = go.Figure()
    for one in trainings:
        for number, (spec, values) in enumerate(zip(one.specs, one.measured.get(name, ()), strict=False)):
            figure.add_scatter(
                x=one.steps,
                y=(100 if percent else 1) * values,
                name=one.label if not number else f"{one.label}, seed {spec.seed}",
                showlegend=not number,
                mode="lines+markers",
                line={"color": one.colour, "width": 1.5},
                marker={"size": 4, "color": one.colour},
            )
    figure.update_layout(template=TEMPLATE, height=400, showlegend=True)
    figure.update_xaxes(title_text=STEP, rangemode="tozero")
    return figure.update_yaxes(title_text=_title(name), range=FULL if percent else None)
