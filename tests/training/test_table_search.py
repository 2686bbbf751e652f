"""Two losses on perceptrons: each gradient comes from its own rows, at the same point; no row of `val` or `test`."""

import numpy as np
import pytest
import torch

from lab import engine
from lab.errors import ArgumentError
from lab.run import Run
from lab.search_results import SearchResult
from lab.spec import ConstantRate, Knots, KnotTable, Learned, Perceptron, RunSpec, TwoLossSpec, replace
from lab.store import Store
from lab.tasks import Operation
from lab.training.fleet import train
from lab.training.two_loss import TableSearch
from tests.training.making import Wave, same, through_a_file, until

TASK = Operation("a+b", modulus=5)
SPEC = TwoLossSpec(
    TASK, Perceptron(layers=2, width=8), ConstantRate(12, 0.1), models=3, low=-2.0, high=2.0, knots=9, start="noise"
)
LEARN = pytest.mark.parametrize("learn", ["shared", "layers", "inputs"])
START = {"shared": "noise", "layers": "relu", "inputs": "identity"}


def made(learn="shared", **changes):
    return TableSearch(replace(SPEC, learn=learn, start=START[learn], **changes))


def gradients(state, batch, of):
    for tensor in of:
        tensor.requires_grad_()
    return torch.autograd.grad(batch.loss(batch.outputs(state.model)).sum(), of)


@LEARN
def test_weights_follow_their_rows_and_knots_the_others_at_the_same_point(learn):
    """One step by hand: plain descent for the weights, for the knots Adam, whose first step is the sign."""
    ours, twin = made(learn), made(learn)
    weights = gradients(twin, twin.batch(0), twin.weights)
    knots = gradients(twin, twin.search_batch(0), twin.knots)
    train(ours, until(1))
    for weight, before, g in zip(ours.weights, twin.weights, weights, strict=True):
        torch.testing.assert_close(weight, before - 0.1 * g)
    for knot, before, g in zip(ours.knots, twin.knots, knots, strict=True):
        torch.testing.assert_close(knot, before - 0.02 * g / (g.abs() + 1e-8), rtol=0, atol=1e-5)
        assert g.abs().max() > 1e-5


@pytest.mark.parametrize("batch", [None, 4])
def test_rows_are_divided_and_none_is_of_val_or_test(batch):
    state = made(recipe=replace(SPEC.recipe, batch=batch))
    rows = {name: set(map(tuple, split.inputs.tolist())) for name, split in TASK.split(0).items()}
    own, shared = set(), set()
    for step in range(8):
        weights, knots = state.batch(step), state.search_batch(step)
        own |= set(map(tuple, weights.inputs.flatten(0, 1).tolist()))
        shared |= set(map(tuple, knots.inputs[0].tolist()))
        assert torch.equal(knots.inputs[0], knots.inputs[2])
        for part in (weights, knots):
            a, b = (part.inputs[..., i : i + 5].argmax(-1) for i in (0, 5))
            assert torch.equal((a + b) % 5, part.targets), "rows keep their targets"
    assert own | shared == rows["train"] and not own & shared and len(shared) == round(0.2 * len(rows["train"]))


@LEARN
def test_a_resumed_search_ends_with_the_same_bits(learn):
    recipe = replace(SPEC.recipe, optimizer="rmsprop", batch=4)
    whole, resumed = train(made(learn, recipe=recipe)), made(learn, recipe=recipe)
    resumed.restore(through_a_file(train(made(learn, recipe=recipe), until(5)).state()))
    assert same(train(resumed).state(), whole.state()) and resumed.functions() == whole.functions()


def test_a_search_lowers_its_loss():
    loss = train(made(task=Wave(frequency=3.0), recipe=ConstantRate(150, 0.1))).search_loss
    assert np.mean(loss[-10:]) < 0.5 * np.mean(loss[:10])


@LEARN
def test_what_was_found_is_stored_and_trained_with(tmp_path, learn):
    spec, store = replace(SPEC, learn=learn, start=START[learn]), Store(tmp_path)
    names = {"shared": ["phi"], "layers": ["phi0", "phi1"], "inputs": ["inputs"]}[learn]
    parts = {"phi": "relu"} | {name: Learned(spec, name) for name in names}
    if learn == "layers":
        parts.pop("phi")
    run = RunSpec(TASK, SPEC.model.having(parts), ConstantRate(4, 0.1, every=2, average=2), 0)
    engine.complete([run], store, "cpu", 1)
    assert store.verify() == []
    found = SearchResult(spec, store)
    twin = train(TableSearch(spec)).functions()
    for name, spline in found.splines.items():
        part = twin[name]
        assert isinstance(part, KnotTable if learn == "inputs" else Knots)
        assert torch.equal(spline.values, torch.tensor(part.values)), "the engine does what the search does"
        model = Run(run, store).model()
        module = model.inputs.phi if name == "inputs" else model.function(int(name[3:] or 0))
        assert torch.equal(module.values, spline.values)
    assert list(found.splines) == names and found.history["search_loss"].shape == (12,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"learn": "all"}, "shared, layers, inputs"),
        ({"start": "one"}, "zero, noise, identity, gelu, relu"),
        ({"models": 0}, "models=0"),
        ({"pool": ("search",)}, "choose one of train, val, test"),
        ({"model": Perceptron(layers=0)}, "give it layers"),
        ({"held_out": 1.0}, "between 0 and 1"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_is_said_before_training(tmp_path, change, said):
    with pytest.raises(ArgumentError, match=said):
        engine.complete([replace(SPEC, **change)], Store(tmp_path), "cpu", 1)
    assert not list(tmp_path.rglob("*"))
