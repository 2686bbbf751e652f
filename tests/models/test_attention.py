"""Attention: the paper's kernel formula by two loops, and a denominator that never crosses zero."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab.models.transformer import EPSILON, Attention, alibi_bias, positive
from lab.nonlinearity.spline import Spline
from lab.spec import ModelSpec
from tests.models.making import shaken, wavy

HEADS, WIDTH, TOKENS = 2, 6, 7


def bare(phi, alibi=False, runs=1, seed=0, scale=0.5):
    """Attention whose output projection is the identity: what comes out are the heads, side by side."""
    spec = ModelSpec(width=WIDTH, heads=HEADS, positions="alibi" if alibi else "learned")
    module = Attention(runs, spec, TOKENS, phi=None).double()
    shaken(module, seed, scale)
    with torch.no_grad():
        module.out.weight.copy_(torch.eye(WIDTH))
        module.out.bias.zero_()
    module.phi = phi and phi.double()
    return module


def draw(runs=1, batch=2, scale=1.0, seed=1):
    shape = (runs, batch, TOKENS, WIDTH)
    return scale * torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def parts(module, x):
    """Queries, keys and values, each (R, B, heads, T, d)."""
    shape = (*x.shape[:3], HEADS, WIDTH // HEADS)
    return [part.reshape(shape).transpose(2, 3) for part in module.qkv(x).detach().chunk(3, -1)]


def heads(y):
    """Output (R, B, T, C) by heads, (R, B, heads, T, d)."""
    return y.detach().unflatten(-1, (HEADS, -1)).transpose(2, 3)


def kernels(module, x):
    """K_ij of every query and visible key, with the decay of ALiBi, by loops: (R, B, heads, T, T)."""
    q, k, _ = (part.numpy() for part in parts(module, x))
    values, low, high = module.phi.values.detach().numpy(), module.phi.low, module.phi.high
    bias = (
        alibi_bias(HEADS, TOKENS).double().exp().numpy()
        if module.bias is not None
        else np.ones((HEADS, TOKENS, TOKENS))
    )
    found = np.zeros((*q.shape[:-1], TOKENS))
    for r, b, h, i in np.ndindex(q.shape[:-1]):
        table = values[r] if values.ndim == 2 else values

        def phi(x, table=table):
            return np.maximum(np.interp(x, np.linspace(low, high, len(table)), table), 0)

        for j in range(i + 1):
            found[r, b, h, i, j] = phi(q[r, b, h, i]) @ phi(k[r, b, h, j]) * bias[h, i, j]
    return torch.from_numpy(found)


@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize("knots", [(33,), (3, 33)], ids=["shared", "one a run"])
def test_kernel_attention_is_the_formula_of_the_paper(alibi, knots):
    module, x = bare(wavy(*knots), alibi, runs=3), draw(3)
    weights, (_, _, v) = kernels(module, x), parts(module, x)
    wanted = torch.zeros_like(v)
    for r, b, h, i in np.ndindex(*v.shape[:-1]):
        numerator = sum(weights[r, b, h, i, j] * v[r, b, h, j] for j in range(i + 1))
        wanted[r, b, h, i] = numerator / (weights[r, b, h, i, : i + 1].sum() + EPSILON)
    torch.testing.assert_close(heads(module(x)), wanted)
    assert (weights == 0).any() and (weights > 0).any()


def test_where_phi_is_positive_it_is_the_formula_as_printed():
    """No cut and no EPSILON: Σ K_ij V_j / Σ K_ij, up to an EPSILON small against Σ K_ij ≥ d φ_min²."""
    phi = Spline(1 + torch.rand(33, generator=torch.Generator().manual_seed(0)), -4.0, 4.0)
    module, x = bare(phi), draw()
    weights, (_, _, v) = kernels(module, x), parts(module, x)
    printed = (weights @ v) / weights.sum(-1, keepdim=True)
    torch.testing.assert_close(heads(module(x)), printed, rtol=1e-3, atol=0)


def visible(v, reduce):
    """Smallest or largest value up to each token."""
    return reduce(v, dim=-2).values


numbers = st.floats(-100, 100, width=32)


@given(
    st.lists(numbers, min_size=2, max_size=12),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.booleans(),
    st.integers(0, 99),
)
def test_output_is_a_convex_combination_whatever_the_sign_of_phi(values, scale, alibi, seed):
    """Were kernel values to change sign, the denominator could cross zero, and the output leave every bound.

    With all K_ij ≥ 0 and S = Σ K_ij: output · (S + EPSILON) / S lies between the smallest and the largest value
    that the query sees, and the output between those and zero.
    """
    module, x = bare(Spline(torch.tensor(values), -2.0, 2.0), alibi, seed=seed), draw(scale=scale, seed=seed)
    x.requires_grad_()
    y = module(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert y.isfinite().all() and gradient.isfinite().all()

    y, (_, _, v) = heads(y), parts(module, x)
    low, high = visible(v, torch.cummin), visible(v, torch.cummax)
    slack = 1e-9 * v.abs().max()
    assert (y >= low.clamp(max=0) - slack).all() and (y <= high.clamp(min=0) + slack).all()
    total = kernels(module, x.detach()).sum(-1, keepdim=True)
    assert (total >= 0).all()
    full = torch.where(total > 1e-6, y * (total + EPSILON) / total, low)
    assert (full >= low - slack).all() and (full <= high + slack).all()


def test_no_kernel_value_is_negative():
    x = torch.linspace(-6, 6, 200)
    assert (wavy(33)(x) < -0.5).any()
    assert torch.equal(positive(wavy(33), x), wavy(33)(x).clamp(min=0))


def test_phi_of_one_is_the_causal_mean():
    """Where a search for attention starts: every K_ij is the head width d."""
    module, x = bare(Spline(torch.ones(5))), draw()
    v, seen = parts(module, x)[2], torch.arange(1, TOKENS + 1)[:, None] * (WIDTH // HEADS)
    mean = v.cumsum(-2) / torch.arange(1, TOKENS + 1)[:, None]
    torch.testing.assert_close(heads(module(x)), mean * seen / (seen + EPSILON))


def test_phi_without_a_positive_value_attends_to_nothing():
    module, x = bare(Spline(-torch.ones(5))), draw().requires_grad_()
    y = module(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert (y == 0).all() and (gradient == 0).all()


@pytest.mark.parametrize("alibi", [False, True])
def test_softmax_is_the_literal_softmax(alibi):
    module, x = bare(None, alibi, runs=2), draw(2)
    q, k, v = parts(module, x)
    score = q @ k.mT / (WIDTH // HEADS) ** 0.5
    if alibi:
        score = score + alibi_bias(HEADS, TOKENS)
    score = score.masked_fill(torch.ones(TOKENS, TOKENS).triu(1).bool(), -torch.inf)
    torch.testing.assert_close(heads(module(x)), score.softmax(-1) @ v)


@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize("phi", [None, wavy(33)], ids=["softmax", "kernel"])
def test_a_prefix_gives_the_same_outputs_as_the_whole(alibi, phi):
    """Inputs shorter than the model's length: mask and bias are cut, not squeezed."""
    module, x = bare(phi, alibi), draw()
    for tokens in (1, 4):
        torch.testing.assert_close(module(x[:, :, :tokens]), module(x)[:, :, :tokens])
