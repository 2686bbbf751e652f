"""The page computes what Python computes: the same random cases through both."""

import numpy as np
import pytest
import torch
from torch import nn

from lab.nonlinearity.shapes import support
from lab.nonlinearity.spline import Spline
from lab.probes.complexity import spectrum, variations
from lab.probes.profile import profile
from tests.widgets.node import needs_node, node

pytestmark = needs_node

FUNCTIONS = """
import * as spline from "./spline.js";
const numbers = (f) => Array.from(f.low === undefined ? f : f.values);
console.log(JSON.stringify(cases.map(({ f, x, bandwidth, degrees, window }) => ({
  value: x.map((one) => spline.value(f, one)),
  slopes: numbers(spline.slopes(f)),
  heights: spline.heights(f, ...window),
  spectrum: numbers(spline.spectrum(f.values)),
  variation: spline.variation(f.values),
  mirroredX: numbers(spline.mirroredX(f)), mirroredY: numbers(spline.mirroredY(f)),
  smoothed: numbers(spline.smoothed(f, bandwidth)),
  symmetrized: { ...spline.symmetrized(f), values: numbers(spline.symmetrized(f)) },
  polynomial: degrees.map((degree) => numbers(spline.polynomial(f, degree))),
  chebyshev: degrees.map((degree) => numbers(spline.chebyshev(f, degree))),
}))));
"""
DEGREES = (0, 1, 5, 12, 18)


