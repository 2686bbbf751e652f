"""The hypernetwork paper's transformer: its size, its start, its run axis, its methods."""

import pytest
import torch
from torch import nn

from lab.errors import ArgumentError
from lab.kinds import sizes
from lab.models.hyper import METHODS, HyperTransformer, initialize, method, relative_buckets
from lab.models.layers import Experts, FeedForward
from lab.nonlinearity.functions import named
from lab.spec import HyperModel, replace
from lab.tasks import Logic, Sraven
from lab.training import streams  # noqa: F401  says what examples of such tasks look like
from tests.models.making import shaken

SMALL = HyperModel(layers=2, heads=2, width=8, key_width=4, mlp_width=12)
LOGIC, SRAVEN = Logic(length=6), Sraven(features=2)
methods = pytest.mark.parametrize("name", METHODS)


def model_for(task, spec, seeds=(0,), shake=True):
    modules = [named(part) for part in spec.parts.values()]
    made = HyperTransformer(spec, sizes(task, 0), seeds, *modules)
    return shaken(made).double() if shake else made


def drawn(task, runs, count=3):
    batch = task.sample("train", count * runs, torch.Generator().manual_seed(0), seed=0)
    return batch.inputs.view(runs, count, *batch.inputs.shape[1:])


def size(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("task", "spec", "wanted"),
    [(Logic(length=n), HyperModel(), count) for n, count in ((16, 151009), (32, 151265), (64, 151777), (96, 152289))]
    + [
        (Sraven(), HyperModel(layers=n, heads=16, key_width=64), count)
        for n, count in ((4, 402824), (8, 803208), (16, 1603976))
    ]
    # twice and four times as wide, heads too, as the reference code does it
    + [(Sraven(), HyperModel(4, 16 * w, 128 * w, 64 * w, 256 * w), count) for w, count in ((2, 1592072), (4, 6329864))],
)
def test_as_many_parameters_as_the_reference_code(task, spec, wanted):
    """For softmax, linear and HYLA alike: HYLA adds none."""
    for name in ("softmax", "linear", "hyla"):
        assert size(model_for(task, method(name, spec), shake=False)) == wanted


def test_what_the_other_methods_add():
    plain = size(model_for(LOGIC, SMALL, shake=False))
    for name in METHODS:
        inner = SMALL.layers * SMALL.heads * 2 * 2 if name == "hyla_deep" else 0
        feed, gate = 2 * 8 * 12, 4 * 8  # four experts without biases, and a router
        experts = SMALL.layers * (3 * feed + gate - 12 - 8) if name.endswith("experts") else 0
        assert size(model_for(LOGIC, method(name, SMALL), shake=False)) == plain + inner + experts, name


@pytest.mark.parametrize(
    ("length", "wanted"),
    [
        (16, range(16)),
        (36, [*range(21), *range(22, 32), 32, 32, 33, 34, 35]),
        (32, [*range(20), *range(21, 29), 28, 29, 30, 31]),
    ],
)
def test_buckets_of_relative_positions(length, wanted):
    """The reference code's, worked out by hand from its formula; 21 of 36 and 20 of 32 are never used."""
    buckets = relative_buckets(length)
    assert buckets[-1].flip(0).tolist() == list(wanted)
    assert not buckets.triu().any(), "keys after the query share its bucket"
    for back in range(length):
        assert len(set(buckets.diagonal(-back).tolist())) == 1


@pytest.mark.parametrize(("length", "used"), [(64, 62), (96, 92), (128, 123), (1, 1), (2, 2), (3, 3)])
def test_number_of_buckets_in_use(length, used):
    assert len(relative_buckets(length).unique()) == used


@methods
@pytest.mark.parametrize("task", [LOGIC, SRAVEN], ids=["logic", "sraven"])
def test_runs_do_not_know_of_each_other(name, task):
    spec = method(name, SMALL)
    both, inputs = model_for(task, spec, (3, 4)), drawn(task, 2).double()
    outputs, scores = both(inputs), both.attention_scores(inputs)
    assert outputs.shape == (2, 3, len(task.positions), task.outputs)
    for run in range(2):
        alone = model_for(task, spec)
        with torch.no_grad():
            for own, p in zip(alone.parameters(), both.parameters(), strict=True):
                own.copy_(p[run : run + 1])
        torch.testing.assert_close(alone(inputs[run : run + 1])[0], outputs[run], rtol=1e-9, atol=1e-9)
        for own, layer in zip(alone.attention_scores(inputs[run : run + 1]), scores, strict=True):
            torch.testing.assert_close(own[0], layer[run], rtol=1e-9, atol=1e-9)


