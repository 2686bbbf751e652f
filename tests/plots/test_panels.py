"""Laws of panels and of room: axes, legends."""

import gzip
import json
import re

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from lab.places import RESULTS
from lab.plots.caption import LINE, captioned, legend_rows
from lab.plots.panels import grid, log_axis
from lab.plots.style import DIVERGING, SEQUENTIAL, cell_ink, shade_of


@pytest.mark.parametrize("decades", [0.02, 0.1, 0.3, 0.6, 1.0, 1.9, 3.0, 6.0])
@pytest.mark.parametrize("low", [1e-4, 0.37, 0.99, 4.0])
def test_a_log_axis_has_three_numbers_or_more_and_not_too_many(low, decades):
    axis = log_axis(pd.Series([low, low * 10**decades]))
    ends = axis["range"]
    seen = [tick for tick in np.log10(axis["tickvals"]) if ends[0] <= tick <= ends[1]]
    assert 3 <= len(seen) <= 10


def _with(names):
    figure = grid(["a panel"], 1, 200, top=100)
    for name in names:
        figure.add_scatter(x=[0, 1], y=[0, 1], name=name, row=1, col=1)
    return figure


def test_a_legend_of_few_entries_leaves_no_empty_rows():
    few, many = _with(["one", "two"]), _with([f"a method with a long name, {i}" for i in range(8)])
    assert legend_rows(few, 800) == 1 < legend_rows(many, 600) and legend_rows(many, 800) <= legend_rows(many, 600)
    assert captioned(few, "text", 800).layout.margin.t < few.layout.margin.t
    assert captioned(many, "text", 600).layout.margin.t <= many.layout.margin.t
    assert legend_rows(go.Figure(), 800) == 0


@pytest.mark.parametrize(
    ("heads", "name", "lines"), [(["one", "two"], "", 1), (["one<br>line", "two"], "", 2), (["one"], "a name", 2)]
)
def test_labels_above_a_panel_keep_their_room(heads, name, lines):
    """What is wider than that is closed up."""
    for top in (20, 40, 140):
        figure = grid([""], 1, 100, top=top).update_xaxes(side="top", tickvals=[0, 1], ticktext=heads, title_text=name)
        room = captioned(figure.add_scatter(x=[0, 1], y=[0, 1], showlegend=False), "text", 800).layout.margin.t
        assert min(top, LINE * lines + 10) <= room <= min(top, LINE * lines + 40)


def light(colour):
    """Relative luminance of #RRGGBB or rgb(…) (WCAG 2)."""
    parts = re.findall(r"\d+", colour) if "(" in colour else [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    parts = np.array(parts, float) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("scale", [DIVERGING, SEQUENTIAL])
def test_numbers_can_be_read_on_every_shade(scale):
    for value in np.linspace(-1.1, 1.1, 441):
        inks = [light(cell_ink(value, -1, 1, scale)), light(shade_of(value, -1, 1, scale))]
        assert (max(inks) + 0.05) / (min(inks) + 0.05) >= 4.5, value


def test_no_figure_leaves_the_ink_of_its_cells_to_plotly():
    for path in RESULTS.glob("*/*/*/figure.json.gz"):
        assert b'"texttemplate"' not in gzip.decompress(path.read_bytes()).partition(b'"layout"')[0], path


def test_words_in_shipped_figures_are_dark_enough():
    """On white, but white ones, which stand on shades. Those of a page are looked at in a browser."""
    for path in RESULTS.glob("*/*/*/figure.json.gz"):
        drawn = json.loads(gzip.decompress(path.read_bytes()))
        fonts = [note.get("font", {}) for note in drawn["layout"].get("annotations", []) if note.get("text")]
        fonts += [trace.get("textfont", {}) for trace in drawn["data"] if "text" in trace.get("mode", "")]
        inks = {ink for font in fonts for ink in np.ravel(font.get("color", [])).tolist()} - {"white", "#FFFFFF"}
        pale = {ink for ink in inks if 1.05 / (light(ink) + 0.05) < 4.5}
        assert not pale, (path, pale)
