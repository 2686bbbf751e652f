"""Steps of perceptrons in one call: torch's weights to 1e-9, in float64; a run has one set of bits, alone or not."""

import ctypes

import numpy as np
import pytest
import torch

from lab.nonlinearity import native
from lab.nonlinearity.functions import named
from lab.spec import AdamTrapezoid, AdamWCosine, ConstantRate, Knots, KnotTable, Perceptron, RunSpec, replace
from lab.tasks import Operation
from lab.training import perceptron
from lab.training.descent_fleet import flattened, fleet_of
from lab.training.fleet import note_of, train
from lab.training.rows import TableBatch
from tests.training.making import Wave, descent, same, through_a_file, until

CLASSES, HOT = Wave(kind="class"), Operation(modulus=5)
HAT = Knots(-2.0, 2.0, (0.5, -1.0, 2.0, 0.0, 1.0))
ADAM = ConstantRate(40, 0.01, optimizer="adam", every=10, average=4)

pytestmark = pytest.mark.skipif(native.why_not() is not None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    monkeypatch.setenv("LAB_STEPS", "kernel")


def wide(specs):
    """A fleet in float64, with its data."""
    made = fleet_of(specs, [tuple(spec.model.parts.values()) for spec in specs])
    made.model.double()
    for rows in (made.data.training, made.data.whole, *made.data.followed.values()):
        values = {"inputs": rows.inputs.double()}
        values |= {} if rows.targets.dtype == torch.int64 else {"targets": rows.targets.double()}
        for name, value in values.items():
            object.__setattr__(rows, name, value)
    return made


def torch_and_kernel(specs):
    """Two fleets of these runs in float64, one by torch, one by the kernel."""
    plain, fleet = wide(specs), wide(specs)
    plain.kernel = None
    assert fleet.kernel is not None
    return plain, fleet


def specs_of(task=None, model=None, recipe=ADAM, runs=3):
    return [RunSpec(task or Wave(), model or Perceptron(2, 8), recipe, seed, ("test",)) for seed in range(runs)]


def assert_same_path(specs, steps=8):
    plain, fleet = torch_and_kernel(specs)
    for step in range(steps):
        for each in (plain, fleet):
            train(each, until(step + 1))
        torch.testing.assert_close(flattened(fleet.weights), flattened(plain.weights), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(fleet.history._sum, plain.history._sum, rtol=1e-9, atol=1e-9)
    for weight, other in zip(fleet.weights, plain.weights, strict=True):
        for name, moment in plain.optimizer.state[other].items():
            torch.testing.assert_close(fleet.optimizer.state[weight][name], moment, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("layers, width", [(0, 8), (1, 1), (2, 3), (3, 17), (2, 64), (1, 130)])
@pytest.mark.parametrize("task", [Wave(), CLASSES, HOT, Wave(rows=1)], ids=["value", "class", "one-hot", "one row"])
def test_weights_are_those_of_torch(task, layers, width):
    assert_same_path(specs_of(task, Perceptron(layers, width, "tanh"), runs=2), 4)


RECIPES = {
    "sgd": ConstantRate(40, 0.1, every=10),
    "rmsprop": ConstantRate(40, 0.01, optimizer="rmsprop", every=10),
    "trapezoid": AdamTrapezoid(40, 0.01, 16, (0.8, 0.95), every=10),
    "cosine": AdamWCosine(40, 0.01, 16, warmup=4, every=10),
}


@pytest.mark.parametrize("rule", RECIPES)
def test_rules_schedules_and_decay_are_those_of_torch(rule):
    assert_same_path(specs_of(CLASSES, recipe=RECIPES[rule]))


@pytest.mark.parametrize("phi", [name for name in perceptron.FUNCTIONS if name != "spline"] + ["celu", HAT])
def test_functions_are_those_of_torch(phi):
    """With prefactors of their own, residual layers, batches, and rates for each run."""
    model = Perceptron(3, 9, phi, residual=True, scale=0.5)
    specs = [
        replace(
            spec, model=replace(model, prefactor=0.5 + 0.25 * seed), recipe=ConstantRate(40, 0.01 * seed, 20, every=10)
        )
        for seed, spec in enumerate(specs_of(CLASSES))
    ]
    assert_same_path(specs)


def test_each_run_layer_and_input_has_its_own_function():
    tables = [KnotTable(-1.0, 1.0, ((-1.0, float(seed), 1.0),)) for seed in range(3)]
    hats = [replace(HAT, values=tuple(np.roll(HAT.values, seed))) for seed in range(3)]
    model = Perceptron(2, 8, (HAT, "gelu"))
    parts = [{"phi0": hat, "phi1": "gelu", "inputs": table} for hat, table in zip(hats, tables, strict=True)]
    runs = zip(specs_of(), parts, strict=True)
    assert_same_path([replace(spec, model=model.having(part)) for spec, part in runs])


@pytest.mark.parametrize("phi", [name for name in perceptron.FUNCTIONS if name != "spline"])
def test_functions_in_float32(phi):
    """As torch's of float64 to a few units of the last place of the largest value: far out, and near zero."""
    x = torch.cat([torch.linspace(-12, 12, 2001), torch.logspace(-12, 0, 50), -torch.logspace(-12, 0, 50)])
    x = torch.cat([x, torch.tensor([200.0, -200.0, torch.inf, -torch.inf, torch.nan])])
    given = x.double().requires_grad_()
    value = named(phi)(given)
    (slope,) = torch.autograd.grad(value.sum(), given)
    y, z = torch.empty_like(x), x.clone()
    function = perceptron.Function(perceptron.FUNCTIONS.index(phi))
    activate = perceptron._loaded()[0].perceptron_activate_float32
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (z, y)]
    activate(ctypes.byref(function), ctypes.c_float(1.0), None, *pointers, ctypes.c_int64(len(x)))
    near = x.abs() < 13
    torch.testing.assert_close(y[near], value[near].detach().float(), rtol=1e-6, atol=2e-7)
    torch.testing.assert_close(z[near], slope[near].float(), rtol=1e-5, atol=1e-6)
    assert y[-1].isnan()


@pytest.mark.parametrize("target, dies", [(-100, False), (5, True), (-1, True)])
def test_rows_without_a_class(target, dies):
    """Count nowhere where their class is -100, as in torch; other numbers, at which torch fails, end a run."""
    fleets = torch_and_kernel(specs_of(CLASSES))
    for each in fleets:
        targets = each.data.whole.targets.clone()
        targets[1, :7] = target
        object.__setattr__(each.data.whole, "targets", targets)
    plain, fleet = fleets
    train(fleet, until(3))
    assert fleet.died.tolist() == [-1, 0 if dies else -1, -1]
    if not dies:
        train(plain, until(3))
        torch.testing.assert_close(flattened(fleet.weights), flattened(plain.weights), rtol=1e-9, atol=1e-9)


def test_a_batch_of_no_rows_has_the_loss_of_torch():
    for task in (Wave(), CLASSES):
        plain, fleet = torch_and_kernel(specs_of(task))
        rows, before = fleet.data.whole, flattened(fleet.weights).clone()
        empty = TableBatch(rows.task, rows.inputs[:, :0], rows.targets[:, :0])
        outputs = plain.model(rows.inputs)[:, :0]
        losses = empty.loss(outputs), fleet.kernel(empty, torch.ones(3, dtype=torch.bool))
        assert all(loss.isnan().all() for loss in losses)
        assert torch.equal(flattened(fleet.weights), before)


@pytest.mark.parametrize("phi", ["relu", "gelu", HAT], ids=["relu", "gelu", "spline"])
def test_a_run_has_the_same_bits_alone_in_a_fleet_and_on_two_threads(phi, monkeypatch):
    specs = specs_of(CLASSES, Perceptron(2, 17, phi), replace(ADAM, batch=20), runs=5)
    together = train(fleet_of(specs, [(phi,)] * 5))
    for run in (0, 4):
        alone = train(fleet_of(specs[run : run + 1], [(phi,)]))
        assert torch.equal(flattened(alone.weights)[0], flattened(together.weights)[run])
    monkeypatch.setattr(perceptron, "ALONE", 0)
    torch.set_num_threads(2)
    try:
        assert same(train(fleet_of(specs, [(phi,)] * 5)).state(), together.state())
    finally:
        torch.set_num_threads(1)


def test_a_resumed_fleet_has_the_bits_of_an_uninterrupted_one():
    whole, first, rest = (descent(range(3), CLASSES, recipe=ADAM, batch=20) for _ in range(3))
    train(whole)
    train(first, until(17))
    rest.restore(through_a_file(first.state()))
    assert same(train(rest).state(), whole.state()) and note_of(rest) == ", one call a step"


@pytest.mark.parametrize("recipe", [RECIPES["sgd"], RECIPES["rmsprop"], ADAM], ids=["sgd", "rmsprop", "adam"])
def test_a_run_that_diverges_keeps_its_weights_as_under_torch(recipe):
    """The others train on; so do those that have lost their patience stay as they are."""
    specs = specs_of(CLASSES, recipe=replace(recipe, patience=1, steps=60))
    plain, fleet = torch_and_kernel(specs)
    for each in (plain, fleet):
        train(each, until(3))
        with torch.no_grad():
            each.weights[0][1] = torch.inf
        train(each)
    assert fleet.died.tolist() == plain.died.tolist() and fleet.died[1] == 3
    assert fleet.stopped.tolist() == plain.stopped.tolist()
    torch.testing.assert_close(flattened(fleet.weights), flattened(plain.weights), rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize(
    "model, why",
    [
        (Perceptron(1, 8, spectral=True), "singular values"),
        (Perceptron(1, 8, "prelu"), "weights and biases alone"),
        (Perceptron(1, 8, "sinc"), "it does not have sinc"),
    ],
)
def test_what_the_kernel_lacks_is_said_once_and_torch_trains(model, why, capsys):
    made = train(descent((0, 1), model=model))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("steps are not taken by the kernel (") and why in said[0]
    assert made.kernel is None and note_of(made) == ""


@pytest.mark.parametrize("chosen", ["plain", "compiled", ""])
def test_the_environment_chooses(chosen, monkeypatch, capsys):
    """The kernel is what takes steps where nothing is said; what it lacks is not said then."""
    monkeypatch.setenv("LAB_STEPS", chosen)
    assert (descent((0, 1)).kernel is None) == bool(chosen)
    assert descent((0, 1), model=Perceptron(1, 8, "prelu")).kernel is None and capsys.readouterr().err == ""


@pytest.mark.parametrize("rule", ["adam", "rmsprop"])
def test_a_step_in_float32_is_as_long_as_in_float64(rule):
    """1 - β is computed before it is rounded: 1 - .999 in float32 is 1.3e-5 of it off."""
    recipe = ConstantRate(40, 0.01, optimizer=rule, every=10)
    specs = specs_of(model=Perceptron(2, 16, "tanh"), recipe=recipe, runs=1)
    single, double = fleet_of(specs, [tuple(spec.model.parts.values()) for spec in specs]), wide(specs)
    for fleet in (single, double):
        assert fleet.kernel is not None
        train(fleet, until(1))
    for weight, other in zip(single.weights, double.weights, strict=True):
        rounded = single.optimizer.moment(weight, "exp_avg_sq").double()
        exact = double.optimizer.moment(other, "exp_avg_sq")
        assert abs((rounded / exact).median() - 1) < 4e-6


@pytest.mark.parametrize("width", [5, 40, 131])
def test_inputs_that_are_mostly_zero_give_the_bits_of_others(width):
    """Zeros are not multiplied with where seven of eight inputs are, from the first row on: one without any in front,
    which counts nowhere, brings them back."""
    specs = specs_of(Operation(modulus=11, loss_name="cross_entropy"), Perceptron(2, width, HAT), runs=2)
    found = []
    for place in (0, -1):
        fleet = fleet_of(specs, [(HAT,)] * 2)
        rows = fleet.data.whole
        full, none = torch.ones(2, 1, rows.inputs.shape[2]), torch.full((2, 1), -100)
        inputs, targets = [full, rows.inputs], [none, rows.targets]
        batch = TableBatch(rows.task, torch.cat(inputs[:: place or 1], 1), torch.cat(targets[:: place or 1], 1))
        fleet.set_rates(0)
        losses = [fleet.kernel(batch, torch.ones(2, dtype=torch.bool)) for _ in range(4)]
        found.append([*losses, *(weight.detach() for weight in fleet.weights)])
    assert all(map(torch.equal, *found))
