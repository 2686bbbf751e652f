"""Appendix F of the simplicity paper: how its measure of complexity is taken, and how it compares with another one.

Figure 30 shows paths that models are followed on, Figure 29 the total variation and the Fourier complexity of many
models. Both have perceptrons with tanh(αx) on a table; those of Figure 30 are among those of Figure 29.

`paper` has what Appendix E.4 and the caption of Figure 29 say. `laptop` is narrower, takes fewer steps on fewer rows,
and trains on a table that the lab ships; `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from torch import Tensor, nn

from lab.estimates import Estimate, rank_correlation
from lab.papers.claims import Claim, Verdict, on_every_reading
from lab.papers.entry import Entry, Field, Origin, Planned, beside_scale, compared, shipped
from lab.papers.simplicity.tables.settings import RATE, RATE_FROM
from lab.papers.tables import Labelled, alive
from lab.plots import go
from lab.plots.caption import counted, set_reading
from lab.plots.panels import BOTTOM, above, colour_bar, grid, line, log_axis, name_axes, place, points
from lab.plots.style import BLACK, BLUE, GREY, ORANGE, SEQUENTIAL, SIZE, VERMILLION
from lab.probes import fourier_complexity, total_variation
from lab.probes.calling import Model, Points, function_of, values
from lab.probes.complexity import draw, variations
from lab.run import Run
from lab.scale import COMMON, SCALES, check_scale
from lab.spec import ConstantRate, Perceptron, RunSpec
from lab.statistics import LEVEL
from lab.tasks import Tabular
from lab.tasks.table import TableSplit

TABLES = {"smoke": "MagicTelescope", "laptop": "MagicTelescope", "paper": "electricity"}
# From .1 to 8 (Fig. 29), in steps of about the same factor; the paper does not say which ones it has.
PREFACTORS = (0.1, 0.15, 0.22, 0.33, 0.5, 0.75, 1.0, 1.6, 2.4, 3.6, 5.4, 8.0)
FEW = (0.1, 1.0, 8.0)  # where models are looked at one by one
LAYERS = {"smoke": (1, 2), "laptop": (1, 2), "paper": (1, 2, 3, 4)}
SEEDS = {"smoke": 2, "laptop": 3, "paper": 6}
_WIDTHS = {"smoke": 8, "laptop": 64, "paper": 256}
_RECIPES = {
    "smoke": ConstantRate(steps=6, rate=RATE, batch=256, optimizer="rmsprop", average=2, every=2),
    "laptop": ConstantRate(steps=300, rate=RATE, batch=512, optimizer="rmsprop"),
    "paper": ConstantRate(steps=3_000, rate=RATE, batch=4096, optimizer="rmsprop"),
}
GUESSES = (
    "which prefactors, how many layers, seeds and steps the models of Figure 29 have; here each combination once",
    "weights He-normal and biases uniform, as everywhere in the lab; the split is the tabular benchmark's",
)
PATHS, SAMPLES, SEED = 200, 100, 0  # App. F; the seed of the paths, the same for all models
SHOWN = 6  # the first of the paths
DEPTH = 2  # hidden layers of the models that are followed on them
CLOSE = 0.9  # rank correlation from which on we call it a very close one; chosen before any was measured
PROBABILITY, LOGIT = "probability", "before the softmax"
CALLED = {PROBABILITY: "probabilities", LOGIT: "outputs before the softmax"}
BAR = 66  # px of the colour bar below the axes
TICKS = (0.1, 0.3, 1.0, 3.0, 8.0)
COLUMNS = 3
SYMBOLS = ("circle", "diamond", "square", "triangle-up")  # by number of layers
Values = TypeVar("Values", pd.Series, pd.DataFrame)
POINTED_AT = ["prefactor", "seed", "tv_low", "tv_high", "fourier_low", "fourier_high", "accuracy"]
HOVER = (
    "α = %{customdata[0]:g}, seed %{customdata[1]}<br>total variation %{y:.3g} (%{customdata[2]:.3g} to"
    " %{customdata[3]:.3g})<br>Fourier %{x:.3g} (%{customdata[4]:.3g} to %{customdata[5]:.3g}) cycles a path<br>test"
    " accuracy %{customdata[6]:.1%}"
)


def tanh(scale: str = "laptop", prefactor: float = 1.0, layers: int = 2, seed: int = 0) -> RunSpec:
    """A run with tanh(αx) in all hidden layers.

    >>> tanh("paper", prefactor=8.0).model.width, tanh("laptop").task.name
    (256, 'MagicTelescope')
    """
    check_scale(scale)
    model = Perceptron(layers, _WIDTHS[scale], phi="tanh", prefactor=prefactor)
    return RunSpec(Tabular(TABLES[scale]), model, _RECIPES[scale], seed)


def origin(layers: dict[str, tuple[int, ...]], named: bool = True) -> Origin:
    """Of such networks. layers: hidden ones, by scale. named: whether the paper names the table of the figure."""

    def numbers(scale: str) -> dict[str, tuple[object, str]]:
        spec = tanh(scale)
        return {
            "hidden layers": (list(layers[scale]), "paper, App. E.4: 1 to 4"),
            "width": (spec.model.width, "paper, App. E.4"),
            "optimizer": (spec.recipe.optimizer, "paper, App. E.4"),
            "batch": (spec.recipe.batch, "paper, App. E.4"),
            "steps": (spec.recipe.steps, "guess"),
            "rate at α = 1 (divided by α)": (spec.recipe.rate, RATE_FROM),
            "weights averaged over the last steps": (spec.recipe.average, "paper, App. E.1"),
        }

    def facts(scale: str) -> Iterator[Field | str]:
        theirs = f"the paper has {TABLES['paper'].upper()}, which has no open licence"
        if not named:
            yield f"{TABLES[scale]}; the paper does not name its table"
        elif TABLES[scale] != TABLES["paper"]:
            yield f"{TABLES[scale]}, a table of the same benchmark, which the lab ships; {theirs}"
        yield from compared(numbers, scale)

    return Origin(lambda scale: shipped([TABLES[scale]]), facts, GUESSES, words=beside_scale)


def many(scale: str, seeds: int) -> list[Planned]:
    """Every prefactor with every number of layers."""
    return [
        ({"prefactor": prefactor, "layers": layers}, tanh(scale, prefactor, layers, seed))
        for layers in LAYERS[scale]
        for prefactor in (FEW if scale == "smoke" else PREFACTORS)
        for seed in range(seeds)
    ]


def few(scale: str, seeds: int) -> list[Planned]:
    """Three prefactors."""
    return [
        ({"prefactor": prefactor}, tanh(scale, prefactor, DEPTH, seed)) for prefactor in FEW for seed in range(seeds)
    ]


def probabilities(run: Run) -> Model:
    """A run's model as a function of points, (N, inputs) → (N, classes)."""
    return function_of(nn.Sequential(run.model(), nn.Softmax(-1)))


