"""Codes of torch's own attention: softmax(q k / √d), computed by hand from the weights."""

import pytest
import torch
from torch import nn

from lab.errors import ArgumentError
from lab.probes import latent_codes
from lab.probes.codes import codes_by_layer

X = torch.randn(6, 5, 8, generator=torch.Generator().manual_seed(0))


def by_hand(attention, x, mask=None):
    """(N, heads, query, key)"""
    heads, width = attention.num_heads, attention.embed_dim
    q, k, _ = (x @ attention.in_proj_weight.T + attention.in_proj_bias).split(width, -1)
    q, k = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (q, k))
    scores = q @ k.mT / (width // heads) ** 0.5
    return (scores if mask is None else scores + mask).softmax(-1)


@pytest.mark.parametrize("first", [True, False])
def test_codes_of_a_module_are_its_softmax(first):
    attention = nn.MultiheadAttention(8, 4, batch_first=first)
    with torch.no_grad():
        attention.in_proj_bias.normal_()
        expected = by_hand(attention, X)
    found = latent_codes(attention, X, query=3, key=1, batch=4)
    torch.testing.assert_close(torch.from_numpy(found.codes), expected[:, :, 3, 1])


def test_codes_of_each_layer_of_a_causal_transformer():
    """Its inputs of the second layer are what the first one gives; the fast path of evaluation is not taken."""
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(layer, 2)

        def forward(self, x):
            return self.encoder(x, mask=mask, is_causal=True)

    net = Net().eval()
    with torch.no_grad():
        before = net(X)
        second = net.encoder.layers[0](X, src_mask=mask)
        expected = [by_hand(block.self_attn, x, mask) for block, x in zip(net.encoder.layers, (X, second), strict=True)]
    net.train()
    for codes, scores in zip(codes_by_layer(net, X, query=4, key=2), expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(codes.codes), scores[:, :, 4, 2], rtol=1e-4, atol=1e-5)
    assert net.training and all("forward" not in part.__dict__ for part in net.modules())
    with torch.no_grad():
        torch.testing.assert_close(net.eval()(X), before)
    with pytest.raises(ArgumentError, match="does not see key 4"):
        latent_codes(net, X, query=2, key=4)


def test_what_it_cannot_tell_is_said_in_one_line():
    attention = nn.MultiheadAttention(8, 4, batch_first=True)
    for said, call in {
        "tells no scores before normalization": lambda: latent_codes(attention, X, normalized=False),
        "has no run axis": lambda: latent_codes(attention, X, run=1),
        "no torch.nn.MultiheadAttention": lambda: latent_codes(nn.Linear(8, 8), X),
        "give those of one kind": lambda: latent_codes(Crossed(), X),
    }.items():
        with pytest.raises(ArgumentError) as error:
            call()
        assert said in str(error.value) and "\n" not in str(error.value)


class Crossed(nn.Module):
    """A decoder that attends to itself and to a memory of another length."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(x, x[:, :3])


class Inside(nn.Module):
    """A model whose attention has tokens in front; so have its inputs, or it turns them."""

    def __init__(self, turns):
        super().__init__()
        self.turns, self.attention = turns, nn.MultiheadAttention(8, 4)

    def forward(self, x):
        x = x.transpose(0, 1) if self.turns else x
        return self.attention(x, x, x)[0]


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize(("examples", "tokens"), [(6, 5), (5, 6), (6, 6), (7, 4), (4, 7), (4, 4), (2, 9)])
def test_examples_are_those_of_the_scores_whichever_axis_of_the_inputs_has_them(turns, examples, tokens):
    """torch's default is (tokens, examples, width): passes of `batch` must not cut tokens."""
    model = Inside(turns).eval()
    x = torch.randn(examples, tokens, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = by_hand(model.attention, x)[:, :, 3, 1]
    for batch in (1, 3, 4, 256):
        found = latent_codes(model, x if turns else x.transpose(0, 1), query=3, key=1, batch=batch)
        torch.testing.assert_close(torch.from_numpy(found.codes), expected)
