"""How far the loss rises on the straight path between two trained models, with ReLU, GELU and learned functions.

Two seeds of a wide enough ReLU model lie in one valley of the loss once their hidden units are matched (Entezari et al.
2022; Ainsworth et al. 2023). Whether a function that was learned for the task makes the hill between them lower is the
lab's own question. Two models make a pair, no model is in two pairs, and each pair with learned functions has a search
of its own, so that pairs are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from lab.estimates import Estimate, compare, mean
from lab.papers.claims import Claim, Verdict, all_of, without_tasks
from lab.papers.crossing.benchmarks import GUESSED, Benchmark, data, numbers, perceptron
from lab.papers.crossing.league import FIRST_TUNING, TEST, VAL
from lab.papers.entry import SILENT, Entry, Field, Origin, Planned
from lab.papers.tables import Labelled
from lab.plots import go
from lab.plots.caption import effect, set_reading
from lab.plots.panels import ACCURACY, above, grid, line, named, points, whiskers
from lab.plots.style import GRID, INK, METHOD_SYMBOLS, SIZE, colour, faded, method_title
from lab.probes import Loss, connectivity
from lab.run import Run
from lab.spec import Learned, Part, replace
from lab.statistics import LEVEL, half_width
from lab.tasks import Images, Operation, Tabular
from lab.tasks.named import NEAR, task_title

RELU, GELU, LEARNED = "ReLU", "GELU", "learned"
METHODS = (RELU, GELU, LEARNED)
SEEDS = {"smoke": 2, "laptop": 40, "paper": 40}
TUNING, ROWS, STEPS = 2, 2_000, 11  # seeds that choose a rate; rows of a split, and points of a path, that are measured
SHARES = np.linspace(0, 1, STEPS).round(6)
# Chosen on `val` (the rows "val" of the table: mean accuracy of two seeds at .001, .003, .01 and .03)
BEST = {
    "a+b mod 27": {RELU: 0.01, GELU: 0.01, LEARNED: 0.003},
    "covertype_sample": {RELU: 0.01, GELU: 0.03, LEARNED: 0.01},
    "fashion_mnist_sample": {RELU: 0.01, GELU: 0.001, LEARNED: 0.003},
}
# of the knots: of .0005, .002 and .02 the best on `val`, three seeds (a+b: 0, 3, 100 %; covertype 80, 81, 80; images
# 85, 85, 82)
KNOTS = {"a+b mod 27": 0.02, "covertype_sample": 0.002, "fashion_mnist_sample": 0.002}


def benchmarks(scale: str) -> dict[str, Benchmark]:
    """The tasks of a scale with their models, by name.

    >>> list(benchmarks("smoke")), list(benchmarks("laptop"))
    (['a+b mod 27'], ['a+b mod 27', 'covertype_sample', 'fashion_mnist_sample'])
    """
    size = "smoke" if scale == "smoke" else "overnight"
    known = [perceptron(Operation("a+b", modulus=27), 128, 1, 600, None, size)]
    if scale != "smoke":
        known.append(perceptron(Tabular("covertype_sample"), 64, 2, 600, 256, size))
        known.append(perceptron(Images("fashion_mnist_sample"), 128, 1, 300, 128, size))
    return {one.base.task_name: one for one in known}


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each task with each function: at every rate with seeds that are not reported, on `val`; at the best one in pairs
    of seeds, on `test`."""
    runs: list[Planned] = []
    for task, benchmark in benchmarks(scale).items():

        def part(method: str, search: int, task: str = task, benchmark: Benchmark = benchmark) -> Part:
            searched = replace(benchmark.search(search), spline_rate=KNOTS[task])
            return Learned(searched, "phi") if method == LEARNED else method.lower()

        for method in METHODS:
            labels = {"task": task, "method": method}
            for rate in benchmark.rates:
                for number in range(TUNING if len(benchmark.rates) > 1 else 0):
                    run = benchmark.run(part(method, number), rate, FIRST_TUNING + number, VAL)
                    runs.append((labels | {"rate": rate, "split": VAL}, run))
            rate = BEST[task][method] if len(benchmark.rates) > 1 else benchmark.rates[0]
            for seed in range(seeds + seeds % 2):
                run = benchmark.run(part(method, seed // 2), rate, seed, TEST)
                runs.append((labels | {"rate": rate, "split": TEST}, run))
    return runs


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a pair of models and point of their path: task, method, rate, split "test", seed and other (of the first
    and second model), along (0: the first), loss (on training rows), accuracy (on test rows, 0 to 1), both again as
    matched_loss and matched_accuracy, diverged. And one row a run that chooses a rate: split "val", its accuracy."""
    rows = [
        labels | {"seed": run.spec.seed, "accuracy": run.score("accuracy", VAL)[-1], "diverged": bool(run.diverged)}
        for labels, run in runs
        if labels["split"] == VAL
    ]
    pairs = [(labels, run) for labels, run in runs if labels["split"] == TEST]
    for (labels, one), (_, other) in zip(pairs[::2], pairs[1::2], strict=True):
        known = labels | {"seed": one.spec.seed, "other": other.spec.seed}
        if one.diverged or other.diverged:
            rows.append(known | {"diverged": True})
            continue
        path = _path(one, other)
        rows += [known | {name: values[n] for name, values in path.items()} | {"diverged": False} for n in range(STEPS)]
    return pd.DataFrame(rows).round({name: 5 for name in ("loss", "accuracy", "matched_loss", "matched_accuracy")})


def _path(one: Run, other: Run) -> dict[str, np.ndarray]:
    task = one.spec.task
    train, test = (task.split(one.spec.task_seed)[name] for name in ("train", TEST))
    measures = {
        "loss": Loss(train.inputs[:ROWS], train.targets[:ROWS], task.loss),
        "accuracy": Loss(
            test.inputs[:ROWS], test.targets[:ROWS], lambda o, y: (task.answers(o) == y).double().mean(-1)
        ),
    }
    path = connectivity(one.model(), other.model(), measures, STEPS)
    matched = {f"matched_{name}": values[0] for name, values in (path.matched or {}).items()}
    return {"along": SHARES} | {name: values[0] for name, values in path.values.items()} | matched


def reported(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of pairs that count: of models that did not diverge, and with functions whose searches chose no rate, as
    the first `TUNING` ones did."""
    tuned = (table["method"] == LEARNED) & (table["seed"] < 2 * TUNING) & table["split"].eq(VAL).any()
    return table[(table["split"] == TEST) & ~table["diverged"].astype(bool) & ~tuned]


def barriers(table: pd.DataFrame, value: str) -> dict[tuple[str, str], list[float]]:
    """By task and method, for each pair, how far a loss rises above the straight line between its ends; of an accuracy,
    how many points it falls below it."""
    heights: dict[tuple[str, str], list[float]] = {}
    sign = -100 if value.endswith("accuracy") else 1
    for (task, method, _), rows in reported(table).groupby(["task", "method", "seed"], sort=False):
        along, values = (rows[name].to_numpy(float) for name in ("along", value))
        height = sign * (values - (1 - along) * values[0] - along * values[-1])
        heights.setdefault((str(task), str(method)), []).append(float(height.max()))
    return heights


def differences(table: pd.DataFrame, value: str, base: str) -> dict[str, Estimate]:
    """By task, how much higher the barrier is with learned functions than with another."""
    heights = barriers(table, value)
    tasks = dict.fromkeys(task for task, _ in heights if {(task, LEARNED), (task, base)} <= set(heights))
    pairs = {task: ((task, LEARNED), (task, base)) for task in tasks}
    covers = "pairs of seeds, and their searches"
    return {task: replace(compare(heights, {task: pair}, covers)[task], over="pairs") for task, pair in pairs.items()}


def _learns(table: pd.DataFrame, task: str, method: str) -> bool:
    """Whether models with a function have left the trivial answer to a task."""
    rows = table[(table["task"] == task) & (table["method"] == method) & (table["along"] == 0)]
    return bool(rows["accuracy"].mean() > GUESSED.get(task, 0.0) + NEAR)


def _lower(value: str, base: str) -> Callable[[pd.DataFrame], Verdict]:
    """On every task that models with another function learn, whether the barrier with learned ones is below theirs."""

    def verdict(table: pd.DataFrame) -> Verdict:
        known = differences(table, value, base)
        left_out = [task for task in known if not _learns(table, task, base)]
        verdict = all_of(
            Verdict(more, below=0.0, unit="in loss", case=task_title(task))
            for task, more in known.items()
            if task not in left_out
        )
        return without_tasks(verdict, left_out, base)

    return verdict


def _matching(table: pd.DataFrame) -> Verdict:
    """On every task and with every function, whether matching lowers the barrier of a pair."""
    before, after, verdicts = barriers(table, "loss"), barriers(table, "matched_loss"), []
    for (task, method), values in before.items():
        less = mean(np.subtract(after[task, method], values), "pairs", "pairs of seeds")
        verdicts.append(Verdict(less, below=0.0, unit="in loss", case=f"{method} on {task_title(task)}"))
    return all_of(verdicts)


CLAIMS = (
    Claim(
        "below-relu",
        "Between matched models, loss rises less with learned functions than with ReLU, if it learns",
        _lower("matched_loss", RELU),
    ),
    Claim(
        "below-gelu",
        "Between matched models, loss rises less with learned functions than with GELU",
        _lower("matched_loss", GELU),
    ),
    Claim(
        "unmatched",
        "Between unmatched models, loss rises less with learned functions than with ReLU, if it learns",
        _lower("loss", RELU),
    ),
    Claim("matching", "Matching of units lowers the barrier, with each function on each task", _matching),
)


def summary(table: pd.DataFrame) -> str:
    heights, words = barriers(table, "matched_accuracy"), []
    more = differences(table, "matched_accuracy", GELU)
    for task in dict.fromkeys(task for task, _ in heights):
        means = [f"{np.mean(heights[task, method]):.1f}" if _learns(table, task, method) else "–" for method in METHODS]
        said = f" ({effect(more[task], ends=False)})" if task in more else ""
        pairs = reported(table)[lambda rows, task=task: (rows["task"] == task) & (rows["method"] == LEARNED)]
        failed = " (some runs failed)" * any(_untrained(pairs))
        words.append(f"{_title(task)}{failed} {', '.join(means)}{said}")
    return (
        f"Points of accuracy lost on the path between matched models with {', '.join(METHODS)} (against {GELU}):"
        f" {'; '.join(words)}."
    )


def _title(task: str) -> str:
    return task_title(task).removesuffix("_sample").replace("_", " ")


def _untrained(rows: pd.DataFrame) -> list[bool]:
    """For each pair of a task and a method, whether a model of it is worse than the best of all by a tenth."""
    ends = rows[rows["along"].isin((0, 1))].groupby("seed", sort=False)["accuracy"].min()
    return (ends < ends.max() - 0.1).tolist()


def plot(table: pd.DataFrame) -> go.Figure:
    """One column a task. Above: test accuracy on the straight path from one model to another, dotted as they are, solid
    with matched units. Below: how many points of it a pair loses, as it is and matched. Functions that are not learned
    with are left out.

    table: task, method, split, seed, along, loss, accuracy, matched_loss, matched_accuracy, diverged.
    """
    known = reported(table)
    tasks = list(dict.fromkeys(known["task"]))
    figure = grid([_title(task) for task in tasks] + [""] * len(tasks), max(len(tasks), 1), 150, 60, 64, horizontal=48)
    for column, task in enumerate(tasks, 1):
        learn = [method for method in METHODS if _learns(known, task, method)]
        places, ticks = list[float](), list[str]()
        for value, dash, of in (("accuracy", "dot", "as they are"), ("matched_accuracy", "", "matched")):
            start = len(METHODS) * bool(dash == "") + 0.6 * (dash == "")
            places.append(start + (len(METHODS) - 1) / 2)
            ticks.append(of)
            for method in learn:
                rows = known[(known["task"] == task) & (known["method"] == method)]
                ink, look = colour(method), {"legendgroup": method, "name": method_title(method)}
                means = 100 * rows.groupby("along")[value].mean()
                shown = {"showlegend": not (dash or named(figure, method)), "hovertemplate": "%{y:.1f} %"}
                line(figure, means.index, means, ink, (1, column), 2, dash, **look, **shown)
                falls = np.array(barriers(rows, value)[task, method])
                at, bad = start + METHODS.index(method), np.array(_untrained(rows))
                faint = {"hoverinfo": "skip", "showlegend": False}
                for some, symbol in ((~bad, "circle"), (bad, "x-thin-open")):
                    points(
                        figure, [at + 0.3] * some.sum(), falls[some], faded(ink, 0.4), (2, column), 4, symbol, **faint
                    )
                error = {
                    "error_y": whiskers([half_width(falls)]),
                    "showlegend": False,
                    "hovertemplate": "%{y:.1f} points",
                }
                points(figure, [at], [falls.mean()], ink, (2, column), 9, METHOD_SYMBOLS[method], **look | error)
        figure.update_xaxes(tickvals=[0, 1], ticktext=["A", "B"], title_text="path from A to B", row=1, col=column)
        names = {"tickvals": places, "ticktext": ticks, "ticks": "", "showgrid": False}
        figure.update_xaxes(range=(-0.6, 2 * len(METHODS) + 0.4), **names, row=2, col=column)
        figure.add_vline(len(METHODS) - 0.2, line={"color": GRID, "width": 1}, row=2, col=column)
        idle = [method for method in METHODS if method not in learn]
        if idle:
            above(figure, f"{', '.join(idle)}: not learned", 1, column, side="right", size=SIZE - 2)
        figure.update_yaxes(rangemode="tozero", row=2, col=column)
    for name, dash in (("units as they are", "dot"), ("units matched", "")):
        line(figure, [None], [None], INK, (1, 1), 2, dash, name=name)
    figure.update_yaxes(title_text=ACCURACY, row=1, col=1)
    figure.update_yaxes(title_text="points lost on the path", row=2, col=1)
    chosen = f"The first {TUNING} searches of a task chose its learning rates, so that their pairs are left out."
    set_reading(
        figure,
        "Above: means over pairs of models. Matched: hidden units of one are in places where they match the other's."
        " Below: the most that accuracy falls below the straight line between both ends; small marks: pairs (crosses:"
        f" an end is 10 points below the best); whiskers: {100 * LEVEL:.0f} % intervals of the mean (Student's t).",
        "Claims are about the loss, which the table has.",
        chosen if table["split"].eq(VAL).any() else "",
    )
    return figure


def _facts(scale: str) -> Iterator[Field]:
    yield from numbers(benchmarks(scale), (SEEDS[scale] + 1) // 2, "the lab's own: a run takes a second")
    for task in benchmarks(scale):
        yield Field("rate of the knots", KNOTS[task], SILENT, "of three the best on val", task=task)


ENTRIES = (
    Entry(
        "crossing/connectivity",
        "across the papers",
        "Barriers on the straight path between two models",
        "What happens on the straight path in weight space between two trained models, before and after their hidden"
        " units are matched, with ReLU, GELU and functions learned for the task",
        "none has it; of wide ReLU models, others found that matching removes the barrier (Ainsworth et al. 2023)",
        tasks=tuple(benchmarks("laptop")),
        plan=plan,
        measure=measure,
        plot=plot,
        summary=summary,
        claims=CLAIMS,
        origin=Origin(
            lambda scale: data(benchmarks(scale)),
            _facts,
            (
                "widths, steps and rows: small, so that a run takes a second",
                "units are matched by their weights (`lab.probes.connectivity`); others, as the sign of a unit"
                " where a function is even or odd, stay",
                "functions are searched for by two losses, from ReLU",
            ),
        ),
        seeds=SEEDS,
        minutes={"smoke": 0.5, "laptop": 4, "paper": 4},
        place=("fig", "", 5, ""),
    ),
)
