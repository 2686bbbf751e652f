"""The lab's perceptrons on a `lab.Data`: what a table of the lab's gives, known by its content."""

import re

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score
from torch import nn

import lab
from lab.papers.simplicity.settings import of_table
from lab.spec import OwnTable, RunSpec, from_json, key, own_table, replace, to_json
from lab.store import Store
from lab.tasks import Tabular
from lab.training.descent_fleet import DescentFleet
from lab.training.fleet import train
from tests.training import own

SHORT = {"scale": "smoke", "progress": False}


def values(**given):
    """x₀ x₁ of six numbers, to predict."""
    return lab.Data.from_arrays(own.NUMBERS, own.NUMBERS[:, 0] * own.NUMBERS[:, 1], name="products", **given)


def test_a_table_of_the_labs_given_as_ones_own_trains_to_the_same_bits():
    task, parts = Tabular("bank-marketing"), Tabular("bank-marketing").split(0)
    X, y = (torch.cat([getattr(part, name) for part in parts.values()]) for name in ("inputs", "targets"))
    ends = np.cumsum([len(part) for part in parts.values()])
    splits = {"val": np.arange(ends[0], ends[1]), "test": np.arange(ends[1], ends[2])}
    mine = own_table(lab.Data.from_arrays(X, y.numpy(), name="mine", splits=splits))
    run, results = of_table(task, "smoke").runs(1)[0], []
    for one in (task, mine):
        fleet = DescentFleet([replace(run, task=one)], [(run.model.phi,)])
        train(fleet)
        results.append((fleet.run_weights(0), fleet.data.scores(fleet.model)))
    (theirs, their_scores), (weights, scores) = results
    assert all(torch.equal(theirs[name], weights[name]) for name in theirs) and scores == their_scores


def test_identity_is_the_content():
    def one(data):
        return key(of_table(own_table(data), "smoke").runs(1)[0])

    others = [values(seed=1), values(splits={"val": 0.2, "test": 0.2}), own.signs()]
    assert len({one(data) for data in [values(), *others]}) == 4 and one(values()) == one(values())
    spec = own_table(values())
    assert from_json(to_json(spec)) == spec and isinstance(spec, OwnTable)


def test_values_are_judged_by_r2_whatever_the_chunk(store_folder, monkeypatch):
    (run,) = lab.train(values(), seeds=1, steps=4, **SHORT)
    split = own_table(values()).split()["test"]
    with torch.no_grad():
        outputs = run.model()(split.inputs[None])[0, :, 0]
    kept = run.steps.tolist().index(run.notes["kept"])
    assert run.score("r2", "test")[kept] == pytest.approx(r2_score(split.targets, outputs), abs=1e-5)
    assert run.score("mse", "test")[kept] == pytest.approx(float((outputs - split.targets).square().mean()), rel=1e-5)
    monkeypatch.setattr("lab.training.rows.CHUNK", 5 * run.spec.model.width)
    (again,) = lab.train(values(), seeds=1, steps=4, store=Store(store_folder / "again"), **SHORT)
    assert again.score("r2", "test") == pytest.approx(run.score("r2", "test"), abs=1e-6)


@pytest.mark.parametrize("data", [values, own.signs])
@pytest.mark.parametrize("by", ["two_loss", "episodes"])
def test_what_is_searched_and_trained_is_kept(store_folder, data, by):
    phi = lab.search(data(), by=by, **SHORT).spline
    runs = lab.train(data(), mlp=phi, seeds=2, **SHORT)
    count = len(list(Store().results()))
    again = lab.train(data(), mlp=lab.search(data(), by=by, **SHORT).spline, seeds=2, **SHORT)
    assert len(list(Store().results())) == count == (3 if by == "two_loss" else 5), "two decide between restarts"
    assert Store().verify() == []
    assert isinstance(runs[0].spec, RunSpec) and runs[0].spec == again[0].spec
    assert runs[0].spec.task_name == data().name


def test_the_zoo_has_a_gain_where_the_data_is_known_and_none_elsewhere(store_folder, monkeypatch):
    phi = lab.search(own.signs(), by="episodes", **SHORT)
    phi.publish("signs")
    for mlp in (phi.spline, None):
        lab.train(own.signs(), mlp=mlp, seeds=2, **SHORT)
    row = lab.zoo().loc["mine/signs"]
    assert row["paper"] == "simplicity" and row["seeds"] == 2 and np.isfinite(row["gain_mean"])
    monkeypatch.setattr("lab.spec.own._objects", {})
    table = lab.zoo()
    assert "problem" not in table and np.isnan(float(table["gain_mean"]["mine/signs"]))


