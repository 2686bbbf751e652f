"""What captions of Figures 4 and 5 of the hypernetwork paper say of SRAVEN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.hypernetwork.logic.figures import percent
from lab.papers.hypernetwork.logic_codes.figures import maps_summary
from lab.plots.style import method_title
from lab.tasks.sraven import RULES

if TYPE_CHECKING:
    import pandas as pd


def accuracy(table: pd.DataFrame) -> str:
    """Accuracy on unseen and seen combinations with the most problems."""
    rows = table[table["chosen"] & (table["problems"] == table["problems"].max())]
    words = [
        f"{method_title(method)} {percent(unseen)} (seen {percent(test)})"
        for method, unseen, test in rows.groupby("method", sort=False)[["accuracy_ood", "accuracy_test"]]
        .mean()
        .itertuples()
    ]
    return f"Accuracy in % on unseen combinations of rules, with the most problems: {', '.join(words)}."


def maps(table: pd.DataFrame) -> str:
    """What all maps of codes say (`maps_summary`), and which rules no answer on the map follows."""
    labels = set(table.loc[table["colouring"] == "rule", "label"])
    absent = [rule for rule in RULES if labels and rule not in labels]
    return maps_summary(table) + (f" No answer here follows {' or '.join(absent)}." if absent else "")


def decoded(table: pd.DataFrame) -> str:
    """Each layer, by method, with the controls."""
    words = []
    for method, rows in table.groupby("method", sort=False):
        means = rows.groupby("layer")["value"].mean()
        words.append(f"{method_title(method)} {', '.join(map(percent, means))}")
    controls = f"{percent(table['chance'].mean())} and {percent(table['shuffled'].mean())}"
    return (
        f"Rules decoded on unseen combinations, in %, from the first layer to the last: {'; '.join(words)}."
        f" The best constant answer and decoders of shuffled labels: {controls}."
    )


def alike(table: pd.DataFrame) -> str:
    """Addition and subtraction against the mean over all pairs of different rules."""
    different = table[table["a"] != table["b"]]
    pair = different[different[["a", "b"]].isin(("addition", "subtraction")).all(axis=1)]
    if pair.empty:
        return "No problem has addition or subtraction in its last place, so they cannot be compared."
    words = []
    for method, rows in different.groupby("method", sort=False):
        pair_mean = pair.loc[pair["method"] == method, "similarity"].mean()
        words.append(f"{method_title(method)} {pair_mean:.2f} (all pairs {rows['similarity'].mean():.2f})")
    return f"Cosine similarity of addition and subtraction: {', '.join(words)}."
