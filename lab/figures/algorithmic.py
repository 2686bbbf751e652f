"""Section 3.1 and Appendix C of the transformers paper: what a learned non-linearity does for its own task.

Figures 2, 3, 4, 6 and 10. Runs are shared: figures 2 and 4 read runs that figure 10 trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab import tasks
from lab.figures.registry import Entry, Planned
from lab.figures.settings import departures, setting
from lab.run import Run
from lab.spec import ModelSpec, RunSpec, replace

if TYPE_CHECKING:
    import pandas as pd

BASELINE, MLP, BOTH = "baseline", "ours MLP", "ours MLP + attention"
FIG2_TASKS = ("memorize", "addmod", "add", "mano")
WIDTHS = {"smoke": (8, 16), "laptop": (8, 16, 32, 64), "paper": (8, 16, 32, 64, 128)}


def by_method(task: str, scale: str, seeds: int, methods: Sequence[str] = (BASELINE, MLP), **changes) -> list[Planned]:
    """Runs of a task with the standard non-linearities and with those learned for it, labelled with the method."""
    base = setting(task, scale)
    searches = {BASELINE: None, MLP: base.search(("mlp",)), BOTH: base.search(("mlp", "attention"))}
    return [
        ({"task": task, "method": method} | changes, spec)
        for method in methods
        for spec in base.runs(seeds, searches[method], **changes)
    ]


def curves(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, accuracy (0 to 1), diverged."""
    import pandas as pd

    return pd.DataFrame(
        [
            labels | {"seed": run.spec.seed, "step": int(step), "accuracy": float(value), "diverged": run.diverged is not None}
            for labels, run in runs
            for step, value in zip(run.steps, run.accuracy, strict=True)
        ]
    )


def final(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The last evaluation of each run: one row a run."""
    table = curves(runs)
    identity = [name for name in table.columns if name not in ("step", "accuracy")]
    return table.loc[table.groupby(identity, sort=False)["step"].idxmax()].reset_index(drop=True)


def _fig2(scale: str, seeds: int) -> list[Planned]:
    return [planned for task in FIG2_TASKS for planned in by_method(task, scale, seeds)]


def _fig10(scale: str, seeds: int) -> list[Planned]:
    return [planned for task in tasks.NAMES for planned in by_method(task, scale, seeds, (BASELINE, MLP, BOTH))]


def _fig4(scale: str, seeds: int) -> list[Planned]:
    """The learned function is found once, at the task's own width, and used at every width."""
    return [
        planned
        for task in tasks.NAMES
        for width in WIDTHS[scale]
        if width <= setting(task, scale).model.width
        for planned in by_method(task, scale, seeds, width=width)
    ]


def _fig3(scale: str, seeds: int) -> list[Planned]:
    base = setting("copy", scale)
    kinds = {
        "absolute positions": base.runs(seeds, positions="learned"),
        "ALiBi": base.runs(seeds),
        "ALiBi + ours MLP": base.runs(seeds, base.search(("mlp",))),
    }
    return [({"method": kind}, spec) for kind, specs in kinds.items() for spec in specs]


def by_length(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """COPY: share of sequences copied without a mistake, by length; one row per run and length."""
    import pandas as pd
    import torch

    from lab.training.batches import Data

    split = tasks.load("copy").splits["lengths"]
    batch = Data(split, torch.device("cpu")).at(torch.arange(len(split))[None])
    rows = []
    for labels, run in runs:
        with torch.no_grad():
            right = batch.hits(run.model()(batch.tokens, batch.positions))[0].all(-1)
        for length in split.latents["length"].unique().tolist():
            share = right[split.latents["length"] == length].float().mean()
            rows.append(labels | {"seed": run.spec.seed, "length": length, "accuracy": float(share)})
    return pd.DataFrame(rows)


def _fig6(scale: str, seeds: int) -> list[Planned]:
    return [planned for task in tasks.NAMES for planned in by_method(task, scale, 1, (MLP,))]


def shapes(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The learned function at its knots, and the share of the trained model's inputs that fall nearest to each knot."""
    import pandas as pd
    import torch

    from lab.engine import resolve

    rows = []
    for labels, run in runs:
        knots = resolve(run.spec.model.mlp, run.store)
        seen = mlp_inputs(run)
        positions = torch.linspace(knots.low, knots.high, len(knots.values))
        nearest = ((seen.clamp(knots.low, knots.high) - knots.low) / (positions[1] - positions[0])).round().long()
        share = torch.bincount(nearest, minlength=len(knots.values)) / len(seen)
        for x, value, density in zip(positions.tolist(), knots.values, share.tolist(), strict=True):
            rows.append({"task": labels["task"], "x": x, "value": value, "density": density})
    return pd.DataFrame(rows)


def mlp_inputs(run: Run, examples: int = 200):
    """What the MLP non-linearities of a trained model receive on test sequences, all layers: a flat tensor."""
    import torch

    task, model, seen = tasks.load(run.spec.task, run.spec.task_seed), run.model(), []
    hooks = [block.phi.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0])) for block in model.blocks[:1]]
    with torch.no_grad():
        model(task.splits["test"].tokens[None, :examples, :-1])  # the blocks share one module: one hook sees all layers
    for hook in hooks:
        hook.remove()
    return torch.cat([x.flatten() for x in seen])
