"""Do functions that were learned in one paper's setting serve the models of the others?

A task and a model of each paper have a place in which any function can stand. The transformers paper claims it of its
own tasks alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import Estimate, compare, finite, missing, on_rows, pooled_means
from lab.papers.activations import settings as activations
from lab.papers.claims import Claim, Verdict, all_of, any_of
from lab.papers.crossing import hyla_phi
from lab.papers.entry import SILENT, Entry, Field, Origin, Planned, Tuned, shipped
from lab.papers.heatmaps import UNCLEAR
from lab.papers.simplicity.tables.settings import RELU, START, network, rows_tested
from lab.papers.simplicity.tables.settings import search as search_table
from lab.papers.tables import POINTS, Labelled, alive, at_best_rates, best_rates, per_run
from lab.papers.transformers.settings import setting
from lab.plots import go
from lab.plots.caption import effect, set_reading, signed
from lab.plots.style import BLACK, DIVERGING, SIZE, TEMPLATE, cell_ink
from lab.run import Run
from lab.scale import check_scale
from lab.spec import Learned, Part, RunSpec, SearchSpec, replace
from lab.statistics import LEVEL
from lab.tasks import Logic, Tabular, Text

BASELINE = "baseline"
TUNING_SEED = 100  # no figure reports it
TEST, VAL = "test", "val"
TABLES = {"smoke": "bank-marketing", "laptop": "covertype_sample", "paper": "covertype_sample"}
ON_TABLE = "perceptron"  # the model that is tested on the rows of a table; the other tasks can be had without end
HYLA = "HYLA"  # its seed decides what is held out, so that its gains are within seeds
SCORES = {HYLA: "R²"}  # others: accuracy
KINDS = ("model", "function")  # what has a rate of its own
ROW = 46  # px of the matrix
PALER = 1.3  # times, so that numbers are black on each shade


@dataclass(frozen=True)
class Place:
    """Where a function can stand.

    base: a run of the paper's own baseline, whose score on `test` is followed. part: the name of the place in its
    model. learned: the function of this place. rates: from which each function has its best on `val`.
    share: of the seeds of a figure, how many it has. tuning: runs on `val` that choose a rate.
    """

    name: str
    base: RunSpec
    part: str
    learned: Learned
    rates: tuple[float, ...]
    share: float = 1.0
    tuning: int = 1

    def runs(self, phi: Part | None, rate: float, seeds: int) -> list[RunSpec]:
        """One run a seed with a function (None: the baseline's), and those on `val`, with seeds that no figure uses."""
        model = self.base.model if phi is None else replace(self.base.model, **{self.part: phi})
        run = replace(self.base, model=model, recipe=replace(self.base.recipe, rate=rate))
        count = max(min(seeds, 2), round(self.share * seeds))
        tuning = (replace(run, seed=TUNING_SEED + number, evaluate=(VAL,)) for number in range(self.tuning))
        return [*(replace(run, seed=seed) for seed in range(count)), *tuning]


def transformer(scale: str) -> Place:
    """Key–value pairs, memorized by a transformer (transformers paper, Section 3.1)."""
    task_setting = setting("memorize", scale)
    (base,) = task_setting.runs(1, short=True)
    rates = (task_setting.recipe.rate,) if scale == "smoke" else (0.0025, 0.005, 0.01, 0.02, 0.04)
    return Place("transformer", base, "mlp", Learned(task_setting.search()), rates)


def perceptron(scale: str) -> Place:
    """A table, by a perceptron (simplicity paper, Section 3.3); its function is learned by episodes."""
    name = TABLES[scale]
    base = replace(network(scale, name, RELU), evaluate=(TEST,))
    search, rate = search_table(scale, name, START), base.recipe.rate
    rates = (rate,) if scale == "smoke" else (rate, 3 * rate, 9 * rate, 27 * rate)
    return Place(ON_TABLE, base, "phi", Learned(search, "phi"), rates)


def hyla(scale: str) -> Place:
    """Fuzzy logic in context, by HYLA (hypernetwork paper, Section 3)."""
    base = replace(hyla_phi.base("logic", scale), evaluate=(TEST,))
    rates = (base.recipe.rate,) if scale == "smoke" else (0.001, 0.003, 0.01, 0.03)
    learned = Learned(hyla_phi.search_phi(base, scale), "phi")
    # a run takes as long as ten of the language model, and what is held out of it makes more than a rate does
    return Place(HYLA, base, "phi", learned, rates, share=1 / 3, tuning=1 if scale == "smoke" else 3)


def language(scale: str) -> Place:
    """Text, by a small GPT-Neo (activations paper)."""
    (base,) = activations.runs(check_scale(scale), "gpt_neo", "gelu", 1)
    if scale == "laptop":
        base = replace(base, recipe=replace(base.recipe, steps=300, every=300))
    model, models = replace(base.model, activation="identity"), 2 if scale == "smoke" else 3  # any other is the same
    knots: dict[str, Any] = {"low": -10.0, "high": 10.0, "knots": 121, "start": "gelu"}
    search = SearchSpec(base.task, model, base.recipe, ("activation",), models, **knots)
    rate = base.recipe.rate
    rates = (rate,) if scale == "smoke" else (rate / 8, rate / 4, rate / 2, rate)
    return Place("language model", base, "activation", Learned(search, "activation"), rates)


def places(scale: str) -> list[Place]:
    """Those of a scale, one a paper.

    >>> [place.name for place in places("laptop")]
    ['transformer', 'perceptron', 'HYLA', 'language model']
    """
    return [make(scale) for make in (transformer, perceptron, hyla, language)]


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each model with its baseline and with the function of every model, at each of its rates."""
    known, runs = places(scale), []
    for place in known:
        functions: dict[str, Part | None] = {BASELINE: None, **{other.name: other.learned for other in known}}
        for name, phi in functions.items():
            for rate in place.rates:
                labels = {"task": place.base.task_name, "model": place.name, "function": name, "rate": rate}
                for run in place.runs(phi, rate, seeds):
                    runs.append((labels | {"split": VAL if run.tuning else TEST}, run))
    return runs


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a run: task, model, function (whose; or the baseline), rate, split ("val": it chooses the rate), seed,
    score (accuracy, of HYLA R²; NaN where the run diverged), diverged."""
    return per_run(runs, lambda run: {"score": _score(run)})


def _score(run: Run) -> float:
    """At its end, or at the evaluation that it kept; on `val` where it was trained for that; NaN where it diverged."""
    if run.diverged:
        return float("nan")
    values = run.score("r2" if isinstance(run.spec.task, Logic) else "accuracy", VAL if run.spec.tuning else TEST)
    step = run.notes.get("kept")
    return float(values[-1] if step is None else values[run.steps == step][0])


def rates_of(table: pd.DataFrame) -> dict[tuple, float]:
    """By model and function: the rate with the highest score on `val`."""
    return best_rates(table[table["split"] == VAL], KINDS, "score")


def at_best(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on `test` in which each function has its best rate."""
    return at_best_rates(table[table["split"] == TEST], rates_of(table), KINDS)


def gains(table: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
    """By model and function: score minus that of the model's own baseline, in points, both at their best rate."""
    effects: dict[tuple[str, str], Estimate] = {}
    rows = alive(at_best(table))
    for model in table["model"].unique():
        groups = {
            str(kind): (100 * group).tolist()
            for kind, group in rows[rows["model"] == model].groupby("function", sort=False)["score"]
        }
        pairs = {kind: (kind, BASELINE) for kind in groups if kind != BASELINE and BASELINE in groups}
        if model == HYLA:
            wide = 100 * rows[rows["model"] == model].pivot(index="seed", columns="function", values="score")
            gaps = {kind: wide[kind] - wide[BASELINE] for kind in pairs}
            gained = pooled_means(gaps, "seeds (splits), of one search")
        else:
            gained = compare(groups, pairs, "seeds, of one search")
        for kind, gain in gained.items():
            percent = [float(finite(groups[side]).mean()) for side in (kind, BASELINE) if len(finite(groups[side]))]
            on_table = model == ON_TABLE and len(percent) == 2
            effects[model, kind] = on_rows(gain, percent, rows_tested(TABLES["paper"])) if on_table else gain
    return effects


def summary(table: pd.DataFrame) -> str:
    known, words = gains(table), []
    for model in table["model"].unique():
        others = [gain for (one, source), gain in known.items() if one == model and source != model]
        best = max(others, key=lambda gain: gain.effect, default=missing())
        pair = (effect(gain, ends=False) for gain in (known.get((model, model), missing()), best))
        words.append(f"{model} {' and '.join(pair)}")
    own_gains = [gain for (model, source), gain in known.items() if model == source and _is_sure(gain)]
    others = [gain for (model, source), gain in known.items() if model != source and _is_sure(gain)]
    models = table["model"].nunique()
    first = (
        f"A model's own function surely helps in {sum(gain.effect > 0 for gain in own_gains)} of {models}; others' in"
        f" {sum(gain.effect > 0 for gain in others)} of {models * (models - 1)} cells, and surely hurt in"
        f" {sum(gain.effect < 0 for gain in others)}. "
    )
    known_ends = any(np.isfinite(gain.interval(LEVEL)[0]) for gain in known.values())
    return f"{first * known_ends}Points, own and best other: {'; '.join(words)}."


def _verdicts(table: pd.DataFrame, same: bool) -> list[Verdict]:
    """What each model gains with the function that was learned in it (same), or with each function of another."""
    return [
        Verdict(gain, above=0.0, unit=POINTS, case=model if same else f"function of the {source} in the {model}")
        for (model, source), gain in gains(table).items()
        if (source == model) == same
    ]


CLAIMS = (
    Claim(
        "own",
        "A function learned in a paper's model improves on its tuned baseline, in one model at least",
        lambda table: any_of(_verdicts(table, same=True)),
    ),
    Claim(
        "every-own",
        "A function learned in a paper's model improves on its tuned baseline, in every model",
        lambda table: all_of(_verdicts(table, same=True)),
        decides="three searches of HYLA and of the language model, whose one function is no better here, and 24 seeds"
        " of HYLA, where 8 leave ten hundredths of R²",
        hours=3.0,
    ),
    Claim(
        "transfer",
        "A function of one paper improves on the tuned baseline of another paper's model",
        lambda table: any_of(_verdicts(table, same=False)),
    ),
)


def matrix(table: pd.DataFrame) -> go.Figure:
    """Functions (rows) by models (columns, each with its own unit).

    table: model, function, rate, split, seed, score (0 to 1), diverged.
    """
    models, known, rates = list(table["model"].unique()), gains(table), rates_of(table)
    cells = [[known.get((model, source), missing()) for model in models] for source in models]
    shades = np.array([[cell.effect if _is_sure(cell) else np.nan for cell in row] for row in cells])
    shades /= PALER * np.nanmax(np.abs(shades), axis=0, initial=1e-9)  # each model has its own unit
    rows = alive(at_best(table))
    base = 100 * rows[rows["function"] == BASELINE].groupby("model")["score"].mean()
    titles = [
        f"{model}<br>{SCORES.get(model, 'accuracy')}<br>baseline {base.get(model, np.nan):.1f}" for model in models
    ]
    words = [
        [
            f"{_text(cell)} points, at rates {rates.get((model, source))} and {rates.get((model, BASELINE))}"
            for model, cell in zip(models, row, strict=True)
        ]
        for source, row in zip(models, cells, strict=True)
    ]
    figure = go.Figure()
    look = {"showscale": False, "xgap": 2, "ygap": 2, "customdata": words}
    look |= {"hovertemplate": "function of the %{y} in the %{x}: %{customdata}<extra></extra>"}
    unsure = np.where(np.isnan(shades), 0.0, np.nan)
    for z, scale in ((unsure, [[0, UNCLEAR], [1, UNCLEAR]]), (shades, DIVERGING)):
        figure.add_heatmap(x=titles, y=models, z=z, zmin=-1, zmax=1, colorscale=scale, hoverongaps=False, **look)
    for number in range(len(models)):
        corners = {f"{axis}{end}": number + sign * 0.48 for axis in "xy" for end, sign in ((0, -1), (1, 1))}
        figure.add_shape(type="rect", line={"color": BLACK, "width": 2}, **corners)
    for source, row, inks in zip(models, cells, shades, strict=True):
        for title, cell, shade in zip(titles, row, inks, strict=True):
            font = {"color": cell_ink(np.nan_to_num(shade), -1, 1), "size": SIZE}
            figure.add_annotation(x=title, y=source, text=_text(cell), font=font)
    bare = {"showgrid": False, "showline": False, "ticks": ""}
    figure.update_xaxes(title_text="in the model", **bare)
    figure.update_yaxes(title_text="function learned in", autorange="reversed", **bare)
    figure.update_layout(
        template=TEMPLATE, height=ROW * len(models) + 108, margin={"l": 130, "r": 16, "t": 14, "b": 94}
    )
    one = table["seed"][table["split"] == TEST].nunique() < 2
    set_reading(
        figure,
        "Numbers: points above the model's own baseline (of R²: hundredths), functions and baseline each at the rate"
        " that is best on val; blue: above it, brown: below (shades: of each column's largest), grey: neither surely;"
        " framed: the model's own function.",
        "One seed only: no interval."
        if one
        else f"±: {100 * LEVEL:.0f} % interval over seeds of one search; bold where it leaves 0 out.",
    )
    return figure


def _text(gain: Estimate) -> str:
    """A gain with its interval, bold where that leaves 0 out."""
    low, high = gain.interval(LEVEL)
    if (high - low) / 2 < 0.5:  # one digit would not tell what is sure
        number, half = signed(gain.effect, 2), [f"± {(high - low) / 2:.2f}"]
    else:
        number, *half = effect(gain, ends=False).split(" ", 1)
    return " ".join([f"<b>{number}</b>" if _is_sure(gain) else number, *half])


def _is_sure(gain: Estimate) -> bool:
    low, high = gain.interval(LEVEL)
    return low > 0 or high < 0


def _numbers(scale: str) -> Iterator[Field]:
    for place in places(scale):
        run = place.base
        for name, value, source in (
            ("layers", run.model.layers, "the model's own paper, or its laptop settings"),
            ("width", run.model.width, "the model's own paper, or its laptop settings"),
            ("steps", run.recipe.last, "as in figures of its paper; of HYLA and of language fewer at laptop scale"),
            ("rates", list(place.rates), "each function's best on val"),
            ("search", place.learned.search.by, "two losses for sequences and text, episodes for tables"),
        ):
            yield Field(name, value, SILENT, source, task=place.name)


def _data(scale: str) -> list[dict]:
    sources: list[dict] = []
    for run in (place.base for place in places(scale)):
        if isinstance(run.task, (Text, Tabular)):
            sources += shipped([run.task.corpus if isinstance(run.task, Text) else run.task.name])
        else:
            sources.append({"name": run.task_name, "from": "generated by lab.tasks"})
    return sources


ENTRIES = (
    Entry(
        "crossing/compatibility",
        "across the papers",
        "Functions of one paper in the models of the others",
        "Each paper's model with a function that was learned in each of them, against its own tuned baseline: a"
        " transformer that memorizes, a perceptron on a table, HYLA's φ on fuzzy logic, a small language model",
        "none; in transformers functions serve related tasks",
        tasks=tuple(
            dict.fromkeys(place.base.task_name for scale in ("laptop", "paper", "smoke") for place in places(scale))
        ),
        plan=plan,
        measure=measure,
        tuned=Tuned(KINDS, _score),
        plot=matrix,
        summary=summary,
        claims=CLAIMS,
        seeds={"smoke": 2, "laptop": 24, "paper": 24},
        origin=Origin(
            _data,
            _numbers,
            (
                "one task for each model; functions are used on the inputs that they were learned on, without scaling",
                "the rates that are tried; a rate is chosen on val with one run, of HYLA with three, whose seeds no"
                " figure reports",
                "the language model's and HYLA's search: knots, and the rate of the knots",
            ),
        ),
        minutes={"smoke": 0.5, "laptop": 30, "paper": 5000},
        place=("fig", "", 1, ""),
    ),
)
