"""What must hold on any device: these run on a GPU where torch finds one (`make test-gpu`), and else on the CPU."""

import pytest
import torch

from lab import engine, kinds
from lab.jobs import job
from lab.jobs.trainers import GPU_BYTES, LOGIT_BYTES, fleet_size
from lab.models.transformer import Transformer
from lab.nonlinearity import formula, op
from lab.papers.hypernetwork.settings import sraven
from lab.papers.transformers.settings import setting
from lab.spec import replace
from lab.store import Store
from lab.training.fleet import Fleet, train
from tests.test_engine import LEARNED, RUNS, SEARCH, digests

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def test_runs_agree_with_those_of_the_cpu():
    specs = RUNS[:2]
    here, cpu = (train(Fleet(specs, [("gelu", "softmax")] * 2, device)) for device in (DEVICE, "cpu"))
    for run in range(2):
        for name, weight in cpu.run_weights(run).items():
            torch.testing.assert_close(here.run_weights(run)[name].cpu(), weight, rtol=0, atol=1e-4)


def test_a_training_that_was_cut_short_ends_with_the_same_bits(tmp_path, monkeypatch):
    whole, cut = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    engine.complete(LEARNED, whole, DEVICE, 1)
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", -1.0)
    keep, kept = Store.keep_checkpoint, []

    def then_stop(self, specs, tensors):
        keep(self, specs, tensors)
        kept.append(specs)
        if len(kept) in (2, 7):  # in the search, and in the fleet
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "keep_checkpoint", then_stop)
    for _ in range(3):
        try:
            engine.complete(LEARNED, cut, DEVICE, 1)
        except KeyboardInterrupt:
            assert not all(map(cut.has, LEARNED))
    assert digests(cut) == digests(whole) and cut.has(SEARCH) and len(kept) > 7


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("shape, knots", [((3, 500), (361,)), ((3, 500), (3, 33)), ((1500,), (2,)), ((1,), (1000,))])
def test_the_spline_is_the_formula_in_double_precision(dtype, shape, knots):
    """In the middle of intervals: at a knot, rounding decides which slope is the right one."""
    draw, spacing = torch.Generator().manual_seed(0), 40 / (knots[-1] - 1)
    x = 4 * torch.randn(shape, generator=draw)
    x = ((((x + 20) / spacing).floor() + 0.5) * spacing - 20).clamp(-19.9, 19.9).to(dtype).to(DEVICE)
    values = torch.randn(knots, generator=draw).to(DEVICE)
    grad = torch.randn(shape, generator=draw).to(dtype).to(DEVICE)

    def made(x, values, function):
        x, values = x.detach().requires_grad_(), values.detach().requires_grad_()
        y = function(x, values, -20.0, 20.0)
        return (y, *torch.autograd.grad(y, (x, values), grad.to(y.dtype)))

    found = made(x, values, op.spline)
    wanted = made(x.double(), values.double(), op.spline) if DEVICE == "cuda" else _by_formula(x, values, grad)
    for ours, right in zip(found, wanted, strict=True):
        error = (ours.double() - right.double()).abs().max() / right.double().abs().max()
        assert error < 4 * torch.finfo(dtype if dtype != torch.float64 else torch.float32).eps + 1e-4


def _by_formula(x, values, grad):
    values = values.double()
    gradients = formula.backward(grad.double(), x.double(), values, -20.0, 20.0, True, True)
    return formula.forward(x.double(), values, -20.0, 20.0), *gradients


def saved_bytes(model, inputs) -> int:
    """Bytes that a forward pass keeps for the backward one, weights left out. On meta tensors nothing is computed."""
    kept, own = {}, {id(weight) for weight in model.parameters()}

    def keep(tensor):
        base = tensor if tensor._base is None else tensor._base  # a view keeps what it is a view of
        if id(base) not in own:
            kept[id(base)] = base
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(inputs)
    return sum(tensor.numel() * tensor.element_size() for tensor in kept.values())


@pytest.mark.parametrize("task", ["add", "memorize", "mano"])
def test_the_memory_that_fleets_are_sized_by_holds_what_they_keep(task):
    """At paper scale, from shapes alone."""
    spec = setting(task, "paper").runs(1)[0]
    spec = replace(spec, model=replace(spec.model, mlp="gelu"))
    sizes = kinds.sizes(spec.task, 0)
    model = Transformer(spec.model, sizes.inputs, sizes.length, [0], torch.nn.GELU()).to("meta")
    tokens = torch.empty((1, spec.recipe.batch, sizes.length), dtype=torch.long, device="meta")
    least = saved_bytes(model, tokens)
    estimate = GPU_BYTES * spec.model.layers * spec.model.activation_memory(sizes.length)
    estimate = (estimate + LOGIT_BYTES * sizes.outputs) * spec.recipe.batch * sizes.length
    assert least < estimate < 10 * least, estimate / least


def test_the_memory_of_hyla_holds_what_it_keeps():
    """Its networks have numbers for every pair of tokens."""
    spec = sraven("paper", "hyla").runs(1)[0]
    sizes = kinds.sizes(spec.task, 0)
    modules = [torch.nn.ReLU() if part == "relu" else torch.nn.GELU() for part in spec.model.parts.values()]
    model = kinds.build(spec.model, sizes, [spec], modules).to("meta")
    inputs = torch.empty((1, spec.recipe.batch, sizes.length, sizes.inputs), device="meta")
    least = saved_bytes(model, inputs)
    estimate = GPU_BYTES * spec.model.layers * spec.model.activation_memory(sizes.length)
    assert least < estimate * spec.recipe.batch * sizes.length < 10 * least


def test_fleets_are_sized_by_the_memory_they_are_planned_for():
    from lab.devices import planned_for_gpu

    spec = sraven("paper", "hyla").runs(1)[0]
    length = kinds.sizes(spec.task, 0).length
    counts = []
    for gigabytes in (10, 80):
        with planned_for_gpu(gigabytes * 2**30):
            counts.append(fleet_size(spec.model, spec.recipe.batch, length, "cuda"))
    assert counts[0] >= 1 and counts[1] == pytest.approx(8 * counts[0], abs=8)
