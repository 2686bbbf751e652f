"""Figure 9: functions learned for one text, in models of the others, and of MANO."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING

from lab.papers.entry import Entry, Planned
from lab.papers.origin import Origin
from lab.papers.transformers.defaults import of_sequences
from lab.papers.transformers.language import claims, compatibility_plots
from lab.papers.transformers.language.measures import perplexity_changes
from lab.papers.transformers.language.settings import NAMES, SEEDS, TEXTS, language, origin
from lab.papers.transformers.origin import origin as algorithmic
from lab.papers.transformers.settings import BASELINE, Setting
from lab.plots.caption import signed
from lab.run import Run
from lab.tasks.named import task_title

if TYPE_CHECKING:
    import pandas as pd

MANO = "mano"


def settings(scale: str) -> list[Setting]:
    """Those of the texts, and of MANO."""
    return [*(language(name, scale) for name in TEXTS[scale]), of_sequences(MANO, scale)]


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each task with the baseline, and with the MLP function learned for each."""
    runs, known = [], settings(scale)
    for base in known:
        labels = {"task": base.task_name, "architecture": BASELINE}
        runs += [(labels, run) for run in base.runs(seeds)]
        for other in known:
            labels = {"task": base.task_name, "architecture": other.task_name}
            runs += [(labels, run) for run in base.runs(seeds, other.search())]
    return runs


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run, at its end: task, architecture (whose function), seed, perplexity (of training), accuracy (0 to 1,
    held out), diverged."""
    import pandas as pd

    return pd.DataFrame(
        [
            labels
            | {"seed": run.spec.seed, "perplexity": exp(run.loss[-1]), "accuracy": float(run.accuracy[-1])}
            | {"diverged": bool(run.diverged)}
            for labels, run in runs
        ]
    )


def summary(table: pd.DataFrame) -> str:
    """By task: perplexity with its own function, and with the others', against the baseline's."""
    words = []
    for task, rows in table.groupby("task", sort=False):
        changes = perplexity_changes(rows, "architecture", BASELINE)
        others = [one.effect for name, one in changes.items() if name != task]
        if task in changes and others:
            ends = f"{signed(min(others))} to {signed(max(others))}" if len(others) > 1 else signed(others[0])
            words.append(f"{task_title(task)} {signed(changes[task].effect)} % (others' {ends})")
    return f"Training perplexity with a task's own function, against the baseline: {'; '.join(words)}."


def _origin() -> Origin:
    texts, mano = origin(NAMES), algorithmic([MANO])
    return Origin(
        data=lambda scale: [*texts.data(scale), *mano.data(scale)],
        facts=lambda scale: [*texts.facts(scale), *mano.facts(scale)],
        guesses=(*texts.guesses, *mano.guesses),
    )


ENTRIES = (
    Entry(
        "transformers/fig9",
        "4.2",
        "Compatibility of functions across texts",
        "Training perplexity on a text with the MLP function learned for another, or for MANO, against the baseline",
        "differences are very small, much smaller than between algorithmic tasks",
        tasks=(*NAMES, MANO),
        plan=plan,
        measure=measure,
        plot=compatibility_plots.fig9,
        summary=summary,
        claims=claims.FIG9,
        origin=_origin(),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 16, "paper": 2000},
    ),
)
