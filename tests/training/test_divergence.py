"""A run whose weights are no longer finite has diverged, also where no loss has said so yet."""

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab.spec import UNCHANGED
from lab.training.fleet import train
from tests.training import own
from tests.training.making import Wave, copied, descent, fleet, same, until
from tests.training.test_modules import fleet as module_fleet

STEPS = 20
FLEETS = {
    "tokens": lambda: fleet((0, 1, 2)),
    "perceptrons": lambda: descent((0, 1, 2), Wave(kind="class"), steps=STEPS, every=5),
    "perceptrons, the last weights": lambda: descent((0, 1, 2), steps=STEPS, every=5, keep="last", average=5),
    "modules": lambda: module_fleet(own.signs(), own.mlp, (UNCHANGED,), steps=STEPS, every=5, way="loop"),
    "modules at once": lambda: module_fleet(own.images(), own.norms, steps=STEPS, every=5, way="vmap"),
}


def poisoned(made, value, at):
    """A step, `at`, leaves the weights of run 1 at this value."""
    note = made.note_step

    def then(loss):
        if made.step == at - 1:
            for weight in made.weights:
                weight.data[1] = value
        note(loss)

    made.note_step = then
    return made


@pytest.mark.parametrize("steps", ["kernel", "plain"])
@pytest.mark.parametrize(("value", "at"), [(np.nan, STEPS), (np.inf, STEPS), (np.nan, 5), (np.nan, 7)])
@pytest.mark.parametrize("kind", FLEETS)
def test_a_run_whose_weights_are_not_finite_has_diverged(kind, value, at, steps, monkeypatch):
    monkeypatch.setenv("LAB_STEPS", steps)
    sound, made, half, resumed = (FLEETS[kind]() for _ in range(4))
    train(sound)
    train(poisoned(made, value, at))
    assert made.died.tolist() == [-1, at, -1] and sound.died.tolist() == [-1, -1, -1]
    before, after = sound.history.arrays(), made.history.arrays()
    for name, values in after.items():
        rows = after["steps"] >= (at + 1 if name == "loss" else at)
        assert name == "steps" or (np.isnan(values[rows, 1]).all() and np.isfinite(values[~rows, 1]).all()), name
        wanted = before[name] if name == "steps" else before[name][:, [0, 2]]
        assert np.array_equal(values if name == "steps" else values[:, [0, 2]], wanted), name
    assert all(same(made.run_weights(run), sound.run_weights(run)) for run in (0, 2))
    train(poisoned(half, value, at), until(12))
    resumed.restore(copied(half.state()))
    assert same(train(poisoned(resumed, value, at)).state(), made.state())


def test_infinite_weights_of_a_mask_are_no_divergence():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask, self.out = nn.Parameter(torch.full((6,), -torch.inf)), own.mlp(0)

        def forward(self, x):
            return self.out(x + self.mask.exp())

    found = lab.compare(own.signs(), lambda seed: Masked(), nn.GELU, {"GELU": None}, seeds=1, steps=4, progress=False)
    assert not found.table["diverged"].any() and np.isfinite(found.table["accuracy"]).all()


def test_a_gradient_that_is_not_finite_gives_no_accuracy():
    """A square root has none at 0, and a finite loss."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.act, self.b = nn.Linear(6, 4), nn.GELU(), nn.Linear(4, 2)

        def forward(self, x):
            return self.b(self.act(self.a(x))) + (x * self.a.weight[0]).square().sum(1, keepdim=True).sqrt()

    X = own.NUMBERS.copy()
    X[::5] = 0
    data = lab.Data.from_arrays(X, X[:, 0] > 0.5, name="zeros")
    given = {"seeds": 2, "steps": 1, "batch": None, "progress": False}
    result = lab.compare(data, lambda seed: Net(), nn.GELU, {"GELU": None, "ReLU": "relu"}, **given)
    assert result.table["diverged"].all() and np.isnan(result.table["accuracy"]).all()
    assert "4 of 4 runs diverged" in repr(result)
