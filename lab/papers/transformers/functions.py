"""Figures 6 and 12 of the transformers paper: the learned functions, and what their fine detail is worth.

Figure 12 (Appendices D and F) has the learned function against its symmetrized version and against polynomials in its
place, each trained with from scratch. The paper has it for language models (`lab.papers.transformers.sizes`); here it
is for four algorithmic tasks.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pandas as pd
import torch

from lab import tasks
from lab.nonlinearity.part import as_module
from lab.papers.compatibility import delta
from lab.papers.entry import Entry, Planned
from lab.papers.tables import Labelled, learned_functions, per_run
from lab.papers.transformers.learning_curves import by_method
from lab.papers.transformers.settings import BASELINE, MLP, origin, setting
from lab.plots import go
from lab.plots.caption import set_reading, signed
from lab.plots.differences import around, difference_key, differences
from lab.plots.functions import fig6
from lab.plots.panels import above, blank, grid, line, points
from lab.plots.style import METHOD_SYMBOLS, SIZE, colour
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Knots, Learned, Shaped
from lab.statistics import INTERVAL
from lab.store import Store
from lab.tasks.named import learned, task_title

TASKS = ("memorize", "addmod", "add", "parentheses")  # where the learned function makes a difference at laptop scale
SYMMETRIZED, POLYNOMIAL, CHEBYSHEV = "symmetrized", "polynomial", "Chebyshev"
SHAPES = {SYMMETRIZED: "symmetrized", POLYNOMIAL: "polynomial", CHEBYSHEV: "chebyshev"}  # of `Shaped`, by method
DEGREES = {POLYNOMIAL: (6, 18, 24), CHEBYSHEV: (18, 36, 72)}
FEW_STEPS = {POLYNOMIAL: (2, 4), CHEBYSHEV: (4, 12)}  # at smoke scale a search moves hardly more than five knots
WITHOUT_POLYNOMIALS = {"smoke": (), "laptop": ("add",), "paper": ()}  # its runs take longest
PAPERS = 18  # degree of the paper's polynomials


def measure_fig6(runs: Labelled) -> pd.DataFrame:
    """The learned function at its knots, the share of the trained model's inputs that fall nearest to each knot, and
    the model's accuracy at the end of its training."""
    rows = []
    for labels, run in runs:
        knots = resolve(run.spec.model.mlp, run.store)
        assert isinstance(knots, Knots), f"run {run.key} has no learned function"
        inputs = mlp_inputs(run)
        positions = torch.linspace(knots.low, knots.high, len(knots.values))
        nearest = ((inputs.clamp(knots.low, knots.high) - knots.low) / (positions[1] - positions[0])).round().long()
        share = torch.bincount(nearest, minlength=len(knots.values)) / len(inputs)  # NaN: the model diverged
        for x, value, density in zip(positions.tolist(), knots.values, share.tolist(), strict=True):
            row = {"task": labels["task"], "x": x, "value": value, "density": density}
            rows.append(row | {"accuracy": float(run.accuracy[-1])})
    return pd.DataFrame(rows)


def mlp_inputs(run: Run, examples: int = 200) -> torch.Tensor:
    """What the MLP non-linearities of a trained model receive on test sequences, all layers: a flat tensor."""
    task = tasks.load(run.spec.task, run.spec.task_seed)
    model: Any = run.model()  # a transformer
    received: list[torch.Tensor] = []
    # the blocks share one module: one hook sees all layers
    model.blocks[0].phi.register_forward_pre_hook(lambda _, inputs: received.append(inputs[0].flatten()))
    with torch.no_grad():
        model(task.splits["test"].tokens[None, :examples, :-1])
    inputs = torch.cat(received)
    return inputs[inputs.isfinite()]  # a diverged model has none