class LogOdds(nn.Module):
    """From outputs for two classes, (…, 2), the log-odds of class 1, (…, 1): the one output before a sigmoid."""

    def forward(self, outputs: Tensor) -> Tensor:
        return outputs[..., 1:] - outputs[..., :1]


def log_odds(run: Run) -> Model:
    """A run's log-odds of class 1, as a function of points, (N, inputs) → (N, 1)."""
    return function_of(nn.Sequential(run.model(), LogOdds()))


def kept_accuracy(run: Run, split: str = "test") -> float:
    """Accuracy on a split, 0 to 1, with the weights that were kept; NaN of a run that diverged before any were."""
    at = run.steps == run.notes["kept"]
    return float(run.accuracy_on(split)[at].item()) if at.any() else float("nan")


def variation(f: Model | None, inputs: Points, labels: Points, paths: int = PATHS) -> dict[str, float]:
    """tv, tv_low, tv_high: the total variation of f on paths between inputs with different labels, and its 95 %
    interval over paths; NaN of no f, where a run diverged."""
    if f is None:
        return dict.fromkeys(("tv", "tv_low", "tv_high"), float("nan"))
    tv = total_variation(f, inputs, labels, paths, SAMPLES, SEED)
    return {"tv": tv.value, "tv_low": tv.low, "tv_high": tv.high}


