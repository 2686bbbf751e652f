"""Sections 3 and 4 of the activations paper: small language models with each of its activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.activations.small_models import claims, function_plots, measures, plots, printed, settings
from lab.papers.activations.small_models.settings import FAMILIES, FIXED, METHODS, NAMES, SEEDS, TITLES, origin
from lab.papers.entry import Entry, Planned

if TYPE_CHECKING:
    import pandas as pd

LOW = 0.05, 0.95  # quantiles of learned parameters that a sentence tells


def plan_functions(scale: str, seeds: int) -> list[Planned]:
    """Both families with what learns: runs of the table."""
    return settings.plan(scale, seeds, [name for name in METHODS[scale] if name in (*FIXED, "kan")])


def plan_table(scale: str, seeds: int) -> list[Planned]:
    """Both families with every activation."""
    return settings.plan(scale, seeds, METHODS[scale])


def summary_functions(table: pd.DataFrame) -> str:
    """Where learned parameters are at the end, by family and activation."""
    words = []
    for family, rows in _alive(table).groupby("family", sort=False):
        quantiles = rows.groupby("method", sort=False)["value"].quantile(LOW).unstack()
        ranges = [f"{TITLES[str(method)]} {low:.2f} to {high:.2f}" for method, (low, high) in quantiles.iterrows()]
        words.append(f"{FAMILIES[str(family)]}: {', '.join(ranges)}")
    return f"Nine of ten learned parameters of {'; '.join(words)}; at first .25 (PReLU), 1 (others)."


def summary_table(table: pd.DataFrame) -> str:
    """The lowest and the highest loss in each family, and whether BLiMP was read."""
    words = []
    for family, rows in _alive(table).groupby("family", sort=False):
        losses = rows.groupby("method", sort=False)["loss"].mean().sort_values()
        ends = [f"{TITLES[str(method)]} {value:.3f}" for method, value in (*losses[:1].items(), *losses[-1:].items())]
        words.append(f"{FAMILIES[str(family)]} {' to '.join(ends)}")
    return f"Loss on held-out text, nats a predicted token: {'; '.join(words)}. {_blimp(table)}"


def _blimp(table: pd.DataFrame) -> str:
    known = _alive(table).dropna(subset=["blimp"])
    if not len(known):
        return "BLiMP is not measured: its sentences were not here (`lab data fetch blimp` gets them)."
    means = known.groupby("family", sort=False)["blimp"].agg(["min", "max"])
    ranges = [f"{FAMILIES[str(family)]} {low:.1f} to {high:.1f} %" for family, (low, high) in means.iterrows()]
    return f"BLiMP, {known['pairs'].max():,} pairs: {', '.join(ranges)}; ties at most {known['ties'].max():.1f} %."


def _alive(table: pd.DataFrame) -> pd.DataFrame:
    return table[~table["diverged"].astype(bool)]


def notes(scale: str) -> list[str]:
    """What is not here."""
    hardly = [
        "GPT-Neo is near what the character before tells of the next (2.5 nats), and most of its models end there:"
        " differences say which left that plateau",
        "RoBERTa hardly learns more than how frequent characters are (3.15 nats); it learns from 24 of the 160"
        " characters of a window, and has to find where the neighbours of each are. Tried on val: 2,400 steps; rates of"
        " .002 and .008; initial weights of standard deviation .125, not .02 (3.10 nats, at rates of .002 and .004);"
        " with these, positions that begin as sinusoids (3.07)",
    ]
    return [
        *(hardly if scale == "laptop" else []),
        "the printed 63.4 % of GPT-Neo's KAN is against the abstract, and may be of another column",
        "no fine-tuning on GLUE, whose column is lost in the text of the paper",
        "training time is that of the machine that trained, and of what else it did",
    ]


ENTRIES = (
    Entry(
        "activations/fig_functions",
        "3.1",
        "Activations with learned parameters, in small language models",
        "Each activation of GPT-Neo and RoBERTa that learns, next to the one without parameters: the middle nine tenths"
        " of the functions of all channels, layers and seeds, and the distribution of their parameters by layer",
        "what the parameters learn is not printed; they are expected to help",
        plan=plan_functions,
        measure=measures.parameters,
        functions=measures.functions,
        plot=function_plots.fig_functions,
        tasks=NAMES,
        summary=summary_functions,
        seeds=SEEDS,
        origin=origin(),
        minutes={"smoke": 0.5, "laptop": 18, "paper": 700},
        place=("fig", "", 1, ""),
    ),
    Entry(
        "activations/table1",
        "4",
        "GPT-Neo and RoBERTa with eight activations, and KANs",
        "Held-out loss, accuracy on BLiMP (which of two sentences is grammatical), weights and training time of small"
        " language models that differ in their activation alone (the paper's: 9 million weights, KAN, Kolmogorov–Arnold"
        " networks, 11)",
        "a learnable GELU is best of RoBERTa's activations on BLiMP; its abstract: activations matter little, KANs do"
        " worse",
        plan=plan_table,
        measure=measures.scores,
        plot=plots.table1,
        tasks=NAMES,
        summary=summary_table,
        seeds=SEEDS,
        claims=claims.TABLE1,
        printed=printed.comparison,
        origin=origin(scored=True),
        notes=notes,
        minutes={"smoke": 0.5, "laptop": 28, "paper": 1_200},
    ),
)
