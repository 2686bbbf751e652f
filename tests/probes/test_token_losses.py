"""Losses of tokens: those of a model that sees each token's past alone, whatever windows the text is read in."""

import numpy as np
import pytest
import torch
from torch import nn

from lab.errors import ArgumentError
from lab.probes.language import continuation, token_losses
from lab.tasks.text import Text

TASK = Text("moby_dick", context=12)
SIZE = len(TASK.vocabulary)
WORDS = "Call me Ishmael. Some years ago never mind how long precisely"


class Bigram(nn.Module):
    """The next token depends on the last one alone."""

    def __init__(self, sharp=2.0):
        super().__init__()
        table = sharp * torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(0))
        self.table = nn.Parameter(table)

    def forward(self, tokens):
        assert tokens.shape[-1] <= TASK.context, "no more than the model reads"
        return self.table[tokens]


class Counting(nn.Module):
    """Says to whoever listens how many tokens it sees."""

    def __init__(self, tell):
        super().__init__()
        self.tell = tell

    def forward(self, tokens):
        self.tell(tokens.shape[-1])
        return torch.zeros(*tokens.shape, SIZE)


def test_each_token_has_the_loss_of_its_own_prediction():
    model = Bigram()
    found = token_losses(model, TASK, WORDS)
    tokens = TASK.vocabulary.encode(WORDS)
    logs = model.table.log_softmax(-1).detach().numpy()
    assert np.isnan(found.nats[0]) and "".join(found.pieces) == WORDS and not found.altered
    np.testing.assert_allclose(found.nats[1:], -logs[tokens[:-1], tokens[1:]], rtol=1e-5)
    best = logs[tokens[:-1]].argmax(-1)
    assert found.guesses[1:] == tuple(TASK.vocabulary.decode([one]) for one in best)
    assert found.bits == pytest.approx(np.nansum(found.nats) / np.log(2) / (len(WORDS) - 1))
    assert found.right == pytest.approx((best == tokens[1:]).mean())


def test_every_token_is_predicted_from_half_a_context_at_least():
    seen: list[int] = []
    token_losses(Counting(seen.append), TASK, WORDS)
    assert max(seen) == TASK.context and seen[0] == TASK.context
    assert all(length > TASK.context // 2 for length in seen)


def test_what_the_vocabulary_lacks_is_left_out_and_said():
    found = token_losses(Bigram(), TASK, "Cal€l me")
    assert found.altered and "".join(found.pieces) == "Call me"
    for text in ("", "€", "C"):
        with pytest.raises(ArgumentError, match="give 2 to 16,384"):
            token_losses(Bigram(), TASK, text)


def test_a_model_goes_on_with_what_it_finds_probable():
    model = Bigram()
    first = TASK.vocabulary.encode("C")[0]
    greedy = continuation(model, TASK, "C", count=20, temperature=0)
    assert TASK.vocabulary.encode(greedy[0])[0] == int(model.table[first].argmax()) and len(greedy) == 20
    assert continuation(model, TASK, "Ca", 30, seed=1) == continuation(model, TASK, "Ca", 30, seed=1)
    assert continuation(model, TASK, "Ca", 30, seed=1) != continuation(model, TASK, "Ca", 30, seed=2)
    cold = continuation(model, TASK, "C", 20, temperature=1e-3)
    assert cold == greedy
    with pytest.raises(ArgumentError, match="give some text to go on from"):
        continuation(model, TASK, "€", 3)
    with pytest.raises(ArgumentError, match="count=0"):
        continuation(model, TASK, "C", 0)
