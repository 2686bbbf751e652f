"""What the transformers paper claims of language models, and of the designs it compares with."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.runs import POINTS, compare_one
from lab.papers.transformers.language.conditions import (
    STORIES_DECIDE,
    TEXTS_DECIDE,
    of_paper,
    some_text,
    stories,
    texts,
)
from lab.papers.transformers.language.designs import ALONE, GLU, GLU_OURS, TOGETHER
from lab.papers.transformers.language.measures import (
    COVERS,
    accuracy_gains,
    by_size,
    by_text,
    early_and_last,
    groups,
    losses_by_method,
    perplexity_changes,
    relative_gains,
)
from lab.papers.transformers.language.settings import CODE, FROM_GELU
from lab.papers.transformers.settings import ATTENTION, BASELINE, BOTH, MLP

if TYPE_CHECKING:
    import pandas as pd


def _against(table: pd.DataFrame, ours: str, other: str, case: str = "") -> Verdict:
    """Accuracy of one design minus another's."""
    known = {name: [100 * one for one in values] for name, values in groups(table, "method", "accuracy").items()}
    if not {ours, other} <= set(known):
        return absent("it is not trained here", case=case, unit=POINTS, above=0.0)
    return Verdict(compare_one(known, ours, other, COVERS), above=0.0, unit=POINTS, case=case)


def _best(table: pd.DataFrame) -> Verdict:
    others = [design for design in table["method"].unique() if design not in (MLP, GLU_OURS)]
    return all_of(_against(table, MLP, other, other) for other in others)


TABLE3 = (
    Claim(
        "best",
        "None of the designs of the literature works better than ours",
        _best,
        decides=STORIES_DECIDE,
        stands_in=stories,
    ),
    Claim(
        "glu",
        "The learned function improves gated linear units, too",
        lambda table: _against(table, GLU_OURS, GLU),
        decides=STORIES_DECIDE,
        stands_in=stories,
    ),
)


def _mlp_is_better(table: pd.DataFrame) -> Verdict:
    """Training perplexity at the end with the learned MLP function, below the baseline's on each of the paper's texts.
    Read from the curves of Figure 15, which have more seeds of a text than the bars of Figure 8."""
    ends = of_paper(table[table["step"] == table["step"].max()])
    changes = {task: perplexity_changes(rows, "method", BASELINE) for task, rows in by_text(ends)}
    return all_of(
        Verdict(effects[MLP], below=0.0, unit="%", case=task) for task, effects in changes.items() if MLP in effects
    )


def _from_gelu(table: pd.DataFrame, base: str, above: float = -inf, below: float = inf) -> list[Verdict]:
    """By text: training perplexity with a function that was learned from GELU against that with `base`."""
    changes = {task: perplexity_changes(rows, "method", base) for task, rows in by_text(of_paper(table))}
    return [
        Verdict(effects[FROM_GELU], above=above, below=below, unit="%", case=task)
        for task, effects in changes.items()
        if FROM_GELU in effects
    ]


def _code_gains_more(table: pd.DataFrame) -> Verdict:
    """Relative gains on code minus those on prose; a text is one unit."""
    sides: dict[str, list[float]] = {"code": [], "prose": []}
    for task, gain in relative_gains(table).items():
        sides["code" if task.split()[0] in CODE else "prose"].append(gain)
    if not all(sides.values()):
        return absent("there are not both code and prose", unit=POINTS, above=0.0)
    difference = estimates.compare(sides, {"": ("code", "prose")}, "texts, of one search each")[""]
    return Verdict(replace(difference, over="texts"), above=0.0, unit=POINTS)


