"""Attention as a hypernetwork: against loops over the formulas, and laws of its normalizations."""

import itertools

import pytest
import torch
from torch import nn

from lab.errors import ArgumentError
from lab.models import hyper
from lab.models.hyper import NETWORKS, NORMALIZATIONS, HyperAttention, hypernetwork, relative_buckets
from lab.models.layers import split_heads
from lab.nonlinearity.spline import Spline
from lab.spec import HyperModel
from tests.models.making import shaken, wavy

RUNS, BATCH, TOKENS, WIDTH, HEADS = 2, 3, 5, 8, 3
EVERY = list(itertools.product(NORMALIZATIONS, NETWORKS))
every = pytest.mark.parametrize(("normalization", "network"), EVERY, ids="-".join)


def attention(phi=None, head=2, **changes):
    """A shaken layer in float64 with three heads."""
    spec = HyperModel(**{"heads": HEADS, "width": WIDTH, "key_width": HEADS * head} | changes)
    return shaken(HyperAttention(RUNS, spec, TOKENS, phi or nn.Identity())).double()


def inputs(seed=0):
    return torch.randn(RUNS, BATCH, TOKENS, WIDTH, generator=torch.Generator().manual_seed(seed)).double()


def by_loops(layer, x, keep=None, causal=False):
    """The layer from its weights, one run, sequence, query and key at a time; returns outputs and codes."""
    heads, rms = layer.heads, layer.normalization == "rms_head"
    out, codes = torch.zeros(x.shape, dtype=x.dtype), torch.zeros(*x.shape[:2], heads, TOKENS, TOKENS, dtype=x.dtype)
    buckets = relative_buckets(TOKENS)
    for r, b in itertools.product(range(RUNS), range(BATCH)):
        q, k, v = (x[r, b] @ m.weight[r] + m.bias[r] for m in (layer.query, layer.key, layer.value))
        q, k, v = (part.view(TOKENS, heads, -1) for part in (q, k, v))
        for i in range(TOKENS):
            seen = [j for j in range(TOKENS) if not (causal and j > i)]
            a = torch.zeros(heads, TOKENS, dtype=x.dtype)
            for h, j in itertools.product(range(heads), seen):
                a[h, j] = q[i, h] @ k[j, h] / q.shape[-1] ** 0.5 + layer.relative[r, h, buckets[i, j]]
            if layer.normalization == "softmax":
                a[:, seen] = a[:, seen].exp() / a[:, seen].exp().sum(1, keepdim=True)
            if rms:
                for j in seen:
                    a[:, j] = a[:, j] / (a[:, j].square().mean() + 1e-6).sqrt()
            if keep is not None:
                a = a * keep[r, i]
            codes[r, b, :, i] = a
            z = torch.zeros(heads, v.shape[-1], dtype=x.dtype)
            for j in range(TOKENS):
                if layer.network == "head":
                    z = z + a[:, j, None] * layer.phi(v[j])
                    continue
                u = layer.phi(sum(a[h, j] * v[j, h] for h in range(heads)))
                if layer.network == "deep":
                    u = layer.phi(sum(a[h, j] * (u @ layer.inner[r, h]) for h in range(heads)))
                z = z + a[:, j, None] * u
            out[r, b, i] = z.flatten() @ layer.out.weight[r] + layer.out.bias[r, 0]
    return out, codes


