"""Figures 8, 9 and 15 of the transformers paper: language models of prose and code (Section 4, Appendix D)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import copysign, exp, isfinite
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.compatibility import clear, unlearned
from lab.papers.entry import Entry, Planned
from lab.papers.heatmaps import COLOURED, Matrix, Scale, heatmaps
from lab.papers.tables import POINTS, Labelled, alive, compare_one, per_run, per_seed
from lab.papers.transformers import language, settings
from lab.papers.transformers.language import LINEAR, claim_on_texts, perplexity_changes, some_text, verdicts_of
from lab.papers.transformers.matrix import comparable
from lab.papers.transformers.settings import BASELINE, FROM_GELU, MLP, TEXT_NAMES, TEXT_SEEDS, TEXTS, texts_origin
from lab.plots import go
from lab.plots.caption import bounds, effect, set_reading, signed
from lab.plots.differences import around, difference_key, differences, spans, write_digits
from lab.plots.panels import STEP, above, grid, line
from lab.plots.style import GREY, INK, SIZE, colour, faded, methods_of
from lab.spec import replace
from lab.statistics import LEVEL
from lab.tasks.named import task_title

MANO, MATRIX = "mano", "transformers/fig5"
METHODS = (LINEAR, BASELINE, *language.LEARNED)
UNCLEAR = ("shakespeare char", "shakespeare gpt2")  # three seeds do not decide what is said of them
SMALL = 2.0  # percent of perplexity: what is taken here as very small


def by_method(name: str, scale: str, seeds: int, methods: Sequence[str]) -> list[Planned]:
    """Runs on a text, with each method."""
    base = settings.language(name, scale)
    labels = {"task": base.task_name}
    return [(labels | {"method": m}, run) for m in methods for run in base.runs(seeds, **language.changes(base, m))]


def plan_fig9(scale: str, seeds: int) -> list[Planned]:
    """Each text, and MANO, with the baseline, and with the MLP function learned for each."""
    known = [*(settings.language(name, scale) for name in TEXTS[scale]), settings.setting(MANO, scale)]
    runs = []
    for base in known:
        kinds = {BASELINE: None} | {other.task_name: other.search() for other in known}
        for kind, search in kinds.items():
            labels = {"task": base.task_name, "architecture": kind}
            runs += [(labels, run) for run in base.runs(seeds, search)]
    return runs


def plan_fig15(scale: str, seeds: int) -> list[Planned]:
    """The baseline, and the learned function of the MLP. At laptop scale half as many seeds where these are enough."""
    each = {name: -(-seeds // 2) if scale == "laptop" and name not in UNCLEAR else seeds for name in TEXTS[scale]}
    return [planned for name, count in each.items() for planned in by_method(name, scale, count, (BASELINE, MLP))]


def measure_fig9(runs: Labelled) -> pd.DataFrame:
    """At the end of each run: task, architecture (whose function), seed, training perplexity, accuracy, diverged."""
    return per_run(runs, lambda run: {"perplexity": exp(run.loss[-1]), "accuracy": float(run.accuracy[-1])})


def losses_by_method(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Of one text: loss on held-out text, steps × seeds, by method."""
    kinds = alive(rows).groupby("method")
    return {kind: part.pivot(index="step", columns="seed", values="loss") for kind, part in kinds}