def logarithms(variations: Values) -> Values:
    """Of total variations; NaN of 0, as of a straight function, which has no ratio to others."""
    return np.log(variations.where(variations > 0))


def measure(runs: Labelled) -> pd.DataFrame:
    """Both measures of each run, of its outputs before the softmax and of its probabilities: prefactor, layers, seed,
    output, tv (in units of the output), tv_low, tv_high, fourier (cycles a path), fourier_low, fourier_high, accuracy
    (on `test`, 0 to 1), diverged; numbers of a run that diverged are NaN."""
    rows = []
    for labels, run in runs:
        diverged = run.diverged is not None
        accuracy = float("nan") if diverged else kept_accuracy(run)
        table = run.spec.task.split(run.spec.task_seed)["train"]
        for output, f in ((PROBABILITY, probabilities(run)), (LOGIT, function_of(run.model()))):
            row = labels | {"seed": run.spec.seed, "accuracy": accuracy, "diverged": diverged, "output": output}
            known = None if diverged else f
            rows += [row | variation(known, table.inputs, table.targets) | _frequency(known, table)]
    return pd.DataFrame(rows)


def _frequency(f: Model | None, table: TableSplit) -> dict[str, float]:
    """fourier, fourier_low, fourier_high, as `variation` has those of total variation."""
    if f is None:
        return dict.fromkeys(("fourier", "fourier_low", "fourier_high"), float("nan"))
    fourier = fourier_complexity(f, table.inputs, table.targets, PATHS, SAMPLES, SEED)
    return {"fourier": fourier.value, "fourier_low": fourier.low, "fourier_high": fourier.high}


def measure_paths(runs: Labelled) -> pd.DataFrame:
    """Models on the first paths, without those that diverged: prefactor, seed, path, along (0 to 1), value (probability
    of class 1), truth (class ids at the ends, the straight line between them elsewhere), distance (Euclidean, to the
    nearest training point, where each column covers [-1, 1]), tv (total variation of that path)."""
    from sklearn.neighbors import NearestNeighbors

    parts = []
    for labels, run in runs:
        if run.diverged:
            continue
        table = run.spec.task.split(run.spec.task_seed)["train"]
        on_paths, truth = path_points(table)
        course = values(probabilities(run), on_paths, table.inputs)[:, 1]
        nearest = NearestNeighbors(n_neighbors=1).fit(table.inputs.double().numpy())
        path = np.arange(SHOWN).repeat(SAMPLES)
        columns = {
            "seed": run.spec.seed,
            "path": path,
            "along": np.tile(np.linspace(0, 1, SAMPLES), SHOWN).round(5),
            "value": course.astype(float).round(5),
            "truth": truth.round(5),
            "distance": nearest.kneighbors(on_paths)[0][:, 0].round(5),
            "tv": variations(course.reshape(SHOWN, SAMPLES))[path].round(5),
        }
        parts.append(pd.DataFrame(labels | columns))
    return pd.concat(parts, ignore_index=True)


def path_points(table: TableSplit) -> tuple[np.ndarray, np.ndarray]:
    """Points of the first paths on which complexity is measured, (SHOWN · SAMPLES, D), and the straight line from the
    class of a path's start to that of its end, (SHOWN · SAMPLES,)."""
    # the class travels along as one more column: paths are drawn by the labels, whatever the points are
    both = np.column_stack([table.inputs.double().numpy(), table.targets.numpy()])
    way = draw(both, table.targets, PATHS, SAMPLES, SEED)[0].points(slice(0, SHOWN))
    return way[:, :-1], way[:, -1]


def _correlated(table: pd.DataFrame) -> Verdict:
    """Over models (prefactors and layers, each the mean of its seeds). The paper does not say of which output."""
    return on_every_reading(
        {f"of {CALLED[output]}": Verdict(one, above=CLOSE) for output, one in _ranks(table).items()}
    )


def _ranks(table: pd.DataFrame) -> dict[str, Estimate]:
    """The rank correlation of both measures over models, by output."""
    means = alive(table).groupby(["output", "prefactor", "layers"], sort=False)[["tv", "fourier"]].mean()
    outputs = means.groupby(level="output", sort=False)
    return {str(output): rank_correlation(rows["tv"], rows["fourier"], "models") for output, rows in outputs}


