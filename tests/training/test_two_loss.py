"""Algorithm 1: each gradient comes from its own split, at the same point; what a search sees, learns and survives."""

import numpy as np
import pytest
import torch

from lab.errors import ArgumentError
from lab.spec import Knots, replace
from lab.training.fleet import train
from lab.training.two_loss import ATTENTION_START
from tests.models.making import shaken
from tests.training.making import (
    MODEL,
    bits,
    copied,
    fleet,
    garbled,
    same,
    search_of,
    through_a_file,
    until,
    use,
)

LEARN = pytest.mark.parametrize("learn", [("mlp",), ("attention",), ("mlp", "attention")], ids="+".join)
NAN, INF = float("nan"), float("inf")


def bent(made):
    """The search away from its start, with weights of ordinary size, where every gradient is alive."""
    shaken(made.model)
    with torch.no_grad():
        for number, knots in enumerate(made.knots):
            shape = torch.randn(knots.shape, generator=torch.Generator().manual_seed(number))
            knots.copy_(1 + 0.5 * shape)
    return made


def gradients(made, batch, of):
    """Autograd of the summed losses on a batch, in all the tensors `of`."""
    for tensor in of:
        tensor.requires_grad_()
    loss = batch.loss(made.model(batch.tokens, batch.positions))
    return torch.autograd.grad(loss.sum(), of)


@LEARN
def test_weights_follow_the_train_loss_and_knots_the_search_loss_at_the_same_point(learn):
    """One step by hand, in float64. The knots' gradient is taken before the weights move, and the other way round."""
    made, twin = (bent(search_of("addmod", wide=True, learn=learn, steps=20, stop=1)) for _ in range(2))
    weights = gradients(twin, twin.batch(0), twin.weights)
    knots = gradients(twin, twin.search_batch(0), twin.knots)
    train(made)
    for weight, before, g in zip(made.weights, twin.weights, weights, strict=True):
        torch.testing.assert_close(weight.grad, g)
        torch.testing.assert_close(weight, before - 0.003 * g / (g.abs() + 1e-8), rtol=0, atol=1e-9)
    for knot, before, g in zip(made.knots, twin.knots, knots, strict=True):
        torch.testing.assert_close(knot.grad, g)
        torch.testing.assert_close(knot, before - 0.02 * g / (g.abs() + 1e-8), rtol=0, atol=1e-9)
        assert g.abs().max() > 1e-4


def test_weights_and_knots_follow_one_schedule():
    """20 steps: flat for eleven, the cosine after that; each with a peak rate of its own."""
    made, rates = search_of(stop=13), []

    def note(state):
        rates.append([o.param_groups[0]["lr"] for o in (state.optimizer, state.knot_optimizer)])
        return True

    train(made, note)
    factors = np.array([1.0] * 11 + [0.975528, 0.904508])
    np.testing.assert_allclose(rates, factors[:, None] * [0.003, 0.02], rtol=1e-5)


def test_batches_come_from_their_own_splits():
    """Weights: from `train` alone, each model its own batch. Knots: from `search`, the same for all models."""
    made = search_of("addmod")
    task = made.data.task
    splits = {name: {tuple(row) for row in split.tokens[:, :-1].tolist()} for name, split in task.splits.items()}
    for step in (0, 5, 2000):
        own, shared = made.batch(step).tokens, made.search_batch(step).tokens
        assert {tuple(row) for row in own.flatten(0, 1).tolist()} <= splits["train"]
        assert {tuple(row) for row in shared.flatten(0, 1).tolist()} <= splits["search"]
        assert not torch.equal(own[0], own[1]) and torch.equal(shared[0], shared[1])
    assert not splits["train"] & splits["search"]


START = {"mlp": 0.0, "attention": ATTENTION_START}


@LEARN
def test_splines_start_flat_and_are_shared_by_models_and_layers(learn):
    made = search_of(learn=learn, models=3, model=replace(MODEL, layers=2))
    assert list(made.splines) == list(learn)
    for part, spline in made.splines.items():
        assert (spline.values == START[part]).all() and spline.values.shape == (21,)
        of_layers = [b.phi if part == "mlp" else b.attention.phi for b in made.model.blocks]
        assert all(module is spline for module in of_layers)
    weights = [p for p in made.model.parameters() if all(p is not k for k in made.knots)]
    assert len(weights) == len(made.weights) and all(len(weight) == 3 for weight in made.weights)
    assert not torch.equal(made.model.embedding.weight[0], made.model.embedding.weight[1])


def test_models_of_a_search_are_not_the_runs_of_stage_two():
    """A function must not be retrained with the initial weights it was found with."""
    initial = fleet(range(20)).model.embedding.weight
    searched = search_of(models=4).model.embedding.weight
    assert not (initial[:, None] == searched[None]).flatten(2).all(-1).any()


