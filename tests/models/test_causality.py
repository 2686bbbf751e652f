"""No model of the lab that reads tokens sees the future: the derivative of the logits at t in what comes after t is
exactly zero, and in everything up to t it is not."""

import itertools

import pytest
import torch

from lab.kinds import Sizes, build
from lab.models import rotary_hyper
from lab.models.hyper import method, names_of
from lab.models.rotary_hyper import RotaryHyperModel
from lab.models.transformer import WEIGHTINGS
from lab.nonlinearity.spline import Spline
from lab.spec import AdamTrapezoid, HyperModel, ModelSpec, RunSpec
from tests.models.making import LENGTH, VOCABULARY, shaken, words

RUNS = 2


def made(model, length=LENGTH, runs=RUNS):
    """A model of the lab with weights of ordinary size, its kernel positive, so that no kernel value is cut."""
    kernel = Spline(torch.linspace(1, 2, 17), -4.0, 4.0)
    modules = [None if part == "softmax" else kernel if part == "kernel" else torch.nn.GELU() for part in parts(model)]
    specs = [RunSpec("memorize", model, AdamTrapezoid(10, 0.1, 4), seed=seed) for seed in range(runs)]
    return shaken(build(model, Sizes("tokens", VOCABULARY, VOCABULARY, length), specs, modules)).double()


def parts(model):
    return model.parts.values()


def sees_the_past_alone(model, length=LENGTH, at=None, whole=True):
    """Gradients of the logits at each t in the embeddings. whole: everything up to t counts."""
    caught = []
    model.embedding.register_forward_hook(lambda module, inputs, output: caught.append(output))
    logits = model(words(RUNS, 2, length))
    weight = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.Generator().manual_seed(0))
    for t in range(length) if at is None else at:
        (gradient,) = torch.autograd.grad((logits * weight)[:, :, t].sum(), caught, retain_graph=True)
        assert (gradient[:, :, t + 1 :] == 0).all()
        if whole:
            assert (gradient[:, :, : t + 1] != 0).any(-1).all()


DESIGNS = [*itertools.product(["softmax"], WEIGHTINGS), ("kernel", "softmax")]


@pytest.mark.parametrize("positions", ["learned", "alibi"])
@pytest.mark.parametrize("canon", [False, True], ids=["plain", "canon"])
@pytest.mark.parametrize("gated", [False, True], ids=["mlp", "gated"])
@pytest.mark.parametrize(("attention", "weighting"), DESIGNS, ids="-".join)
def test_decoders_of_the_transformers_paper(positions, canon, gated, attention, weighting):
    shape = {"positions": positions, "canon": canon, "gated": gated, "attention": attention, "weighting": weighting}
    sees_the_past_alone(made(ModelSpec(layers=2, heads=2, width=8, tied=canon, **shape)))


@pytest.mark.parametrize("positions", ["learned", "alibi"])
def test_kernel_attention_in_chunks(positions):
    """Around the first tokens of a chunk, where sums over pairs and over chunks meet."""
    model = ModelSpec(layers=1, heads=2, width=4, positions=positions, attention="kernel")
    sees_the_past_alone(made(model, 140), 140, at=(0, 62, 63, 64, 65, 127, 128, 139), whole=positions == "learned")


@pytest.mark.parametrize("normalization", ["softmax", "none", "rms_head"])
@pytest.mark.parametrize("network", ["head", "pair", "deep"])
@pytest.mark.parametrize("experts", [0, 3])
def test_transformers_of_the_hypernetwork_paper(normalization, network, experts):
    shape = {"normalization": normalization, "network": network, "experts": experts}
    model = HyperModel(layers=2, heads=2, width=8, key_width=4, mlp_width=8, causal=True, dropout=0.0, **shape)
    sees_the_past_alone(made(model))


@pytest.mark.parametrize("pairs", [1, 2**22], ids=["a query a chunk", "one chunk"])
@pytest.mark.parametrize("name", names_of(RotaryHyperModel()))
def test_language_models_of_the_hypernetwork_paper(name, pairs, monkeypatch):
    monkeypatch.setitem(rotary_hyper.PAIRS, "cpu", pairs)
    sees_the_past_alone(made(method(name, RotaryHyperModel(2, heads=2, width=8, head_width=4, mlp_width=8))))


def test_linear_attention_in_chunks():
    model = method("linear", RotaryHyperModel(1, heads=2, width=8, head_width=4, mlp_width=8))
    sees_the_past_alone(made(model, 140), 140, at=(0, 62, 63, 64, 65, 127, 128, 139))
