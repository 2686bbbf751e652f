"""Grids and maps: the page computes what Python computes, on the same random cases."""

import numpy as np
import torch
from scipy.interpolate import RegularGridInterpolator
from torch import nn

from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline
from lab.probes.calling import function_of, slice_2d
from lab.probes.complexity import total_variation
from lab.probes.profile import POINTS, random_network, square
from lab.widgets.function_view import random_networks
from lab.widgets.slices import perceptron
from tests.widgets.node import needs_node, node

pytestmark = needs_node

GRIDS = """
import * as grid from "./grid.js";
import { reading } from "./landscape.js";
console.log(JSON.stringify(cases.map(({ x, y, z, level, at, colours, shares }) => ({
  logarithms: grid.logarithms(z), ends: grid.ends(z),
  nearest: at.map(([a, b]) => [grid.nearest(x, a), grid.nearest(y, b)]),
  contour: grid.contour(x, y, z, level), shades: shares.map((share) => grid.shade(colours, share)),
  reading: at.map(([a, b]) => reading({ x, y, values: { z } }, a, b).z),
}))));
"""


def test_landscapes_are_read_as_in_python():
    rng, cases = np.random.default_rng(0), []
    for size in ((5, 4), (9, 9), (25, 30)):
        x, y = (np.sort(rng.normal(size=one)) for one in size)
        z = rng.normal(size=(len(y), len(x)))
        at = np.stack([rng.uniform(x[0] - 1, x[-1] + 1, 20), rng.uniform(y[0] - 1, y[-1] + 1, 20)], 1)
        case = {"x": x, "y": y, "z": z, "at": at, "level": 0.1, "shares": np.linspace(-0.2, 1.2, 15)}
        cases.append({name: value.tolist() if name != "level" else value for name, value in case.items()})
        cases[-1]["colours"] = ["#000000", "#ff0000", "#ffff80"]
    for case, answer in zip(cases, node(GRIDS, cases), strict=True):
        x, y, z, at = (np.array(case[name]) for name in ("x", "y", "z", "at"))
        expected = np.log10(np.where(z > 0, z, np.nan))
        np.testing.assert_allclose(np.array(answer["logarithms"], float), expected, atol=1e-6)
        np.testing.assert_allclose(answer["ends"], [z.min(), z.max()])
        columns, rows = (np.abs(axis[:, None] - at[:, i]).argmin(0) for i, axis in enumerate((x, y)))
        np.testing.assert_array_equal(answer["nearest"], np.stack([columns, rows], 1))
        np.testing.assert_allclose(answer["reading"], z[rows, columns])
        # a contour is where what is linear between the points of an edge has that height
        pieces = np.array(answer["contour"]).reshape(-1, 2)
        assert len(pieces)
        on_edges = np.isin(pieces[:, 0].round(9), x.round(9)) | np.isin(pieces[:, 1].round(9), y.round(9))
        assert on_edges.all()
        np.testing.assert_allclose(RegularGridInterpolator((y, x), z)(pieces[:, ::-1]), case["level"], atol=1e-6)
        changes = ((z < 0.1)[:, 1:] != (z < 0.1)[:, :-1]).sum() + ((z < 0.1)[1:] != (z < 0.1)[:-1]).sum()
        inner = ((z < 0.1)[1:-1, 1:] != (z < 0.1)[1:-1, :-1]).sum() + (
            (z < 0.1)[1:, 1:-1] != (z < 0.1)[:-1, 1:-1]
        ).sum()
        assert len(pieces) == changes + inner, "each edge that is crossed ends one piece on either side"
        stops = np.array([[0, 0, 0], [255, 0, 0], [255, 255, 128]], float)
        for share, shade in zip(case["shares"], answer["shades"], strict=True):
            place = np.clip(share, 0, 1) * 2
            np.testing.assert_allclose(shade, [np.interp(place, range(3), stops[:, i]) for i in range(3)], atol=1e-6)


MAPS = """
import * as map from "./points.js";
import { mean } from "./compatibility.js";
console.log(JSON.stringify(cases.map(({ points, line, places, rows, labels, which, runs }) => ({
  inside: map.inside(points, line), closest: places.map(([x, y]) => map.closest(points, x, y)),
  onward: points.map((_, i) => [[1, 0], [-1, 0], [0, 1], [0, -1]].map((way) => map.onward(points, i, way))),
  mean: map.meanOf(rows), tally: map.tally(labels, which), course: mean(runs),
}))));
"""


