"""Muon and Adam: against the record's formulas written once more for one matrix, fleets, schedules, resuming."""

import numpy as np
import pytest
import torch

from lab.errors import ArgumentError
from lab.kinds import check_run
from lab.models.speedrun import SpeedrunModel
from lab.spec import ModelSpec, RunSpec, from_json, replace, to_json
from lab.training.fleet import Fleet, train
from lab.training.optimizers import Muon, MuonRecipe, kinds_of, orthogonal
from tests.training.making import same, through_a_file, until

RECIPE = MuonRecipe(steps=8, batch=16, rate=0.02, embedding_rate=0.05, rising=4, cooldown=0.5, every=4)
SPEC = RunSpec("memorize", SpeedrunModel(2, heads=2, width=8), RECIPE, seed=0)


def fleet(seeds=(0,), **changes):
    return Fleet([replace(SPEC, seed=seed, **changes) for seed in seeds], [("relu2",)] * len(seeds))


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4)])
def test_singular_values_come_near_one_and_singular_vectors_stay(shape):
    x = torch.randn(3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for own, found in zip(x, orthogonal(x), strict=True):
        u, s, v = np.linalg.svd(own.numpy(), full_matrices=False)
        inner = u.T @ found.numpy() @ v.T
        values = s / np.linalg.norm(s)
        for _ in range(5):
            values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
        np.testing.assert_allclose(inner, np.diag(values), atol=1e-6)
        assert (values[s > 0.1 * s.max()] > 0.5).all() and (values < 1.3).all()


def test_steps_are_those_of_the_record_written_for_one_run():
    """Linear maps of the record are (out, in); ours are (in, out)."""
    generator = torch.Generator().manual_seed(0)
    matrix, table = (torch.randn(2, *shape, generator=generator) for shape in ((4, 6), (5, 4)))
    weights = [torch.nn.Parameter(matrix.clone()), torch.nn.Parameter(table.clone())]
    ours = Muon(weights, ["matrix", "embedding"], RECIPE, 2)
    w, e, m, a, b = matrix[1].T.clone(), table[1].clone(), torch.zeros(6, 4), torch.zeros(5, 4), torch.zeros(5, 4)
    for step in range(6):
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=generator)
        ours.set_rates([RECIPE] * 2, step)
        ours.step()
        momentum, fraction = 0.85 + 0.1 * min(step / 4, 1), min(1.0, (8 - step) / 4)
        g = weights[0].grad[1].T
        m = momentum * m + (1 - momentum) * g
        u = momentum * m + (1 - momentum) * g
        w = w - fraction * 0.02 * (6 / 4) ** 0.5 * orthogonal(u[None])[0]
        g = weights[1].grad[1]
        a, b = 0.8 * a + 0.2 * g, 0.95 * b + 0.05 * g * g
        mean, square = a / (1 - 0.8 ** (step + 1)), b / (1 - 0.95 ** (step + 1))
        e = e - fraction * 0.05 * mean / (square.sqrt() + 1e-8)
        torch.testing.assert_close(weights[0][1], w.T, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(weights[1][1], e, rtol=1e-4, atol=1e-5)


def test_what_is_a_matrix():
    model = fleet().model
    kinds = dict(zip([name for name, p in model.named_parameters() if p.requires_grad], kinds_of(model), strict=True))
    assert kinds["embedding.weight"] == "embedding" and kinds["unembedding.weight"] == "head"
    matrices = {name for name, kind in kinds.items() if kind == "matrix"}
    assert len(matrices) == 12 and all(name.startswith("blocks.") and name.endswith("weight") for name in matrices)
    assert {name for name, kind in kinds.items() if kind == "number"} == {"skips", "blocks.0.mix", "blocks.1.mix"}


def test_norms_and_biases_of_other_models_are_numbers():
    made = Fleet([replace(SPEC, model=ModelSpec(width=8))], [("gelu", "softmax")])
    kinds = dict(zip([name for name, _ in made.model.named_parameters()], kinds_of(made.model), strict=True))
    assert kinds["position.weight"] == "embedding" and kinds["blocks.0.up.weight"] == "matrix"
    assert kinds["blocks.0.up.bias"] == kinds["blocks.0.norm1.weight"] == "number"


def test_a_fleet_trains_as_each_of_its_runs():
    both = train(fleet((3, 1)))
    alone = train(fleet((1,)))
    for one, other in zip(both.model.parameters(), alone.model.parameters(), strict=True):
        torch.testing.assert_close(one[1], other[0], rtol=1e-3, atol=2e-4)


def test_it_learns():
    made = fleet(recipe=replace(RECIPE, steps=60, every=30))
    before = made.scores()
    train(made)
    losses = made.history.arrays()["loss"]
    assert losses[-1] < losses[0] and made.scores().keys() == before.keys()


def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one():
    whole, half = train(fleet()), fleet()
    train(half, until(3))
    again = fleet()
    again.restore(through_a_file(half.state()))
    assert same(train(again).state(), whole.state())


def test_a_run_that_diverges_stops_and_the_others_go_on():
    made = fleet((0, 1))
    train(made, until(2))
    with torch.no_grad():
        made.model.embedding.weight[0] = torch.nan
    kept = made.model.blocks[0].up.weight[0].clone()
    train(made)
    assert (made.died >= 0).tolist() == [True, False]
    assert torch.equal(made.model.blocks[0].up.weight[0], kept) and made.model.blocks[0].up.weight[1].isfinite().all()


def test_json_and_what_is_refused():
    assert from_json(to_json(SPEC)) == SPEC
    with pytest.raises(ArgumentError, match="cooldown=2: give a fraction of the steps, 0 to 1"):
        check_run(replace(SPEC, recipe=replace(RECIPE, cooldown=2)))
