"""lab.plot and the explorers of a model and of results: what is drawn is what was measured."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab import probes
from lab.plots.style import GREY
from lab.plots.svg import svg
from lab.probes.cost import cost
from lab.probes.profile import portrait
from lab.widgets.model import ModelExplorer
from tests.training import own

POINTS = np.random.default_rng(0).normal(size=(60, 2))
LABELS = np.arange(60) % 3


def landscape(*names):
    model = nn.Linear(2, 1)
    measures = {"size": lambda model: model.weight.norm(), "bias": lambda model: model.bias.norm()}
    return probes.landscape(model, {name: measures[name] for name in names}, "random", grid=4)


def test_a_landscape_is_drawn_with_its_values():
    for names in (("size",), ("size", "bias")):
        found = landscape(*names)
        figure = lab.plot(found)
        grounds = [trace for trace in figure.data if trace.type == "contour"]
        assert [np.array_equal(g.z, found.values[name]) for g, name in zip(grounds, names, strict=True)] == [
            True
        ] * len(names)


def test_every_probes_result_has_a_picture():
    codes = np.repeat(np.eye(3, 6), 20, axis=0) + POINTS[:, :1] / 50
    labels = np.repeat(["a", "b", "c"], 20)
    variation = probes.total_variation(lambda x: x[:, 0] ** 2, POINTS, paths=20)
    plane = probes.slice_2d(lambda x: x, POINTS[:3], grid=5)
    line = probes.slice_1d(lambda x: x, POINTS[0], POINTS[1], samples=4)
    similarity = probes.code_similarity(codes, labels)
    figures = {kind: lab.plot(x) for kind, x in {"line": line, "plane": plane, "variation": variation}.items()}
    assert [list(trace.y) for trace in figures["line"].data] == line.values.T.tolist()
    heat = [trace for trace in figures["plane"].data if trace.type == "heatmap"]
    assert [np.array_equal(h.z, plane.values[..., o]) for o, h in enumerate(heat)] == [True, True]
    bars = figures["variation"].data[0]
    assert bars.y.sum() == 20 and np.average(bars.x, weights=bars.y) == pytest.approx(
        variation.value, abs=bars.x[1] - bars.x[0]
    )
    assert all(svg(one.to_dict()) for one in (*figures.values(), lab.plot(landscape("size", "bias"))))
    assert np.allclose(lab.plot(similarity).data[1].customdata[..., 0], similarity.similarity)
    embedded = probes.embed(codes, "pca")
    assert np.array_equal(lab.plot(embedded, labels).data[0].x, embedded.points[:, 0])
    scores = np.zeros((60, codes.shape[1], 2, 2))
    scores[:, :, 1, 0] = codes
    read = probes.latent_codes(scores, query=1, key=0)
    assert np.allclose(lab.plot(read, labels).data[0].x, embedded.points[:, 0])
    assert lab.explore(read).error.value == ""
    decoded = probes.decode(codes, labels, np.arange(60), shuffles=2, resamples=20)
    assert np.allclose(lab.plot(decoded).data[0].x, 100 * decoded.f1.value)
    several = probes.decode(codes, labels, np.arange(60) // 3, shuffles=2, resamples=20)
    for one, tested in ((decoded, "examples"), (several, "combinations")):  # without groups nothing is said on these
        picture = lab.plot(one)
        assert picture.layout.xaxis.title.text == f"F1 on unseen {tested} (%)" and tested in picture.data[0].name
    assert lab.plot(cost({"exp": torch.exp, "sin": torch.sin}, elements=100, repeats=2)).data
    drawn = portrait(nn.GELU(), grid=4, samples=5)
    assert any(np.array_equal(trace.y, drawn.line.values) for trace in lab.plot(drawn).data)
    phi = lab.zoo("transformers/memorize")
    assert np.allclose(lab.plot(phi).data[0].y, phi.values.detach())
    for wrong in (torch.nn.Linear(2, 2), torch.nn.ReLU, print, torch.float32):
        with pytest.raises(lab.ArgumentError, match="there is no picture of"):
            lab.plot(wrong)
    with pytest.raises(lab.ArgumentError, match="unknown result 'gleu'.*gelu"):
        lab.plot("gleu")
    with pytest.raises(lab.ArgumentError, match="a dictionary is drawn where it has runs by name"):
        lab.plot({})
    with pytest.raises(lab.ArgumentError, match="give one for each of 60 points"):
        lab.plot(embedded, labels[:9])


def test_runs_are_drawn_as_learning_curves_with_their_mean():
    runs = lab.train("memorize", mlp="gelu", seeds=3, scale="smoke", progress=False)
    figure = lab.plot(runs)
    band, *lines, mean = [trace for trace in figure.data if trace.xaxis == "x"]
    assert [trace.name for trace in lines] == ["0: seed 0", "1: seed 1", "2: seed 2"]
    for trace, run in zip(lines, runs, strict=True):
        assert np.array_equal(trace.x, run.steps) and np.allclose(trace.y, 100 * run.accuracy)
    assert mean.name == "mean of 3 runs" and np.allclose(mean.y, 100 * runs.accuracy.mean(0)) and band.fill == "toself"
    losses = [trace for trace in figure.data if trace.xaxis == "x2"][1:4]
    assert all(np.allclose(trace.y, run.loss) for trace, run in zip(losses, runs, strict=True))
    assert figure.layout.yaxis.title.text == "test accuracy (%)" and "interval" in figure.layout.meta
    alone = lab.plot(runs[0])
    assert len(alone.data) == 2 and np.allclose(alone.data[0].y, 100 * runs[0].accuracy)
    with pytest.raises(lab.ArgumentError, match="there are no runs"):
        lab.plot(runs[:0])


@pytest.mark.parametrize("training", [True, False])
def test_a_model_is_looked_at_from_all_sides_and_left_as_it_was(training):
    model = own.seeded(own.norms, 0).train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x = own.images().inputs[:40]
    explorer = lab.explore(model, inputs=x, targets=torch.from_numpy(LABELS)[:40])
    assert isinstance(explorer, ModelExplorer) and explorer.error.value == ""
    seen = {}
    for view in explorer.view.options:
        explorer.view.value = view
        assert explorer.error.value == "", explorer.error.value
        seen[view] = explorer._place.children[0]
    assert list(seen) == ["total variation", "slice", "landscape", "inputs of activations"]
    model.eval()
    with torch.no_grad():
        received = model[1](model[0](x)).flatten().numpy()
        loss = float(nn.functional.cross_entropy(model(x), torch.from_numpy(LABELS)[:40]))
    heights, edges = np.histogram(received, bins=80)
    assert np.allclose(seen["inputs of activations"].data[0].y, 100 * heights / heights.sum())
    assert np.isclose(seen["landscape"].data[0].z[7, 7], loss, rtol=1e-4)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_comparison_is_explored_and_a_model_alone_is_not():
    data = own.signs()
    result = lab.compare(data, own.mlp, nn.GELU, {"GELU": None, "ReLU": "relu"}, seeds=2, steps=4, progress=False)
    explorer = lab.explore(result)
    assert explorer.metric.options == ("accuracy", "loss") and "\naccuracy on test" in explorer.status.value
    assert "white-space: pre-line" in explorer.status.value, "a line each"
    drawn = explorer._place.children[0].layout
    assert drawn.yaxis.range == drawn.yaxis2.range and drawn.yaxis.range[1] <= 105, "no accuracy is above 100 %"
    assert not drawn.xaxis2.showticklabels, "names are in the legend"
    inks = {trace.name: trace.line.color for trace in explorer._place.children[0].data if trace.mode == "lines"}
    assert inks["GELU"] == GREY and inks["ReLU"] not in (GREY, None), "the others are compared with the first"
    assert f"<h1>Comparison on {data.name}</h1>" in explorer.page()
    explorer.metric.value = "loss"
    assert explorer.error.value == "" and explorer._place.children[0].data[1].y[-1] < 2
    with pytest.raises(lab.ArgumentError, match="a Sequential alone shows nothing; give inputs"):
        lab.explore(own.mlp(0))
    with pytest.raises(lab.ArgumentError, match="give one target an input"):
        lab.explore(own.mlp(0), inputs=data.inputs, targets=[1, 2])
    with pytest.raises(lab.ArgumentError, match="give .N, …. numbers"):
        lab.explore(own.mlp(0), inputs=[1, 2])


def test_a_model_that_reads_ids_or_a_dictionary_is_looked_at_where_there_is_something_to_see():
    """Between two ids there is nothing; the loss around the weights, and what activations receive, are there."""
    data = own.sequences()
    model, (x, y) = own.seeded(own.reader, 0), data.split("test")
    named = Named(model)
    for given, looked_at in ((x, model), ({"ids": x, "mask": torch.ones_like(x)}, named)):
        explorer = lab.explore(looked_at, inputs=given, targets=y)
        assert explorer.view.options == ("landscape", "inputs of activations") and explorer.error.value == ""
        loss = float(nn.functional.cross_entropy(model(x), y).detach())
        assert np.isclose(explorer._place.children[0].data[0].z[7, 7], loss, rtol=1e-4)
        explorer.view.value = "inputs of activations"
        assert explorer.error.value == "" and explorer._place.children[0].data[0].y.sum() == pytest.approx(100)
    with pytest.raises(lab.ArgumentError, match="give as many of each"):
        lab.explore(named, inputs={"ids": x, "mask": torch.ones(2, 5)}, targets=y)
    with pytest.raises(lab.ArgumentError, match="only the landscape can be shown; give targets"):
        lab.explore(nn.Embedding(7, 2), inputs=x)


class Named(nn.Module):
    """It answers as models of the library transformers do."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return SimpleNamespace(logits=self.model(ids * mask))


