"""Captions: their words, and captions inside a plot for images, wrapped to its width in room added below.

A page or a notebook wraps text by itself, so there the caption stands as text below the plot."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import pandas as pd

from lab.estimates import Estimate
from lab.plots import go
from lab.plots.style import SIZE
from lab.statistics import INTERVAL, LEVEL, diverged

LINE = 1.4 * SIZE  # px from one line to the next
SMALL = SIZE - 2  # px of the key to a plot's marks
GLYPH = 0.53 * SIZE  # px of an average character, with room for wide fonts: Liberation Sans has 0.44 of its size
EDGE = 12  # px left, right and below
_UNBREAKABLE = re.compile(r"\[[^\[\] ]{1,12}, [^\[\] ]{1,12}\]|\d %")
KEY, ROW, TICK = 48, 19, 6  # px of a legend's mark and gaps, of a row of it, and of a tick


def wrap(text: str, width: float) -> list[str]:
    """Lines of `text` that fit into `width` px; line breaks of the text, intervals, and numbers with % are kept.

    >>> wrap("one two three", 100), wrap("from 12 [10, 14]", 110)
    (['one two', 'three'], ['from 12', '[10, 14]'])
    """
    letters = max(12, int((width - 2 * EDGE) / GLYPH))
    text = _UNBREAKABLE.sub(lambda match: match[0].replace(" ", "\xa0"), text)
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, letters) or [""]]
    return [line.replace("\xa0", " ") for line in lines]


def plain(label: object) -> str:
    """A user's label as Plotly shows it: it reads texts as HTML, and would take the token <s> for a tag.

    >>> plain("<s>"), plain(3)
    ('&lt;s&gt;', '3')
    """
    return html.escape(str(label), quote=False)


def captioned(figure: go.Figure, caption: str, width: int) -> go.Figure:
    """A copy of the figure, `width` px wide, made taller by a caption below it, and by the key to its marks, if it has
    one (`set_reading`). Small letters: of the caption what follows its first two lines, and the key.

    The room below the axes stays as it is: the caption starts under it, whatever its number of lines.
    """
    copy = go.Figure(figure)
    _close_up(copy, width)
    large, small = caption.splitlines()[:2], [*caption.splitlines()[2:], *reading(figure).splitlines()]
    lines = list(map(plain, wrap("\n".join(large), width)))
    lines += [
        f'<span style="font-size: {SMALL}px">{plain(line)}</span>'
        for line in wrap("\n".join(small), width * SIZE / SMALL)
    ]
    margin, room = copy.layout.margin, EDGE + LINE * len(lines)
    left, bottom = margin.l, margin.b
    if None in (left, bottom, copy.layout.height):
        raise ValueError("a figure needs its height and its left and bottom margins in px to get a caption")
    look = {"name": "caption", "showarrow": False, "align": "left", "font": {"size": SIZE}}
    across = {"xref": "paper", "x": 0, "xanchor": "left", "xshift": EDGE - left}
    down = {"yref": "paper", "y": 0, "yanchor": "top", "yshift": -bottom}
    copy.add_annotation(text="<br>".join(lines), **look, **across, **down)
    copy.update_layout(width=width, height=copy.layout.height + room, margin={"b": bottom + room})
    return copy


def _close_up(figure: go.Figure, width: int) -> None:
    """Take away the rows that a legend on top has in a figure 600 px wide and does not need at this width."""
    legend, height, margin = figure.layout.legend, figure.layout.height, figure.layout.margin
    if legend.yref != "container" or legend.y != 1 or None in (height, margin.t):
        return
    heads = [
        note
        for note in figure.layout.annotations
        if note.yanchor == "bottom"
        and (note.yref == "paper" or str(note.yref).endswith("domain"))
        and note.y > 1 - 1e-6
    ]
    needed = max(((note.yshift or 0) + LINE * (1 + note.text.count("<br>")) for note in heads), default=-6)
    needed = max([needed, *(_labels(figure, axis) for axis in figure.select_xaxes({"side": "top"}))])
    spare = margin.t - (8 + ROW * legend_rows(figure, width) + 10 + needed)
    if spare > 0:
        figure.update_layout(height=height - spare, margin={"t": margin.t - spare})


def _labels(figure: go.Figure, axis: Any) -> float:
    """px above a panel of the labels of an axis that stands there, and of its name."""
    words = axis.ticktext or [word for trace in figure.data if trace.type == "heatmap" for word in trace.x or ()]
    lines = 1 + max((str(word).count("<br>") for word in words), default=0)
    return LINE * (lines + (1.2 if axis.title.text else 0)) + (0 if axis.ticks == "" else TICK)


def legend_rows(figure: go.Figure, width: int) -> int:
    """Rows of a horizontal legend, at most: entries are as wide as the widest as soon as there are two rows."""
    shown = [trace.name or "" for trace in figure.data if trace.showlegend is not False and trace.type != "heatmap"]
    widths = [KEY + GLYPH * len(re.sub("<.*?>", "", name)) for name in shown]
    if not widths or sum(widths) <= width - 2 * EDGE:
        return min(1, len(widths))
    return -(-len(widths) // max(1, int((width - 2 * EDGE) / max(widths))))


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "search", "searches"), counted(1200, "run")
    ('1 search', '1,200 runs')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def true_minus(text: str) -> str:
    """A text whose negative numbers have the sign −, and not a hyphen; hyphens of words and of ranges stay.

    >>> true_minus("t-SNE: -1.1 points [-2.0, +0.3], seeds 1-3")
    't-SNE: −1.1 points [−2.0, +0.3], seeds 1-3'
    """
    return re.sub(r"(?<![\w.)\]-])-(?=\.?\d)", "−", text)


def signed(value: float, places: int = 1) -> str:
    """A difference as captions say it, with the sign −; zero is +.

    >>> signed(-0.26), signed(-0.01)
    ('−0.3', '+0.0')
    """
    text = f"{value:+.{places}f}"
    return text.replace("-", "+" if float(text) == 0 else "−")


def reading(figure: go.Figure) -> str:
    """How to read the plot, as its plot function left it: what lines, bands and numbers are."""
    return (figure.layout.meta or {}).get("reading", "")


def set_reading(figure: go.Figure, *sentences: str) -> None:
    """Leave the key to the plot in its metadata, from where captions take it."""
    figure.update_layout(meta={"reading": true_minus(" ".join(sentence for sentence in sentences if sentence))})


def seeds_note(table: pd.DataFrame) -> str:
    """How many seeds each method has on each task or table, as a sentence; nothing of a table without seeds. One that
    has a single seed, as k-NN has, is left out where others have several.

    >>> seeds_note(pd.DataFrame({"task": ["add", "add", "add", "copy", "copy"], "seed": [0, 1, 2, 0, 1]}))
    '2 to 3 seeds.'
    """
    if "seed" not in table:
        return ""
    table = table[table["split"] == "test"] if "split" in table else table  # other seeds choose rates on `val`
    by = [name for name in ("task", "table", "method") if name in table]
    counts = table.groupby(by)["seed"].nunique() if by else pd.Series([table["seed"].nunique()])
    most = counts.max() if counts.sum() else 0
    if not most:
        return ""
    fewest = counts[counts > min(1, most - 1)].min()
    return f"{counted(most, 'seed')}." if fewest == most else f"{fewest} to {counted(most, 'seed')}."


def interval_note(table: pd.DataFrame, mark: str) -> str:
    """What a mark ("Whiskers", "Band") of a table with a column `seed` covers."""
    return f"{mark}: {INTERVAL}." if table["seed"].nunique() > 1 else "One seed only: no interval."


TOO_EARLY = "Too early for a verdict"  # the first words on such models


def too_early(problem: str) -> str:
    """The first sentence of a summary, where there is a problem.

    >>> too_early("HYLA is at chance"), too_early("")
    ('Too early for a verdict: HYLA is at chance. ', '')
    """
    return f"{TOO_EARLY}: {problem}. " if problem else ""


def runs_note(table: pd.DataFrame) -> str:
    """What lines are where each run of a table with a column `seed` is drawn as a dot beside them."""
    return "Lines: mean over seeds; dots: one run each." if table["seed"].nunique() > 1 else "One seed only."


def bounds(low: float, high: float) -> str:
    """The ends of an interval in brackets; one that would round to 0 has more places, to say whether 0 is inside.

    >>> bounds(-0.02, 1.64), bounds(0.0, 1.64)
    ('[−0.02, +1.6]', '[+0.0, +1.6]')
    """
    ends = [signed(end, next((places for places in (1, 2, 3) if round(end, places)), 1)) for end in (low, high)]
    return f"[{', '.join(ends)}]"


def effect(estimate: Estimate, ends: bool = True, signs: bool = True) -> str:
    """An effect with its 95 % interval: its ends in brackets, or half its width after ±. – where nothing is measured.

    ends: the ends, not half the width. signs: whether the ends have a sign where they are positive.

    >>> from lab.estimates import mean
    >>> effect(mean([1.0, 2.0, 3.0])), effect(mean([1.0, 2.0, 3.0]), ends=False), effect(mean([2.0]))
    ('+2.0 [−0.5, +4.5]', '+2.0 ± 2.5', '+2.0')
    """
    if not isfinite(estimate.effect):
        return "–"
    low, high = estimate.interval(LEVEL)
    if not isfinite(low):
        return signed(estimate.effect)
    brackets = bounds(low, high) if signs else f"[{low:.1f}, {high:.1f}]"
    return signed(estimate.effect) + (f" {brackets}" if ends else f" ± {(high - low) / 2:.1f}")


def diverged_runs(
    table: pd.DataFrame,
    kinds: Sequence[str],
    name: Callable[..., str] = lambda *values: ", ".join(map(str, values)),
    left_out: str = "left out of means",
) -> str:
    """How many runs of each kind diverged, in a sentence; nothing where none did.

    table: the columns `kinds` (such as task, method), seed, diverged. name: (a value of each column) → words.

    >>> rows = pd.DataFrame({"task": "add", "width": [8, 8, 16], "seed": [0, 1, 0], "diverged": [True, False, False]})
    >>> diverged_runs(rows, ["task", "width"])
    'Diverged runs (left out of means): add, 8: 1 of 2.'
    """
    counts: dict[Any, tuple[int, int]] = {
        values: diverged(rows) for values, rows in table.groupby(list(kinds), sort=False)
    }
    words = [f"{name(*values)}: {count} of {runs}" for values, (count, runs) in counts.items() if count]
    return f"Diverged runs ({left_out}): {'; '.join(words)}." if words else ""
