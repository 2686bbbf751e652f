"""The decoder: two references without a run axis, causality, fleets against single runs, initial weights."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from lab.errors import ArgumentError
from lab.models.layers import Canon, Linear, Norm
from lab.models.transformer import EPSILON, Transformer
from lab.nonlinearity.spline import Spline
from lab.spec import ModelSpec
from tests.models.making import LENGTH, VOCABULARY, decoder, wavy, words
from tests.reference.decoder import TorchDecoder, gelu, literal_logits, weights_of

POSITIONS = pytest.mark.parametrize("positions", ["learned", "alibi"])
TIED = pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
CANON = pytest.mark.parametrize("canon", [False, True], ids=["plain", "canon"])
PHI = pytest.mark.parametrize("phi", [None, "spline"], ids=["softmax", "kernel"])
GATED = pytest.mark.parametrize("gated", [False, True], ids=["plain mlp", "gated mlp"])
RUNS = 3


@POSITIONS
@TIED
def test_the_baseline_is_the_one_made_of_torch_layers(positions, tied):
    model, spec = decoder(RUNS, positions=positions, tied=tied)
    tokens = words(RUNS)
    logits = model(tokens)
    narrow = model.float()(tokens)
    for run in range(RUNS):
        wanted = TorchDecoder(spec, weights_of(model.double(), run))(tokens[run])
        torch.testing.assert_close(logits[run], wanted, rtol=0, atol=1e-6)  # weights went through float32
        torch.testing.assert_close(narrow[run], wanted.float(), rtol=0, atol=1e-5)  # float32, logits of size 5


def numpy_spline(spline, run):
    values = spline.values.detach().double().numpy()
    table = values[run] if values.ndim == 2 else values
    return lambda x: np.interp(x, np.linspace(spline.low, spline.high, len(table)), table)


@POSITIONS
@CANON
@PHI
@GATED
def test_every_variant_is_the_one_written_with_loops(positions, canon, phi, gated):
    mlp = wavy(RUNS, 17, seed=1) if phi else None
    attention = wavy(RUNS, 17, seed=2) if phi else None
    model, spec = decoder(RUNS, mlp, attention, positions=positions, canon=canon, tied=canon, gated=gated)
    tokens = words(RUNS, batch=2)
    logits = model(tokens)
    for run, example in itertools.product(range(RUNS), range(2)):
        functions = (gelu, None)
        if phi:
            cut = numpy_spline(attention, run)
            functions = (numpy_spline(mlp, run), lambda x, cut=cut: np.maximum(cut(x), 0))
        row = tokens[run, example].numpy()
        wanted = literal_logits(spec, weights_of(model, run), row, *functions, epsilon=EPSILON)
        np.testing.assert_allclose(logits[run, example].detach().numpy(), wanted, rtol=0, atol=1e-9)


@POSITIONS
def test_without_attention_to_order_a_decoder_would_not_tell_positions_apart(positions):
    """Two sequences that differ only in the order of their first tokens: positions must make a difference."""
    model, _ = decoder(positions=positions, layers=1)
    tokens = torch.tensor([[[1, 2, 3], [2, 1, 3]]])
    one, other = model(tokens)[0, :, -1]
    assert (one - other).abs().max() > 1e-3


@CANON
@PHI
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_a_fleet_is_its_runs_side_by_side(canon, phi, dtype):
    """float64: to rounding. float32: batched products sum in another order; logits are of size 5."""
    splines = [wavy(RUNS, 17, seed=s) if phi else None for s in (1, 2)]
    fleet, spec = decoder(RUNS, *splines, dtype=dtype, canon=canon)
    tokens = words(RUNS)
    together = fleet(tokens)
    bound = {torch.float32: 2e-5, torch.float64: 1e-12}[dtype]
    for run in range(RUNS):
        own = [Spline(s.values[run], s.low, s.high) if s else None for s in splines]
        alone = Transformer(spec, VOCABULARY, LENGTH, [run], own[0] or torch.nn.GELU(), own[1]).to(dtype)
        state = fleet.state_dict()
        solo = {name: value[run : run + 1] for name, value in state.items() if "phi" not in name}
        missing = alone.load_state_dict(solo, strict=False)
        assert not missing.unexpected_keys and all("phi" in name for name in missing.missing_keys)
        torch.testing.assert_close(alone(tokens[run : run + 1])[0], together[run], rtol=0, atol=bound)


def test_runs_do_not_touch_each_other():
    """A run with infinite weights leaves the outputs of the others as they are, to the last bit."""
    model, _ = decoder(RUNS, wavy(RUNS, 17), wavy(17, seed=2), dtype=torch.float32, canon=True)
    tokens = words(RUNS)
    before = model(tokens)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "phi" not in name:
                parameter[1] = torch.inf
    after = model(tokens)
    assert not after[1].isfinite().any()
    assert torch.equal(after[[0, 2]], before[[0, 2]])


@TIED
def test_logits_at_some_positions_are_those_of_the_whole(tied):
    model, _ = decoder(2, tied=tied)
    tokens, positions = words(2), torch.tensor([[[0, 8], [3, 3], [7, 1]], [[2, 2], [5, 0], [8, 8]]])
    whole = model(tokens)
    some = model(tokens, positions)
    for run, example, k in np.ndindex(2, 3, 2):
        torch.testing.assert_close(some[run, example, k], whole[run, example, positions[run, example, k]])


@GATED
def test_a_gated_mlp_has_as_many_weights_as_a_plain_one(gated):
    model = fresh([0], width=96, gated=gated)
    count = sum(p.numel() for block in model.blocks for p in (block.up.weight, block.down.weight))
    assert count == 2 * 2 * 96 * 4 * 96


def test_tied_weights_are_one_tensor():
    """One tensor for both: a token that never comes in still moves the logits."""
    model, _ = decoder(tied=True)
    assert model.unembedding is None
    tokens = words(1) % (VOCABULARY - 1)  # the last token never occurs
    before = model(tokens).detach()
    with torch.no_grad():
        model.embedding.weight[:, -1] *= -1
    after = model(tokens).detach()
    torch.testing.assert_close(after[..., -1], -before[..., -1])
    torch.testing.assert_close(after[..., :-1], before[..., :-1])


def fresh(seeds, **shape):
    return Transformer(ModelSpec(**{"width": 32} | shape), 500, 40, seeds, torch.nn.GELU())


def test_initial_weights_are_a_truncated_normal():
    """N(0, 0.02²) cut at two standard deviations: the cut leaves 0.88 of the standard deviation."""
    model = fresh([0])
    matrices = [m.weight for m in model.modules() if isinstance(m, Linear)]
    for weight in (model.embedding.weight, model.position.weight, *matrices):
        assert weight.abs().max() <= 0.04
        law = stats.truncnorm(-2, 2, scale=0.02)
        assert stats.kstest(weight.detach().flatten().numpy(), law.cdf).pvalue > 1e-4
        assert weight.std().item() == pytest.approx(0.88 * 0.02, rel=0.06)


def test_initial_biases_norms_and_canon_layers():
    model = fresh([0, 1], canon=True)
    for module in model.modules():
        if isinstance(module, Linear) and module.bias is not None:
            assert (module.bias == 0).all()
        elif isinstance(module, Norm):
            assert (module.weight == 1).all() and (module.bias == 0).all()
        elif isinstance(module, Canon):  # Conv1d's default: U(±1/√(kernel 4 × 1 channel))
            assert stats.kstest(module.weight.detach().flatten().numpy(), stats.uniform(-0.5, 1).cdf).pvalue > 1e-4


@CANON
def test_a_runs_initial_weights_depend_on_its_own_seed_alone(canon):
    fleet = fresh([3, 1, 4], canon=canon).state_dict()
    for place, seed in enumerate([3, 1, 4]):
        alone = fresh([seed], canon=canon).state_dict()
        assert all(torch.equal(fleet[name][place], alone[name][0]) for name in alone if "causal" not in name)
    different = {name for name in fleet if not torch.equal(fleet[name][0], fleet[name][1])}
    assert different == {n for n in fleet if n.endswith("weight") and "norm" not in n}


def test_no_two_matrices_of_a_run_are_the_same_numbers():
    weights = [m.weight[0].flatten()[:100] for m in fresh([0]).modules() if isinstance(m, Linear)]
    for one, other in itertools.combinations(weights, 2):
        assert not torch.equal(one, other)


def test_every_parameter_has_the_run_axis_first():
    model = fresh([0, 1, 2], canon=True)
    assert {len(parameter) for parameter in model.parameters()} == {3}


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match="width 32 does not divide into 5 heads"):
        fresh([0], heads=5)
    with pytest.raises(ArgumentError, match="unknown positions 'rotary'; known: learned, alibi"):
        fresh([0], positions="rotary")
