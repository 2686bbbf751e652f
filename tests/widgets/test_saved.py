"""Saved pages of explorers: what they say is of what they show, they are light, and draw what Plotly would."""

import base64
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from torch import nn

import lab
from lab.errors import ArgumentError, LabError
from lab.probes import total_variation
from lab.widgets.drawing import draw
from lab.widgets.grokking import GrokkingExplorer
from lab.widgets.model import ModelExplorer
from lab.widgets.spline import SplineExplorer
from lab.widgets.training import TrainingExplorer
from tests.widgets.node import needs_node, node

LIGHT = 1.5e6  # bytes
STATE = re.compile(r'<script id="lab-state" type="application/json">(.*?)</script>', re.S)


def saved(explorer):
    """The page, its title, and what its module is given."""
    page = explorer.page()
    return page, re.search("<title>(.*?)</title>", page)[1], json.loads(STATE.search(page)[1])["state"]


def numbers(packed):
    """An array as Plotly packs it."""
    return np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])


@pytest.fixture(scope="module")
def runs():
    return lab.train("memorize", seeds=2, scale="smoke", progress=False)


def test_runs_say_how_they_were_trained_whatever_the_controls_say(runs):
    explorer = lab.explore(runs)
    recipe, width = runs[0].spec.recipe, runs[0].spec.model.width
    assert (explorer.width.value, explorer.steps.value, explorer.seeds.value) == (width, recipe.last, 2)
    explorer.scale.value, explorer.seeds.value, explorer.width.value = "paper", 7, 128
    page, title, state = saved(explorer)
    head = re.search("<dl>(.*?)</dl>", page, re.S)[1]
    assert title == f"Memorize, gelu, width {width}" in head
    assert f"2 seeds (0 to 1), {recipe.last} steps, learning rate {recipe.rate:g}" in head
    assert "128" not in head and "scale" not in head and len(page.encode()) < LIGHT and "Plotly.newPlot" not in page
    assert state["controls"][0]["options"] == ["test accuracy (%)", "training loss"]
    for frame, expected in zip(state["frames"], (100 * runs.accuracy, [run.loss for run in runs]), strict=True):
        for line, values in zip(frame[0]["figure"]["data"], expected, strict=True):
            assert np.array_equal(numbers(line["x"]), runs.steps) and np.allclose(numbers(line["y"]), values)


def test_where_nothing_was_trained_nothing_is_said_of_it():
    for explorer in (TrainingExplorer("memorize", "smoke"), GrokkingExplorer(scale="smoke")):
        assert explorer.settings() == []


def test_a_model_is_saved_with_all_its_views():
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    points = torch.rand(30, 2, generator=torch.Generator().manual_seed(0))
    explorer = ModelExplorer(model, points, points.sum(1, keepdim=True))
    explorer.view.value = "slice"
    page, title, state = saved(explorer)
    assert title == "Sequential on 30 examples" and len(page.encode()) < LIGHT
    options = state["controls"][0]["options"]
    assert options == ["total variation", "slice", "landscape", *(f"inputs of activations: {n}" for n in ("1", "3"))]
    assert options[state["frame"]] == "slice"
    assert all("figure" in frame[0] and frame[1]["html"] for frame in state["frames"])


@pytest.mark.parametrize(
    ("given", "name", "error", "said"),
    [
        ("gelu", "phi.html", ArgumentError, r"path='phi.html': a module's name ends in .mjs or .js"),
        ("gelu", "phi", ArgumentError, "a module's name ends in"),
        ("gelu", "file/phi.mjs", LabError, "cannot write .*; name another file"),
        ("memorize", "phi.mjs", LabError, "a TrainingExplorer shows nothing without a kernel: nothing is trained yet"),
        ("ab mod 27", "phi.mjs", LabError, "GrokkingExplorer shows nothing without a kernel.*; press Train"),
    ],
)
def test_a_module_that_cannot_be_is_refused_in_a_line(tmp_path, given, name, error, said):
    (tmp_path / "file").touch()
    with pytest.raises(error, match=said) as raised:
        lab.explore(given, **({} if given == "gelu" else {"scale": "smoke"})).module(tmp_path / name)
    assert "\n" not in str(raised.value) and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name, meant", [("gleu", "gelu"), ("memorise", "memorize"), ("transformer/mano", "mano")])
def test_a_misspelt_name_is_answered_in_a_short_line(name, meant):
    with pytest.raises(ArgumentError, match=f"no explorer for '{name}'; did you mean '.*{meant}'") as raised:
        lab.explore(name)
    assert len(str(raised.value)) < 100


def test_a_page_with_a_modules_name_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="path='phi.mjs': save writes a page"):
        lab.explore("gelu").save(tmp_path / "phi.mjs")
    assert not list(tmp_path.iterdir())


def test_a_module_is_one_file_that_imports_nothing(tmp_path):
    name = "</script><script>1</script>"
    path = lab.explore(lab.Spline([0.0, 1.0, 0.0]), state={}).module(tmp_path / "new" / "phi.mjs")
    text = path.read_text(encoding="utf-8")
    assert text.count("export default") == 1 and not re.search(
        r"^import |from \"|https?://(?!www.w3.org)|@import|url\(\"", text, re.M
    )
    explorer = SplineExplorer({name: lab.Spline([0.0, 1.0, 0.0])})
    assert "</script" not in explorer.content().module() and len(re.findall("</script", explorer.page())) == 2


