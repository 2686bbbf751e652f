"""Figures 7, 13 and 14 of the transformers paper, and Figure 12 of language models: models of several sizes, each with
functions of its own (Section 4.1, Appendix D)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import Estimate
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.entry import Entry, Planned
from lab.papers.tables import POINTS, alive, learned_functions
from lab.papers.transformers import language, settings
from lab.papers.transformers.language import accuracy_gains, better, changes, claim_on_stories, final, verdicts_of
from lab.papers.transformers.settings import (
    ATTENTION,
    BASELINE,
    BOTH,
    FROM_GELU,
    MLP,
    STORIES,
    Setting,
    stories_origin,
    texts_origin,
)
from lab.plots import go
from lab.plots.caption import effect, set_reading, signed
from lab.plots.differences import around, arrows, difference_key, differences, spans
from lab.plots.functions import by_method, gelu
from lab.plots.panels import above, grid, points, run_dots
from lab.plots.style import GREY, GRID, METHOD_SYMBOLS, colour, faded, methods_of
from lab.spec import Learned, Shaped, replace
from lab.statistics import LEVEL
from lab.tasks.named import task_title

SEEDS = settings.TEXT_SEEDS | {"laptop": 6}  # two left a factor of 12.7 on a standard error
SYMMETRIZED = "symmetrized"


def symmetrized(base: Setting, method: str) -> dict:
    """What a method of Figure 12 changes in the baseline's model."""
    return {"mlp": Shaped(Learned(base.search()), SYMMETRIZED)} if method == SYMMETRIZED else changes(base, method)


def plan(texts: Mapping[str, str], methods: Iterable[str], scale: str, seeds: int) -> list[Planned]:
    """Each size with each method, on one text; texts: by scale."""
    runs = []
    for layers, width in settings.SIZES[scale]:
        base = settings.language(texts[scale], scale)
        base = replace(base, model=replace(base.model, layers=layers, width=width))
        for method in methods:
            labels = {"task": base.task_name, "method": method, "layers": layers, "width": width}
            runs += [(labels, run) for run in base.runs(seeds, **symmetrized(base, method))]
    return runs