def test_a_model_of_low_precision_is_looked_at_from_all_sides():
    model, x = own.seeded(own.mlp, 0).bfloat16(), own.signs().inputs[:40]
    explorer = lab.explore(model, inputs=x, targets=torch.arange(40) % 2)
    for view in explorer.view.options:
        explorer.view.value = view
        assert explorer.error.value == "", (view, explorer.error.value)


@pytest.mark.parametrize(
    "given",
    [torch.sin, torch.nn.Tanh(), "tanh", torch.nn.functional.silu],
    ids=lambda f: getattr(f, "__name__", str(f)),
)
def test_a_function_is_drawn_as_people_have_it(given):
    x, y = (lab.plot(given).data[0][axis] for axis in "xy")
    phi = torch.tanh if isinstance(given, str) else given
    assert (min(x), max(x)) == (-5, 5) and np.allclose(y, phi(torch.tensor(x)).numpy(), atol=1e-6)


def test_a_name_of_the_zoo_is_drawn_as_its_function():
    phi = lab.zoo("transformers/memorize")
    by_name, itself, symmetric = (
        lab.plot(given).data[0] for given in ("transformers/memorize", phi, phi.symmetrized())
    )
    assert np.array_equal(by_name.y, itself.y) and not np.array_equal(symmetric.y, itself.y)