def _other_table(table: pd.DataFrame, scale: str) -> str:
    ours, theirs = TABLES[scale], TABLES["paper"]
    return "" if ours == theirs else f"{ours} in place of {theirs}"


CORRELATED = Claim(
    "correlated",
    "TV and a Fourier-based measure are very closely correlated (by rank: over .9)",
    _correlated,
    decides="to know the paper's Fourier measure and output",
    stands_in=_other_table,
)


def _correlation_summary(table: pd.DataFrame) -> str:
    ranks = {CALLED[output]: (one.effect, *one.interval(LEVEL)) for output, one in _ranks(table).items()}
    text = " and ".join(f"{one:.2f} [{low:.2f}, {high:.2f}] for the {name}" for name, (one, low, high) in ranks.items())
    models = counted(len(table.drop_duplicates(["prefactor", "layers"])), "model")
    return f"Spearman's rank correlation of the two measures over {models} (means of seeds): {text}."


def _paths_summary(table: pd.DataFrame) -> str:
    means = table.drop_duplicates(["prefactor", "seed", "path"]).groupby("prefactor")["tv"].mean()
    text = ", ".join(f"{value:.2f} with α = {prefactor:g}" for prefactor, value in means.items())
    return f"Total variation of the probability, mean of these {table['path'].nunique()} paths: {text}."


def fig29(table: pd.DataFrame) -> go.Figure:
    """One panel for each output that complexity is measured of, a mark a model, coloured by its prefactor.

    table: as `measure` has it.
    """
    outputs = list(table["output"].unique())
    figure = grid(outputs, len(outputs), 300, top=64, left=70, horizontal=78)
    drawn = table[(table["tv"] > 0) & (table["fourier"] > 0)]  # both axes are logarithmic
    for column, output in enumerate(outputs, 1):
        of_output = drawn[drawn["output"] == output]
        for symbol, (layers, rows) in zip(SYMBOLS, of_output.groupby("layers"), strict=False):
            mark = {"symbol": symbol, "size": 8, "line": {"width": 0.6, "color": BLACK}}
            mark |= {"color": np.log10(rows["prefactor"]), "coloraxis": "coloraxis"}
            name = f"{layers} hidden layer{'s' if layers > 1 else ''}"
            look = {"mode": "markers", "name": name, "legendgroup": str(layers), "showlegend": column == 1}
            look |= {"customdata": rows[POINTED_AT], "hovertemplate": HOVER}
            figure.add_scatter(x=rows["fourier"], y=rows["tv"], marker=mark, row=1, col=column, **look)
        unit = "probability" if output == PROBABILITY else "logit"
        figure.update_yaxes(title_text=f"total variation ({unit}, log scale)", col=column, **log_axis(of_output["tv"]))
    figure.update_xaxes(title_text="Fourier complexity (cycles a path, log scale)", **log_axis(drawn["fourier"]))
    bar = colour_bar("prefactor α of tanh(αx), log scale", -(BOTTOM + 4) / 300, np.log10(TICKS))
    bar["ticktext"] = [f"{tick:g}" for tick in TICKS]
    low, high = np.log10([TICKS[0], TICKS[-1]])
    colours = {"colorscale": SEQUENTIAL, "cmin": low, "cmax": high, "colorbar": bar}
    figure.update_layout(height=figure.layout.height + BAR, margin={"b": BOTTOM + BAR}, coloraxis=colours)
    zeros = len(table) - len(drawn)
    set_reading(
        figure,
        "Each mark is a mean over paths. The mean frequency does not depend on how far a function is from a straight"
        " line: of a parabola it is 0.59, however flat.",
        f"Not drawn, because a measure is 0: {zeros} of {len(table)}." if zeros else "",
    )
    return figure


