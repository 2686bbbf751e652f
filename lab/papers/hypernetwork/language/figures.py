"""Section 5 of the hypernetwork paper: does HYLA help where tokens are of natural language?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.language import claims, plots
from lab.papers.hypernetwork.language.settings import NAMES, SEEDS, TEXTS, origin, runs
from lab.papers.hypernetwork.settings import FIGURE_METHODS
from lab.plots.style import method_title
from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd


def plan(scale: str, seeds: int) -> list[Planned]:
    """Runs of every method."""
    return [
        ({"task": TEXTS[scale].name, "method": name}, spec)
        for name in FIGURE_METHODS
        for spec in runs(scale, name, seeds)
    ]


def measure(trained: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row per run and evaluation: task, method, seed, step, train (loss since the evaluation before, nats a
    token), loss (nats a token) and bits (a character) on held-out text, diverged."""
    import pandas as pd

    return pd.DataFrame(
        [
            labels
            | {"seed": run.spec.seed, "step": int(step), "train": float(train), "loss": float(loss)}
            | {"bits": float(bits), "diverged": bool(run.diverged)}
            for labels, run in trained
            for step, train, loss, bits in zip(
                run.steps, run.loss, run.scores["loss_test"], run.scores["bits_test"], strict=True
            )
        ]
    )


def summary(table: pd.DataFrame) -> str:
    """Loss of each method at the end."""
    last = table[(table["step"] == table["step"].max()) & ~table["diverged"].astype(bool)]
    words = [
        f"{method_title(method)} {rows['loss'].mean():.3f} ({rows['bits'].mean():.2f} bits a character)"
        for method, rows in last.groupby("method", sort=False)
    ]
    return f"Loss on held-out text at the end, in nats a token: {', '.join(words)}."


ENTRIES = (
    Entry(
        "hypernetwork/fig6",
        "5",
        "Language modelling with softmax, linear attention and HYLA",
        "Loss on held-out text against training step, for models that differ in their attention alone",
        "HYLA improves over linear attention and performs closely to softmax attention",
        plan=plan,
        measure=measure,
        plot=plots.fig6,
        tasks=NAMES,
        summary=summary,
        seeds=SEEDS,
        claims=claims.FIG6,
        origin=origin(),
        minutes={"smoke": 0.3, "laptop": 9, "paper": 6_000},
    ),
)