def early_and_last(losses: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """By seed: mean in the first third of training, or at its first evaluation; and at its end."""
    first, last = losses.index.min(), losses.index.max()
    return losses[losses.index <= max(first, last / 3)].mean(), losses.loc[last]


def summary_fig8(table: pd.DataFrame) -> str:
    words, effects = [], []
    for task, rows in table.groupby("task", sort=False):
        known, ours = perplexity_changes(rows, "method", BASELINE), ""
        effects += [change for method, change in known.items() if method != LINEAR]
        lower = [method for method, change in known.items() if change.effect < 0]
        lowest = min(lower, key=lambda method: known[method].effect, default=BASELINE)
        if MLP in known:
            low, high = known[MLP].interval(LEVEL)
            ours = f" {signed(known[MLP].effect)} %" + (f" {bounds(low, high)}" if isfinite(low) else "")
        best = f" (lowest: {lowest})" if lowest != MLP else ""
        words.append(f"{task_title(task)}{ours}{best}")
    noise = language.clear_of_noise(effects, table)
    return f"{noise}Learned MLP against GELU: {'; '.join(words)}."


def summary_fig9(table: pd.DataFrame) -> str:
    dead = _dead(table)
    cells = language.perplexity_cells(table)[lambda rows: ~rows["task"].isin(dead)]
    wide = cells.pivot(index="architecture", columns="task", values="delta")[cells["task"].unique()]
    apart = _apart(cells)
    texts, far = list(apart.index), ", ".join(f"{one:.1f}" for one in apart)
    words = f"Functions of these texts differ by up to {far} % of GELU's perplexity on them"
    if MANO in wide.index:
        more = ", ".join(signed(wide.loc[MANO, task] - wide.loc[task, task]) for task in texts)
        words += f"; MANO's from a text's own by {more}"
    if MANO in wide:
        words += f"; on MANO all are {signed(wide[MANO].max(), 0)} to {signed(wide[MANO].min(), 0)} %"
    noise = f"{int(clear(cells).sum())} of {len(cells)} cells are clear of seed noise against GELU. "
    return (noise if cells["low"].notna().any() else "") + f"{words}."


def summary_fig15(table: pd.DataFrame) -> str:
    words = []
    for task, rows in table.groupby("task", sort=False):
        losses = losses_by_method(rows)
        if {BASELINE, MLP} <= set(losses):
            base, ours = (early_and_last(losses[kind]) for kind in (BASELINE, MLP))
            early, last = (signed(a.mean() - b.mean(), 3) for a, b in zip(base, ours, strict=True))
            words.append(f"{task_title(task)} {early}, {last}")
    said = (
        "Loss of the baseline minus that with the learned function, held-out text, nats a token; mean over the first"
        " third of training, and at the end"
    )
    return f"{said}: {'; '.join(words)}."


def _against(table: pd.DataFrame, base: str) -> list[tuple[object, dict[str, estimates.Estimate]]]:
    """By text of the paper: training perplexity of each method against that of `base`."""
    return [
        (task, perplexity_changes(rows, "method", base))
        for task, rows in language.of_paper(table).groupby("task", sort=False)
    ]


def _mlp_is_better(table: pd.DataFrame) -> Verdict:
    """Training perplexity at the end with the learned MLP function, below the baseline's on each of the paper's texts.
    Read from the curves of Figure 15, which have more seeds of a text than the bars of Figure 8."""
    ends = table[table["step"] == table["step"].max()]
    return all_of(verdicts_of(MLP, _against(ends, BASELINE), below=0.0, unit="%"))


def _relative_gains(table: pd.DataFrame) -> dict[str, float]:
    """By text: what the learned MLP function gains in log perplexity, as a share of what GELU gains on a linear MLP."""
    shares = {}
    for task, rows in table.groupby("task", sort=False):
        logs = {kind: np.log(values).mean() for kind, values in language.groups(rows, "method", "perplexity").items()}
        if {LINEAR, BASELINE, MLP} <= set(logs):
            shares[str(task)] = float(100 * (logs[BASELINE] - logs[MLP]) / (logs[LINEAR] - logs[BASELINE]))
    return shares


def _code_gains_more(table: pd.DataFrame) -> Verdict:
    """Relative gains on code minus those on prose; a text is one unit."""
    sides: dict[str, list[float]] = {"code": [], "prose": []}
    for task, gain in _relative_gains(table).items():
        sides["code" if task.split()[0] in settings.CODE else "prose"].append(gain)
    if not all(sides.values()):
        return absent("there are not both code and prose", unit=POINTS, above=0.0)
    difference = compare_one(sides, "code", "prose", "texts, of one search each")
    return Verdict(replace(difference, over="texts"), above=0.0, unit=POINTS)


def _in_both(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of texts that are read by characters and by subwords."""
    corpus = table["task"].str.split().str[0]
    return table[table.groupby(corpus)["task"].transform("nunique") > 1]


def _characters_gain_more(table: pd.DataFrame) -> Verdict:
    """Relative gains by characters minus those by subwords, of texts that have both."""
    gains = {tuple(task.split()): gain for task, gain in _relative_gains(_in_both(table)).items()}
    both = [gains[corpus, "char"] - gain for (corpus, tokens), gain in gains.items() if tokens != "char"]
    return Verdict(estimates.mean(both, "texts", "texts, of one search each"), above=0.0, unit=POINTS)


def _whose(other: str, task: object) -> str:
    return f"{task_title(other)}'s on {task_title(str(task))}"


def _differences_are_small(table: pd.DataFrame) -> Verdict:
    """On each text, perplexity with a function of another text against that with its own."""
    verdicts, texts = [], table[table["task"] != MANO]
    for task, rows in texts.groupby("task", sort=False):
        known = rows[rows["architecture"].isin(texts["task"])]
        for other, change in perplexity_changes(known, "architecture", str(task)).items():
            verdicts.append(Verdict(change, above=-SMALL, below=SMALL, unit="%", case=_whose(other, task)))
    return all_of(verdicts)


def _spread(table: pd.DataFrame, task: str) -> float:
    """How far a task's accuracies with different functions lie apart: the standard deviation over functions, in points,
    without what the noise of seeds adds to it. Negative where that noise alone would make them vary more."""
    runs = per_seed(table[table["task"] == task], "architecture").drop(columns=BASELINE)
    noise = (runs.var(ddof=1) / runs.count()).mean()
    rest = float(runs.mean().var(ddof=1) - noise)
    return copysign(abs(rest) ** 0.5, rest)


def _less_than_on_tasks(table: pd.DataFrame) -> Verdict:
    """The spread on algorithmic tasks of Figure 5 minus that on texts, each over its tasks."""
    texts = table[(table["entry"] != MATRIX) & (table["task"] != MANO)]
    tasks = table[table["entry"] == MATRIX]
    known = {"tasks": (tasks, comparable(tasks)), "texts": (texts, list(texts["task"].unique()))}
    spreads = {side: [_spread(rows, task) for task in names] for side, (rows, names) in known.items()}
    covers = "tasks and texts, of one search each"
    return Verdict(replace(compare_one(spreads, "tasks", "texts", covers), over="texts"), above=0.0, unit=POINTS)


def _larger_early(table: pd.DataFrame) -> Verdict:
    """Early gain minus last gain: how much more the baseline's loss falls in between, each run by itself."""
    verdicts = []
    for task, rows in language.of_paper(table).groupby("task", sort=False):
        ends = {kind: early_and_last(losses) for kind, losses in losses_by_method(rows).items()}
        falls = {kind: (early - last).tolist() for kind, (early, last) in ends.items()}
        if {BASELINE, MLP} <= set(falls):
            difference = compare_one(falls, BASELINE, MLP, language.COVERS)
            verdicts.append(Verdict(difference, above=0.0, unit="nats", case=str(task)))
    return all_of(verdicts)


_of_texts = partial(
    Claim, needs=some_text, decides="3 seeds more of each text", hours=0.2, stands_in=language.other_texts
)
FIG8 = (
    _of_texts(
        "local-optimum",
        "GELU is no local optimum: functions learned from it have a lower perplexity, on some text",
        lambda table: any_of(verdicts_of(FROM_GELU, _against(table, BASELINE), below=0.0, unit="%")),
    ),
    _of_texts(
        "from-zero",
        "Functions learned from GELU have a higher perplexity than those from zero, on each text",
        lambda table: all_of(verdicts_of(FROM_GELU, _against(table, MLP), above=0.0, unit="%")),
    ),
    claim_on_texts(
        "code", "Code gains more than prose, in shares of what GELU gains on a linear MLP", _code_gains_more
    ),
    claim_on_texts(
        "characters",
        "The gain is clearer with characters than with subwords",
        _characters_gain_more,
        stands_in=lambda table, scale: language.other_texts(_in_both(table), scale),
    ),
)
FIG9 = (
    claim_on_texts(
        "small",
        f"Which text a function was learned for makes less than {SMALL:.0f} % of perplexity",
        _differences_are_small,
    ),
    claim_on_texts(
        "contrast",
        "Functions matter less on texts than on algorithmic tasks (spread of accuracies, Figure 5)",
        _less_than_on_tasks,
        with_entry=MATRIX,
        decides="Figure 5 at the paper's settings with 12 seeds a cell: three of its tasks have noise alone",
        hours=14.0,
        stands_in=lambda table, scale: language.other_texts(table[table["entry"] != MATRIX], scale),
    ),
)
FIG15 = (
    _of_texts(
        "mlp",
        "Learned MLP functions have a lower perplexity than GELU on Shakespeare (characters, subwords)",
        _mlp_is_better,
        decides="the paper's models; a GPU",
        hours=float("nan"),
    ),
    _of_texts(
        "early",
        "The improvement is larger early in training, and diminishes",
        _larger_early,
        decides="the paper's models; a GPU",
        hours=float("nan"),
    ),
)


def fig8(table: pd.DataFrame) -> go.Figure:
    """One panel a text, one row a method: its training perplexity against the baseline's, in percent, on one axis. A
    linear MLP is far off, and stands as a number."""
    tasks = list(table["task"].unique())
    shown = [method for method in methods_of(table) if method not in (BASELINE, LINEAR)]
    known = {task: perplexity_changes(table[table["task"] == task], "method", BASELINE) for task in tasks}
    drawn = [change for changes in known.values() for method, change in changes.items() if method != LINEAR]
    limits = around(*spans(drawn))
    figure = grid([task_title(task) for task in tasks], 1, 22 * len(shown), gap=46, top=32, left=156)
    figure.update_layout(margin={"r": 128})
    for row, (task, changes) in enumerate(known.items(), 1):
        for y, method in enumerate(shown):
            if method in changes:
                look: dict[str, Any] = {"name": method, "hovertemplate": f"{method}: %{{x:+.2f}} %"}
                differences(
                    figure, [y], spans([changes[method]]), method, (row, 1), upright=False, limits=limits, **look
                )
                write_digits(figure, (row, 1), y, effect(changes[method]), INK)
        mean = alive(table)[lambda rows, task=task: (rows["task"] == task) & (rows["method"] == BASELINE)]["perplexity"]
        head = f"baseline {mean.mean():.3g}"
        head += f", {LINEAR} {signed(changes[LINEAR].effect)} %" if LINEAR in changes else ""
        above(figure, head, row, 1, side="right", size=SIZE - 1)
        ticks = {"tickvals": list(range(len(shown))), "ticktext": shown, "ticks": ""}
        figure.update_yaxes(range=(len(shown) - 0.5, -0.5), **ticks, row=row, col=1)
        figure.update_xaxes(range=limits, showticklabels=row == len(tasks), row=row, col=1)
        figure.add_vline(x=0, line={"color": GREY, "width": 1.2}, row=row, col=1)
    figure.update_xaxes(
        title_text="training perplexity against the baseline (%); lower is better", row=len(tasks), col=1
    )
    set_reading(figure, language.spread(table), difference_key(figure))
    return figure


def fig15(table: pd.DataFrame) -> go.Figure:
    """One row a text. Left: loss on held-out text over training, by method; right: the baseline's minus the other's."""
    tasks = list(table["task"].unique())
    titles = [title for task in tasks for title in (task_title(task), "")]
    figure = grid(titles, 2, height=130, gap=46, top=60, horizontal=66)
    above(figure, "baseline − learned", 1, 2)
    for row, task in enumerate(tasks, 1):
        rows = table[table["task"] == task]
        for method in methods_of(rows):
            runs = rows[rows["method"] == method].pivot(index="step", columns="seed", values="loss")
            for seed in runs:
                thin: dict[str, Any] = {"name": f"{method}, seed {seed}", "showlegend": False, "hoverinfo": "skip"}
                ink = faded(colour(method), 0.35)
                line(figure, runs.index, runs[seed], ink, (row, 1), 1, legendgroup=method, **thin)
            look: dict[str, Any] = {"name": method, "legendgroup": method, "showlegend": row == 1}
            hover = "step %{x}: %{y:.3f} nats"
            line(figure, runs.index, runs.mean(axis=1), colour(method), (row, 1), 2.4, hovertemplate=hover, **look)
        _draw_gain(figure, losses_by_method(rows), row)
        figure.update_yaxes(title_text="loss (nats a token)", row=row, col=1)
        figure.update_yaxes(title_text="gain (nats)", row=row, col=2)
    figure.update_xaxes(title_text=STEP, row=len(tasks))
    set_reading(
        figure,
        "Left: held-out text; thin: one run a seed, thick: mean. Right: how much lower the loss is with the learned"
        " function.",
        language.spread(table, "Band"),
    )
    return figure


def _draw_gain(figure: go.Figure, losses: dict[str, pd.DataFrame], row: int) -> None:
    if not {BASELINE, MLP} <= set(losses):
        return
    x, ink, at = losses[BASELINE].index.to_numpy(), colour(MLP), (row, 2)
    gains = [compare_one({kind: losses[kind].loc[step] for kind in (BASELINE, MLP)}, BASELINE, MLP) for step in x]
    low, high = np.array([one.interval(LEVEL) for one in gains]).T
    if np.isfinite([low, high]).any():
        box = {"fill": "toself", "fillcolor": faded(ink, 0.18), "mode": "lines", "line": {"width": 0}}
        box |= {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]]), "hoverinfo": "skip"}
        figure.add_scatter(**box, name="interval", showlegend=False, row=row, col=2)
    look: dict[str, Any] = {"name": "gain", "showlegend": False, "hovertemplate": "step %{x}: %{y:.3f}"}
    line(figure, x, [one.effect for one in gains], ink, at, 2.2, **look)
    figure.add_hline(y=0, line={"color": GREY, "width": 1.2}, row=row, col=2)


