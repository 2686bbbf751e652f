"""Figures 8 and 21 of the simplicity paper: a function that was learned in one network, in others of other widths and
depths. Those of the width of Figure 5 are its runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.compatibility import clear
from lab.papers.entry import Entry, Planned
from lab.papers.heatmaps import COLOURED, Matrix, Scale, heatmaps
from lab.papers.simplicity.tables import settings
from lab.papers.simplicity.tables.accuracy import MORE_SEARCHES, MORE_TABLES, checkpoint_accuracies
from lab.papers.simplicity.tables.settings import LAYERS, LEARNED, RELU, SEEDS, START, WIDTHS, network, origin, tables
from lab.papers.tables import POINTS, Labelled, gains_on_rows, per_run
from lab.plots import go
from lab.plots.caption import counted, diverged_runs, set_reading, signed
from lab.plots.panels import above, grid, method_line, whiskers
from lab.plots.style import BLACK, SIZE
from lab.scale import SCALES, model_scale
from lab.spec import Perceptron
from lab.statistics import INTERVAL, LEVEL

FIGURE_8 = "covertype"  # the table of Figure 8; Figure 21 has the others
OFFSET = {RELU: 0.97, LEARNED: 1.03}  # of marks, so that whiskers do not hide each other


def one(scale: str) -> tuple[str, ...]:
    """The table of Figure 8 or its sample; where neither belongs to the scale, its first one."""
    names = [name for name in tables(scale) if name.removesuffix("_sample") == FIGURE_8]
    return tuple(names) or tables(scale)[:1]


def plan(scale: str, seeds: int, names: Sequence[str] | None = None) -> list[Planned]:
    """ReLU and the learned function on tables, by default all of a scale, at every width and depth."""
    return [
        (
            {"table": table, "method": method, "layers": layers, "width": width},
            network(scale, table, method, layers, START, width=width, seed=seed),
        )
        for table in (tables(scale) if names is None else names)
        for method in (RELU, LEARNED)
        for layers in LAYERS[model_scale(scale)]
        for width in WIDTHS[scale]
        for seed in range(seeds)
    ]


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a run: table, method, layers, width, seed, accuracy (on `test`, 0 to 1, with the weights that were kept;
    NaN where it diverged), accuracy_val, accuracy_train, diverged."""
    return per_run(runs, checkpoint_accuracies).round(5)


def _gains(table: pd.DataFrame, first: bool, fewer: bool) -> list[Verdict]:
    """Learned minus ReLU on the table of Figure 8 (`first`) or on each other one: mean over widths and depths, or
    (`fewer`) learned with one hidden layer less than ReLU has at most."""
    values = 100 * table["accuracy"].where(~table["diverged"].astype(bool))
    kinds = [table[name] for name in ("table", "layers", "seed", "method")]
    means = values.groupby(kinds).agg(lambda a: a.mean(skipna=False)).unstack("method")  # over widths
    names = [name for name in table["table"].unique() if name.startswith(FIGURE_8) == first]
    if not names:
        return [absent(f"{'no' if first else 'only'} runs on {FIGURE_8}")]
    most, groups = table["layers"].max(), {}
    for name in names:
        part = means.loc[name]
        for method, layers in ((LEARNED, most - 1), (RELU, most)):
            of_depth = part.loc[layers, method] if fewer else part[method].groupby("seed").mean()
            groups[name, method] = of_depth.to_numpy(float)
    pairs = {name: ((name, LEARNED), (name, RELU)) for name in names}
    return gains_on_rows(groups, pairs, {name: settings.rows_tested(name) for name in names}, above=0.0, unit=POINTS)


def _often_fewer_layers(table: pd.DataFrame) -> Verdict:
    """Over all tables, that of Figure 8 among them: the paper says "often"."""
    every = [one for first in (True, False) for one in _gains(table, first, fewer=True) if not one.reason]
    return Verdict(estimates.mean([one.effect for one in every], "tables"), above=0.0, unit=POINTS)


def _alike_in_width(table: pd.DataFrame) -> Verdict:
    """Correlation, over the networks of Figure 8, of how far ReLU and the learned function are from their mean over
    widths: what depth does is taken out."""
    rows = table[table["table"].str.startswith(FIGURE_8) & ~table["diverged"].astype(bool)]
    means = rows.groupby(["layers", "width", "method"])["accuracy"].mean().unstack("method")
    means = means.reindex(columns=[RELU, LEARNED])
    away = means - means.groupby("layers").transform("mean")
    estimate = estimates.correlation(away[RELU], away[LEARNED], "networks", ddof=len(means.groupby("layers")) - 1)
    return Verdict(replace(estimate, covers="networks of one table, and one search"), above=0.0)


