"""Masked language modelling: which tokens are hidden and how, that nothing of them is seen, and that a model learns."""

import numpy as np
import pytest
import torch
from scipy import stats

from lab import kinds
from lab.errors import ArgumentError
from lab.models.small_language import SmallLanguageModel
from lab.spec import AdamTrapezoid, HyperModel, ModelSpec, Perceptron, RunSpec, from_json, replace, to_json
from lab.tasks import Text
from lab.training.fleet import Fleet, train
from lab.training.text import MaskedText, hidden

pytest.importorskip("transformers")
TASK = MaskedText(Text("moby_dick", context=20))
MODEL = SmallLanguageModel("roberta", layers=1, heads=2, width=16, inner=24)
SPEC = RunSpec(TASK, MODEL, AdamTrapezoid(steps=30, rate=0.01, batch=16, every=15), 0, ("val",))


def fleet(seeds=(0,), **changes):
    return Fleet([replace(SPEC, seed=seed, **changes) for seed in seeds], [()] * len(seeds))


def test_tokens_are_hidden_as_often_as_said():
    windows = np.arange(40_000).reshape(400, 100) % 50
    seen, positions = hidden(windows, 50, 0.15, np.random.default_rng(0))
    assert positions.shape == (400, 15) and all(len(set(row)) == 15 for row in positions.tolist())
    chosen = np.zeros(windows.shape, bool)
    np.put_along_axis(chosen, positions, True, 1)
    assert (seen[~chosen] == windows[~chosen]).all()
    masked, kept = (seen == 50) & chosen, (seen == windows) & chosen
    changed = chosen & ~masked & ~kept
    number = chosen.sum()
    for found, share in ((masked, 0.8), (kept, 0.1 + 0.1 / 50), (changed, 0.1 * 49 / 50)):
        assert stats.binomtest(int(found.sum()), int(number), share).pvalue > 1e-4
    assert stats.chisquare(chosen.sum(0)).pvalue > 1e-4  # no place is preferred
    assert stats.chisquare(np.bincount(seen[changed], minlength=50)).pvalue > 1e-4


def test_targets_are_the_tokens_that_were_there_and_batches_depend_on_seed_and_step_alone():
    both, alone = fleet((3, 1)), fleet((1,))
    for step in (0, 5, 5, 2):
        batch, own = both.batch(step), alone.batch(step)
        assert torch.equal(batch.tokens[1], own.tokens[0]) and torch.equal(batch.positions[1], own.positions[0])
        assert not torch.equal(batch.tokens[0], batch.tokens[1])
        at = batch.tokens.gather(2, batch.positions)
        shown = at != TASK.mask
        assert batch.tokens.shape == (2, 16, 20) and batch.targets.max() < TASK.mask
        assert 0.2 < (batch.targets[shown] == at[shown]).float().mean() < 0.9  # half of what is shown stayed
    assert not torch.equal(both.batch(0).tokens, both.batch(1).tokens)


def test_the_loss_does_not_depend_on_what_is_behind_the_masks():
    made = fleet()
    batch = made.batch(0)
    mask = batch.tokens.gather(2, batch.positions) == TASK.mask
    assert mask.any()
    other = replace(batch, targets=torch.where(mask, (batch.targets + 1) % TASK.mask, batch.targets))
    assert torch.equal(batch.outputs(made.model), other.outputs(made.model))
    assert not torch.equal(batch.loss(batch.outputs(made.model)), other.loss(other.outputs(made.model)))


def test_scores_are_means_over_the_hidden_tokens_and_a_model_learns():
    made = fleet((0, 1))
    before = made.scores()
    assert before.keys() == {"loss_val", "accuracy_val"} and all(v.shape == (2,) for v in before.values())
    assert before["loss_val"] == pytest.approx(np.log(TASK.mask + 1), rel=0.05)  # at the start nothing is known
    again = made.scores()
    assert all((before[name] == again[name]).all() for name in before)
    train(made)
    assert (made.scores()["loss_val"] < before["loss_val"] - 0.3).all()


def test_models_that_see_the_past_alone_are_refused():
    for model in (ModelSpec(), HyperModel(causal=True, dropout=0.0), Perceptron(), replace(MODEL, family="gpt_neo")):
        modules = [torch.nn.GELU()] * len(model.parts)
        with pytest.raises(ArgumentError, match="masked"):
            kinds.build(model, kinds.sizes(TASK, 0), [replace(SPEC, model=model)], modules)


def test_json_and_splits():
    assert from_json(to_json(SPEC)) == SPEC
    with pytest.raises(ArgumentError, match="no split 'ood'"):
        kinds.check_run(replace(SPEC, evaluate=("ood",)))
