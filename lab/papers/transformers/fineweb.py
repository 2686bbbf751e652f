"""Tables 6 and 7 of the transformers paper: the learned function in the model of the NanoGPT speedrun, its cost, and
polynomials in its place (Appendices E and F).

`paper` is record 16 of the speedrun as the paper's counts of weights have it. `laptop` has a text that is shipped, and
models of a twelfth of the width; `smoke` only runs the machinery.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pandas as pd
import torch

from lab.devices import choose_device, device_name
from lab.estimates import Estimate, missing, pooled_means
from lab.models.speedrun import SpeedrunModel
from lab.papers.claims import Claim, Verdict, absent, all_of, text_in_place_of
from lab.papers.entry import SILENT, Entry, Field, Origin, Planned, shipped
from lab.papers.tables import Labelled, alive, compare_one, per_run
from lab.papers.transformers.language import difference, groups, spread
from lab.plots import go
from lab.plots.caption import counted, set_reading
from lab.plots.differences import difference_key, differences, spans
from lab.plots.panels import Panel, band, grid, line, method_line, place, whiskers
from lab.plots.style import GREY, INK, colour, faded
from lab.resolve import resolve
from lab.run import Run
from lab.scale import check_scale
from lab.spec import Learned, Part, Resolved, RunSpec, SearchSpec, Shaped, replace
from lab.statistics import LEVEL
from lab.tasks import Text
from lab.tasks.named import task_title
from lab.training.fleet import Fleet
from lab.training.live import interleaved
from lab.training.optimizers import MuonRecipe

LINEAR, RELU, GELU, SPLINE, POLYNOMIAL = "linear MLP", "ReLU", "GELU", "learned MLP", "polynomial"
METHODS = (LINEAR, RELU, GELU, SPLINE, POLYNOMIAL)
TITLES = {LINEAR: "linear", RELU: "ReLU", GELU: "GELU", SPLINE: "spline", POLYNOMIAL: "polynomial"}
NAMED: dict[str, Part] = {LINEAR: "identity", RELU: "relu", GELU: "gelu"}
DEGREE = 18  # of the paper's polynomial
SEEDS = {"smoke": 2, "laptop": 2, "paper": 3}
DEPTHS = {"smoke": (2, 4), "laptop": (2, 4, 8), "paper": (2, 4, 8, 10, 12)}
DEGREES = {"smoke": (2, 4), "laptop": (4, 8, 12, DEGREE), "paper": (4, 8, 12, DEGREE)}
LAYERS_7 = {"smoke": 2, "laptop": 2, "paper": 6}  # of Table 7
MODELS = {"smoke": 2, "laptop": 3, "paper": 3}
TEXTS = {
    "smoke": Text("moby_dick", context=16),
    "laptop": Text("shakespeare", context=64),
    "paper": Text("fineweb_shard", "gpt2", context=1024),
}
NAMES = tuple(dict.fromkeys(text.name for text in TEXTS.values()))
_SIZES = {
    "smoke": SpeedrunModel(heads=2, width=8, window=128),
    "laptop": SpeedrunModel(heads=4, width=64, window=128),
    "paper": SpeedrunModel(precision="bfloat16"),
}
_SMALL = {  # Table 7, and where the function is learned
    "smoke": _SIZES["smoke"],
    "laptop": _SIZES["laptop"],
    "paper": SpeedrunModel(heads=4, width=256, precision="bfloat16"),
}
_RECIPES = {
    "smoke": MuonRecipe(steps=4, batch=2, rising=2, every=2),
    "laptop": MuonRecipe(steps=200, batch=16, rising=50, every=50),
    "paper": MuonRecipe(),
}


def search(scale: str) -> SearchSpec:
    """The search for the function, in small models of two layers. It starts at ReLU: at zero these have no gradient.

    >>> search("paper").model.width, search("paper").model.layers
    (256, 2)
    """
    model = replace(_SMALL[check_scale(scale)], layers=2, mlp=RELU.lower())
    learned: dict[str, Any] = {"models": MODELS[scale], "knots": 121, "spline_rate": 0.005, "start": RELU.lower()}
    return SearchSpec(TEXTS[scale], model, _RECIPES[scale], **learned)


def part(method: str, scale: str, degree: int = DEGREE) -> Part:
    """The non-linearity of a method."""
    if method in NAMED:
        return NAMED[method]
    learned = Learned(search(scale))
    return learned if method == SPLINE else Shaped(learned, "polynomial", degree)


def runs(scale: str, phi: Part, layers: int, seeds: int, small: bool = False) -> list[RunSpec]:
    """One run a seed. small: of Table 7's width."""
    model = replace((_SMALL if small else _SIZES)[scale], layers=layers, mlp=phi)
    return [RunSpec(TEXTS[scale], model, _RECIPES[scale], seed, ("test",)) for seed in range(seeds)]


