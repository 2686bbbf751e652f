"""What rounding makes is no structure, and what does not count counts nowhere; what no memory holds is refused."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lab import probes
from lab.errors import ArgumentError
from lab.probes.cost import cost
from lab.probes.profile import counts, portrait, profile, wave
from lab.widgets.drawing import draw

X = torch.randn(500, 5, generator=torch.Generator().manual_seed(0))
CLASSES = (X[:, 0] > 0).long()
POINTS = X.double().numpy()
HALVES = [torch.bfloat16, torch.float16]


@pytest.mark.parametrize("kind", HALVES)
def test_rounding_of_half_precision_is_no_structure(kind):
    torch.manual_seed(0)
    line, smooth = nn.Linear(5, 1).to(kind), nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1)).to(kind)
    for f in (line, lambda x: line(x)):
        assert probes.total_variation(f, X).value == probes.fourier_complexity(f, X).value == 0.0
        values = probes.slice_1d(f, X[0], X[1], 50).values
        assert np.abs(np.diff(values, 2)).max() < 1e-6
    assert probes.Variation(X)(line) == probes.Frequency(X)(line) == 0.0
    rounded = probes.total_variation(smooth, X).value
    assert rounded == pytest.approx(probes.total_variation(smooth.float(), X).value, rel=1e-6)
    with pytest.raises(ArgumentError, match="rounding would be taken for structure"):
        probes.total_variation(lambda x: smooth(x).to(kind), X)
    assert line.weight.dtype == kind


@pytest.mark.parametrize("kind", HALVES)
def test_the_loss_of_a_model_of_half_precision_is_summed_in_more(kind):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16)).to(kind)
    ids, targets = torch.randint(0, 16, (900, 128)), torch.randint(0, 16, (900, 128))
    with torch.no_grad():
        expected = F.cross_entropy(model(ids).float().flatten(0, 1), targets.flatten()).item()
    assert probes.Loss(ids, targets)(model) == pytest.approx(expected, rel=1e-5)
    around = probes.landscape(model, {"loss": probes.Loss(ids[:9], targets[:9])}, "random", grid=9, radius=1e-3)
    assert len(np.unique(around.values["loss"])) > 40, "steps smaller than bfloat16 can tell apart"


def test_differences_of_large_numbers_are_taken_before_they_are_rounded():
    energies = -4e5 + 0.05 * X[:, :1].double()
    model = nn.Linear(5, 1).requires_grad_(False)
    model.weight.zero_(), model.bias.fill_(-4e5)
    expected = (0.05 * X[:, 0].double()).square().mean().item()
    assert probes.Loss(X, energies)(model) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.uint16])
def test_whole_numbers_of_any_type_are_the_same_classes(kind):
    model = nn.Linear(5, 200).requires_grad_(False)
    largest = 120 if kind == torch.int8 else 199
    targets = (torch.arange(500) * 7 % largest).to(kind)
    expected = F.cross_entropy(model(X), targets.long()).item()
    assert probes.Loss(X, targets)(model) == pytest.approx(expected)
    assert probes.Loss(X, targets.numpy())(model) == pytest.approx(expected)
    if kind.is_signed:
        targets[::3] = -100
        expected = F.cross_entropy(model(X), targets.long()).item()
        assert probes.Loss(X, targets)(model) == pytest.approx(expected)
    flags = probes.Loss(X, CLASSES.bool())(nn.Linear(5, 1))
    assert np.isfinite(flags)


class Gives(nn.Module):
    """A model that answers with what is made of one linear map."""

    def __init__(self, make, outputs=2):
        super().__init__()
        self.map, self.make = nn.Linear(5, outputs), make

    def forward(self, x):
        return self.make(self.map(x))


def test_answers_are_read_by_their_axes():
    one, two = Gives(lambda out: out), Gives(lambda out: (out, -out))
    two.map = one.map
    for probe in (
        lambda f: probes.total_variation(f, X, paths=3),
        lambda f: probes.slice_1d(f, X[0], X[1], 2),
        lambda f: probes.Variation(X, paths=3)(f),
        lambda f: probes.Loss(X, CLASSES)(f),
    ):
        first, second = probe(one), probe(two)
        assert str(getattr(first, "values", first)) == str(getattr(second, "values", second)), "the first counts"
    with pytest.raises(ArgumentError, match="tuple of 2"):
        probes.slice_1d(lambda x: (x[:, 0], x[:, 1]), POINTS[0], POINTS[1], 2)
    turned = Gives(lambda out: out.T)  # as many numbers, and not one row for each point
    with pytest.raises(ArgumentError, match="one row of numbers for each"):
        probes.Variation(X, paths=3)(turned)
    square = Gives(lambda out: out.view(-1, 3, 3), 9)
    with pytest.raises(ArgumentError, match="either axis of 3"):
        probes.Loss(X, torch.zeros(500, 3, dtype=torch.long))(square)


HUGE = {
    "slice_2d": lambda n: probes.slice_2d(lambda x: x[:, 0], np.zeros(3), (0, 1), grid=n),
    "slice_2d of three": lambda n: probes.slice_2d(lambda x: x[:, 0], np.zeros((3, 2)), grid=n),
    "slice_1d": lambda n: probes.slice_1d(lambda x: x[:, 0], X[0], X[1], n * n),
    "paths": lambda n: probes.total_variation(lambda x: x[:, 0], X, paths=n * n),
    "samples": lambda n: probes.total_variation(lambda x: x[:, 0], X, samples=n * n),
    "Variation": lambda n: probes.Variation(X, samples=n * n)(nn.Linear(5, 1)),
    "landscape": lambda n: probes.landscape(nn.Linear(5, 1), {"one": lambda m: 1.0}, "random", grid=n),
    "profile": lambda n: profile(torch.tanh, samples=n * n),
    "counts": lambda n: counts(X, -1, 1, n * n),
    "portrait": lambda n: portrait(nn.ReLU(), grid=n),
    "cost": lambda n: cost({"tanh": torch.tanh}, elements=n * n),
    "repeats": lambda n: cost({"tanh": torch.tanh}, repeats=n * n),
    "wave": lambda n: wave(np.arange(n // 10), np.sin(np.arange(n // 10))),
    "resamples": lambda n: probes.decode(X, CLASSES, None, resamples=n * n),
}


@pytest.mark.parametrize("what", HUGE)
def test_what_no_memory_holds_is_refused_at_once(what):
    with pytest.raises(ArgumentError, match="and this machine has") as error:
        HUGE[what](10**6)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e200, 1e300])
def test_codes_whose_squares_are_no_numbers_are_refused(factor):
    codes = X[:60].double().numpy() * factor
    for probe in (
        lambda: probes.embed(codes, "tsne"),
        lambda: probes.embed(codes, "pca"),
        lambda: probes.decode(codes, CLASSES[:60], None),
        lambda: probes.code_similarity(codes, CLASSES[:60]),
    ):
        with pytest.raises(ArgumentError, match="divide codes by it"):
            probe()


@pytest.mark.parametrize(("factor", "offset"), [(1e-30, 0.0), (1e30, 0.0), (1.0, 1e9)])
def test_a_map_does_not_depend_on_unit_and_origin_of_codes(factor, offset):
    codes = X[:60].double().numpy()
    expected = probes.embed(codes, "tsne").trustworthiness
    assert probes.embed(codes * factor + offset, "tsne").trustworthiness == pytest.approx(expected, abs=0.02)


def test_labels_are_names_in_pictures():
    labels = np.array(["2020-01", "1e3", "<s>"])[np.arange(60) % 3]
    codes = X[:60].numpy()
    similarity = draw(probes.code_similarity(codes, labels))
    assert similarity.layout.xaxis.type == similarity.layout.yaxis.type == "category"
    assert "&lt;s&gt;" in similarity.data[0].x
    decoding = draw(probes.decode(codes, labels, None, shuffles=1, resamples=2))
    assert decoding.layout.yaxis.type == "category" and "&lt;s&gt;" in decoding.data[0].y
    assert draw(cost({"1": torch.tanh, "2": torch.sin}, elements=9, repeats=1)).layout.yaxis.type == "category"
    embedded = draw(probes.embed(codes, "pca"), labels)
    assert any("&lt;s&gt;" in str(trace.name) for trace in embedded.data)


class Forces(nn.Module):
    """The gradient of an energy, taken inside; as a dictionary, as such models answer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.energy = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        x = x.detach().requires_grad_()
        return {"logits": torch.autograd.grad(self.energy(x).sum(), x)[0]}


