"""lab.swap: afterwards a model computes with the new function in the places of the old one, all else is as it was."""

import copy
import functools

import pytest
import torch
import torch.nn.functional as F
import transformers
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers.activations import GELUActivation, NewGELUActivation, SiLUActivation

import lab
from lab.errors import ArgumentError
from lab.models.transformer import Transformer
from lab.probes.cost import can_compile
from lab.spec import ModelSpec

TANH_GELU = functools.partial(F.gelu, approximate="tanh")
SIZES = {"vocab_size": 11, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def wave(values=(0.0, 1.0, -0.5, 0.25, 2.0), **more):
    return lab.Spline(torch.tensor(values), -2.0, 2.0, **more)


def gpt2(layers=2, **more):
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=layers, n_head=2, n_embd=16, n_positions=16, **SIZES, **more)
    return transformers.GPT2LMHeadModel(config).eval()


def gpt_neo():
    torch.manual_seed(0)
    shape = {"num_layers": 2, "hidden_size": 16, "num_heads": 2, "attention_types": [[["global", "local"], 1]]}
    return transformers.GPTNeoForCausalLM(transformers.GPTNeoConfig(**shape, **SIZES)).eval()


def llama():
    torch.manual_seed(0)
    shape = {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape, **SIZES)).eval()


