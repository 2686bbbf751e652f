"""SRAVEN with one thing varied: heads, features a panel, share of the rules held out (hypernetwork paper, Figs. 5C, 5D,
A5).

Where nothing is varied the runs are those of Figure 4A with the fewer problems.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.logic.figures import POINT, percent
from lab.papers.hypernetwork.origin import origin
from lab.papers.hypernetwork.settings import FIGURE_METHODS, sraven
from lab.papers.hypernetwork.sraven import figures as sraven_figures
from lab.papers.hypernetwork.sraven import plots
from lab.papers.hypernetwork.sraven_variations.claims import FIG5C, FIG5D, FIGA5
from lab.plots.style import method_title

if TYPE_CHECKING:
    import pandas as pd

HEADS = {"smoke": (1, 16), "laptop": (1, 4, 16), "paper": (1, 2, 4, 8, 16)}
# K = 1 is left out: there what is held out are rules that no training saw, and no combinations of seen ones.
FEATURES = {"smoke": (2, 3), "laptop": (2, 3), "paper": (2, 3, 4)}
FRACTIONS = {"smoke": (0.25, 0.5), "laptop": (0.25, 0.5, 0.75), "paper": (0.1, 0.3, 0.5, 0.7, 0.9)}
SEEDS = {"smoke": 2, "laptop": 1, "paper": 3}  # a laptop trains one seed of one of these entries in 15 minutes
# Problems trained on: the fewer ones of Figure 4A. With 256,000, 4 layers and K = 2, its models are on the rise:
# softmax had .15, .22 and .26 on `val` after so many of 768,000 (three seeds), and .08 to .12 after half of them. Tried
# on `val` instead, softmax, seed 100: batches of 32 (.06 after 64,000 problems, in 2,000 steps: no faster in time), and
# F = 5 values (.04 after 48,000 problems in batches of 64, which is chance).
FEWER = {scale: numbers[:1] for scale, numbers in sraven_figures.PROBLEMS.items()}


def along(
    by: str, values: dict[str, tuple], scale: str, seeds: int, numbers: dict[str, tuple] = FEWER
) -> list[Planned]:
    """Runs of every method at each value of `by`, an argument of `hyper_settings.sraven`, for each number of problems;
    at paper scale, of every point of the grid."""
    runs = []
    for number in numbers[scale]:
        for value in values[scale]:
            for method in FIGURE_METHODS:
                setting = sraven(scale, method, problems=number, **{by: value})
                for spec in setting.grid(seeds) if scale == "paper" else setting.runs(seeds):
                    point = {name: getattr(spec.recipe, name) for name in POINT}
                    problems = spec.recipe.steps * spec.recipe.batch
                    runs.append(({"method": method, "problems": problems, by: value} | point, spec))
    return runs


def summary(table: pd.DataFrame, by: str) -> str:
    """Accuracy on unseen combinations along `by`, by method, with the most problems."""
    table = table[table["chosen"] & (table["problems"] == table["problems"].max())]
    values = sorted(table[by].unique())
    words = []
    for method, rows in table.groupby("method", sort=False):
        means = rows.groupby(by)["accuracy_ood"].mean().reindex(values)
        words.append(f"{method_title(method)} {', '.join(map(percent, means))}")
    here = ", ".join(map(plots.WHERE[by][2], values))
    return f"Accuracy in % on unseen combinations for {plots.name(by)} {here}: {'; '.join(words)}."


def notes(
    by: str, values: dict[str, tuple], paper: str, marks: str, scale: str, numbers: dict[str, tuple] = FEWER
) -> list[str]:
    """What the settings do not show. paper, marks: the values and the numbers of problems of the paper, in words."""
    planned = along(by, values, scale, 1, numbers)
    trained = " and ".join(f"{number:,}" for number in sorted({labels["problems"] for labels, _ in planned}))
    steps = " and ".join(f"{number:,}" for number in sorted({spec.recipe.steps for _, spec in planned}))
    here = ", ".join(map(plots.WHERE[by][2], values[scale]))
    return [f"{plots.name(by)} {here} ({paper})", f"{trained} problems trained on, {steps} steps ({marks})"]


_UNSAID = "the paper does not say how many"
_UNLISTED = "the paper's text does not list its own"


def _varying(by: str, values: dict[str, tuple], paper: str, varied: str, *sentences: str) -> dict:
    """What entries along `by` have in common."""
    return {
        "tasks": ("sraven",),
        "plan": partial(along, by, values),
        "measure": sraven_figures.scores,
        "seeds": SEEDS,
        "plot": lambda table: plots.accuracy(table, by, *sentences),
        "summary": partial(summary, by=by),
        "notes": partial(notes, by, values, paper, f"{_UNSAID}, 20 million in Table A1"),
        "origin": origin("sraven", ("steps", varied)),
    }


_SHOWN = "Accuracy (all features of the answer right) on unseen combinations of rules, at the end of training, against"
ENTRIES = (
    Entry(
        "hypernetwork/fig5c",
        "4.4",
        "SRAVEN by number of heads",
        f"{_SHOWN} the number of attention heads, which is the size of the latent code; the width that they share out"
        " stays",
        "a single head, which leaves one value network to rescale, is noticeably worse",
        minutes={"smoke": 0.5, "laptop": 15, "paper": 1_500},
        claims=FIG5C,
        **_varying("heads", HEADS, _UNLISTED, "heads"),
    ),
    Entry(
        "hypernetwork/fig5d",
        "4.4",
        "SRAVEN by number of features",
        f"{_SHOWN} the number of features a panel",
        "difficulty can be controlled by the number of features",
        minutes={"smoke": 0.5, "laptop": 14, "paper": 700},
        claims=FIG5D,
        **_varying("features", FEATURES, _UNLISTED, "features"),
    ),
    Entry(
        "hypernetwork/figA5",
        "4.4",
        "SRAVEN by share of the combinations held out",
        f"{_SHOWN} the share of all combinations of rules that is held out from training",
        "accuracy falls with the share that is held out",
        minutes={"smoke": 0.5, "laptop": 16, "paper": 1_500},
        claims=FIGA5,
        **_varying("held_out", FRACTIONS, "paper 10, 30, 50, 70, 90", "held out"),
    ),
)