GUESSES = (
    "record 16 without its embeddings of values, which the paper's counts of weights do not have",
    "tokens of a window, steps and batch: the record's; knots, their rate, and that the search starts at ReLU",
    "which degrees Table 7 has",
)


def origin(depths: bool = True) -> Origin:
    """Where these settings come from. depths: of Table 6; else of Table 7."""

    def facts(scale: str) -> Iterator[Field | str]:
        if scale != "paper":
            yield f"{TEXTS[scale].name} in the place of FineWeb"
        theirs = _numbers("paper", depths)
        for name, value in _numbers(scale, depths).items():
            guessed = name in ("context", "M", "degrees")
            source = "guess, the paper does not say" if guessed else "paper, App. E and F; record 16 of the speedrun"
            yield Field(name, value, SILENT if guessed else theirs[name], source)

    return Origin(lambda scale: shipped([TEXTS[scale].corpus]), facts, GUESSES)


def _numbers(scale: str, depths: bool) -> dict[str, object]:
    model, recipe = (_SIZES if depths else _SMALL)[scale], _RECIPES[scale]
    of_depths: dict[str, object] = {"layers": list(DEPTHS[scale])}
    of_degrees: dict[str, object] = {"layers": LAYERS_7[scale], "degrees": list(DEGREES[scale])}
    return (of_depths if depths else of_degrees) | {
        "width": model.width,
        "heads": model.heads,
        "precision": model.precision,
        "context": TEXTS[scale].context,
        "steps": recipe.steps,
        "batch": recipe.batch,
        "peak rate": recipe.rate,
        "M": MODELS[scale],
    }


ROUNDS, STEPS = 7, 3  # of the timing, and steps of each fleet in a round
SHORT = 100  # runs of fewer steps are timed in two rounds


def plan_table6(scale: str, seeds: int) -> list[Planned]:
    """Each depth with each function; the learned one is of small models of two layers."""
    return [
        ({"task": TEXTS[scale].name, "method": method, "layers": layers}, run)
        for layers in DEPTHS[scale]
        for method in METHODS
        for run in runs(scale, part(method, scale), layers, seeds)
    ]


def plan_table7(scale: str, seeds: int) -> list[Planned]:
    """ReLU, the learned function, and its polynomials; degree 0 where there is none."""
    kinds = [(RELU, 0), (SPLINE, 0), *((POLYNOMIAL, degree) for degree in DEGREES[scale])]
    return [
        ({"task": TEXTS[scale].name, "method": method, "degree": degree}, run)
        for method, degree in kinds
        for run in runs(scale, part(method, scale, degree), LAYERS_7[scale], seeds, small=True)
    ]


def measure(planned: Labelled) -> pd.DataFrame:
    """One row a run, at its end: its labels, seed, loss (nats a token) and bits (a character) on held-out text, seconds
    (of its training, wherever that was, and whatever else the machine did), diverged."""

    def of_run(run: Run) -> dict:
        scores = {name: float(run.scores[f"{name}_test"][-1]) for name in ("loss", "bits")}
        return scores | {"seconds": float(run.notes["seconds"])}

    return per_run(planned, of_run)


def measure_timed(planned: Labelled) -> pd.DataFrame:
    """As `measure`, and of training steps that are taken here, side by side: step_seconds, ratio (to GELU in the same
    rounds, median), ratio_spread (half of the range between quartiles), machine, threads."""
    table = measure(planned)
    firsts = [(labels, run) for labels, run in planned if run.spec.seed == 0]
    trained_on = firsts[0][1].notes["device"]
    device = trained_on if trained_on == "cpu" or torch.cuda.is_available() else choose_device("auto")
    for layers in table["layers"].unique():
        fleets = {labels["method"]: timed_fleet(run, device) for labels, run in firsts if labels["layers"] == layers}
        rounds = 2 if firsts[0][1].spec.recipe.steps < SHORT else ROUNDS
        times = interleaved(fleets, rounds, STEPS)
        for method in fleets:
            rows = (table["layers"] == layers) & (table["method"] == method)
            table.loc[rows, "step_seconds"] = float(np.median(times.seconds[method]))
            table.loc[rows, ["ratio", "ratio_spread"]] = times.ratio(method, GELU)
    return table.assign(machine=f"{device} {device_name(device)}", threads=torch.get_num_threads())


