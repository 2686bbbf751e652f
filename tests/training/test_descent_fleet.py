"""Fleets of perceptrons: torch's optimizers as oracle, averages, what is kept, stopping, divergence, resuming."""

import copy

import numpy as np
import pytest
import torch

from lab import kinds
from lab.errors import ArgumentError
from lab.spec import ConstantRate, Knots, KnotTable, Perceptron, RunSpec, replace
from lab.tasks import Operation
from lab.training import rows as module
from lab.training.descent_fleet import fleet_of, spread
from lab.training.fleet import train
from tests.training.making import Wave, descent, same, through_a_file, until

RULES = {"sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop, "adam": torch.optim.Adam}
CLASSES = Wave(kind="class")


def flat(fleet):
    return torch.cat([weight.detach().flatten(1) for weight in fleet.weights], 1)


def path(fleet):
    """The weights (T, R, P) after each step."""
    found = []
    train(fleet, lambda state: found.append(flat(state)) is None)
    return torch.stack(found)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("task", [Wave(), CLASSES, Operation(modulus=5)], ids=["value", "class", "one-hot"])
def test_weights_move_as_under_torch(rule, task):
    """Full batches, one run, torch's own module, loss and optimizer."""
    made = descent((3,), task, Perceptron(layers=2, width=8, phi="tanh"), optimizer=rule, rate=0.01, steps=30, every=30)
    layers = []
    for layer in made.model.layers:
        linear = torch.nn.Linear(*layer.weight.shape[1:])
        linear.weight.data, linear.bias.data = layer.weight.data[0].mT.clone(), layer.bias.data[0, 0].clone()
        layers += [linear, torch.nn.Tanh()]
    twin = torch.nn.Sequential(*layers[:-1])
    optimizer, rows = RULES[rule](twin.parameters(), lr=0.01), task.split(0)["train"]
    for _ in range(30):
        outputs = twin(rows.inputs)
        if task.loss_name == "cross_entropy":
            loss = torch.nn.functional.cross_entropy(outputs, rows.targets)
        else:
            wanted = torch.eye(5)[rows.targets] if task.classification else rows.targets[:, None]
            loss = torch.nn.functional.mse_loss(outputs, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    train(made)
    for mine, theirs in zip(made.model.layers, twin[::2], strict=True):
        torch.testing.assert_close(mine.weight[0].mT, theirs.weight, rtol=1e-3, atol=1e-5)


def test_runs_side_by_side_have_their_own_rate_prefactor_function_and_table():
    """Each as it would be alone."""
    hats = [Knots(-2.0, 2.0, (0.0, 1.0, 0.5)), Knots(-2.0, 2.0, (1.0, -1.0, 0.25)), Knots(-2.0, 2.0, (0.5, 0.0, 1.0))]
    specs = []
    for number, hat in enumerate(hats):
        model = Perceptron(layers=2, width=8, phi=hat, prefactor=0.5 + number, residual=True)
        recipe = ConstantRate(30, 0.02 * (number + 1), every=10, optimizer="rmsprop", average=5, trajectory=15)
        specs.append(RunSpec(Wave(), model, recipe, number, ("train", "test"), number))
    parts = [(hat,) for hat in hats]
    together = train(fleet_of(specs, parts))
    for run in range(3):
        alone = train(fleet_of(specs[run : run + 1], parts[run : run + 1]))
        for name, array in alone.history.arrays().items():
            mine = together.history.arrays()[name]
            np.testing.assert_allclose(mine if name == "steps" else mine[:, run], array.reshape(len(mine)), rtol=2e-4)
        for name, weight in alone.run_weights(0).items():
            torch.testing.assert_close(together.run_weights(run)[name], weight, rtol=1e-3, atol=1e-5)


def test_the_rate_is_divided_by_the_prefactor():
    made = descent((0, 1), model=Perceptron(width=8, phi="tanh", prefactor=4.0), rate=0.1)
    made.set_rates(0)
    assert made.optimizer.rates == [0.025, 0.025]


@pytest.mark.parametrize(("average", "every"), [(1, 10), (4, 10), (10, 10), (25, 10), (50, 20), (6, 4)])
def test_what_is_measured_and_kept_is_the_mean_of_the_last_weights(average, every):
    settings = {"steps": 41, "every": every, "average": average, "keep": "last", "trajectory": 1}
    made = descent((0, 1), CLASSES, **settings)
    weights = path(made)
    wanted = weights[-average:].mean(0)
    torch.testing.assert_close(made.kept, wanted)
    torch.testing.assert_close(flat(made), weights[-1], rtol=0, atol=0)  # training goes on from the raw ones
    torch.testing.assert_close(torch.stack(made.trajectory[1:]), weights, rtol=0, atol=0)
    torch.testing.assert_close(flat_of(made.run_weights(1)), wanted[1])
    spread(wanted, made.weights)
    np.testing.assert_allclose(made.data.scores(made.model)["accuracy_test"], made.history.scores["accuracy_test"][-1])


def flat_of(named):
    return torch.cat([weight.flatten() for name, weight in named.items() if name != "trajectory"])


def test_the_evaluation_that_is_best_on_validation_data_is_kept():
    """A rate at which accuracy goes up and down."""
    made = descent(range(6), CLASSES, steps=200, every=5, rate=1.5, average=1, trajectory=5)
    train(made)
    arrays = made.history.arrays()
    accuracy, loss = arrays["accuracy_val"], arrays["cross_entropy_val"]
    for run in range(6):
        best = max(range(len(accuracy)), key=lambda t, run=run: (accuracy[t, run], -loss[t, run]))
        assert made.kept_step[run] == arrays["steps"][best]
        torch.testing.assert_close(made.kept[run], made.trajectory[best + 1][run], rtol=0, atol=0)
    assert len(set(made.kept_step)) > 1 and (made.kept_step < 200).any()
    assert "accuracy_val" in arrays, "the watched split is followed, asked for or not"


def test_each_run_has_its_own_patience():
    """A run that stopped is no longer trained, says so, and is the same alone, where training ends with it."""
    settings = {"steps": 400, "every": 5, "rate": 1.5, "average": 1, "patience": 4, "trajectory": 50}
    made = train(descent(range(6), CLASSES, **settings))
    accuracy, steps = made.history.arrays()["accuracy_val"], made.history.arrays()["steps"]
    assert (made.stopped > 0).all() and len(set(made.stopped)) > 2
    for run, stopped in enumerate(made.stopped):
        assert np.isnan(accuracy[steps > stopped, run]).all() and np.isfinite(accuracy[steps <= stopped, run]).all()
        assert made.kept_step[run] == stopped - 4 * 5
    alone = train(descent((0,), CLASSES, **settings))
    assert alone.stopped[0] == made.stopped[0] and alone.step == made.step == 400
    for name, array in alone.history.arrays().items():
        mine = made.history.arrays()[name]
        np.testing.assert_allclose(array.reshape(len(mine)), mine if name == "steps" else mine[:, 0], rtol=1e-4)
    torch.testing.assert_close(alone.run_weights(0), made.run_weights(0), rtol=1e-3, atol=1e-5)
    assert made.run_notes(0) == {"kept": int(made.kept_step[0]), "stopped": int(made.stopped[0])}


def test_a_run_that_diverges_is_frozen_and_the_others_go_on():
    model = Perceptron(width=8)
    specs = [RunSpec(Wave(), model, ConstantRate(60, rate, every=10, average=4), 0) for rate in (0.1, 1e9)]
    made = train(fleet_of(specs, [("relu",)] * 2))
    assert made.died[0] == -1 and 0 < made.died[1] < 10 and not np.isfinite(made.last_value[1])
    assert np.isnan(made.history.arrays()["accuracy_test"][:, 1]).all()
    assert np.isfinite(made.history.arrays()["accuracy_test"][:, 0]).all()
    assert torch.isfinite(flat(made)[0]).all()
    alone = train(fleet_of(specs[1:], [("relu",)]))
    assert alone.died[0] == made.died[1] and alone.history.steps == made.history.steps


@pytest.mark.parametrize("at", [3, 17, 30])
@pytest.mark.parametrize("rule", RULES)
def test_a_resumed_fleet_ends_with_the_same_bits(rule, at):
    def make():
        settings = {"steps": 60, "every": 6, "average": 8, "patience": 2, "trajectory": 5, "optimizer": rule}
        return descent((0, 1, 2), CLASSES, batch=16, rate=0.05, **settings)

    whole, half, resumed = train(make()), train(make(), until(at)), make()
    resumed.restore(through_a_file(half.state()))
    assert same(resumed.state(), half.state())
    assert same(train(resumed).state(), whole.state())
    assert same(resumed.run_weights(1), whole.run_weights(1))


def test_scores_do_not_depend_on_the_chunks(monkeypatch):
    made = train(descent((0, 1), CLASSES))
    whole = made.data.scores(made.model)
    monkeypatch.setattr(module, "CHUNK", 8 * 2 * 7)
    made.data.chunk = module.CHUNK // 16
    for name, values in made.data.scores(made.model).items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-6)


def test_batches_are_rows_of_the_table_of_each_run():
    """Every row once an epoch, with its own target."""
    made = descent((0, 1), Wave(), batch=15, task_seeds=(4, 5))
    for run, seed in enumerate((4, 5)):
        rows = made.specs[run].task.split(seed)["train"]
        known = dict(zip(rows.inputs[:, 0].tolist(), rows.targets.tolist(), strict=True))
        seen = {}
        for step in range(4):
            batch = made.batch(step)
            seen |= dict(zip(batch.inputs[run, :, 0].tolist(), batch.targets[run].tolist(), strict=True))
        assert seen == known


@pytest.mark.parametrize("split", ["test", "val", "other"])
def test_training_sees_its_table_and_what_is_watched(split):
    found = [train(descent((0,), Wave(garbled=names), rate=0.5)) for names in ((), (split,))]
    assert torch.equal(flat(found[0]), flat(found[1]))
    assert torch.equal(found[0].kept, found[1].kept) == (split != "val")


def test_kept_copies_are_no_longer_tied_to_training():
    made = train(descent((0,), keep="last"), until(10))
    kept = copy.deepcopy(made.kept)
    train(made, until(15))
    assert torch.equal(kept, made.kept)


def test_a_table_of_input_functions_trains():
    table = KnotTable(-1.0, 1.0, tuple((-1.0, 0.1 * d, 1.0) for d in range(10)))
    model = Perceptron(width=8, inputs=table)
    made = train(descent((0, 1), Operation(modulus=5), model))
    assert np.isfinite(made.history.arrays()["loss"]).all() and len(made.weights) == 4


def test_large_tables_are_not_copied_for_each_run(monkeypatch):
    one, other = (RunSpec(Wave(), Perceptron(), ConstantRate(9, 0.1), 0, task_seed=seed) for seed in (0, 1))
    assert kinds.fleet_key(one) == kinds.fleet_key(other)
    monkeypatch.setattr(module, "STACKED", 10)
    assert kinds.fleet_key(one) != kinds.fleet_key(other)
    assert descent((0, 1, 2)).data.training.inputs.shape == (1, 60, 1)


SPEC = RunSpec(Wave(), Perceptron(), ConstantRate(9, 0.1), 0)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (replace(SPEC, recipe=ConstantRate(9, 0.1, optimizer="lion")), "sgd, rmsprop, adam"),
        (replace(SPEC, recipe=ConstantRate(9, 0.1, keep="first")), "best or last"),
        (replace(SPEC, recipe=ConstantRate(9, 0.1, watch="ood")), "no split 'ood'"),
        (replace(SPEC, recipe=ConstantRate(9, 0.1, average=0)), "average=0.*1 or more"),
        (replace(SPEC, model=Perceptron(layers=3, phi=("relu", "tanh"))), "2 non-linearities for 3"),
        (replace(SPEC, model=Perceptron(prefactor=0.0)), "above 0"),
    ],
)
def test_what_does_not_fit_together_is_said_in_one_line(spec, text):
    with pytest.raises(ArgumentError, match=text) as caught:
        kinds.check_run(spec)
    assert "\n" not in str(caught.value)


def test_weights_that_nothing_judged_are_no_untrained_ones():
    """A run that diverges before an evaluation keeps none; one whose scores are NaN keeps its last."""
    died = train(descent((0,), Wave(), Perceptron(1, 8), steps=20, rate=1e30, every=10))
    assert died.died[0] > 0 and all(weight.isnan().all() for weight in died.run_weights(0).values())
    unknown = descent((0,), Wave(), Perceptron(1, 8), steps=20, rate=0.1, every=10, average=1)
    unknown.scores = lambda: dict.fromkeys(unknown.data.columns, np.full(1, np.nan))
    kept = torch.cat([weight.flatten() for weight in train(unknown).run_weights(0).values()])
    torch.testing.assert_close(kept, flat(unknown)[0])
    assert unknown.run_notes(0)["kept"] == 20
