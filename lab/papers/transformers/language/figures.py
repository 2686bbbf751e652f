"""Language models of the transformers paper (Section 4, Appendix D)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.papers.entry import Entry, Planned
from lab.papers.transformers.language import claims, plots
from lab.papers.transformers.language.designs import DESIGNS, GELU
from lab.papers.transformers.language.measures import accuracy_gains, final, perplexity_changes
from lab.papers.transformers.language.settings import SEEDS, STORIES, on_stories, stories_origin
from lab.papers.transformers.settings import MLP
from lab.plots.caption import signed
from lab.run import Run
from lab.spec import Learned, replace

if TYPE_CHECKING:
    import pandas as pd


def plan_table3(scale: str, seeds: int) -> list[Planned]:
    """Each design, with a search where its function is learned."""
    base, runs = on_stories(scale), []
    for design in DESIGNS:
        setting = replace(base, model=replace(base.model, **design.changes))
        learned: dict[str, Any] = {"mlp": Learned(setting.search())} if design.learned else {}
        labels = {"task": base.task_name, "method": design.name}
        runs += [(labels, spec) for spec in setting.runs(seeds, **learned)]
    return runs


def measure_table3(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, method (the design), and what `measures.final` says."""
    return final(runs)


def summary_table3(table: pd.DataFrame) -> str:
    """Perplexity and accuracy of the baseline; what the learned function changes, and the design that changes most for
    the better."""
    base = table[table["method"] == GELU]
    perplexities, accuracies = perplexity_changes(table, "method", GELU), accuracy_gains(table, "method", GELU)

    def numbers(name: str) -> str:
        return f"{name} {signed(perplexities[name].effect)} %, {signed(accuracies[name].effect)} points"

    best = min(perplexities, key=lambda name: perplexities[name].effect)
    return (
        f"GELU: training perplexity {base['perplexity'].mean():.2f} (paper 1.58), accuracy"
        f" {100 * base['accuracy'].mean():.1f} % (paper 63.7). Against it: {numbers(MLP)} (paper −0.6 %, +0.7 points);"
        f" the lowest perplexity has {numbers(best)}."
    )


ENTRIES = (
    Entry(
        "transformers/table3",
        "4.1",
        "Designs of the literature in the place of GELU and of softmax",
        "Training perplexity, and accuracy on held-out text in the second half of the context, against GELU with"
        " softmax; printed numbers are of TinyStories",
        "none of them works better than the learned function; it improves gated linear units as well",
        tasks=tuple(dict.fromkeys(STORIES.values())),
        plan=plan_table3,
        measure=measure_table3,
        plot=plots.table3,
        summary=summary_table3,
        claims=claims.TABLE3,
        origin=stories_origin(),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 15, "paper": 400},
    ),
)
