"""Pictures of plots without a browser: places, ticks, colours, and that a saved notebook has them."""

import base64
import gzip
import json
import re
import struct
import zlib
from xml.etree import ElementTree

import nbclient
import nbconvert
import nbformat
import numpy as np
import plotly.express as px
import plotly.graph_objects as go
import pytest

from lab.places import RESULTS
from lab.plots.svg import svg
from lab.plots.svg.axes import Axis, numbers
from lab.plots.svg.canvas import png
from lab.plots.svg.known import is_known

SVG = "{http://www.w3.org/2000/svg}"
NOTEBOOK = """
import plotly.graph_objects as go
from lab.plots.page import Plot
Plot(go.Figure(go.Scatter(x=[0, 1, 2], y=[1.0, 3.0, 2.0], name="a < b & c"), {"title": {"text": "kept"}}))
""", """
go.Figure(go.Heatmap(z=[[1, 2], [3, 4]]))
""", """
go.Figure(go.Surface(z=[[1, 2], [3, 4]]))
"""  # fmt: skip


def drawn(*traces, **layout):
    """A picture of 200 by 100 px within its margins, as XML."""
    layout = {"width": 300, "height": 200, "margin": dict.fromkeys("lrtb", 50)} | layout
    return ElementTree.fromstring(svg(go.Figure(traces, layout).to_dict()))


def paths(picture):
    return [path.get("d") for path in picture.iter(f"{SVG}path")]


def texts(picture):
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


def test_a_saved_notebook_has_its_plots_without_scripts_and_network():
    """They were Plotly's own type of output alone, which nbconvert's HTML and GitHub leave out."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in NOTEBOOK])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    bundles = [output.data for cell in notebook.cells for output in cell.outputs if "data" in output]
    shown = [bundle for bundle in bundles if "application/vnd.plotly.v1+json" in bundle]
    assert ["image/svg+xml" in bundle for bundle in shown] == [True, True, False], "a surface stays Plotly's"
    assert sum(len(bundle.get("image/svg+xml", "")) for bundle in shown) < 20_000
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    pictures = re.findall(r'<img[^>]*? src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(pictures) == 2
    first = base64.b64decode(pictures[0]).decode()
    assert "kept" in texts(ElementTree.fromstring(first)) and "<script" not in first
    assert re.findall(r"https?://[^\"' ]+", first) == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize(
    ("layout", "x", "y", "path"),
    [
        ({"xaxis": {"range": [0, 10]}, "yaxis": {"range": [0, 4]}}, [0, 5, 10], [0, 4, 2], "M50,150L150,50L250,100"),
        ({"xaxis": {"range": [10, 0]}, "yaxis": {"range": [0, 4]}}, [0, 10], [0, 4], "M250,150L50,50"),
        (
            {"xaxis": {"range": [0, 2], "type": "log"}, "yaxis": {"range": [0, 4]}},
            [1, 10, 100], [0, 4, 4], "M50,150L150,50L250,50",
        ),
        ({"yaxis": {"range": [0, 4]}}, ["a", "b"], [0, 4], "M100,150L200,50"),
        ({"xaxis": {"range": [0, 2]}, "yaxis": {"range": [0, 4]}}, [0, 1, 2], [0, None, 4], "M50,150M250,50"),
    ],
)  # fmt: skip
def test_points_stand_where_their_axes_say(layout, x, y, path):
    assert path in paths(drawn(go.Scatter(x=x, y=y, mode="lines"), **layout))


def test_arrays_as_plotly_packs_them_are_the_same_numbers():
    values = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    packed = go.Figure(go.Heatmap(z=values)).to_dict()["data"][0]["z"]
    assert "bdata" in packed and np.array_equal(numbers(packed), values)


@pytest.mark.parametrize(
    ("said", "length", "labels"),
    [
        ({"range": [0, 100]}, 200, ["0", "50", "100"]),
        ({"range": [-1, 1]}, 400, ["−1", "−0.5", "0", "0.5", "1"]),
        ({"range": [0, 20000]}, 400, ["0", "5k", "10k", "15k", "20k"]),
        ({"range": [0, 3], "type": "log", "dtick": 1}, 400, ["1", "10", "100", "1000"]),
        ({"range": [0, 1], "tickformat": ".0%", "dtick": 0.5}, 400, ["0%", "50%", "100%"]),
        ({"range": [0, 2], "tickvals": [0, 2], "ticktext": ["low", "high"]}, 400, ["low", "high"]),
        ({"range": [0, 2000], "tickformat": ",", "dtick": 1000}, 400, ["0", "1,000", "2,000"]),
    ],
)
def test_ticks_are_plotlys(said, length, labels):
    assert [text for _, text in Axis("x", said, 0, length, []).ticks()] == labels


def test_cells_have_their_colours_and_missing_ones_none():
    index, palette = np.array([[0, 1], [2, 1]]), np.array([[0, 0, 0], [255, 0, 0], [0, 0, 255]])
    content = base64.b64decode(png(index, palette))
    size = struct.unpack(">I", content[content.index(b"IDAT") - 4 : content.index(b"IDAT")])[0]
    start = content.index(b"IDAT") + 4
    assert zlib.decompress(content[start : start + size]) == b"\0\0\1\0\2\1"
    picture = drawn(go.Heatmap(z=[[0, 1], [None, 2]], colorscale=[[0, "#000"], [1, "#fff"]]))
    image = next(picture.iter(f"{SVG}image"))
    assert [float(image.get(name)) for name in ("x", "y", "width", "height")] == [50, 50, 200, 100]


def test_names_notes_and_titles_are_text_and_never_markup():
    note = {"text": "<b>bold</b> & <script>x</script><br>second", "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
    lines = go.Scatter(y=[1, 2], name="p < q"), go.Scatter(y=[2, 1], name="two")
    picture = drawn(*lines, annotations=[note], title={"text": "T"})
    found = texts(picture)
    assert {"p < q", "two", "T", "second", "bold & <script>x</script>"} <= set(found)
    assert not list(picture.iter(f"{SVG}script"))


def test_bars_stand_on_zero_beside_one_another():
    bars = [go.Bar(x=["a", "b"], y=[1, 2], marker={"color": ink}) for ink in ("#111111", "#999999")]
    picture = drawn(*bars, yaxis={"range": [0, 2]})
    found = [
        [float(rect.get(name)) for name in ("x", "y", "width", "height")]
        for ink in ("#111111", "#999999")
        for rect in picture.iter(f"{SVG}rect")
        if rect.get("fill") == ink and float(rect.get("width")) > 12  # not the legend's
    ]
    assert found == [[60, 100, 40, 50], [160, 50, 40, 100], [100, 100, 40, 50], [200, 50, 40, 100]]


@pytest.mark.parametrize(
    ("symbol", "tip"),
    [("triangle-up", (0, -1)), ("triangle-down", (0, 1)), ("triangle-left", (-1, 0)), ("triangle-right", (1, 0))],
)
def test_triangles_are_as_large_as_plotlys(symbol, tip):
    """Plotly's have their tip at the radius and their base at half of it, and 2 / √3 of it to each side."""
    picture = drawn(go.Scatter(y=[0.0], mode="markers", marker={"symbol": symbol, "size": 20}))
    (path,) = [path for path in paths(picture) if path.endswith("Z") and path.count("L") == 2]
    corners = np.array([corner.split(",") for corner in path[1:-1].split("L")], float)
    size = np.ptp(corners, 0) / 10
    assert size == pytest.approx((1.5, 4 / 3**0.5) if tip[0] else (4 / 3**0.5, 1.5), abs=0.02)
    assert (corners[0] - corners.mean(0)) / 10 == pytest.approx(tip, abs=0.02)


