"""What the transformers paper claims of approximations of its functions (Fig. 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict
from lab.papers.runs import POINTS, per_seed
from lab.papers.transformers.claims import over_tasks
from lab.papers.transformers.conditions import language
from lab.papers.transformers.settings import MLP

if TYPE_CHECKING:
    import pandas as pd


def _variant_against(table: pd.DataFrame, ours: tuple[str, int], other: tuple[str, int], **claimed) -> Verdict:
    """Accuracy of one kind (method, degree) minus another's, over the tasks that have both."""
    means = per_seed(table, ["task", "method", "degree"])
    tasks = [task for task in table["task"].unique() if {(task, *ours), (task, *other)} <= set(means.columns)]
    gaps = [means[task, *ours].mean() - means[task, *other].mean() for task in tasks]
    return Verdict(over_tasks(gaps), unit=POINTS, **claimed)


def _symmetrized_is_worse(table: pd.DataFrame) -> Verdict:
    return _variant_against(table, ("symmetrized", 0), (MLP, 0), below=0.0)


def _higher_degrees_are_better(table: pd.DataFrame) -> Verdict:
    """The highest degree up to the paper's 18 against the lowest."""
    degrees = sorted(table.loc[table["method"] == "polynomial", "degree"].unique())
    high = max(degree for degree in degrees if degree <= 18)
    return _variant_against(table, ("polynomial", high), ("polynomial", degrees[0]), above=0.0)


_LANGUAGE = "functions of language models (TinyStories, FineWeb); a GPU"
FIG12 = (
    Claim(
        "symmetrized",
        "Symmetrized functions perform worse than the original ones",
        _symmetrized_is_worse,
        language,
        _LANGUAGE,
    ),
    Claim(
        "degree",
        "Polynomials are increasingly effective as the degree increases",
        _higher_degrees_are_better,
        language,
        _LANGUAGE,
    ),
)
