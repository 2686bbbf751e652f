"""The FineWeb model: against the record's formulas written for one sequence; windows; weights counted."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lab.errors import ArgumentError
from lab.kinds import Sizes, build, check_run
from lab.models.speedrun import BLOCK, SpeedrunModel, SpeedrunTransformer
from lab.spec import AdamTrapezoid, RunSpec, replace
from tests.models.making import LENGTH, VOCABULARY, rotary, shaken, words

SPEC = SpeedrunModel(layers=3, heads=2, width=8)


def made(spec=SPEC, seeds=(0, 1), length=LENGTH, phi=None):
    return shaken(SpeedrunTransformer(spec, VOCABULARY, length, list(seeds), phi or torch.nn.ReLU())).double()


def literal(model, spec, tokens, run, window):
    """Logits (T, V) of one sequence."""
    weight = {name: parameter.detach()[run] for name, parameter in model.named_parameters()}
    length, width = len(tokens), spec.width // spec.heads

    def norm(x):
        return x / (x.square().mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).sqrt()

    place = torch.arange(length)
    turns = torch.exp(1j * place[:, None] * 10_000.0 ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width))

    def turned(x):
        x = norm(x)
        numbers = torch.complex(x[:, : width // 2], x[:, width // 2 :]) * turns
        return torch.cat((numbers.real, numbers.imag), -1)

    x = start = norm(weight["embedding.weight"][tokens])
    kept = []
    for i in range(spec.layers):
        if i >= spec.layers // 2 and kept:
            x = x + weight["skips"][i - spec.layers // 2] * kept.pop()
        own = {n.removeprefix(f"blocks.{i}."): w for n, w in weight.items() if n.startswith(f"blocks.{i}.")}
        x = own["mix"][0] * x + own["mix"][1] * start
        h, heads = norm(x), []
        for head in range(spec.heads):
            part = slice(head * width, (head + 1) * width)
            q, k = (turned(h @ own[f"attention.{name}.weight"][:, part]) for name in ("query", "key"))
            score = q @ k.T / width**0.5
            blind = (place > place[:, None]) | (place[:, None] // BLOCK - place // BLOCK >= window)
            heads.append(
                score.masked_fill(blind, -torch.inf).softmax(-1) @ (h @ own["attention.value.weight"][:, part])
            )
        x = x + torch.cat(heads, -1) @ own["attention.out.weight"]
        x = x + F.relu(norm(x) @ own["up.weight"]) @ own["down.weight"]
        if i < spec.layers // 2:
            kept.append(x)
    return 30 * torch.tanh(norm(x) @ weight["unembedding.weight"] / 30)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_it_is_the_record_written_for_one_sequence(layers):
    spec = replace(SPEC, layers=layers)
    model = made(spec)
    for block in model.blocks:
        block.attention.turn = rotary(LENGTH, 4)
    tokens = words(2, 2)
    logits = model(tokens).detach()
    for run, example in np.ndindex(2, 2):
        wanted = literal(model, spec, tokens[run, example], run, 14)
        torch.testing.assert_close(logits[run, example], wanted, rtol=1e-9, atol=1e-9)
    positions = torch.tensor([[[0, 8], [3, 3]]] * 2)
    wanted = logits.gather(2, positions[..., None].expand(2, 2, 2, VOCABULARY))
    torch.testing.assert_close(model(tokens, positions).detach(), wanted)


def test_the_window_reaches_back_by_blocks():
    spec, length = replace(SPEC, layers=1, window=BLOCK + 1), 3 * BLOCK + 5
    model = made(spec, (0,), length)
    for block in model.blocks:
        block.attention.turn = rotary(length, 4)
    tokens = words(1, 1, length)
    wanted = literal(model, spec, tokens[0, 0], 0, 2)
    torch.testing.assert_close(model(tokens)[0, 0].detach(), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("window", [1792, 1])
def test_no_model_sees_the_future(window):
    length = LENGTH if window > 1 else BLOCK + 5
    model, caught = made(replace(SPEC, layers=4, window=window), length=length), []
    model.embedding.register_forward_hook(lambda module, inputs, output: caught.append(output))
    logits = model(words(2, 1, length))
    weight = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.Generator().manual_seed(0))
    for t in range(length) if window > 1 else (0, BLOCK - 1, BLOCK, length - 1):
        (gradient,) = torch.autograd.grad((logits * weight)[:, :, t].sum(), caught, retain_graph=True)
        assert (gradient[:, :, t + 1 :] == 0).all()
        if window > 1:
            assert (gradient[:, :, : t + 1] != 0).any(-1).all()
        else:
            assert (gradient[:, :, : t // BLOCK * BLOCK] == 0).all()


@pytest.mark.parametrize(("layers", "millions"), [(2, 91.4), (4, 105.6), (12, 162.2)])
def test_the_papers_counts(layers, millions):
    """Two tables of 50,304 × 768 and 12 · 768² a layer, and a few numbers."""
    spec = SpeedrunModel(layers, heads=2, width=8)
    small = SpeedrunTransformer(spec, 50, 4, [0], torch.nn.ReLU())
    count = sum(p.numel() for p in small.parameters())
    assert count == 2 * 50 * 8 + 12 * 8**2 * layers + 2 * layers + layers // 2
    assert (2 * 50_304 * 768 + 12 * 768**2 * layers) / 1e6 == pytest.approx(millions, abs=0.1)


def test_at_the_start_all_tokens_are_equally_probable_and_runs_depend_on_their_seed():
    both = SpeedrunTransformer(SPEC, VOCABULARY, LENGTH, [3, 1], torch.nn.ReLU())
    alone = SpeedrunTransformer(SPEC, VOCABULARY, LENGTH, [1], torch.nn.ReLU())
    assert (both(words(2)) == 0).all()
    for one, other in zip(both.parameters(), alone.parameters(), strict=True):
        assert torch.equal(one[1], other[0])
    assert 0.8 < both.embedding.weight.std() < 1.2


def test_bfloat16_is_near_float32():
    model = made().float()
    tokens = words(2)
    exact = model(tokens)
    model.in_bfloat16 = True
    rounded = model(tokens)
    assert rounded.dtype == torch.float32 and 0 < (rounded - exact).abs().max() < 0.1 * exact.abs().max()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="width 6 does not divide into 2 heads of even width"):
        made(replace(SPEC, width=6))
    spec = RunSpec("copy", replace(SPEC, precision="half"), AdamTrapezoid(1, 0.1, 1), seed=0)
    with pytest.raises(ArgumentError, match="'half'"):
        check_run(spec)
    with pytest.raises(ArgumentError, match="layers=1: .*; give two layers or more"):
        check_run(replace(spec, model=replace(SPEC, layers=1)))  # its skips have no weights to train
    with pytest.raises(ArgumentError, match="reads tokens"):
        build(SPEC, Sizes("row", 3, 2), [spec], [torch.nn.ReLU()])
