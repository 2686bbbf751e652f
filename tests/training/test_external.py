"""Models from elsewhere on the lab's tasks: the lab's own model trained here learns as the lab trains it."""

import pytest
import torch
from torch import nn

import lab
from lab import tasks
from lab.models.transformer import Transformer
from lab.papers.transformers.settings import setting
from lab.spec import AdamTrapezoid, replace
from lab.training.live import EXAMPLES, fit


class Alone(nn.Module):
    """A model of the lab without its run axis, as a guest would be."""

    def __init__(self, task, seed):
        super().__init__()
        spec = setting(task.name, "smoke").model
        self.inner = Transformer(spec, len(task.vocabulary), task.max_length, [seed], nn.GELU())

    def forward(self, tokens):
        return self.inner(tokens[None])[0]


@pytest.mark.parametrize("name", ["memorize", "parentheses", "copy"])  # tokens, sequences of several lengths
def test_it_learns_what_the_labs_own_training_teaches(name):
    task, seed = tasks.load(name), 3
    runs = lab.train(name, seeds=seed + 1, scale="smoke", progress=False)
    spec, guest = runs[seed].spec, Alone(task, seed)
    table = fit(guest, task, spec.recipe, seed, split := spec.evaluate[0])
    if len(task.splits[split]) <= EXAMPLES:  # of longer ones, fit looks at the first only
        assert table["accuracy"].tolist() == pytest.approx(runs[seed].accuracy.tolist(), abs=0.01)
    assert table["step"].tolist() == runs[seed].steps.tolist()
    trained = dict(runs[seed].model().named_parameters())
    for weight, parameter in guest.inner.named_parameters():
        torch.testing.assert_close(parameter, trained[weight], rtol=1e-3, atol=1e-5)


def test_what_is_frozen_stays_and_the_loss_falls():
    task = tasks.load("memorize")
    guest = Alone(task, 0)
    guest.inner.embedding.requires_grad_(False)
    before = guest.inner.embedding.weight.clone()
    guest.eval()
    table = fit(guest, task, AdamTrapezoid(steps=40, rate=0.01, batch=64, every=10))
    assert torch.equal(guest.inner.embedding.weight, before) and not guest.training
    assert table["loss"].is_monotonic_decreasing and not table["diverged"].any() and table["step"].max() == 40


def test_a_training_that_diverges_ends_and_says_so():
    task = tasks.load("memorize")
    recipe = AdamTrapezoid(steps=40, rate=1e30, batch=64, every=1)
    table = fit(Alone(task, 0), task, replace(recipe, warmup=0.0))
    assert table["diverged"].all() and len(table) < 40
