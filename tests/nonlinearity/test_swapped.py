"""A swapped model comes back from its folder as it was: its functions, its weights, what is shared, what learns."""

import pytest
import torch
import transformers
from torch import nn
from transformers.activations import NewGELUActivation

import lab
from lab.errors import ArgumentError, LabError
from lab.nonlinearity.families.xielu import XIELU
from lab.nonlinearity.functions import named
from tests.nonlinearity.test_swap import bert, gpt2, wave

IDS = torch.arange(10)[None] % 11


def same(one, other):
    """The two models compute the same, with weights of the same names and types, and the same of them learns."""
    states = [model.state_dict() for model in (one, other)]
    assert states[0].keys() == states[1].keys()
    for name, tensor in states[0].items():
        assert tensor.dtype == states[1][name].dtype and torch.equal(tensor, states[1][name]), name
    learning = [{name for name, p in model.named_parameters() if p.requires_grad} for model in (one, other)]
    assert learning[0] == learning[1] or not learning[0]
    with torch.no_grad():
        outputs = [model(input_ids=IDS)[0] for model in (one, other)]
    torch.testing.assert_close(*outputs, rtol=0, atol=0)


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("learnable", [False, True], ids=["frozen", "learnable"])
def test_a_hugging_face_model_comes_back(tmp_path, shared, learnable):
    model = gpt2()
    names = lab.swap(model, "*.mlp.act", wave(), learnable=learnable, shared=shared)
    if learnable:
        with torch.no_grad():  # it has learned
            model.get_submodule(names[0]).values.add_(0.25)
    lab.save_swapped(model, tmp_path / "gpt2")
    for kind in (transformers.GPT2LMHeadModel, transformers.AutoModelForCausalLM):
        back = lab.load_swapped(kind, tmp_path / "gpt2")
        assert type(back) is transformers.GPT2LMHeadModel and not back.training
        same(model, back)
        first, second = (back.get_submodule(name) for name in names)
        assert isinstance(first, lab.Spline) and (first is second) == shared
        assert first.values.requires_grad == learnable
        assert back.lm_head.weight is back.transformer.wte.weight, "tied as before"


def test_from_pretrained_alone_loses_the_function(tmp_path):
    """Why there is `load_swapped`: the library builds the activations that its configuration names."""
    model = gpt2()
    lab.swap(model, "*.mlp.act", wave())
    lab.save_swapped(model, tmp_path)
    assert not any((tmp_path / name).exists() for name in ("model.safetensors", "pytorch_model.bin"))
    with pytest.raises(OSError, match="no file named"):  # so that it cannot go unnoticed
        transformers.GPT2LMHeadModel.from_pretrained(tmp_path, local_files_only=True)


@pytest.mark.parametrize(
    "phi", ["xielu", "rational", XIELU(16, dim=-1), XIELU(4, dim=-1)], ids=["xielu", "rational", "channels", "groups"]
)
def test_a_named_function_that_has_learned_comes_back(tmp_path, phi):
    def made():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 16), nn.GELU(), nn.Linear(16, 2))

    model, x = made(), torch.randn(5, 3)
    lab.swap(model, nn.GELU, phi)
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.5)
    before = model(x)
    before.square().sum().backward()
    optimizer.step()
    assert not torch.equal(model(x), before)
    back = lab.load_swapped(made(), lab.save_swapped(model, tmp_path))
    assert torch.equal(back(x), model(x)) and all(p.requires_grad for p in back[1].parameters())
    other = made()
    lab.swap(other, nn.GELU, phi)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(x), model(x))


def test_every_kind_of_function_comes_back(tmp_path):
    kinds = (wave(), wave().chebyshev(7), wave().polynomial(3), "relu", "identity", "transformers/memorize")
    for number, phi in enumerate(kinds):
        model = gpt2()
        lab.swap(model, NewGELUActivation, phi)
        lab.save_swapped(model, tmp_path / str(number))
        same(model, lab.load_swapped(transformers.GPT2LMHeadModel, tmp_path / str(number)))


@pytest.mark.parametrize("phi", ["xielu", "rational", wave(), wave(scaled=True)], ids=str)
@pytest.mark.parametrize("learns", [(), (0,), (0, 1)], ids=str)
def test_what_learns_learns_on_and_what_is_frozen_stays_frozen(tmp_path, phi, learns):
    model = net()
    lab.swap(model, nn.GELU, phi)
    for number, weight in enumerate(model[1].parameters()):
        weight.requires_grad_(number in learns)
    back = lab.load_swapped(net(), lab.save_swapped(model, tmp_path))
    assert [p.requires_grad for p in back[1].parameters()] == [p.requires_grad for p in model[1].parameters()]


def test_a_named_function_with_a_setting_of_its_own_is_not_saved_as_the_name(tmp_path):
    model, wanted = net(), named("siren")
    wanted.omega = 3.0
    lab.swap(model, nn.GELU, wanted)
    x = torch.randn(5, 3)
    assert torch.equal(model(x), model[2]((3 * model[0](x)).sin()))
    with pytest.raises(ArgumentError, match="1 is a Siren, .* as it is; save model.state_dict"):
        lab.save_swapped(model, tmp_path)


def test_hooks_of_the_model_do_not_hinder_saving(tmp_path):
    model, seen = net(), []
    model[1].register_forward_hook(lambda module, x, y: seen.append(y))
    lab.swap(model, nn.GELU, "siren")
    x = torch.randn(5, 3)
    assert torch.equal(lab.load_swapped(net(), lab.save_swapped(model, tmp_path))(x), model(x)) and len(seen) == 1


