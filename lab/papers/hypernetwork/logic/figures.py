"""Section 3 and Figures A2, A3 of the hypernetwork paper: fuzzy logic functions, learned in context.

Figures 2C and A3 show the same runs; Figures 2B, 2D and A2 probe those of them with 32 tokens and 70 % held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.papers.entry import Entry, Planned
from lab.papers.hypernetwork.logic import claims, plots
from lab.papers.hypernetwork.origin import origin
from lab.papers.hypernetwork.settings import FIGURE_METHODS, FRACTIONS, LENGTHS, SEEDS, logic
from lab.plots.style import method_title
from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd

POINT = ["rate", "decay", "warmup"]  # of the grid that hyper-parameters are picked from
# What else may differ between the runs of a table: a point of the grid is picked for each.
_KINDS = ("method", "length", "held_out", "problems", "layers", "heads", "features")


def plan(
    scale: str,
    seeds: int,
    lengths: Sequence[int] = (),
    fractions: Sequence[float] = FRACTIONS,
    methods: Sequence[str] = FIGURE_METHODS,
) -> list[Planned]:
    """Runs of every method, number of tokens and fraction held out; at paper scale, of every point of the grid."""
    runs = []
    for length in lengths or LENGTHS[scale]:
        for held_out in fractions:
            for method in methods:
                setting = logic(scale, method, length, held_out)
                for spec in setting.grid(seeds) if scale == "paper" else setting.runs(seeds):
                    point: dict[str, Any] = {name: getattr(spec.recipe, name) for name in POINT}
                    runs.append(({"method": method, "length": length, "held_out": held_out} | point, spec))
    return runs


def finals(runs: Sequence[tuple[dict, Run]], by: str = "r2_val") -> pd.DataFrame:
    """The last evaluation of each run, one row a run: its labels, seed, step, loss (in training, with dropout), every
    score by split, diverged, chosen (see `choose`)."""
    import pandas as pd

    rows = []
    for labels, run in runs:
        row = {"seed": run.spec.seed, "step": int(run.steps[-1]), "loss": float(run.loss[-1])}
        scores = {name: float(values[-1]) for name, values in sorted(run.scores.items())}
        rows.append(labels | row | scores | {"diverged": bool(run.diverged)})
    return choose(pd.DataFrame(rows), by)


def choose(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """The table with a column `chosen`: whether a run has the point of the grid (`POINT`) whose mean of `by` over seeds
    is the highest, for its task and method. `by` is a score on `val`. A point of which a run diverged has none.

    >>> import pandas as pd
    >>> point = {"rate": [0.1, 0.1, 0.2, 0.2], "decay": 0.0, "warmup": 1}
    >>> table = pd.DataFrame({"method": "hyla", "seed": [0, 1, 0, 1], "accuracy_val": [0.5, 0.7, 0.9, 0.4], **point})
    >>> choose(table, "accuracy_val")["chosen"].tolist()
    [False, False, True, True]
    """
    kinds = [name for name in _KINDS if name in table]
    means = table.groupby([*kinds, *POINT], sort=False)[by].agg(lambda values: values.mean(skipna=False))
    best = means.fillna(float("-inf")).reset_index().sort_values(by, ascending=False, kind="stable")
    best = best.drop_duplicates(kinds)[[*kinds, *POINT]].assign(chosen=True)
    joined = table.merge(best, on=[*kinds, *POINT], how="left")
    return joined.assign(chosen=joined["chosen"].eq(True))


def _notes(scale: str) -> list[str]:
    tokens = ", ".join(map(str, LENGTHS[scale]))
    shorter = [] if scale == "paper" else [f"{tokens} tokens (paper 16, 32, 64, 96)"]
    return [
        *shorter,
        "test and val are fresh examples of the functions that training saw; the seed of a run decides"
        " which functions are held out, and each of them has terms that training saw",
    ]


def _summary(table: pd.DataFrame) -> str:
    """R² where most is held out, and what is lost there against where least is."""
    best = table[table["chosen"]]
    most, least = best["held_out"].max(), best["held_out"].min()
    words = []
    for method, rows in best.groupby("method", sort=False):
        hard, easy = rows[rows["held_out"] == most].mean(numeric_only=True), rows[rows["held_out"] == least]
        decline = hard["r2_paper_ood"] - easy["r2_paper_ood"].mean()
        words.append(f"{method_title(method)} {percent(hard['r2_paper_ood'])} ({percent(decline, '+')})")
    return (
        f"R² in % on unseen combinations, {100 * most:.0f} % held out, mean over lengths (in brackets the change"
        f" from {100 * least:.0f} % held out): {', '.join(words)}."
    )


def _unseen_summary(table: pd.DataFrame) -> str:
    """R² by method on unseen terms and on functions that training saw."""
    scores = ["r2_paper_unseen_terms", "r2_paper_test"]
    means = table[table["chosen"]].groupby("method", sort=False)[scores].mean()
    words = [
        f"{method_title(method)} {percent(unseen)} (on trained functions {percent(test)})"
        for method, unseen, test in means.itertuples()
    ]
    return f"R² in % on functions of unseen terms, mean over all settings: {', '.join(words)}."


def percent(share: float, sign: str = "") -> str:
    """In percent; – where every run diverged."""
    return "–" if share != share else f"{100 * share:{sign}.0f}"


_GRID = ("length", "held out")  # what the figures vary
_SHARED: dict[str, Any] = {"tasks": ("logic",), "seeds": SEEDS, "origin": origin("logic", _GRID), "notes": _notes}

ENTRIES = (
    Entry(
        "hypernetwork/fig2c",
        "3.1",
        "Compositional generalization on fuzzy logic",
        "R² on functions that are unseen combinations of seen terms, at the end of training, against the number of"
        " tokens (examples in context and the query), for three fractions of functions held out",
        "all methods solve the task given enough examples; with more held out all degrade, HYLA least",
        plan=plan,
        measure=finals,
        plot=plots.fig2c,
        summary=_summary,
        claims=claims.FIG2C,
        printed=claims.printed_scores,
        minutes={"smoke": 0.5, "laptop": 45, "overnight": 270, "paper": 60},
        **_SHARED,
    ),
    Entry(
        "hypernetwork/figA3",
        "3.1",
        "Fuzzy logic: functions of unseen terms, trained functions, training loss",
        "Top: R² on functions trained on. Middle: R² on functions of terms that training never saw. Bottom: training"
        " loss (mean squared error). All at the end of training, against the number of tokens",
        "all methods fail on unseen terms; on trained functions they differ little",
        plan=plan,
        measure=finals,
        plot=plots.fig_a3,
        summary=_unseen_summary,
        claims=claims.FIGA3,
        minutes={"smoke": 0.5, "laptop": 45, "overnight": 270, "paper": 60},
        **_SHARED,
    ),
)
