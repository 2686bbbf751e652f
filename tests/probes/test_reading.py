"""A probe reads a model as in evaluation mode, in float32 at least, and gives it back as it was: every probe."""

import copy
import functools
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from lab import probes
from lab.data.sentences import Pair
from lab.errors import ArgumentError
from lab.probes.language import Reader, minimal_pairs
from lab.probes.reading import modules_of, reading
from lab.tasks import Text

X = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
Y = (X[:, 0] > 0).long()

PROBES = {
    "total_variation": lambda f: probes.total_variation(f, X, paths=5, samples=9).value,
    "fourier_complexity": lambda f: probes.fourier_complexity(f, X, paths=5, samples=9).value,
    "slice_1d": lambda f: probes.slice_1d(f, X[0], X[1], 5).values,
    "slice_2d": lambda f: probes.slice_2d(f, X[:3], grid=3).values,
}
MEASURES = {
    "Loss": lambda m: probes.Loss(X, Y)(m),
    "Variation": lambda m: probes.Variation(X, paths=5, samples=9)(m),
    "Frequency": lambda m: probes.Frequency(X, paths=5, samples=9)(m),
}
LANDSCAPES = {
    "landscape": lambda m: probes.landscape(m, {"loss": probes.Loss(X, Y)}, "random", grid=3).values["loss"],
    "landscape of a function": lambda m: probes.landscape(
        m, {"loss": lambda one: F.cross_entropy(one(X.to(next(one.parameters()).dtype)), Y)}, "random", grid=2
    ).values["loss"],
}
ALL = PROBES | MEASURES | LANDSCAPES


class Depth(nn.Module):
    """Stochastic depth, as people write it; with what it saw last."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.seen, self.calls = nn.Linear(4, 4), nn.Linear(4, 2), [], 0
        self.cache, self.generator = torch.zeros(3), torch.Generator()

    def forward(self, x):
        x = x if self.training and torch.rand(()) < 0.5 else x + self.first(x).tanh()
        self.hidden = x
        self.seen.append(x)
        self.calls += 1
        self.cache += 1
        torch.rand(2, generator=self.generator)
        return self.second(x)


class Recurrent(nn.Module):
    """Dropout between layers of an LSTM, and normalization with running statistics."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 3, 2, dropout=0.5, batch_first=True)
        self.norm, self.last = nn.InstanceNorm1d(3, track_running_stats=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.norm(self.lstm(x[..., None])[0].mT)[..., -1])


class Shortened(nn.Module):
    """An embedding that shortens its own rows when they are read."""

    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Embedding(3, 4, max_norm=0.1), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(x + self.table((x[:, 0] > 0).long()))