def test_a_model_that_takes_gradients_itself_is_read():
    model = Forces()
    with torch.enable_grad():
        forces = model(X)["logits"]
    assert probes.Loss(X, X)(model) == pytest.approx(F.mse_loss(forces, X).item())
    found = probes.total_variation(model, X, paths=5).value
    assert probes.Variation(X, paths=5)(model) == pytest.approx(found, rel=1e-5) and found > 0
    assert probes.landscape(model, {"loss": probes.Loss(X, X)}, "random", grid=2).here["loss"] > 0
    assert all(part.grad is None for part in model.parameters())
    with pytest.raises(ArgumentError, match="to_dense"):
        probes.Loss(X.to_sparse(), CLASSES)


class First(nn.Module):
    """A model whose first parameter is no real number: of whole ones, or complex."""

    def __init__(self, kind):
        super().__init__()
        self.first = nn.Parameter(torch.ones(5, dtype=kind), requires_grad=kind.is_complex)
        self.last = nn.Linear(5, 2)

    def forward(self, x):
        assert x.dtype == torch.float32
        return self.last((x * self.first).real)


@pytest.mark.parametrize("kind", [torch.int64, torch.complex64])
def test_inputs_have_the_type_of_real_weights(kind):
    model = First(kind)
    with torch.no_grad():
        expected = F.cross_entropy(model(X), CLASSES).item()
    assert probes.Loss(X, CLASSES)(model) == pytest.approx(expected)
    assert probes.total_variation(model, X, paths=5).value == probes.Variation(X, paths=5)(model) == 0
    measures = {"loss": probes.Loss(X, CLASSES)}
    if kind.is_complex:
        with pytest.raises(ArgumentError, match="weights first are complex"):
            probes.landscape(model, measures, "random", grid=2)
    else:
        assert probes.landscape(model, measures, "random", grid=2).here["loss"] == pytest.approx(expected)


