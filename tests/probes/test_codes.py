"""Latent codes: those of the lab's models, of Hugging Face models and of plain scores are the attentions themselves."""

import numpy as np
import pytest
import torch
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from lab.probes.codes import Codes, as_codes
from lab.tasks.task import Split
from tests.models.making import LENGTH, VOCABULARY, decoder, wavy

HEADS, LAYERS, RUNS = 2, 2, 3


def tokens(batch=5, seed=0):
    """Sequences without padding, which is token 0."""
    return torch.randint(1, VOCABULARY, (batch, LENGTH), generator=torch.Generator().manual_seed(seed))


class Planted(nn.Module):
    """A model with `attention_scores` and nothing else: the code of example n, layer l, run r is known."""

    def __init__(self, runs=RUNS):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(runs, 1))
        self.dropout = nn.Dropout(0.5)
        self.runs = runs

    def attention_scores(self, inputs, normalized=True):
        code = inputs.mean((2, 3))[..., None] + torch.arange(HEADS)  # (R, B, heads)
        code = code + torch.arange(len(self.weight))[:, None, None] * 100 + (0 if normalized else 0.5)
        scores = code[..., None, None].expand(*code.shape, 4, 4)
        return [self.dropout(scores + 10 * layer) for layer in range(LAYERS)]


@pytest.mark.parametrize("attention", [None, "spline"], ids=["softmax", "kernel"])
@pytest.mark.parametrize("shape", [{"positions": "alibi"}, {"canon": True}], ids=["alibi", "canon"])
def test_the_scores_of_the_decoder_are_those_that_make_its_output(attention, shape):
    """Values weighted by the scores, through the output projection: what the attention of each layer gave."""
    model, _ = decoder(RUNS, attention=attention and wavy(17), **shape)
    seen = []
    hooks = [block.attention.register_forward_hook(lambda _, x, y: seen.append((*x, y))) for block in model.blocks]
    side_by_side = tokens().expand(RUNS, -1, -1)
    model(side_by_side)
    for hook in hooks:
        hook.remove()
    for block, scores, (x, y) in zip(model.blocks, model.attention_scores(side_by_side), seen, strict=True):
        values = block.attention._project(x)[2]
        mixed = (scores @ values).transpose(2, 3).reshape(y.shape)
        torch.testing.assert_close(block.attention.out(mixed), y)


def test_scores_before_normalization_become_those_after_it():
    model, _ = decoder(RUNS, positions="alibi")
    side_by_side = tokens().expand(RUNS, -1, -1)
    for before, after in zip(*(model.attention_scores(side_by_side, n) for n in (False, True)), strict=True):
        torch.testing.assert_close(before.softmax(-1), after)
        assert (before.isinf() == (after == 0)).all()


def test_codes_are_the_scores_of_the_tokens_named():
    model, _ = decoder(RUNS)
    query, key = torch.tensor([8, 3, -1, 5, 4]), [0, 3, 2, -5, 1]
    for run, batch in ((0, 256), (2, 2)):
        scores = model.attention_scores(tokens().expand(RUNS, -1, -1))
        layers = probes.codes_by_layer(model, tokens(), query, key, run=run, batch=batch)
        assert len(layers) == LAYERS
        for number, (codes, wanted) in enumerate(zip(layers, scores, strict=True)):
            for i in range(5):
                expected = wanted[run, i, :, query[i], key[i]].detach().numpy()
                np.testing.assert_allclose(codes.codes[i], expected, rtol=1e-12)
            assert codes.layer == number and codes.query.tolist() == [8, 3, 8, 5, 4]
            one = probes.latent_codes(model, tokens(), number - LAYERS, query, key, run=run)
            np.testing.assert_allclose(one.codes, codes.codes, rtol=1e-12)


def test_planted_codes_are_found_whatever_the_batch_and_the_run():
    inputs = torch.arange(7.0)[:, None, None].expand(7, 4, 3)
    for run, normalized in ((0, True), (2, False)):
        model = Planted()
        found = probes.latent_codes(model, inputs, layer=1, run=run, normalized=normalized, batch=3)
        wanted = np.arange(7.0)[:, None] + np.arange(HEADS) + 100 * run + 10 + 0.5 * (not normalized)
        np.testing.assert_array_equal(found.codes, wanted.astype(np.float32))
        assert found.normalized == normalized
        assert model.training and model.dropout.training, "read without dropout, and left as it was"


def test_permuting_examples_permutes_codes():
    model, _ = decoder()
    order = torch.tensor([3, 0, 4, 2, 1])
    query = torch.tensor([8, 3, 6, 5, 4])
    straight = probes.latent_codes(model, tokens(), query=query, key=0)
    turned = probes.latent_codes(model, tokens()[order], query=query[order], key=0)
    np.testing.assert_array_equal(turned.codes, straight.codes[order])


