"""Section 3.5 of the simplicity paper: do networks generalize late because of their non-linearity?

Figures 11, 12, 13 and 28 share the runs on addition modulo 27.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.models.mlp import MLP
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.grokking import captions, claims, plots
from lab.papers.simplicity.origin import episode_result, of_operations
from lab.papers.simplicity.settings import (
    ADDITION,
    FRACTIONS,
    LEARNED,
    LEVEL,
    MODULI,
    OPERATIONS,
    RELU,
    SEARCHES,
    SEEDS,
    WIDTHS,
    grokking,
    prolonged,
    repeated,
)
from lab.run import Run
from lab.scale import model_scale
from lab.spec import replace
from lab.tasks import Operation
from lab.tasks.operation import ALL

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

VERSIONS = tuple(Operation("a+b", modulus=modulus) for modulus in MODULI)


def plan(scale: str, seeds: int, tasks: Sequence[Operation] = (ADDITION,)) -> list[Planned]:
    """Runs with ReLU and with the learned function on each task."""
    return [
        ({"task": task.name, "method": method}, spec)
        for task in tasks
        for method in (RELU, LEARNED)
        for spec in grokking(scale, task).runs(method, seeds)
    ]


def _versions(scale: str, seeds: int) -> list[Planned]:
    """As `plan`; labelled with the number of the search where there are several. ReLU has number 0."""
    count = SEARCHES[scale]
    return [
        ({"task": task.name, "method": method} | ({"search": number} if count > 1 else {}), spec)
        for task in VERSIONS
        for method in (RELU, LEARNED)
        for number in range(count if method == LEARNED else 1)
        for spec in repeated(scale, task, number).runs(method, seeds)
    ]


def _operations(scale: str, seeds: int) -> list[Planned]:
    return plan(scale, seeds, OPERATIONS[scale])


def _settings(scale: str, seeds: int) -> list[Planned]:
    """Fractions of the table at the width of Figure 11, each with a search of its own, which so never sees its test
    split; and widths at the fraction of Figure 11, with that figure's function."""
    standard, runs = prolonged(scale), []
    for fraction in FRACTIONS[model_scale(scale)]:
        for width in WIDTHS[model_scale(scale)]:
            if fraction != ADDITION.fraction and width != standard.model.width:
                continue
            base = prolonged(scale, replace(ADDITION, fraction=fraction))
            base = replace(base, model=replace(base.model, width=width))
            labels = {"task": ADDITION.name, "fraction": fraction, "width": width}
            runs += [
                (labels | {"method": method}, spec) for method in (RELU, LEARNED) for spec in base.runs(method, seeds)
            ]
    return runs


