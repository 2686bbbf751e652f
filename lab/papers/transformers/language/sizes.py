"""Figures 7, 13 and 14: what learned functions gain in models of several sizes, each with functions of its own.
Table 5: functions learned with one model, and with several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from lab.nonlinearity.part import as_module
from lab.papers.entry import Entry, Planned
from lab.papers.transformers.language import claims, size_plots
from lab.papers.transformers.language.designs import GELU, MODELS, TOGETHER
from lab.papers.transformers.language.measures import accuracy_gains, by_size, final, over_sizes
from lab.papers.transformers.language.settings import (
    FROM_GELU,
    SEEDS,
    SIZES,
    STORIES,
    deeper,
    language,
    on_stories,
    origin,
    stories_origin,
)
from lab.papers.transformers.language.texts import changes
from lab.papers.transformers.settings import ATTENTION, BASELINE, BOTH, MLP, Setting
from lab.plots.caption import counted, signed
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Knots, Learned, replace
from lab.tasks.named import task_title

if TYPE_CHECKING:
    import pandas as pd

FEW = {"smoke": 2, "laptop": 2, "paper": 3}  # seeds, where every size has them


def of_size(base: Setting, layers: int, width: int) -> Setting:
    """The setting with another model."""
    return replace(base, model=replace(base.model, layers=layers, width=width))


def plan_sizes(texts: dict[str, str], methods: Sequence[str], scale: str, seeds: int) -> list[Planned]:
    """Each size with each method, on one text; texts: by scale."""
    runs = []
    for layers, width in SIZES[scale]:
        base = of_size(language(texts[scale], scale), layers, width)
        for method in methods:
            labels = {"task": base.task_name, "method": method, "layers": layers, "width": width}
            runs += [(labels, run) for run in base.runs(seeds, **changes(base, method))]
    return runs


def plan_table5(scale: str, seeds: int) -> list[Planned]:
    """Two depths: a linear MLP, GELU, a function of one model, a function of several."""
    runs = []
    for base in (on_stories(scale), deeper(scale)):
        for method in (*MODELS, "Linear", GELU):
            search = replace(base.search(), models=MODELS.get(method, 1))
            part = Learned(search) if method in MODELS else "identity" if method == "Linear" else "gelu"
            labels = {"task": base.task_name, "method": method, "layers": base.model.layers}
            runs += [(labels, run) for run in base.runs(seeds, mlp=part)]
    return runs


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, method, layers, width, and what `measures.final` says."""
    return final(runs)


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The functions that models were trained with, GELU left out: task, method, layers, width, x, value, at the knots
    between which they are not zero."""
    import pandas as pd
    import torch

    rows = []
    for labels, run in runs:
        part = run.spec.model.mlp
        if run.spec.seed == 0 and isinstance(part, Learned):
            phi = as_module(cast(Knots, resolve(part, run.store)))
            low, high = phi.support
            x = torch.linspace(low, high, round((high - low) / phi.spacing) + 1)
            rows += [labels | {"x": a, "value": b} for a, b in zip(x.tolist(), phi(x).tolist(), strict=True)]
    return pd.DataFrame(rows).round({"x": 6, "value": 6})


def summary_gains(table: pd.DataFrame) -> str:
    """By method: the range over sizes of its accuracy minus the baseline's, and at how many it is above."""
    gains = [accuracy_gains(rows, "method", BASELINE) for _, rows in by_size(table)]
    words = over_sizes({method: gain.effect for method, gain in one.items()} for one in gains)
    title = task_title(table["task"].iloc[0])
    return f"{title}, held-out accuracy minus the baseline's, in percentage points: {words}."


def summary_sizes(table: pd.DataFrame) -> str:
    """By method: the range over sizes of the baseline's training perplexity minus its own, and how often it is > 0."""
    means = [rows.groupby("method", sort=False)["perplexity"].mean() for _, rows in by_size(table)]
    words = over_sizes((one[BASELINE] - one.drop(BASELINE)).to_dict() for one in means)
    title = task_title(table["task"].iloc[0])
    return f"{title}, training perplexity of the baseline minus that of others: {words}."


def summary_table5(table: pd.DataFrame) -> str:
    """By depth: accuracy of each method minus GELU's."""
    words = []
    for layers, rows in table.groupby("layers", sort=False):
        gains = accuracy_gains(rows, "method", GELU)
        text = ", ".join(f"{method} {signed(gain.effect, 2)}" for method, gain in gains.items())
        words.append(f"{counted(layers, 'layer')}: {text}")
    said = f"Held-out accuracy minus that with GELU, in percentage points. {'; '.join(words)}."
    levels = table[table["method"] == GELU].groupby("layers")["perplexity"].mean()
    if len(levels) > 1 and levels.iloc[-1] > levels.iloc[0]:
        few, many = levels.index[0], levels.index[-1]
        said += f" GELU is worse with {many} layers (perplexity {levels[many]:.2f}; {levels[few]:.2f} with {few})."
    return said


def _fig7(scale: str, seeds: int) -> list[Planned]:
    return plan_sizes(STORIES, (BASELINE, MLP, FROM_GELU), scale, seeds)


def _shakespeare(number: int, tokens: str) -> Entry:
    texts = {"smoke": f"moby_dick {'bpe' if tokens == 'gpt2' else tokens}"}
    texts |= dict.fromkeys(("laptop", "paper"), f"shakespeare {tokens}")
    words = {"char": "characters", "gpt2": "subwords"}[tokens]
    names = tuple(dict.fromkeys(texts.values()))
    return Entry(
        f"transformers/fig{number}",
        "D",
        f"Shakespeare's plays by {words}: models of several sizes",
        f"How much lower training perplexity is than the baseline's on Shakespeare's plays by {words}, with functions"
        " learned for the MLP, for the attention, and for both, by layers × width",
        "it is best to replace GELU alone, and to keep softmax",
        tasks=names,
        plan=partial(plan_sizes, texts, (BASELINE, MLP, ATTENTION, BOTH)),
        measure=measure,
        plot=size_plots.perplexities,
        summary=summary_sizes,
        claims=claims.SIZES,
        origin=origin(names),
        seeds=FEW,
        minutes={"smoke": 0.5, "laptop": 18, "paper": 800},
    )


ENTRIES = (
    Entry(
        "transformers/fig7",
        "4.1",
        "Children's stories: models of several sizes, and their functions",
        "Left: accuracy on held-out text, in the second half of the context, minus the baseline's, by layers × width,"
        " with MLP functions learned from zero and from GELU. Right: these functions",
        "the accuracy is slightly and consistently better at each size; functions from zero look like wavelets",
        tasks=tuple(dict.fromkeys(STORIES.values())),
        plan=_fig7,
        measure=measure,
        functions=functions,
        plot=size_plots.fig7,
        summary=summary_gains,
        claims=claims.FIG7,
        origin=stories_origin(),
        seeds=FEW,
        minutes={"smoke": 0.5, "laptop": 10, "paper": 800},
    ),
    _shakespeare(13, "char"),
    _shakespeare(14, "gpt2"),
    Entry(
        "transformers/table5",
        "D",
        "One model or several in stage I",
        "Training perplexity and held-out accuracy against GELU, with functions learned with one model (M = 1) and with"
        f" {MODELS[TOGETHER]}; printed numbers are of TinyStories",
        "functions learned with several models are slightly better",
        tasks=tuple(dict.fromkeys(STORIES.values())),
        plan=plan_table5,
        measure=measure,
        plot=size_plots.table5,
        summary=summary_table5,
        claims=claims.TABLE5,
        origin=stories_origin(deep=True),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 18, "paper": 800},
    ),
)