_claim = partial(Claim, decides=MORE_SEARCHES)
FIG8 = (
    _claim(
        "surpass",
        "The learned activation functions surpass ReLUs (COVERTYPE, over widths and depths)",
        lambda table: all_of(_gains(table, first=True, fewer=False)),
        hours=1.0,
    ),
    _claim(
        "fewer-layers",
        "Learned functions surpass ReLU with fewer layers (one less than its most, COVERTYPE)",
        lambda table: all_of(_gains(table, first=True, fewer=True)),
        hours=1.0,
    ),
    _claim(
        "width",
        "Accuracy varies with width as with ReLU (their correlation over networks above 0, COVERTYPE)",
        _alike_in_width,
        hours=1.0,
    ),
)
FIG21 = (
    _claim(
        "surpass",
        "The learned activation functions surpass ReLUs on each other table",
        lambda table: all_of(_gains(table, first=False, fewer=False)),
        hours=2.0,
    ),
    _claim(
        "fewer-layers",
        "Learned functions often surpass ReLU with fewer layers (one less than its most, over tables)",
        _often_fewer_layers,
        decides=MORE_TABLES,
    ),
)


def learned_in(table: pd.DataFrame) -> tuple[int, int] | None:
    """Hidden layers and width of the networks in which functions were learned; None where each depth has its own, or
    where widths are those of no scale."""
    scales = [scale for scale in SCALES if set(WIDTHS[scale]) == set(table["width"]) and scale != "paper"]
    return next(((one.layers, one.width) for one in map(_searched, scales)), None)


def _searched(scale: str) -> Perceptron:
    return settings.search(scale, tables(scale)[0], START).model


def fig8(table: pd.DataFrame) -> go.Figure:
    """A panel a number of hidden layers: accuracy against width. table: as of `measure`, of one table."""
    depths, widths = sorted(table["layers"].unique()), sorted(table["width"].unique())
    percent = 100 * table["accuracy"].where(~table["diverged"].astype(bool))
    means = estimates.pooled_means(dict(iter(percent.groupby([table["layers"], table["width"], table["method"]]))))
    figure = grid([""] * len(depths), len(depths), height=170, top=74, horizontal=22, share_y=True)
    above(figure, f"<b>{table['table'].iloc[0]}</b>", 1, 1, size=SIZE + 1, yshift=19)
    for column, layers in enumerate(depths, 1):
        above(figure, counted(layers, "hidden layer"), 1, column)
        for method, offset in OFFSET.items():
            known = {width: means[layers, width, method] for width in widths if (layers, width, method) in means}
            half = [np.ptp(one.interval(LEVEL)) / 2 for one in known.values()]
            look: dict[str, Any] = {"error_y": whiskers(half, 3), "customdata": list(known)}
            hover, places = "width %{customdata}: %{y:.1f} %", offset * np.array(list(known), float)
            accuracies = [one.effect for one in known.values()]
            method_line(figure, places, accuracies, method, (1, column), hovertemplate=hover, **look)
    figure.update_xaxes(type="log", tickvals=widths, ticktext=[str(width) for width in widths])
    figure.update_xaxes(title_text="width (log scale)")
    figure.update_yaxes(title_text="test accuracy (%)", col=1)
    layers, width = learned_in(table) or (0, 0)
    if layers in depths and width in widths:
        stroke = {"color": BLACK, "width": 1.5, "dash": "dot"}
        figure.add_vline(width, line=stroke, row=1, col=depths.index(layers) + 1)
    set_reading(
        figure,
        f"Mean over {counted(table['seed'].nunique(), 'seed')}. Whiskers: {INTERVAL}, by a variance that all networks"
        " share unless theirs differ; claims count the test rows, too. All networks have the same learned function."
        + " Dotted: the size in which it was learned."
        * (layers in depths and width in widths),
        diverged_runs(table, ["table", "method"]),
    )
    return figure


GAIN = Scale("gain of the learned function over ReLU (points of test accuracy)", 4.0, POINTS, column="layers × width")