def _in_both(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of texts that are read by characters and by subwords."""
    corpus = table["task"].str.split().str[0]
    return table[table.groupby(corpus)["task"].transform("nunique") > 1]


def _characters_gain_more(table: pd.DataFrame) -> Verdict:
    """Relative gains by characters minus those by subwords, of texts that have both."""
    gains = {tuple(task.split()): gain for task, gain in relative_gains(_in_both(table)).items()}
    both = [gains[corpus, "char"] - gain for (corpus, tokens), gain in gains.items() if tokens != "char"]
    difference = estimates.mean(both, "texts", "texts, of one search each")
    return Verdict(difference, above=0.0, unit=POINTS)


def _larger_early(table: pd.DataFrame) -> Verdict:
    """Early gain minus last gain: how much more the baseline's loss falls in between, each run by itself."""
    verdicts = []
    for task, rows in by_text(of_paper(table)):
        falls = {}
        for kind, losses in losses_by_method(rows).items():
            early, last = early_and_last(losses)
            falls[kind] = (early - last).tolist()
        if {BASELINE, MLP} <= set(falls):
            difference = compare_one(falls, BASELINE, MLP, COVERS)
            verdicts.append(Verdict(difference, above=0.0, unit="nats", case=task))
    return all_of(verdicts)


FIG8 = (
    Claim(
        "local-optimum",
        "GELU is no local optimum: functions learned from it have a lower perplexity, on some text",
        lambda table: any_of(_from_gelu(table, BASELINE, below=0.0)),
        some_text,
        "3 seeds more of each text",
        0.2,
    ),
    Claim(
        "from-zero",
        "Functions learned from GELU have a higher perplexity than those from zero, on each text",
        lambda table: all_of(_from_gelu(table, MLP, above=0.0)),
        some_text,
        "3 seeds more of each text",
        0.2,
    ),
    Claim(
        "code",
        "Code gains more than prose, in shares of what GELU gains on a linear MLP",
        _code_gains_more,
        decides=TEXTS_DECIDE,
        stands_in=texts,
    ),
    Claim(
        "characters",
        "The gain is clearer with characters than with subwords",
        _characters_gain_more,
        decides=TEXTS_DECIDE,
        stands_in=lambda table, scale: texts(_in_both(table), scale),
    ),
)
FIG15 = (
    Claim(
        "mlp",
        "Learned MLP functions have a lower perplexity than GELU on each text (as in Figure 8)",
        _mlp_is_better,
        some_text,
        "3 seeds more of Shakespeare in GPT-2's subwords, 6 runs",
        0.1,
    ),
    Claim(
        "early",
        "The improvement is larger early in training, and diminishes",
        _larger_early,
        some_text,
    ),
)


def _better_at_each_size(table: pd.DataFrame) -> Verdict:
    """Accuracy with the MLP function learned from zero minus the baseline's."""
    effects = {size: accuracy_gains(rows, "method", BASELINE) for size, rows in by_size(table)}
    return all_of(
        Verdict(gains[MLP], above=0.0, unit=POINTS, case=size) for size, gains in effects.items() if MLP in gains
    )


def _mlp_alone_is_best(table: pd.DataFrame) -> Verdict:
    """Training perplexity with a learned attention, or with both learned, above that with the learned MLP alone."""
    verdicts = []
    for size, rows in by_size(table):
        effects = perplexity_changes(rows, "method", MLP)
        verdicts += [
            Verdict(effects[method], above=0.0, unit="%", case=f"{size}, {method}")
            for method in (ATTENTION, BOTH)
            if method in effects
        ]
    return all_of(verdicts)


def _several_models_are_better(table: pd.DataFrame) -> Verdict:
    """Accuracy with functions of several models minus that with functions of one."""
    effects = {layers: accuracy_gains(rows, "method", ALONE) for layers, rows in table.groupby("layers")}
    return all_of(
        Verdict(gains[TOGETHER], above=0.0, unit=POINTS, case=f"{layers} layers")
        for layers, gains in effects.items()
        if TOGETHER in gains
    )


SMALL = 2.0  # percent of perplexity: what is taken here as very small


def _differences_are_small(table: pd.DataFrame) -> Verdict:
    """On each text, perplexity with a function of another text against that with its own."""
    verdicts = []
    texts = table[table["task"] != "mano"]
    for task, rows in by_text(texts):
        known = rows[rows["architecture"].isin(texts["task"])]
        for other, change in perplexity_changes(known, "architecture", task).items():
            verdicts.append(Verdict(change, above=-SMALL, below=SMALL, unit="%", case=f"{other} on {task}"))
    return all_of(verdicts)


FIG7 = (
    Claim(
        "sizes",
        "Learned functions improve the accuracy at each model size",
        _better_at_each_size,
        decides=STORIES_DECIDE,
        stands_in=stories,
    ),
)
SIZES = (
    Claim(
        "mlp-alone",
        "It is best to learn the function of the MLP alone",
        _mlp_alone_is_best,
        some_text,
        "6 seeds and 3 searches of each size",
        1.0,
    ),
)
TABLE5 = (
    Claim(
        "several",
        "Functions learned with several models are better than with one",
        _several_models_are_better,
        decides=STORIES_DECIDE,
        stands_in=stories,
    ),
)
FIG9 = (
    Claim(
        "small",
        f"Which text a function was learned for makes less than {SMALL:.0f} % of perplexity",
        _differences_are_small,
        decides=TEXTS_DECIDE,
        stands_in=texts,
    ),
)


def _symmetrized_is_worse(table: pd.DataFrame) -> Verdict:
    """Accuracy with the symmetrized function minus that with the original, in models of each size."""
    return all_of(
        replace(_against(rows, "symmetrized", MLP, size), above=-inf, below=0.0) for size, rows in by_size(table)
    )


SYMMETRY = (
    Claim(
        "symmetrized",
        "Symmetrized functions of language models perform worse than the original ones, at every size",
        _symmetrized_is_worse,
        decides=STORIES_DECIDE,
        stands_in=stories,
    ),
)
