"""Algorithm 1 of the simplicity paper: its gradient by finite differences and a plain loop, its restarts, its data."""

import numpy as np
import pytest
import torch

from lab.errors import ArgumentError
from lab.nonlinearity import native
from lab.spec import ConstantRate, EpisodeSpec, Knots, KnotTable, Perceptron, Restart, replace
from lab.tasks import Operation
from lab.training import perceptron
from lab.training.episodes import Episodes, best, check
from lab.training.fleet import train
from tests.training.making import Wave, same, through_a_file

c_compiler = pytest.mark.skipif(native.why_not() is not None, reason="there is no C compiler")
SUM = Operation("a+b", modulus=5)
INNER = ConstantRate(5, 0.5)
RETRAIN = ConstantRate(20, 0.5, every=10)
SPEC = EpisodeSpec(SUM, Perceptron(width=6), INNER, RETRAIN, low=-1.5, high=1.5, episodes=6)
LAST = 4  # an episode of five steps


def restarts(*windows, knots=9, start="noise", rate=0.05):
    return tuple(Restart(seed, rate, knots, window, start) for seed, window in enumerate(windows))


def made(wide=True, **changes):
    """A search; wide: in float64."""
    state = Episodes(replace(SPEC, **changes))
    if wide:
        state.phi.values = [values.detach().double().requires_grad_() for values in state.phi.values]
        state.kept = [values.double() for values in state.kept]
        for inner in state.inner_tasks:
            inner.model.double()
            inner.inputs = inner.inputs.double()
            inner.targets = inner.targets.double() if inner.targets.is_floating_point() else inner.targets
    return state


def until(episode):
    return lambda state: state.episode < episode


@pytest.mark.parametrize("learn", ["shared", "layers", "inputs"])
@pytest.mark.parametrize("rule", ["sgd", "rmsprop", "adam"])
def test_the_gradient_through_all_steps_is_that_of_finite_differences(rule, learn):
    """Of the whole episode, training included; with minibatches, residual sums and two layers."""
    rate = {"sgd": 0.5, "rmsprop": 0.01, "adam": 0.01}[rule]
    model = Perceptron(layers=2, width=6, phi="tanh", residual=True)
    inner = ConstantRate(4, rate, optimizer=rule, batch=7)
    state = made(model=model, inner=inner, restarts=restarts(9, 4), learn=learn)
    outcome = state.run_episode(LAST)
    values, gradient, step = state.phi.values[0], outcome.gradients[0], 1e-6
    for place in np.ndindex(*values.shape[1:]) if learn != "inputs" else [(d, k) for d in (0, 7) for k in (4, 5, 6)]:
        losses = []
        for side in (step, -step):
            with torch.no_grad():
                values[:, *place] += side
            losses.append(state.run_episode(LAST).loss)
            with torch.no_grad():
                values[:, *place] -= side
        torch.testing.assert_close(gradient[:, *place], (losses[0] - losses[1]) / (2 * step), rtol=1e-4, atol=1e-7)
    assert (gradient.abs().amax((1, 2)) > 1e-4).all(), "finite differences of nothing would agree, too"


def tents(x, values, low, high):
    """The spline as a sum of tents, one a knot."""
    at = torch.linspace(low, high, len(values), dtype=x.dtype)
    return torch.relu(1 - (x.clamp(low, high)[..., None] - at).abs() / (at[1] - at[0])) @ values


def by_hand(state, restart, values):
    """Loss and gradient of one restart's episode: a plain loop whose graph begins t steps before the end."""
    spec, inner = state.spec, state.inner_tasks[0]
    batches, held = inner.draw(LAST)
    steps, window = spec.inner_steps(LAST), spec.restarts[restart].window
    weights = [w[restart].requires_grad_() for w in inner.weights()]

    def loss(weights, batch):
        hidden = tents(batch.inputs[restart] @ weights[0] + weights[1], values, spec.low, spec.high)
        wanted = torch.eye(5, dtype=hidden.dtype)[batch.targets[restart]]
        return (hidden @ weights[2] + weights[3] - wanted).square().mean()

    for step in range(steps):
        if step == steps - window:
            weights = [w.detach().requires_grad_() for w in weights]
        within = step >= steps - window
        slopes = torch.autograd.grad(loss(weights, batches(step)), weights, create_graph=within)
        weights = [w - spec.inner.rate * g for w, g in zip(weights, slopes, strict=True)]
        if not within:
            weights = [w.detach().requires_grad_() for w in weights]
    found = loss(weights, held)
    return found, torch.autograd.grad(found, values)[0]