def bert():
    torch.manual_seed(0)
    shape = {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    return transformers.BertModel(transformers.BertConfig(**shape, **SIZES)).eval()


HUGGING_FACE = {
    "gpt2": (gpt2, NewGELUActivation, "*.mlp.act", nn.GELU(approximate="tanh"), "transformer.h.{}.mlp.act"),
    "gpt_neo": (gpt_neo, NewGELUActivation, "*.mlp.act", nn.GELU(approximate="tanh"), "transformer.h.{}.mlp.act"),
    "llama": (llama, SiLUActivation, "*.act_fn", nn.SiLU(), "model.layers.{}.mlp.act_fn"),
    "bert": (bert, GELUActivation, "*_act_fn", nn.GELU(), "encoder.layer.{}.intermediate.intermediate_act_fn"),
}


@torch.no_grad()
def answer(model):
    return model(torch.arange(22).remainder(11).reshape(2, 11))[0]


@pytest.mark.parametrize("name", HUGGING_FACE)
@pytest.mark.parametrize("by", ["class", "pattern"])
def test_in_hugging_face_models(name, by):
    make, old, pattern, same, place = HUGGING_FACE[name]
    model, names = make(), [place.format(layer) for layer in range(2)]
    before, weights = answer(model), copy.deepcopy(model.state_dict())
    assert lab.swap(model, old if by == "class" else pattern, same) == names
    # the same function, written in another way: all that may change is rounding
    torch.testing.assert_close(answer(model), before, rtol=1e-4, atol=1e-5)
    assert lab.swap(model, type(same) if by == "class" else pattern, wave()) == names
    assert not torch.allclose(answer(model), before, atol=1e-3), "another function, the same answers"
    seen = []
    model.get_submodule(names[1]).register_forward_hook(lambda _, x, y: seen.append((x[0], y)))
    answer(model)
    torch.testing.assert_close(seen[0][1], wave()(seen[0][0]))
    assert all(torch.equal(model.state_dict()[key], weight) for key, weight in weights.items())


class Tree(nn.Module):
    """Holds what it is given in each way that torch knows, and calls it all."""

    def __init__(self, parts):
        super().__init__()
        self.listed, self.named = nn.ModuleList(parts), nn.ModuleDict({f"k{i}": p for i, p in enumerate(parts)})
        self.first, self.chain = parts[0], nn.Sequential(*parts)

    def forward(self, x):
        for part in (*self.listed, *self.named.values(), self.first):
            x = x + part(x)
        return self.chain(x)


LEAVES = st.sampled_from([nn.GELU, nn.ReLU, nn.Tanh, nn.Identity, lambda: nn.Linear(3, 3)]).map(lambda make: make())
TREES = st.recursive(LEAVES, lambda below: st.lists(below, min_size=1, max_size=3).map(Tree), max_leaves=8)


def rebuilt(module, new):
    """The same tree with `new` for each GELU: an independent way to say what a swap should give."""
    if isinstance(module, nn.GELU):
        return new
    return Tree([rebuilt(part, new) for part in module.listed]) if isinstance(module, Tree) else module


@given(tree=TREES.map(lambda tree: Tree([tree])), shared=st.booleans())
def test_every_place_of_any_tree_is_found_and_no_other_is_touched(tree, shared):
    x = torch.linspace(-1, 1, 6).reshape(2, 3)
    kept = [module for module in tree.modules() if not isinstance(module, nn.GELU)]
    places = [name for name, module in tree.named_modules(remove_duplicate=False) if isinstance(module, nn.GELU)]
    distinct = len({id(module) for module in tree.modules() if isinstance(module, nn.GELU)})
    expected = rebuilt(tree, wave())
    if not places:
        with pytest.raises(ArgumentError, match="nothing in this Tree is GELU"):
            lab.swap(tree, nn.GELU, wave())
        return
    assert sorted(lab.swap(tree, nn.GELU, wave(), shared=shared)) == sorted(places)
    assert not any(isinstance(module, nn.GELU) for module in tree.modules())
    assert [module for module in tree.modules() if not isinstance(module, lab.Spline)] == kept
    # modules that were one are one: a GELU that a tree holds four times became one function, not four
    assert len({id(tree.get_submodule(name)) for name in places}) == (1 if shared else distinct)
    torch.testing.assert_close(tree(x), expected(x))


def test_what_learns_is_one_function_or_one_a_place():
    phi = wave()
    alone, together = gpt2(), gpt2()
    names = lab.swap(alone, NewGELUActivation, phi, learnable=True)
    lab.swap(together, NewGELUActivation, phi, learnable=True, shared=True)
    for model in (alone, together):
        answers = model(torch.arange(11)[None], labels=torch.arange(11)[None])
        answers.loss.backward()
    own = [alone.get_submodule(name).values for name in names]
    one = {id(together.get_submodule(name).values) for name in names}
    assert own[0] is not own[1] and len(one) == 1
    total = together.get_submodule(names[0]).values.grad
    # at the same values, the gradient of the shared function is the sum over its places
    torch.testing.assert_close(total, own[0].grad + own[1].grad, rtol=1e-4, atol=1e-7)
    assert phi.values.grad is None and not phi.values.requires_grad, "the caller's function learned"
    assert sum(weight is total for weight in [p.grad for p in together.parameters()]) == 1


@pytest.mark.parametrize("word", ["GELU", "gelu"])
def test_who_names_a_class_by_a_text_is_told_the_class(word):
    model = nn.Sequential(nn.Linear(1, 1), nn.GELU(), nn.ReLU())
    with pytest.raises(ArgumentError, match=rf"is {word!r}: a text is the name of a place; give old=torch.nn.GELU;"):
        lab.swap(model, word, "relu")


@pytest.mark.parametrize(("given_", "asked", "got"), [(True, None, True), (True, False, False), (False, None, False)])
def test_frozen_or_learnable(given_, asked, got):
    model, phi = nn.Sequential(nn.ReLU()), wave(learnable=given_)
    lab.swap(model, nn.ReLU, phi, learnable=asked)
    assert model[0].values.requires_grad is got and phi.values.requires_grad is given_ and model[0] is not phi


def test_a_module_with_a_hook_is_put_in_with_it():
    twice, x = nn.ReLU(), torch.linspace(-1, 1, 5)
    twice.register_forward_hook(lambda module, x, y: 2 * y)
    model = nn.Sequential(nn.Identity(), nn.GELU())
    lab.swap(model, nn.GELU, twice)
    assert torch.equal(model(x), 2 * x.relu())


@pytest.mark.parametrize("strict", [True, False])
def test_a_state_dict_of_another_range_is_refused(tmp_path, strict):
    """The values are the same in number, and mean another function."""

    def made(low, high, **more):
        model = nn.Sequential(nn.Identity(), nn.GELU())
        lab.swap(model, nn.GELU, lab.Spline.from_function(torch.sin, low, high, 13, **more))
        return model

    model, x = made(-3, 3), torch.linspace(-3, 3, 7)
    torch.save(model.state_dict(), tmp_path / "saved.pt")
    state = torch.load(tmp_path / "saved.pt", weights_only=True)
    assert list(state) == ["1.values"]
    other = made(-3, 3, learnable=True)
    other[1].values.data.zero_()
    other.load_state_dict(state, strict=strict)
    assert torch.equal(other(x), model(x))
    for low, high in ((-6, 6), (-3, 4)):
        with pytest.raises(RuntimeError, match=r"1 was saved with .*-3.0.* build it as it was"):
            made(low, high).load_state_dict(state, strict=strict)
    made(-6, 6).load_state_dict(dict(state), strict=strict)  # older files, and safetensors: there is no range


def test_a_polynomial_in_another_basis_does_not_load_the_coefficients():
    powers, series = (lab.nonlinearity.shapes.Polynomial([0.0, 1.0, 2.0], -1, 1, b) for b in ("powers", "chebyshev"))
    with pytest.raises(RuntimeError, match="it was saved with .*powers.*, and has .*chebyshev"):
        series.load_state_dict(powers.state_dict())


def test_a_state_dict_takes_the_learned_function_along(tmp_path):
    trained = gpt2()
    lab.swap(trained, "*.act", wave(learnable=True))
    optimizer = torch.optim.Adam(trained.parameters(), lr=0.1)
    trained(torch.arange(11)[None], labels=torch.arange(11)[None]).loss.backward()
    optimizer.step()
    torch.save(trained.state_dict(), tmp_path / "model.pt")
    loaded = gpt2()
    names = lab.swap(loaded, "*.act", wave())
    loaded.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert not torch.equal(loaded.get_submodule(names[1]).values, wave().values)
    torch.testing.assert_close(answer(loaded), answer(trained), rtol=0, atol=0)


def test_hugging_face_saves_it_and_a_swapped_model_loads_it(tmp_path):
    model = gpt2()
    names = lab.swap(model, "*.act", wave(), learnable=True)
    with torch.no_grad():
        model.get_submodule(names[0]).values.add_(1.0)
    model.save_pretrained(tmp_path)
    from safetensors.torch import load_file

    loaded = gpt2()
    lab.swap(loaded, "*.act", wave())
    missing, unexpected = loaded.load_state_dict(load_file(tmp_path / "model.safetensors"), strict=False)
    assert missing == ["lm_head.weight"] and unexpected == []  # tied to the embedding, which is there
    torch.testing.assert_close(answer(loaded), answer(model), rtol=0, atol=0)


@pytest.mark.parametrize(("dtype", "table"), [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)], ids=str)
def test_the_table_is_never_coarser_than_float32(dtype, table):
    model = nn.Sequential(nn.Linear(4, 64), nn.GELU()).to(dtype)
    lab.swap(model, nn.GELU, wave())
    assert model[1].values.dtype == table
    hidden = model[0](torch.randn(32, 4, generator=torch.Generator().manual_seed(0)).to(dtype))
    assert model[1](hidden).dtype == dtype
    exact = wave()(hidden.double())
    torch.testing.assert_close(model[1](hidden), exact.to(dtype))
    lab.swap(model, lab.Spline, nn.PReLU())
    assert model[1].weight.dtype == dtype, "other modules compute in the model's own type"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_copies_go_to_the_layers_around_them():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.GELU()), nn.Sequential(nn.Linear(2, 2), nn.GELU()))
    model[1].to("cuda")
    with pytest.raises(ArgumentError, match=r"several devices \(cpu, cuda:0\); give shared=False"):
        lab.swap(model, nn.GELU, wave(), shared=True)
    phi = wave()
    lab.swap(model, nn.GELU, phi)
    assert [model[i][1].values.device.type for i in range(2)] == ["cpu", "cuda"] and phi.values.device.type == "cpu"


