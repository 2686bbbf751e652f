"""Batches: loss and hits against loops, and an order of examples that has no memory."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from lab.training.sequences import Data, Order
from tests.training.making import bits

RUNS, VOCABULARY = 2, 4


@pytest.fixture
def split():
    return bits().splits["train"]


def logits_at(batch, seed=0):
    """Logits of a model that predicts at random: whole (R, B, T, V), and at the batch's positions (R, B, K, V)."""
    generator = torch.Generator().manual_seed(seed)
    whole = torch.randn(*batch.tokens.shape, VOCABULARY, generator=generator)
    index = batch.positions[..., None].expand(*batch.positions.shape, VOCABULARY)
    return whole, whole.gather(2, index)


def outputs(split, example):
    """Every output token of an example, with the place of the token before it."""
    for place in split.output[example].nonzero().flatten().tolist():
        yield place - 1, split.tokens[example, place]


def test_loss_is_the_mean_cross_entropy_of_the_output_tokens(split):
    index = torch.tensor([[0, 3, 5, 9], [7, 7, 1, 2]])
    batch = Data(split, torch.device("cpu")).at(index)
    whole, some = logits_at(batch)
    got = batch.loss(some)
    for run in range(RUNS):
        nats = [
            F.cross_entropy(whole[run, row, before], target)
            for row, example in enumerate(index[run])
            for before, target in outputs(split, example)
        ]
        assert got[run].item() == pytest.approx(torch.stack(nats).mean().item(), rel=1e-6)
    assert len({len(list(outputs(split, i))) for i in range(10)}) == 3  # of several lengths: padding was at work


def test_padding_carries_no_gradient(split):
    batch = Data(split, torch.device("cpu")).at(torch.arange(10).expand(RUNS, -1))
    some = logits_at(batch)[1].requires_grad_()
    (gradient,) = torch.autograd.grad(batch.loss(some).sum(), some)
    assert torch.equal(gradient.abs().sum(-1) > 0, batch.weights > 0)


def test_hits_are_the_tokens_with_the_largest_logit(split):
    index = torch.arange(10).expand(RUNS, -1)
    batch = Data(split, torch.device("cpu")).at(index)
    whole, some = logits_at(batch)
    hits = batch.hits(some)
    for run in range(RUNS):
        for example in range(10):
            right = [int(whole[run, example, before].argmax()) == target for before, target in outputs(split, example)]
            assert hits[run, example, : len(right)].tolist() == right
            assert hits[run, example, len(right) :].all()
    assert hits[batch.weights > 0].float().mean() not in (0.0, 1.0)


def test_the_model_never_sees_the_last_token_as_input(split):
    data = Data(split, torch.device("cpu"))
    assert torch.equal(data.tokens, split.tokens[:, :-1]) and len(data) == len(split)


orders = st.tuples(st.integers(1, 60), st.integers(1, 80), st.lists(st.integers(0, 9), min_size=1, max_size=3))


@given(orders, st.integers(0, 3))
def test_every_epoch_is_a_permutation(order, epoch):
    """Nothing twice in an epoch; everything once where the batch divides the examples."""
    examples, batch, seeds = order
    order = Order(seeds, examples, batch)
    steps = range(epoch * order.per_epoch, (epoch + 1) * order.per_epoch)
    size = min(batch, examples)
    for row in torch.cat([order.at(step) for step in steps], 1).tolist():
        assert len(row) == len(set(row)) == examples // size * size
        assert set(row) <= set(range(examples))


@given(orders, st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_a_batch_depends_on_seed_and_step_alone(order, steps):
    """Whatever was asked before, and whoever travels along."""
    examples, batch, seeds = order
    used = Order(seeds, examples, batch)
    for step in steps:
        got = used.at(step)
        assert got.dtype == torch.int64 and got.shape == (len(seeds), min(batch, examples))
        for row, seed in zip(got, seeds, strict=True):
            assert torch.equal(row, Order([seed], examples, batch).at(step)[0])


def test_epochs_runs_and_purposes_are_shuffled_differently():
    order = Order([0, 1], 50, 50)
    first, second = order.at(0), order.at(1)
    other = Order([0], 50, 50, "search batches").at(0)
    rows = {tuple(row.tolist()) for row in (*first, *second, *other)}
    assert len(rows) == 5


def test_a_shuffle_is_uniform():
    """Each of 10 places of 4 examples: 10,000 shuffles leave counts within five standard deviations of a quarter."""
    seen = torch.zeros(4, 4)
    order = Order(range(100), 4, 4)
    for epoch in range(100):
        seen += F.one_hot(order.at(epoch), 4).sum(0)
    assert ((seen - 2500).abs() < 5 * (10_000 * 0.25 * 0.75) ** 0.5).all()