def test_ground_truth_comes_along():
    words = tokens()
    output = torch.zeros_like(words, dtype=torch.bool)
    output[:, -1] = True
    split = Split(words, output, {"rule": torch.arange(5)})
    found = probes.latent_codes(decoder()[0], split)
    np.testing.assert_array_equal(found.latents["rule"], np.arange(5))
    np.testing.assert_array_equal(found.codes, probes.latent_codes(decoder()[0], words).codes)


class OfRuns:
    """Examples with a run axis: an index picks runs, as that of a batch for R runs does."""

    def __init__(self, inputs, latents):
        self.inputs, self.latents = inputs, latents

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, run):
        return OfRuns(self.inputs[run], {name: latent[run] for name, latent in self.latents.items()})


def test_examples_of_several_runs_give_those_of_the_run():
    inputs = torch.arange(21.0).reshape(RUNS, 7, 1, 1).expand(RUNS, 7, 4, 3)
    examples = OfRuns(inputs, {"target": torch.arange(21).reshape(RUNS, 7)})
    found = probes.latent_codes(Planted(), examples, layer=0, run=1)
    np.testing.assert_array_equal(found.codes[:, 0], 100 + 7 + np.arange(7))
    np.testing.assert_array_equal(found.latents["target"], 7 + np.arange(7))


def test_plain_scores_and_lists_of_them():
    scores = torch.rand(LAYERS, RUNS, 6, HEADS, 4, 5, generator=torch.Generator().manual_seed(0))
    want = scores[1, 2, :, :, 3, 0].numpy()
    np.testing.assert_array_equal(probes.latent_codes(scores[1, 2], query=3, key=0).codes, want)
    np.testing.assert_array_equal(probes.latent_codes(scores[1, 2].numpy(), query=3, key=0).codes, want)
    np.testing.assert_array_equal(probes.latent_codes(list(scores), query=3, key=0, run=2).codes, want)
    halves = probes.latent_codes(scores[1, 2].bfloat16(), query=3, key=0)
    assert halves.codes.dtype == np.float32
    np.testing.assert_allclose(halves.codes, want, atol=0.01)


def test_codes_are_an_array_to_numpy():
    codes = Codes(np.eye(3, dtype=np.float32), 0, np.zeros(3), np.zeros(3), True, {})
    assert np.asarray(codes) is codes.codes and len(codes) == 3
    np.testing.assert_array_equal(as_codes(codes), np.eye(3))
    assert as_codes(codes).dtype == np.float64


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"layer": 2}, "layer=2: there are 2 layers; choose -2..1"),
        ({"run": 1}, "run=1: there are 1 runs"),
        ({"query": 9}, "query=9: there are 9 tokens; choose -9..8"),
        ({"key": [0, 1]}, r"key is int64 of shape \(2,\); give one index, or one for each of 5 examples"),
        ({"query": 0.5}, "query is float64"),
        ({"query": 3, "key": 4}, "query 3 does not see key 4"),
        ({"query": 3, "key": 4, "normalized": False}, "every head scores it -inf"),
        ({"batch": 0}, "batch=0"),
        ({"inputs": None}, "inputs are missing"),
        ({"inputs": tokens()[:0]}, "inputs hold no examples"),
        ({"inputs": {"input_ids": tokens()}}, "not a dictionary"),
        ({"inputs": {"input_ids": [[1]]}}, "return_tensors='pt'"),
        ({"inputs": torch.nn.functional.pad(tokens()[:, :-1], (0, 1))}, "query is padding in 5 of 5 examples"),
        ({"model": nn.Linear(2, 2), "inputs": torch.ones(5, 2)}, "Linear has no attention_scores"),
        ({"model": torch.ones(5, 2, 9)}, r"scores of shape \(5, 2, 9\)"),
        ({"model": []}, "scores of shape none"),
    ],
)
def test_mistakes_are_named(change, says):
    model, _ = decoder()
    with pytest.raises(ArgumentError, match=says):
        probes.latent_codes(**{"model": model, "inputs": tokens()} | change)


def test_what_is_not_numbers_is_no_codes():
    for wrong in (np.zeros(3), np.zeros((0, 2)), np.array([["a"]])):
        with pytest.raises(ArgumentError, match="give numbers of shape"):
            as_codes(wrong)
    with pytest.raises(ArgumentError, match="1 of 2 codes are not finite"):
        as_codes([[0.0, 1.0], [np.nan, 0.0]])


def test_a_run_is_asked_for_where_there_is_a_run_axis():
    scores = torch.rand(6, HEADS, 4, 4)
    for given in (scores, scores.numpy(), [scores, scores]):
        with pytest.raises(ArgumentError, match="run=5: these scores have no run axis; leave run at 0"):
            probes.latent_codes(given, run=5)
