"""Language models in the transformers paper (Section 4, Appendix D): what their figures measure and compare, and Tables
3 and 5: designs of the literature in the place of GELU and of softmax; functions learned with one model or several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import Estimate, compare, missing, pooled_means
from lab.papers.claims import Claim, Verdict, absent, all_of, text_in_place_of
from lab.papers.entry import Entry, Planned
from lab.papers.tables import POINTS, Labelled, alive, compare_one
from lab.papers.transformers import settings
from lab.papers.transformers.settings import (
    FROM_GELU,
    MLP,
    PAPER_TEXTS,
    STORIES,
    STORY_NAMES,
    TEXT_SEEDS,
    Setting,
    stories_origin,
)
from lab.plots import go
from lab.plots.caption import counted, effect, set_reading, signed
from lab.plots.differences import around, beside_printed, difference_key, spans
from lab.plots.style import GREY
from lab.run import Run
from lab.spec import Learned, replace
from lab.statistics import LEVEL
from lab.tasks.named import task_title

SPLIT = "test"  # held-out text that chose nothing; the paper calls its own validation data
COVERS = "seeds, of one search"
LINEAR = "linear MLP"
LEARNED = {MLP: ("mlp",), FROM_GELU: ("mlp",), settings.ATTENTION: ("attention",), settings.BOTH: ("mlp", "attention")}
GELU, GLU, GLU_LEARNED = "GELU", "GLU/Swish", "GLU/learned"
ALONE, TOGETHER = "learned (M = 1)", "learned (M = 6)"
M = {ALONE: 1, TOGETHER: 6}  # models of stage I, in Table 5
TABLE_5 = {  # printed training perplexity, and accuracy in %, by layers
    2: {"Linear": (1.78, 59.9), GELU: (1.58, 63.7), ALONE: (1.59, 63.8), TOGETHER: (1.57, 64.3)},
    4: {"Linear": (1.73, 60.8), GELU: (1.53, 65.1), ALONE: (1.53, 65.3), TOGETHER: (1.52, 65.4)},
}


@dataclass(frozen=True)
class Design:
    """One column of Table 3.

    changes: to the baseline's model. learned: its MLP's function is searched for. perplexity, accuracy: printed
    (training; % on validation data), NaN where the columns of the printed table cannot be told apart.
    """

    name: str
    changes: dict[str, Any] = field(default_factory=dict)
    learned: bool = False
    perplexity: float = nan
    accuracy: float = nan


# The printed table has 13 numbers in a row for 14 designs. The first eight are those of the text and of Table 5; which
# five of the other six the rest belong to is not to be seen, and none is guessed.
DESIGNS = (
    Design("Linear", {"mlp": "identity"}, perplexity=1.78, accuracy=59.9),
    Design(GELU, perplexity=1.58, accuracy=63.7),
    Design(MLP, learned=True, perplexity=1.57, accuracy=64.4),
    Design(GLU, {"mlp": "silu", "gated": True}, perplexity=1.59, accuracy=63.7),
    Design(GLU_LEARNED, {"gated": True}, learned=True, perplexity=1.58, accuracy=64.0),
    Design("ReLU", {"mlp": "relu"}, perplexity=1.60, accuracy=63.5),
    Design("ReLU²", {"mlp": "relu2"}, perplexity=1.60, accuracy=63.6),
    Design("TanH", {"mlp": "tanh"}, perplexity=1.71, accuracy=61.2),
    Design("Sinc", {"mlp": "sinc"}),
    Design("Gaussian", {"mlp": "gaussian"}),
    Design("P1", {"weighting": "p1"}),
    Design("P3", {"weighting": "p3"}),
    Design("adaptive softmax", {"weighting": "adaptive"}),
    Design("NormSoftmax", {"weighting": "norm"}),
)


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
    """How much higher the training perplexity of each kind is than that of `base`, in percent (geometric means over
    seeds). A seed fixes the batches that it is of, so differences are within seeds."""
    logs = np.log(alive(table).set_index([by, "seed"])["perplexity"].astype(float).unstack("seed", sort=False))
    gaps = {kind: logs.loc[kind] - logs.loc[base] for kind in logs.index if kind != base and base in logs.index}
    return {kind: gap.exp().shifted(-1).scaled(100) for kind, gap in pooled_means(gaps, COVERS).items()}


def perplexity_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Training perplexity against the baseline's in percent with its interval, a row a function and text: as `delta`
    has differences of accuracies."""
    rows = []
    for task in table["task"].unique():
        changes = perplexity_changes(table[table["task"] == task], "architecture", settings.BASELINE)
        for kind in table["architecture"].unique():
            if kind != settings.BASELINE:
                change = changes.get(kind, missing())
                low, high = change.interval(LEVEL)
                rows.append({"architecture": kind, "task": task, "delta": change.effect, "low": low, "high": high})
    return pd.DataFrame(rows)


