"""Section 3.1 and Appendix C of the transformers paper: what a learned non-linearity does for its own task.

Figures 2, 3, 4, 6 and 10. Runs are shared: figures 2 and 4 read runs that figure 10 trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab import tasks
from lab.errors import listed
from lab.papers.entry import Entry, Planned
from lab.papers.tables import curves, final
from lab.papers.transformers.individual_tasks import captions, claims, plots
from lab.papers.transformers.origin import origin
from lab.papers.transformers.settings import ATTENTION_GUESS, BASELINE, BOTH, MLP, setting
from lab.plots.functions import fig6 as draw_shapes
from lab.run import Run
from lab.spec import Knots

if TYPE_CHECKING:
    import pandas as pd

FIG2_TASKS = ("memorize", "addmod", "add", "mano")
# Where functions of the attention are learned, too: on the other tasks that takes 2 to 6 hours of a core a search.
BOTH_TASKS = {"paper": ("memorize", "addmod", "add", "addreversed", "parentheses")}
# How many times as many seeds a task has as others: the baseline of ADD ends on one plateau or another; at the paper's
# settings a run of MANO takes most of an hour of a core.
SEED_FACTORS = {"laptop": {"add": 6.0}, "paper": {"mano": 0.5}}
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


def _seeds(task: str, scale: str, seeds: int) -> int:
    """How many seeds a task has of the baseline and of the learned MLP function."""
    return max(1, round(seeds * SEED_FACTORS.get(scale, {}).get(task, 1)))


def _fig2(scale: str, seeds: int) -> list[Planned]:
    """With as many searches as the task's setting has; what is not searched for is labelled with search 0."""
    runs = []
    for task in FIG2_TASKS:
        base, count = setting(task, scale), _seeds(task, scale, seeds)
        runs += [({"task": task, "method": BASELINE, "search": 0}, spec) for spec in base.runs(count)]
        for number in range(base.searches):
            labels = {"task": task, "method": MLP, "search": number}
            runs += [(labels, spec) for spec in base.runs(count, base.search(seed=number))]
    return runs


def _fig10(scale: str, seeds: int) -> list[Planned]:
    runs = []
    for task in tasks.NAMES:
        runs += by_method(task, scale, _seeds(task, scale, seeds))
        if task in BOTH_TASKS.get(scale, tasks.NAMES):
            runs += by_method(task, scale, seeds, (BOTH,))
    return runs


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

    from lab.training.sequences import Data

    split = tasks.load("copy").splits["lengths"]
    batch = Data(split, torch.device("cpu")).at(torch.arange(len(split))[None])
    rows = []
    for labels, run in runs:
        with torch.no_grad():
            right = batch.hits(run.model()(batch.tokens, batch.positions))[0].all(-1)
        for length in split.latents["length"].unique().tolist():
            share = float("nan") if run.diverged else float(right[split.latents["length"] == length].float().mean())
            row = {"seed": run.spec.seed, "length": length, "accuracy": share, "diverged": bool(run.diverged)}
            rows.append(labels | row)
    return pd.DataFrame(rows)


def _fig6(scale: str, seeds: int) -> list[Planned]:
    return [planned for task in tasks.NAMES for planned in by_method(task, scale, 1, (MLP,))]


