"""Kernel attention in chunks: the sums over all pairs, whatever the chunk, without a tensor of pairs."""

import pytest
import torch

from lab.models.transformer import DIRECT, EPSILON, Attention, alibi_bias, alibi_slopes, chunked, positive
from lab.spec import ModelSpec
from tests.models.making import Largest, shaken, wavy

HEADS = 3


def parts(tokens, width=4, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    f, g, v = (torch.randn(2, HEADS, tokens, width, dtype=dtype, generator=generator) for _ in range(3))
    return [part.requires_grad_() for part in (f.relu(), g.relu(), v)]


def direct(f, g, v, alibi):
    """Σ_j K_ij v_j and Σ_j K_ij, from every pair."""
    tokens = f.shape[-2]
    kernel = (f @ g.mT) * torch.ones(tokens, tokens, dtype=f.dtype).tril()
    if alibi:
        token = torch.arange(tokens)  # slopes are float32 numbers; the lab's bias would round their multiples, too
        distance = (token[:, None] - token).clamp(min=0)
        kernel = kernel * torch.exp(-alibi_slopes(HEADS).double()[:, None, None] * distance)
    return kernel @ v, kernel.sum(-1, keepdim=True)


@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize(("tokens", "chunk"), [(1, 4), (4, 4), (5, 4), (23, 4), (24, 8), (7, 1), (9, 64)])
def test_chunks_give_the_sums_over_all_pairs_and_their_gradients(tokens, chunk, alibi):
    own = parts(tokens)
    slopes = alibi_slopes(HEADS) if alibi else None
    ours, theirs = (torch.cat(found, -1) for found in (chunked(*own, slopes, chunk), direct(*own, alibi)))
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-13)
    grades = torch.randn(theirs.shape, dtype=theirs.dtype, generator=torch.Generator().manual_seed(1))
    gradients = [torch.autograd.grad((found * grades).sum(), own) for found in (ours, theirs)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


def long_layer(alibi, tokens, heads=2, width=16):
    spec = ModelSpec(width=width, heads=heads, positions="alibi" if alibi else "learned")
    return shaken(Attention(1, spec, tokens, wavy(17)))


@pytest.mark.parametrize("alibi", [False, True])
def test_long_inputs_are_attended_to_as_short_ones_are(alibi):
    """Attention beyond DIRECT tokens against all pairs, as `scores` has them."""
    tokens = DIRECT + 37
    layer = long_layer(alibi, tokens).double()
    x = torch.randn(1, 2, tokens, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    q, k, v = layer.qkv(x).unflatten(-1, (3, 2, -1)).permute(3, 0, 1, 4, 2, 5)
    kernel = (positive(layer.phi, q) @ positive(layer.phi, k).mT).tril()
    if alibi:
        kernel = kernel * alibi_bias(2, tokens).double().exp()
    total, weight = kernel @ v, kernel.sum(-1, keepdim=True)
    wanted = layer.out((total / (weight + EPSILON)).transpose(2, 3).flatten(3))
    torch.testing.assert_close(layer(x), wanted, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(layer.scores(x), kernel / (weight + EPSILON), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alibi", [False, True])
def test_no_tensor_has_a_number_for_each_pair_of_tokens(alibi):
    """Forward and backward on 1024 tokens; the largest tensors are in proportion to the tokens."""
    largest = {}
    for tokens in (512, 1024):
        layer = long_layer(alibi, tokens)
        x = torch.randn(1, 1, tokens, 16, generator=torch.Generator().manual_seed(0))
        with Largest() as seen:
            layer(x).sum().backward()
        largest[tokens] = seen.numbers
        assert all(buffer.numel() <= DIRECT**2 * 2 for buffer in layer.buffers())
    assert largest[1024] <= 2 * largest[512] < 512 * 512
