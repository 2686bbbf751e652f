"""What the activations paper says of small language models: its table of BLiMP scores, its abstract, its hypotheses.

The text that was available is a draft: of results it has the table alone. That activations matter little, and that KANs
do worse, is in the abstract of what was published (TU Delft repository, 2024). Hypotheses are measured by the loss on
held-out text.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from lab.estimates import mean
from lab.papers.activations.small_models.printed import BLIMP
from lab.papers.activations.small_models.settings import FAMILIES, FIXED, KANS, TITLES
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.runs import gains
from lab.statistics import LEVEL

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 50.0  # percent of pairs
# Points between the lowest and the highest of the paper's five seeds of a learnable GELU in GPT-Neo: what is less
# matters little.
LITTLE = 2.7
COVERS = "seeds"
SMALLEST = 3.0  # million weights: a third of the paper's
GPU = "the paper's sizes on ten million words, scored on BLiMP (`lab data fetch blimp`): a GPU"
Kind = tuple[str, str]  # family, method


def by_kind(table: pd.DataFrame, value: str) -> dict[Kind, list[float]]:
    """Values of the runs of each family and method, NaN for a diverged one."""
    values = table[value].astype(float).where(~table["diverged"].astype(bool))
    grouped = values.groupby([table["family"], table["method"]], sort=False)
    return {(str(family), str(method)): group.tolist() for (family, method), group in grouped}


def above_chance(table: pd.DataFrame, scale: str) -> str:
    """BLiMP was read, and models of both families know something of it."""
    known = table.dropna(subset=["blimp"])
    if not len(known):
        return "BLiMP is not here"
    for family, rows in known.groupby("family"):
        if not mean(rows["blimp"] - CHANCE).interval(LEVEL)[0] > 0:
            return f"{FAMILIES[str(family)]}'s models are at chance on BLiMP"
    return ""


def of_the_size(table: pd.DataFrame, scale: str) -> str:
    """Models of about the paper's size; those of a laptop hardly learn, RoBERTa least."""
    most = table["parameters"].max() / 1e6
    return f"models of {most:.2g} million weights in place of the paper's 9" if most < SMALLEST else ""


def _case(first: Kind, second: Kind) -> str:
    return f"{FAMILIES[first[0]]}, {TITLES[first[1]]} against {TITLES[second[1]]}"


def _all_above(values: Mapping[Kind, list[float]], pairs: list[tuple[Kind, Kind]], unit: str) -> Verdict:
    """The first of each pair is above the second."""
    named: dict[str, tuple[Hashable, Hashable]] = {
        _case(first, second): (first, second) for first, second in pairs if first in values and second in values
    }
    if not named:
        return absent("no such runs", above=0.0, unit=unit)
    return all_of(gains(values, named, COVERS, above=0.0, unit=unit))


def _best(table: pd.DataFrame, family: str, best: str, others: list[str]) -> Verdict:
    return _all_above(by_kind(table, "blimp"), [((family, best), (family, other)) for other in others], "points")


def _learnable_gelu_best(table: pd.DataFrame) -> Verdict:
    others = [name for name in BLIMP["roberta"] if name not in ("learnable_gelu", *KANS)]
    return _best(table, "roberta", "learnable_gelu", others)


def _kan_below(table: pd.DataFrame) -> Verdict:
    pairs = [((family, name), (family, "kan")) for family in FAMILIES for name in TITLES if name not in KANS]
    return _all_above(by_kind(table, "blimp"), pairs, "points")


def _alike(table: pd.DataFrame) -> Verdict:
    """Every MLP's activation against GELU."""
    values = by_kind(table, "blimp")
    pairs: dict[str, tuple[Hashable, Hashable]] = {
        _case((family, name), (family, "gelu")): ((family, name), (family, "gelu"))
        for family in FAMILIES
        for name in TITLES
        if name not in ("gelu", *KANS)
    }
    return all_of(gains(values, pairs, COVERS, above=-LITTLE, below=LITTLE, unit="points"))


def _pair_in_both(first: str, second: str):
    def measure(table: pd.DataFrame) -> Verdict:
        pairs = [((family, first), (family, second)) for family in FAMILIES]
        return _all_above(by_kind(table, "blimp"), pairs, "points")

    return measure


def _lower_loss(table: pd.DataFrame, pairs: list[tuple[str, str]]) -> Verdict:
    """The second of each pair has the higher loss, in both families."""
    kinds = [((family, higher), (family, lower)) for lower, higher in pairs for family in FAMILIES]
    return _all_above(by_kind(table, "loss"), kinds, "nats")


def _learnable(table: pd.DataFrame) -> Verdict:
    return _lower_loss(table, list(FIXED.items()))


def _learnable_geglu(table: pd.DataFrame) -> Verdict:
    others = [name for name in TITLES if name not in ("learnable_geglu", *KANS)]
    return _lower_loss(table, [("learnable_geglu", other) for other in others])


TABLE1 = (
    Claim(
        "learnable-gelu-best",
        "Of RoBERTa's activations, a learnable GELU scores best on BLiMP",
        _learnable_gelu_best,
        above_chance,
        GPU,
    ),
    Claim(
        "learnable-gelu",
        "A learnable GELU scores above GELU on BLiMP, in GPT-Neo and in RoBERTa",
        _pair_in_both("learnable_gelu", "gelu"),
        above_chance,
        GPU,
    ),
    Claim(
        "relu",
        "ReLU scores above GELU on BLiMP, in GPT-Neo and in RoBERTa",
        _pair_in_both("relu", "gelu"),
        above_chance,
        GPU,
    ),
    Claim(
        "kan",
        "Models with a KAN score below all with an MLP on BLiMP",
        _kan_below,
        above_chance,
        GPU,
    ),
    Claim(
        "alike",
        "Activations of MLPs matter little (less than 2.7 points of BLiMP from GELU)",
        _alike,
        above_chance,
        GPU,
    ),
    Claim(
        "learnable",
        "Learnable parameters help (lower loss on held-out text, each activation in each model)",
        _learnable,
        decides=GPU,
        stands_in=of_the_size,
    ),
    Claim(
        "learnable-geglu",
        "A learnable GEGLU is the best activation of all (expected; by loss on held-out text)",
        _learnable_geglu,
        decides=GPU,
        stands_in=of_the_size,
    ),
)
