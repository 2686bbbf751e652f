"""Appendix E.3 of the simplicity paper: functions that were learned on one image set, used on another.

The functions are learned with four hidden layers. Table 4 has such models; Figure 19 has others with them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.image_transfer import claims, plots
from lab.papers.simplicity.images.accuracy import accuracies
from lab.papers.simplicity.images.settings import REGRESSION, RELU, SETS, TITLES, images, present
from lab.papers.simplicity.search.settings import ALL, DEEP, DEPTHS, TRANSFER_SEEDS, origin, transfer_runs
from lab.plots.caption import signed

if TYPE_CHECKING:
    import pandas as pd


def _plan(scale: str, seeds: int, sources: tuple[str, ...], depths: tuple[int, ...]) -> list[Planned]:
    return [
        ({"source": source, "target": target, "layers": layers}, spec)
        for source in (RELU, *sources)
        for target in present(scale)
        for layers in depths
        for spec in transfer_runs(scale, source, target, layers, seeds)
    ]


def table4(scale: str, seeds: int) -> list[Planned]:
    """Models with ReLU, with the function of each set, and with that of all, on each set."""
    return _plan(scale, seeds, (*present(scale), ALL), (DEEP,))


def depths(scale: str, seeds: int) -> list[Planned]:
    """Models of every depth with ReLU and with the function of each set, on each set."""
    return _plan(scale, seeds, present(scale), DEPTHS[scale])


def _notes(scale: str) -> list[str]:
    return [
        "functions are learned once; seeds are those of the models that are trained with them",
        "with several sets, each has its turn: an episode on one, then on the next",
    ]


def _summary(table: pd.DataFrame) -> str:
    """The mean gain of each function over ReLU, beside the paper's."""
    phrases = []
    for source, gain in plots.gains(table).items():
        paper = plots.PRINTED_GAINS.get(source)
        phrases.append(
            f"{plots.learned_on(source)} {signed(gain)} points" + (f" (paper {paper:+.1f})" if paper else "")
        )
    return f"Test accuracy compared to ReLU, mean over sets: {', '.join(phrases)}."


def _together(table: pd.DataFrame) -> str:
    """The correlation that the claim is about."""
    verdict = claims.FIG19[0].measure(table)
    if verdict.effect != verdict.effect:
        return ""
    low, high = max(-1.0, verdict.low), min(1.0, verdict.high)
    spread = f" [{low:.2f}, {high:.2f}]" if low == low else ""
    pair = " and ".join(TITLES[name] for name in verdict.case.split(" and "))
    return (
        f"Correlation of gains over ReLU on {pair}, over models with learned functions: {verdict.effect:.2f}{spread}."
    )


_TASKS = tuple(dict.fromkeys(images("laptop", name, REGRESSION).task.name for name in present("laptop")))
_SHARED: dict[str, Any] = {
    "measure": accuracies,
    "tasks": _TASKS,
    "origin": origin(SETS, transfer=True),
    "seeds": TRANSFER_SEEDS,
    "notes": _notes,
}
ENTRIES = (
    Entry(
        "simplicity/table4",
        "E.3",
        "Functions used on another image set",
        f"Test accuracy of networks with {DEEP} hidden layers that predict the class id of images as a number, with"
        " ReLU and with functions learned on each set and on all sets (rows), on each set (columns)",
        "functions work well on their own set; other combinations surpass ReLU, too; the one of all sets improves on"
        " the two harder sets alone, SVHN and CIFAR-10",
        plan=table4,
        plot=plots.table4,
        summary=_summary,
        claims=claims.TABLE4,
        printed=plots.printed,
        minutes={"smoke": 0.2, "laptop": 5, "overnight": 20, "paper": 120},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig19",
        "E.3",
        "Accuracies on pairs of image sets",
        "Test accuracy on one image set against that on another of networks that predict class ids as numbers; one mark"
        " a function and number of hidden layers, mean over seeds",
        "improvements often correlate across sets",
        plan=depths,
        plot=plots.fig19,
        summary=_together,
        claims=claims.FIG19,
        minutes={"smoke": 0.2, "laptop": 6, "overnight": 40, "paper": 200},
        **_SHARED,
    ),
)