def test_a_window_cuts_the_gradient_where_a_plain_loop_would():
    """Windows of no step, some, all and more than there are, side by side, with numbers of knots of their own."""
    which = tuple(replace(r, knots=knots) for r, knots in zip(restarts(0, 1, 3, 5, 50), (9, 7, 9, 12, 7), strict=True))
    state = made(restarts=which)
    outcome = state.run_episode(LAST)
    found = state.phi.parts(outcome.gradients, 0)  # the same shapes as values
    gradients = [torch.tensor(state.phi.parts(outcome.gradients, r)["phi"].values) for r in range(5)]
    assert isinstance(found["phi"], Knots)
    for restart in range(5):
        values = torch.tensor(state.phi.parts(state.phi.values, restart)["phi"].values, dtype=torch.float64)
        loss, gradient = by_hand(state, restart, values.requires_grad_())
        torch.testing.assert_close(outcome.loss[restart], loss.detach())
        torch.testing.assert_close(gradients[restart].double(), gradient, rtol=1e-6, atol=1e-9)


def test_a_longer_window_is_another_gradient():
    """What the test above rests on: with one seed for all, only the window differs."""
    state = made(restarts=tuple(replace(r, seed=0) for r in restarts(0, 1, 3, 5)))
    gradient = state.run_episode(LAST).gradients[0]
    gaps = [(gradient[i] - gradient[j]).norm() / gradient[3].norm() for i in range(4) for j in range(i)]
    assert min(gaps) > 1e-3


@pytest.mark.parametrize("normalized", [False, True])
def test_the_step_is_plain_gradient_descent(normalized):
    state = made(restarts=restarts(5, 5), normalized=normalized)
    before, outcome = state.phi.values[0].detach().clone(), state.run_episode(0)
    state.learn(outcome)
    step = 0.05 * outcome.gradients[0]
    if normalized:
        step = step / outcome.gradients[0].flatten(1).norm(dim=1).view(-1, 1, 1)
    torch.testing.assert_close(state.phi.values[0].detach(), before - step)


MIXED = (Restart(0, 0.05, 9, 2, "noise"), Restart(1, 0.1, 7, 5, "relu"), Restart(2, 0.02, 9, 3, "zero"))


@pytest.mark.parametrize("learn", ["shared", "layers", "inputs"])
def test_a_restart_alone_and_in_company_agree_wherever_it_stands(learn):
    """So permuting restarts permutes results."""
    settings = {"learn": learn, "model": Perceptron(layers=2, width=6, phi="relu")}
    together = train(made(restarts=MIXED[::-1], **settings)).functions()
    for number, restart in enumerate(MIXED):
        alone = train(made(restarts=(restart,), **settings)).functions()[0]
        for name, part in together[2 - number].items():
            np.testing.assert_allclose(part.values, alone[name].values, rtol=1e-7, atol=1e-10)


def test_a_resumed_search_ends_with_the_same_bits():
    settings = {"wide": False, "restarts": MIXED, "patience": 3, "inner": replace(INNER, batch=6)}
    whole = train(made(**settings))
    half = train(made(**settings), until(2))
    assert half.episode == 2
    resumed = made(**settings)
    resumed.restore(through_a_file(half.state()))
    assert same(resumed.state(), half.state())
    assert same(train(resumed).state(), whole.state())
    assert resumed.functions() == whole.functions() and whole.episode == 6


def test_a_search_learns_what_lowers_the_loss_on_rows_it_held_out():
    """A fast wave, that few ReLUs and few steps do not follow. The control has the same episodes and keeps its ReLU."""
    control = Restart(0, 0.0, 41, 5, "relu")
    both = (control, replace(control, rate=0.05))
    model, inner = Perceptron(width=16), ConstantRate(15, 0.1)
    settings = {"low": -4.0, "high": 4.0, "episodes": 120, "growth": 15.0, "normalized": True}
    loss = train(Episodes(EpisodeSpec(Wave(8.0), model, inner, RETRAIN, both, **settings))).arrays()["loss"]
    last = np.median(loss[-20:], 0)  # one episode whose training goes astray is no sign of a bad function
    assert last[1] < 0.3 * last[0]


