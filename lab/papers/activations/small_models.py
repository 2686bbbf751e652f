"""Section 4 of the activations paper: GPT-Neo and RoBERTa with fixed and learnable activations and with KANs (Table 1).

The text that was available is a draft: of results it has the table alone. That activations matter little, and that KANs
do worse, is in the abstract of what was published (TU Delft repository, 2024). Hypotheses are measured by the loss on
held-out text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import nan
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import torch

from lab.data.datasets import MissingError
from lab.data.sentence_sets import PHENOMENA
from lab.data.sentences import pairs
from lab.estimates import mean
from lab.kinds import training_data
from lab.papers.activations import settings
from lab.papers.activations.settings import FAMILIES, FIXED, KANS, METHODS, SEEDS, TITLES, origin, plan, scale_of
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.entry import Entry
from lab.papers.tables import Labelled, alive, gains
from lab.plots import go
from lab.plots.caption import set_reading, too_early
from lab.plots.panels import Panel, above, grid, line, points, whiskers
from lab.plots.style import GREEN, GREY, INK, VERMILLION
from lab.probes.language import minimal_pairs, reader_of
from lab.run import Run
from lab.statistics import INTERVAL, LEVEL, over_seeds

# What Table 1 prints of BLiMP, as far as its text can be read: means, in percent. The column of GLUE is lost. Two rows
# are left out, "GPT-11.0M-3L" and "BERT-11.0M-3L", the best on GLUE: they have three layers, and their numbers are in
# brackets. Neither GEGLU nor a learnable GEGLU has a row. KANs have more weights than the others: 11.0 million, not
# 9.0. That GPT-Neo's has 63.43 is in the draft's table, though the published abstract says that KANs do worse: columns
# may have slipped there.
_TABLE_1 = {  # activation → GPT-Neo, RoBERTa
    "relu": (56.6, 58.5),
    "prelu": (57.0, 59.2),
    "silu": (56.3, 58.3),
    "swish": (53.7, 58.0),
    "gelu": (55.6, 49.1),
    "learnable_gelu": (56.782, 59.4),
    "kan": (63.43, 56.69),
}
BLIMP = {family: {name: row[at] for name, row in _TABLE_1.items()} for at, family in enumerate(FAMILIES)}
CHANCE = 50.0  # percent of pairs
# By task, percent of pairs that the frequencies of tokens alone get right, with half of the ties (`notes`).
BY_FREQUENCY = {"tinystories_train_2mb bpe": 53.6}
# Points between the lowest and the highest of the paper's five seeds of a learnable GELU in GPT-Neo: what is less
# matters little.
LITTLE = 2.7
PAPER_SIZE = 9.0  # million weights
SMALLEST = PAPER_SIZE / 3
PANELS = {  # column: name of the axis
    "loss": "held-out loss (nats)",
    "blimp": "BLiMP (%)",
    "step_ms": "a step (ms)",
}
ROUNDS = 7  # steps of each model that are timed
ROW = 21  # px of an activation
DOMAINS = ((0.0, 0.48), (0.52, 1.0))  # of the two panels of phenomena, in widths of the figure
# Of activations: colour, symbol, and how far below the middle of its line a mark is
KINDS = {
    "fixed": (GREY, "circle", 0.0),
    "learnable": (GREEN, "triangle-up", 0.16),
    "KAN": (VERMILLION, "square", -0.16),
}


def scores(runs: Labelled) -> pd.DataFrame:
    """One row a run: task, family, method, seed, step, loss (held-out text, nats a token that is predicted), bits (a
    character; NaN for RoBERTa, which predicts masked tokens), parameters, seconds (of training,
    while other work ran), step_ms (as of `step_times`), diverged; in percent blimp, ties, and the accuracy of
    each phenomenon, NaN where BLiMP is not here; pairs that were read.
    """
    times = step_times(runs)
    time_of = [times[labels["family"], labels["method"]] for labels, _ in runs]
    rows = [
        labels | _scores(run) | {"step_ms": time} | _blimp(run)
        for (labels, run), time in zip(runs, time_of, strict=True)
    ]
    return pd.DataFrame(rows)


def step_times(runs: Labelled) -> dict[tuple[str, str], float]:
    """Milliseconds of a training step by family and method: forward and backward of one model on one batch. Models take
    turns, so that whatever else the machine does falls on all alike; the fastest of some rounds counts. NaN where their
    text is not here."""
    firsts = {(labels["family"], labels["method"]): run for labels, run in reversed(runs)}
    try:
        parts = {
            kind: (run.model().requires_grad_(), training_data(run.spec.task, [run.spec], torch.device("cpu")).at(0))
            for kind, run in firsts.items()
        }
    except MissingError:
        return dict.fromkeys(firsts, nan)
    times: dict[tuple[str, str], list[float]] = {kind: [] for kind in parts}
    for _ in range(ROUNDS):
        for kind, (model, batch) in parts.items():
            start = perf_counter()
            batch.loss(batch.outputs(model)).sum().backward()
            times[kind].append(1000 * (perf_counter() - start))
    return {kind: round(min(each), 3) for kind, each in times.items()}


def _scores(run: Run) -> dict[str, float]:
    return {
        "seed": run.spec.seed,
        "step": int(run.steps[-1]),
        "loss": float(run.score("loss", "test")[-1]),
        "bits": float(run.scores["bits_test"][-1]) if "bits_test" in run.scores else nan,
        "parameters": sum(weight.numel() for weight in run.model().parameters()),
        "seconds": float(run.notes["seconds"]),
        "diverged": bool(run.diverged),
    }


def _blimp(run: Run) -> dict[str, float]:
    names = ("blimp", "ties", *PHENOMENA)
    try:
        chosen = [] if run.diverged else pairs(settings.EACH[scale_of(run.spec.task)])
    except MissingError:  # BLiMP is not shipped: the figure says so
        chosen = []
    if not chosen:
        return dict.fromkeys(names, nan) | {"pairs": 0}
    result = minimal_pairs(run.model(), reader_of(run.spec.task), chosen, settings.YEAR)
    numbers = (result.mean, result.tied.mean(1), *(result.phenomena[name] for name in PHENOMENA))
    return {name: 100 * float(value[0]) for name, value in zip(names, numbers, strict=True)} | {"pairs": len(chosen)}


def summary(table: pd.DataFrame) -> str:
    table, words = alive(table), []
    for family, rows in table.groupby("family", sort=False):
        losses = rows.groupby("method", sort=False)["loss"].mean().sort_values()
        ends = [f"{TITLES[losses.index[at]]} {losses.iloc[at]:.3f}" for at in (0, -1)]
        words.append(f"{FAMILIES[str(family)]} {' to '.join(ends)}")
    losses_said = f"Loss (nats), best to worst: {'; '.join(words)}."
    known = table.dropna(subset=["blimp"])
    early = above_chance(table)
    if not len(known):
        return f"{losses_said} BLiMP is not measured: its sentences were not here (`lab data fetch blimp` gets them)."
    each = known.groupby(["family", "method"], sort=False)["blimp"].mean()
    means = each.groupby("family", sort=False).agg(["min", "max"])
    ranges = [f"{FAMILIES[str(family)]} {low:.1f} to {high:.1f} %" for family, (low, high) in means.iterrows()]
    phenomena = known[list(PHENOMENA)].mean()
    ranges.append(f"by phenomenon {phenomena.min():.0f} to {phenomena.max():.0f} %")
    most = known["ties"].max()
    ties = f"; ties at most {most:.1f} %" if most >= 0.05 else ""
    first = too_early(f"{early} ({_floor(table):g} %)" if early else "")
    return f"{losses_said} {first}BLiMP, {known['pairs'].max():,} pairs: {', '.join(ranges)}{ties}."


def notes(scale: str) -> list[str]:
    hardly = [
        "GPT-Neo is near what the character before tells of the next (2.5 nats), and most of its models end there:"
        " differences say which left that plateau",
        "RoBERTa hardly learns more than how frequent characters are (3.15 nats); it learns from 24 of the 160"
        " characters of a window, and has to find where the neighbours of each are. Tried on val: 2,400 steps; rates of"
        " .002 and .008; initial weights of standard deviation .125, not .02 (3.10 nats, at rates of .002 and .004);"
        " with these, positions that begin as sinusoids (3.07)",
    ]
    of_frequencies = (
        "how frequent tokens are has 46.8 % of BLiMP's pairs right, and 13.5 % are ties: with half of these, 53.6 %"
    )
    no_roberta = (
        "no RoBERTa: it learns which tokens are frequent, and little more (5.44 nats on val after 1,500 steps of 32"
        " windows at a rate of .004, and 5.45 at .001; frequencies alone have 6.01, and GPT-Neo 3.3)"
    )
    return [
        *(hardly if scale == "laptop" else []),
        *([no_roberta, of_frequencies] if scale == "overnight" else []),
        "the printed 63.4 % of GPT-Neo's KAN is against the abstract, and may be of another column",
        "no fine-tuning on GLUE, whose column is lost in the text of the paper",
        "steps are timed without the optimizer's part, of one model alone, on the processor that measured; the table's"
        " seconds are of training while other work ran, and are not compared",
    ]


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Table 1: architecture, method, ours, theirs, BLiMP in percent."""
    ours = table.groupby(["family", "method"])["blimp"].mean()
    rows = [
        {"architecture": family, "method": method, "ours": ours.get((family, method)), "theirs": value}
        for family, values in BLIMP.items()
        for method, value in values.items()
    ]
    return pd.DataFrame(rows).astype({"ours": float})


