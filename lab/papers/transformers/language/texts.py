"""Figures 8 and 15: each text, with the baseline and with what was learned for it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from lab.estimates import Estimate
from lab.papers.entry import Entry, Planned
from lab.papers.transformers.language import claims, text_plots
from lab.papers.transformers.language.measures import (
    curves,
    early_and_last,
    final,
    losses_by_method,
    perplexity_changes,
)
from lab.papers.transformers.language.settings import FROM_GELU, NAMES, SEEDS, TEXTS, language, origin
from lab.papers.transformers.settings import ATTENTION, BASELINE, BOTH, MLP, Setting
from lab.plots.caption import signed
from lab.run import Run
from lab.spec import Learned, SearchSpec, replace
from lab.statistics import LEVEL
from lab.tasks.named import task_title

if TYPE_CHECKING:
    import pandas as pd

LINEAR = "linear MLP"
LEARNED = {MLP: ("mlp",), FROM_GELU: ("mlp",), ATTENTION: ("attention",), BOTH: ("mlp", "attention")}
METHODS = (LINEAR, BASELINE, *LEARNED)
UNCLEAR = "shakespeare char"  # three seeds do not decide whether the gain diminishes


def search_of(base: Setting, method: str) -> SearchSpec:
    """The search of a method; one begins with GELU."""
    search = base.search(LEARNED[method])
    return replace(search, start="gelu") if method == FROM_GELU else search


def changes(base: Setting, method: str) -> dict[str, Any]:
    """What a method changes in the baseline's model."""
    if method in LEARNED:
        search = search_of(base, method)
        return {part: Learned(search, part) for part in search.learn}
    return {"mlp": "identity"} if method == LINEAR else {}


def by_method(name: str, scale: str, seeds: int, methods: Sequence[str]) -> list[Planned]:
    """Runs on a text, with each method."""
    base = language(name, scale)
    labels = {"task": base.task_name}
    return [(labels | {"method": m}, run) for m in methods for run in base.runs(seeds, **changes(base, m))]


def plan_fig8(scale: str, seeds: int) -> list[Planned]:
    """All methods on all texts."""
    return [planned for name in TEXTS[scale] for planned in by_method(name, scale, seeds, METHODS)]


def plan_fig15(scale: str, seeds: int) -> list[Planned]:
    """The baseline, and the learned function of the MLP. At laptop scale half as many seeds where these are enough."""
    each = {name: -(-seeds // 2) if scale == "laptop" and name != UNCLEAR else seeds for name in TEXTS[scale]}
    return [planned for name, count in each.items() for planned in by_method(name, scale, count, (BASELINE, MLP))]


def summary_fig8(table: pd.DataFrame) -> str:
    """By text: what the learned MLP function changes, with its interval, and which method's perplexity is lowest."""
    words = []
    for task, rows in table.groupby("task", sort=False):
        changed = perplexity_changes(rows, "method", BASELINE)
        lowest = min(changed, key=lambda method: changed[method].effect, default=MLP)
        lowest = lowest if lowest in changed and changed[lowest].effect < 0 else BASELINE
        ours = f" {signed(changed[MLP].effect)} %{_ends(changed[MLP])}" if MLP in changed else ""
        words.append(f"{task_title(task)}{ours} (lowest: {lowest})")
    return f"Perplexity with the learned MLP function against GELU's: {'; '.join(words)}."


def _ends(change: Estimate) -> str:
    low, high = change.interval(LEVEL)
    return f" [{signed(low)}, {signed(high)}]" if isfinite(low) else ""


def summary_fig15(table: pd.DataFrame) -> str:
    """By text: how much lower the loss is, early and at the end."""
    words = []
    for task, rows in table.groupby("task", sort=False):
        losses = losses_by_method(rows)
        if {BASELINE, MLP} <= set(losses):
            base, ours = (early_and_last(losses[kind]) for kind in (BASELINE, MLP))
            early, last = (signed(a.mean() - b.mean(), 3) for a, b in zip(base, ours, strict=True))
            words.append(f"{task_title(task)} {early} early, {last} at the end")
    return (
        f"Loss of the baseline minus that with the learned function, held-out text, nats a token: {'; '.join(words)}."
    )


def measure_fig8(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, method, and what `measures.final` says."""
    return final(runs)


def measure_fig15(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row per run and evaluation: task, method, and what `measures.curves` says."""
    return curves(runs)


ENTRIES = (
    Entry(
        "transformers/fig8",
        "4.1",
        "Perplexity of language models on prose and code",
        "Training perplexity with a linear MLP, with GELU, and with functions learned for the MLP (from zero, and from"
        " GELU), for the attention, and for both",
        "most often the learned MLP function is best; code gains more than prose, characters more than subwords",
        tasks=NAMES,
        plan=plan_fig8,
        measure=measure_fig8,
        plot=text_plots.fig8,
        summary=summary_fig8,
        claims=claims.FIG8,
        origin=origin(NAMES),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 30, "paper": 2000},
    ),
    Entry(
        "transformers/fig15",
        "D",
        "Language models over training",
        "Loss on held-out text over training, with GELU and with the function learned for the MLP, and the difference",
        "the improvement is larger early in training, then it diminishes",
        tasks=NAMES,
        plan=plan_fig15,
        measure=measure_fig15,
        plot=text_plots.fig15,
        summary=summary_fig15,
        claims=claims.FIG15,
        origin=origin(NAMES),
        seeds=SEEDS | {"laptop": 6},
        minutes={"smoke": 0.3, "laptop": 12, "paper": 700},
    ),
)