def test_a_restart_that_is_no_longer_finite_is_marked_and_leaves_the_others_alone():
    wild = Restart(1, 1e30, 9, 5, "noise")
    state = train(made(wide=False, restarts=(MIXED[0], wild)))
    alone = train(made(wide=False, restarts=MIXED[:1]))
    assert state.died.tolist()[0] == -1 and 0 < state.died[1] < 3 and not np.isfinite(state.last_value[1])
    np.testing.assert_allclose(
        state.functions()[0]["phi"].values, alone.functions()[0]["phi"].values, rtol=1e-4, atol=1e-6
    )
    loss = state.arrays()["loss"]
    assert np.isnan(loss[state.died[1] :, 1]).all() and np.isfinite(loss[:, 0]).all()
    assert np.isfinite(state.functions()[1]["phi"].values).all(), "the knots of its best episodes are finite"


def test_a_restart_stops_when_its_loss_gets_no_better():
    """Against the gradient: the loss rises, and the knots that are kept are those from before it rose."""
    state = made(restarts=restarts(5, rate=-0.5), patience=2, episodes=50, growth=99, normalized=True)
    start = state.phi.values[0].detach().clone()
    train(state)
    assert 1 < state.stopped[0] < 49 and state.episode == state.stopped[0] + 1
    assert (state.kept[0] - start).norm() < (state.phi.values[0] - start).norm()


def test_episodes_grow_and_are_fresh():
    state = made(growth=0.5, episodes=8)
    assert [state.spec.inner_steps(e) for e in range(12)] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5]
    inner, seen = state.inner_tasks[0], []
    for episode in (0, 1):
        batches, held = inner.draw(episode)
        rows = {tuple(row) for row in batches(0).inputs[0].tolist()}
        out = {tuple(row) for row in held.inputs[0].tolist()}
        assert not rows & out and len(rows | out) == len(inner.inputs), "both parts together are the pool"
        seen.append((out, inner.model.layers[0].weight.clone()))
    assert seen[0][0] != seen[1][0] and not torch.equal(seen[0][1], seen[1][1])


@pytest.mark.parametrize(("objective", "sees"), [("val", ()), ("train", ()), ("other", ("other",))])
def test_a_search_sees_its_pool_and_the_split_it_is_asked_to_serve(objective, sees):
    """Never `val`, which decides between restarts, unless asked to, nor `test`."""
    states = {}
    for name in ("", "train", "val", "test", "other"):
        task = Wave(garbled=(name,) if name else ())
        spec = replace(SPEC, task=task, objective=objective, restarts=restarts(2), inner=ConstantRate(3, 0.1))
        states[name] = train(Episodes(spec)).state()
    changed = {name for name in states if name and not same(states[name], states[""])}
    assert changed == {"train", *sees}


def test_the_objective_may_be_the_rows_that_are_trained_on():
    state = made(objective="train", restarts=restarts(5))
    outcome = state.run_episode(LAST)
    batches, _ = state.inner_tasks[0].draw(LAST)
    assert outcome.loss[0] < outcome.training[0], "one step after the last inner loss, on the same rows"
    assert batches(0).inputs.shape == batches(4).inputs.shape


def test_several_tasks_have_their_turns():
    other = Operation("ab", modulus=7)
    state = made(wide=False, task=(SUM, other), restarts=MIXED[:2])
    assert [state.spec.inner_steps(e) for e in range(4)] == [1, 1, 2, 2]
    sizes = []
    for episode in range(2):
        state.learn(state.run_episode(episode))
        sizes.append(state.inner_tasks[episode % 2].inputs.shape[1])
    assert sizes == [10, 14] and np.isfinite(state.arrays()["loss"]).all()


def test_input_functions_start_at_the_identity_and_leave_the_network_its_own():
    spec = replace(SPEC, learn="inputs", model=Perceptron(width=6, phi="tanh"), restarts=restarts(1, start="identity"))
    state = Episodes(spec)
    assert type(state.inner_tasks[0].model.phi).__name__ == "Tanh"
    table = state.functions()[0]["inputs"]
    assert isinstance(table, KnotTable) and len(table.values) == SUM.inputs
    np.testing.assert_allclose(table.values, np.tile(np.linspace(-1.5, 1.5, 9), (10, 1)), atol=1e-7)