Kind = tuple[str, str]  # family, method


def _above(value: str, kinds: Sequence[tuple[Kind, Kind]], unit: str, **claimed: float) -> Callable[..., Verdict]:
    """A column of the table: the first of each pair of kinds above the second, or as claimed; no diverged runs."""

    def measure(table: pd.DataFrame) -> Verdict:
        groups = alive(table).groupby(["family", "method"], sort=False)[value]
        values: dict[Hashable, list[float]] = {kind: group.astype(float).tolist() for kind, group in groups}
        cases: dict[str, tuple[Hashable, Hashable]] = {
            f"{FAMILIES[first[0]]}, {TITLES[first[1]]} against {TITLES[second[1]]}": (first, second)
            for first, second in kinds
            if first in values and second in values
        }
        bounds = claimed or {"above": 0.0}
        if not cases:
            return absent("no such runs", unit=unit, **bounds)
        return all_of(gains(values, cases, "seeds", unit=unit, **bounds))

    return measure


def _in_both(first: str, second: str) -> list[tuple[Kind, Kind]]:
    return [((family, first), (family, second)) for family in FAMILIES]


def _floor(table: pd.DataFrame) -> float:
    """Percent of BLiMP's pairs that are right without any training, or by frequencies of tokens where that is known."""
    return max((BY_FREQUENCY.get(task, CHANCE) for task in table["task"].unique()), default=CHANCE)