def timed_fleet(run: Run, device: str) -> Fleet:
    """A run's model as it is at the start of its training, with its function, which is evaluated on nothing."""
    spec = run.spec
    recipe = replace(spec.recipe, steps=1_000_000, every=1_000_000, stop=None)
    parts = cast(tuple[Resolved, ...], tuple(resolve(known, run.store) for known in spec.model.parts.values()))
    return Fleet([replace(spec, recipe=recipe, evaluate=())], [parts], device)


def summary_table6(table: pd.DataFrame) -> str:
    means = alive(table).pivot_table(index="layers", columns="method", values="loss", sort=False)
    ratios = table.pivot_table(index="layers", columns="method", values="ratio", sort=False)
    losses = [
        f"{TITLES[method]} {', '.join(f'{value:+.3f}' for value in (means[method] - means[RELU]).dropna())}"
        for method in (SPLINE, POLYNOMIAL)
        if method in means
    ]
    times = [f"{TITLES[method]} {ratios[method].iloc[-1]:.2f}" for method in (RELU, SPLINE, POLYNOMIAL)]
    machine, threads = table["machine"].iloc[0].partition(" ")[2], counted(int(table["threads"].iloc[0]), "thread")
    depths = [str(int(layers)) for layers in ratios.index]
    return (
        f"At {', '.join(depths)} layers, held-out loss minus ReLU's (nats): {'; '.join(losses)}; a step at"
        f" {depths[-1]}, against GELU's ({machine}, {threads}): {', '.join(times)}."
    )


def summary_table7(table: pd.DataFrame) -> str:
    means = alive(table).groupby(["method", "degree"], sort=False)["loss"].mean()
    base = means[SPLINE, 0]
    kinds = [(_kind(str(method), degree), loss) for (method, degree), loss in means.items() if method != SPLINE]
    differences = [f"{kind} {loss - base:+.3f}" for kind, loss in kinds]
    title = task_title(table["task"].iloc[0])
    return f"{title}, held-out loss with the spline {base:.3f} nats a token; minus it: {', '.join(differences)}."


NATS = "nats"
FEW = 4  # layers from which on the paper finds its function better


def _difference(rows: pd.DataFrame, one: str, other: str, case: str = "", **claimed) -> Verdict:
    return difference(groups(rows, "method", "loss"), one, other, NATS, case, **claimed)


def _better_in_deep_models(table: pd.DataFrame) -> Verdict:
    deep = table[table["layers"] >= FEW].groupby("layers")
    return all_of(_difference(rows, SPLINE, RELU, f"{layers} layers", below=0.0) for layers, rows in deep)


def _polynomial_is_as_good(table: pd.DataFrame) -> Verdict:
    """Within 1 % of a loss of 4 nats."""
    claimed = {"above": -0.04, "below": 0.04}
    depths = table.groupby("layers")
    return all_of(_difference(rows, POLYNOMIAL, SPLINE, f"{layers} layers", **claimed) for layers, rows in depths)


def _ratio(table: pd.DataFrame, method: str, base: str, **claimed) -> Verdict:
    """Time of a step of the deepest models, by rounds in which both were timed."""
    known = alive(table)[lambda rows: rows["layers"] == rows["layers"].max()]
    known = known.groupby("method")[["layers", "ratio", "ratio_spread"]].first()
    if not {method, base} <= set(known["ratio"].dropna().index):
        return absent("steps are not timed here", unit="×", **claimed)
    middle = float(known["ratio"][method] / known["ratio"][base])
    # Of seven normal values, the 95 % interval of the median is 1.7 times half of the range between quartiles.
    half = 2 * float(known.loc[[method, base], "ratio_spread"].max())
    estimate = Estimate(middle, lambda level: (middle - half, middle + half), 1, "machines", "rounds on one machine")
    return Verdict(estimate, unit="×", case=f"{known['layers'].iloc[0]} layers, over {TITLES[base]}'s step", **claimed)


def _closer_with_degree(table: pd.DataFrame) -> Verdict:
    known = groups(table[table["method"] == POLYNOMIAL], "degree", "loss")
    if len(known) < 2:
        return absent("one degree is trained here", above=0.0, unit=NATS)
    return all_of(
        Verdict(compare_one(known, low, high), above=0.0, unit=NATS, case=f"degree {low} against {high}")
        for low, high in pairwise(sorted(known))
    )


def _on_gpu(table: pd.DataFrame, scale: str) -> str:
    smaller = "" if scale == "paper" else ", and smaller models"
    return "" if table["machine"].iloc[0].startswith("cuda") else f"a CPU{smaller} in place of a GPU"