def test_the_best_restart_is_the_most_accurate_then_the_one_with_the_lowest_loss():
    nan = float("nan")
    assert best([[(0.5, 0.1)], [(0.5, 0.05)], [(0.4, 0.0)]]) == 1
    assert best([[(nan, nan)], [(0.1, 9.0)]]) == 1
    assert best([[(-0.1, 1.1)], [(nan, nan)]]) == 0, "scores such as R² can be negative"
    assert best([[(0.9, 0.1), (nan, nan)], [(0.4, 0.5), (0.4, 0.5)]]) == 1


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"learn": "all"}, "shared, layers, inputs"),
        ({"restarts": (Restart(start="gleu"),)}, "zero, noise, identity, gelu"),
        ({"pool": ("search",)}, "no split 'search'"),
        ({"objective": "ood"}, "no split 'ood'"),
        ({"restarts": ()}, "0 restarts"),
        ({"growth": 0.0}, "growth above 0"),
        ({"model": Perceptron(layers=0)}, "without hidden layers"),
        ({"learn": "inputs", "task": (SUM, SUM)}, "for one task"),
        ({"inner": ConstantRate(3, 0.1, optimizer="lion")}, "sgd, rmsprop, adam"),
        ({"restarts": (Restart(knots=1),)}, "2 or more"),
    ],
)
def test_what_cannot_be_searched_for_is_said_in_one_line(changes, text):
    with pytest.raises(ArgumentError, match=text) as caught:
        check(replace(SPEC, **changes))
    assert "\n" not in str(caught.value)


def outcomes(monkeypatch, **changes):
    """Of an episode by torch, and by calls of C."""
    found = []
    monkeypatch.delenv("LAB_KERNEL", raising=False)
    for steps in ("plain", "kernel"):
        monkeypatch.setenv("LAB_STEPS", steps)
        state = made(**changes)
        found.append(state.run_episode(LAST))
        assert state.inner_tasks[0].by_kernel == (steps == "kernel")
    return found


@c_compiler
@pytest.mark.parametrize("learn", ["shared", "layers", "inputs"])
@pytest.mark.parametrize("rule", ["sgd", "rmsprop", "adam"])
def test_inner_steps_in_one_call_are_those_of_torch(rule, learn, monkeypatch):
    """With prefactors, minibatches, functions of several numbers of knots: losses, and gradients through the window."""
    model = Perceptron(layers=2, width=6, phi="tanh", residual=True, prefactor=0.5)
    inner = ConstantRate(4, {"sgd": 0.5}.get(rule, 0.01), optimizer=rule, batch=7)
    which = tuple(replace(r, knots=knots) for r, knots in zip(restarts(2, 0, 9), (9, 7, 9), strict=True))
    plain, kernel = outcomes(monkeypatch, model=model, inner=inner, restarts=which, learn=learn)
    exactly = {"rtol": 1e-9, "atol": 1e-9}
    for one, other in zip((*plain[:3], *plain.gradients), (*kernel[:3], *kernel.gradients), strict=True):
        torch.testing.assert_close(one, other, **exactly)


@c_compiler
def test_inner_steps_have_the_same_bits_alone_and_on_two_threads(monkeypatch):
    def ended(state):
        states, loss = state.inner_tasks[0].train(state.inner_tasks[0].draw(LAST)[0], 5, 2)
        assert len(states) == 3
        return [*states[0], *states[-1], loss]

    which = restarts(2, 3, 1)
    together = ended(made(False, restarts=which))
    for restart in (0, 2):
        alone = ended(made(False, restarts=which[restart : restart + 1]))
        assert all(torch.equal(one[0], of[restart]) for one, of in zip(alone, together, strict=True))
    monkeypatch.setattr(perceptron, "ALONE", 0)
    torch.set_num_threads(2)
    try:
        assert all(map(torch.equal, ended(made(False, restarts=which)), together))
    finally:
        torch.set_num_threads(1)


@c_compiler
def test_a_restart_whose_inner_training_diverges_ends_as_under_torch(monkeypatch):
    which = restarts(2, 2)
    for steps in ("plain", "kernel"):
        monkeypatch.setenv("LAB_STEPS", steps)
        state = made(restarts=which, inner=ConstantRate(5, 0.5), growth=5.0)
        with torch.no_grad():
            state.phi.values[0][1] *= 1e200
        state.advance()
        assert state.died.tolist() == [-1, 0] and np.isnan(state.last_value[1])