def fig21(table: pd.DataFrame) -> go.Figure:
    """A matrix of gains: rows are tables, columns hidden layers × width. table: as of `measure`."""
    names, cells = ("table", "hidden layers × width (hidden units)"), gains_of_settings(table)
    figure = heatmaps([Matrix("", cells, framed=False)], GAIN, names, left=210)
    figure.update_yaxes(title_text="")
    sizes, size = list(cells["task"].unique()), " × ".join(map(str, learned_in(table) or ()))
    if size in sizes:
        column, rows = sizes.index(size), cells["architecture"].nunique()
        box = {"x0": column - 0.5, "x1": column + 0.5, "y0": -0.5, "y1": rows - 0.5}
        figure.add_shape(type="rect", **box, line={"color": BLACK, "width": 1.5}, row=1, col=1)
    seeds = counted(table["seed"].nunique(), "seed")
    set_reading(
        figure,
        f"{COLOURED} ±: half of it (95 %, Student's t, {seeds}, of one search), by a variance that all sizes of a table"
        " share unless theirs differ. The learned function of a table is the same in all its networks."
        + " Framed: the size in which it was learned."
        * (size in sizes),
        diverged_runs(table, ["table", "method"]),
    )
    return figure


def gains_of_settings(table: pd.DataFrame) -> pd.DataFrame:
    """Learned minus ReLU in points for each number of layers and width, and the interval over seeds: as `delta` has
    differences, architecture: the table, task: the setting. The table with the highest mean is first."""
    rows = []
    for name, part in table.assign(percent=100 * table["accuracy"]).groupby("table", sort=False):
        groups = {key: one["percent"] for key, one in part.groupby(["layers", "width", "method"])}
        sizes = sorted({key[:2] for key in groups})
        pairs = {f"{layers} × {width}": ((layers, width, LEARNED), (layers, width, RELU)) for layers, width in sizes}
        for setting, gain in estimates.compare(groups, pairs).items():
            low, high = gain.interval(LEVEL)
            rows.append({"architecture": name, "task": setting, "delta": gain.effect, "low": low, "high": high})
    cells = pd.DataFrame(rows)
    means = cells.groupby("architecture")["delta"].transform("mean")
    return cells.loc[means.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def _summary(table: pd.DataFrame) -> str:
    cells = gains_of_settings(table)
    of_tables, sure = cells.groupby("architecture", sort=False)["delta"].mean(), cells[clear(cells)]["delta"]
    words = [f"{name} {signed(value)}" for name, value in of_tables.items()]
    text = words[0] if len(words) == 1 else f"{words[-1]} to {words[0]} ({len(words)} tables)"
    size = learned_in(table)
    learned = (
        f"Function learned in {counted(size[0], 'hidden layer')} of width {size[1]}," if size else "Learned function"
    )
    return (
        f"{learned} against ReLU: clearly better in {(sure > 0).sum()} of {len(cells)} settings, clearly worse in"
        f" {(sure < 0).sum()}. Mean over widths and depths, points: {text}."
    )


def _notes(scale: str) -> list[str]:
    model = _searched(scale)
    depth = "networks of the same depth" if scale == "paper" else f"networks of {model.layers} hidden layers"
    note = f"the function was learned from {START}, in {depth} and width {model.width} (the paper does not say)"
    fewer = f"widths {list(WIDTHS[scale])} (paper scale {list(WIDTHS['paper'])})"
    rates = ["all widths have the rates of width 256"] if scale == "overnight" else []
    return [note] if scale == "paper" else [note, fewer, *rates]


_WITHOUT = ("width", "values of α", "settings tried for k-NN and trees", *settings.OF_INPUTS)
_SHARED: dict[str, Any] = {"measure": measure, "seeds": SEEDS, "summary": _summary, "notes": _notes}
_SAYS = "learned functions surpass ReLU, often with fewer layers, and can be reused in networks of other widths"
ENTRIES = (
    Entry(
        "simplicity/fig8",
        "3.3",
        "A learned function at other widths and depths",
        "Test accuracy on a table against the width of the network, with ReLU and with the function that was learned"
        " for the table in a network of one size",
        _SAYS,
        plot=fig8,
        plan=lambda scale, seeds: plan(scale, seeds, one(scale)),
        tasks=one("laptop"),
        origin=origin(one, [FIGURE_8], _WITHOUT),
        claims=FIG8,
        minutes={"smoke": 0.1, "laptop": 4, "overnight": 5, "paper": 30},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig21",
        "E.4",
        "Learned functions at other widths and depths, all tables",
        "What the function that was learned for a table in a network of one size gains over ReLU in test accuracy, in"
        " networks of other widths and depths",
        _SAYS,
        plot=fig21,
        plan=plan,
        tasks=tables("laptop"),
        origin=origin(without=_WITHOUT),
        claims=FIG21,
        minutes={"smoke": 0.1, "laptop": 12, "overnight": 30, "paper": 500},
        **_SHARED,
    ),
)