@pytest.mark.parametrize("activation", [F.relu, F.gelu, nn.GELU()], ids=["relu", "gelu", "GELU"])
@torch.no_grad()
def test_the_fused_kernel_of_torchs_encoder_does_not_go_on_with_the_old_function(activation):
    """In eval mode torch calls one kernel for the layer, which knows ReLU and GELU only."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation=activation, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2), torch.randn(3, 5, 8)
    padding = torch.tensor([[False] * 5, [False] * 4 + [True], [False] * 2 + [True] * 3])
    old = nn.GELU if isinstance(activation, nn.Module) else activation
    names = lab.swap(model, old, wave())
    assert names == ["layers.0.activation", "layers.1.activation"]
    for mask in (None, padding):
        kept = ... if mask is None else ~mask
        learning = model.train()(x, src_key_padding_mask=mask)
        torch.testing.assert_close(model.eval()(x, src_key_padding_mask=mask)[kept], learning[kept])


def test_functions_that_a_module_keeps():
    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.act, self.other, self.loss = TANH_GELU, torch.tanh, F.mse_loss

        def forward(self, x):
            return self.other(self.act(x))

    x, model = torch.linspace(-3, 3, 7), nn.Sequential(Keeps(), Keeps())
    assert lab.swap(model, F.gelu, wave()) == ["0.act", "1.act"]
    torch.testing.assert_close(model[0](x), torch.tanh(wave()(x)))
    assert lab.swap(model, "*.other", "relu") == ["0.other", "1.other"]
    torch.testing.assert_close(model[0](x), torch.relu(wave()(x)))
    with pytest.raises(ArgumentError, match="nothing"):
        lab.swap(model, "*.loss", "relu")


def test_in_a_model_of_the_lab():
    """One module serves all its blocks; it stays one."""
    model = Transformer(ModelSpec(width=8), vocabulary=5, length=4, seeds=[0, 1], mlp=nn.GELU())
    names = lab.swap(model, nn.GELU, lab.Spline(torch.rand(2, 5), -2.0, 2.0))
    assert names == ["blocks.0.phi", "blocks.1.phi"] and model.blocks[0].phi is model.blocks[1].phi
    assert model(torch.zeros(2, 3, 4, dtype=torch.long)).shape == (2, 3, 4, 5)
    with pytest.raises(ArgumentError, match="phi has 3 functions; give one of them"):  # there are two runs
        lab.swap(model, lab.Spline, lab.Spline(torch.rand(3, 5), -2.0, 2.0))


def test_a_name_a_zoo_name_and_a_polynomial_like_module():
    model = nn.Sequential(nn.Linear(2, 2), nn.GELU())
    lab.swap(model, nn.GELU, "transformers/memorize")
    assert torch.equal(model[1].values, lab.zoo("transformers/memorize").values)
    lab.swap(model, (nn.GELU, lab.Spline), "silu")
    assert isinstance(model[1], nn.SiLU)
    assert lab.swap(model, ("0.nothing", "1"), nn.Softplus(beta=2)) == ["1"] and model[1].beta == 2


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(2, 2)

    def forward(self, x):
        return F.gelu(self.up(x))


REFUSED = {
    r"nothing in this GPT2LMHeadModel is GELU; its activations are transformers.activations.NewGELUActivation "
    r"\(transformer.h.0.mlp.act, transformer.h.1.mlp.act and 1 more\); .* by a pattern: '\*act'": lambda: (
        gpt2(layers=3),
        nn.GELU,
        wave(),
    ),
    r"is GELU or '\*.act_fn'; its activations": lambda: (gpt2(), (nn.GELU, "*.act_fn"), wave()),
    r"is the function relu; its modules are of the class torch.nn.ReLU: give old=torch.nn.ReLU; its": lambda: (
        nn.Sequential(nn.Linear(2, 2), nn.ReLU()),
        torch.relu,
        wave(),
    ),
    r"is the function leaky_relu; .*: give old=torch.nn.LeakyReLU": lambda: (
        nn.Sequential(nn.Linear(2, 2), nn.LeakyReLU()),
        F.leaky_relu,
        wave(),
    ),
    "is the function sin; its activations are torch.nn.modules.activation.GELU": lambda: (
        nn.Sequential(nn.GELU()),
        torch.sin,
        wave(),
    ),
    r"no activation modules: Calls.forward calls gelu.*let the model keep a module": lambda: (
        nn.Sequential(Calls()),
        nn.GELU,
        wave(),
    ),
    r"are the function relu \(activation\); they can be named by a pattern: '\*activation'": lambda: (
        nn.TransformerEncoderLayer(8, 2),
        nn.GELU,
        wave(),
    ),
    "it has no activations": lambda: (nn.Linear(2, 2), nn.GELU, wave()),
    "the model itself is a GELU.*use phi in its place": lambda: (nn.GELU(), nn.GELU, wave()),
    "transformer is a GPT2Model with weights": lambda: (gpt2(), "*", wave()),
    "h.0.ln_1 is a LayerNorm with weights": lambda: (gpt2(), "*.ln_*", wave()),
    "0 is a Linear with weights": lambda: (nn.Sequential(nn.Linear(2, 2)), nn.Linear, wave()),
    "ReLU.* has nothing that could be learned": lambda: (gpt2(), "*.act", "relu", True),
    "phi='softmax': softmax is no function of one number": lambda: (gpt2(), "*.act", "softmax"),
    r"phi has 3 functions; give one of them, for example lab.Spline\(phi.values\[0\], phi.low, phi.high\)": lambda: (
        nn.Sequential(nn.Linear(2, 2), nn.GELU()),
        nn.GELU,
        lab.Spline(torch.zeros(3, 5)),
    ),
    "unknown phi 'sine'": lambda: (gpt2(), "*.act", "sine"),
    "no function 'transformers/chess' in the zoo": lambda: (gpt2(), "*.act", "transformers/chess"),
    r"phi is the class SiLU; give SiLU\(\)": lambda: (gpt2(), "*.act", nn.SiLU),
    "phi=3 is no function; give a name": lambda: (gpt2(), "*.act", 3),
    r"Called\(sin\) has nothing that could be learned": lambda: (gpt2(), "*.act", torch.sin, True),
    r"old=GELU\(approximate='none'\) is a module; give its class": lambda: (gpt2(), nn.GELU(), wave()),
    "old=3: give a class": lambda: (gpt2(), 3, wave()),
    r"old=\(\) names nothing": lambda: (gpt2(), (), wave()),
    "model is a OrderedDict; give a torch.nn.Module": lambda: (gpt2().state_dict(), nn.GELU, wave()),
}


@pytest.mark.parametrize("said", REFUSED)
def test_refusals_are_one_line_and_change_nothing(said):
    model, old, phi, *learnable = REFUSED[said]()
    before = repr(model)
    with pytest.raises(ArgumentError, match=said) as raised:
        lab.swap(model, old, phi, learnable=learnable[0] if learnable else None)
    assert "\n" not in str(raised.value) and repr(model) == before


@pytest.mark.parametrize(
    "phi",
    [torch.sin, lambda x: x.cos(), F.silu, lab.zoo("transformers/memorize")],
    ids=["sin", "cos", "silu", "spline"],
)
def test_functions_are_put_in_as_they_are(phi):
    model, x = nn.Sequential(nn.Linear(3, 4), nn.GELU()), torch.linspace(-30, 30, 6).reshape(2, 3)
    lab.swap(model, nn.GELU, phi)
    torch.testing.assert_close(model(x), phi(model[0](x)))
    assert "\n" not in repr(model[1])


# not both: the shape of scales of channels depends on that of the input, which torch.fx does not know
@pytest.mark.parametrize(("per_channel", "scaled"), [(False, False), (True, False), (False, True)])
def test_torch_fx_traces_a_swapped_model(per_channel, scaled):
    model, x = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)), torch.randn(5, 3)
    lab.swap(model, nn.GELU, wave(), learnable=True, per_channel=per_channel, scaled=scaled)
    expected = model(x)
    traced = torch.fx.symbolic_trace(model)
    assert torch.equal(traced(x), expected)
    values = dict(model.named_parameters())["1.phi.values" if scaled else "1.values"]
    ours, theirs = (torch.autograd.grad(net(x).sum(), values)[0] for net in (traced, model))
    assert torch.equal(ours, theirs) and ours.any()


def test_what_a_search_gives_is_put_in_as_its_function():
    result = lab.search("memorize", scale="smoke", progress=False)
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU())
    lab.swap(model, nn.GELU, result)
    assert torch.equal(model[1].values, result.spline.values)


compiles = pytest.mark.skipif(not can_compile(), reason="torch.compile needs a C++ compiler")


@compiles
def test_a_compiled_model_that_is_swapped_later_is_compiled_anew():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.GELU()), torch.linspace(-2, 2, 6).reshape(2, 3)
    compiled = torch.compile(model, fullgraph=True)
    torch.testing.assert_close(compiled(x), F.gelu(model[0](x)))
    assert lab.swap(compiled, "*.1", wave()) == ["_orig_mod.1"]
    torch.testing.assert_close(compiled(x), wave()(model[0](x)))
    torch._dynamo.reset()


@compiles
def test_two_epochs_of_a_swapped_gpt2_train_compiled_as_they_do_uncompiled():
    """The losses of every step agree between torch.compile and plain torch, and fall."""
    start = torch.randint(11, (64, 1), generator=torch.Generator().manual_seed(0))
    tokens = (start + torch.arange(12)) % 11  # counting modulo 11
    losses = {}
    for compiled in (False, True):
        model = gpt2(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0).train()
        lab.swap(model, NewGELUActivation, "transformers/addmod", learnable=True)
        run = torch.compile(model) if compiled else model
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        losses[compiled] = []
        for batch in tokens.split(8) * 2:  # two epochs of eight batches
            loss = F.cross_entropy(run(batch[:, :-1]).logits.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[compiled].append(loss.item())
    torch._dynamo.reset()
    assert losses[True] == pytest.approx(losses[False], rel=1e-3)
    assert losses[True][-1] < 0.95 * losses[True][0]