def steps_to_level(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, fraction, width, method, seed, step (the first with `LEVEL` test accuracy, on straight lines
    between evaluations; NaN where there is none), accuracy (test, at the end), last (step), diverged."""
    import pandas as pd

    rows = []
    for labels, run in runs:
        one = curves([(labels, run)])
        first = float(claims.steps_to(one, LEVEL).iloc[0])
        row = {"seed": run.spec.seed, "step": first if first < float("inf") else float("nan")}
        end = {"accuracy": float(one["accuracy"].iloc[-1]), "last": int(run.steps[-1])}
        rows.append(labels | row | end | {"diverged": bool(run.diverged)})
    return pd.DataFrame(rows).round({"step": 2})


def curves(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row per run and evaluation: task, method, seed, step, accuracy (test), accuracy_train, diverged."""
    import pandas as pd

    parts = []
    for labels, run in runs:
        columns = labels | {"seed": run.spec.seed, "step": run.steps, "accuracy": run.accuracy_on("test")}
        more = {"accuracy_train": run.accuracy_on("train"), "diverged": bool(run.diverged)}
        parts.append(pd.DataFrame(columns | more))
    return pd.concat(parts, ignore_index=True).round({"accuracy": 5, "accuracy_train": 5})


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """What each restart of a task's search found, one row a knot: task, search (where there are several), restart,
    accuracy_val (of the model that was trained with it to decide), chosen, x, value. Of the chosen one also density
    (share of the inputs of the first model's non-linearity on test rows that fall nearest to this knot), sine (the line
    and sine nearest to it there, see `lab.probes.wave`), frequency (of that sine, periods a unit), explained (share of
    the variance) and noise (what that would be of noise).
    """
    import numpy as np
    import pandas as pd

    from lab.probes.wave import wave

    parts = []
    first: dict[tuple, tuple[dict, Run]] = {}
    for labels, run in runs:
        if labels["method"] == LEARNED:
            names = {name: labels[name] for name in ("task", "search") if name in labels}
            first.setdefault(tuple(names.values()), (names, run))
    for names, run in first.values():
        search_result = episode_result(run)
        for restart, result in enumerate(search_result.results):
            value = search_result.of_restart(restart)["phi"].values.detach().double().numpy().ravel()
            x = np.linspace(search_result.spec.low, search_result.spec.high, len(value))
            chosen = restart == search_result.winner
            row = names | {"restart": restart, "accuracy_val": float(result[:, 0].mean()), "chosen": chosen}
            row |= {"x": x.round(6), "value": value.round(6)}
            row |= dict.fromkeys(("density", "sine", "frequency", "explained", "noise"), float("nan"))
            if chosen:
                density = _density(run, x)
                near = wave(x, value, density if density.sum() > 0 else None)  # a diverged model has no inputs
                row |= {"density": density, "sine": near.y, "frequency": near.frequency, "explained": near.explained}
                row |= {"noise": near.noise}
            parts.append(pd.DataFrame(row))
    return pd.concat(parts, ignore_index=True).round(
        {"density": 6, "sine": 6, "frequency": 6, "explained": 6, "noise": 6}
    )


def _density(run: Run, x: np.ndarray) -> np.ndarray:
    """Share of what the non-linearity of a trained model receives on test rows, by the nearest of the knots x."""
    import numpy as np
    import torch

    model, received = run.model(), []
    assert isinstance(model, MLP)
    model.phi.register_forward_pre_hook(lambda _, inputs: received.append(inputs[0].flatten()))
    with torch.no_grad():
        model(run.spec.task.split(run.spec.task_seed)["test"].inputs[None])
    inputs = torch.cat(received).double().numpy()
    inputs = inputs[np.isfinite(inputs)]
    nearest = ((inputs.clip(x[0], x[-1]) - x[0]) / (x[1] - x[0])).round().astype(int)
    return np.bincount(nearest, minlength=len(x)) / max(1, len(inputs))


def _notes(scale: str) -> list[str]:
    spare = 100 * grokking(scale).task.held_out
    return [f"{spare:.0f} % of what is not the test split is kept aside, and nothing is decided on it"]


def _never(scale: str) -> list[str]:
    last = prolonged(scale).recipe.steps
    axes = (
        f"runs have {last:,} steps, and some with ReLU never get there, where the paper's axes end at 10,000 and 7,000"
    )
    return [*_notes(scale), f"{axes}: this hangs on the size of initial weights, a guess"]


def _left_out(scale: str) -> list[str]:
    names = [plots.title(task.name) for task in ALL if task not in OPERATIONS[scale]]
    notes = [*_notes(scale), f"left out: {', '.join(names)}"] if names else _notes(scale)
    return [*notes, "the paper's text names nine of its 22 operations; the others are guessed (lab.tasks.operation)"]


_SHARED: dict[str, Any] = {"measure": curves, "functions": functions, "summary": captions.steps, "notes": _notes}

ENTRIES = (
    Entry(
        "simplicity/fig11",
        "3.5",
        "Grokking with ReLU and with a learned function",
        "Addition modulo 27, networks with one hidden layer: training and test accuracy against training step,"
        " with ReLU and with the function learned for the task; below, that function, and what all"
        " restarts of the search found",
        "learned functions essentially eliminate grokking; about ten times faster than ReLU",
        plan=plan,
        plot=plots.fig11,
        tasks=(ADDITION.name,),
        seeds=SEEDS,
        origin=of_operations(lambda scale: [ADDITION]),
        claims=claims.FIG11,
        minutes={"smoke": 0.1, "laptop": 4, "overnight": 6, "paper": 90},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig12",
        "3.5",
        "Functions learned for modular addition",
        "The function learned for addition modulo 13, 27, 29 and 41, with the sine that it is most like where its"
        " inputs are",
        "sine-like; the frequency varies with the task",
        plan=_versions,
        plot=plots.fig12,
        tasks=tuple(task.name for task in VERSIONS),
        seeds={"smoke": 1, "laptop": 3, "overnight": 3, "paper": 3},
        origin=of_operations(lambda scale: VERSIONS, setting=repeated),
        claims=claims.FIG12,
        minutes={"smoke": 0.2, "laptop": 15, "overnight": 35, "paper": 360},
        **_SHARED | {"summary": captions.versions},
        functions_summary=captions.sines,
    ),
    Entry(
        "simplicity/fig13",
        "3.5",
        "Steps to 95 % by training data and width",
        "Addition modulo 27: the first step with 95 % test accuracy, against the share of the table that is not the"
        " test split (a function is learned for each) and against width (the function of Figure 11)",
        "models with learned activations converge faster across a variety of settings",
        plan=_settings,
        measure=steps_to_level,
        plot=plots.fig13,
        tasks=(ADDITION.name,),
        origin=of_operations(lambda scale: [ADDITION], setting=prolonged),
        seeds={"smoke": 2, "laptop": 3, "overnight": 3, "paper": 3},
        summary=captions.settings,
        numbers=captions.all_settings,
        notes=_never,
        claims=claims.FIG13,
        minutes={"smoke": 0.3, "laptop": 15, "overnight": 30, "paper": 480},
    ),
    Entry(
        "simplicity/fig28",
        "E.6",
        "Grokking on all operations",
        "Training and test accuracy against training step on each operation, with ReLU and with the function learned"
        " for it; on the right, that function",
        "in almost all cases learned functions converge faster or to a higher test accuracy than ReLU",
        plan=_operations,
        plot=plots.fig28,
        tasks=tuple(task.name for task in ALL),
        seeds={"smoke": 1, "laptop": 2, "overnight": 6, "paper": 3},
        origin=of_operations(OPERATIONS.__getitem__),
        claims=claims.FIG28,
        minutes={"smoke": 0.3, "laptop": 20, "overnight": 30, "paper": 3_000},
        **(_SHARED | {"summary": captions.speeds, "numbers": captions.steps, "notes": _left_out}),
    ),
)
