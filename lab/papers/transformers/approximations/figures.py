"""Appendices D and F of the transformers paper: is it the learned function's fine detail that helps?

Figure 12: the learned function against its symmetrized version and against polynomials in its place, each trained with
from scratch. The paper has it for language models (`lab.papers.transformers.language.symmetry`); here it is for four
algorithmic tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from lab.nonlinearity.part import as_module
from lab.nonlinearity.spline import Spline
from lab.papers.entry import Entry, Planned
from lab.papers.transformers.approximations import plots
from lab.papers.transformers.individual_tasks.figures import by_method
from lab.papers.transformers.origin import origin
from lab.papers.transformers.settings import setting
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Learned, Shaped
from lab.store import Store

if TYPE_CHECKING:
    import pandas as pd

TASKS = ("memorize", "addmod", "add", "parentheses")  # where the learned function makes a difference at laptop scale
SYMMETRIZED = "symmetrized"
SHAPES = {SYMMETRIZED: "symmetrized", "polynomial": "polynomial", "Chebyshev": "chebyshev"}  # of `Shaped`, by method
DEGREES = {"polynomial": (6, 18, 24), "Chebyshev": (18, 36, 72)}
FEW_STEPS = {"polynomial": (2, 4), "Chebyshev": (4, 12)}  # at smoke scale a search moves hardly more than five knots
WITHOUT_POLYNOMIALS = {"smoke": (), "laptop": ("add",), "paper": ()}  # its runs take longest


def plan(scale: str, seeds: int) -> list[Planned]:
    """Baseline, learned function, and that function in each other shape; degree 0 where there is none."""
    runs = []
    for task in TASKS:
        runs += [(labels | {"degree": 0}, spec) for labels, spec in by_method(task, scale, seeds)]
        base = setting(task, scale)
        for method, degree in _shapes(task, scale):
            part = Shaped(Learned(base.search(("mlp",))), SHAPES[method], degree or None)
            labels = {"task": task, "method": method, "degree": degree}
            runs += [(labels, spec) for spec in base.runs(seeds, mlp=part)]
    return runs


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, method, degree, seed, accuracy (0 to 1, mean over training), last (at its end), diverged;
    and of its function: rms_error, maximum_error (of a polynomial), mirror, shift, correlation (of a symmetrized one).
    """
    import pandas as pd

    facts = cache(_facts)  # one function serves all seeds
    return pd.DataFrame(
        [
            labels
            | {"seed": run.spec.seed, "accuracy": float(run.accuracy.mean()), "last": float(run.accuracy[-1])}
            | {"diverged": bool(run.diverged)}
            | facts(run.spec.model.mlp, run.store)
            for labels, run in runs
        ]
    )


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The functions that models were trained with, GELU left out: task, method, degree, x, value, at the knots between
    which the learned function is not zero."""
    import pandas as pd
    import torch

    rows = []
    for labels, run in runs:
        part = run.spec.model.mlp
        if run.spec.seed == 0 and not isinstance(part, str):
            learned = _learned(part, run.store)
            low, high = learned.support
            x = torch.linspace(low, high, round((high - low) / learned.spacing) + 1)
            values = as_module(resolve(part, run.store))(x)
            rows += [labels | {"x": a, "value": b} for a, b in zip(x.tolist(), values.tolist(), strict=True)]
    return pd.DataFrame(rows).round({"x": 6, "value": 6})


def _facts(part: str | Learned | Shaped, store: Store) -> dict:
    if not isinstance(part, Shaped):
        return {}
    phi = _learned(part, store)
    if part.shape == SYMMETRIZED:
        symmetry = phi.symmetrized()
        return {"mirror": symmetry.mirror, "shift": symmetry.shift, "correlation": symmetry.correlation}
    fit = getattr(phi, part.shape)(part.degree)
    return {"rms_error": fit.rms_error, "maximum_error": fit.maximum_error}


def _learned(part: Learned | Shaped, store: Store) -> Spline:
    phi = as_module(resolve(part.of if isinstance(part, Shaped) else part, store))
    assert isinstance(phi, Spline), f"a search found a {type(phi).__name__}"
    return phi


def _shapes(task: str, scale: str) -> list[tuple[str, int]]:
    fitted = {} if task in WITHOUT_POLYNOMIALS[scale] else FEW_STEPS if scale == "smoke" else DEGREES
    return [(SYMMETRIZED, 0), *((method, degree) for method, degrees in fitted.items() for degree in degrees)]


def _notes(scale: str) -> list[str]:
    left_out = [f"no polynomials on {task.upper()}" for task in WITHOUT_POLYNOMIALS[scale]]
    chosen = "four algorithmic tasks, those with a gain in Figure 10 at laptop scale"
    return [
        f"{chosen}, instead of TinyStories at several model sizes, which transformers/fig12_language has",
        *left_out,
    ]


ENTRIES = (
    Entry(
        "transformers/fig12",
        "D and F",
        "Learned functions, made symmetric or smooth",
        "Left: the MLP non-linearity learned for a task, symmetrized (averaged with its most similar mirror image), and"
        " as polynomials. Right: what models gain with each in mean test accuracy over training, against GELU",
        "of language models, symmetrized ones are almost always worse, polynomials of higher degree better",
        tasks=TASKS,
        plan=plan,
        measure=measure,
        functions=functions,
        plot=plots.fig12,
        summary=plots.summary,
        notes=_notes,
        origin=origin(TASKS),
        minutes={"smoke": 0.3, "laptop": 18, "paper": 12},
    ),
)
