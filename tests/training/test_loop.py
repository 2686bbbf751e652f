"""The loop: fleets and solo runs agree, seeds permute, nothing leaks, diverged runs freeze, resumed runs end alike."""

import random

import numpy as np
import pytest
import torch

from lab.spec import Knots, replace
from lab.training.fleet import train
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

SEEDS = (0, 1, 2)
NAN, INF = float("nan"), float("inf")


# One function a run, and another for the attention: what stage II trains with.
def knots(seed, above=0.0):
    return Knots(-2.0, 2.0, tuple((above + np.random.default_rng(seed).random(9)).tolist()))


PARTS = {
    "gelu": [("gelu", "softmax")] * 3,
    "splines": [(knots(seed, -0.5), knots(10 + seed)) for seed in range(3)],
}
KINDS = pytest.mark.parametrize("kind", PARTS)


def parameters(made):
    return {name: p.detach() for name, p in made.model.named_parameters() if p.requires_grad}


@KINDS
@pytest.mark.parametrize("canon", [False, True], ids=["plain", "canon"])
def test_a_fleet_is_its_solo_runs_after_20_steps(kind, canon):
    """In float64, where rounding has no room to grow: one part in 10^9."""
    settings = {"wide": True, "model": replace(MODEL, canon=canon)}
    together = train(fleet(SEEDS, parts=PARTS[kind], **settings))
    for run, seed in enumerate(SEEDS):
        alone = train(fleet([seed], parts=PARTS[kind][run : run + 1], **settings))
        for name, weight in parameters(alone).items():
            torch.testing.assert_close(weight[0], parameters(together)[name][run], rtol=1e-9, atol=1e-9)
        for name in ("loss", "accuracy_test"):
            arrays = alone.history.arrays()[name][:, 0], together.history.arrays()[name][:, run]
            np.testing.assert_allclose(*arrays, rtol=1e-9)


@KINDS
def test_a_fleet_is_its_solo_runs_in_float32(kind):
    """Adam divides each gradient by its own size, so that where a gradient is nothing but rounding (the key biases of
    softmax attention) a weight moves by up to the rate, .003, a step in a direction that rounding decides. The
    losses, which do not depend on such weights, agree to 1e-5 of their size of 3.5."""
    together = train(fleet(SEEDS, parts=PARTS[kind]))
    for run, seed in enumerate(SEEDS):
        alone = train(fleet([seed], parts=PARTS[kind][run : run + 1]))
        losses = alone.history.arrays()["loss"][:, 0], together.history.arrays()["loss"][:, run]
        np.testing.assert_allclose(*losses, rtol=1e-5)
        for name, weight in parameters(alone).items():
            torch.testing.assert_close(weight[0], parameters(together)[name][run], rtol=0, atol=0.003)


@KINDS
def test_permuting_the_seeds_permutes_the_results(kind):
    order = [2, 0, 1]
    one = train(fleet(SEEDS, parts=PARTS[kind], wide=True))
    other = train(fleet([SEEDS[i] for i in order], parts=[PARTS[kind][i] for i in order], wide=True))
    for name, weight in parameters(one).items():
        torch.testing.assert_close(weight[order], parameters(other)[name], rtol=1e-9, atol=1e-9)
    for name in ("loss", "accuracy_test"):
        np.testing.assert_allclose(one.history.arrays()[name][:, order], other.history.arrays()[name], rtol=1e-9)


def test_runs_of_different_seeds_differ_and_of_the_same_seed_do_not():
    made = train(fleet((0, 1, 0), stop=3))
    for name, weight in parameters(made).items():
        assert torch.equal(weight[0], weight[2])
        if name.endswith("weight"):
            assert not torch.equal(weight[0], weight[1])


def test_training_lowers_the_loss():
    made = train(fleet(SEEDS, steps=200, rate=0.01, batch=256, every=20))
    loss = made.history.arrays()["loss"]
    assert (loss[-1] < loss[0] - 0.1).all()


def test_one_step_is_adam_by_hand():
    """Of the first step, Adam's own formula leaves rate · g / (|g| + ε): warm-up is over after one step of 20."""
    made = fleet(SEEDS, wide=True, stop=1)
    before = copied(parameters(made))
    batch = made.batch(0)
    loss = batch.loss(made.model(batch.tokens, batch.positions))
    gradients = torch.autograd.grad(loss.sum(), made.weights)
    train(made)
    for (name, weight), g in zip(parameters(made).items(), gradients, strict=True):
        torch.testing.assert_close(weight, before[name] - 0.003 * g / (g.abs() + 1e-8), rtol=0, atol=1e-9)


def test_five_steps_are_adam_by_hand_with_the_betas_of_the_recipe():
    made = fleet(SEEDS, wide=True, stop=5, betas=(0.5, 0.8))
    start, gradients, rates = copied(parameters(made)), [], []

    def note(state):
        gradients.append([weight.grad.clone() for weight in state.weights])
        rates.append(state.optimizer.param_groups[0]["lr"])
        return True

    train(made, note)
    for i, (name, weight) in enumerate(parameters(made).items()):
        value, mean, square = start[name], 0.0, 0.0
        for step, (g, rate) in enumerate(zip(gradients, rates, strict=True), 1):
            mean, square = 0.5 * mean + 0.5 * g[i], 0.8 * square + 0.2 * g[i] ** 2
            value = value - rate * (mean / (1 - 0.5**step)) / ((square / (1 - 0.8**step)).sqrt() + 1e-8)
        torch.testing.assert_close(weight, value, rtol=0, atol=1e-9)


