"""The figure that Section 3.5 of the simplicity paper lacks: how late networks generalize, against the size of their
initial weights, which the paper does not print. A function is learned for each size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from lab.papers.claims import Claim, Verdict, on_every_reading
from lab.papers.entry import SILENT, Entry, Field, Planned
from lab.papers.simplicity import settings
from lab.papers.simplicity.first_steps import NEVER, PERCENT, curves, draw_steps, step_axes
from lab.papers.simplicity.grokking import CONVERGED, faster, left_of_delay
from lab.papers.simplicity.settings import ADDITION, LEVEL, METHODS, RELU, grokking, of_operations
from lab.papers.tables import steps_to
from lab.plots import go
from lab.plots.caption import counted, set_reading
from lab.plots.panels import grid, points
from lab.plots.style import GREY, INK
from lab.spec import replace

SIZES = {"smoke": (1.0, 0.5), "laptop": (1.0, 0.5, 0.25), "paper": (1.0, 0.5, 0.25)}  # times torch's
WIDE = 512  # of networks with ReLU alone, which in Figure 13 get there at this width, too
ABOUT, BELOW = 7.0, 5.0  # times, from which on something is "about ten times" faster, and below which it is not
SEEDS = {"smoke": 2, "laptop": 6, "paper": 6}


def plan(scale: str, seeds: int) -> list[Planned]:
    """ReLU and the learned function at each size, and ReLU in wide networks (half as many seeds)."""
    planned: list[Planned] = []
    for size in SIZES[scale]:
        base = grokking(scale, ADDITION, size)
        wide = replace(base, model=replace(base.model, width=WIDE))
        kinds = [(base, method, seeds) for method in METHODS] + [(wide, RELU, -(-seeds // 2))]
        for setting, method, count in kinds:
            labels = {"task": ADDITION.name, "size": size, "width": setting.model.width, "method": method}
            planned += [(labels, run) for run in setting.runs(method, count)]
    return planned


def first_steps(table: pd.DataFrame) -> pd.DataFrame:
    """One row a run: size, width, method, seed, step (the first with `LEVEL` on test rows; NaN: never), accuracy (at
    the end)."""
    parts = []
    for (size, width, method), rows in table.groupby(["size", "width", "method"], sort=False):
        ends = rows.sort_values("step").groupby("seed")["accuracy"].last()
        steps = steps_to(rows, LEVEL).replace(np.inf, np.nan)
        part = pd.DataFrame({"step": steps, "accuracy": ends}).rename_axis("seed").reset_index()
        parts.append(part.assign(size=size, width=width, method=method))
    return pd.concat(parts, ignore_index=True)


def plot(table: pd.DataFrame) -> go.Figure:
    """First steps by size, at the width of Figure 11 and in wide networks. table: as of `first_steps.curves`, with size
    and width."""
    widths, top = sorted(table["width"].unique()), float(table["step"].max())
    heads = [f"width {width}{': ReLU alone' if width == WIDE else ''}" for width in widths]
    figure = grid(heads, len(widths), height=240, top=64, left=72, horizontal=70)
    marks = first_steps(table).assign(x=lambda rows: rows["size"])
    for column, width in enumerate(widths, 1):
        for method in METHODS:
            rows = marks[(marks["width"] == width) & (marks["method"] == method)]
            if len(rows):
                draw_steps(figure, rows, method, top, (1, column))
    for size, ratio in _ratios(table, LEVEL).items():
        steps = marks[(marks["size"] == size) & (marks["width"] != WIDE)].groupby("method")["step"].mean()
        middle = {"x": np.log10(size), "y": np.log10(steps).mean(), "showarrow": False}  # as logarithmic axes have it
        figure.add_annotation(text=f"{ratio.effect:.1f} ×", row=1, col=1, **middle)
    sizes = sorted(marks["size"].unique())
    ends = np.log10([sizes[0] / 1.2, sizes[-1] * 1.2])
    ticks = {"tickvals": sizes, "ticktext": [_fraction(size) for size in sizes], "minor": {"ticks": ""}}
    figure.update_xaxes(type="log", range=ends, **ticks)
    figure.update_xaxes(title_text="size of initial weights (times torch's)")
    if marks["step"].isna().any():
        points(figure, [None], [None], INK, size=8, symbol="x-thin-open", name=NEVER, hoverinfo="skip")
    figure.add_hline(y=top, line={"color": GREY, "dash": "dot", "width": 1})
    step_axes(figure, float(np.nanmin([top, marks["step"].min()])), top, bool(marks["step"].isna().any()))
    figure.update_yaxes(title_text=f"first step with {PERCENT} (log scale)", col=1)
    set_reading(
        figure,
        "One point a run; the line is their mean, where all get there. A function is learned for each size, at the"
        " width of Figure 11. Between the lines: how many times as fast. The dotted line is the last step.",
    )
    return figure


def _fraction(size: float) -> str:
    return {1.0: "1", 0.5: "½", 0.25: "¼", 0.125: "⅛"}.get(size, f"{size:g}")


def _ratios(table: pd.DataFrame, level: float) -> dict[float, Verdict]:
    """How many times as fast the learned function is, by size, where that is known."""
    standard = table[table["width"] != WIDE]
    ratios = {float(size): faster(rows, level) for size, rows in standard.groupby("size", sort=False)}
    return {size: ratio for size, ratio in ratios.items() if np.isfinite(ratio.effect)}


def _summary(table: pd.DataFrame) -> str:
    ratios, seeds = _ratios(table, LEVEL), table.groupby(table["width"] == WIDE)["seed"].nunique()
    wide = f" ({seeds[True]} at width {WIDE})" if True in seeds and seeds[True] < seeds.max() else ""
    number = f"{counted(seeds.max(), 'seed')}{wide}."
    if not ratios:
        return f"With no size do runs enough get to {PERCENT} for a ratio. {number}"
    known = ratios.values()
    depends = "How much sooner depends on the size. " if any(a.low > b.high for a in known for b in known) else ""
    sizes = ", ".join(f"{_times(ratio)} with {_fraction(size)}" for size, ratio in sorted(ratios.items()))
    many = f"To {PERCENT}, learned functions are so many times as fast as {RELU}: {sizes}."
    return f"{depends}{many}{_wide(table)} {number}"


def _wide(table: pd.DataFrame) -> str:
    """With which sizes wide networks with ReLU get there, and with which none does."""
    marks = first_steps(table)
    there = marks[(marks["width"] == WIDE) & (marks["method"] == RELU)].set_index("size")["step"].notna()
    each = there.groupby(level=0).agg(["all", "any"])
    never, always = (" and ".join(map(_fraction, each.index[rows])) for rows in (~each["any"], each["all"]))
    words = f" At width {WIDE}, {RELU} never gets there with {never}, and always with {always}."
    return words if never and always else ""


def _times(ratio: Verdict) -> str:
    return f"{ratio.effect:.1f}{f' [{ratio.low:.1f}, {ratio.high:.1f}]' if np.isfinite(ratio.low) else ''}"


def _numbers(table: pd.DataFrame) -> str:
    words = []
    by_level = [_ratios(table, level) for level in CONVERGED.values()]
    for size in table["size"].unique():
        if all(size in ratios for ratios in by_level):
            known = [ratios[float(size)] for ratios in by_level]
            words.append(f"{_fraction(float(size))}: {', '.join(map(_times, known))}")
    levels = ", ".join(CONVERGED)
    return f"How many times as fast as ReLU the learned function gets {levels}, by size: {'; '.join(words)}."


def _at_each_size(table: pd.DataFrame, measure: Callable[[pd.DataFrame, float], Verdict]) -> Verdict:
    """With each size of initial weights and at each level: the paper prints neither."""
    standard = table[table["width"] != WIDE]
    return on_every_reading(
        {
            f"{_fraction(float(size))} × torch's weights, {name}": measure(rows, level)
            for size, rows in standard.groupby("size", sort=False)
            for name, level in CONVERGED.items()
        }
    )


def _about_ten_times(table: pd.DataFrame) -> Verdict:
    """A run with ReLU that never gets there counts with its last step, which makes it look faster than it is."""
    return _at_each_size(table, lambda rows, level: faster(rows, level, above=ABOUT, refuted_below=BELOW))


def _no_delay(table: pd.DataFrame) -> Verdict:
    return _at_each_size(table, left_of_delay)


_claim = partial(Claim, decides="the size of initial weights and the accuracy that the paper has; it prints neither")
CLAIMS = (
    _claim("ten-times", "Our model converges ~10 times faster than ReLUs (at least 5 to 7)", _about_ten_times),
    _claim(
        "eliminated", "Learned functions essentially eliminate grokking (10 to 20 % of ReLU's delay at most)", _no_delay
    ),
)


def _sizes_of(scale: str) -> Iterator[Field]:
    yield Field("sizes of initial weights, times torch's", list(SIZES[scale]), SILENT, "guess, the paper does not say")


GUESSES = ("weights and biases are uniform within a multiple of 1/√inputs", *settings.GUESSES[1:])
ENTRIES = (
    Entry(
        "simplicity/sizes",
        "3.5 (not in the paper)",
        "Grokking against the size of the initial weights",
        "Addition modulo 27: the first step with 95 % test accuracy, against the size of the initial weights, which the"
        " paper does not print",
        "nothing of it; about ten times faster than ReLU with a learned function",
        tasks=(ADDITION.name,),
        plan=plan,
        measure=curves,
        plot=plot,
        summary=_summary,
        numbers=_numbers,
        claims=CLAIMS,
        origin=of_operations(lambda scale: [ADDITION], GUESSES, _sizes_of),
        seeds=SEEDS,
        minutes={"smoke": 0.2, "laptop": 5, "paper": 300},
        place=("fig", "", 11, "sizes"),
    ),
)
