"""Codes of Hugging Face models, built from a configuration: nothing is downloaded."""

import numpy as np
import pytest
import torch

from lab import probes
from lab.errors import ArgumentError

transformers = pytest.importorskip("transformers", reason="the extra 'text' is not installed")
SMALL = {"vocab_size": 20, "bos_token_id": 1, "eos_token_id": 2}


def gpt2(kind="eager"):
    shape = {"n_layer": 3, "n_head": 4, "n_embd": 16, "n_positions": 12}
    torch.manual_seed(0)  # transformers draws from the global generator
    return transformers.GPT2Model(transformers.GPT2Config(**shape, **SMALL, attn_implementation=kind))


def words(batch=5, length=7):
    return torch.randint(3, 20, (batch, length), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("head", ["GPT2Model", "GPT2LMHeadModel"])
def test_codes_are_the_attentions(head):
    model = gpt2()
    if head == "GPT2LMHeadModel":
        model = transformers.GPT2LMHeadModel(model.config)
    model.train()  # with dropout, so that reading it would show
    layers = probes.codes_by_layer(model, words(), query=-1, key=3, batch=2)
    assert model.training
    attentions = model.eval()(words(), output_attentions=True).attentions
    assert len(layers) == len(attentions) == 3
    for codes, wanted in zip(layers, attentions, strict=True):
        # another batch size sums products in another order: float32 rounding
        np.testing.assert_allclose(codes.codes, wanted[:, :, -1, 3].detach().numpy(), rtol=1e-4, atol=1e-6)


def test_padded_rows_need_an_index_each_and_give_what_they_give_alone():
    model, lengths = gpt2(), [3, 7, 5]
    ids = words(3)
    mask = (torch.arange(7) < torch.tensor(lengths)[:, None]).long()
    given = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
    with pytest.raises(ArgumentError, match="query is padding in 2 of 3 examples"):
        probes.latent_codes(model, given, key=0)
    last = torch.tensor(lengths) - 1
    padded = probes.latent_codes(model, given, query=last, key=0, batch=2)
    for i, length in enumerate(lengths):
        alone = probes.latent_codes(model, ids[i : i + 1, :length], key=0)
        np.testing.assert_allclose(padded.codes[i], alone.codes[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 4), (3, 7)])
def test_a_mask_that_does_not_cover_the_tokens_is_told_so(shape):
    inputs = {"input_ids": words(), "attention_mask": torch.ones(shape, dtype=torch.long)}
    with pytest.raises(ArgumentError, match=r"for tokens \(5, 7\); give one number a token"):
        probes.latent_codes(gpt2(), inputs)


def test_a_fused_model_says_how_to_switch_that_off():
    model = gpt2("sdpa")
    with pytest.raises(ArgumentError, match=r"GPT2Model fuses its attention \(sdpa\).*attn_implementation='eager'"):
        probes.latent_codes(model, words())
    model.set_attn_implementation("eager")  # what the message says to do
    assert probes.latent_codes(model, words()).codes.shape == (5, 4)


def test_bidirectional_models_see_later_keys():
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8, "intermediate_size": 8}
    config = transformers.BertConfig(**shape, vocab_size=20, attn_implementation="eager")
    model = transformers.BertModel(config).eval()
    codes = probes.latent_codes(model, words(), query=0, key=5)
    wanted = model(words(), output_attentions=True).attentions[0][:, :, 0, 5]
    np.testing.assert_allclose(codes.codes, wanted.detach().numpy(), rtol=1e-5)
    with pytest.raises(ArgumentError, match="query 0 does not see key 5"):
        probes.latent_codes(gpt2(), words(), query=0, key=5)


def test_an_encoder_decoder_names_its_attentions():
    shape = {"d_model": 8, "d_kv": 4, "num_heads": 2, "num_layers": 1, "d_ff": 8, "vocab_size": 20}
    model = transformers.T5Model(transformers.T5Config(**shape, attn_implementation="eager")).eval()
    given = {"input_ids": words(), "decoder_input_ids": words(5, 4)}
    with pytest.raises(ArgumentError, match="several attentions.*cross_attentions"):
        probes.latent_codes(model, given)
    crossing = model(**given, output_attentions=True).cross_attentions
    assert probes.latent_codes(crossing, query=3, key=6).codes.shape == (5, 2)


def test_what_it_cannot_tell_is_refused():
    with pytest.raises(ArgumentError, match="tells no scores before normalization"):
        probes.latent_codes(gpt2(), words(), normalized=False)
    with pytest.raises(ArgumentError, match="no run axis"):
        probes.latent_codes(gpt2(), words(), run=1)


def padded_left(ids, count=3, pad=0):
    """Texts behind so many tokens of padding, as generation needs them; the first of them is not padded."""
    empty = torch.full((len(ids), count), pad)
    mask = torch.cat([torch.zeros_like(empty), torch.ones_like(ids)], 1)
    padded = torch.cat([empty, ids], 1)
    padded[0], mask[0] = torch.arange(padded.shape[1]) % 17 + 3, 1
    return {"input_ids": padded, "attention_mask": mask}


SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 20}
KINDS = {"GPT2": gpt2().config, "Bert": None, "Roberta": None, "Llama": None, "OPT": None, "Bloom": None}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_padded_on_the_left_have_the_codes_that_they_have_alone(kind):
    shape = {"hidden_size": 16, "n_layer": 2, "n_head": 4} if kind == "Bloom" else SHAPE | {"ffn_dim": 20}
    shape |= {"word_embed_proj_dim": 16, "max_position_embeddings": 30, "pad_token_id": 0} | SMALL
    config = KINDS[kind] or getattr(transformers, f"{kind}Config")(**shape, attn_implementation="eager")
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}Model")(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed" in name or "wpe" in name:
                weight.mul_(20)  # as trained: positions matter
    ids = words(4)
    alone = probes.latent_codes(model, ids, query=-1, key=-2).codes[1:]
    given = padded_left(ids)
    found = probes.latent_codes(model, given, query=-1, key=-2, batch=3).codes[1:]
    np.testing.assert_allclose(found, alone, rtol=1e-3, atol=1e-5)
    assert set(given) == {"input_ids", "attention_mask"}, "what was given is not changed"


class Counts(torch.nn.Module):
    """A language model that counts positions from the left, whatever stands there."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(20, 20), torch.nn.Embedding(12, 20)

    def forward(self, input_ids, attention_mask=None):
        return self.tokens(input_ids) + self.places(torch.arange(input_ids.shape[1]))


def test_the_loss_of_texts_padded_on_the_left_is_that_of_the_texts():
    model, ids = transformers.GPT2LMHeadModel(gpt2().config), words(4)
    targets = torch.full((4, 10), -100)
    targets[1:, 3:] = ids[1:].roll(-1, 1)
    expected = probes.Loss(ids[1:], targets[1:, 3:])(model)
    assert probes.Loss(padded_left(ids), targets)(model) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(ArgumentError, match="3 rows are padded on the left, and Counts counts"):
        probes.Loss(padded_left(ids), targets)(Counts())


def test_padding_in_the_words_of_torch_is_padding():
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    hidden = torch.arange(5) >= torch.tensor([[5], [3]])
    for mask in (hidden, torch.zeros(2, 5).masked_fill(hidden, -torch.inf)):
        with pytest.raises(ArgumentError, match="query is padding in 1 of 2"):
            probes.latent_codes(layer, {"src": torch.randn(2, 5, 8), "src_key_padding_mask": mask})