def accuracy_gains(table: pd.DataFrame, by: str, base: str) -> dict[str, Estimate]:
    """Accuracy of each kind minus that of `base`, in percentage points."""
    return against({kind: [100 * one for one in v] for kind, v in groups(table, by, "accuracy").items()}, base)


def perplexity_gains(table: pd.DataFrame, by: str, base: str) -> dict[str, Estimate]:
    """By how many percent the perplexity of each kind is below that of `base`."""
    return {kind: change.negated() for kind, change in perplexity_changes(table, by, base).items()}


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


def clear_of_noise(effects: Iterable[Estimate], table: pd.DataFrame) -> str:
    """How many of the differences are more than the noise of seeds; the first sentence of a summary."""
    _, lows, highs = spans(effects)
    known = np.isfinite(lows)
    count, seeds = int(((lows > 0) | (highs < 0)).sum()), counted(table["seed"].nunique(), "seed")
    verb = "is" if count == 1 else "are"
    return f"{count} of {known.sum()} differences {verb} clear of the noise of {seeds}. " if known.any() else ""


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


def plan_table3(scale: str, seeds: int) -> list[Planned]:
    """Each design, with a search where its function is learned."""
    base, runs = settings.on_stories(scale), []
    for design in DESIGNS:
        setting = replace(base, model=replace(base.model, **design.changes))
        learned: dict[str, Any] = {"mlp": Learned(setting.search())} if design.learned else {}
        labels = {"task": base.task_name, "method": design.name}
        runs += [(labels, spec) for spec in setting.runs(seeds, **learned)]
    return runs


def plan_table5(scale: str, seeds: int) -> list[Planned]:
    """Two depths: a linear MLP, GELU, a function of one model, a function of several."""
    runs = []
    for base in (settings.on_stories(scale), settings.deeper(scale)):
        parts: dict[str, Any] = {method: Learned(replace(base.search(), models=models)) for method, models in M.items()}
        for method, part in (parts | {"Linear": "identity", GELU: "gelu"}).items():
            labels = {"task": base.task_name, "method": method, "layers": base.model.layers}
            runs += [(labels, run) for run in base.runs(seeds, mlp=part)]
    return runs


def summary_table3(table: pd.DataFrame) -> str:
    base = table[table["method"] == GELU]
    perplexities, accuracies = perplexity_changes(table, "method", GELU), accuracy_gains(table, "method", GELU)

    def numbers(name: str) -> str:
        return f"{name} {signed(perplexities[name].effect)} %, {signed(accuracies[name].effect)} points"

    better = sorted((one.effect, name) for name, one in perplexities.items() if one.effect < perplexities[MLP].effect)
    lower = (
        f"lower, against the paper: {', '.join(f'{name} {signed(by)} %' for by, name in better)}"
        if better
        else "none has a lower one"
    )
    return (
        f"{task_title(table['task'].iloc[0])}, GELU: training perplexity {base['perplexity'].mean():.2f} (paper 1.58),"
        f" accuracy {100 * base['accuracy'].mean():.1f} % (paper 63.7). Against it: {numbers(MLP)} (paper −0.6 %, +0.7"
        f" points); {lower}."
    )


def summary_table5(table: pd.DataFrame) -> str:
    more = [
        f"{effect(change)} with {counted(layers, 'layer')}"
        for layers, rows in table.groupby("layers", sort=False)
        if (change := accuracy_gains(rows, "method", ALONE).get(TOGETHER))
    ]
    title = task_title(table["task"].iloc[0])
    several = f"M = {M[TOGETHER]} minus M = 1, held-out accuracy, points: {', '.join(more) or '– (diverged)'}"
    said = f"{title}, {several}."
    levels = table[table["method"] == GELU].groupby("layers")["perplexity"].mean()
    if len(levels) > 1 and levels.iloc[-1] > levels.iloc[0]:
        few, many = levels.index[0], levels.index[-1]
        said += f" GELU is worse with {many} layers (perplexity {levels[many]:.2f}; {levels[few]:.2f} with {few})."
    return said


def better(table: pd.DataFrame, ours: str, other: str, case: str = "", **claimed) -> Verdict:
    """Accuracy of one method minus another's. claimed: as of `Verdict`; above 0 by default."""
    known = {name: [100 * one for one in values] for name, values in groups(table, "method", "accuracy").items()}
    return difference(known, ours, other, POINTS, case, **(claimed or {"above": 0.0}))


def _best(table: pd.DataFrame) -> Verdict:
    others = [design for design in table["method"].unique() if design not in (MLP, GLU_LEARNED)]
    return all_of(better(table, MLP, other, other) for other in others)


def _several_are_better(table: pd.DataFrame) -> Verdict:
    effects = [(f"{n} layers", accuracy_gains(rows, "method", ALONE)) for n, rows in table.groupby("layers")]
    return all_of(verdicts_of(TOGETHER, effects, above=0.0, unit=POINTS))