@LEARN
def test_a_search_bends_the_splines_and_lowers_the_search_loss(learn):
    made = train(search_of(learn=learn, steps=150, rate=0.01, batch=128, every=50))
    loss = made.search_loss
    assert np.mean(loss[-20:]) < np.mean(loss[:20]) - 0.1
    for part, knots in made.functions().items():
        assert np.abs(np.array(knots.values) - START[part]).max() > 0.05
        assert isinstance(knots, Knots) and (knots.low, knots.high) == (-2.0, 2.0)
    assert len(loss) == 150 and set(made.functions()) == set(learn)


def test_what_was_found_trains_in_stage_two():
    found = train(search_of(learn=("mlp", "attention"), stop=5)).functions()
    made = fleet((0, 1), parts=[(found["mlp"], found["attention"])] * 2)
    assert made.model.blocks[0].phi.values.tolist() == list(found["mlp"].values)
    assert made.model.blocks[0].attention.phi.values.tolist() == list(found["attention"].values)


@pytest.mark.parametrize("split", ["val", "test"])
def test_a_search_never_sees_val_and_test(monkeypatch, split):
    states = []
    for task in (bits(), garbled(bits(), split)):
        use(monkeypatch, task)
        states.append(train(search_of("bits", learn=("mlp", "attention"))).state())
    assert same(*states)


@pytest.mark.parametrize("split", ["train", "search"])
def test_a_search_does_see_train_and_search(monkeypatch, split):
    """What the test above rests on."""
    states = []
    for task in (bits(), garbled(bits(), split)):
        use(monkeypatch, task)
        states.append(train(search_of("bits")).state())
    assert not same(*states)


@LEARN
def test_a_resumed_search_ends_with_the_same_bits(learn):
    whole = train(search_of(learn=learn))
    half = train(search_of(learn=learn), until(7))
    assert half.step == 7
    resumed = search_of(learn=learn)
    resumed.restore(through_a_file(half.state()))
    assert same(resumed.state(), half.state())
    train(resumed)
    assert same(resumed.state(), whole.state())
    assert resumed.functions() == whole.functions() and resumed.search_loss == whole.search_loss


@pytest.mark.parametrize("value", [INF, NAN])
@pytest.mark.parametrize("at", [0, 7])
def test_a_model_that_is_no_longer_finite_does_not_spoil_the_shared_splines(value, at):
    """0 × inf is NaN: without care, the gradient of the knots would carry it to every model."""
    made = search_of(learn=("mlp", "attention"), models=3)
    if at:
        train(made, until(at))
    with torch.no_grad():
        made.model.blocks[0].norm2.weight[1, 0] = value
    before = copied(dict(enumerate(made.knots)))
    train(made)
    assert made.died.tolist() == [-1, at, -1] and not np.isfinite(made.last_value[1])
    for number, knots in enumerate(made.knots):
        assert knots.isfinite().all() and not torch.equal(knots, before[number])
    assert all(weight[[0, 2]].isfinite().all() for weight in made.weights)
    assert np.isfinite(made.search_loss).all()
    assert np.isfinite(made.history.arrays()["loss"][:, [0, 2]]).all()


def test_after_a_death_the_rest_search_on_as_if_alone():
    """One step after the death, the knots' gradient is the sum over the living models."""
    made, twin = (bent(search_of(wide=True, models=3)) for _ in range(2))
    with torch.no_grad():
        made.model.embedding.weight[1] = NAN
    train(made, until(1))
    weights = [weight.detach().clone() for weight in made.weights]
    for ours, theirs in zip(weights, twin.weights, strict=True):
        theirs.data.copy_(ours)
    twin.knots[0].data.copy_(made.knots[0].detach())
    train(made, until(2))
    batch = twin.search_batch(1)
    twin.knots[0].requires_grad_()
    loss = batch.loss(twin.model(batch.tokens, batch.positions))
    (wanted,) = torch.autograd.grad(loss[[0, 2]].sum(), twin.knots)
    torch.testing.assert_close(made.knots[0].grad, wanted)
    assert made.search_loss[1] == pytest.approx(loss[[0, 2]].mean().item())


def test_a_rate_that_is_far_too_large_marks_every_model_and_ends_in_peace():
    made = train(search_of(rate=1e38))
    assert (made.died > 0).all() and made.step == 20
    assert np.isnan(made.search_loss[-1]) and all(
        np.isfinite(knots.values).all() for knots in made.functions().values()
    )


def test_a_search_gives_the_same_result_in_any_company_of_reports():
    whole, made = train(search_of()), search_of()
    for step in (3, 4, 11, 99):
        train(made, until(step))
    assert same(made.state(), whole.state())


@pytest.mark.parametrize("learn", [(), ("values",), ("mlp", "values")], ids=str)
def test_learning_something_else_is_refused(learn):
    with pytest.raises(ArgumentError, match="mlp or attention or both"):
        search_of(learn=learn)
