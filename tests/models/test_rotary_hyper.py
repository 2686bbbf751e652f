"""The language model of the hypernetwork paper: attention by complex numbers and loops, chunks against pairs."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import special

from lab.errors import ArgumentError
from lab.kinds import Sizes, build
from lab.models.hyper import EPSILON, METHODS, HyperAttention, method, method_of, names_of
from lab.models.layers import split_heads
from lab.models.rotary_hyper import PAIRS, RotaryHyperAttention, RotaryHyperModel, RotaryHyperTransformer, in_chunks
from lab.run import Run, complete
from lab.spec import AdamTrapezoid, HyperModel, RunSpec, from_json, key, replace, to_json
from lab.store import Store
from tests.models.making import LENGTH, VOCABULARY, Largest, rotary, shaken, words

SMALL = RotaryHyperModel(layers=2, heads=2, width=8, head_width=6, mlp_width=12)
PHI = {"identity": torch.nn.Identity(), "relu": torch.nn.ReLU()}
NAMES = names_of(SMALL)


def drawn(*shape, seed=0):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def layer(name, length=LENGTH, runs=2):
    spec = method(name, SMALL)
    return shaken(RotaryHyperAttention(runs, spec, length, PHI[spec.phi])).double()


def test_rotary_positions_are_products_with_complex_numbers():
    x = drawn(3, 7, 6)
    turned = rotary(7, 6)(x)
    numbers = torch.complex(x[..., :3], x[..., 3:]).numpy()
    turns = np.exp(1j * np.arange(7)[:, None] * 10_000.0 ** (-np.arange(3) / 3))
    np.testing.assert_allclose(torch.complex(turned[..., :3], turned[..., 3:]).numpy(), numbers * turns, rtol=1e-12)


def test_products_of_turned_vectors_depend_on_the_distance_alone():
    q, k = drawn(1, 6).expand(9, -1), drawn(1, 6, seed=1).expand(9, -1)
    products = rotary(9, 6)(q) @ rotary(9, 6)(k).mT
    for offset in range(-8, 9):
        torch.testing.assert_close(products.diagonal(offset), products.diagonal(offset)[:1].expand(9 - abs(offset)))
    assert (products[0] - products[0, 0]).abs().max() > 0.1


def literal(name, module, x, run, example):
    """What one sequence receives (T, C), query by query."""
    spec, heads = method(name, SMALL), SMALL.heads
    x = x[run, example].numpy()
    weights = {n: p.detach()[run].numpy() for n, p in module.named_parameters()}
    turns = np.exp(1j * np.arange(len(x))[:, None] * 10_000.0 ** (-np.arange(3) / 3))

    def head(part, h, turned):
        own = (x @ weights[f"{part}.weight"])[:, 6 * h : 6 * h + 6]
        if not turned:
            return own
        numbers = (own[:, :3] + 1j * own[:, 3:]) * turns
        return np.concatenate((numbers.real, numbers.imag), 1)

    q, k, v = (np.stack([head(part, h, part != "value") for h in range(heads)]) for part in ("query", "key", "value"))
    phi = {"identity": lambda u: u, "relu": lambda u: np.maximum(u, 0)}[spec.phi]
    found = np.zeros((len(x), heads, 6))
    for t in range(len(x)):
        a = np.einsum("hd,hkd->hk", q[:, t], k[:, : t + 1]) / np.sqrt(6)
        if spec.normalization == "softmax":
            a = special.softmax(a, axis=1)
        elif spec.normalization == "rms_head":
            a = a / np.sqrt((a**2).mean(0) + EPSILON)
        for j, h in itertools.product(range(t + 1), range(heads)):
            u = phi(v[h, j]) if spec.network == "head" else phi(sum(a[g, j] * v[g, j] for g in range(heads)))
            found[t, h] += a[h, j] * u
    return found.reshape(len(x), -1) @ weights["out.weight"]


@pytest.mark.parametrize("name", NAMES)
def test_attention_is_the_one_written_with_loops(name):
    module, x = layer(name), drawn(2, 3, LENGTH, 8)
    module.turn = rotary(LENGTH, 6)
    y = module(x).detach()
    for run, example in itertools.product(range(2), range(3)):
        wanted = literal(name, module, x, run, example)
        np.testing.assert_allclose(y[run, example], wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("rows", [1, 2, 4, LENGTH, 100])
@pytest.mark.parametrize("name", NAMES)
def test_chunks_give_the_direct_form_and_its_gradients(name, rows):
    """The direct form is `HyperAttention`, causal, with relative biases of 0."""
    spec = method(name, HyperModel(heads=2, width=12, key_width=12, causal=True))
    direct = shaken(HyperAttention(2, spec, LENGTH, PHI[spec.phi])).double()
    with torch.no_grad():
        direct.relative.zero_()
        direct.out.weight.copy_(torch.eye(12))
        direct.out.bias.zero_()
    x, grades = drawn(2, 3, LENGTH, 12).requires_grad_(), drawn(2, 3, LENGTH, 12, seed=1)
    q, k, v = (split_heads(part(x), 2) for part in (direct.query, direct.key, direct.value))
    ours = in_chunks(q * 6**-0.5, k, v, spec.normalization, spec.network, direct.phi, rows).flatten(3)
    theirs, weights = direct(x), [x, *direct.query.parameters(), *direct.key.parameters(), *direct.value.parameters()]
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    gradients = [torch.autograd.grad((y * grades).sum(), weights) for y in (ours, theirs)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["hyla", "hyla_softmax", "linear_rms_head"])
def test_no_tensor_has_a_value_for_each_pair_of_tokens_and_none_is_kept(name, monkeypatch):
    monkeypatch.setitem(PAIRS, "cpu", 2**14)
    tokens, saved = 256, []
    module = layer(name, tokens, runs=1).float()
    x = drawn(1, 4, tokens, 8).float()
    with Largest() as seen, torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = module(x)
    kept = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() // 4 for t in saved}
    with Largest() as back:
        y.sum().backward()
    pairs = 4 * tokens * tokens * 6
    assert max(seen.numbers, back.numbers) <= 2**15 < pairs / 40
    assert sum(kept.values()) < pairs / 20  # from forward to backward: x, q, k, v


def test_linear_attention_beyond_a_chunk_is_that_of_all_pairs():
    module, x = layer("linear", 150), drawn(2, 2, 150, 8)
    v = split_heads(module.value(x), module.heads)
    torch.testing.assert_close(module(x), module.out((module.scores(x) @ v).transpose(2, 3).flatten(3)))


@pytest.mark.parametrize("name", NAMES)
def test_a_fleet_is_its_runs_side_by_side(name):
    spec = method(name, SMALL)

    def made(seeds):
        return RotaryHyperTransformer(spec, VOCABULARY, LENGTH, seeds, PHI[spec.phi], torch.nn.GELU()).double()

    fleet, tokens = made([3, 1, 4]), words(3)
    together = fleet(tokens)
    positions = torch.tensor([[[0, 8], [3, 3], [7, 1]]] * 3)
    some = together.gather(2, positions[..., None].expand(3, 3, 2, VOCABULARY))
    torch.testing.assert_close(fleet(tokens, positions), some)
    for place, seed in enumerate([3, 1, 4]):
        alone = made([seed])
        torch.testing.assert_close(alone(tokens[place : place + 1])[0], together[place], rtol=0, atol=1e-12)
    assert {len(parameter) for parameter in fleet.parameters()} == {3}
    assert [codes.shape for codes in fleet.attention_scores(tokens)] == [(3, 3, 2, LENGTH, LENGTH)] * 2


def test_the_model_is_the_one_made_of_torch_functions():
    """Softmax: pre-norm blocks without biases, tied logits."""
    model = shaken(RotaryHyperTransformer(SMALL, VOCABULARY, LENGTH, [0], PHI["identity"], torch.nn.GELU())).double()
    weight = {name: parameter.detach()[0] for name, parameter in model.named_parameters()}
    tokens = words(1)[0]
    x = weight["embedding.weight"][tokens]
    for i in range(2):
        own = {name.removeprefix(f"blocks.{i}."): value for name, value in weight.items() if f"blocks.{i}." in name}
        h = F.layer_norm(x, (8,), own["norm1.weight"], eps=1e-6)
        x = x + model.blocks[i].attention(h[None])[0].detach()
        h = F.layer_norm(x, (8,), own["norm2.weight"], eps=1e-6)
        x = x + F.gelu(h @ own["mlp.up.weight"]) @ own["mlp.down.weight"]
    wanted = F.layer_norm(x, (8,), weight["norm.weight"], eps=1e-6) @ weight["embedding.weight"].T
    torch.testing.assert_close(model(tokens[None])[0], wanted)


def test_the_papers_model_has_the_weights_that_nanodo_counts():
    """35.3 million with 32,000 tokens: embedding, and in each layer four square and two wide matrices, two scales."""
    wanted = 32_000 * 512 + 6 * (4 * 512 * 512 + 2 * 512 * 2048 + 2 * 512) + 512
    spec = RunSpec("copy", RotaryHyperModel(), AdamTrapezoid(1, 0.1, 1), seed=0)
    model = build(spec.model, Sizes("tokens", 32_000, 32_000, 512), [spec], [PHI["identity"], torch.nn.GELU()])
    assert sum(parameter.numel() for parameter in model.parameters()) == wanted == 35_265_024
    assert model.embedding.weight.std().item() == pytest.approx(512**-0.5, rel=0.01)


def test_names_and_json():
    assert all(method_of(method(name, SMALL)) == name for name in NAMES)
    assert set(METHODS) - set(NAMES) == {"hyla_deep", "softmax_experts", "linear_experts", "hyla_experts"}
    with pytest.raises(ArgumentError, match="hyla_deep"):
        method("hyla_deep", SMALL)
    assert from_json(to_json(SMALL)) == SMALL


def test_it_trains_on_a_task_of_tokens(tmp_path):
    recipe = AdamTrapezoid(steps=40, rate=0.01, batch=32, every=20)
    specs = [RunSpec("memorize", method(name, SMALL), recipe, seed=0) for name in ("softmax", "linear", "hyla")]
    store = Store(tmp_path)
    complete(specs, store, progress=False)
    for spec in specs:
        run = Run(spec, store)
        assert run.loss[-1] < run.loss[0] and run.key == key(spec)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="head_width=3: rotary positions turn pairs of channels; give an even one"):
        RotaryHyperAttention(1, replace(SMALL, head_width=3), 4, PHI["relu"])
    with pytest.raises(ArgumentError, match="'deep'"):
        RotaryHyperAttention(1, replace(SMALL, network="deep"), 4, PHI["relu"])
    spec = RunSpec("copy", SMALL, AdamTrapezoid(1, 0.1, 1), seed=0)
    with pytest.raises(ArgumentError, match="reads tokens, and this task has row; give a HyperModel"):
        build(SMALL, Sizes("row", 3, 2), [spec], list(PHI.values()))