def test_functions_kept_as_attributes_and_half_precision(tmp_path):
    model = bert()
    lab.swap(model, "*_act_fn", wave())
    lab.save_swapped(model.bfloat16(), tmp_path)
    same(model, lab.load_swapped(transformers.BertModel, tmp_path))


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 2))


def test_a_module_of_ones_own_is_built_and_given(tmp_path):
    model = net()
    lab.swap(model, nn.GELU, wave())
    with torch.no_grad():
        model[0].weight.add_(1)
    lab.save_swapped(model, tmp_path)
    x = torch.rand(5, 3)
    for given in (net, net()):
        back = lab.load_swapped(given, tmp_path)
        torch.testing.assert_close(back(x), model(x), rtol=0, atol=0)
        assert back.training


def test_the_fused_kernel_of_torchs_encoder_is_left(tmp_path):
    def encoder():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        return nn.TransformerEncoder(layer, 2).eval()

    model, x = encoder(), torch.rand(2, 5, 8)
    lab.swap(model, nn.functional.gelu, wave())
    lab.save_swapped(model, tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(lab.load_swapped(encoder(), tmp_path)(x), model(x), rtol=0, atol=0)


def test_mistakes_are_named_in_one_line(tmp_path):
    model = net()
    with pytest.raises(ArgumentError, match="nothing of the lab in this Sequential; lab.swap"):
        lab.save_swapped(model, tmp_path)
    lab.swap(model, nn.GELU, nn.Softsign())
    model[1] = nn.Sequential(model[1])
    lab.save_swapped(model, tmp_path / "nested")
    own = net()
    lab.swap(own, nn.GELU, type("Own", (nn.Module,), {"forward": lambda self, x: x})())
    with pytest.raises(ArgumentError, match="1 is a Own, .*state_dict"):
        lab.save_swapped(own, tmp_path)
    swapped = net()
    lab.swap(swapped, nn.GELU, wave())
    lab.save_swapped(swapped, tmp_path / "here")
    for given, where, words in (
        (net, tmp_path / "nowhere", "no swapped model"),
        (None, tmp_path / "here", "model is None"),
        ("gpt2", tmp_path / "here", "model is 'gpt2'"),
        (lambda: 3, tmp_path / "here", "gave 3"),
        (nn.Linear, tmp_path / "here", "failed"),
        (nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 4)), tmp_path / "here", "do not fit"),
        (nn.Linear(3, 2), tmp_path / "here", "has no place '1'"),
        (transformers.GPT2LMHeadModel, tmp_path / "here", "needs a config.json"),
    ):
        with pytest.raises(LabError, match=words) as raised:
            lab.load_swapped(given, where)
        assert "\n" not in str(raised.value)
    (tmp_path / "here" / "functions.json").write_text("{}")
    with pytest.raises(LabError, match="no swapped model"):
        lab.load_swapped(net, tmp_path / "here")
    for wrong in (None, "gpt2", nn.Linear):
        with pytest.raises(ArgumentError, match="give a torch.nn.Module"):
            lab.save_swapped(wrong, tmp_path)
    with pytest.raises(ArgumentError, match="folder"):
        lab.save_swapped(swapped, None)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("model", None),
        ("model", "gpt2"),
        ("model", nn.Linear),
        ("old", None),
        ("old", 3),
        ("old", ()),
        ("old", nn.GELU()),
        ("old", [nn.GELU]),
        ("old", ""),
        ("old", (nn.GELU, None)),
        ("old", nn.Tanh),
        ("phi", None),
        ("phi", 3),
        ("phi", ""),
        ("phi", "waves"),
        ("phi", "transformers/nothing"),
        ("phi", nn.GELU),
        ("phi", torch.zeros(3)),
        ("learnable", "no"),
        ("learnable", 2),
        ("shared", None),
        ("shared", "yes"),
        ("phi", b"relu"),
        ("phi", [wave()]),
    ],
)
def test_what_swap_cannot_use_is_named_in_one_line(name, wrong):
    with pytest.raises(LabError) as raised:
        lab.swap(**{"model": net(), "old": nn.GELU, "phi": "relu"} | {name: wrong})
    text = str(raised.value)
    assert "\n" not in text and 15 < len(text) < 700 and " at 0x" not in text and "<class" not in text, text


@pytest.mark.parametrize("wrapper", [nn.DataParallel, lambda model: torch.compile(model, backend="eager")])
@pytest.mark.parametrize("where", ["around", "inside"])
def test_a_wrapper_is_no_part_of_what_is_saved(tmp_path, wrapper, where):
    """DataParallel and torch.compile put themselves into every name."""

    def make():
        return nn.Sequential(nn.Linear(3, 8), nn.Sequential(nn.GELU(), nn.Linear(8, 2)))

    def wrapped(model):
        return wrapper(model) if where == "around" else nn.Sequential(model[0], wrapper(model[1]))

    model, x = make(), torch.randn(5, 3)
    outer = wrapped(model)
    names = lab.swap(outer, nn.GELU, "transformers/memorize")
    assert isinstance(outer.get_submodule(names[0]), lab.Spline)
    lab.save_swapped(outer, tmp_path)
    for back in (make(), wrapped(make())):
        before = repr(back)
        assert lab.load_swapped(back, tmp_path) is back and len(repr(back)) != len(before)
        with torch.no_grad():
            torch.testing.assert_close(back(x), model(x))


def test_what_keeps_parts_of_weights_is_refused(tmp_path):
    class FullyShardedDataParallel(nn.Sequential):
        pass

    with pytest.raises(ArgumentError, match="wrapped by FullyShardedDataParallel.*give the module inside it"):
        lab.save_swapped(FullyShardedDataParallel(nn.GELU()), tmp_path)