PERPLEXITIES = Scale(
    "Δ training perplexity, with the function − baseline (%); lower is better", 10.0, "%", falling=True
)


def fig9(table: pd.DataFrame) -> go.Figure:
    """Rows: whose function; columns: what the model is trained on. table: task, architecture, seed, perplexity."""
    cells = language.perplexity_cells(table)
    dead = _dead(table)
    one = Matrix("", cells, dead, framed=False)
    figure = heatmaps([one], PERPLEXITIES, ("function learned for", "trained on"), left=176)
    apart, axis = _apart(cells), figure.layout.xaxis
    more = [f"<br>{apart[one]:.1f} apart" if one in apart else "" for one in cells["task"].unique()]
    figure.update_xaxes(ticktext=[name + far for name, far in zip(axis.ticktext, more, strict=True)])
    known, names = cells["low"].notna().any(), ", ".join(map(task_title, sorted(dead)))
    set_reading(
        figure,
        COLOURED if known else "",
        "Apart: from the lowest to the highest perplexity with a function of a text, in percent of GELU's.",
        f"†: no model of {names} is better than a trivial answer, nor was that of its search." if dead else "",
        language.spread(table, "±"),
    )
    return figure


def _apart(cells: pd.DataFrame) -> pd.Series:
    """By text: between the lowest and the highest perplexity on it with a function of a text, in percent of GELU's."""
    of_texts = cells[(cells["task"] != MANO) & (cells["architecture"] != MANO)]
    return of_texts.groupby("task", sort=False)["delta"].agg(np.ptp)


