"""Ways between models: a copy with its units in other places is no other model, and nothing is matched by guess."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from lab.models.mlp import MLP
from lab.nonlinearity.channels import ChannelSpline
from lab.nonlinearity.spline import Spline
from lab.probes.connectivity import matched_to

X = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
Y = (X[:, 0] * X[:, 1] > 0).long()
LOSS = {"loss": probes.Loss(X, Y)}


def of_torch(seed, make_phi=lambda: nn.ReLU()):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(3, 8),
        make_phi(),
        nn.Dropout(),
        nn.Linear(8, 8),
        make_phi(),
        nn.Linear(8, 6),
        nn.Tanh(),
        nn.Linear(6, 2),
    )


class Written(nn.Module):
    """Layers that are registered in another order than they are called in."""

    def __init__(self, seed, skip=False):
        super().__init__()
        torch.manual_seed(seed)
        self.last, self.norm, self.first, self.second = (
            nn.Linear(8, 2),
            nn.BatchNorm1d(8),
            nn.Linear(3, 8),
            nn.Linear(8, 8),
        )
        self.skip = skip

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        return self.last(torch.relu(self.second(x)) + (x if self.skip else 0))


def functions_by_unit():
    return ChannelSpline(torch.randn(8, 9), -2.0, 2.0, learnable=True)


def functions_by_unit_frozen():
    return ChannelSpline(torch.randn(8, 9), -2.0, 2.0)


def learned_slopes():
    return nn.PReLU(8)


KINDS = {
    "ReLU": of_torch,
    "splines by unit": lambda seed: of_torch(seed, functions_by_unit),
    "frozen ones": lambda seed: of_torch(seed, functions_by_unit_frozen),
    "PReLU": lambda seed: of_torch(seed, learned_slopes),
    "run axis": lambda seed: MLP((3, 8, 8, 2), [seed], Spline.from_function(torch.sin, knots=8, low=-3, high=3)),
    "batch norm": Written,
}


def shuffled(model, seed=5):
    """A copy with its hidden units in other places, written down by hand."""
    other, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    if isinstance(other, MLP):
        layers = list(other.layers)
    elif isinstance(other, Written):
        layers = [other.first, other.second, other.last]
    else:
        layers = [part for part in other if isinstance(part, nn.Linear)]
    parts = list(other.children())
    for before, after in zip(layers[:-1], layers[1:], strict=True):
        out, into = (2, 1) if isinstance(other, MLP) else (0, 1)
        places = torch.randperm(before.weight.shape[out], generator=generator)
        before.weight.data = before.weight.data.index_select(out, places)
        before.bias.data = before.bias.data[..., places]
        after.weight.data = after.weight.data.index_select(into, places)
        unit = other.norm if isinstance(other, Written) and before is other.first else None
        unit = parts[parts.index(before) + 1] if isinstance(other, nn.Sequential) else unit
        for tensor in (*unit.parameters(), *unit.buffers()) if unit is not None else ():
            tensor.data = tensor.data[places] if tensor.dim() else tensor.data
    return other


def outputs(model):
    with torch.no_grad():
        return copy.deepcopy(model).eval()(X[None] if isinstance(model, MLP) else X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_with_its_units_in_other_places_has_no_barrier_after_matching(kind):
    model = KINDS[kind](0)
    if kind == "batch norm":
        model(X)  # running statistics
    other = shuffled(model)
    assert torch.allclose(outputs(model), outputs(other), atol=1e-5)
    state, rng = copy.deepcopy((model.state_dict(), other.state_dict())), torch.get_rng_state()
    own = outputs(model)
    loss = {"loss": probes.Loss(X, own[0] if own.dim() > 2 else own)}  # 0 at both ends
    result = probes.connectivity(model, other, loss, points=5, inputs=X)
    assert not result.notes and result.barriers[0] > 1e-4
    if kind != "batch norm":  # between equal models, its statistics are those of the inputs, not its own
        assert result.matched_barriers[0] < 1e-6
    matched = matched_to(model, other, "loss", LOSS["loss"])[0]
    assert all(torch.equal(tensor, matched[name]) for name, tensor in model.named_parameters())
    assert all(torch.equal(tensor, matched[name]) for name, tensor in model.named_buffers())
    for one, before in zip((model, other), state, strict=True):
        assert one.training and all(torch.equal(a, before[name]) for name, a in one.state_dict().items())
    assert torch.equal(rng, torch.get_rng_state())


def trained(model):
    optimizer, x = torch.optim.Adam(model.parameters(), 0.03), X.to(model[0].weight)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), Y).backward()
        optimizer.step()
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ends_are_the_models_and_matching_keeps_them(dtype):
    firsts, seconds = ([trained(of_torch(seed).to(dtype)) for seed in seeds] for seeds in ((0, 1, 2), (3, 4, 5)))
    measures = {"accuracy": lambda m: (m(X.to(dtype)).argmax(1) == Y).double().mean(), **LOSS}
    result = probes.connectivity(firsts, seconds, measures, points=5)
    for values in (result.values["loss"], result.matched["loss"]):
        assert values.shape == (3, 5)
        assert np.allclose(values[:, 0], [LOSS["loss"](m) for m in firsts], atol=1e-6)
        assert np.allclose(values[:, -1], [LOSS["loss"](m) for m in seconds], atol=1e-6)
    low, high = result.barrier.interval(0.95)
    assert low < result.barrier.effect < high and result.barrier.n == 3
    assert result.barrier.effect == pytest.approx(result.barriers.mean())
    assert result.matched_barrier.over == "pairs" and len(result.table) == 3 * 2 * 5
    assert len(result.plot().data) == 16
    distance = [
        sum((ours[n] - theirs[n]).square().sum() for n in ours) for ours, theirs in _both(firsts[0], seconds[0])
    ]
    assert distance[1] < distance[0], "matched weights are nearer"


def _both(one, other):
    ours = dict(one.named_parameters())
    return (ours, dict(other.named_parameters())), (ours, matched_to(one, other, "loss", LOSS["loss"])[0])


def test_turning_two_linear_layers_changes_nothing():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Linear(4, 2, bias=False)).double()
    turn, turned = torch.linalg.qr(torch.randn(4, 4).double())[0], copy.deepcopy(model)
    turned[0].weight.data, turned[1].weight.data = turn @ model[0].weight, model[1].weight @ turn.T
    assert np.isclose(LOSS["loss"](model), LOSS["loss"](turned), rtol=1e-12)
    spectra = [probes.spectrum(m, LOSS, count=4, probes=1).eigenvalues for m in (model, turned)]
    assert np.allclose(*np.abs(spectra), atol=1e-9), "turning the weights' space turns the Hessian with it"


def test_a_loss_that_says_nothing_and_frozen_models():
    one, other = of_torch(0), of_torch(1)
    assert probes.connectivity(one, other, {"loss": lambda m: 2.0}, points=3).barriers.tolist() == [0.0]
    flat = probes.connectivity([one, other], [other, one], {"loss": lambda m: 2.0}, points=3)
    assert flat.barrier.effect == 0 and np.isnan(flat.barrier.interval(0.95)).all() and "nan" not in repr(flat)
    barriers = probes.connectivity(one, other, LOSS, points=5).matched_barriers
    for model in (one, other):
        model.requires_grad_(False)
    assert np.allclose(probes.connectivity(one, other, LOSS, points=5).matched_barriers, barriers)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.again, self.last = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 2)
        self.again.weight = self.first.weight

    def forward(self, x):
        return self.last(self.again(self.first(x).relu()).relu())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda seed: Written(seed, skip=True), "another when its hidden units change places"),
        (lambda seed: Twice(), "tied to another weight"),
        (lambda seed: nn.Linear(3, 2), "no stack of two linear layers"),
        (
            lambda seed: nn.Sequential(nn.Unflatten(1, (1, 3)), nn.Conv1d(1, 2, 1), nn.Flatten(), nn.Linear(6, 2)),
            "no st",
        ),
        (lambda seed: MLP((3, 8, 8, 2), [seed], nn.ReLU(), residual=True), "another when its hidden units change"),
        (lambda seed: MLP((3, 8, 8, 2), [seed], nn.ReLU(), spectral=True), "no stack of two linear layers"),
    ],
)
def test_what_cannot_be_matched_is_said_and_the_way_is_given(make, words):
    result = probes.connectivity(make(0), make(1), LOSS, points=3, inputs=X)
    assert len(result.notes) == 1 and words in result.notes[0] and "\n" not in result.notes[0]
    assert result.matched is result.matched_barriers is result.matched_barrier is None and result.values["loss"].size


def test_running_statistics_are_computed_anew_or_refused():
    one, other = Written(0), Written(1)
    for model in (one, other):
        model(3 * X + 1)
    with pytest.raises(ArgumentError, match="running statistics of 1 layers are neither's; give inputs="):
        probes.connectivity(one, other, LOSS)
    seen = {}

    def look(m):
        seen[float(m.last.bias[0])] = m.norm.running_mean.clone(), m.first(X).mean(0).detach()
        return 1.0

    probes.connectivity(one, other, {"look": look}, points=3, inputs=X, match=False)
    middle = float((one.last.bias[0] + other.last.bias[0]).detach() / 2)
    assert min(abs(key - middle) for key in seen) < 1e-6
    running, of_inputs = seen[min(seen, key=lambda key: abs(key - middle))]
    assert torch.allclose(running, of_inputs, atol=1e-6)


def test_wrong_pairs_are_refused_in_a_line():
    one, other = of_torch(0), of_torch(1)
    wide = nn.Sequential(nn.Linear(3, 9), nn.ReLU(), nn.Linear(9, 2))
    sine = [MLP((3, 8, 2), [0], Spline(torch.rand(5), -end, end)) for end in (1.0, 2.0)]
    for a, b, measures, words in (
        (one, wide, LOSS, "differ in"),
        ([one], [other, other], LOSS, "give as many"),
        (one, other, {"loss": lambda m: float("nan")}, "'loss' is nan of a and nan of b"),
        (one, other, {}, "no measures"),
        (one, other, {"loss": lambda m: m(X)}, "one number a model"),
        (sine[0], sine[1], LOSS, "differ in more than numbers"),
        (one, "other", LOSS, "b is"),
    ):
        with pytest.raises(ArgumentError, match=words) as refused:
            probes.connectivity(a, b, measures, points=3)
        assert "\n" not in str(refused.value)