def above_chance(table: pd.DataFrame, scale: str = "") -> str:
    """BLiMP was read, and models of both families know more of it than which tokens are frequent."""
    known = table.dropna(subset=["blimp"])
    if not len(known):
        return "BLiMP is not here"
    for family, rows in known.groupby("family"):
        if not mean(rows["blimp"] - _floor(table)).interval(LEVEL)[0] > 0:
            floor = "no better than frequencies of tokens" if _floor(table) > CHANCE else "at chance"
            return f"{FAMILIES[str(family)]}'s models are {floor} on BLiMP"
    return ""


def of_the_size(table: pd.DataFrame, scale: str) -> str:
    """What stands in for the paper's models and text: smaller ones, another text, one family."""
    most = table["parameters"].max() / 1e6
    small = f"models of {most:.2g} million weights in place of the paper's {PAPER_SIZE:g}" if most < SMALLEST else ""
    here = [title for family, title in FAMILIES.items() if family in set(table["family"])]
    text = {"laptop": "Shakespeare's plays", "overnight": "2 MB of TinyStories"}.get(scale, "")
    return ", ".join(filter(None, [small, text, f"{here[0]} alone" if len(here) == 1 else ""]))


GPU = "the paper's sizes on ten million words, scored on BLiMP (`lab data fetch blimp`): a GPU"


def _blimp_claim(name: str, says: str, kinds: Sequence[tuple[Kind, Kind]], **claimed: float) -> Claim:
    return Claim(name, says, _above("blimp", kinds, "points", **claimed), above_chance, GPU, stands_in=of_the_size)


def _loss_claim(name: str, says: str, lower: Sequence[tuple[str, str]]) -> Claim:
    """lower: pairs of methods, of which the first has the lower loss, in both families."""
    kinds = [kind for low, high in lower for kind in _in_both(high, low)]
    return Claim(name, says, _above("loss", kinds, "nats"), decides=GPU, stands_in=of_the_size)


