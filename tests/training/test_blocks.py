"""Blocks of transformers in one call: torch's gradients in float64; a run has one set of bits, alone or not."""

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from lab.kinds import Sizes
from lab.models.hyper import HyperTransformer, TokenHyperTransformer, method
from lab.models.transformer import Transformer
from lab.nonlinearity import native
from lab.nonlinearity.spline import Spline
from lab.spec import AdamWCosine, HyperModel, Knots, ModelSpec, RunSpec, replace
from lab.tasks import Sraven, Text
from lab.training import blocks, sequences
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import note_of, train
from lab.training.steps import describe
from lab.training.two_loss import Search
from lab.versions import ARITHMETIC, arithmetic
from tests.training.making import MODEL, RECIPE, fleet, same, search_of, through_a_file, until

HAT = Knots(-2.0, 2.0, (0.5, -1.0, 2.0, 0.0, 1.0))
BLOCKS = ", blocks in one call"  # what notes say
HYPER = HyperModel(layers=2, heads=2, width=6, key_width=4, mlp_width=8, normalization="rms_head", network="pair")

pytestmark = pytest.mark.skipif(native.why_not() is not None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    monkeypatch.setenv("LAB_STEPS", "kernel")


def transformer(spec, runs=2, attention=None, mlp=None):
    return stirred(Transformer(spec, 7, 6, range(runs), mlp or nn.GELU(), attention))


def hyper_transformer(spec, runs=2, phi=None):
    return stirred(HyperTransformer(spec, Sizes("vectors", 3, 2, 5, (3, 4)), range(runs), phi or nn.Tanh(), nn.GELU()))


def stirred(model):
    """In float64, far from where everything is nearly linear."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in model.double().parameters():
            if weight.requires_grad:
                weight.add_(0.4 * torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    return model


def spline():
    return Spline(torch.tensor([0.5, -1.0, 2.0, 0.0, 1.0, 1.3, -0.2]), -3.0, 3.0)


def batch_of(runs=2, sequences_=19, tokens=6, outputs=2):
    generator = torch.Generator().manual_seed(1)
    shape = (runs, sequences_, outputs)
    drawn = [torch.randint(0, 7, (runs, sequences_, tokens), generator=generator)]
    drawn += [torch.randint(0, tokens, shape, generator=generator), torch.randint(0, 7, shape, generator=generator)]
    weights = (torch.rand(shape, generator=generator) > 0.3).double()
    drawn[2][0, 0, 0], weights[0, 0, 0] = -100, 1.0  # no class: counts nowhere
    return sequences.Batch(*drawn, weights)


MODELS = {
    "post-norm": lambda: transformer(ModelSpec(layers=1, heads=2, width=4)),
    "spline": lambda: transformer(ModelSpec(layers=2, heads=1, width=3, positions="alibi"), mlp=spline()),
    "Canon": lambda: transformer(ModelSpec(layers=1, heads=1, width=3, canon=True)),
    "kernel": lambda: transformer(ModelSpec(layers=1, heads=2, width=4), attention=spline()),
    "kernel, ALiBi": lambda: transformer(
        ModelSpec(layers=1, heads=2, width=4, positions="alibi", canon=True), attention=nn.Softplus()
    ),
    **{
        f"{how}, {network}": lambda how=how, network=network: hyper_transformer(
            replace(HYPER, normalization=how, network=network, causal=how == "none"), 1 if how == "none" else 2
        )
        for how in ("softmax", "none", "rms_head")
        for network in ("head", "pair")
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_blocks_are_those_of_finite_differences(name):
    model = MODELS[name]()
    assert blocks.refusal(model, Sizes("tokens", 7, 7, 5)) == ""
    stack, width = blocks.Stack(model), model.blocks[0].norm1.weight.shape[1]
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(model.runs, 3, 5, width, dtype=torch.float64, generator=generator, requires_grad=True)
    is_hyper = isinstance(model, HyperTransformer)
    keep = torch.rand(model.runs, len(model.blocks), 5, 5, generator=generator) if is_hyper else None
    rows = [3, 4] if is_hyper else None
    assert gradcheck(lambda x, *_: stack(x, rows, keep), (x, *stack.weights), fast_mode=True)


@pytest.mark.parametrize("tied", [False, True])
def test_gradients_of_embedding_and_loss_are_those_of_finite_differences(tied):
    batch, losses = batch_of(sequences_=4), blocks.Losses(transformer(ModelSpec(1, 1, width=4, tied=tied)))
    assert gradcheck(lambda *_: losses(batch), tuple(losses.step.weights), fast_mode=True)


@pytest.mark.parametrize("name", MODELS)
def test_losses_and_gradients_are_those_of_torch(name):
    """For more sequences than are done at once, a whole number of times and not, and with one run's loss left out."""
    model, factor = MODELS[name](), torch.tensor([1.0, 0.0]).double()
    count, results = 40, []
    for losses in (blocks.Losses(model), lambda batch: batch.loss(batch.outputs(model))):
        model.zero_grad()
        if isinstance(model, HyperTransformer):
            inputs = torch.linspace(-1, 1, model.runs * count * 15).sin().view(model.runs, count, 5, 3).double()
            stack, model.stack = model.stack, getattr(losses, "stack", None)
            outputs = model(inputs)
            model.stack = stack
            loss = (outputs - 1).square().sum((1, 2, 3))
        else:
            loss = losses(batch_of(sequences_=count))
        (loss * factor[: model.runs]).sum().backward()
        results.append([loss.detach(), *(weight.grad.clone() for weight in model.parameters() if weight.requires_grad)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["post-norm", "softmax, head"])
def test_gradients_stay_what_they_are_when_others_are_computed(name):
    """Two losses before one backward pass, gradients that are added up, and those that somebody keeps."""
    model, found = MODELS[name](), []
    for losses in (blocks.Losses(model), lambda batch: batch.loss(batch.outputs(model))):
        if isinstance(model, HyperTransformer):
            stack = getattr(losses, "stack", None)

            def loss(count, stack=stack):
                model.stack = stack
                outputs = model(torch.linspace(-1, 1, 2 * count * 15).sin().view(2, count, 5, 3).double())
                model.stack = None
                return outputs.square().sum()
        else:

            def loss(count, losses=losses):
                return losses(batch_of(sequences_=count)).sum()

        model.zero_grad()
        (loss(3) - 2 * loss(4)).backward()
        kept = [weight.grad for weight in model.parameters() if weight.requires_grad]
        was = [grad.clone() for grad in kept]
        model.zero_grad()
        loss(5).backward()
        loss(6).backward()
        found.append([*kept, *(weight.grad for weight in model.parameters() if weight.requires_grad)])
        assert all(torch.equal(grad, before) for grad, before in zip(kept, was, strict=True))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


FLEETS = {
    "gelu": {},
    "tied, Canon": {"model": replace(MODEL, layers=2, heads=2, canon=True, tied=True, positions="alibi")},
    "learned": {"model": replace(MODEL, mlp=HAT, attention=HAT), "parts": [(HAT, HAT)] * 3},
}


@pytest.mark.parametrize("name", FLEETS)
def test_steps_are_those_of_torch(name, monkeypatch):
    fast = fleet(range(3), wide=True, **FLEETS[name])
    assert isinstance(fast.losses, blocks.Losses) and note_of(fast) == BLOCKS
    monkeypatch.setenv("LAB_STEPS", "plain")
    plain = fleet(range(3), wide=True, **FLEETS[name])
    assert plain.losses == plain.plain_losses and note_of(plain) == ""
    for each in (fast, plain):
        train(each, until(8))
    for one, other in zip(fast.weights, plain.weights, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(fast.history._sum, plain.history._sum, rtol=1e-9, atol=1e-9)


def sraven(seeds, model=None):
    task, model = Sraven(features=2, values=3), model or method("hyla", HYPER)
    recipe = AdamWCosine(20, 0.003, 8, warmup=2, every=10)
    specs = [RunSpec(task, model, recipe, seed, ()) for seed in seeds]
    return fleet_of(specs, [tuple(model.parts.values())] * len(specs))


@pytest.mark.parametrize("made", [fleet, sraven], ids=["post-norm", "HYLA"])
def test_a_run_has_the_same_bits_alone_in_a_fleet_on_two_threads_and_resumed(made, monkeypatch):
    """With dropout, in the second case, where embedding, last norm and loss are torch's: alone, to rounding."""
    together = train(made(range(3)))
    assert isinstance(together.losses, blocks.Losses)
    for run in (0, 2):
        alone = train(made([run]))
        for one, other in zip(alone.weights, together.weights, strict=True):
            if made is fleet:
                assert torch.equal(one[0], other[run])
            torch.testing.assert_close(one[0], other[run], rtol=1e-4, atol=1e-5)
    first, rest = train(made(range(3)), until(7)), made(range(3))
    rest.restore(through_a_file(first.state()))
    assert same(train(rest).state(), together.state())
    monkeypatch.setattr(blocks, "ALONE", 0)
    torch.set_num_threads(2)
    try:
        threaded = train(made(range(3)))
    finally:
        torch.set_num_threads(1)
    for one, other in zip(threaded.weights, together.weights, strict=True):
        assert torch.equal(one, other)


def test_a_run_that_diverges_keeps_its_weights_and_the_others_train_on():
    fast, alone = fleet(range(2)), fleet([1])
    for each in (fast, alone):
        train(each, until(3))
    with torch.no_grad():
        fast.weights[0][0] = torch.inf
    before = [weight[0].clone() for weight in fast.weights]
    for each in (fast, alone):
        train(each)
    assert fast.died.tolist() == [3, -1]
    for weight, was, other in zip(fast.weights, before, alone.weights, strict=True):
        assert torch.equal(weight[0], was) and torch.equal(weight[1], other[0])


@pytest.mark.parametrize("chosen", ["kernel", "plain"])
def test_a_run_whose_norms_overflow_has_diverged(chosen, monkeypatch):
    monkeypatch.setenv("LAB_STEPS", chosen)
    huge = Knots(-1.0, 1.0, (3e38, 3e38, 3e38))
    made = train(fleet(range(2), model=replace(MODEL, mlp=huge), parts=[(huge, "softmax")] * 2), until(2))
    assert made.died.tolist() == [0, 0] and (note_of(made) != "") == (chosen == "kernel")


@pytest.mark.parametrize(
    "model, why",
    [
        (replace(MODEL, gated=True), "gated layers"),
        (replace(MODEL, weighting="adaptive"), "attention by 'adaptive'"),
        (replace(MODEL, mlp="sinc"), "it does not have"),
        (replace(MODEL, mlp="prelu"), "it does not have"),
    ],
)
def test_what_the_kernel_lacks_is_said_once_and_torch_trains(model, why, capsys):
    made = train(fleet(range(2), model=model), until(2))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("steps are not taken by the kernel (") and why in said[0]
    assert made.losses == made.plain_losses and note_of(made) == ""


def text():
    spec = RunSpec(Text("shakespeare", context=16), MODEL, RECIPE, 0, ())
    return fleet_of([spec], [(MODEL.mlp, MODEL.attention)])


@pytest.mark.parametrize(
    "made, chosen, note",
    [
        (fleet, "", BLOCKS),
        (lambda: fleet(model=replace(HYPER, causal=True, dropout=0.0), parts=[("relu", "gelu")]), "", BLOCKS),
        (lambda: sraven([0]), "", BLOCKS),
        (lambda: sraven([0]), "plain", ""),
        (lambda: sraven([0], MODEL), "", BLOCKS),
        (lambda: sraven([0], replace(HYPER, experts=4)), "", ""),
        (text, "", ""),
        (text, "kernel", BLOCKS),
        (lambda: fleet(model=replace(MODEL, mlp="prelu")), "", ""),
        (fleet, "plain", ""),
        (lambda: search_of(), "", ""),
    ],
)
def test_steps_in_one_call_are_the_default_of_specs_whose_revision_says_so(made, chosen, note, monkeypatch, capsys):
    """Nothing is said; a spec with the revision of plain steps has others on request alone."""
    monkeypatch.setenv("LAB_STEPS", chosen)
    state = train(made(), until(1))
    assert note_of(state) == note and capsys.readouterr().err == ""
    revision = arithmetic(state.spec if isinstance(state, Search) else state.specs[0])
    assert chosen or not note or revision != str(ARITHMETIC)


def test_with_another_kernel_steps_are_plain(monkeypatch):
    monkeypatch.setenv("LAB_STEPS", "")
    monkeypatch.setenv("LAB_KERNEL", "torch")
    assert note_of(train(fleet(), until(1))) == ""
    assert describe() == "plain: those in one call are for splines in compiled C"
    monkeypatch.setenv("LAB_STEPS", "compiled")
    assert describe() == "compiled (LAB_STEPS)"


def test_how_steps_are_taken_says_which_transformers_have_the_kernel(monkeypatch):
    for chosen, others in {"": ", not on texts", "kernel": ""}.items():
        monkeypatch.setenv("LAB_STEPS", chosen)
        assert f"transformers{others};" in describe()


@pytest.mark.parametrize("made", [fleet, sraven], ids=["post-norm", "HYLA"])
def test_weights_that_come_to_another_place_are_found_there(made):
    """C has addresses: a tensor that takes the place of another one's is trained in its stead."""
    moved, still = train(made(range(2)), until(3)), train(made(range(2)))
    for parameter in moved.model.parameters():
        parameter.data = parameter.data.clone()
    assert same(train(moved).state(), still.state())


def test_long_inputs_and_functions_that_learn_are_left_to_torch():
    model = transformer(ModelSpec(layers=1, width=4), mlp=Spline.zeros(5))
    assert "do not learn" in blocks.refusal(model, Sizes("tokens", 7, 7, 5))
    assert "64 tokens at most" in blocks.refusal(model, Sizes("tokens", 7, 7, 65))
    spec = replace(HYPER, causal=True, dropout=0.0)
    sizes = Sizes("tokens", 5, 5, 4)
    assert blocks.refusal(TokenHyperTransformer(spec, sizes, [0], nn.ReLU(), nn.GELU()), sizes) == ""