@methods
def test_predictions_are_those_of_a_model_that_computes_every_token(name):
    """Tokens at which nothing is predicted are left out of the last layer: nobody may notice."""
    model, inputs = model_for(SRAVEN, method(name, SMALL), (0, 1)), drawn(SRAVEN, 2).double()
    x = model.embedding(inputs)
    for block in model.blocks:
        x = block(x)
    whole = model.head(model.norm(x))
    torch.testing.assert_close(model(inputs), whole[:, :, list(SRAVEN.positions)], rtol=1e-9, atol=1e-9)


def test_blocks_are_pre_norm():
    """With attention and feed-forward layers that give nothing, a block hands on what it is given."""
    block, x = model_for(LOGIC, SMALL).blocks[0], torch.randn(1, 3, 6, 8, dtype=torch.float64)
    with torch.no_grad():
        for layer in (block.attention.out, block.mlp.down):
            layer.weight.zero_()
            layer.bias.zero_()
    assert torch.equal(block(x), x)


def test_weights_start_as_in_the_reference_code():
    model = model_for(Sraven(), HyperModel(2, 16, 128, 64, 256), shake=False)
    for name, p in model.named_parameters():
        owner, _, kind = name.rpartition(".")
        if "norm" in owner:
            assert (p == (kind == "weight")).all(), name
        elif kind == "bias":
            assert (p == 0).all(), name
        else:
            variance = 1 / p.shape[-1] if kind == "relative" else 1 / p.shape[-2]
            assert p.var().item() == pytest.approx(variance, rel=0.25 if p.numel() < 2000 else 0.06), name
            largest = p.abs().max().item() / variance**0.5
            assert (largest > 2.4) if kind == "relative" else (largest <= 2 / 0.8796 + 1e-4), name


def test_weights_depend_on_their_own_seed_alone():
    one, other = (model_for(LOGIC, method("hyla_deep", SMALL), seeds, shake=False) for seeds in ((5, 6), (6, 7, 5)))
    for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(a[0], b[2]) and torch.equal(a[1], b[0]), name
        if not name.endswith("bias") and "norm" not in name:
            assert not torch.equal(a[0], a[1]), name


def test_methods_are_named_as_agreed_and_keep_sizes():
    assert list(METHODS)[:3] == ["softmax", "linear", "hyla"] and len(METHODS) == 13
    assert len({method(name) for name in METHODS}) == 13
    big = HyperModel(layers=7, key_width=64)
    assert method("hyla", big) == method("hyla", method("softmax_experts", big)) and method("hyla", big).layers == 7
    with pytest.raises(ArgumentError, match="'tanh'; known: softmax"):
        method("tanh")


def test_hyla_without_its_nonlinearity_and_with_it_differ():
    """And a value network with the identity for φ is not multi-head attention: the codes act twice."""
    inputs = drawn(LOGIC, 1).double()
    outputs = [model_for(LOGIC, method(name, SMALL))(inputs) for name in ("hyla", "hyla_linear", "linear_rms_head")]
    for i in range(3):
        assert not torch.allclose(outputs[i], outputs[i - 1])


# Mixture of experts.


def test_one_expert_is_a_feed_forward_layer():
    x = torch.randn(2, 3, 4, 6, dtype=torch.float64)
    experts = shaken(Experts(2, 6, 5, 1, 1, nn.GELU())).double()
    plain = FeedForward(2, 6, 5, nn.GELU()).double()
    with torch.no_grad():
        for ours, its in ((plain.up, experts.up), (plain.down, experts.down)):
            ours.weight.copy_(its.weight)
            ours.bias.zero_()
    torch.testing.assert_close(experts(x), plain(x))


def test_experts_are_their_formula():
    layer, x = shaken(Experts(1, 6, 5, 4, 2, nn.ReLU())).double(), torch.randn(1, 3, 6, dtype=torch.float64)
    for token, found in zip(x[0], layer(x)[0], strict=True):
        logits = token @ layer.gate.weight[0]
        best = logits.argsort(descending=True)[:2]
        weights = logits[best].exp() / logits[best].exp().sum()
        wanted = 0.0
        for weight, i in zip(weights, best.tolist(), strict=True):
            part = slice(5 * i, 5 * i + 5)
            wanted = wanted + weight * torch.relu(token @ layer.up.weight[0, :, part]) @ layer.down.weight[0, part]
        torch.testing.assert_close(found, wanted)


def test_experts_that_are_too_few_are_said():
    with pytest.raises(ArgumentError, match="active=3 of 2 experts"):
        model_for(LOGIC, replace(SMALL, experts=2, active=3))


def test_initialize_fills_every_parameter():
    model = model_for(LOGIC, method("hyla_experts", SMALL), (0, 1), shake=False)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(float("nan"))
    initialize(model, [0, 1])
    assert all(p.isfinite().all() for p in model.parameters())