FARTHEST = {
    "the function reaches": lambda k: probes.total_variation(lambda x: k * np.sin(5 * x[:, 0]), POINTS, paths=3),
    "points has numbers": lambda k: probes.fourier_complexity(lambda x: x[:, 0], POINTS * k, paths=3),
    "x has numbers": lambda k: wave(k * np.linspace(-1, 1, 30), np.sin(np.arange(30))),
    "bounds has numbers": lambda k: probes.slice_2d(lambda x: x[:, 0], POINTS[0], (0, 1), 3, (-k, k)),
    "radius=": lambda k: probes.landscape(nn.Linear(5, 2), {"one": lambda m: 1.0}, "random", grid=2, radius=k),
    "span no plane": lambda k: probes.landscape(nn.Linear(5, 2), {"one": lambda m: 1.0}, POINTS[:2, [0] * 12] * k),
    "weights that are not finite": lambda k: probes.landscape(
        nn.Linear(5, 2), {"one": lambda m: 1.0}, "pca", POINTS[:5, [0, 1, 2] * 4] * k
    ),
    "high=": lambda k: profile(torch.sin, -1.0, k, 9),
}


@pytest.mark.parametrize("what", FARTHEST)
def test_numbers_whose_squares_are_infinite_are_refused(what):
    for size in (1e300, 1e307):
        with pytest.raises(ArgumentError, match=what):
            FARTHEST[what](size)