def fig30(table: pd.DataFrame) -> go.Figure:
    """One panel a path; a line for each prefactor, the classes at the ends, and how far the nearest data is.

    table: as `measure_paths` has it.
    """
    table = table[table["seed"] == table["seed"].min()]
    paths = sorted(table["path"].unique())
    figure = grid([f"path {path + 1}" for path in paths], COLUMNS, 150, gap=58, top=86, horizontal=26, second_y=True)
    furthest = table["distance"].max()
    for number, path in enumerate(paths):
        at, legend = place(number, COLUMNS), not number
        curves = table[table["path"] == path]
        for (prefactor, rows), ink in zip(curves.groupby("prefactor"), (BLUE, ORANGE, VERMILLION), strict=False):
            name = f"α = {prefactor:g}"
            hover = f"{name}: %{{y:.2f}}; total variation of this path {rows['tv'].iloc[0]:.2f}"
            look: dict[str, Any] = {"name": name, "legendgroup": str(prefactor), "showlegend": legend}
            line(figure, rows["along"], rows["value"], ink, at, **look, hovertemplate=hover)
        variation = curves.groupby("prefactor")["tv"].first()
        above(figure, ", ".join(f"{value:.2f}" for value in variation), *at, side="right", size=SIZE - 1)
        first = curves[curves["prefactor"] == curves["prefactor"].min()]
        ends = first.iloc[[0, -1]]
        look = {"name": "class at the ends", "legendgroup": "ends", "showlegend": legend}
        points(figure, ends["along"], ends["truth"], BLACK, at, 8, "", hovertemplate="class %{y:g}", **look)
        look |= {"name": "distance to the nearest data", "legendgroup": "distance", "secondary_y": True}
        hover = "nearest training example: %{y:.2f} away"
        line(figure, first["along"], first["distance"], GREY, at, 1.2, "dot", hovertemplate=hover, **look)
    figure.update_yaxes(range=(-0.08, 1.08), tickvals=(0, 0.5, 1), secondary_y=False)
    figure.update_yaxes(range=(-0.08 * furthest, 1.08 * furthest), secondary_y=True, visible=False, showgrid=False)
    figure.update_xaxes(range=(-0.05, 1.05), tickvals=(0, 0.5, 1))
    name_axes(figure, len(paths), COLUMNS, "along the path", "probability of class 1")
    set_reading(
        figure,
        "Above, right: total variation of each line, α rising. Grey: Euclidean distance, from 0"
        f" to {furthest:.2f} over the height of a panel; every input covers [-1, 1].",
    )
    return figure


_HOW = f"{PATHS} straight paths of {SAMPLES} points between training examples of different classes"
_TASKS = tuple(dict.fromkeys(TABLES.values()))
ENTRIES = (
    Entry(
        "simplicity/fig29",
        "F",
        "Total variation against Fourier complexity",
        f"Two measures of the complexity of a model's function, on the same {_HOW}; one mark a model, tanh(αx) networks"
        " that differ in α, number of layers and seed",
        "very closely correlated; the total variation tells small values apart as well as large ones",
        plan=many,
        measure=measure,
        plot=fig29,
        tasks=_TASKS,
        origin=origin(LAYERS),
        seeds=SEEDS,
        summary=_correlation_summary,
        notes=lambda scale: [
            "the paper does not say which Fourier-based measure of prior work it has, nor whether outputs are taken"
            " before or after the softmax: here the mean frequency, weighted by amplitude, and both"
        ],
        claims=(CORRELATED,),
        minutes={"smoke": 0.2, "laptop": 4, "paper": 5},
    ),
    Entry(
        "simplicity/fig30",
        "F",
        "Paths that the total variation is measured on",
        f"What three tanh(αx) networks answer on the first {SHOWN} of {_HOW}; total variation adds up a"
        " line's ups and downs, once the straight line between its ends is taken away",
        "a model need not pass through the classes at the ends",
        plan=few,
        measure=measure_paths,
        plot=fig30,
        tasks=_TASKS,
        origin=origin(dict.fromkeys(COMMON, (DEPTH,)), named=False),
        seeds=dict.fromkeys(SCALES, 1),
        summary=_paths_summary,
        notes=lambda scale: [
            "three models on the same paths (paper: one, which it does not name); probabilities, which lie in [0, 1]"
            " (paper: outputs, capped to it)"
        ],
        minutes={"smoke": 0.1, "laptop": 1, "paper": 1},
    ),
)