GAP, NOON = [1.0, None, 2.0], np.array(["2024-05-01T12", "2024-05-02T12"], "datetime64[h]")
AREA = {"y": GAP, "fill": "tozeroy"}
BOX = {name: [1.0] for name in ("lowerfence", "q1", "median", "q3", "upperfence")}
SQUARE = {"yaxis": {"scaleanchor": "x"}}
KNOWN = {
    "an area from zero": go.Scatter(AREA, y=[1.0, 2.0]),
    "a whole gap at an end": go.Scatter(AREA, y=[None, 1.0, 2.0]),
    "error bars": go.Scatter(y=[1, 2], error_y={"array": [1, 2], "arrayminus": [0, 1]}),
    "a short flat line": go.Scatter(y=[1, 2], mode="markers", marker={"symbol": "line-ew-open"}),
    "plotly.express": px.line(x=[1, 2], y=[1, 2], color=["a", "b"]),
    "plotly.express's cells": px.imshow([[1, 2], [3, 4]], color_continuous_scale="gray"),
    "a short line": go.Scatter(y=[1, 2], mode="markers", marker={"symbol": "line-ns-open"}),
    "categories": go.Bar(x=["a", "b"], y=[1, 2]),
    "categories that are numbers": go.Figure(go.Bar(x=["1", "2"], y=[1, 2]), {"xaxis": {"type": "category"}}),
    "a box by its quartiles": go.Box(BOX, x=["a"]),
    "texts of numbers": go.Heatmap(z=[[1.0]], texttemplate="%{z:.0f}"),
}
UNKNOWN = {
    "another kind of trace": go.Histogram(x=[1, 2]),
    "an area to the line before": go.Scatter(y=[1, 2], fill="tonexty"),
    "an area with a gap": go.Scatter(AREA),
    "a line across gaps": go.Scatter(y=GAP, connectgaps=True),
    "a curve": go.Scatter(y=[1, 2], line={"shape": "spline"}),
    "a symbol": go.Scatter(y=[1, 2], marker={"symbol": "hourglass"}),
    "an areal size": go.Scatter(y=[1, 2], marker={"size": [1, 2], "sizemode": "area"}),
    "areas on one another": go.Scatter(y=[1, 2], stackgroup="one"),
    "dates": go.Scatter(x=NOON, y=[1, 2]),
    "dates as text": go.Scatter(x=["2024-05-01", "2024-05-02"], y=[1, 2]),
    "dates as objects": go.Bar(x=NOON.astype(object), y=[1, 2]),
    "numbers as text": go.Bar(x=["10", "20"], y=[1, 2]),
    "categories in categories": go.Bar(x=[["a", "a"], ["b", "c"]], y=[1, 2]),
    "shares as error bars": go.Scatter(y=[1, 2], error_y={"type": "percent", "value": 5}),
    "constants as error bars": go.Scatter(y=[1, 2], error_y={"value": 5}),
    "bars off their places": go.Bar(y=[1, 2], offset=0.5),
    "bars on bars": go.Figure(go.Bar(y=[1, 2]), {"barmode": "stack"}),
    "shades of bars": go.Bar(y=[1, 2], marker={"color": [1, 2]}),
    "packed shades of bars": go.Bar(y=[1, 2], marker={"color": np.array([1, 2])}),
    "boxes of points": go.Box(y=[1, 2, 3]),
    "levels as areas": go.Contour(z=[[1, 2], [3, 4]]),
    "a formula as text": go.Heatmap(z=[[1, 2]], texttemplate="%{x}"),
    "a type of axis": go.Figure(go.Scatter(y=[1, 2]), {"xaxis": {"type": "date"}}),
    "an axis that is wider for a square": go.Figure(go.Scatter(y=[1, 2]), SQUARE),
    "a path as a shape": go.Figure(go.Scatter(y=[1, 2]), {"shapes": [{"type": "path", "path": "M0,0L1,1Z"}]}),
    "an image": go.Figure(go.Scatter(y=[1, 2]), {"images": [{"source": "a.png"}]}),
    "a menu": go.Figure(go.Scatter(y=[1, 2]), {"updatemenus": [{}]}),
    "a format of ticks": go.Figure(go.Scatter(y=[1, 2]), {"yaxis": {"tickformat": "~s"}}),
    "a dark ground": go.Figure(go.Scatter(y=[1, 2]), {"template": "plotly_dark"}),
}


