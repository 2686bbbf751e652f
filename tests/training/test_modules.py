"""Models of the user's own, side by side: as a plain loop over them trains them, whatever they are made of."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import lab
from lab.data import Data
from lab.errors import ArgumentError
from lab.nonlinearity.formula import interpolate
from lab.own.search import known, recipe_of, task
from lab.spec import UNCHANGED, Knots, RunSpec, replace
from lab.training.fleet import train
from lab.training.modules.fleet import ModuleFleet, ModulesSearched
from lab.training.optimizers import factor
from lab.training.sequences import Order
from tests.training import own

WAVE = Knots(-3.0, 3.0, tuple(np.sin(np.linspace(-3, 3, 31)).tolist()))
HAT = Knots(-3.0, 3.0, tuple((1 - np.abs(np.linspace(-1, 1, 31))).tolist()))
# Weights after some steps of Adam, computed in two ways: rounding, which Adam's division by small gradients amplifies.
CLOSE = {"rtol": 2e-3, "atol": 2e-4}


def fleet(data, make, parts=(UNCHANGED,), seeds=(0, 1, 2), way=None, evaluate=("test",), **fit):
    _, spec = known(data, make, nn.GELU, "model", way)
    recipe, given = recipe_of(fit.pop("steps", 12), fit.pop("rate", 0.01), **{"batch": 32, **fit}), task(data)
    runs = [(part, seed) for part in parts for seed in seeds]
    specs = [RunSpec(given, replace(spec, phi=part), recipe, seed, evaluate) for part, seed in runs]
    return ModuleFleet(specs, [(part,) for part, _ in runs])


def weights(trained):
    return [trained.run_weights(run) for run in range(len(trained.specs))]


@pytest.mark.parametrize(("make", "data"), [(own.mlp, own.signs), (own.norms, own.images), (own.tied, own.signs)])
@pytest.mark.parametrize("parts", [(UNCHANGED,), (WAVE,), (WAVE, HAT)])
def test_at_once_and_one_by_one_are_the_same(make, data, parts):
    at_once, one_by_one = (train(fleet(data(), make, parts, way=way)) for way in ("vmap", "loop"))
    assert [made.model.way for made in (at_once, one_by_one)] == ["vmap", "loop"]
    for one, other in zip(weights(at_once), weights(one_by_one), strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


@pytest.mark.parametrize(
    ("make", "data", "said"),
    [(own.dropout, own.signs, "random"), (own.reader, own.sequences, "vmap"), (own.branching, own.signs, "vmap")],
)
def test_what_cannot_be_computed_at_once_goes_one_by_one_and_does_not_depend_on_the_company(make, data, said):
    together = train(fleet(data(), make))
    assert together.model.way == "loop" and said in together.model.note
    alone = train(fleet(data(), make, seeds=(1,)))
    torch.testing.assert_close(alone.run_weights(0), together.run_weights(1), **CLOSE)


def test_a_spec_cannot_ask_for_softmax_and_get_the_model_as_it_is():
    with pytest.raises(lab.ArgumentError, match="softmax is no function of one number"):
        fleet(own.signs(), own.mlp, ("softmax",))


def plain(data, make, seed, phi, steps=12, rate=0.01, optimizer=torch.optim.Adam, **given):
    """What a user would write: torch's modules, optimizers and autograd, one model; batches in the lab's order."""
    model = own.seeded(make, seed).train()
    if phi is not None:
        for name, module in model.named_children():
            if isinstance(module, nn.GELU):
                setattr(model, name, phi)
    rule = optimizer(model.parameters(), lr=rate, **given)
    rows = torch.cat([data.rows["train"], data.rows["search"]])
    order, recipe = Order([seed], len(rows), 32), recipe_of(steps, rate)
    for step in range(steps):
        rule.param_groups[0]["lr"] = rate * factor(recipe, step)
        index = rows[order.at(step)[0]]
        loss = F.cross_entropy(model(data.inputs[index]), data.targets[index])
        rule.zero_grad()
        loss.backward()
        rule.step()
    model.eval()
    x, y = data.split("test")
    return model, float((model(x).argmax(1) == y).float().mean())


@pytest.mark.parametrize("way", ["vmap", "loop"])
@pytest.mark.parametrize(("make", "data"), [(own.mlp, own.signs), (own.norms, own.images)])
def test_gains_are_those_of_a_loop_in_plain_torch(make, data, way):
    data, steps = data(), 60
    result = lab.compare(
        data,
        make,
        nn.GELU,
        {"GELU": None, "sine": torch.sin, "wave": lab.Spline(torch.tensor(WAVE.values), -3, 3)},
        seeds=3,
        steps=steps,
        rate=0.01,
        batch=32,
        progress=False,
        side_by_side=way,
    )

    class Sine(nn.Module):
        def forward(self, x):
            return torch.sin(x)

    def interpolated(x):
        return torch.from_numpy(np.interp(x.detach().numpy(), np.linspace(-3, 3, 31), WAVE.values)).float()

    scores = {
        name: [plain(data, make, s, phi, steps) for s in range(3)] for name, phi in (("GELU", None), ("sine", Sine()))
    }
    for name, found in scores.items():
        ours = result.table[result.table["function"] == name]["accuracy"]
        assert ours.tolist() == pytest.approx([accuracy for _, accuracy in found], abs=1.5 / len(data.rows["test"]))
        for seed, (model, _) in enumerate(found):
            theirs, mine = dict(model.state_dict()), dict(result.model(name, seed).state_dict())
            torch.testing.assert_close(mine, theirs, rtol=0.02, atol=5e-3)
    means = {name: np.mean([accuracy for _, accuracy in found]) for name, found in scores.items()}
    gain = result.difference("sine", "GELU")
    assert gain.mean == pytest.approx(100 * (means["sine"] - means["GELU"]), abs=3) and gain.low < gain.mean < gain.high
    x = data.split("test")[0]
    with torch.no_grad():
        phi = result.model("wave").get_submodule("1" if make is own.mlp else "2")
        torch.testing.assert_close(phi(x), interpolated(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("make", [own.mlp, own.fourier])
@pytest.mark.parametrize(
    ("name", "rule", "given", "theirs"),
    [
        ("adam", torch.optim.Adam, {}, {}),
        ("sgd", torch.optim.SGD, {"momentum": 0.8}, {"momentum": 0.8}),
        ("adamw", torch.optim.AdamW, {"decay": 0.0}, {"weight_decay": 0.0}),
    ],
)
def test_optimizers_are_those_of_torch(name, rule, given, theirs, make):
    data = own.signs()
    made = train(fleet(data, make, optimizer=name, **given))
    for seed, mine in enumerate(weights(made)):
        model, _ = plain(data, make, seed, None, optimizer=rule, **theirs)
        torch.testing.assert_close(mine, {n: p.detach() for n, p in model.named_parameters()}, **CLOSE)


def test_infinite_masks_are_no_difference():
    """-inf minus -inf is not a number."""
    made = fleet(own.sequences(), own.attending, way="vmap")
    assert not made.model.needs_loop and made.model.way == "vmap"
    made.model._at_once = lambda held, inputs: made.model._one_by_one(held, inputs, None) + 1
    batch = made.data.at(0)
    assert made.model._why_no_vmap(batch.inputs, batch.loss) == "vmap gives other numbers"


def test_inputs_beyond_the_knots_are_counted():
    """Constant there, a function that learns gets no gradient from them, and one that was learned says nothing."""
    made = train(fleet(own.signs(), own.mlp, (replace(WAVE, low=-0.5, high=1.5),), (0, 1), steps=4))
    for run, share in enumerate(made.beyond):
        net = own.mlp(0)
        net.load_state_dict(made.run_weights(run))
        phi, seen = lab.Spline(torch.tensor(WAVE.values), -0.5, 1.5), []
        net[1], net[3] = phi, phi
        phi.register_forward_pre_hook(lambda module, given, seen=seen: seen.append(given[0]))
        net(made.data.at(0).inputs[run])
        beyond = [(x < -0.5) | (x > 1.5) for x in seen]
        assert len(seen) == 2 and share == pytest.approx(float(torch.cat(beyond).float().mean()), abs=1e-3)
    assert made.beyond_of([0, 1]) == {"beyond": pytest.approx(sum(made.beyond) / 2)}
    assert fleet(own.signs(), own.mlp).beyond_of([0]) == {}
    assert fleet(own.signs(), own.splined).beyond_of([0]) == {}, "the user's own splines do not count"


def test_many_inputs_beyond_the_knots_are_said():
    data = lab.Data.from_arrays(200 * own.NUMBERS, own.NUMBERS[:, 0] > 0, name="unscaled")
    given = {"model": own.mlp, "replace": nn.GELU, "steps": 4, "progress": False}
    said = r"\d\d % of what the function gets in {} lies beyond \[-8, 8\], where it is constant"
    found = lab.search(data, models=2, **given)
    restarts = lab.search(data, by="episodes", episodes=1, restarts=1, **given)
    for result in (found, restarts):
        assert re.match(said.format("its models"), result.notes[0]) and result.notes[0] in repr(result)
    functions = {"GELU": None, "learned": found, "learning": lab.Spline(torch.ones(5), -1, 1, learnable=True)}
    notes = lab.compare(data, own.mlp, nn.GELU, functions, seeds=2, steps=2, progress=False).notes
    assert re.match(said.format("models with learned"), notes[0]) and "models with learning" in notes[1]
    assert lab.search(own.signs(), models=2, **given).notes == ()


@pytest.mark.parametrize("wrapper", [nn.DataParallel, lambda net: torch.compile(net, backend="eager")])
def test_wrapped_models_are_trained_as_what_is_inside(wrapper):
    trained = [
        weights(train(fleet(own.signs(), make, way="loop"))) for make in (own.mlp, lambda s: wrapper(own.mlp(s)))
    ]
    torch.testing.assert_close(*trained, rtol=0, atol=0)


def test_a_step_or_a_shape_that_cannot_be_is_one_line():
    class Checkpointed(nn.Sequential):
        def forward(self, x):
            return self[1](torch.utils.checkpoint.checkpoint(self[0], x, use_reentrant=False))

    for seeds in ((0,), (0, 1)):
        with pytest.raises(lab.ArgumentError, match=r"a training step of the model fails with RuntimeError.*leave out"):
            fleet(
                own.signs(),
                lambda s: Checkpointed(nn.Sequential(nn.Linear(6, 8), nn.GELU()), nn.Linear(8, 2)),
                seeds=seeds,
            )
    halves = {"model": lambda s: nn.Sequential(nn.Linear(6, 8), nn.GLU(), nn.Linear(4, 2)), "replace": nn.GLU}
    with pytest.raises(lab.ArgumentError, match=r"the model fails with functions\['a'\]: RuntimeError"):
        lab.compare(own.signs(), functions={"a": "tanh"}, **halves)
    with pytest.raises(lab.ArgumentError, match="the model fails with a learned function"):
        lab.search(own.signs(), **halves)


def test_rates_of_one_fleet_are_those_of_fleets_of_their_own():
    both = fleet(own.signs(), own.mlp, seeds=(0, 0))
    both.specs[1] = replace(both.specs[1], recipe=replace(both.specs[1].recipe, rate=0.03))
    train(both)
    for run, rate in enumerate((0.01, 0.03)):
        alone = train(fleet(own.signs(), own.mlp, seeds=(0,), rate=rate))
        torch.testing.assert_close(alone.run_weights(0), both.run_weights(run), **CLOSE)


@pytest.mark.parametrize(
    ("make", "data"),
    [(own.norms, own.images), (own.dropout, own.signs), (own.reader, own.sequences), (own.centred, own.signs)],
)
def test_a_resumed_fleet_ends_with_the_same_bits(make, data):
    whole, half, resumed = (fleet(data(), make) for _ in range(3))
    for made in (half, resumed):
        made.model.way = whole.model.way
    train(whole)
    train(half, lambda state: state.step < 5)
    resumed.model.way = "loop" if whole.model.way == "vmap" else whole.model.way  # its state says the way
    resumed.restore({name: tensor.clone() for name, tensor in half.state().items()})
    train(resumed)
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert np.array_equal(whole.history.arrays()["loss"], resumed.history.arrays()["loss"])


@pytest.mark.parametrize("way", ["vmap", "loop"])
def test_a_search_is_algorithm_1_in_plain_torch(way):
    """Two models and one function: weights follow `train`, knots `search`, at the same point, with Adam."""
    data, steps, rate, spline_rate = own.signs(), 15, 0.01, 0.05
    found = lab.search(
        data,
        model=own.mlp,
        replace=nn.GELU,
        models=2,
        steps=steps,
        rate=rate,
        spline_rate=spline_rate,
        low=-2,
        high=2,
        knots=21,
        start="gelu",
        batch=32,
        progress=False,
        side_by_side=way,
    )
    values = F.gelu(torch.linspace(-2, 2, 21)).requires_grad_()
    models = [own.seeded(own.mlp, 10_000 + m) for m in range(2)]

    def answer(model, x):
        for layer in model:
            x = interpolate(x, values, -2, 2) if isinstance(layer, nn.GELU) else layer(x)
        return x

    rules = [torch.optim.Adam(model.parameters(), lr=rate) for model in models]
    knots, recipe = torch.optim.Adam([values], lr=spline_rate), recipe_of(steps, rate)
    own_rows = Order([10_000, 10_001], len(data.rows["train"]), 32)
    shared_rows = Order([0], len(data.rows["search"]), 32, "search batches")
    for step in range(steps):
        index = data.rows["search"][shared_rows.at(step)[0]]
        loss = sum(F.cross_entropy(answer(model, data.inputs[index]), data.targets[index]) for model in models)
        (of_knots,) = torch.autograd.grad(loss, values)
        for model, rule, rows in zip(models, rules, own_rows.at(step), strict=True):
            rule.param_groups[0]["lr"] = rate * factor(recipe, step)
            index = data.rows["train"][rows]
            rule.zero_grad()
            F.cross_entropy(answer(model, data.inputs[index]), data.targets[index]).backward()
            rule.step()
        knots.param_groups[0]["lr"] = spline_rate * factor(recipe, step)
        values.grad = of_knots
        knots.step()
    torch.testing.assert_close(found.spline.values, values.detach(), rtol=1e-2, atol=2e-3)
    assert (found.spline.values - F.gelu(torch.linspace(-2, 2, 21))).abs().max() > 0.05, "it has moved"


def test_a_resumed_search_finds_the_same_bits():
    data = own.images()
    _, spec = known(data, own.norms, nn.GELU, "model", "loop")
    spec = lab.spec.ModuleSearch(task(data), spec, recipe_of(12, 0.01, batch=32), 2)
    whole, half, resumed = (ModulesSearched(spec) for _ in range(3))
    train(whole)
    train(half, lambda state: state.step < 5)
    resumed.restore({name: tensor.clone() for name, tensor in half.state().items()})
    train(resumed)
    assert whole.functions() == resumed.functions() and whole.search_loss == resumed.search_loss


class Beside(nn.Module):
    """An answer that is compared with those of the other examples, as in `kind`, or has noise."""

    def __init__(self, kind):
        super().__init__()
        self.first, self.act, self.out, self.kind = nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2), kind
        self.memory = nn.LSTM(8, 8)  # without batch_first, examples are its steps

    def forward(self, x):
        h = self.act(self.first(x))
        if self.kind == "memory":
            h = self.memory(h[:, None])[0][:, 0]
        return self.out(h - h.mean(0) if self.kind == "mean" else h + torch.randn(8) if self.kind == "noise" else h)


@pytest.mark.parametrize("kind", ["mean", "memory", "noise"])
def test_an_answer_that_changes_with_its_company_is_no_answer(kind):
    def made():
        return known(own.signs(), lambda seed: Beside(kind), nn.GELU, "a", None)[0]

    if kind == "noise":  # of which that cannot be told
        assert "draws numbers in evaluation mode" in made().notes[0]
        return
    with pytest.raises(ArgumentError, match="changes with the examples beside it"):
        made()


class Places(nn.Module):
    """Token ids with a mask → logits of a text; positions are absolute."""

    def __init__(self):
        super().__init__()
        self.words, self.places, self.act, self.out = nn.Embedding(7, 6), nn.Embedding(5, 6), nn.GELU(), nn.Linear(6, 2)

    def forward(self, input_ids, attention_mask, position_ids=None):
        places = torch.arange(input_ids.shape[1]) if position_ids is None else position_ids
        x = self.act(self.words(input_ids) + self.places(places))
        return self.out((x * attention_mask[..., None]).sum(1))


class Counting(Places):
    def forward(self, input_ids, attention_mask):
        return super().forward(input_ids, attention_mask)


@pytest.mark.parametrize("make", [Places, Counting])
def test_positions_that_count_from_the_padding_are_refused(make):
    words = own.sequences().inputs
    mask = (torch.arange(5) >= torch.arange(240)[:, None] % 3).long()
    for side, refused in ((mask, True), (mask.flip(1), False)):
        data = Data.from_arrays({"input_ids": words, "attention_mask": side}, words.sum(1) % 2)
        with pytest.raises(ArgumentError, match="padded on the left") if refused else nullcontext():
            known(data, lambda seed: make(), nn.GELU, "a", None)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_sparse_gradients_are_refused(optimizer):
    def looked_up(seed):
        return nn.Sequential(nn.Embedding(7, 6, sparse=True), nn.GELU(), nn.Flatten(), nn.Linear(30, 2))

    with pytest.raises(ArgumentError, match="sparse=False"):
        fleet(own.sequences(), looked_up, seeds=(0,), optimizer=optimizer)


@pytest.mark.parametrize("way", ["vmap", "loop"])
def test_parts_in_evaluation_mode_stay_in_it(way):
    def frozen(seed):
        net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 2))
        net[1].eval().running_mean.fill_(5.0)
        return net

    trained = train(fleet(own.signs(), frozen, way=way))
    assert trained.run_weights(0)["1.running_mean"].eq(5).all() and trained.model.training
    assert trained.run_notes(0)["said"][0].startswith("1 comes in evaluation mode")
    whole = known(own.signs(), lambda seed: frozen(seed).eval(), nn.GELU, "model", None)[0]
    assert all(part.training for part in whole.new(0).modules()) and not whole.notes
