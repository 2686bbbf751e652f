"""A figure in a column of a paper: no label meets another, all of them are there, and can be read."""

import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from lab.catalogue import registry
from lab.catalogue.shipped import read, resolve_scale
from lab.errors import ArgumentError
from lab.plots.column import INCHES, POINT, SIZES, WIDTH
from lab.plots.paper import column, paper
from lab.plots.svg.canvas import Canvas, plain_text, width
from lab.plots.svg.labels import crowded, meet, wrapped

# panels with titles, rows of numbers, a matrix with numbers, row labels and colour bars, panels of one image
SOME = ["transformers/fig2", "transformers/table5", "transformers/fig5", "hypernetwork/fig2d", "crossing/league"]


def shipped(name):
    entry = registry.entry(name)
    return read(entry, resolve_scale(entry))


@pytest.mark.parametrize("name", SOME)
def test_no_label_meets_another_and_all_can_be_read(name):
    plot = shipped(name).plot
    canvas = column(plot.to_dict())
    assert crowded(canvas) == []
    root = ElementTree.fromstring(paper(canvas, "a < b"))
    assert root.get("width") == f"{INCHES}in" and root.get("viewBox").split()[2] == f"{WIDTH:g}"
    texts = [text for text in root.iter("{http://www.w3.org/2000/svg}text") if "".join(text.itertext()).strip()]
    sizes = {float(text.get("font-size")) * POINT for text in texts}
    assert SIZES[0] - 0.01 <= min(sizes) <= max(sizes) <= SIZES[1] + 0.01
    shown = " ".join(label.text for label in canvas.labels)
    for note in plot.layout.annotations:
        assert plain_text(note.text) in shown
    for trace in plot.data:
        assert trace.showlegend is False or not trace.name or trace.name in shown or trace.type == "heatmap"


def test_panels_that_do_not_fit_beside_each_other_stand_below_each_other():
    long = "a title that is longer than a third of a column"
    figure = go.Figure()
    layout = {"height": 300, "annotations": []}
    for n in range(6):
        axis = str(n + 1 if n else "")
        ends = (n / 6, n / 6 + 0.1)
        figure.add_scatter(x=[0, 1000], y=[0, 100_000], xaxis=f"x{axis}", yaxis=f"y{axis}")
        layout |= {f"xaxis{axis}": {"domain": ends, "anchor": f"y{axis}"}, f"yaxis{axis}": {"anchor": f"x{axis}"}}
        layout["annotations"].append({"text": long, "xref": "paper", "x": ends[0], "yref": "paper", "y": 1})
        layout["annotations"][-1] |= {"yanchor": "bottom", "xanchor": "left", "showarrow": False}
    canvas = column(figure.update_layout(layout).to_dict())
    assert crowded(canvas) == [] and canvas.height > 250  # of rows of three; in one row they have 33 px each
    assert sum(label.text == long for label in canvas.labels) == 6


def test_a_wrapped_text_keeps_its_words_and_its_width():
    words = "one two, three <i>four</i> five-and-six seven"
    for room in (20, 60, 100, 1000):
        for text in (words, f"<b>{words.replace('<i>', '').replace('</i>', '')}</b>"):
            lines = wrapped(text, room, 12).split("<br>")
            assert plain_text(" ".join(lines)) == plain_text(text)
            assert all(width(line, 12) <= room or " " not in plain_text(line) for line in lines)


@pytest.mark.parametrize(
    ("place", "angle", "problem"),
    [((50, 50), 0, 1), ((50, 66), 0, 0), ((50, 56), 0, 1), ((80, 50), 0, 0), ((66, 30), 45, 0), ((56, 44), 45, 1),
     ((-5, 90), 0, 1), ((50, 99), 90, 1)],
)  # fmt: skip
def test_labels_that_meet_or_leave_are_found(place, angle, problem):
    canvas = Canvas(100, 100, "#000")
    canvas.words("abcd", 50, 50, "left", "middle", {"size": 12})
    canvas.words("ab", *place, "left", "middle", {"size": 12}, angle)
    assert len(crowded(canvas)) == problem


def test_rectangles_meet_as_their_points_say():
    random = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*2 * [np.linspace(0, 10, 60)]), -1).reshape(-1, 2)

    def box():
        turn, (wide, high) = random.uniform(0, np.pi), random.uniform(1.5, 5, 2)
        axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (wide / 2, high / 2) @ axes + random.uniform(3, 7, 2)
        return corners, (np.abs((grid - corners.mean(0)) @ axes.T) < (wide / 2, high / 2)).all(1)

    for _ in range(300):
        (one, inside), (two, within) = box(), box()
        common = (inside & within).sum() * (10 / 59) ** 2
        assert not (common > 2 and not meet(one, two)) and not (common == 0 and meet(one, two, least=0.8))


def test_the_font_is_in_the_file_and_what_is_not_drawn_is_refused(tmp_path):
    made = shipped("simplicity/fig10")
    text = made.save(tmp_path / "a.svg", width="column").read_text(encoding="utf-8")
    assert len(re.findall(r"@font-face\{[^}]*data:font/woff2;base64,[\w+/=]{9000,}\)\}", text)) == 2
    assert not re.findall(r"""(?:src|href|url)[=(]["']?(?!["']|data:|#)""", text), "nothing is loaded from elsewhere"
    for name, wide in (("a.png", "column"), ("a.gif", "page"), ("a.svg", "wide")):
        with pytest.raises(ArgumentError):
            made.save(tmp_path / name, width=wide)
    with pytest.raises(ArgumentError, match="drawn by a browser alone"):
        column({"data": [{"type": "surface", "z": [[1]]}], "layout": {}})