@pytest.mark.parametrize("figure", KNOWN.values(), ids=list(KNOWN))
def test_what_is_drawn_rightly_has_a_picture(figure):
    assert ElementTree.fromstring(svg(go.Figure(figure).to_dict())) is not None


@pytest.mark.parametrize("figure", UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_drawn_rightly_has_none(figure):
    assert svg(go.Figure(figure).to_dict()) is None


def test_every_shipped_figure_is_known():
    for path in RESULTS.glob("*/*/*/figure.json.gz"):
        assert is_known(json.loads(gzip.decompress(path.read_bytes()))), path


def test_pictures_of_one_page_share_no_names_and_no_rules():
    first, second = (svg(go.Figure(go.Heatmap(z=[[0, value]]), {"height": 300}).to_dict()) for value in (1, 2))
    names = [set(re.findall(r' id="([^"]+)"', picture)) for picture in (first, second)]
    assert len(names[0]) == len(names[1]) == 3 and not names[0] & names[1], "the picture, its panel and its scale"
    for picture, own in zip((first, second), names, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", picture)) < own
        rules = re.findall(r"}?([^{}]+){[^{}]*}", re.search("<style>(.*?)</style>", picture, re.DOTALL)[1])
        assert {rule.split()[0].lstrip("#").removesuffix(":root") for rule in rules} < own


def test_bars_with_a_base_stand_on_it():
    picture = drawn(go.Bar(x=[0, 1], y=[1, 2], base=[1, 0], marker={"color": "#111111"}))
    rects = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("fill") == "#111111"]
    assert len({rect.get("y") for rect in rects}) == 1 and {rect.get("height") for rect in rects} == {"47.4", "94.8"}


def test_a_cloud_of_points_stays_small():
    where = np.random.default_rng(0).normal(size=(2, 50_000))
    assert len(svg(go.Figure(go.Scatter(x=where[0], y=where[1], mode="markers")).to_dict())) < 700_000
