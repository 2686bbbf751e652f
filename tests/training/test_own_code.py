"""Code of the user's models that assigns, counts, writes into its inputs, or keeps weights: as plain torch has it."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import lab
from lab.errors import ArgumentError
from lab.own.search import known
from lab.training.fleet import train
from tests.training import own
from tests.training.test_modules import CLOSE, fleet, plain


@pytest.mark.parametrize(
    ("make", "way"), [*itertools.product([own.centred, own.annealed], ["vmap", "loop"]), (own.listing, "loop")]
)
def test_what_forward_assigns_is_as_in_plain_torch(make, way):
    data = own.signs()
    trained = train(fleet(data, make, way=way))
    assert trained.model.way == way
    for run in range(3):
        model, accuracy = plain(data, make, run, None)
        torch.testing.assert_close(trained.run_weights(run), dict(model.state_dict()), **CLOSE)
        last = trained.history.arrays()["accuracy_test"][-1][run]
        assert last == pytest.approx(accuracy, abs=1.5 / len(data.rows["test"]))


@pytest.mark.parametrize(
    ("make", "names"), [(own.annealed, "steps"), (own.listing, "chance, seen"), (own.centred, ""), (own.mlp, "")]
)
def test_what_no_checkpoint_has_is_said(make, names, store_folder):
    given = {"functions": {"GELU": None}, "seeds": 1, "steps": 2, "progress": False}
    named = lab.compare(own.signs(), make, nn.GELU, name="mine", **given)
    said = "a killed call trains its models anew: steps change"
    assert [note.split(";")[0] for note in named.notes if said in note] == ([f"{said} {names}"] if names else [])
    assert said not in repr(lab.compare(own.signs(), make, nn.GELU, **given))


def test_a_buffer_that_changes_its_shape_is_refused():
    class Last(own.Centred):
        def forward(self, x):
            self.mean = x.detach()
            return self.out(self.act(self.layer(x)))

    for seeds in ((0,), (0, 1)):
        with pytest.raises(ArgumentError, match="the model's code gives its buffer mean another shape"):
            fleet(own.signs(), lambda seed: Last(), seeds=seeds)


def test_episodes_refuse_buffers_that_are_assigned_anew():
    with pytest.raises(ArgumentError, match="computes each step twice, and mean would change in both"):
        lab.search(own.signs(), model=own.centred, replace=nn.GELU, by="episodes", restarts=1, progress=False)


class Writing(nn.Module):
    """Prepares its inputs, where they are or in a copy."""

    def __init__(self, kind, clones):
        super().__init__()
        first = nn.Embedding(7, 6) if kind == "tokens" else nn.Linear(6, 6)
        self.first, self.act, self.out = first, nn.GELU(), nn.Linear(30 if kind == "tokens" else 6, 2)
        self.kind, self.clones = kind, clones

    def forward(self, x):
        x = x.clone() if self.clones else x
        x = (
            x.sub_(1)
            if self.kind == "tokens"
            else F.relu(x, inplace=True)
            if self.kind == "relu"
            else x.sub_(1).div_(3)
        )
        return self.out(self.act(self.first(x)).flatten(1))


@pytest.mark.parametrize("way", ["vmap", "loop"])
@pytest.mark.parametrize("batch", [32, None])
@pytest.mark.parametrize("kind", ["numbers", "relu", "tokens"])
def test_models_that_write_into_their_inputs_are_as_those_that_write_into_a_copy(kind, batch, way):
    results = []
    for clones in (True, False):
        data = own.signs()
        if kind == "tokens":
            words = own.sequences().inputs
            data = lab.Data.from_arrays(words % 6 + 1, words.sum(1) % 2, name="tokens")
        before = data.inputs.clone()
        made = fleet(data, lambda seed, clones=clones: Writing(kind, clones), way=way, batch=batch)
        assert made.model.way == way
        results.append(train(made).history.arrays())
        assert torch.equal(data.inputs, before)
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


def test_episodes_of_models_that_write_into_their_inputs():
    found = [
        lab.search(
            own.signs(),
            model=lambda seed, clones=clones: Writing("numbers", clones),
            replace=nn.GELU,
            by="episodes",
            episodes=4,
            restarts=1,
            steps=4,
            batch=None,
            progress=False,
        ).history["loss"]
        for clones in (True, False)
    ]
    np.testing.assert_allclose(*found, rtol=1e-5)


class Keeping(nn.Module):
    """Keeps in a list what its modules have, and takes it from there."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.act, self.out, self.kind = nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 2), kind
        self.register_buffer("mean", torch.zeros(6))
        self.kept = {
            "weights": [self.layer.weight, self.layer.bias],
            "tied": [self.layer.weight],
            "statistics": [self.mean],
            "modules": [self.layer, self.out],
            "activation": [self.act],
        }[kind]

    def forward(self, x):
        if self.kind == "statistics" and self.training:
            self.kept[0].mul_(0.9).add_(0.1 * x.mean(0))
        if self.kind == "weights":
            h = F.linear(x, *self.kept)
        elif self.kind == "modules":
            return self.kept[1](self.act(self.kept[0](x)))
        else:
            h = self.layer(x)
        h = self.kept[0](h) if self.kind == "activation" else self.act(h)
        return self.out((F.linear(h, self.kept[0].mT) if self.kind == "tied" else h) - self.mean)


REFUSED = {"weights": "layer.weight, layer.bias", "tied": "layer.weight", "statistics": "mean"}


@pytest.mark.parametrize("kind", REFUSED)
def test_weights_that_are_taken_from_a_list_would_not_learn_and_are_refused(kind):
    said = f"the model takes {REFUSED[kind]} from a list, .*; read them in forward, as self.layer.weight"
    with pytest.raises(ArgumentError, match=said) as error:
        known(own.signs(), lambda seed: Keeping(kind), nn.GELU, "a", None)
    assert len(str(error.value)) < 340


@pytest.mark.parametrize("way", ["vmap", "loop"])
def test_modules_in_a_list_learn(way):
    data, make = own.signs(), lambda seed: Keeping("modules")
    trained = train(fleet(data, make, way=way))
    for run in range(3):
        torch.testing.assert_close(
            trained.run_weights(run), dict(plain(data, make, run, None)[0].state_dict()), **CLOSE
        )


def test_an_activation_that_is_called_from_a_list_is_not_replaced_and_it_is_said():
    given = {"model": lambda seed: Keeping("activation"), "replace": nn.GELU, "progress": False}
    with pytest.raises(
        ArgumentError, match="the model does not call act: with another function there, nothing changes"
    ):
        lab.search(own.signs(), **given, models=1, steps=1)
    notes = lab.compare(own.signs(), **given, functions={"a": "tanh"}, seeds=1, steps=1).notes
    assert notes[0].startswith("Keeping calls gelu beside what is replaced") and "does not call act" in notes[1]
