"""Any task with any model and any recipe, as far as sizes fit: they train, they learn, and they resume bit for bit."""

import numpy as np
import pytest
import torch

from lab.errors import ArgumentError
from lab.kinds import build, check_run, fleet_key, sizes
from lab.spec import AdamTrapezoid, AdamWCosine, ConstantRate, HyperModel, ModelSpec, Perceptron, RunSpec, replace
from lab.tasks import Logic, Operation, Sraven
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import train

TASKS = {
    "tokens": "addmod",
    "vectors": Logic(length=4),
    "vectors, several answers": Sraven(features=2, values=3),
    "rows": Operation(modulus=5),
}
MODELS = {
    "decoder": ModelSpec(layers=1, width=8),
    "hypernetwork": HyperModel(layers=1, heads=2, width=8, key_width=4, mlp_width=8, causal=True, dropout=0.0),
    "perceptron": Perceptron(width=8),
}
RECIPES = {
    "Adam": AdamTrapezoid(6, 0.01, 8, every=2),
    "AdamW": AdamWCosine(6, 0.01, 8, warmup=1, every=2, examples=32),
    "descent": ConstantRate(6, 0.05, 8, average=2, every=2),
}


def combinations():
    for task in TASKS:
        for model in MODELS:
            for recipe in RECIPES:
                if (task, model) != ("tokens", "perceptron"):
                    yield pytest.param(task, model, recipe, id=f"{task}-{model}-{recipe}")


def spec(task, model, recipe, seed=0):
    split = "val"
    return RunSpec(TASKS[task], MODELS[model], RECIPES[recipe], seed, (split,))


def fleet(*specs):
    return fleet_of(specs, [tuple(one.model.parts.values()) for one in specs])


@pytest.mark.parametrize(("task", "model", "recipe"), list(combinations()))
def test_it_trains_and_resumes(task, model, recipe):
    specs = [spec(task, model, recipe, seed) for seed in (0, 1)]
    check_run(specs[0])
    assert fleet_key(specs[0]) == fleet_key(specs[1])
    whole = train(fleet(*specs))
    arrays = whole.history.arrays()
    assert np.isfinite(arrays["loss"]).all() and any(name.endswith("_val") for name in arrays)
    half = fleet(*specs)
    train(half, lambda state: state.step < 3)
    resumed = fleet(*specs)
    resumed.restore({name: tensor.clone() for name, tensor in half.state().items()})
    train(resumed)
    for name, tensor in whole.run_weights(1).items():
        assert torch.equal(tensor, resumed.run_weights(1)[name]), name
    alone = train(fleet(specs[1]))
    # losses, not weights: softmax leaves biases of keys without a gradient, and Adam makes steps of its rounding
    np.testing.assert_allclose(alone.history.arrays()["loss"][:, 0], arrays["loss"][:, 1], rtol=1e-3)


@pytest.mark.parametrize("model", ["decoder", "hypernetwork"])
def test_a_transformer_learns_a_table(model):
    """That learning goes through: the loss falls far below that of a constant answer. How many of these few rows are
    right in the end differs between processors."""
    larger = {"layers": 1, "width": 32}
    recipe = AdamTrapezoid(500, 0.01, 32, every=500)
    made = train(fleet(RunSpec(Operation(modulus=5), replace(MODELS[model], **larger), recipe, 0, ("train",))))
    losses = made.history.arrays()["loss"]
    assert losses[-1, 0] < np.log(5) / 4


@pytest.mark.parametrize("model", ["decoder", "hypernetwork"])
def test_no_token_sees_those_after_it(model):
    """Gradients of a prediction with respect to later inputs are exactly zero."""
    shape = sizes("addmod", 0)
    made = build(
        MODELS[model],
        shape,
        [spec("tokens", model, "Adam")],
        [torch.nn.GELU(), torch.nn.Identity()] if model == "hypernetwork" else [torch.nn.GELU(), None],
    )
    table = made.embedding.weight
    tokens = torch.arange(1, 5)[None, None]  # all different, so that each has a row of the table of its own
    made(tokens)[0, 0, 2].sum().backward()
    rows = table.grad[0][tokens[0, 0]]
    assert rows[:3].abs().sum(1).min() > 0 and (rows[3:] == 0).all()


@pytest.mark.parametrize(
    ("task", "model", "text"),
    [
        ("tokens", Perceptron(), "reads rows of numbers"),
        ("tokens", replace(MODELS["hypernetwork"], causal=False), "causal=False"),
        ("tokens", replace(MODELS["hypernetwork"], dropout=0.1), "dropout=0.1"),
        ("rows", replace(MODELS["hypernetwork"], dropout=0.1), "dropout=0.1"),
        ("vectors", ModelSpec(layers=1, width=8, tied=True), "tied=True"),
    ],
)
def test_what_does_not_fit_is_said(task, model, text):
    with pytest.raises(ArgumentError, match=text) as caught:
        fleet(RunSpec(TASKS[task], model, RECIPES["Adam"], 0, ("val",)))
    assert "\n" not in str(caught.value)


def test_what_is_no_kind_is_said():
    with pytest.raises(ArgumentError, match="float is no task that the lab can train; known: .*StreamTask, TableTask"):
        fleet(RunSpec(3.5, ModelSpec(), RECIPES["Adam"], 0))