MLPS = [name for name in TITLES if name not in KANS]
CLAIMS = (
    _blimp_claim(
        "learnable-gelu-best",
        "Of RoBERTa's activations, a learnable GELU scores best on BLiMP",
        [
            (("roberta", "learnable_gelu"), ("roberta", name))
            for name in BLIMP["roberta"]
            if name not in ("learnable_gelu", *KANS)
        ],
    ),
    _blimp_claim(
        "learnable-gelu",
        "A learnable GELU scores above GELU on BLiMP, in GPT-Neo and in RoBERTa",
        _in_both("learnable_gelu", "gelu"),
    ),
    _blimp_claim("relu", "ReLU scores above GELU on BLiMP, in GPT-Neo and in RoBERTa", _in_both("relu", "gelu")),
    _blimp_claim(
        "kan",
        "Models with a KAN score below all with an MLP on BLiMP",
        [((family, name), (family, "kan")) for family in FAMILIES for name in MLPS],
    ),
    _blimp_claim(
        "alike",
        "Activations of MLPs matter little (less than 2.7 points of BLiMP from GELU)",
        [((family, name), (family, "gelu")) for family in FAMILIES for name in MLPS if name != "gelu"],
        above=-LITTLE,
        below=LITTLE,
    ),
    _loss_claim(
        "learnable",
        "Learnable parameters help (lower loss on held-out text, each activation in each model)",
        list(FIXED.items()),
    ),
    _loss_claim(
        "learnable-geglu",
        "A learnable GEGLU is the best activation of all (expected; by loss on held-out text)",
        [("learnable_geglu", name) for name in MLPS if name != "learnable_geglu"],
    ),
)


def table1(table: pd.DataFrame) -> go.Figure:
    """One row of panels a family, one panel a measurement, one line an activation; table: as `scores` has it.

    Where BLiMP was read, a row of panels more: accuracy by phenomenon, the easiest first.
    """
    rows = alive(table)
    methods = [name for name in TITLES if name in set(table["method"])]
    families = [family for family in FAMILIES if family in set(table["family"])]
    panels = {column: name for column, name in PANELS.items() if column != "step_ms" or _is_timed(rows)}
    titles = [_sized(rows, family) if not n else "" for family in families for n in range(len(panels))]
    read = bool(rows["blimp"].notna().any())
    more = [""] * len(families) if read else []
    figure = grid(
        [*titles, *more], len(panels), ROW * len(methods), gap=66, top=78, left=158 if read else 112, horizontal=26
    )
    for row, family in enumerate(families, 1):
        for number, (column, name) in enumerate(panels.items(), 1):
            _draw(figure, rows[rows["family"] == family], column, methods, (row, number))
            if column == "blimp":
                _draw_printed(figure, BLIMP[family], methods, (row, number))
                floor, ends = _floor(rows), [-0.5, len(methods) - 0.5]
                look = {"name": "token frequencies alone" if floor > CHANCE else "chance", "showlegend": row == 1}
                line(figure, [floor] * 2, ends, INK, (row, number), 1, "dot", hoverinfo="skip", **look)
            mode = "tozero" if column == "step_ms" else "normal"
            figure.update_xaxes(title_text=name, nticks=4, rangemode=mode, row=row, col=number)
            _name_rows(figure, methods, row, number)
    if read:
        _draw_phenomena(figure, rows, families, len(families) + 1)
    one = rows["seed"].nunique() == 1
    set_reading(
        figure,
        f"Points: mean over seeds{'.' if one else f', whiskers: {INTERVAL}.'}",
        "Axes of loss and BLiMP do not begin at 0."
        + (f" Step: of one model alone, the fastest of {ROUNDS}." if _is_timed(rows) else ""),
        "GPT-Neo predicts the next token, RoBERTa masked ones: their losses do not compare." * (len(families) > 1),
        "Below: means over seeds." if read else "BLiMP: the paper's scores alone.",
        f"Not run here: {', '.join([name for family, name in FAMILIES.items() if family not in families] + ['GLUE'])}.",
    )
    return figure


def _sized(rows: pd.DataFrame, family: str) -> str:
    """The name of a family with how many weights its models have."""
    weights = rows.loc[rows["family"] == family, "parameters"].mean()
    return f"{FAMILIES[family]} of {weights / 1e6:.2g} million weights (paper {PAPER_SIZE:g} million)"


def _is_timed(rows: pd.DataFrame) -> bool:
    """Whether the table has times of steps, measured alone; earlier tables have none."""
    return "step_ms" in rows and bool(rows["step_ms"].notna().any())