_on_fineweb = text_in_place_of("FineWeb", [TEXTS["paper"].name])
_of_loss = partial(Claim, decides="FineWeb and the paper's models; a GPU", stands_in=_on_fineweb)
_of_time = partial(Claim, decides="a GPU", stands_in=_on_gpu)
TABLE6 = (
    _of_loss("deep", "The learned function is better than ReLU from 4 layers on", _better_in_deep_models),
    _of_loss("polynomial", "The polynomial performs about as well as the spline", _polynomial_is_as_good),
    _of_time(
        "slow",
        "The exact spline becomes much slower than GELU in larger models",
        lambda table: _ratio(table, SPLINE, GELU, above=1.5),
    ),
    _of_time(
        "fast",
        "The polynomial is as fast as ReLU in larger models (a step takes less than a tenth longer)",
        lambda table: _ratio(table, POLYNOMIAL, RELU, below=1.1),
    ),
)
TABLE7 = (
    _of_loss(
        "degree",
        "Polynomials are increasingly effective as the degree increases, in the FineWeb model",
        _closer_with_degree,
    ),
    _of_loss(
        "relu",
        "The spline is slightly better than ReLU",
        lambda table: _difference(table[table["degree"].isin((0, DEGREE))], SPLINE, RELU, below=0.0),
    ),
)

# What Table 6 prints: means of three seeds, of models of FineWeb, on a laptop's RTX 4090
LAYERS = (2, 4, 8, 10, 12)
LOSSES = {  # on validation data
    LINEAR: (4.21, 4.05, 3.93, 3.90, 3.88),
    RELU: (4.01, 3.87, 3.78, 3.75, 3.73),
    GELU: (4.00, 3.89, 3.72, 3.75, 3.72),
    SPLINE: (4.00, 3.82, 3.72, 3.68, 3.69),
    POLYNOMIAL: (4.01, 3.82, 3.72, 3.70, 3.68),
}
SECONDS = {  # of training
    LINEAR: (1_440, 1_920, 2_940, 3_540, 19_680),
    RELU: (1_500, 1_980, 3_120, 13_080, 28_020),
    GELU: (1_440, 1_920, 3_090, 20_580, 34_020),
    SPLINE: (1_500, 2_070, 8_520, 26_700, 81_720),
    POLYNOMIAL: (1_440, 2_040, 3_180, 14_070, 29_100),
}


def table6(table: pd.DataFrame) -> go.Figure:
    """One row of panels for what was measured here, one for what the paper prints. Left: loss minus ReLU's by depth;
    right: time over GELU's, of a step, and in the paper of the training.

    table: method, layers, seed, loss, ratio, ratio_spread, diverged. The linear MLP's loss is far above and left out.
    """
    runs, here = alive(table), task_title(table["task"].iloc[0])
    titles = [f"here: {here}", "here: time of a step", "paper's Table 6: FineWeb", "paper's: time of training"]
    figure = grid(titles, 2, height=190, gap=70, top=64, horizontal=66)
    depths: dict[int, dict] = {layers: groups(rows, "method", "loss") for layers, rows in runs.groupby("layers")}
    for method in METHODS:
        if method not in (LINEAR, RELU):
            over = [compare_one(known, method, RELU) if method in known else missing() for known in depths.values()]
            look: dict[str, Any] = {"name": TITLES[method], "hovertemplate": "%{y:.3f}", "mode": "lines+markers"}
            look["line"] = {"color": faded(colour(method), 0.5), "width": 1}
            differences(figure, _places(method, len(over)), spans(over), method, (1, 1), **look)
            _draw_line(figure, method, [a - b for a, b in zip(LOSSES[method], LOSSES[RELU], strict=True)], (2, 1))
        if method != GELU:
            ratios = runs[runs["method"] == method].groupby("layers")[["ratio", "ratio_spread"]].first().reindex(depths)
            _draw_line(figure, method, ratios["ratio"], (1, 2), error_y=whiskers(ratios["ratio_spread"], 3))
            _draw_line(figure, method, [a / b for a, b in zip(SECONDS[method], SECONDS[GELU], strict=True)], (2, 2))
    for number in range(len(titles)):
        row, column = place(number, 2)
        level, base, title = ((0, "ReLU", "loss − ReLU's (nats)"), (1, "GELU", "time ÷ GELU's"))[column - 1]
        named = {"annotation_text": base, "annotation_position": "top right", "annotation_font_color": INK}
        figure.add_hline(y=level, line={"color": GREY, "width": 1.2}, **named, row=row, col=column)
        figure.update_yaxes(title_text=title, nticks=6, row=row, col=column)
        ticks = dict(enumerate(depths if row == 1 else LAYERS))
        axis = {"range": (-0.5, len(ticks) - 0.5), "tickvals": list(ticks), "ticktext": list(ticks.values())}
        figure.update_xaxes(showgrid=False, **axis, row=row, col=column)
    figure.update_xaxes(title_text="layers", row=2)
    set_reading(
        figure,
        "Left: the linear MLP's loss is far above, and not shown.",
        f"{spread(table, 'Whiskers left')} {counted(table['seed'].nunique(), 'seed')}, one search.",
        difference_key(figure),
        "Right, above: a step on one machine, whiskers half of the range between quartiles over rounds of a few steps;"
        " below: whole trainings.",
    )
    return figure


