"""Optimizers said to end grokking, and StableMax: against formulas written for one run in double precision and torch's
Muon; fleets, resuming, divergence, keys."""

import pytest
import torch
from torch import nn

from lab.errors import ArgumentError
from lab.kinds import check_run
from lab.spec import ConstantRate, EpisodeSpec, Perceptron, RunSpec, from_json, key, replace, to_json
from lab.tasks import Operation
from lab.training import perceptron
from lab.training.constant_rate import OF_ADAMW, OPTIMIZERS
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import train
from lab.training.inner_task import check_task
from tests.training.making import same, through_a_file, until

NEW = ("muon", "grokfast", "perpgrad")
EACH = pytest.mark.parametrize("name", NEW)
RECIPE = ConstantRate(12, 0.02, average=1, keep="last", every=4, decay=0.3)
SPEC = RunSpec(Operation("a+b", modulus=5, loss_name="stablemax"), Perceptron(width=8), RECIPE, 0)


def fleet(name, seeds=(0,), rates=(0.02,)):
    recipes = [replace(RECIPE, optimizer=name, rate=rate) for rate in rates]
    specs = [replace(SPEC, recipe=recipe, seed=seed) for recipe in recipes for seed in seeds]
    return fleet_of(specs, [("relu",)] * len(specs))


def reference(name, w, g, state, count, rate, decay):
    """One step of one run's tensor, in the papers' notation; a vector has AdamW in Muon."""
    if name == "muon" and min(w.shape) > 1:
        state["m"] = 0.95 * state.get("m", torch.zeros_like(g)) + 0.05 * g
        u = 0.05 * g + 0.95 * state["m"]
        x = u / u.norm()
        for _ in range(5):  # by singular values, where torch multiplies matrices
            left, s, right = torch.linalg.svd(x, full_matrices=False)
            x = left @ torch.diag(3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5) @ right
        return w - rate * decay * w - rate * 0.2 * max(w.shape) ** 0.5 * x
    if name == "grokfast":
        state["slow"] = 0.98 * state.get("slow", g) + 0.02 * g
        g = g + 2.0 * state["slow"]
    if name == "perpgrad":
        g = g - (w.flatten() @ g.flatten()) / (w.flatten() @ w.flatten()) * w
    one = state["one"] = 0.9 * state.get("one", 0.0) + 0.1 * g
    two = state["two"] = 0.999 * state.get("two", 0.0) + 0.001 * g**2
    step = one / (1 - 0.9**count) / ((two / (1 - 0.999**count)).sqrt() + 1e-8)
    return w - rate * decay * w * (min(w.shape) > 1) - rate * step


@EACH
def test_each_run_follows_its_formula_with_its_own_rate(name):
    generator = torch.Generator().manual_seed(0)
    shapes, rates, decays = ((6, 4), (1, 4), (4, 9)), (0.1, 0.003), (0.3, 0.0)
    start = [torch.randn(2, *shape, generator=generator, dtype=torch.float64) for shape in shapes]
    ours = [nn.Parameter(weight.clone()) for weight in start]
    made = OF_ADAMW[name](ours, decays, [True, False, True])
    made.rates = list(rates)
    alone, states = [[w[run].clone() for w in start] for run in range(2)], [[{}, {}, {}], [{}, {}, {}]]
    for count in range(1, 8):
        gradients = [torch.randn(w.shape, generator=generator, dtype=torch.float64) for w in start]
        for weight, gradient in zip(ours, gradients, strict=True):
            weight.grad = gradient.clone()
        made.step()
        for run in range(2):
            for n, g in enumerate(gradients):
                given = alone[run][n], g[run], states[run][n], count, rates[run], decays[run]
                alone[run][n] = reference(name, *given)
                torch.testing.assert_close(ours[n].detach()[run], alone[run][n], rtol=1e-5, atol=1e-6)


def test_muon_is_torchs():
    """Which multiplies in bfloat16, so that it agrees to two digits only."""
    generator = torch.Generator().manual_seed(1)
    start = torch.randn(1, 12, 5, generator=generator)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start[0].clone())
    made = OF_ADAMW["muon"]([ours], [0.3], [True])
    made.rates = [0.1]
    torchs = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.3, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    for _ in range(5):
        ours.grad = torch.randn(start.shape, generator=generator)
        theirs.grad = ours.grad[0].clone()
        made.step()
        torchs.step()
    moved = (theirs - start[0]).detach()
    assert float((ours.detach()[0] - theirs.detach()).norm() / moved.norm()) < 0.02