def functions():
    """Random walks, noise, functions that are zero at their ends, symmetric ones, zero: on ranges of all kinds."""
    rng = np.random.default_rng(0)
    for knots, low, high in ((31, -1.0, 1.0), (73, -4.0, 8.0), (101, 0.0, 5.0), (361, -20.0, 20.0)):
        walk, noise = rng.normal(size=knots).cumsum(), rng.normal(size=knots)
        tapered = np.where(np.abs(np.arange(knots) - knots // 2) < knots // 3, noise, 0.0)
        even = walk + walk[::-1]
        for values in (walk, noise, tapered, even, np.zeros(knots)):
            yield Spline(torch.from_numpy(values), low, high)  # double precision


@pytest.fixture(scope="module")
def cases():
    rng, found = np.random.default_rng(1), []
    for phi in functions():
        reach = phi.high - phi.low
        found.append(
            {
                "phi": phi,
                "f": {"low": phi.low, "high": phi.high, "values": phi.values.tolist()},
                "x": [phi.low, phi.high, *rng.uniform(phi.low - reach, phi.high + reach, 50).tolist()],
                "bandwidth": float(rng.uniform(0, reach / 8)),
                "degrees": DEGREES,
                "window": sorted(rng.uniform(phi.low, phi.high, 2).tolist()),
            }
        )
    answers = node(FUNCTIONS, [{name: case[name] for name in case if name != "phi"} for case in found])
    return list(zip(found, answers, strict=True))


def near(here, there, scale):
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-6 * max(1.0, scale))


def test_values_slopes_and_heights(cases):
    for case, answer in cases:
        phi, size = case["phi"], float(case["phi"].values.abs().max())
        near(answer["value"], phi(torch.tensor(case["x"], dtype=torch.float64)), size)
        shape = profile(phi)
        near(answer["slopes"], shape.slope, np.abs(shape.slope).max())
        near(answer["heights"], shape.heights(*case["window"]), size)


def test_spectrum_and_variation(cases):
    for case, answer in cases:
        y, size = case["phi"].values.numpy(), float(case["phi"].values.abs().max())
        near(answer["spectrum"], spectrum(y), size)
        near(answer["variation"], variations(y[None])[0], size)


def test_mirrors_smoothing_and_symmetry(cases):
    for case, answer in cases:
        phi, size = case["phi"], float(case["phi"].values.abs().max())
        near(answer["mirroredX"], phi.values.flip(0), size)
        near(answer["mirroredY"], -phi.values, size)
        near(answer["smoothed"], phi.smoothed(case["bandwidth"]).values, size)
        found, said = phi.symmetrized(), answer["symmetrized"]
        assert said["mirror"] == found.mirror
        near([said["shift"] * phi.spacing, said["correlation"]], [found.shift, found.correlation], 1)
        near(said["values"], found.spline.values, size)


def test_polynomials(cases):
    for case, answer in cases:
        phi, size = case["phi"], float(case["phi"].values.abs().max())
        x, y = support(phi.positions.numpy(), phi.values.numpy())
        for degree, powers, series in zip(DEGREES, answer["polynomial"], answer["chebyshev"], strict=True):
            # the same minimum, sound on every range: powers lose digits where 0 is far from the middle
            exact = np.polynomial.Chebyshev.fit(x, y, degree)(phi.positions.numpy().clip(x[0], x[-1]))
            near(powers, exact, size)
            if phi.low == -phi.high or degree < 12:
                near(powers, phi.polynomial(degree)(phi.positions), size)
            near(series, phi.chebyshev(degree)(phi.positions), size)


NETWORKS = """
import * as network from "./network.js";
import { variation } from "./spline.js";
const functionOf = (f) => (Array.isArray(f) ? f.map(functionOf)
  : typeof f === "string" ? network.PLAIN[f] : network.ofSpline(f));
console.log(JSON.stringify(cases.map(({ layers, f, points, targets, labels, rate, steps }) => {
  const made = { layers, phi: functionOf(f) };
  const first = Array.from(network.answers(made, Float64Array.from(points)));
  const inputs = layers[0].inputs, ends = [new Array(inputs).fill(-1), new Array(inputs).fill(1)];
  const line = Array.from(network.along(made, ...ends, 51));
  const square = inputs === 2 ? Array.from(network.square(made, 5)) : [];
  const losses = [];
  for (let step = 0; step < steps; step++)
    losses.push(network.descend(made, Float64Array.from(points), targets, rate));
  const right = network.accuracy(made, Float64Array.from(points), labels);
  return { first, line, square, losses, right, layers: made.layers.map(({ weight, bias }) => ({ weight, bias })) };
})));
"""
SIZES = ((2, 16, 16, 3), (10, 24, 5))


class Torch(nn.Module):
    """A plain PyTorch perceptron."""

    def __init__(self, sizes, phi, seed):
        super().__init__()
        torch.manual_seed(seed)
        pairs = zip(sizes[:-1], sizes[1:], strict=True)
        self.layers = nn.ModuleList(nn.Linear(*pair, dtype=torch.float64) for pair in pairs)
        self.phi = phi

    def forward(self, x):
        for number, layer in enumerate(self.layers[:-1]):
            x = (self.phi[number] if isinstance(self.phi, list) else self.phi)(layer(x))
        return self.layers[-1](x)

    def arrays(self):
        return [{"weight": one.weight.T.flatten().tolist(), "bias": one.bias.tolist()} for one in self.layers]


def test_a_network_answers_and_learns_as_in_pytorch_for_a_hundred_steps():
    wave = Spline(torch.sin(torch.linspace(-6, 6, 81, dtype=torch.float64)), -3.0, 3.0)
    kinds = {"relu": nn.ReLU(), "tanh": nn.Tanh(), "gelu": nn.GELU(), "identity": nn.Identity(), "wave": wave}
    two = "tanh, then GELU"
    kinds = {two: [nn.Tanh(), nn.GELU()]} | kinds
    cases, expected, steps, rate = [], [], 100, 0.5
    for seed, (name, phi) in enumerate(kinds.items()):
        sizes = SIZES[seed % 2]
        made = Torch(sizes, phi, seed)
        x = torch.randn(40, sizes[0], dtype=torch.float64).clamp(-2, 2)
        labels = torch.arange(40) % sizes[-1]
        targets = nn.functional.one_hot(labels).double()
        layers = [
            {"inputs": i, "outputs": o, **one} for i, o, one in zip(sizes[:-1], sizes[1:], made.arrays(), strict=True)
        ]
        f = {"low": -3.0, "high": 3.0, "values": wave.values.tolist()} if name == "wave" else name
        f = ["tanh", "gelu"] if name == two else f
        plain = {"points": x.flatten().tolist(), "targets": targets.flatten().tolist(), "labels": labels.tolist()}
        cases.append({"layers": layers, "f": f, "rate": rate, "steps": steps, **plain})
        with torch.no_grad():
            first = made(x).flatten()
            line = made(torch.linspace(-1, 1, 51, dtype=torch.float64)[:, None].expand(-1, sizes[0])).flatten()
            axis = torch.linspace(-1, 1, 5, dtype=torch.float64)
            square = made(torch.cartesian_prod(axis, axis).flip(1)).flatten() if sizes[0] == 2 else torch.zeros(0)
        descent, losses = torch.optim.SGD(made.parameters(), rate), []
        for _ in range(steps):
            loss = nn.functional.mse_loss(made(x), targets)
            descent.zero_grad()
            loss.backward()
            descent.step()
            losses.append(loss.item())
        right = (made(x).argmax(1) == labels).double().mean().item()
        expected.append((first, line, square, losses, right, made.arrays()))
        assert losses[-1] < 0.9 * losses[0], "it learns"
    for answer, (first, line, square, losses, right, arrays) in zip(node(NETWORKS, cases), expected, strict=True):
        near(answer["first"], first, 1)
        near(answer["line"], line, 1)
        near(answer["square"], square, 1)
        near(answer["losses"], losses, 1)
        assert answer["right"] == pytest.approx(right)
        for here, there in zip(answer["layers"], arrays, strict=True):
            near(here["weight"], there["weight"], 1)
            near(here["bias"], there["bias"], 1)


TABLES = """
import { explained } from "./network.js";
import { table } from "./csv.js";
import { ownRace } from "./tasks.js";
console.log(JSON.stringify(cases.map((text) => {
  try {
    const found = table(text), race = ownRace(found, found.isNumeric).make(0), rows = [race.train, race.test];
    const counts = rows.map(({ points }) => points.length / 2);
    return { ...found, counts, race: rows.map((one) => [...one.points]), outputs: race.outputs };
  } catch (error) { return error.message; }
})));
"""


def rows(of, count=12, between=","):
    return "\n".join(between.join(map(str, of(i))) for i in range(count))


def test_a_table_of_ones_own_is_read_or_the_row_and_the_column_are_named():
    """Words and whole numbers are classes, other numbers are to be told; a quarter of the rows is kept for the test."""
    word, wave = (lambda i: (i, i * i, "ab"[i % 2])), (lambda i: (f"{i},5", i * i, f"{i / 7:.3f}".replace(".", ",")))
    good = ["\ufeff" + rows(word), "length,width,kind\r\n" + rows(word).replace("\n", "\r\n"), rows(wave, between=";")]
    good += [rows(lambda i: (i, -i, '"a, ""b"""' if i % 2 else "c")), rows(lambda i: (i, i % 3, i % 4), between="\t")]
    good += [rows(lambda i: (i, i % 7, "ab"[i >= 5000]), 9000)]  # sorted by its label, and more than are taken
    marked = lambda i: (f'"{i},5"', f'"{i + 1},125"', '"a,b,c,d"' if i % 2 else "e")  # noqa: E731
    good += [rows(marked, between=between) for between in ",\t"]
    wrong = {
        "": "empty",
        "a,b\n1,2": "Row 1 has 2 columns",
        rows(lambda i: (i, "q" if i == 7 else i, 1)): 'Row 8, column 2: "q" is no number',
        "x,y,z\n\n" + rows(lambda i: (i, i, "" if i == 3 else "a")): "Row 6, column 3: the label is missing",
        rows(lambda i: (1, i, i % 2)): "Column 1: every row has 1",
        rows(lambda i: (i, i, "a")): 'Column 3: every row has the label "a"',
        rows(lambda i: (i, i, f"w{i}")): "Column 3 has 12 classes",
        rows(word, 3): "The file has 3 rows",
        rows(lambda i: (i, f'"{i + 1},125"', "ab"[i % 2])): '"1,125" may be a whole number or a fraction',
        "PK\x03\x04\x00": "Row 1 has 1 column;",
        rows(lambda i: (i, i, "a") if i < 8000 else (i, "nan", "b"), 9000): 'Row 8001, column 2: "nan" is no number',
    }
    read, refused = (answers := node(TABLES, [*good, *wrong]))[: len(good)], answers[len(good) :]
    for said, expected in zip(refused, wrong.values(), strict=True):
        assert said.startswith(expected) or expected in said
    plain, named, numbers, quoted, whole, long, *decimal = read
    assert all(one["points"] == [[i + 0.5, i + 1.125] for i in range(12)] for one in decimal)
    assert plain["names"] == ["x", "y", "label"] and named["names"] == ["length", "width", "kind"]
    assert plain["points"] == named["points"] == [[i, i * i] for i in range(12)] and plain["counts"] == [9, 3]
    assert numbers["isNumeric"] and numbers["points"][1] == [1.5, 1] and numbers["numbers"][1] == 0.143
    assert quoted["labels"][:2] == ["c", 'a, "b"'] and not quoted["isNumeric"] and quoted["numbers"] is None
    assert whole["isChoice"] and not whole["isNumeric"] and [one["outputs"] for one in read] == [2, 2, 1, 2, 4, 2, 2, 2]
    assert long["left"] == 7000 and 0.4 < long["labels"].count("b") / 2000 < 0.5
    for one in read:
        points = np.concatenate(one["race"]).reshape(-1, 2)
        given = np.array(one["points"])
        scaled = 2 * (given - given.min(0)) / np.ptp(given, 0) - 1
        np.testing.assert_allclose(np.sort(points, 0), np.sort(scaled, 0), atol=1e-12)


EXPLAINED = """import { explained, PLAIN } from "./network.js";
console.log(JSON.stringify(cases.map(({ points, targets, weight, bias }) => explained(
  { layers: [{ inputs: 2, outputs: 1, weight, bias }], phi: PLAIN.relu },
  Float64Array.from(points), Float64Array.from(targets)))));"""


def test_the_share_of_variance_is_that_of_scikit_learn():
    from sklearn.metrics import r2_score

    rng, cases, expected = np.random.default_rng(0), [], []
    for noise in (0.0, 0.5, 10.0):
        x, weight = rng.normal(size=(30, 2)), rng.normal(size=2)
        y = x @ weight + 0.3 + noise * rng.normal(size=30)
        parts = {"points": x.ravel(), "targets": y, "weight": weight, "bias": np.array([0.3])}
        cases.append({name: values.tolist() for name, values in parts.items()})
        expected.append(max(0.0, r2_score(y, x @ weight + 0.3)))
    np.testing.assert_allclose(node(EXPLAINED, cases), expected, atol=1e-12)