class Tied(nn.Module):
    """Two layers of the same weights."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.last(F.dropout(self.two(self.one(x).tanh()), 0.5, self.training))


def net(*more):
    return nn.Sequential(nn.Linear(4, 8), *more, nn.Tanh(), nn.Linear(8, 2))


def hooked():
    model = net(nn.Dropout())
    model[0].register_forward_hook(lambda module, _, out: setattr(module, "out", out))
    return model


def partly():
    model = net(nn.BatchNorm1d(8), nn.Dropout())
    model[1].eval()  # frozen, as fine-tuning leaves it
    model[0].requires_grad_(False)
    return model


def old(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return nn.Sequential(kind(nn.Linear(4, 8)), nn.Tanh(), nn.Linear(8, 2))


def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(net(nn.BatchNorm1d(8), nn.Dropout()))


MODELS = {
    "dropout": lambda: net(nn.Dropout()),
    "batch norm": lambda: net(nn.BatchNorm1d(8)),
    "synchronized batch norm": lambda: net(nn.SyncBatchNorm(8)),
    "random slopes": lambda: net(nn.RReLU()),
    "partly in evaluation mode": partly,
    "stochastic depth": Depth,
    "recurrent": Recurrent,
    "shortened": Shortened,
    "tied": Tied,
    "hooked": hooked,
    "old weight norm": lambda: old(nn.utils.weight_norm),
    "old spectral norm": lambda: old(nn.utils.spectral_norm),
    "weight norm": lambda: old(parametrizations.weight_norm),
    "spectral norm": lambda: old(parametrizations.spectral_norm),
    "compiled": lambda: torch.compile(net(nn.BatchNorm1d(8), nn.Dropout()), backend="eager"),
    "in parallel": lambda: nn.DataParallel(net(nn.BatchNorm1d(8), nn.Dropout())),
    "scripted": scripted,
    "bfloat16": lambda: net(nn.BatchNorm1d(8), nn.Dropout()).bfloat16(),
    "float16": lambda: net(nn.Dropout()).half(),
    "float64": lambda: net(nn.Dropout()).double(),
}
WRAPPED = {
    "lambda": lambda m: lambda x: m(x),
    "method": lambda m: m.forward,
    "partial": lambda m: functools.partial(lambda model, x: model(x), m),
    "helper": lambda m: lambda x: functools.partial(helper, {"models": [m]})(x),
    "object": lambda m: Holder(m),
    "vmap": lambda m: torch.func.vmap(m, randomness="different"),
}


class Holder:
    def __init__(self, model):
        self.inner = (model,)

    def __call__(self, x):
        return self.inner[0](x)


def helper(models, x):
    return models["models"][0](x)


def made(name):
    """A model after a step of training, in training mode, with gradients."""
    torch.manual_seed(0)
    model = MODELS[name]()
    kind = next(model.parameters()).dtype
    for _ in range(3):
        model(X.to(kind)).float().square().mean().backward()
    return model


def state(model):
    """All that must stay: weights and buffers, their gradients and types, modes, attributes, what torch draws next."""
    tensors = dict([*model.named_parameters(), *model.named_buffers()])
    kept = {name: (t.detach().clone(), t.dtype, t.requires_grad, t.grad is not None) for name, t in tensors.items()}
    grads = {name: t.grad.clone() for name, t in tensors.items() if t.grad is not None}
    modes = [part.training for part in model.modules()]
    plain = [part for part in model.modules() if not isinstance(part, torch.jit.ScriptModule)]
    own = [{name: held(value) for name, value in vars(part).items()} for part in plain]
    return kept, grads, modes, own, torch.get_rng_state(), torch.is_grad_enabled()


def held(value):
    if isinstance(value, list):
        return len(value)
    if isinstance(value, torch.Generator):
        return value.get_state()
    return value.detach().clone() if isinstance(value, torch.Tensor) else id(value)


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def evaluated(name):
    """The same model in evaluation mode, in float32 at least: what a probe shall see."""
    model = made(name).eval()
    with torch.no_grad():
        model(X.to(next(model.parameters()).dtype))
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.dtype in (torch.bfloat16, torch.float16):
            tensor.data, tensor.grad = tensor.data.float(), None
    return model


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_read_as_in_evaluation_mode_and_left_as_it_was(name):
    model, right = made(name), evaluated(name)
    before = state(model)
    for what, probe in ALL.items():
        found = probe(model)
        assert same(before, state(model)), what
        half = what == "Loss" and name in ("bfloat16", "float16")  # its own loss, in its own arithmetic
        np.testing.assert_allclose(found, probe(right), rtol=2e-2 if half else 1e-5, err_msg=what)


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
def test_the_model_in_a_function_is_found(wrap):
    model = made("dropout")
    before, right = state(model), evaluated("dropout")
    for what, probe in PROBES.items():
        np.testing.assert_allclose(probe(wrap(model)), probe(right), rtol=1e-5, err_msg=what)
        assert same(before, state(model)), what
    assert all(part in modules_of(wrap(model)) for part in model.modules())


GLOBAL = net(nn.Dropout())


def test_a_model_that_is_global_or_in_a_wrapper_is_found_and_halves_compute_in_float32():
    assert GLOBAL in modules_of(lambda x: [GLOBAL(part) for part in x]) and GLOBAL.training
    model, right = made("bfloat16"), evaluated("bfloat16")
    for what, probe in PROBES.items():
        np.testing.assert_allclose(
            probe(lambda x: model(x.to(next(model.parameters()).dtype))), probe(right), err_msg=what
        )


class Unsteady(nn.Module):
    """One whose answers are others each time, whatever mode it is in."""

    def __init__(self, how):
        super().__init__()
        self.last, self.norm, self.how = nn.Linear(4, 2), nn.BatchNorm1d(4, track_running_stats=False), how

    def forward(self, x):
        if self.how == "toggles":
            self.train()
        draws = {"functional": True, "toggles": self.training}.get(self.how, False)
        return self.last(self.norm(x) if self.how == "batch" else F.dropout(x, 0.5, draws))


@pytest.mark.parametrize("how", ["functional", "toggles", "batch"])
def test_answers_that_do_not_stay_are_refused(how):
    model = Unsteady(how)
    before = state(model)
    for what, probe in (ALL if how != "batch" else PROBES).items():
        if what != "landscape of a function":
            with pytest.raises(ArgumentError, match="another when it is asked again"):
                probe(model)
            assert same(before, state(model)), what
    with pytest.raises(ArgumentError, match="another when it is asked again"):
        probes.total_variation(lambda x: x + np.random.default_rng().normal(size=x.shape), X.numpy(), paths=5)


@pytest.mark.parametrize("what", ALL)
def test_an_error_in_the_middle_leaves_the_model_as_it_was(what):
    model, count = made("batch norm").bfloat16(), []

    def breaks(module, given):
        count.append(given)
        module.running_mean += 1
        if len(count) > 1:
            raise RuntimeError("the second time")

    model[1].register_forward_pre_hook(breaks)
    before = state(model)
    with pytest.raises(ArgumentError, match="the second time"):
        ALL[what](model)
    assert same(before, state(model))


def test_settings_of_a_notebook_change_nothing():
    right = {what: probe(evaluated("batch norm")) for what, probe in ALL.items()}
    for what, probe in ALL.items():
        model = made("batch norm")
        with torch.inference_mode():
            np.testing.assert_allclose(probe(model), right[what], rtol=1e-5, err_msg=what)
            assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        with torch.inference_mode():
            born = made_in_inference()
            probe(born)
        if what in PROBES or what in ("Variation", "Frequency"):
            with torch.autocast("cpu", torch.bfloat16):
                np.testing.assert_allclose(probe(model), right[what], rtol=1e-5, err_msg=what)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        for what, probe in PROBES.items():
            np.testing.assert_allclose(probe(made("batch norm")), right[what], rtol=1e-5, err_msg=what)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def made_in_inference():
    return net(nn.BatchNorm1d(8), nn.Dropout())


def test_what_has_no_numbers_yet_is_refused():
    with torch.device("meta"):
        meta = net()
    for model, message in ((nn.Sequential(nn.LazyLinear(2)), "call the model once"), (meta, "meta device")):
        for what, probe in ALL.items():
            with pytest.raises(ArgumentError, match=message):
                probe(model)
            assert what
    lazy = nn.Sequential(nn.LazyBatchNorm1d(), nn.Linear(4, 2))
    lazy(X)
    assert np.isfinite(probes.Loss(X, Y)(lazy))


class Written(nn.Module):
    """A language model with dropout."""

    runs = 1

    def __init__(self):
        super().__init__()
        self.table, self.drop = nn.Embedding(57, 57), nn.Dropout()
        self.frozen = nn.Dropout().eval()

    def forward(self, tokens):
        return self.frozen(self.drop(self.table(tokens)))


def test_language_models_are_read_the_same_way():
    text, pairs = Text("moby_dick", context=8), [Pair("island", "islands", "a b", "b a b")]
    reader = Reader(lambda words: [len(word) for word in words.split()], start=0)
    alone = type("Alone", (Written,), {"runs": None})  # (B, T), without a run axis
    reads = {
        "token_losses": lambda m: probes.token_losses(m, text, "Call me Ishmael.").nats[1:],
        "continuation": lambda m: probes.continuation(m, text, "Ahab", 5),
        "minimal_pairs": lambda m: minimal_pairs(m, reader, pairs, "2024").good,
    }
    for what, read in reads.items():
        torch.manual_seed(0)
        model = alone() if what == "minimal_pairs" else Written()
        before = state(model)
        found = read(model)
        assert same(before, state(model)) and np.all(found == read(copy.deepcopy(model).eval())), what


def test_who_reads_may_read_again_inside():
    model = made("bfloat16")
    before = state(model)
    with reading(model, exact=True):
        assert not any(part.training for part in model.modules()) and model[0].weight.dtype == torch.float32
        with reading(model[0]):
            model[0].left = 1
        assert not hasattr(model[0], "left") and not model[2].training
    assert same(before, state(model))


def test_a_model_beside_much_else_is_found():
    model, much = net(nn.Dropout()), [{"number": [number]} for number in range(20_000)]
    assert model in modules_of(lambda x: (much, model(x)))
