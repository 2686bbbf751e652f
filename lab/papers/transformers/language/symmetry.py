"""The language half of Figure 12: functions of language models, and their symmetrized versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.nonlinearity.part import as_module
from lab.papers.entry import Entry, Planned
from lab.papers.transformers.language import claims, symmetry_plots
from lab.papers.transformers.language.settings import SIZES, STORIES, language, stories_origin
from lab.papers.transformers.language.sizes import FEW, measure, of_size, summary_gains
from lab.papers.transformers.settings import BASELINE, MLP
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Learned, Part, Shaped

if TYPE_CHECKING:
    import pandas as pd

SYMMETRIZED = "symmetrized"


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each size of Figure 7 with GELU, with its learned function, and with that function symmetrized."""
    runs = []
    for layers, width in SIZES[scale]:
        base = of_size(language(STORIES[scale], scale), layers, width)
        learned = Learned(base.search())
        parts: dict[str, Part] = {BASELINE: "gelu", MLP: learned, SYMMETRIZED: Shaped(learned, SYMMETRIZED)}
        for method, part in parts.items():
            labels = {"task": base.task_name, "method": method, "layers": layers, "width": width}
            runs += [(labels, run) for run in base.runs(seeds, mlp=part)]
    return runs


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The learned functions and their symmetrized versions: task, method, layers, width, x, value, at the knots between
    which the learned one is not zero."""
    import pandas as pd
    import torch

    rows = []
    for labels, run in runs:
        part: Any = run.spec.model.mlp
        if run.spec.seed == 0 and not isinstance(part, str):
            learned: Any = as_module(resolve(part.of if isinstance(part, Shaped) else part, run.store))
            low, high = learned.support
            x = torch.linspace(low, high, round((high - low) / learned.spacing) + 1)
            values = as_module(resolve(part, run.store))(x)
            rows += [labels | {"x": a, "value": b} for a, b in zip(x.tolist(), values.tolist(), strict=True)]
    return pd.DataFrame(rows).round({"x": 6, "value": 6})


ENTRIES = (
    Entry(
        "transformers/fig12_language",
        "D",
        "Learned functions of language models, made symmetric",
        "Left: functions that were learned for language models of several sizes, and the average of each with its most"
        " similar mirror image. Right: held-out accuracy minus the baseline's of models that are trained with each",
        "symmetrized functions are worse in almost every case: fine details matter",
        tasks=tuple(dict.fromkeys(STORIES.values())),
        plan=plan,
        measure=measure,
        functions=functions,
        plot=symmetry_plots.symmetry,
        summary=summary_gains,
        claims=claims.SYMMETRY,
        origin=stories_origin(),
        seeds=FEW,
        minutes={"smoke": 0.5, "laptop": 12, "paper": 800},
        place=("fig", "", 12, "language"),
    ),
)