@every
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("head", [2, 4], ids=["narrow", "wide"])
def test_attention_is_its_formula(normalization, network, causal, head):
    layer, x = attention(nn.ReLU(), head, normalization=normalization, network=network, causal=causal), inputs()
    keep = (torch.rand(RUNS, TOKENS, TOKENS, generator=torch.Generator().manual_seed(1)) > 0.3).double() / 0.7
    out, codes = by_loops(layer, x, causal=causal)
    torch.testing.assert_close(layer(x), out, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(layer.scores(x), codes, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(layer(x, keep=keep), by_loops(layer, x, keep, causal)[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_multi_head_attention_is_a_hypernetwork(normalization):
    """Eqs. 2 to 4: the codes mix one value network for each query and key. Biases of values enter as a constant input:
    what the network of that pair makes of it; the output's own bias is added at the end."""
    layer, x = attention(normalization=normalization), inputs()
    codes = layer.scores(x)
    networks = hypernetwork(codes, layer.value.weight, layer.out.weight)
    assert networks.shape == (RUNS, BATCH, TOKENS, TOKENS, WIDTH, WIDTH)
    constant = torch.einsum(
        "rbhqk,rhd,rhdo->rbqo",
        codes,
        layer.value.bias.view(RUNS, HEADS, -1),
        layer.out.weight.unflatten(1, (HEADS, -1)),
    )
    explicit = torch.einsum("rbqkoc,rbkc->rbqo", networks, x) + constant + layer.out.bias[:, None]
    torch.testing.assert_close(layer(x), explicit, rtol=0, atol=1e-6)


def test_softmax_attention_is_that_of_torch():
    """An implementation that is not ours: torch's own, with the relative bias as its additive mask."""
    layer, x = attention(), inputs()
    q, k, v = (split_heads(part(x), layer.heads) for part in (layer.query, layer.key, layer.value))
    bias = layer.relative[:, None, :, relative_buckets(TOKENS)].expand(-1, BATCH, -1, -1, -1)
    z = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    torch.testing.assert_close(layer(x), layer.out(z.transpose(2, 3).flatten(3)), rtol=1e-9, atol=1e-9)


@every
def test_only_the_rows_that_are_asked_for(normalization, network):
    layer, x = attention(nn.ReLU(), normalization=normalization, network=network, causal=True), inputs()
    keep = torch.rand(RUNS, TOKENS, TOKENS, generator=torch.Generator().manual_seed(1)).double()
    torch.testing.assert_close(layer(x, [3, 1], keep), layer(x, keep=keep)[:, :, [3, 1]], rtol=1e-9, atol=1e-9)


@every
@pytest.mark.parametrize("head", [2, 4])
def test_neither_chunks_nor_the_order_of_sums_matter(monkeypatch, normalization, network, head):
    """Outputs and gradients, between one sequence at a time and all, and between the two ways to sum."""
    layer, x = attention(nn.Tanh(), head, normalization=normalization, network=network), inputs()
    found = []
    for cached, narrow in ((10**9, 0), (1, 0), (10**9, 9), (1, 9)):
        monkeypatch.setattr(hyper, "CACHED", cached)
        monkeypatch.setattr(hyper, "NARROW", narrow)
        y = layer(x)
        found.append([y, *torch.autograd.grad(y.square().sum(), list(layer.parameters()))])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-8, atol=1e-8)


def test_rms_head_of_equal_scores_is_one():
    """Keys and queries that are zero leave the relative bias, the same for all heads: its sign is what is left."""
    layer, x = attention(normalization="rms_head"), inputs()
    with torch.no_grad():
        for part in (layer.query, layer.key):
            part.weight.zero_()
            part.bias.zero_()
        signs = torch.tensor([3.0, -2.0, 0.5, -0.1, 7.0], dtype=torch.float64)
        layer.relative.copy_(signs)
    wanted = signs.sign()[relative_buckets(TOKENS)].expand(RUNS, BATCH, HEADS, -1, -1)
    torch.testing.assert_close(layer.scores(x), wanted, rtol=0, atol=1e-4)


def test_rms_head_forgets_the_size_of_scores_and_softmax_a_constant():
    layer, x = attention(normalization="rms_head"), inputs()
    codes = layer.scores(x)
    torch.testing.assert_close(codes.square().mean(2), torch.ones_like(codes[:, :, 0]), rtol=0, atol=1e-2)
    with torch.no_grad():
        layer.query.weight.mul_(4)
        layer.query.bias.mul_(4)
        layer.relative.mul_(4)
    torch.testing.assert_close(layer.scores(x), codes, rtol=1e-3, atol=1e-3)
    soft = attention()
    codes = soft.scores(x)
    torch.testing.assert_close(codes.sum(-1), torch.ones_like(codes[..., 0]))
    with torch.no_grad():
        soft.relative.add_(5.0)
    torch.testing.assert_close(soft.scores(x), codes)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_a_causal_layer_does_not_see_what_follows(normalization):
    """Gradients of a query's output in the tokens after it are exactly zero; without a mask they are not."""
    for causal in (True, False):
        layer, x = attention(nn.ReLU(), normalization=normalization, network="pair", causal=causal), inputs()
        x.requires_grad_()
        (g,) = torch.autograd.grad(layer(x)[:, :, 2].square().sum(), x)
        assert (g[:, :, :3] != 0).any() and bool((g[:, :, 3:] == 0).all()) == causal


def test_scores_before_normalization():
    for normalization in NORMALIZATIONS:
        layer, x = attention(normalization=normalization, causal=True), inputs()
        raw = attention(normalization="none").scores(x)
        torch.testing.assert_close(layer.scores(x, normalized=False), raw)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_learned_function_in_the_value_network(network):
    """One function a run: each run's output is that of a layer with its own function alone."""
    phi, x = wavy(RUNS, 9).double(), inputs()
    both = attention(phi, network=network)
    for run in range(RUNS):
        alone = attention(Spline(phi.values[run], phi.low, phi.high), network=network)
        torch.testing.assert_close(alone(x)[run], both(x)[run], rtol=1e-9, atol=1e-9)
    assert not torch.allclose(attention(network=network)(x), both(x))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key_width": 7}, "key_width 7 does not divide into 3 heads"),
        ({"normalization": "rms"}, "'rms'; known: softmax, none, rms_head"),
        ({"network": "linear"}, "'linear'; known: head, pair, deep"),
    ],
)
def test_what_there_is_not_is_said(changes, said):
    with pytest.raises(ArgumentError, match=said):
        attention(**changes)
