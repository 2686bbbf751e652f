"""What a swap does not reach is said: by swap from a model's code, by lab.compare from what it does on the data."""

import functools
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.functional import relu as bare

import lab
from lab.errors import ArgumentError, LabWarning
from tests.training import own


def helper(x):
    return torch.relu_(x)


class Base(nn.Module):
    """Two layers, one activation between them; what comes behind the second is each class's own."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.act = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 2), nn.ReLU()
        self.layer, self.acts, self.other = nn.ReLU, [nn.ReLU()], lambda x: F.relu(x)
        self.factory = functools.partial(nn.ReLU, inplace=True)

    def forward(self, x):
        return self.c(self.second(self.b(self.act(self.a(x)))))

    def second(self, x):
        return x.sigmoid() + F.gelu(x) + isinstance(x, int)


def made(second):
    """A class of that name with this function behind its second layer."""
    kind = type(second.__name__.title(), (Base,), {"second": second})
    kind.__module__ = __name__
    return kind


def functional(self, x):
    return F.relu(x)


def method(self, x):
    return (x + 1).relu()


def imported(self, x):
    return bare(x)


def through(self, x):
    return helper(x)


def inline(self, x):
    return nn.ReLU()(x)


def nested(self, x):
    return [self.b(F.relu(part)) for part in (x,)][0]


def stored(self, x):
    return self.layer()(x)


def partial(self, x):
    return self.factory()(x)


def listed(self, x):
    return self.acts[0](x)


def kept(self, x):
    return self.other(x)


TABLE = {"relu": F.relu}


def table(self, x):
    return TABLE["relu"](x)


SECOND = (functional, method, imported, through, inline, nested, stored, partial, listed, kept, table)


@pytest.mark.parametrize("second", SECOND, ids=lambda second: second.__name__)
def test_an_activation_that_no_module_is_stays_and_that_is_said(second):
    kind = made(second)
    with pytest.warns(LabWarning, match=r"relu|ReLU.*stays as it is; let the model keep a module"):
        assert lab.swap(kind(), nn.ReLU, torch.sin) == ["act"]
    result = lab.compare(own.signs(), lambda seed: kind(), nn.ReLU, {"a": "tanh"}, seeds=1, steps=1, progress=False)
    assert f"{kind.__name__} calls relu beside what is replaced" in result.notes[0]


def clamped(self, x):
    return x.clamp(min=0)


def clamped_by_torch(self, x):
    return torch.clamp(self.b(x) + 1, min=0.0)


def clipped(self, x):
    return x.clip(0)


def cut(self, x):
    return x.clamp_min(0)


def second_argument(self, x):
    return torch.clamp(torch.abs(x) - 1, 0)


def minimum(self, x):
    return torch.clamp_min(x, 0)


CUTS = (clamped, clamped_by_torch, clipped, cut, second_argument, minimum)


@pytest.mark.parametrize("second", CUTS, ids=lambda second: second.__name__)
def test_a_relu_written_as_a_clamp_stays_and_that_is_said(second):
    """Some write it so beside nn.ReLU (pytorch/pytorch #11043); it was passed over in silence."""
    model = made(second)()
    model.acts, model.other = [], None
    with pytest.warns(LabWarning, match=r"calls clamp\(min=0\), perhaps a ReLU, which stays as it is"):
        assert lab.swap(model, nn.ReLU, torch.sin) == ["act"]


def threshold(self, x):
    return F.threshold(x, 0.0, 0.0)


def maximum(self, x):
    return torch.maximum(x, torch.zeros_like(x))


def larger(self, x):
    return torch.max(x.new_zeros(1), x)


@pytest.mark.parametrize("second", (threshold, maximum, larger, *CUTS), ids=lambda second: second.__name__)
def test_a_relu_by_another_name_is_named_by_swap_and_by_compare(second):
    kind = made(second)
    with pytest.warns(LabWarning, match="perhaps a ReLU, which stays as it is"):
        model = kind()
        model.acts, model.other = [], None
        lab.swap(model, nn.ReLU, torch.sin)
    result = lab.compare(own.signs(), lambda seed: kind(), nn.ReLU, {"a": "tanh"}, seeds=1, steps=1, progress=False)
    assert f"{kind.__name__} calls relu beside what is replaced" in result.notes[0]


def bounded(self, x):
    return x.clamp(min=1e-6).clamp(0, 1)


def counted(self, x):
    return x[: (x.sum(-1) - 1).clamp(min=0).long().max()]


def calls_with_min(self, x):
    self.other = dict(min=0)
    if x is None:
        return 0
    return x.clamp(0, 1).sum(0).clamp(-1, 0) + torch.clamp(x, -1, 0)


@pytest.mark.parametrize("second", (bounded, counted, calls_with_min), ids=lambda second: second.__name__)
def test_other_clamps_are_no_relu(second):
    model = made(second)()
    model.acts, model.other = [], None
    assert lab.swap(model, nn.ReLU, torch.sin) == ["act"]  # warnings are errors here


def test_nothing_is_said_where_nothing_stays():
    """Other activations than the one that is replaced are another matter; code that computes one is one."""
    model = Base()
    model.acts, model.other = [], None
    assert lab.swap(model, nn.ReLU, torch.sin) == ["act"]  # warnings are errors here
    assert lab.compare(own.signs(), own.mlp, nn.GELU, {"a": "tanh"}, seeds=2, steps=1, progress=False).notes == ()


def test_a_recurrent_layer_keeps_its_own():
    model = nn.ModuleList([nn.RNN(2, 2, nonlinearity="relu"), nn.ReLU(), nn.RNN(2, 2)])
    with pytest.warns(LabWarning, match=r"a torch.nn.RNN computes relu, which stays"):
        lab.swap(model, nn.ReLU, torch.sin)


def test_a_function_beside_a_module_stays_and_that_is_said():
    """An encoder layer of torch keeps F.relu as an attribute; a class does not name it."""

    def both():
        return nn.ModuleDict({"layer": nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), "act": nn.ReLU()})

    with pytest.warns(LabWarning, match=r"layer.activation: a function that a module keeps, which stays as it is"):
        assert lab.swap(both(), nn.ReLU, torch.sin) == ["act"]
    with pytest.warns(LabWarning, match=r"act: a module, which stays as it is; give a tuple"):
        assert lab.swap(both(), F.relu, torch.sin) == ["layer.activation"]
    for old in ((F.relu, nn.ReLU), "act"):
        assert "act" in lab.swap(both(), old, torch.sin)  # warnings are errors here