def shapes(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The learned function at its knots, the share of the trained model's inputs that fall nearest to each knot, and
    the model's accuracy at the end of its training."""
    import pandas as pd
    import torch

    from lab.resolve import resolve

    rows = []
    for labels, run in runs:
        knots = resolve(run.spec.model.mlp, run.store)
        assert isinstance(knots, Knots), f"run {run.key} has no learned function"
        inputs = mlp_inputs(run)
        positions = torch.linspace(knots.low, knots.high, len(knots.values))
        nearest = ((inputs.clamp(knots.low, knots.high) - knots.low) / (positions[1] - positions[0])).round().long()
        share = torch.bincount(nearest, minlength=len(knots.values)) / len(inputs)  # NaN: the model diverged
        for x, value, density in zip(positions.tolist(), knots.values, share.tolist(), strict=True):
            row = {"task": labels["task"], "x": x, "value": value, "density": density}
            rows.append(row | {"accuracy": float(run.accuracy[-1])})
    return pd.DataFrame(rows)


def mlp_inputs(run: Run, examples: int = 200):
    """What the MLP non-linearities of a trained model receive on test sequences, all layers: a flat tensor."""
    import torch

    task = tasks.load(run.spec.task, run.spec.task_seed)
    model: Any = run.model()  # a transformer
    received: list[torch.Tensor] = []
    # the blocks share one module: one hook sees all layers
    model.blocks[0].phi.register_forward_pre_hook(lambda _, inputs: received.append(inputs[0].flatten()))
    with torch.no_grad():
        model(task.splits["test"].tokens[None, :examples, :-1])
    inputs = torch.cat(received)
    return inputs[inputs.isfinite()]  # a diverged model has none


def _seed_notes(scale: str) -> list[str]:
    """Tasks that more or fewer runs are trained of than of the others."""
    return [
        f"{task}: {times:g} times as many seeds as other tasks" for task, times in SEED_FACTORS.get(scale, {}).items()
    ]


def attention_notes(scale: str) -> list[str]:
    """What holds wherever functions are learned inside the attention, at any scale."""
    return [ATTENTION_GUESS]


def _fig10_notes(scale: str) -> list[str]:
    without = [task for task in tasks.NAMES if task not in BOTH_TASKS.get(scale, tasks.NAMES)]
    notes = [*attention_notes(scale), *_seed_notes(scale)]
    if not without:
        return notes
    fewer = f"no attention functions are learned for {listed(without)} at this scale: a search takes hours of a core"
    return [*notes, fewer]


def _entry(name: str, section: str, title: str, shows: str, says: str, **rest) -> Entry:
    return Entry(name, section, title, shows, says, origin=origin(rest["tasks"]), **rest)


ENTRIES = (
    _entry(
        "transformers/fig2",
        "3.1",
        "Learning curves with learned non-linearities",
        "Test accuracy against training step, one curve a seed, for the baseline (GELU) and for the MLP"
        " non-linearity learned for the task",
        "2-3 times faster convergence on ADD and MANO, less variance across seeds",
        tasks=FIG2_TASKS,
        plan=_fig2,
        measure=curves,
        histories=True,
        plot=plots.fig2,
        summary=captions.advantage,
        notes=_seed_notes,
        claims=claims.FIG2,
        minutes={"smoke": 0.2, "laptop": 36, "paper": 4},
    ),
    _entry(
        "transformers/fig3",
        "3.1",
        "Length generalization on COPY",
        "Share of sequences copied without a mistake, by length: absolute positions, ALiBi (attention biased by"
        " distance), and ALiBi with an MLP non-linearity learned on lengths 2-15; weights always learn on lengths 2-10",
        "the baseline fails beyond length 10, ALiBi helps, the learned function extends it",
        tasks=("copy",),
        plan=_fig3,
        measure=by_length,
        plot=plots.fig3,
        summary=captions.lengths,
        claims=claims.FIG3,
        seeds={"smoke": 2, "laptop": 6, "paper": 3},  # at the paper's scale one run takes ten minutes of a core
        minutes={"smoke": 0.1, "laptop": 4, "paper": 2},
    ),
    _entry(
        "transformers/fig4",
        "3.1",
        "Smaller models",
        "Test accuracy at the end of training against the width of the model, for the baseline (GELU) and for the MLP"
        " non-linearity learned for the task at its full width",
        "some tasks keep their accuracy at smaller widths",
        tasks=tasks.NAMES,
        plan=_fig4,
        measure=final,
        histories=True,
        plot=plots.fig4,
        summary=captions.widths,
        claims=claims.FIG4,
        minutes={"smoke": 0.3, "laptop": 13, "paper": 8},
    ),
    _entry(
        "transformers/fig6",
        "3.2",
        "The learned functions",
        "The MLP non-linearity learned for each task, with the inputs that it receives in a model trained with it",
        "irregular, task-specific shapes",
        tasks=tasks.NAMES,
        plan=_fig6,
        measure=shapes,
        plot=draw_shapes,
        summary=captions.shapes,
        seeds={"smoke": 1, "laptop": 1, "paper": 1},
        minutes={"smoke": 0.2, "laptop": 6, "paper": 6},
    ),
    _entry(
        "transformers/fig10",
        "C",
        "Learning curves on all tasks",
        "Test accuracy against training step, task by task, one curve a seed: baseline, learned MLP non-linearity,"
        " learned MLP and attention non-linearities",
        "faster, less variance, mostly by the MLP",
        tasks=tasks.NAMES,
        plan=_fig10,
        measure=curves,
        histories=True,
        plot=plots.fig10,
        summary=captions.advantage,
        notes=_fig10_notes,
        claims=claims.FIG10,
        minutes={"smoke": 0.5, "laptop": 28, "paper": 10},
    ),
)
