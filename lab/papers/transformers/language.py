"""What figures of language models share: perplexity of training, scores on held-out text, and their differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from math import log
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import Estimate, compare
from lab.papers.claims import Claim, Verdict, absent, text_in_place_of
from lab.papers.runs import compare_one
from lab.papers.tables import Labelled, alive
from lab.papers.transformers.settings import ATTENTION, BOTH, FROM_GELU, MLP, PAPER_TEXTS, STORIES, Setting
from lab.run import Run
from lab.spec import Learned, replace
from lab.statistics import LEVEL

SPLIT = "test"  # held-out text that chose nothing; the paper calls its own validation data
COVERS = "seeds, of one search"
LINEAR = "linear MLP"
LEARNED = {MLP: ("mlp",), FROM_GELU: ("mlp",), ATTENTION: ("attention",), BOTH: ("mlp", "attention")}


def changes(base: Setting, method: str) -> dict[str, Any]:
    """What a method changes in the baseline's model; one search begins with GELU."""
    if method not in LEARNED:
        return {"mlp": "identity"} if method == LINEAR else {}
    search = base.search(LEARNED[method])
    search = replace(search, start="gelu") if method == FROM_GELU else search
    return {part: Learned(search, part) for part in search.learn}


def curves(runs: Labelled) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, perplexity (of training, since the evaluation
    before), and on held-out text loss (nats a token), bits (a character), accuracy (0 to 1, second half of the
    context); diverged."""
    return pd.DataFrame([_row(labels, run, at) for labels, run in runs for at in range(len(run.steps))])


def final(runs: Labelled) -> pd.DataFrame:
    """The last evaluation of each run: one row a run."""
    return pd.DataFrame([_row(labels, run, -1) for labels, run in runs])


def _row(labels: dict, run: Run, at: int) -> dict:
    scores = {name: float(run.scores[f"{name}_{SPLIT}"][at]) for name in ("loss", "bits", "accuracy")}
    row = labels | {"seed": run.spec.seed, "step": int(run.steps[at]), "perplexity": float(np.exp(run.loss[at]))}
    return row | scores | {"diverged": bool(run.diverged)}


def groups(table: pd.DataFrame, by: str, value: str) -> dict[str, list[float]]:
    """Values of the runs of each kind, one a seed; those of diverged runs are left out."""
    return {kind: rows[value].astype(float).tolist() for kind, rows in alive(table).groupby(by, sort=False)}


def perplexity_changes(table: pd.DataFrame, by: str, base: str) -> dict[str, Estimate]:
    """How much higher the perplexity of each kind is than that of `base`, in percent (geometric means over seeds)."""
    logs = {kind: [log(one) for one in values] for kind, values in groups(table, by, "perplexity").items()}
    return {kind: estimate.exp().shifted(-1).scaled(100) for kind, estimate in against(logs, base).items()}


def accuracy_gains(table: pd.DataFrame, by: str, base: str) -> dict[str, Estimate]:
    """Accuracy of each kind minus that of `base`, in percentage points."""
    return against({kind: [100 * one for one in v] for kind, v in groups(table, by, "accuracy").items()}, base)


def perplexity_gains(table: pd.DataFrame, by: str, base: str) -> dict[str, Estimate]:
    """Training perplexity of `base` minus that of each kind."""
    known = groups(table, by, "perplexity")
    return compare(known, {kind: (base, kind) for kind in known if kind != base and base in known}, COVERS)


def against(values: Mapping[str, list[float]], base: str) -> dict[str, Estimate]:
    """Each kind minus `base`, by kind; nothing where there is no run of `base`."""
    return compare(values, {kind: (kind, base) for kind in values if kind != base and base in values}, COVERS)


def difference(groups: Mapping[str, list[float]], ours: str, other: str, unit: str, case: str, **claimed) -> Verdict:
    """The values of one kind of runs minus those of another. claimed: as of `Verdict`."""
    if not {ours, other} <= set(groups):
        return absent("it is not trained here", case=case, unit=unit, **claimed)
    return Verdict(compare_one(groups, ours, other), unit=unit, case=case, **claimed)


def verdicts_of(method: str, effects: Iterable[tuple[object, Mapping[str, Estimate]]], **claimed) -> list[Verdict]:
    """A verdict for each case that has the method. effects: case, effects by method. claimed: as of `Verdict`."""
    return [Verdict(known[method], case=str(case), **claimed) for case, known in effects if method in known]


def spread(table: pd.DataFrame, mark: str = "Whiskers") -> str:
    """What whiskers of differences stand for."""
    if table["seed"].nunique() < 2:
        return "One seed only: no interval."
    return f"{mark}: {100 * LEVEL:.0f} % interval of the difference over seeds."


def of_paper(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of texts that the paper has, too: the others stand in for some of its own."""
    return table[table["task"].isin(PAPER_TEXTS)]


def some_text(table: pd.DataFrame, scale: str) -> str:
    """Some text is the paper's."""
    others = ", ".join(table["task"].unique())
    return "" if len(of_paper(table)) else f"the paper has other texts than {others}"


# MANO's function is compared with those of texts
other_texts = text_in_place_of("the paper's texts", [*PAPER_TEXTS, "mano"])
claim_on_texts = partial(Claim, decides="all texts at the paper's settings; a GPU", stands_in=other_texts)
claim_on_stories = partial(
    Claim,
    decides="TinyStories at the paper's settings; a GPU",
    stands_in=text_in_place_of("TinyStories", [STORIES["paper"]]),
)
