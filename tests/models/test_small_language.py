"""GPT-Neo and RoBERTa with a run axis: against the library's own models, activations, causality, weights counted."""

import copy

import numpy as np
import pytest
import torch

from lab.engine import complete
from lab.errors import ArgumentError
from lab.kinds import Sizes, build
from lab.models.small_language import ACTIVATIONS, FAMILIES, FORMS, SmallLanguageModel, Stacked, learned, one
from lab.nonlinearity.learnable import ScaledGELU, Swish
from lab.nonlinearity.spline import Spline
from lab.run import Run
from lab.spec import AdamTrapezoid, Knots, RunSpec, from_json, replace, to_json
from lab.store import Store
from tests.models.making import LENGTH, VOCABULARY, wavy, words

pytest.importorskip("transformers")
SMALL = SmallLanguageModel(layers=2, heads=2, width=8, inner=12)
FAMILY = pytest.mark.parametrize("family", FAMILIES)
NAMES = [*ACTIVATIONS, "kan"]


def made(spec, seeds, phi=None, vocabulary=VOCABULARY, length=LENGTH):
    """The model of these seeds, with weights of ordinary size, from the same numbers whatever the others."""
    specs = [RunSpec("copy", spec, AdamTrapezoid(1, 0.1, 1), seed=seed) for seed in seeds]
    model = build(spec, Sizes(FORMS[spec.family], vocabulary, vocabulary, length), specs, [] if phi is None else [phi])
    with torch.no_grad():
        for number, (name, weight) in enumerate(model.named_parameters()):
            if "phi" not in name.split("."):
                for own, seed in zip(weight, seeds, strict=True):
                    own += 0.3 * torch.randn(own.shape, generator=torch.Generator().manual_seed(1000 * seed + number))
    return model.double()


@FAMILY
@pytest.mark.parametrize("name", NAMES)
def test_a_fleet_is_its_runs_side_by_side(family, name):
    spec = replace(SMALL, family=family, activation=name)
    fleet, tokens = made(spec, [3, 1]), words(2)
    together = fleet(tokens)
    assert {len(parameter) for parameter in fleet.parameters()} == {2}
    for place, seed in enumerate([3, 1]):
        alone = made(spec, [seed])(tokens[place : place + 1])[0]
        torch.testing.assert_close(alone, together[place], rtol=0, atol=1e-12)
    positions = torch.tensor([[[0, 8], [3, 3], [7, 1]]] * 2)
    wanted = together.gather(2, positions[..., None].expand(2, 3, 2, VOCABULARY))
    torch.testing.assert_close(fleet(tokens, positions), wanted)


@FAMILY
@pytest.mark.parametrize(("name", "theirs"), [("gelu", "gelu_new"), ("relu", "relu"), ("silu", "silu")])
def test_it_is_the_librarys_model_with_the_same_weights(family, name, theirs):
    model = made(replace(SMALL, family=family, activation=name), [0, 1])
    config = model.model.net.config
    setattr(config, "activation_function" if family == "gpt_neo" else "hidden_act", theirs)
    tokens = words(2)
    for run in range(2):
        own = type(model.model.net)(config).double()
        own.load_state_dict({n.removeprefix("net."): w[run] for n, w in model.model.state_dict().items()}, strict=False)
        places = {} if family == "gpt_neo" else {"position_ids": torch.arange(LENGTH).expand(3, -1)}
        torch.testing.assert_close(model(tokens)[run], own.eval()(tokens[run], **places).logits)


@pytest.mark.parametrize("name", NAMES)
def test_gpt_neo_sees_the_past_alone(name):
    model, caught = made(replace(SMALL, activation=name), [0, 1]), []
    model.model.net.transformer.wte.register_forward_hook(lambda module, inputs, output: caught.append(output))
    logits = model(words(2))
    weight = torch.randn(logits.shape, dtype=logits.dtype, generator=torch.Generator().manual_seed(0))
    for t in range(LENGTH):
        for gradient in torch.autograd.grad((logits * weight)[:, :, t].sum(), caught, retain_graph=True):
            assert (gradient[:, t + 1 :] == 0).all() and (gradient[:, : t + 1] != 0).any(-1).all()


def test_roberta_sees_all():
    model, caught = made(replace(SMALL, family="roberta"), [0, 1]), []
    words_of = model.model.net.roberta.embeddings.word_embeddings
    words_of.register_forward_hook(lambda module, inputs, output: caught.append(output))
    for gradient in torch.autograd.grad(model(words(2))[:, :, 4, 0].sum(), caught):
        assert (gradient != 0).any(-1).all()


@FAMILY
@pytest.mark.parametrize(("name", "grid", "order"), [*((name, 5, 3) for name in NAMES), ("kan", 3, 5)])
def test_all_activations_have_as_many_weights_in_the_feed_forward_layers(family, name, grid, order):
    """To one part in a hundred, learnable numbers and biases included, at the paper's widths."""
    spec = SmallLanguageModel(family, layers=1, activation=name, grid=grid, order=order)
    model = one(spec, Sizes(FORMS[family], 3, 3, 4), seed=0)
    ((first, up), (second, down)) = model.feed_forward[0]
    count = sum(p.numel() for module in (getattr(first, up), getattr(second, down)) for p in module.parameters())
    assert count == pytest.approx(2 * 512 * 1024 + 1024 + 512, rel=0.01)