TABLE3 = (
    claim_on_stories("best", "None of the designs of the literature works better than the learned function", _best),
    claim_on_stories(
        "glu", "The learned function improves gated linear units, too", lambda table: better(table, GLU_LEARNED, GLU)
    ),
)
TABLE5 = (
    claim_on_stories("several", "Functions learned with several models are better than with one", _several_are_better),
)


def table3(table: pd.DataFrame) -> go.Figure:
    """One row a design: how its perplexity and its accuracy differ from GELU's; beside them the printed difference."""
    perplexities, accuracies = perplexity_changes(table, "method", GELU), accuracy_gains(table, "method", GELU)
    printed = {design.name: design for design in DESIGNS}
    names, base = [name for name in printed if name in perplexities], printed[GELU]
    left = [_pair(name, perplexities[name], 100 * (printed[name].perplexity / base.perplexity - 1)) for name in names]
    right = [_pair(name, accuracies[name], printed[name].accuracy - base.accuracy) for name in names]
    figure = _comparison(left, right, 118)
    set_reading(
        figure,
        f"Left: lower is better; right: higher. {spread(table)}",
        difference_key(figure),
        "–: the text of the paper's table that was available has lost it. P1, P3: powers of scores are the weights.",
    )
    return figure


def table5(table: pd.DataFrame) -> go.Figure:
    """One row a depth and method: differences from GELU, ours beside the printed ones."""
    left, right = [], []
    for layers, rows in table.groupby("layers", sort=False):
        printed = TABLE_5.get(int(layers), {})
        perplexity, accuracy = printed.get(GELU, (nan, nan))
        gains = accuracy_gains(rows, "method", GELU)
        for method, change in perplexity_changes(rows, "method", GELU).items():
            theirs = printed.get(method, (nan, nan))
            name = f"{counted(layers, 'layer')}, {method}"
            left.append(_pair(name, change, 100 * (theirs[0] / perplexity - 1)))
            right.append(_pair(name, gains[method], theirs[1] - accuracy))
    figure = _comparison(left, right, 150)
    words = f"Left: lower is better; right: higher. {spread(table)}"
    set_reading(figure, words, difference_key(figure))
    return figure


def _pair(name: str, ours: Estimate, paper: float) -> dict:
    low, high = ours.interval(LEVEL)
    return {"name": name, "mean": ours.effect, "error": (high - low) / 2, "paper": paper, "paper_error": nan}


def _comparison(perplexities: Sequence[dict], accuracies: Sequence[dict], left: int) -> go.Figure:
    """Differences from GELU, ours beside the printed ones. left: px for names."""
    panels = [("training perplexity", pd.DataFrame(perplexities)), ("held-out accuracy", pd.DataFrame(accuracies))]
    figure = beside_printed(panels, [_ends(rows) for _, rows in panels], left=left)
    for column, unit in ((1, "%"), (2, "% points")):
        figure.update_xaxes(title_text=f"against GELU ({unit})", row=1, col=column)
        figure.add_vline(x=0, line={"color": GREY, "width": 1.2}, row=1, col=column)
    return figure


def _ends(rows: pd.DataFrame) -> tuple[float, float]:
    """An axis around 0, all marks, ours and the paper's, and most whiskers."""
    marks, error = pd.concat([rows["mean"], rows["paper"]]), rows["error"].reindex(range(2 * len(rows)))
    return around(marks, marks - error.to_numpy(), marks + error.to_numpy())


ENTRIES = (
    Entry(
        "transformers/table3",
        "4.1",
        "Designs of the literature in the place of GELU and of softmax",
        "Training perplexity, and accuracy on held-out text in the second half of the context, against GELU with"
        " softmax; printed numbers are of TinyStories",
        "none of them works better than the learned function; it improves gated linear units as well",
        tasks=STORY_NAMES,
        plan=plan_table3,
        measure=final,
        plot=table3,
        summary=summary_table3,
        claims=TABLE3,
        origin=stories_origin(),
        seeds=TEXT_SEEDS,
        minutes={"smoke": 0.5, "laptop": 15, "paper": 400},
    ),
    Entry(
        "transformers/table5",
        "D",
        "One model or several in stage I",
        "Training perplexity and held-out accuracy against GELU, with functions learned with one model (M = 1) and with"
        f" {M[TOGETHER]}; printed numbers are of TinyStories",
        "functions learned with several models are slightly better",
        tasks=STORY_NAMES,
        plan=plan_table5,
        measure=final,
        plot=table5,
        summary=summary_table5,
        claims=TABLE5,
        origin=stories_origin(deep=True),
        seeds=TEXT_SEEDS,
        minutes={"smoke": 0.5, "laptop": 18, "paper": 800},
    ),
)