def test_perpgrad_leaves_lengths_and_takes_nothing_along_the_weights():
    weight = nn.Parameter(torch.tensor([[[3.0, 4.0]]]))
    weight.grad = torch.tensor([[[6.0, 8.0]]])  # along it
    made = OF_ADAMW["perpgrad"]([weight], [0.0], [True])
    made.rates = [0.1]
    made.step()
    assert torch.equal(weight.detach(), torch.tensor([[[3.0, 4.0]]]))


@EACH
def test_a_fleet_trains_as_each_of_its_runs(name):
    """Up to the rounding of products of several matrices, which torch takes in another order than one's."""
    both = train(fleet(name, (3, 1), (0.02, 0.1)))
    for run, (seed, rate) in enumerate(((3, 0.02), (1, 0.02), (3, 0.1), (1, 0.1))):
        alone = train(fleet(name, (seed,), (rate,)))
        for one, other in zip(both.model.parameters(), alone.model.parameters(), strict=True):
            torch.testing.assert_close(one[run], other[0], rtol=1e-3, atol=1e-4)


@EACH
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(name):
    whole, half = train(fleet(name)), fleet(name)
    train(half, until(5))
    again = fleet(name)
    again.restore(through_a_file(half.state()))
    assert same(train(again).state(), whole.state())


@EACH
def test_a_run_that_diverges_stops_and_the_others_go_on(name):
    made = fleet(name, (0, 1))
    train(made, until(2))
    with torch.no_grad():
        made.weights[0][0, 0, 0] = torch.nan
    kept = made.weights[2][0].clone()
    train(made)
    assert (made.died >= 0).tolist() == [True, False]
    assert torch.equal(made.weights[2][0], kept) and made.weights[2][1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_stablemax_is_its_formula(dtype):
    """s(x) = x + 1 from 0 on, 1 / (1 - x) below; the loss is -log of the target's share of s."""
    outputs = torch.tensor([[[-3.0, 0.0, 2.0], [1e4, -1e4, 0.5]]], dtype=dtype, requires_grad=True)
    targets = torch.tensor([[2, 1]])
    loss = SPEC.task.loss(outputs, targets)
    x = outputs.detach().double().requires_grad_()
    s = torch.where(x >= 0, x + 1, 1 / (1 - x))
    wanted = -(s / s.sum(-1, keepdim=True)).gather(-1, targets[..., None]).log().mean((1, 2))
    torch.testing.assert_close(loss.double(), wanted, rtol=1e-6, atol=0)
    (gradient,) = torch.autograd.grad(loss.sum(), outputs)
    torch.testing.assert_close(gradient.double(), torch.autograd.grad(wanted.sum(), x)[0], rtol=1e-5, atol=1e-9)


def test_the_kernel_takes_softmax_with_adamw_and_leaves_the_others_to_torch():
    softmax = replace(SPEC, task=replace(SPEC.task, loss_name="cross_entropy"))
    for spec, name, words in ((softmax, "adam", ""), (softmax, "muon", "RunMuon"), (SPEC, "adam", "StableMax")):
        made = fleet_of([replace(spec, recipe=replace(RECIPE, optimizer=name))], [("relu",)])
        refused = perceptron.refusal(made.model, made.optimizer, made.batch(0))
        assert words in refused and (words or refused in ("", perceptron._loaded()[1]))


def test_keys_of_earlier_runs_are_what_they_were_and_json_comes_back():
    old = RunSpec(Operation("a+b", modulus=27), Perceptron(), ConstantRate(10, 1.0), 0)
    assert "decay" not in to_json(old) and "loss_name" not in to_json(old)
    assert from_json(to_json(SPEC)) == SPEC and key(SPEC) != key(replace(SPEC, recipe=replace(RECIPE, decay=0.0)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"optimizer": "lion"}, "optimizer='lion'|unknown optimizer"),
        ({"optimizer": "sgd"}, "decay=0.3 has no effect with sgd; give adam, muon, grokfast, perpgrad"),
    ],
)
def test_what_is_refused(changes, words):
    with pytest.raises(ArgumentError, match=words):
        check_run(replace(SPEC, recipe=replace(RECIPE, **changes)))
    assert set(NEW) < set(OPTIMIZERS)


def test_episodes_have_the_rules_that_they_differentiate():
    plain = ConstantRate(4, 0.1)
    for inner, words in (
        (replace(plain, optimizer="muon"), "muon"),
        (replace(plain, optimizer="adam", decay=1.0), "decay"),
    ):
        with pytest.raises(ArgumentError, match=words):
            check_task(SPEC.task, EpisodeSpec(SPEC.task, SPEC.model, inner, plain))