def summary_fig6(table: pd.DataFrame) -> str:
    accuracies = table.groupby("task", sort=False)["accuracy"].first()
    dead = [task_title(task) for task, accuracy in accuracies.items() if not learned(task, accuracy)]
    text = f"{len(accuracies) - len(dead)} of {len(accuracies)} are of models that do better than a trivial answer"
    return f"{text}; grey, of models no better than a trivial answer: {', '.join(dead)}." if dead else f"{text}."


def plan_fig12(scale: str, seeds: int) -> list[Planned]:
    """Baseline, learned function, and that function in each other shape; degree 0 where there is none."""
    runs = []
    for task in TASKS:
        runs += [(labels | {"degree": 0}, spec) for labels, spec in by_method(task, scale, seeds)]
        base = setting(task, scale)
        fitted = {} if task in WITHOUT_POLYNOMIALS[scale] else FEW_STEPS if scale == "smoke" else DEGREES
        kinds = [(SYMMETRIZED, 0), *((method, degree) for method, degrees in fitted.items() for degree in degrees)]
        for method, degree in kinds:
            part = Shaped(Learned(base.search(("mlp",))), SHAPES[method], degree or None)
            labels = {"task": task, "method": method, "degree": degree}
            runs += [(labels, spec) for spec in base.runs(seeds, mlp=part)]
    return runs


def measure_fig12(runs: Labelled) -> pd.DataFrame:
    """One row a run: task, method, degree, seed, accuracy (0 to 1, mean over training), last (at the end), diverged,
    rms_error, maximum_error (of a polynomial), mirror, shift, correlation (of a symmetrized function)."""
    facts = cache(_facts)  # one function serves all seeds
    scores = per_run(runs, lambda run: {"accuracy": float(run.accuracy.mean()), "last": float(run.accuracy[-1])})
    return scores.join(pd.DataFrame([facts(run.spec.model.mlp, run.store) for _, run in runs]))


def _facts(part: str | Learned | Shaped, store: Store) -> dict:
    """How well a shape fits the learned function that it was made of."""
    if not isinstance(part, Shaped):
        return {}
    phi: Any = as_module(resolve(part.of, store))  # a spline
    fit = phi.symmetrized() if part.shape == SYMMETRIZED else getattr(phi, part.shape)(part.degree)
    names = ("mirror", "shift", "correlation") if part.shape == SYMMETRIZED else ("rms_error", "maximum_error")
    return {name: getattr(fit, name) for name in names}


def against_learned(table: pd.DataFrame) -> pd.DataFrame:
    """`delta` by task, method and degree: accuracy minus that with the learned function, in percentage points."""
    names = table["method"].where(table["degree"] == 0, table["method"] + " " + table["degree"].astype(str))
    known = table.assign(architecture=names.replace({MLP: BASELINE, BASELINE: "GELU"}))
    kinds = known[["architecture", "method", "degree"]].drop_duplicates()
    return delta(known).merge(kinds, on="architecture")


def summary_fig12(table: pd.DataFrame) -> str:
    cells = against_learned(table)
    ranges: dict[str, list[float]] = {}
    for task in table["task"].unique():
        rows = cells[cells["task"] == task]
        for method, degree in _shown(rows).items():
            (change,) = rows.loc[(rows["method"] == method) & (rows["degree"] == degree), "delta"]
            ranges.setdefault(f"{NAMES[method]}{f' {degree}' if degree else ''}", []).append(change)
    ours = cells[cells["low"].notna() & (cells["method"] == SYMMETRIZED)]
    worse, better = int((ours["high"] < 0).sum()), int((ours["low"] > 0).sum())
    counts = {"worse": worse, "better": better, "undecided": len(ours) - worse - better}
    said = ", ".join(f"{word} on {count}" for word, count in counts.items() if count)
    tasks = f" ({said} of {len(ours)} tasks)" if said else ""
    words = [f"{name} {_range(changes)}{tasks * (name == SYMMETRIZED)}" for name, changes in ranges.items()]
    return f"Minus learned, points: {'; '.join(words)}."


