"""Episodes in the user's own models: the gradient, the training of an episode, what such a search refuses."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import lab
from lab.own.search import known, recipe_of, task
from lab.seeds import stream
from lab.spec import ConstantRate, ModuleEpisodes, Restart
from lab.training.episodes import Episodes
from lab.training.fleet import train
from tests.training import own
from tests.training.making import same, through_a_file

LAST = 3  # an episode of four steps
RESTARTS = (Restart(0, 0.05, 9, 9, "noise"), Restart(1, 0.1, 9, 2, "gelu"))


def made(make=own.mlp, data=None, way=None, restarts=RESTARTS, rule="sgd", rate=0.5, **changes):
    data = own.signs() if data is None else data
    _, model = known(data, make, nn.GELU, "model", way)
    inner, retrain = ConstantRate(9, rate, 16, rule), recipe_of(6, 0.01, batch=32)
    spec = ModuleEpisodes(task(data), model, inner, retrain, restarts, low=-2.0, high=2.0, episodes=5, **changes)
    return Episodes(spec)


def in_float64(state):
    """The weights of an episode are drawn in float32, as always, and then taken as float64."""
    state.phi.values = [values.detach().double().requires_grad_() for values in state.phi.values]
    inner = state.inner_tasks[0]
    inner.inputs, drawn = inner.inputs.double(), inner.weights
    inner.weights = lambda: [weight.double() for weight in drawn()]
    return state


@pytest.mark.parametrize("way", ["vmap", "loop"])
@pytest.mark.parametrize(("rule", "rate"), [("sgd", 0.5), ("adam", 0.01)])
def test_the_gradient_through_all_steps_is_that_of_finite_differences(rule, rate, way):
    state = in_float64(made(way=way, rule=rule, rate=rate, restarts=(Restart(0, 0.05, 9, 9, "noise"),)))
    outcome = state.run_episode(LAST)
    values, step = state.phi.values[0], 1e-6
    for knot in range(9):
        losses = []
        for side in (step, -step):
            with torch.no_grad():
                values[:, 0, knot] += side
            losses.append(state.run_episode(LAST).loss)
            assert losses[-1].dtype == torch.float64
            with torch.no_grad():
                values[:, 0, knot] -= side
        expected = (losses[0] - losses[1]) / (2 * step)
        torch.testing.assert_close(outcome.gradients[0][:, 0, knot], expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(
    "make", [own.mlp, own.tied, own.dropout, own.projecting, own.features, own.splined, own.annealed]
)
def test_an_episode_is_a_training_in_plain_torch(make):
    """Fresh weights of the episode, its rows in its order, then the loss on what it held out; with dropout, too."""
    state = made(make)
    found, inner = state.run_episode(LAST), state.inner_tasks[0]
    batches, outer = inner.draw(LAST)
    for run, restart in enumerate(RESTARTS):
        seed = stream(restart.seed, f"episode {LAST} weights")
        net = own.seeded(make, seed)
        phi = lab.Spline(state.phi.values[0][run, 0].detach(), -2.0, 2.0)
        lab.swap(net, nn.GELU, phi)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
        for step in range(LAST + 1):
            batch = batches(step)
            with torch.random.fork_rng():
                torch.manual_seed(stream(seed, "noise", step))
                loss = F.cross_entropy(net.train()(batch.inputs[run]), batch.targets[run])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            answer = net.eval()(outer.inputs[run])
        assert float(found.loss[run]) == pytest.approx(float(F.cross_entropy(answer, outer.targets[run])), rel=1e-4)
        right = (answer.argmax(1) == outer.targets[run]).double().mean()
        assert float(found.accuracy[run]) == pytest.approx(float(right))


def attentive(seed):
    """torch's own attention, whose fast kernel has no second derivative."""
    layer = nn.TransformerEncoderLayer(6, 2, 8, 0.0, nn.GELU(), batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (1, 6)), layer, nn.Flatten(), nn.Linear(6, 2))


@pytest.mark.parametrize("make", [attentive, own.reader])
def test_a_transformer_and_a_recurrent_net_have_a_gradient(make):
    data = own.signs() if make is attentive else own.sequences()
    found = made(make, data).run_episode(LAST).gradients[0]
    assert found.isfinite().all() and found.flatten(1).abs().amax(1).gt(0).all()


@pytest.mark.parametrize("make", [own.mlp, own.dropout])
def test_a_resumed_search_finds_the_same_bits(make):
    whole = train(made(make))
    half = train(made(make), lambda state: state.episode < 2)
    again = made(make)
    again.restore(through_a_file(half.state()))
    assert same(train(again).state(), whole.state())


def test_what_episodes_find_is_compared_with_its_searches_and_kept(store_folder):
    """Values are predicted here; the restart is kept whose models are best on `val`."""
    data = lab.Data.from_arrays(own.NUMBERS, own.NUMBERS[:, 0] * own.NUMBERS[:, 1], name="product")
    given = {"steps": 4, "progress": False, "name": "mine", "rate": 0.01}

    def make(seed):
        return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 1))

    found = lab.search(data, model=make, replace=nn.GELU, by="episodes", episodes=3, **given)
    assert found.results.shape == (2, 1, 2) and found.winner == int(np.argmax(found.results[:, 0, 0]))
    assert torch.equal(found.spline.values, found.of_restart(found.winner)["phi"].values)
    result = lab.compare(data, make, nn.GELU, {"GELU": None, "learned": found.spline}, seeds=2, searches=2, **given)
    assert result.difference("learned", "GELU").covers == "searches and seeds"
    assert torch.equal(result.model("learned")[1].values, found.spline.values)
    assert not torch.equal(result.model("learned", search=1)[1].values, found.spline.values)
    found.publish("product", result)
    assert torch.equal(lab.zoo("mine/product").values, found.spline.values)


class Rounded(nn.Module):
    """Its gradient has no gradient."""

    def __init__(self):
        super().__init__()
        self.layer, self.act, self.out = nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2)

    def forward(self, x):
        return self.out(Once.apply(self.act(self.layer(x))))


class Once(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 1

    @staticmethod
    def backward(context, gradient):
        return Never.apply(gradient)


class Never(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 1

    @staticmethod
    def backward(context, gradient):
        raise RuntimeError("there is no second derivative")


WRONG = {
    "give a model without statistics of batches, as with torch.nn.GroupNorm": lambda: made(own.norms, own.images()),
    "differentiates whole training steps, which this model does not allow": lambda: made(lambda seed: Rounded()),
    "has no split 'val', which episodes need": lambda: made(data=own.signs(splits={"test": 0.2})),
    "one function for all layers, of one number of knots": lambda: made(
        restarts=(Restart(knots=9), Restart(1, knots=7))
    ),
    "unknown optimizer 'adamw'; known: sgd, adam": lambda: lab.search(
        own.signs(), model=own.mlp, replace=nn.GELU, by="episodes", optimizer="adamw"
    ),
    "unknown by 'evolution'; known: two_loss, episodes": lambda: lab.search(
        own.signs(), model=own.mlp, replace=nn.GELU, by="evolution"
    ),
    "scale is for the papers' tasks": lambda: lab.search(own.signs(), "smoke", model=own.mlp, replace=nn.GELU),
    "learn is for the papers' tasks": lambda: lab.search(own.signs(), learn="mlp", model=own.mlp, replace=nn.GELU),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_searched_is_said_in_one_line(said):
    with pytest.raises(lab.ArgumentError) as error:
        WRONG[said]()
    assert said in str(error.value) and "\n" not in str(error.value)