def test_a_function_in_a_table_stays_and_that_is_said():
    model = Base()
    model.acts, model.other = [], None
    for model.acts in ([F.relu], {"a": functools.partial(F.relu)}):
        with pytest.warns(LabWarning, match=r"Base.acts, a (list|dict) of Python's, holds relu, which stays"):
            lab.swap(model, nn.ReLU, nn.ReLU())
    name = f"TABLE in {made(table).__name__}.forward, a dict of Python's, holds relu"
    with pytest.warns(LabWarning, match=name):
        lab.swap(made(table)(), nn.ReLU, torch.sin)


@pytest.mark.parametrize("given", [{"learnable": True}, {"learnable": True, "per_channel": True, "scaled": True}])
def test_what_is_put_in_under_inference_mode_can_be_trained(given):
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    with torch.inference_mode():
        lab.swap(model, nn.GELU, lab.Spline(torch.zeros(5)), **given)
        model(torch.zeros(2, 3))
    model(torch.ones(2, 3)).sum().backward()
    assert all(weight.grad is not None for weight in model[1].parameters() if weight.requires_grad)


class Left(Base):
    """Its act was of use once."""

    def forward(self, x):
        return self.c(F.relu(self.a(x)))


class Half(Base):
    def __init__(self):
        super().__init__()
        self.used, self.acts, self.other = nn.ReLU(), [], None

    def forward(self, x):
        return self.c(self.used(self.a(x)))


class Dynamic(Half):
    def forward(self, x):
        return self.c(getattr(self, f"ac{'t'}")(self.a(x)))


def test_a_place_that_is_never_called_is_named(monkeypatch):
    data, given = own.signs(), {"seeds": 1, "steps": 1, "progress": False}
    with pytest.raises(ArgumentError, match=r"the code of Left never reads act.*Left.forward calls relu"):
        lab.swap(Left(), nn.ReLU, torch.sin)
    with pytest.raises(ArgumentError, match=r"does not call act: with another function there, nothing changes"):
        lab.search(data, model=lambda seed: Left(), replace=nn.ReLU, models=1, steps=1, progress=False)
    notes = lab.compare(data, lambda seed: Left(), nn.ReLU, {"a": "tanh"}, **given).notes
    assert any("the model does not call act" in note for note in notes)
    with pytest.warns(LabWarning, match="the code of Half never reads act"):
        assert lab.swap(Half(), nn.ReLU, torch.sin) == ["act", "used"]
    assert lab.swap(Dynamic(), nn.ReLU, torch.sin) == ["act", "used"]  # its code may read anything
    notes = lab.compare(data, lambda seed: Dynamic(), nn.ReLU, {"a": "tanh"}, **given).notes
    assert notes[0] == "the model does not call used: with another function there, nothing changes"