def test_the_rate_follows_the_schedule_and_the_steps_stop_where_the_recipe_says():
    made, rates = fleet(steps=20, stop=13, every=5), []
    train(made, lambda state: rates.append(state.optimizer.param_groups[0]["lr"]) or True)
    assert rates == pytest.approx([0.003] * 11 + [0.003 * 0.975528, 0.003 * 0.904508], rel=1e-5)
    assert made.history.arrays()["steps"].tolist() == [5, 10, 13] and made.step == 13


def test_the_global_random_state_is_left_alone():
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    train(fleet(SEEDS, stop=2))
    train(search_of(stop=2))
    after = torch.get_rng_state(), np.random.get_state()[1], random.getstate()  # noqa: NPY002
    assert torch.equal(before[0], after[0]) and (before[1] == after[1]).all() and before[2] == after[2]


def test_the_global_random_state_makes_no_difference():
    states = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        states.append(train(fleet(SEEDS, stop=3)).state())
    assert same(*states)


@pytest.mark.parametrize("value", [INF, NAN])
@KINDS
def test_a_run_that_is_no_longer_finite_is_frozen_and_the_others_go_on(kind, value):
    """The others end with the very bits they would have had."""
    healthy = train(fleet(SEEDS, parts=PARTS[kind]))
    made = train(fleet(SEEDS, parts=PARTS[kind]), until(7))
    with torch.no_grad():
        made.model.blocks[0].norm2.weight[1, 0] = value
    frozen = copied(parameters(made))
    train(made)
    assert made.died.tolist() == [-1, 7, -1]
    assert not np.isfinite(made.last_value[1]) and np.isnan(made.last_value[[0, 2]]).all()
    for name, weight in parameters(made).items():
        assert torch.equal(weight[1].nan_to_num(7e9), frozen[name][1].nan_to_num(7e9))
        assert torch.equal(weight[[0, 2]], parameters(healthy)[name][[0, 2]])
        assert not torch.equal(weight[0], frozen[name][0]) or "bias" in name
    ours, theirs = made.history.arrays(), healthy.history.arrays()
    for name in ("loss", "accuracy_test"):
        assert np.array_equal(ours[name][:, [0, 2]], theirs[name][:, [0, 2]])
        assert np.isfinite(ours[name][0, 1]) and not np.isfinite(ours[name][1:, 1]).any()
    assert np.isnan(ours["accuracy_test"][1:, 1]).all()


def test_a_run_that_dies_at_the_first_step():
    """Adam has no state yet."""
    made = fleet(SEEDS)
    with torch.no_grad():
        made.model.embedding.weight[0] = NAN
    train(made)
    assert made.died.tolist() == [0, -1, -1]
    assert np.isfinite(made.history.arrays()["loss"][:, 1:]).all()


def test_a_rate_that_is_far_too_large_marks_every_run_and_ends_in_peace():
    made = train(fleet(SEEDS, rate=1e38))
    assert (made.died > 0).all() and not np.isfinite(made.last_value).any()
    assert np.isnan(made.history.arrays()["accuracy_test"][-1]).all() and made.step == 20


@KINDS
@pytest.mark.parametrize("dead", [False, True], ids=["healthy", "one diverged"])
def test_a_resumed_fleet_ends_with_the_same_bits(kind, dead):
    """Stopped after 7 steps, inside an interval of 5, kept as a store would, and taken up by a new fleet."""

    def start():
        made = fleet(SEEDS, parts=PARTS[kind])
        if dead:
            with torch.no_grad():
                made.model.embedding.weight[1] = NAN
        return made

    whole = train(start())
    half = train(start(), until(7))
    assert half.step == 7
    resumed = fleet(SEEDS, parts=PARTS[kind])
    resumed.restore(through_a_file(half.state()))
    assert same(resumed.state(), half.state())
    train(resumed)
    assert same(resumed.state(), whole.state())
    assert whole.died.tolist() == [-1, 0 if dead else -1, -1]
    assert [a.tolist() for a in (whole.history.arrays()["steps"], resumed.history.arrays()["steps"])] == [
        [5, 10, 15, 20]
    ] * 2


def test_stopping_and_going_on_changes_nothing():
    whole, made = train(fleet(SEEDS)), fleet(SEEDS)
    for step in (3, 4, 11, 99):
        train(made, until(step))
    assert same(made.state(), whole.state())


def test_a_restored_fleet_does_not_write_into_what_it_was_given():
    made = train(fleet(SEEDS), until(7))
    kept = through_a_file(made.state())
    before = copied(kept)
    other = fleet(SEEDS)
    other.restore(kept)
    train(other)
    assert same(kept, before)


@pytest.mark.parametrize("split", ["val", "test"])
def test_weights_never_see_the_test_split(monkeypatch, split):
    """Other words in a split that is measured: other accuracies, the same weights, bit for bit."""
    states, scores = [], []
    for task in (bits(), garbled(bits(), split)):
        use(monkeypatch, task)
        made = train(fleet(SEEDS, "bits", rate=0.03, evaluate=("val", "test")))
        states.append(parameters(made))
        scores.append(made.history.arrays()[f"accuracy_{split}"])
    assert same(*states)
    assert not np.array_equal(*scores)


@pytest.mark.parametrize("split", ["train", "search"])
def test_weights_do_see_the_training_splits(monkeypatch, split):
    """What the test above rests on: words that are trained on do make a difference."""
    states = []
    for task in (bits(), garbled(bits(), split)):
        use(monkeypatch, task)
        states.append(parameters(train(fleet(SEEDS, "bits"))))
    assert not same(*states)
