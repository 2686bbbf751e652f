"""Tables 6 and 7: the learned function in the speedrun's model, its cost, and polynomials in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from lab.devices import choose_device, device_name
from lab.papers.entry import Entry, Planned
from lab.papers.transformers.fineweb import claims, plots
from lab.papers.transformers.fineweb.settings import (
    DEGREES,
    DEPTHS,
    GELU,
    LAYERS_7,
    METHODS,
    NAMES,
    POLYNOMIAL,
    RELU,
    SEEDS,
    SPLINE,
    TEXTS,
    origin,
    part,
    runs,
)
from lab.plots.caption import counted
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Resolved, replace
from lab.training.fleet import Fleet
from lab.training.timing import interleaved

if TYPE_CHECKING:
    import pandas as pd

ROUNDS, STEPS = 7, 3  # of the timing, and steps of each fleet in a round
SHORT = 100  # runs of fewer steps are timed in two rounds


def plan_table6(scale: str, seeds: int) -> list[Planned]:
    """Each depth with each function; the learned one is of small models of two layers."""
    return [
        ({"task": TEXTS[scale].name, "method": method, "layers": layers}, run)
        for layers in DEPTHS[scale]
        for method in METHODS
        for run in runs(scale, part(method, scale), layers, seeds)
    ]


def plan_table7(scale: str, seeds: int) -> list[Planned]:
    """ReLU, the learned function, and its polynomials; degree 0 where there is none."""
    kinds = [(RELU, 0), (SPLINE, 0), *((POLYNOMIAL, degree) for degree in DEGREES[scale])]
    return [
        ({"task": TEXTS[scale].name, "method": method, "degree": degree}, run)
        for method, degree in kinds
        for run in runs(scale, part(method, scale, degree), LAYERS_7[scale], seeds, small=True)
    ]


def measure(planned: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run, at its end: its labels, seed, loss (nats a token) and bits (a character) on held-out text, seconds
    (of its training, wherever that was, and whatever else the machine did), diverged."""
    import pandas as pd

    return pd.DataFrame(
        [
            labels
            | {"seed": run.spec.seed, "loss": float(run.scores["loss_test"][-1])}
            | {"bits": float(run.scores["bits_test"][-1]), "seconds": float(run.notes["seconds"])}
            | {"diverged": bool(run.diverged)}
            for labels, run in planned
        ]
    )


def measure_timed(planned: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """As `measure`, and of training steps that are taken here, side by side: step_seconds, ratio (to GELU in the same
    rounds, median), ratio_spread (half of the range between quartiles), machine, threads."""
    import torch

    table = measure(planned)
    firsts = [(labels, run) for labels, run in planned if run.spec.seed == 0]
    trained_on = firsts[0][1].notes["device"]
    device = trained_on if trained_on == "cpu" or torch.cuda.is_available() else choose_device("auto")
    for layers in table["layers"].unique():
        fleets = {labels["method"]: timed_fleet(run, device) for labels, run in firsts if labels["layers"] == layers}
        rounds = 2 if firsts[0][1].spec.recipe.steps < SHORT else ROUNDS
        times = interleaved(fleets, rounds, STEPS)
        for method in fleets:
            rows = (table["layers"] == layers) & (table["method"] == method)
            ratio, spread = times.ratio(method, GELU)
            table.loc[rows, "step_seconds"] = float(np.median(times.seconds[method]))
            table.loc[rows, ["ratio", "ratio_spread"]] = ratio, spread
    return table.assign(machine=f"{device} {device_name(device)}", threads=torch.get_num_threads())


def timed_fleet(run: Run, device: str) -> Fleet:
    """A run's model as it is at the start of its training, with its function, which is evaluated on nothing."""
    spec = run.spec
    recipe = replace(spec.recipe, steps=1_000_000, every=1_000_000, stop=None)
    parts = cast(tuple[Resolved, ...], tuple(resolve(known, run.store) for known in spec.model.parts.values()))
    return Fleet([replace(spec, recipe=recipe, evaluate=())], [parts], device)


def summary_table6(table: pd.DataFrame) -> str:
    """Over depths: loss minus ReLU's, and time against GELU's."""
    alive = table[~table["diverged"].astype(bool)]
    means = alive.pivot_table(index="layers", columns="method", values="loss", sort=False)
    ratios = table.pivot_table(index="layers", columns="method", values="ratio", sort=False)
    kinds = [method for method in (SPLINE, POLYNOMIAL) if method in means]
    losses = [f"{plots.TITLES[m]} {_each(means[m] - means[RELU], '+.3f')}" for m in kinds]
    deepest = ratios.iloc[-1]
    times = [f"{plots.TITLES[m]} {deepest[m]:.2f}" for m in (RELU, SPLINE, POLYNOMIAL)]
    machine, threads = table["machine"].iloc[0], table["threads"].iloc[0]
    timed = f"a step's time at {int(ratios.index[-1])}, against GELU's ({machine.partition(' ')[2]},"
    timed += f" {counted(int(threads), 'thread')})"
    depths = ", ".join(str(int(layers)) for layers in ratios.index)
    return f"At {depths} layers, held-out loss minus ReLU's (nats): {'; '.join(losses)}; {timed}: {', '.join(times)}."


def _each(values: pd.Series, form: str) -> str:
    return ", ".join(f"{value:{form}}" for value in values.dropna())


def summary_table7(table: pd.DataFrame) -> str:
    """Loss minus the spline's."""
    means = table[~table["diverged"].astype(bool)].groupby(["method", "degree"], sort=False)["loss"].mean()
    base = means[SPLINE, 0]
    differences = [
        f"{plots.TITLES[method]}{f' {degree}' if degree else ''} {value - base:+.3f}"
        for (method, degree), value in means.items()
        if method != SPLINE
    ]
    return f"Held-out loss with the spline {base:.3f} nats a token; minus it: {', '.join(differences)}."


def _notes(scale: str) -> list[str]:
    return ["times are those of the machine that made the figure: ratios to GELU carry over, seconds do not"]


ENTRIES = (
    Entry(
        "transformers/table6",
        "E",
        "Larger language models: loss and training time",
        "Left: loss on held-out text by depth, against ReLU's. Right: time of a training step against GELU's, timed"
        " side by side where this was made; the learned function exactly, and as a polynomial of degree 18",
        "as good as ReLU or better from 4 layers on; a spline takes up to 2.8 times GELU's time, a polynomial less than"
        " GELU in the two deepest",
        tasks=NAMES,
        plan=plan_table6,
        measure=measure_timed,
        plot=plots.table6,
        summary=summary_table6,
        claims=claims.TABLE6,
        origin=origin(),
        notes=_notes,
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 15, "paper": 3_000},
    ),
    Entry(
        "transformers/table7",
        "F",
        "Polynomials in the place of the learned function",
        "Loss on held-out text with ReLU, with the learned function, and with polynomials of rising degree in its"
        " place",
        "the spline is best, slightly better than ReLU; polynomials come closer to it as their degree rises",
        tasks=NAMES,
        plan=plan_table7,
        measure=measure,
        plot=plots.table7,
        summary=summary_table7,
        claims=claims.TABLE7,
        origin=origin(depths=False),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 5, "paper": 300},
    ),
)