def test_what_is_made_from_a_name_gets_the_name(tmp_path):
    """Mamba keeps a module that it never calls, beside the name from which it makes its activation."""
    from transformers import MambaConfig, MambaModel

    size = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 2, "state_size": 4}
    ids = torch.tensor([[1, 2, 3, 4]])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, other = MambaModel(MambaConfig(**size)).eval(), MambaModel(MambaConfig(**size, hidden_act="relu")).eval()
        other.load_state_dict(model.state_dict())
        with pytest.raises(ArgumentError, match=r"from the name in .activation, .* such as 'relu'"):
            lab.swap(model, "*.act", torch.sin)
        assert model.layers[0].mixer.activation == "silu"
        assert lab.swap(model, "*.act", "relu") == ["layers.0.mixer.act", "layers.1.mixer.act"]
        assert torch.equal(model(ids).last_hidden_state, other(ids).last_hidden_state)
        back = lab.load_swapped(MambaModel, lab.save_swapped(model, tmp_path))
        assert torch.equal(back(ids).last_hidden_state, other(ids).last_hidden_state)


def test_hooks_go_along_and_can_be_removed():
    calls, x = [], torch.randn(4, 3, requires_grad=True)
    model = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 2), nn.GELU())
    handles = [
        model[1].register_forward_pre_hook(lambda module, given: calls.append("before")),
        model[1].register_forward_hook(lambda module, given, out, **words: calls.append("after"), with_kwargs=False),
        model[1].register_full_backward_hook(lambda module, given, out: calls.append("back")),
    ]
    lab.swap(model, nn.GELU, torch.sin)
    model(x).sum().backward()
    assert calls == ["before", "after", "back"]
    for handle in handles:
        handle.remove()
    model(x).sum().backward()
    assert len(calls) == 3
    hooked = nn.Sequential(nn.Linear(3, 3), nn.GELU(), nn.GELU())
    hooked[2].register_forward_hook(lambda *given: None)
    with pytest.warns(LabWarning, match="the hooks on 2 are gone: one shared module stands in all places"):
        lab.swap(hooked, nn.GELU, torch.sin, shared=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("inside", [True, False])
def test_code_that_is_fixed_cannot_be_swapped(inside):
    script = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.GELU()))
    with pytest.raises(ArgumentError, match=r"has a RecursiveScriptModule, .*; swap first, then torch.jit.trace"):
        lab.swap(nn.Sequential(script) if inside else script, nn.GELU, torch.sin)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("phi", [lab.Spline([0.0, 1.0, -1.0], -1, 1), "xielu", "siren", "rational"], ids=str)
def test_a_swapped_model_is_traced_for_inputs_of_other_sizes(phi):
    model = nn.Sequential(nn.Linear(3, 3), nn.GELU())
    lab.swap(model, nn.GELU, phi)
    x = torch.randn(9, 3)
    torch.testing.assert_close(torch.jit.trace(model, x[:4])(x), model(x))


def test_a_function_that_cannot_be_copied_is_named():
    class Keeps(nn.Module):
        def forward(self, x):
            self.kept = x * 2
            return self.kept

    phi = Keeps()
    phi(torch.ones(2, requires_grad=True))
    with pytest.raises(ArgumentError, match=r"phi, a Keeps, cannot be copied \(RuntimeError: .*; give one that is new"):
        lab.swap(nn.Sequential(nn.Linear(2, 2), nn.GELU()), nn.GELU, phi)


@pytest.mark.parametrize("activation", [nn.GELU(), nn.ReLU(), F.gelu, F.relu])
@torch.no_grad()
def test_the_same_function_in_its_own_place_changes_no_output(activation):
    """In evaluation mode torch's encoder has a kernel that also reads masks in its own way."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation=activation, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), torch.randn(3, 5, 8)
    old = type(activation) if isinstance(activation, nn.Module) else activation
    name = "gelu" if "gelu" in str(activation).lower() else "relu"
    for mask in (None, torch.arange(5)[None] >= torch.tensor([[5], [3], [2]])):
        for given in (mask, None if mask is None else mask.float()):
            before = model(x, src_key_padding_mask=given)
            lab.swap(model, old, name)
            torch.testing.assert_close(model(x, src_key_padding_mask=given), before, rtol=0, atol=0)
            old = nn.GELU if name == "gelu" else nn.ReLU