def test_points_are_chosen_and_counted_as_in_python():
    rng = np.random.default_rng(1)
    centre, angles = np.array([0.2, -0.1]), np.sort(rng.uniform(0, 2 * np.pi, 12))
    points, corners = rng.normal(size=(200, 2)), centre + np.stack([np.cos(angles), np.sin(angles)], 1)
    runs = rng.random((3, 40))
    runs[1, 25:] = np.nan
    labels, which = rng.choice(["a", "b", "c"], 200), np.arange(0, 200, 3)
    case = {"points": points, "line": corners, "places": rng.normal(size=(30, 2)), "rows": rng.normal(size=(7, 8))}
    case |= {"labels": labels, "which": which}
    plain = {name: value.tolist() for name, value in case.items()}
    plain["runs"] = [[None if np.isnan(one) else one for one in run] for run in runs]
    (answer,) = node(MAPS, [plain])
    # corners on a circle, in their order: convex, so inside is on the left of every side
    sides = np.roll(corners, -1, 0) - corners
    away = points[:, None] - corners
    left = sides[:, 0] * away[..., 1] - sides[:, 1] * away[..., 0] > 0
    assert answer["inside"] == np.flatnonzero(left.all(1)).tolist()
    distance = np.linalg.norm(points - case["places"][:, None], axis=-1)
    np.testing.assert_array_equal([one for one, _ in answer["closest"]], distance.argmin(1))
    np.testing.assert_allclose([far for _, far in answer["closest"]], distance.min(1))
    for i, found in enumerate(answer["onward"]):
        for way, to in zip(np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]), found, strict=True):
            along = (points - points[i]) @ way
            beside = np.abs((points - points[i]) @ way[::-1])
            there = (along > 0) & (beside <= np.sqrt(3) * along)
            cost = np.where(there, along + 2 * beside, np.inf)
            assert to == (cost.argmin() if there.any() else i)
    reached, todo = {0}, [0]
    while todo:
        new = set(answer["onward"][todo.pop()]) - reached
        reached |= new
        todo += new
    assert len(reached) > 0.9 * len(points), "with arrow keys one gets nearly everywhere"
    np.testing.assert_allclose(answer["mean"], case["rows"].mean(0), atol=1e-6)
    counts = sorted(((label, int((labels[which] == label).sum())) for label in set(labels)), key=lambda one: -one[1])
    assert [count for _, count in answer["tally"]] == [count for _, count in counts]
    assert {tuple(one) for one in answer["tally"]} == set(counts)
    np.testing.assert_allclose(answer["course"], np.nanmean(runs, axis=0), atol=1e-6)


WALKS = """
import { step } from "./walk.js";
const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", "a"];
console.log(JSON.stringify(cases.map((places) => places.map((_, at) => keys.map((key) => step(places, at, key))))));
"""


def test_curves_are_walked_along_and_every_point_is_reached():
    rng = np.random.default_rng(2)
    places = [{"group": group, "x": x} for group in range(4) for x in np.sort(rng.uniform(0, 100, 3 + 9 * group))]
    (steps,) = node(WALKS, [places])
    firsts, x = [0, 3, 15, 36, 66], np.array([place["x"] for place in places])
    for at, (left, right, up, down, back, on, home, end, other) in enumerate(steps):
        group = places[at]["group"]
        first, last = firsts[group], firsts[group + 1] - 1
        assert (left, right, home, end, other) == (max(first, at - 1), min(last, at + 1), first, last, None)
        assert (back, on) == (max(first, at - 10), min(last, at + 10))
        for to, beside in ((up, group - 1), (down, group + 1)):
            inside = np.arange(firsts[beside], firsts[beside + 1]) if 0 <= beside < 4 else np.array([at])
            assert to == inside[np.abs(x[inside] - x[at]).argmin()]


SLICES = """
import { networkOf, plane } from "./slices.js";
console.log(JSON.stringify(cases.map(({ network, point, across, up, size, low, high, output }) =>
  plane(networkOf(network), point, across, up, size, low, high, output))));
"""