def by_size(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each size of models, named as "layers×width"."""
    return [(f"{layers}×{width}", rows) for (layers, width), rows in table.groupby(["layers", "width"], sort=True)]


def summary_accuracy(table: pd.DataFrame) -> str:
    return _summary(table, accuracy_gains, "held-out accuracy minus the baseline's, in percentage points")


def summary_perplexity(table: pd.DataFrame) -> str:
    return _summary(table, language.perplexity_gains, "training perplexity below the baseline's, in %")


def _summary(table: pd.DataFrame, gains: Callable, what: str) -> str:
    words = over_sizes(gains(rows, "method", BASELINE) for _, rows in by_size(table))
    return f"{task_title(table['task'].iloc[0])}, {what}: {words}."


def summary_symmetrized(table: pd.DataFrame) -> str:
    """The difference at each size, and how many are more than noise."""
    known = {size: accuracy_gains(rows, "method", MLP) for size, rows in by_size(table)}
    pairs = {size: one[SYMMETRIZED] for size, one in known.items() if SYMMETRIZED in one}
    words = ", ".join(f"{size} {effect(one)}" for size, one in pairs.items())
    said = f"{task_title(table['task'].iloc[0])}, symmetrized minus learned, in points by layers × width: {words}."
    return f"{language.clear_of_noise(pairs.values(), table)}{said}"


def over_sizes(sizes: Iterable[Mapping[str, Estimate]]) -> str:
    """What a caption says of gains by method, one mapping a size: their range, and at how many they are clear of noise.

    >>> from lab import estimates
    >>> over_sizes([{"learned MLP": estimates.mean([1.1, 1.2])}, {"learned MLP": estimates.mean([-0.9, 0.5])}])
    'learned MLP −0.20 to +1.15 (clear of noise: 1 better, 0 worse)'
    """
    known: dict[str, list[Estimate]] = {}
    for one in sizes:
        for method, gain in one.items():
            if not isnan(gain.effect):  # every run of that size diverged
                known.setdefault(method, []).append(gain)
    return ", ".join(
        f"{method} {signed(min(gain.effect for gain in gains), 2)} to {signed(max(gain.effect for gain in gains), 2)}"
        f" (clear of noise: {sum(gain.interval(LEVEL)[0] > 0 for gain in gains)} better,"
        f" {sum(gain.interval(LEVEL)[1] < 0 for gain in gains)} worse)"
        for method, gains in known.items()
    )


def _better_at_each_size(table: pd.DataFrame) -> Verdict:
    effects = [(size, accuracy_gains(rows, "method", BASELINE)) for size, rows in by_size(table)]
    return all_of(verdicts_of(MLP, effects, above=0.0, unit=POINTS))


def _mlp_alone_is_best(table: pd.DataFrame) -> Verdict:
    verdicts = []
    for size, rows in by_size(table):
        effects = language.perplexity_changes(rows, "method", MLP)
        for method in (ATTENTION, BOTH):
            verdicts += verdicts_of(method, [(f"{size}, {method}", effects)], above=0.0, unit="%")
    return all_of(verdicts)


FIG7 = (claim_on_stories("sizes", "Learned functions improve the accuracy at each model size", _better_at_each_size),)
FIG12 = (
    claim_on_stories(
        "symmetrized",
        "Symmetrized functions of language models perform worse than the original ones, at every size",
        lambda table: all_of(better(rows, SYMMETRIZED, MLP, size, below=0.0) for size, rows in by_size(table)),
    ),
)
FIG13 = (
    Claim(
        "mlp-alone",
        "It is best to learn the function of the MLP alone",
        _mlp_alone_is_best,
        language.some_text,
        "12 seeds and 3 searches of each size",
        2.0,
    ),
)


DOTS = "Dots: one run each, against the baseline's {}."


def fig7(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Left: accuracy minus the baseline's by size and method; right: functions of the largest model, of one that was
    learned from GELU what it adds to it.

    table: method, layers, width, seed, accuracy. functions: method, layers, width, x, value.
    """
    sizes = functions[["layers", "width"]]
    shown = functions[(sizes == sizes.max()).all(axis=1)]
    methods = methods_of(shown)
    titles = ["learned from GELU" if method == FROM_GELU else method for method in methods]
    figure = grid([task_title(table["task"].iloc[0]), *titles], 1 + len(methods), height=260, top=64, horizontal=66)
    _draw_gains(figure, table, accuracy_gains)
    for column, method in enumerate(methods, 2):
        curve = shown[shown["method"] == method].sort_values("x")
        if added := method == FROM_GELU:
            curve = curve.assign(value=curve["value"] - gelu(curve["x"].to_numpy(float)))
            apart = np.flatnonzero(curve["value"].abs() > 1e-3)
            curve = curve.iloc[apart[0] : apart[-1] + 1] if len(apart) else curve
        by_method(figure, curve, (1, column))
        figure.update_xaxes(title_text="input x", row=1, col=column)
        figure.update_yaxes(title_text="φ(x) − GELU(x)" if added else "φ(x)", row=1, col=column)
    figure.update_xaxes(title_text="layers × width", row=1, col=1)
    figure.update_yaxes(title_text="accuracy minus baseline (% points)", row=1, col=1)
    words = "Right: of the largest model, where they are not zero."
    set_reading(
        figure, f"Left: held-out text. {DOTS.format('mean')}", language.spread(table), difference_key(figure), words
    )
    return figure


def fig13(table: pd.DataFrame) -> go.Figure:
    """How far training perplexity is below the baseline's, in percent, by size; methods side by side.

    table: method, layers, width, seed, perplexity.
    """
    figure = grid([task_title(table["task"].iloc[0])], 1, height=270, top=64)
    _draw_gains(figure, table, language.perplexity_gains)
    figure.update_xaxes(title_text="layers × width", showgrid=False)
    figure.update_yaxes(title_text="% below the baseline, better →")
    for size in range(1, len(by_size(table))):
        figure.add_vline(x=size - 0.5, line={"color": GRID, "width": 1})
    set_reading(figure, f"{DOTS.format('of its seed')} {language.spread(table)}", difference_key(figure))
    return figure


def _draw_gains(figure: go.Figure, table: pd.DataFrame, gains: Callable) -> None:
    """In the first panel: gains of each method over the baseline, by size."""
    sizes = dict(by_size(alive(table)))
    effects = {size: gains(rows, "method", BASELINE) for size, rows in sizes.items()}
    methods = [method for method in methods_of(table) if method != BASELINE]
    runs = {(size, method): _each(sizes[size], method, gains) for size in sizes for method in effects[size]}
    values, lows, highs = spans(gain for one in effects.values() for gain in one.values())
    ends = np.array([(min(each), max(each)) for each in runs.values()]).reshape(-1, 2)
    limits = around(values, np.fmin(lows, ends[:, 0]), np.fmax(highs, ends[:, 1]))
    apart = 0.5 / max(len(methods), 1)
    for rank, method in enumerate(methods):
        known = {x: one[method] for x, one in enumerate(effects.values()) if method in one}
        places = [x + apart * (rank - (len(methods) - 1) / 2) for x in known]
        look: dict[str, Any] = {"hovertemplate": "%{y:+.3f} ± %{error_y.array:.3f}"}
        differences(figure, places, spans(known.values()), method, (1, 1), limits=limits, **look)
        for x, place in zip(known, places, strict=True):
            each = runs[list(sizes)[x], method]
            across = [place + 0.4 * apart] * len(each)
            run_dots(figure, across, each, method, (1, 1))
            arrows(figure, across, each, each, limits, faded(colour(method), 0.5), (1, 1), upright=True)
        look = {"name": method, "legendgroup": method}
        points(figure, [None], [None], colour(method), (1, 1), 9, METHOD_SYMBOLS[method], **look)
    figure.add_hline(y=0, line={"color": GREY, "width": 1.2}, row=1, col=1)
    axis = {"tickvals": list(range(len(effects))), "ticktext": list(effects), "range": (-0.5, len(effects) - 0.5)}
    figure.update_xaxes(**axis, row=1, col=1)
    figure.update_yaxes(range=limits, row=1, col=1)


def _each(rows: pd.DataFrame, method: str, gains: Callable) -> list[float]:
    """The gain of each run of a method over the baseline's mean, or that of its seed where gains are within seeds."""
    ours = rows["method"] == method
    alone = (rows[~ours | (rows["seed"] == seed)] for seed in rows.loc[ours, "seed"])
    return [gains(one, "method", BASELINE)[method].effect for one in alone]


def fig12(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a size: the function and its symmetrized version; what models lose with the second, and with GELU.

    table: method, layers, width, seed, accuracy, diverged. functions: method, layers, width, x, value.
    """
    sizes = by_size(table)
    losses = [accuracy_gains(rows, "method", MLP) for _, rows in sizes]
    limits = around(*spans(loss for one in losses for loss in one.values()))
    heads = [title for size, _ in sizes for title in (f"layers × width {size}", "")]
    figure = grid(heads, 2, 120, gap=50, top=62, horizontal=100)
    for row, ((_, rows), known) in enumerate(zip(sizes, losses, strict=True), 1):
        same = functions[["layers", "width"]] == rows[["layers", "width"]].iloc[0]
        by_method(figure, functions[same.all(axis=1)], (row, 1), legend=row == 1)
        for y, method in enumerate((BASELINE, SYMMETRIZED)):
            if method in known:
                look: dict[str, Any] = {"hovertemplate": "%{x:+.2f} ± %{error_x.array:.2f} points"}
                differences(figure, [y], spans([known[method]]), method, (row, 2), upright=False, limits=limits, **look)
        figure.add_vline(x=0, line={"color": colour(MLP), "width": 1.5}, row=row, col=2)
        figure.update_yaxes(title_text="φ(x)", row=row, col=1)
        names = {"tickvals": [0, 1], "ticktext": ["GELU", SYMMETRIZED], "ticks": ""}
        figure.update_yaxes(range=(-0.7, 1.7), **names, row=row, col=2)
        figure.update_xaxes(range=limits, row=row, col=2)
    above(figure, "accuracy minus the learned function's", 1, 2)
    figure.update_xaxes(title_text="input x", row=len(sizes), col=1)
    figure.update_xaxes(title_text="difference (% points)", row=len(sizes), col=2)
    words = "Left: where the learned function is not zero. Blue line: the learned function."
    set_reading(figure, words, language.spread(table), difference_key(figure))
    return figure


def _shakespeare(number: int, tokens: str, smoke: str, words: str, minutes: float) -> Entry:
    texts = {"smoke": f"moby_dick {smoke}"} | dict.fromkeys(("laptop", "paper"), f"shakespeare {tokens}")
    names = tuple(dict.fromkeys(texts.values()))
    return Entry(
        f"transformers/fig{number}",
        "D",
        f"Shakespeare's plays by {words}: models of several sizes",
        f"How much lower training perplexity is than the baseline's on Shakespeare's plays by {words}, with functions"
        " learned for the MLP, for the attention, and for both, by layers × width",
        "it is best to replace GELU alone, and to keep softmax",
        tasks=names,
        plan=partial(plan, texts, (BASELINE, MLP, ATTENTION, BOTH)),
        measure=final,
        plot=fig13,
        summary=summary_perplexity,
        claims=FIG13,
        origin=texts_origin(names),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": minutes, "paper": 800},
    )


_STORIES: dict[str, Any] = {
    "tasks": settings.STORY_NAMES,
    "measure": final,
    "functions": partial(learned_functions, support=True),
    "origin": stories_origin(),
    "seeds": SEEDS,
}
ENTRIES = (
    Entry(
        "transformers/fig7",
        "4.1",
        "Children's stories: models of several sizes, and their functions",
        "Left: accuracy on held-out text, in the second half of the context, minus the baseline's, by layers × width,"
        " with MLP functions learned from zero and from GELU. Right: these functions, the second minus GELU",
        "the accuracy is slightly and consistently better at each size; functions from zero look like wavelets",
        plan=partial(plan, STORIES, (BASELINE, MLP, FROM_GELU)),
        plot=fig7,
        summary=summary_accuracy,
        claims=FIG7,
        minutes={"smoke": 0.5, "laptop": 10, "paper": 800},
        **_STORIES,
    ),
    Entry(
        "transformers/fig12_language",
        "D",
        "Learned functions of language models, made symmetric",
        "Left: functions that were learned for language models of several sizes, and the average of each with its most"
        " similar mirror image. Right: held-out accuracy of models with that average, minus that with the function",
        "symmetrized functions are worse in almost every case: fine details matter",
        plan=partial(plan, STORIES, (BASELINE, MLP, SYMMETRIZED)),
        plot=fig12,
        summary=summary_symmetrized,
        claims=FIG12,
        minutes={"smoke": 0.5, "laptop": 12, "paper": 800},
        place=("fig", "", 12, "language"),
        **_STORIES,
    ),
    _shakespeare(13, "char", "char", "characters", 13),
    _shakespeare(14, "gpt2", "bpe", "subwords", 25),
)
