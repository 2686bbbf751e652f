"""Searches by two losses in any model of tokens: HYLA's φ, the FineWeb model's MLP, GPT-Neo's activation."""

import numpy as np
import pytest
import torch

from lab.engine import complete
from lab.errors import ArgumentError
from lab.models.hyper import method
from lab.models.rotary_hyper import RotaryHyperModel
from lab.models.small_language import SmallLanguageModel
from lab.models.speedrun import SpeedrunModel
from lab.resolve import resolve
from lab.run import Run
from lab.spec import (
    AdamTrapezoid,
    HyperModel,
    Knots,
    Learned,
    ModelSpec,
    RunSpec,
    SearchSpec,
    from_json,
    replace,
    to_json,
)
from lab.store import Store
from lab.training.fleet import train
from lab.training.optimizers import MuonRecipe
from lab.training.two_loss import Search

ADAM = AdamTrapezoid(steps=6, rate=0.01, batch=32, every=3)
CASES = {
    "hyla on text": (method("hyla", RotaryHyperModel(1, 2, 8, 4, 8)), "phi", ADAM),
    "hyla": (method("hyla", HyperModel(1, 2, 8, 4, 8, causal=True, dropout=0.0)), "phi", ADAM),
    "speedrun": (SpeedrunModel(2, 2, 8), "mlp", MuonRecipe(steps=6, batch=32, every=3)),
    "gpt neo": (SmallLanguageModel(layers=1, heads=2, width=8, inner=12, activation="tanh"), "activation", ADAM),
    "gated": (ModelSpec(layers=1, width=8, gated=True), "mlp", ADAM),
}
NAMES = pytest.mark.parametrize("name", CASES)


def spec_of(name, **changes):
    model, part, recipe = CASES[name]
    shape = {"learn": (part,), "models": 2, "low": -4.0, "high": 4.0, "knots": 17, "spline_rate": 0.05}
    return SearchSpec("memorize", model, recipe, **shape | changes)


@NAMES
def test_one_function_of_all_models_follows_the_search_loss(name):
    """Its gradient is that of the sum over the models, by finite differences, at the weights of the start."""
    state = Search(spec_of(name, start="relu"))
    (knots,) = state.knots
    state.model.double()
    with torch.no_grad():
        for weight in state.weights:
            weight += 0.3 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0))
    batch = state.search_batch(0)

    def loss():
        return batch.loss(batch.outputs(state.model)).double().sum()

    knots.requires_grad_()
    (gradient,) = torch.autograd.grad(loss(), knots)
    place, step = int(gradient.abs().argmax()), 1e-4
    with torch.no_grad():
        values = []
        for sign in (1, -1):
            knots[place] += sign * step
            values.append(loss().item())
            knots[place] -= sign * step
    assert gradient.abs().max() > 0
    assert gradient[place].item() == pytest.approx((values[0] - values[1]) / (2 * step), rel=0.02)


@NAMES
def test_what_is_found_is_trained_with(name, tmp_path):
    start = "relu" if name == "speedrun" else "zero"  # at zero this model has no gradient
    store, spec = Store(tmp_path), spec_of(name, start=start)
    part = spec.learn[0]
    run = RunSpec("memorize", replace(spec.model, **{part: Learned(spec, part)}), spec.recipe, 0)
    complete([run], store)
    found = resolve(Learned(spec, part), store)
    moved = np.array(found.values) - np.maximum(np.linspace(-4, 4, 17), 0) * (start == "relu")
    assert isinstance(found, Knots) and np.abs(moved).max() > 0.01 and Run(run, store).loss.shape == (2,)
    assert from_json(to_json(run)) == run


def test_a_search_starts_where_it_says_and_names_what_there_is():
    assert train(Search(spec_of("hyla", start="relu", spline_rate=0.0))).functions()["phi"].values[-1] == 4.0
    with pytest.raises(ArgumentError, match="name what to search for: phi or mlp or both"):
        Search(spec_of("hyla", learn=("attention",)))