def test_perceptrons_are_sliced_as_in_python():
    torch.manual_seed(0)
    wave = Spline(torch.sin(torch.linspace(-6, 6, 81)), -3.0, 3.0)
    models = [
        MLP((4, 8, 8, 3), [0], nn.ReLU()),
        MLP((4, 8, 2), [1], nn.Tanh(), prefactor=2.5),
        MLP((4, 6, 6, 1), [2], wave),
        nn.Sequential(nn.Linear(4, 5), nn.GELU(), nn.Linear(5, 5), nn.GELU(), nn.Linear(5, 2)),
        nn.Linear(4, 1, bias=False),
    ]
    rng, cases, expected = np.random.default_rng(3), [], []
    for model in models:
        case = {"network": perceptron(model), "point": rng.uniform(-1, 1, 4).tolist(), "across": 2, "up": 0}
        cases.append(case | {"size": 11, "low": -1.5, "high": 1.0, "output": 1})
        found = slice_2d(function_of(model.double()), np.array(case["point"]), (2, 0), 11, (-1.5, 1.0)).values
        expected.append(found[..., 1] if found.ndim == 3 else found)
    for answer, values in zip(node(SLICES, cases), expected, strict=True):
        np.testing.assert_allclose(answer, values, rtol=0, atol=1e-6 * max(1.0, np.abs(values).max()))


def test_what_is_no_plain_perceptron_is_left_to_the_kernel():
    wide = nn.Sequential(nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 1))
    two = MLP((2, 4, 1), [0, 1], nn.ReLU())
    several = MLP((2, 4, 4, 1), [0], [nn.ReLU(), nn.Tanh()])
    mixed = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    leaky = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(), nn.Linear(4, 1))
    residual = MLP((2, 4, 4, 1), [0], nn.ReLU(), residual=True)
    others = [
        nn.GELU("tanh"),
        nn.Sequential(nn.Linear(2, 2), nn.GELU("tanh"), nn.Linear(2, 1)),
        nn.Sequential(nn.ReLU()),
    ]
    kinds = nn.Sequential(nn.Linear(2, 4), nn.GELU(), nn.Linear(4, 4), nn.GELU("tanh"), nn.Linear(4, 1))
    hats = [Spline(torch.tensor([0.0, height, 0.0])) for height in (1.0, 2.0)]
    splines = nn.Sequential(nn.Linear(2, 4), hats[0], nn.Linear(4, 4), hats[1], nn.Linear(4, 1))
    for model in (wide, two, several, mixed, leaky, residual, kinds, splines, *others, lambda x: x):
        assert perceptron(model) is None


def test_what_a_subclass_or_a_hook_computes_is_left_to_the_kernel():
    class Closed(nn.Sequential):
        def forward(self, x):
            return super().forward(x).sigmoid()

    class Masked(nn.Linear):
        def forward(self, x):
            return nn.functional.linear(x, 0 * self.weight, self.bias)

    def plain():
        return nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))

    hooked, early, weighed, patched = plain(), plain(), plain(), plain()
    hooked[1].register_forward_hook(lambda module, given, answer: 2 * answer)
    early.register_forward_pre_hook(lambda module, given: (2 * given[0],))
    torch.nn.utils.parametrizations.weight_norm(weighed[0])
    patched.forward = lambda x: x
    closed, masked = Closed(*plain()), nn.Sequential(Masked(2, 4), nn.ReLU(), nn.Linear(4, 1))
    assert perceptron(plain()) is not None
    for model in (closed, masked, hooked, early, weighed, patched):
        assert perceptron(model) is None


PORTRAITS = """
import { mean, variations, withFunction } from "./portrait.js";
import { square } from "./network.js";
console.log(JSON.stringify(cases.map(({ networks, f, grid }) => networks.seeds.map((layers) => {
  const network = withFunction(layers, f);
  const variation = mean(variations(network, networks.paths, networks.samples));
  return { plane: Array.from(square(network, grid)), variation };
}))));
"""


def test_random_networks_have_the_slices_and_the_total_variation_of_python():
    generator = torch.Generator().manual_seed(0)
    noise = Spline(torch.randn(61, generator=generator, dtype=torch.float64), -3.0, 3.0)
    functions = {"noise": noise, "GELU": nn.GELU()}
    known = random_networks() | {"seeds": random_networks()["seeds"][:2]}
    cases = [
        {"networks": known, "grid": 7, "f": {"name": name, "constant": False, "low": -1, "high": 1, "values": [0, 0]}}
        for name in functions
    ]
    cases[0]["f"] |= {"constant": True, "low": noise.low, "high": noise.high, "values": noise.values.tolist()}
    for answers, phi in zip(node(PORTRAITS, cases), functions.values(), strict=True):
        for seed, answer in enumerate(answers):
            model = function_of(random_network(phi, seed).double())
            plane = slice_2d(model, np.zeros(2), (0, 1), 7).values
            np.testing.assert_allclose(answer["plane"], plane.flatten(), atol=1e-6)
            expected = total_variation(model, square(POINTS).double()).value
            assert expected > 0 and abs(answer["variation"] - expected) < 1e-6, (type(phi).__name__, seed)