def _draw(figure: go.Figure, rows: pd.DataFrame, column: str, methods: list[str], at: Panel) -> None:
    known = rows.dropna(subset=[column])
    stats = over_seeds(known, "method", column).reindex(methods)
    if column == "step_ms":  # one time for all seeds
        stats["half"] = np.nan
    for kind, (ink, symbol, _) in KINDS.items():
        some = [method for method in methods if _kind(method) == kind]
        if not some:
            continue
        look: dict[str, Any] = {"name": kind, "legendgroup": kind, "showlegend": at == (1, 1)}
        look |= {"error_x": whiskers(stats["half"][some], 3), "customdata": [TITLES[method] for method in some]}
        look["hovertemplate"] = "%{customdata}: %{x:.4~g} ± %{error_x.array:.2g}"
        points(figure, stats["mean"][some], [methods.index(method) for method in some], ink, at, 8, symbol, **look)


def _draw_printed(figure: go.Figure, scores: dict[str, float], methods: list[str], at: Panel) -> None:
    shown = [method for method in methods if method in scores]
    x, y = [scores[method] for method in shown], [methods.index(method) for method in shown]
    look: dict[str, Any] = {"name": "printed in the paper", "showlegend": at[0] == 1}
    look |= {"customdata": [TITLES[method] for method in shown], "hovertemplate": "%{customdata}, paper: %{x:.1f} %"}
    points(figure, x, y, INK, at, 8, "diamond-open", **look)


def _name_rows(figure: go.Figure, methods: list[str], row: int, column: int) -> None:
    names = {"tickvals": list(range(len(methods))), "ticktext": [TITLES[method] for method in methods], "ticks": ""}
    ends = (len(methods) - 0.5, -0.5)
    figure.update_yaxes(range=ends, showticklabels=column == 1, row=row, col=column, **names)


def _draw_phenomena(figure: go.Figure, rows: pd.DataFrame, families: list[str], row: int) -> None:
    """A panel a family in the first two of a row of the grid: a phenomenon a line, an activation a mark."""
    easy_first = rows[list(PHENOMENA)].mean().sort_values(ascending=False, kind="stable").index
    places, ends = np.arange(len(easy_first)), [-0.6, len(easy_first) - 0.4]
    for column, family in enumerate(families, 1):
        means = rows[rows["family"] == family].groupby("method")[list(easy_first)].mean()
        for method, scores in means.iterrows():
            kind = _kind(str(method))
            ink, symbol, shift = KINDS[kind]
            look: dict[str, Any] = {"name": kind, "legendgroup": kind, "showlegend": False}
            look["hovertemplate"] = f"{TITLES[str(method)]}: %{{x:.1f}} %"
            points(figure, scores, places + shift, ink, (row, column), 6, symbol, **look)
        line(figure, [CHANCE] * 2, ends, INK, (row, column), 1, "dash", name="guessing", showlegend=column == 1)
        figure.update_xaxes(domain=DOMAINS[column - 1] if len(families) > 1 else (0.0, 1.0), row=row, col=column)
        figure.update_xaxes(title_text=PANELS["blimp"], row=row, col=column)
        names = {"tickvals": places, "ticktext": [name.replace("_", " ") for name in easy_first], "ticks": ""}
        figure.update_yaxes(range=ends[::-1], showticklabels=column == 1, row=row, col=column, **names)
        above(figure, f"<b>{FAMILIES[family]}, BLiMP by phenomenon (one mark an activation)</b>", row, column)


def _kind(method: str) -> str:
    fixed, learnable, kan = KINDS
    return kan if method in KANS else learnable if method in FIXED else fixed


ENTRIES = (
    Entry(
        "activations/table1",
        "4",
        "GPT-Neo and RoBERTa with eight activations, and KANs",
        "Held-out loss, accuracy on BLiMP (which of two sentences is grammatical) and the time of a step of small"
        " language models that differ in their activation alone, or have Kolmogorov–Arnold networks (KANs) for MLPs",
        "activations matter little, KANs are worse (abstract); in Table 1 GPT-Neo's KAN is best",
        plan=lambda scale, seeds: plan(scale, seeds, METHODS[scale]),
        measure=scores,
        timed=("step_ms",),
        plot=table1,
        tasks=settings.NAMES,
        summary=summary,
        seeds=SEEDS,
        claims=CLAIMS,
        printed=printed,
        origin=origin(scored=True),
        notes=notes,
        minutes={"smoke": 0.5, "laptop": 28, "overnight": 160, "paper": 1_200},
    ),
)