@pytest.mark.parametrize(("family", "least"), [("gpt_neo", 9.45e6), ("roberta", 9.73e6)])
def test_the_papers_sizes_are_nine_million(family, least):
    """With a vocabulary of 10,000 and 256 tokens; "9.0M" in its table."""
    model = one(SmallLanguageModel(family), Sizes(FORMS[family], 10_000, 10_000, 256), seed=0)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(least, rel=0.002)


@FAMILY
def test_initial_weights_depend_on_the_seed_alone_and_leave_the_global_state(family):
    spec, sizes = replace(SMALL, family=family, activation="kan"), Sizes(FORMS[family], 11, 11, 9)
    before = torch.random.get_rng_state()
    first, again, other = (one(spec, sizes, seed).state_dict() for seed in (5, 5, 6))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    drawn = [name for name, weight in first.items() if weight.dim() > 1]
    assert len(drawn) >= 6 and all(not torch.equal(first[name], other[name]) for name in drawn)


@FAMILY
@pytest.mark.parametrize(("name", "kind"), [("learnable_gelu", ScaledGELU), ("swish", Swish)])
def test_what_was_learned_is_read_off_by_layer(family, name, kind):
    model = made(replace(SMALL, family=family, activation=name), [0, 1])
    values = [module.beta for module in model.modules() if isinstance(module, kind)]
    for own, wanted in zip(learned(model), values, strict=True):
        assert own.keys() == {"beta"} and torch.equal(own["beta"], wanted) and wanted.shape == (2, 12)
    assert learned(made(replace(SMALL, family=family), [0])) == [{}, {}]


@FAMILY
@pytest.mark.parametrize("shape", [(17,), (2, 17)], ids=["one spline", "one a run"])
def test_a_spline_takes_the_activations_place(family, shape):
    """It is one module for all layers, and its knots get the gradients of all places."""
    phi = wavy(*shape).requires_grad_()
    model, tokens = made(replace(SMALL, family=family, activation=Knots(-4.0, 4.0, (0.0,) * 17)), [3, 1], phi), words(2)
    together = model(tokens)
    (gradient,) = torch.autograd.grad(together.sum(), list(phi.parameters()))
    assert gradient.shape == shape and (gradient != 0).any(-1).all()
    for run, seed in enumerate([3, 1]):
        own = Spline(phi.values.detach()[run] if len(shape) == 2 else phi.values.detach(), -4.0, 4.0)
        alone = made(replace(SMALL, family=family, activation=Knots(-4.0, 4.0, (0.0,) * 17)), [seed], own)
        torch.testing.assert_close(alone(tokens[run : run + 1])[0], together[run], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "activation", ["learnable_geglu", "kan", "tanh", Knots(-4.0, 4.0, (-0.1, 0.0, 1.0, 4.0))], ids=str
)
def test_it_trains_and_comes_back_from_the_store(activation, tmp_path):
    recipe = AdamTrapezoid(steps=40, rate=0.01, batch=32, every=20)
    specs = [RunSpec("memorize", replace(SMALL, activation=activation), recipe, seed=seed) for seed in (0, 1)]
    store = Store(tmp_path)
    complete(specs, store)
    for spec in specs:
        run = Run(spec, store)
        model, tokens = run.model(), torch.zeros(1, 1, 3, dtype=torch.long)
        assert run.loss[-1] < run.loss[0] and model(tokens).isfinite().all()
        if activation == "learnable_geglu":
            assert all((own["beta"] != 1).any() for own in learned(model))
    assert from_json(to_json(specs[0])) == specs[0]


def test_gradients_of_stacked_models_are_those_of_each():
    layers = [torch.nn.Linear(3, 2) for _ in range(2)]
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    wanted = [
        torch.autograd.grad(layer(part).square().sum(), layer.weight)[0] for layer, part in zip(layers, x, strict=True)
    ]
    both = Stacked(layers)
    (found,) = torch.autograd.grad(both(x).square().sum(), both.model.weight)
    torch.testing.assert_close(found, torch.stack(wanted))
    assert np.prod(both.model.bias.shape) == 4


def test_what_does_not_fit_is_refused():
    spec = RunSpec("copy", replace(SMALL, family="roberta"), AdamTrapezoid(1, 0.1, 1), seed=0)
    with pytest.raises(ArgumentError, match="a roberta reads masked, and this task has tokens; choose another family"):
        build(spec.model, Sizes("tokens", 5, 5, 4), [spec], [])


@FAMILY
@pytest.mark.parametrize("rows", [1, 2])
def test_a_copy_computes_what_the_model_does(family, rows):
    """One function for all runs, or one for each: a copy must know which it has, too."""
    values = np.sin(np.linspace(-3, 3, 31)).tolist()
    phi = Spline(torch.tensor([values] * rows if rows > 1 else values), -3.0, 3.0)
    model, tokens = made(replace(SMALL, family=family, activation="gelu"), [0, 1], phi), words(2)
    again = copy.deepcopy(model)
    torch.testing.assert_close(again(tokens), model(tokens), rtol=0, atol=0)