def _dead(table: pd.DataFrame) -> frozenset[str]:
    """MANO, where no model has learned it."""
    return unlearned(table[table["task"] == MANO])


_TEXTS: dict[str, Any] = {"tasks": TEXT_NAMES, "origin": texts_origin(TEXT_NAMES)}
ENTRIES = (
    Entry(
        "transformers/fig8",
        "4.1",
        "Perplexity of language models on prose and code",
        "Training perplexity with a linear MLP, with GELU, and with functions learned for the MLP (from zero, and from"
        " GELU), for the attention, and for both",
        "the learned MLP is mostly best; gains are larger on code, and on characters",
        plan=lambda scale, seeds: [run for name in TEXTS[scale] for run in by_method(name, scale, seeds, METHODS)],
        measure=language.final,
        plot=fig8,
        summary=summary_fig8,
        claims=FIG8,
        seeds=TEXT_SEEDS,
        minutes={"smoke": 0.5, "laptop": 30, "paper": 2000},
        **_TEXTS,
    ),
    Entry(
        "transformers/fig9",
        "4.2",
        "Compatibility of functions across texts",
        "Training perplexity on a text with the MLP function learned for another, or for MANO, against GELU",
        "differences are very small, much smaller than between algorithmic tasks",
        tasks=(*TEXT_NAMES, MANO),
        plan=plan_fig9,
        measure=measure_fig9,
        plot=fig9,
        summary=summary_fig9,
        claims=FIG9,
        origin=texts_origin(TEXT_NAMES, [MANO]),
        seeds=TEXT_SEEDS,
        minutes={"smoke": 0.5, "laptop": 16, "paper": 2000},
    ),
    Entry(
        "transformers/fig15",
        "D",
        "Language models over training",
        "Loss on held-out text over training, with GELU and with the function learned for the MLP, and the difference",
        "the improvement is larger early in training, then it diminishes",
        plan=plan_fig15,
        measure=language.curves,
        plot=fig15,
        summary=summary_fig15,
        claims=FIG15,
        **_TEXTS,
        seeds=TEXT_SEEDS | {"laptop": 6},
        minutes={"smoke": 0.3, "laptop": 12, "paper": 700},
    ),
)