PACKED = """import { unpacked, histogram } from "./plot.js";
console.log(JSON.stringify(cases.map(({ given, numbers, most }) => [unpacked(given), histogram(numbers, most)])));"""


@needs_node
def test_packed_numbers_and_bins_are_those_of_numpy():
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(3, 4)), np.arange(5, dtype=np.int8), random.normal(size=7).astype(np.float32)]
    cases = []
    for array in arrays:
        trace = go.Heatmap(z=array) if array.ndim == 2 else go.Scatter(y=array)
        packed = json.loads(go.Figure(trace).to_json())["data"][0]["z" if array.ndim == 2 else "y"]
        cases.append({"given": packed, "numbers": random.gamma(2.0, size=200).tolist(), "most": 40})
    for (numbers, binned), array, case in zip(node(PACKED, cases), arrays, cases, strict=True):
        assert np.allclose(numbers, array)
        middles, counts = np.array(binned["bins"]).T
        edges = [*(middles - binned["width"] / 2), middles[-1] + binned["width"] / 2]
        assert np.histogram(case["numbers"], edges)[0].tolist() == counts.tolist() and len(counts) <= case["most"] + 1


AXES = """import { axisOf } from "./plot.js";
console.log(JSON.stringify(cases.map(({ own, values, bars }) => {
  const axis = axisOf(own, values, [0, 100], 4, bars);
  return [axis.ticks, values.map((value) => axis.at(value)), [axis.low, axis.high]];
})));"""


@needs_node
def test_axes_have_numbers_powers_and_names():
    cases = [
        {"own": {"range": [0, 2]}, "values": [0, 1, 2]},
        {"own": {"type": "log", "range": [0, 2]}, "values": [1, 10, 100]},
        {"own": {}, "values": ["a", "b"]},
        {"own": {}, "values": [3, 12], "bars": True},
    ]
    numbers, powers, names, bars = node(AXES, cases)
    assert numbers[1] == powers[1] == [0, 50, 100] and [words for _, words in powers[0]] == ["1", "10", "100"]
    assert names[0] == [[25, "a"], [75, "b"]] and names[1] == [25, 75]
    assert bars[2][0] == 0 and bars[2][1] > 12, "bars stand on the axis"


COLOURS = """import { coloursOf } from "./plot.js";
console.log(JSON.stringify(cases.map(({ data, layout }) => data.map((trace) => {
  const { low, high, scale, title, shown } = coloursOf(trace, data, layout);
  return [low, high, scale(0.5).map(Math.round), title, shown];
}))));"""


@needs_node
def test_shades_have_the_scale_that_their_panels_share():
    own, shared = go.Heatmap(z=[[0, 4]], zmax=8, colorscale=[[0, "#000000"], [1, "#ff0000"]]), go.Figure()
    for high in (1.0, 3.0):
        shared.add_heatmap(z=[[0.5, high]], coloraxis="coloraxis")
    axis = {"colorscale": [[0, "#000000"], [1, "#0000ff"]], "cmin": -1, "colorbar": {"title": {"text": "cosine"}}}
    shared.update_layout(coloraxis=axis)
    cases = [json.loads(figure.to_json()) for figure in (go.Figure(own), shared)]
    assert node(COLOURS, cases) == [
        [[0, 8, [128, 0, 0], "", True]],
        [[-1, 3, [0, 0, 128], "cosine", True], [-1, 3, [0, 0, 128], "cosine", False]],
    ]


TICKS = """import { ticks } from "./chart.js";
console.log(JSON.stringify(cases.map((given) => ticks(...given).map(([value]) => value))));"""


@needs_node
def test_every_axis_has_two_numbers_at_least():
    random = np.random.default_rng(1)
    ends = np.sort(random.normal(scale=10.0 ** random.integers(-3, 4, (200, 1)), size=(200, 2)))
    cases = [[*pair, most] for pair in ends.tolist() for most in (0.7, 2, 6)]
    for (low, high, _), found in zip(cases, node(TICKS, cases), strict=True):
        assert len(found) >= 2 and all(low - 1e-6 * abs(low) <= one <= high + 1e-6 * abs(high) for one in found)


RACE = """import { accuracy, descend, ofSpline, PLAIN, randomLayers } from "./network.js";
import { PLAIN_SPLINES } from "./playground.js";
import { RACES, rateOf } from "./tasks.js";
const [name, setting] = Object.entries(RACES)[0];
console.log(JSON.stringify(cases.map((seed) => {
  const data = setting.make(seed);
  return [setting.first, "ReLU"].map((phi) => {
    const layers = randomLayers([data.inputs, ...setting.hidden, data.outputs], seed + 1, setting.scale);
    const network = { phi: phi === "ReLU" ? PLAIN.relu : ofSpline(PLAIN_SPLINES[phi]), layers };
    for (let step = 0; step < 100; step++) descend(network, data.train.points, data.train.targets, rateOf(name, phi));
    return accuracy(network, data.test.points, data.test.labels);
  });
})));"""


@needs_node
def test_the_first_race_shows_something_at_once():
    """100 steps of both networks take less than a second."""
    for first, relu in node(RACE, [1, 2, 3]):
        assert first > relu + 0.15


def test_the_picture_of_paths_is_of_their_own_numbers():
    found = total_variation(lambda x: x.sum(1), torch.rand(12, 2), paths=20)
    assert f"{found.value:.4g}" in draw(found).layout.xaxis.title.text