def test_functions_of_inputs_reach_as_far_as_the_data(store_folder):
    found = lab.search(data := values(), learn="inputs", **SHORT)
    assert found.spec.high == float(own_table(data).split()["train"].inputs.abs().max()) > 2


@pytest.mark.parametrize(
    ("said", "data"),
    [
        ("'images' has inputs of another shape", own.images),
        ("'sums' has whole numbers, which may be tokens", own.sequences),
        ("has a loss of its own; the lab's perceptrons have cross_entropy and mse", lambda: values(loss="mae")),
        (
            "has the metric 'mae'; the lab's perceptrons follow accuracy or R², and the loss",
            lambda: values(metrics=["r2", "mae"]),
        ),
        (
            "has the metric 'own'; the lab's perceptrons follow",
            lambda: values(metrics={"own": lambda outputs, targets: 0.0}),
        ),
        ("has no split 'val'", lambda: values(splits={"test": 0.5})),
        ("has targets of shape (240, 6)", lambda: lab.Data.from_arrays(own.NUMBERS, own.NUMBERS, name="same")),
    ],
)
def test_what_perceptrons_cannot_read_is_said_in_one_line(said, data):
    for call in (lab.train, lab.search):
        with pytest.raises(lab.ArgumentError) as error:
            call(data(), **SHORT)
        assert said in str(error.value) and "\n" not in str(error.value)


def test_the_first_metric_of_the_data_counts_first():
    for metrics, first in ((None, "r2"), (["r2", "mse"], "r2"), (["mse"], "mse"), (["mse", "r2"], "mse")):
        assert list(own_table(values(metrics=metrics)).metric_signs.items())[0] == (first, -1 if first == "mse" else 1)


def test_every_score_that_was_measured_can_be_asked_for():
    run = lab.train(own.signs(), seeds=1, **SHORT)[0]
    assert {name: run.score(*name.rsplit("_", 1)).tolist() for name in run.scores} == {
        name: values.tolist() for name, values in run.scores.items()
    }
    assert (run.accuracy_on("val") == run.scores["accuracy_val"]).all()
    with pytest.raises(lab.ArgumentError, match="not measured by 'r2'; there are: accuracy, cross_entropy"):
        run.score("r2", "test")
    with pytest.raises(lab.ArgumentError, match="split 'dev' was not evaluated during training; there are: "):
        run.accuracy_on("dev")


def test_a_model_without_its_run_axis_says_so():
    model = lab.train(own.signs(), seeds=1, **SHORT)[0].model()
    inputs = own.signs().inputs
    assert model(inputs[None]).shape[:2] == (1, len(inputs))
    with pytest.raises(lab.ArgumentError, match=r"give X\[None\]"):
        model(inputs)


def test_many_inputs_beyond_the_knots_are_said():
    """Whoever has not scaled a table trains with the two ends of a function."""
    X = 200 * np.random.default_rng(0).normal(size=(240, 3))
    data = lab.Data.from_arrays(X, X[:, 0] > 0, name="unscaled")
    phi = lab.Spline(torch.sin(torch.linspace(-5, 5, 21)), -5, 5)
    wide = lab.Spline(torch.sin(torch.linspace(-5, 5, 21)), -5e4, 5e4)
    runs = [lab.train(data, mlp=one, seeds=2, scale="smoke", progress=False) for one in (phi, wide)]
    said = r"\d\d % of what the function gets in these models lies beyond \[-5, 5\], where it is constant"
    assert all(re.search(said, repr(one)) for one in (runs[0], runs[0][0])) and "beyond" not in repr(runs[1])


def test_searches_say_that_models_diverged_or_that_the_start_stayed():
    def model(seed):
        return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 1))

    given = {"model": model, "replace": nn.GELU, "optimizer": "sgd", "progress": False, "steps": 30}
    died = lab.search(values(), models=2, rate=1e3, **given)
    assert "2 of 2 models diverged" in repr(died) and "lower rate" in repr(died)
    at = died.history["died"]
    before = died.history["steps"][:, None] <= at  # losses of the steps 0, 1, … at - 1
    assert (at > 0).all() and (np.isfinite(died.history["loss"]) == before).all() and before.any(0).all()
    fine = lab.search(values(), models=2, rate=0.01, **given)
    assert "diverged" not in repr(fine) and np.isfinite(fine.history["loss"]).all()
    once = lab.search(values(), by="episodes", episodes=1, restarts=1, rate=0.01, **given)
    assert "no episode had a lower mean loss than the first" in repr(once)
