"""What takes the place of softmax: each against its formula, written for one query at a time."""

import numpy as np
import pytest
import torch
from scipy import special

from lab.errors import ArgumentError
from lab.models.transformer import DEVIATION_EPSILON, WEIGHTINGS, Attention, alibi_bias, weigh
from lab.spec import ModelSpec
from tests.models.making import decoder, shaken, words

TOKENS, WIDTH, LENGTH = 7, 5, 12


def adaptive(dots, bias):
    score = dots / np.sqrt(WIDTH) + bias
    share = special.softmax(score)
    entropy = special.entr(share).sum()
    factor = max(1.0, np.polyval([-0.037, 0.481, -2.3, 4.917, -1.791], entropy)) if entropy > 0.5 else 1.0
    return special.softmax(factor * score)


FORMULAS = {  # of the dot products of a query with the keys that it sees, and of their bias
    "softmax": lambda dots, bias: special.softmax(dots / np.sqrt(WIDTH) + bias),
    "adaptive": adaptive,
    "norm": lambda dots, bias: special.softmax(
        dots / min(np.sqrt(dots.var() + DEVIATION_EPSILON), np.sqrt(WIDTH)) + bias
    ),
    "p1": lambda dots, bias: dots / np.sqrt(LENGTH) * np.exp(bias),
    "p3": lambda dots, bias: dots**3 / np.sqrt(LENGTH) * np.exp(bias),
}


@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("name", WEIGHTINGS)
def test_it_is_its_formula(name, scale, alibi):
    dots = scale * torch.randn(2, 3, TOKENS, TOKENS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    bias = alibi_bias(3, TOKENS).double() if alibi else None
    hidden = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    found = weigh(name, dots, WIDTH, LENGTH, hidden, bias)
    for b, h, query in np.ndindex(2, 3, TOKENS):
        row = dots[b, h, query, : query + 1].numpy()
        added = bias[h, query, : query + 1].numpy() if alibi else np.zeros_like(row)
        np.testing.assert_allclose(found[b, h, query, : query + 1], FORMULAS[name](row, added), rtol=1e-10, atol=1e-14)
        assert (found[b, h, query, query + 1 :] == 0).all()


def test_adaptive_softmax_is_sharper_where_it_is_blurred_and_else_the_same():
    hidden, scores = torch.zeros(2, 4, dtype=torch.bool), torch.tensor([[0.0, 0.5, 1.0, 1.5], [0.0, 0.0, 0.0, 9.0]])
    found, plain = (weigh(name, scores, 1, 4, hidden) for name in ("adaptive", "softmax"))
    assert found[0, -1] > plain[0, -1] + 0.01
    torch.testing.assert_close(found[1], plain[1])


def test_norm_softmax_does_not_depend_on_the_scale_of_small_scores():
    hidden = torch.zeros(4, 9, dtype=torch.bool)
    dots = torch.randn(4, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) / 2
    torch.testing.assert_close(
        weigh("norm", dots, 100, 9, hidden), weigh("norm", 2 * dots, 100, 9, hidden), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_attention_has_the_weights_of_its_scores_and_finite_gradients(name):
    spec = ModelSpec(width=6, heads=2, positions="alibi", weighting=name)
    layer = shaken(Attention(2, spec, LENGTH, None)).double()
    x = torch.randn(2, 3, TOKENS, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    x.requires_grad_()
    y = layer(x)
    v = layer.qkv(x).chunk(3, -1)[2].unflatten(-1, (2, -1)).transpose(2, 3)
    torch.testing.assert_close(y, layer.out((layer.scores(x) @ v).transpose(2, 3).flatten(3)))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert gradient.isfinite().all()  # also of the first token, which sees one key


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_a_token_receives_the_same_however_many_follow(name):
    model, _ = decoder(2, weighting=name)
    tokens = words(2)
    torch.testing.assert_close(model(tokens[..., :4]), model(tokens)[:, :, :4])


def test_what_does_not_exist_or_fit_is_refused():
    with pytest.raises(ArgumentError, match="'sigmoid'"):
        decoder(weighting="sigmoid")
    with pytest.raises(ArgumentError, match="weighting='p1' with a kernel: give attention='softmax', too"):
        decoder(attention=torch.nn.ReLU(), weighting="p1")