def _places(method: str, depths: int) -> list[float]:
    """Where a method's marks stand on the axis of depths, side by side with the others'."""
    return [number + 0.1 * (METHODS.index(method) - (len(METHODS) - 1) / 2) for number in range(depths)]


def _draw_line(figure: go.Figure, method: str, values: Sequence[float] | pd.Series, at: Panel, **trace) -> None:
    look: dict[str, Any] = {"name": TITLES[method], "hovertemplate": "%{y:.3f}"}
    method_line(figure, _places(method, len(values)), values, method, at, 1.5, 8, **look | trace)


def _kind(method: str, degree: int) -> str:
    return f"{TITLES[method]} {degree}" if degree else TITLES[method]


def table7(table: pd.DataFrame) -> go.Figure:
    """Loss against the degree of the polynomial, beside the spline's and ReLU's.

    table: method, degree (0: none), seed, loss, diverged.
    """
    figure, kinds = grid([""], 1, height=260, top=44), alive(table).groupby(["method", "degree"])["loss"]
    estimates = pooled_means({_kind(*kind): losses.tolist() for kind, losses in kinds})
    means = {kind: (one.effect, one.interval(LEVEL)[1] - one.effect) for kind, one in estimates.items()}
    degrees = sorted(set(table["degree"]) - {0})
    ends = degrees[0] - 1, degrees[-1] + 1
    for method, dash in ((RELU, "dash"), (SPLINE, "solid")):
        if (kind := _kind(method, 0)) in means:
            stats = pd.DataFrame([means[kind]] * 2, index=ends, columns=["mean", "half"])
            band(figure, stats, colour(method), TITLES[method])
            line(figure, ends, stats["mean"], colour(method), dash=dash, name=kind, legendgroup=kind)
    losses, halves = np.array([means.get(_kind(POLYNOMIAL, degree), (np.nan, np.nan)) for degree in degrees]).T
    named: dict[str, Any] = {
        "name": TITLES[POLYNOMIAL],
        "legendgroup": TITLES[POLYNOMIAL],
        "error_y": whiskers(halves, 3),
    }
    method_line(figure, degrees, losses, POLYNOMIAL, width=1.5, size=8, **named)
    figure.update_xaxes(title_text="degree of the polynomial", range=ends)
    figure.update_yaxes(title_text="loss on held-out text (nats a token)")
    seeds, covers = table["seed"].nunique(), next(iter(estimates.values())).covers
    said = f"Means over {seeds} seeds, of one search. Whiskers and bands: {100 * LEVEL:.0f} % intervals over {covers}."
    set_reading(figure, said if seeds > 1 else "One seed only: no interval.")
    return figure


ENTRIES = (
    Entry(
        "transformers/table6",
        "E",
        "Larger language models: loss and training time",
        "Left: loss on held-out text by depth, against ReLU's. Right: time of a training step against GELU's, both"
        " on one machine; the learned function exactly, and as a polynomial of degree 18",
        "as good as ReLU or better from 4 layers on; a spline takes up to 2.8 times GELU's time, a polynomial less at"
        " 10 and 12",
        tasks=NAMES,
        plan=plan_table6,
        measure=measure_timed,
        timed=("step_seconds", "ratio", "ratio_spread", "machine", "threads"),
        plot=table6,
        summary=summary_table6,
        claims=TABLE6,
        origin=origin(),
        notes=lambda scale: [
            "times are those of the machine that made the figure: ratios to GELU carry over, seconds do not"
        ],
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 15, "paper": 3_000},
    ),
    Entry(
        "transformers/table7",
        "F",
        "Polynomials in the place of the learned function",
        "Loss on held-out text with ReLU, with the learned function, and with polynomials of rising degree in its"
        " place",
        "the spline is best, slightly better than ReLU; polynomials come closer to it as their degree rises",
        tasks=NAMES,
        plan=plan_table7,
        measure=measure,
        plot=table7,
        summary=summary_table7,
        claims=TABLE7,
        origin=origin(depths=False),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 5, "paper": 300},
    ),
)