def _range(changes: list[float]) -> str:
    """From the least to the most.

    >>> _range([5.0, 2.0, float("nan")]), _range([float("nan")])
    ('+2.0 to +5.0', '– (every run diverged)')
    """
    known = sorted(change for change in changes if change == change)
    return " to ".join(dict.fromkeys(map(signed, known[:1] + known[-1:]))) or "– (every run diverged)"


def _shown(rows: pd.DataFrame) -> dict[str, int]:
    """The degree of each method in the summary: the paper's of polynomials, the highest of the series."""
    degrees = {method: set(rows.loc[rows["method"] == method, "degree"]) for method in NAMES}
    return {
        method: PAPERS if method == POLYNOMIAL and PAPERS in values else max(values)
        for method, values in degrees.items()
        if values
    }


NAMES = {BASELINE: "GELU", MLP: "learned", SYMMETRIZED: SYMMETRIZED, POLYNOMIAL: POLYNOMIAL, CHEBYSHEV: CHEBYSHEV}
APART = {POLYNOMIAL: -0.12, CHEBYSHEV: 0.12}  # at a degree that both have
IMAGES = {"x": "mirrored left–right", "y": "mirrored top–bottom", "both": "turned by 180°"}  # by mirror


def fig12(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a task: the learned function and its symmetrized version; the accuracy of models with that, and with
    GELU, minus that with the learned one; the same of polynomials, by their degree.

    table: task, method, degree (0: none), seed, accuracy (0 to 1), mirror, correlation. functions: task, method,
    degree, x, value.
    """
    tasks, cells = list(table["task"].unique()), against_learned(table)
    titles = [title for task in tasks for title in (task_title(task), "", "")]
    figure = grid(titles, 3, 120, gap=56, top=64, horizontal=40)
    degrees = [str(degree) for degree in sorted(set(table["degree"]) - {0})]
    for row, task in enumerate(tasks, 1):
        of_task, known = table[table["task"] == task], cells[cells["task"] == task]
        _draw_functions(figure, functions[functions["task"] == task], row)
        mirrors = of_task[of_task["method"] == SYMMETRIZED].dropna(subset=["correlation"]).head(1)
        image = "".join(f"{IMAGES[one.mirror]}: r = {one.correlation:.2f}" for one in mirrors.itertuples())
        above(figure, image, row, 1, side="right", size=SIZE - 2)
        for column, names, some in (
            (2, ["GELU", SYMMETRIZED], known[~known["method"].isin(APART)]),
            (3, degrees, known[known["method"].isin(APART)]),
        ):
            if some.empty:
                blank(figure, row, column, "not trained")
                continue
            limits = around(some["delta"], some["low"], some["high"])
            _draw_changes(figure, some, names, limits, (row, column))
            figure.update_yaxes(range=limits, nticks=6, row=row, col=column)
        figure.update_yaxes(title_text="φ(x)", row=row, col=1)
    for method in (BASELINE, SYMMETRIZED, *APART):
        look: dict[str, Any] = {"name": NAMES[method], "legendgroup": method}
        look |= {"mode": "lines+markers", "line": {"color": colour(method), "width": 1.5}} if method in SHAPES else {}
        points(figure, [None], [None], colour(method), (1, 2), 8, METHOD_SYMBOLS[method], **look)
    above(figure, "accuracy − learned's (points)", 1, 2)
    above(figure, "the same of polynomials", 1, 3)
    figure.update_xaxes(title_text="input x", row=len(tasks), col=1)
    figure.update_xaxes(title_text="degree (not to scale)", row=len(tasks), col=3)
    divergences = [
        f"{task_title(c.task)}, {c.architecture}: {c.lost} of {c.seeds + c.lost}" for c in cells.itertuples() if c.lost
    ]
    set_reading(
        figure,
        "Left: where the learned function is not zero; above: its most similar mirror image, and their correlation r.",
        "Middle, right: against the learned function (blue line) of the same seed, mean over seeds.",
        f"Whiskers: {INTERVAL}." if table["seed"].nunique() > 1 else "One seed only: no interval.",
        difference_key(figure),
        f"Pairs left out, because a run diverged: {'; '.join(divergences)}." if divergences else "",
    )
    return figure


def _draw_functions(figure: go.Figure, rows: pd.DataFrame, row: int) -> None:
    for method, width in ((MLP, 3), (SYMMETRIZED, 1.5)):
        part = rows[rows["method"] == method].sort_values("x")
        look: dict[str, Any] = {"name": NAMES[method], "legendgroup": method, "showlegend": row == 1 and method == MLP}
        ink = colour(method)
        line(figure, part["x"], part["value"], ink, (row, 1), width, hovertemplate="φ(%{x:.2f}) = %{y:.3g}", **look)
    figure.update_yaxes(nticks=5, row=row, col=1)


def _draw_changes(figure: go.Figure, cells: pd.DataFrame, names: list[str], limits: tuple, at: tuple[int, int]) -> None:
    """Differences from the learned function; names: of the places on the axis, functions or degrees."""
    for method, part in cells.groupby("method", sort=False):
        part = part.sort_values("degree")
        look: dict[str, Any] = {"name": NAMES[method], "customdata": part["architecture"], "mode": "markers+lines"}
        look |= {"line": {"color": colour(method), "width": 1}}
        look |= {"hovertemplate": "%{customdata}: %{y:+.1f} ± %{error_y.array:.1f} points"}
        shared = set(part["degree"]) & set(cells.loc[cells["method"] != method, "degree"]) - {0}
        x = [names.index(str(one or NAMES[method])) + APART.get(method, 0) * (one in shared) for one in part["degree"]]
        differences(figure, x, part[["delta", "low", "high"]].T, method, at, limits=limits, **look)
    figure.add_hline(y=0, line={"color": colour(MLP), "width": 1.5}, row=at[0], col=at[1])
    axis = {"range": (-0.5, len(names) - 0.5), "tickvals": list(range(len(names))), "ticktext": names, "tickangle": 0}
    figure.update_xaxes(showgrid=False, **axis, row=at[0], col=at[1])


def notes_fig12(scale: str) -> list[str]:
    return [
        "four algorithmic tasks, those with a gain in Figure 10 at laptop scale, instead of TinyStories at several"
        " model sizes, which transformers/fig12_language has",
        *(f"no polynomials on {task.upper()}" for task in WITHOUT_POLYNOMIALS[scale]),
        "polynomials are least squares on the knots, by Horner's method in float32, which loses its digits above degree"
        " 18; a Chebyshev series keeps them",
    ]


ENTRIES = (
    Entry(
        "transformers/fig6",
        "3.2",
        "The learned functions",
        "The MLP non-linearity learned for each task, with the inputs that it receives in a model trained with it",
        "irregular, task-specific shapes",
        tasks=tasks.NAMES,
        # one model a task
        plan=lambda scale, seeds: [run for task in tasks.NAMES for run in by_method(task, scale, 1, (MLP,))],
        measure=measure_fig6,
        plot=fig6,
        summary=summary_fig6,
        origin=origin(tasks.NAMES),
        seeds={"smoke": 1, "laptop": 1, "paper": 1},
        minutes={"smoke": 0.2, "laptop": 6, "paper": 6},
    ),
    Entry(
        "transformers/fig12",
        "D and F",
        "Learned functions, made symmetric or smooth",
        "Left: the MLP non-linearity learned for a task, and symmetrized (averaged with its most similar mirror image)."
        " Middle: mean test accuracy over training with it, minus that with the learned one. Right: with polynomials",
        "in language models almost always worse; higher degrees are better",
        tasks=TASKS,
        plan=plan_fig12,
        measure=measure_fig12,
        functions=partial(learned_functions, support=True),
        plot=fig12,
        summary=summary_fig12,
        notes=notes_fig12,
        origin=origin(TASKS),
        minutes={"smoke": 0.3, "laptop": 18, "paper": 12},
    ),
)
