"""What has one name and is another thing is told apart: functions, modules, losses, and models of several seeds."""

import os
import re
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque
from fractions import Fraction
from functools import lru_cache, partial
from operator import methodcaller
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.interpolate import CubicSpline
from torch import nn
from torch.nn import functional as F

import lab
from lab.identity import digest_of
from tests.training import own

SHORT = {"seeds": 2, "steps": 20, "rate": 1e-2, "batch": 32, "progress": False}
SCALE = 2.0


class Wave(nn.Module):
    """A setting that neither repr nor state_dict shows."""

    def __init__(self, a):
        super().__init__()
        self.a = a

    def forward(self, x):
        return x + torch.sin(self.a * x) ** 2 / self.a


class Called:
    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a * x


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a * x


def hooked(a):
    module = nn.Identity()
    module.register_forward_hook(lambda module, inputs, output: a * output)
    return module


def hooked_back(register, *arguments, **given):
    module = nn.PReLU()
    getattr(module, register)(*arguments, **given)
    return module


def with_attribute(a, thing, name="a"):
    setattr(thing, name, a)
    return thing


class Hidden:
    __slots__ = ("__a", "b")

    def __init__(self, a):
        self.__a, self.b = a, 1.0

    def __call__(self, x):
        return self.__a * x


def with_setter(a):
    class Set(nn.Module):
        @property
        def scale(self):
            return self.held

        @scale.setter
        def scale(self, value):
            self.held = a * value

        def forward(self, x):
            self.scale = 2.0
            return self.scale * x

    return Set()


def described_by(a):
    class Descriptor:
        def __get__(self, one, kind=None):
            return a

        def __set__(self, one, value):
            raise AttributeError

    class Scale(nn.Module):
        scale = Descriptor()

    return Scale()


def called_by(function):
    return type("Named", (), {"__call__": staticmethod(function), "__module__": __name__})()


def in_class(scale):
    code = "def f(x):\n  class Scale:\n    a = SCALE\n  return Scale.a * x"
    exec(code, made := {"SCALE": scale, "__name__": __name__})
    return made["f"]


def of_module(a):
    outer, inner = ModuleType("outer"), ModuleType("inner")
    inner.a, inner.outer, outer.inner = a, outer, inner
    return lambda x: outer.inner.a * x


def parametrized(power):
    """A module of a class that torch makes of the user's."""
    module = class_of(power)
    module.weight = nn.Parameter(torch.ones(2, 2))
    return nn.utils.parametrizations.weight_norm(module)


Values, Number, Ones = (type("Own", (base,), {"__module__": __name__}) for base in (list, float, torch.Tensor))


def class_with(coefficient):
    class Scale(nn.Module):
        a = coefficient

        def forward(self, x):
            return self.a * x

    return Scale


def times(a):
    return lambda x: a * x


def with_default(a):
    def f(x, a=a):
        return a * x

    return f


def scaled(x):
    return SCALE * x


def class_of(power):
    """Two classes of one name with other code."""
    if power == 2:

        class Power(nn.Module):
            def forward(self, x):
                return x * x
    else:

        class Power(nn.Module):
            def forward(self, x):
                return x * x * x

    return Power()


OTHERS = {
    "lambdas": (lambda x: x.sin(), lambda x: 0 * x),
    "closures": (times(1.0), times(5.0)),
    "closures of tensors": (times(torch.zeros(2)), times(torch.ones(2))),
    "defaults": (with_default(1.0), with_default(2.0)),
    "partial": (partial(torch.clamp, min=-1), partial(torch.clamp, max=1)),
    "attributes": (Wave(0.1), Wave(1.0)),
    "inside": (nn.Sequential(Wave(0.1)), nn.Sequential(Wave(1.0))),
    "callables": (Called(1.0), Called(2.0)),
    "methods": (Called(1.0).__call__, Called(2.0).__call__),
    "classes of one name": (class_of(2), class_of(3)),
    "settings of torch": (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.4)),
    "tensors of torch": (nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weight=torch.tensor([9.0, 1.0]))),
    "functions of torch": (F.gelu, F.silu),
    "arrays": (times(np.zeros(2)), times(np.ones(2))),
    "sets": (times({1, 2}), times({1, 3})),
    "sets of functions": (times({abs, len}), times({abs, max})),
    "slots": (Slotted(0.1), Slotted(5.0)),
    "modes": (nn.RReLU(), nn.RReLU().eval()),
    "hooks": (hooked(1.0), hooked(2.0)),
    "attributes of a class": (class_with(1.0)(), class_with(2.0)()),
    "tables": (times(pd.Series([1.0, 2.0])), times(pd.Series([100.0, 200.0]))),
    "ranges": (times(range(3)), times(range(4))),
    "fractions": (times(Fraction(1, 2)), times(Fraction(1, 3))),
    "bound to numbers": (torch.ones(2).mul, torch.zeros(2).mul),
    "masks": (times(np.ma.array([1, 2], mask=[0, 1])), times(np.ma.array([1, 2], mask=[1, 0]))),
    "sparse": (times(torch.eye(2).to_sparse()), times(2 * torch.eye(2).to_sparse())),
    "callers": (methodcaller("clamp", 0), methodcaller("clamp", 1)),
    "splines": (CubicSpline([0, 1, 2], [0, 1, 0]), CubicSpline([0, 1, 2], [0, 2, 0])),
    "frozen": (nn.PReLU(), nn.PReLU().requires_grad_(False)),
    "frozen splines": tuple(lab.Spline([0.0, 0.0, 1.0], -1, 1, learnable=one, scaled=True) for one in (True, False)),
    "attributes of functions": (with_attribute(1.0, times(1.0)), with_attribute(5.0, times(1.0))),
    "attributes of lists": tuple(times(with_attribute(a, Values())) for a in (1.0, 2.0)),
    "attributes of mappings": tuple(times(with_attribute(a, OrderedDict())) for a in (1.0, 2.0)),
    "attributes of numbers": tuple(times(with_attribute(a, Number())) for a in (1.0, 2.0)),
    "attributes of tensors": tuple(times(with_attribute(a, torch.ones(1))) for a in (1.0, 2.0)),
    "attributes of partials": tuple(with_attribute(a, partial(torch.clamp, min=0)) for a in (1.0, 2.0)),
    "classes of tensors": (times(torch.ones(2)), times(torch.ones(2).as_subclass(Ones))),
    "defaults of mappings": (times(defaultdict(times(1.0))), times(defaultdict(times(2.0)))),
    "keyword defaults": (partial(eval("lambda x, *, a=1: a * x")), partial(eval("lambda x, *, a=2: a * x"))),
    "numbers of arguments": (lambda x: x[0], lambda *x: x[0]),
    "caches": (lru_cache(times(1.0)), lru_cache(times(2.0))),
    "setters": (with_setter(1.0), with_setter(2.0)),
    "descriptors": (described_by(1.0), described_by(2.0)),
    "slots of two underscores": (Hidden(1.0), Hidden(2.0)),
    "what a class calls": (called_by(torch.sin), called_by(torch.cos)),
    "globals in a class": (in_class(1.0), in_class(2.0)),
    "modules in modules": (of_module(1.0), of_module(2.0)),
    "parametrized": (parametrized(2), parametrized(3)),
    "backward hooks": tuple(
        hooked_back("register_full_backward_hook", lambda module, given, outputs, a=a: (a * given[0],)) for a in (1, 2)
    ),
    "backward pre-hooks": tuple(
        hooked_back("register_full_backward_pre_hook", lambda module, outputs, a=a: (a * outputs[0],)) for a in (1, 2)
    ),
    "kinds of backward hooks": tuple(hooked_back(f"register_{kind}backward_hook", print) for kind in ("", "full_")),
    "hooks with keywords": tuple(
        hooked_back("register_forward_hook", lambda *given: len(given) * given[-1], with_kwargs=one) for one in (0, 1)
    ),
    "attributes named as hooks": tuple(with_attribute(a, nn.ReLU(), "n_hooks") for a in (1, 2)),
    "made by torch": (torch.vmap(torch.cumsum, (0, None)), torch.vmap(torch.cumsum, (1, None))),
    "dispatched by torch": (F.max_pool1d, F.max_pool2d),
    "long queues": (times(deque([0] * 2000 + [1])), times(deque([0] * 2000 + [2]))),
    "labels of rows": tuple(times(pd.Series([1.0, 2.0], index=index)) for index in ([0, 1], [1, 0])),
    "patterns": (times(re.compile("a")), times(re.compile("b"))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_computes_other_numbers_has_another_digest(name):
    one, other = OTHERS[name]
    assert digest_of(one) == digest_of(one) != digest_of(other)


def test_what_is_made_again_is_the_same(monkeypatch):
    pairs = [(times(1.0), times(1.0)), (Wave(1.0), Wave(1.0)), (class_of(2), class_of(2)), (Called(1.0), Called(1.0))]
    pairs += [(nn.GELU(), nn.GELU()), (partial(F.leaky_relu, negative_slope=0.1),) * 2]
    assert all(digest_of(one) == digest_of(other) for one, other in pairs)
    circle: list = []
    circle.append(circle)
    assert digest_of(circle) == digest_of(circle)
    assert digest_of(torch.compile(Wave(1.0))) == digest_of(torch.compile(Wave(1.0)))
    assert digest_of(nn.LazyLinear(2)) == digest_of(nn.LazyLinear(2))  # which keeps handles of hooks, with numbers
    before = digest_of(scaled)
    monkeypatch.setattr("tests.test_identity.SCALE", 3.0)
    assert digest_of(scaled) != before


def test_a_digest_is_that_of_every_process():
    code = "from tests.test_identity import *; print([digest_of(one) for pair in OTHERS.values() for one in pair])"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(said) == 1 and digest_of(Wave(0.1)) in said.pop()


def test_functions_of_one_name_are_trained_each_as_itself():
    """All that were compared at once had been the last one; and what was kept under a name, the first."""
    functions = {"sin": lambda x: x.sin(), "zero": lambda x: 0 * x, "a": Wave(0.1), "b": Wave(30.0)}
    data = own.signs()
    given = SHORT | {"side_by_side": "loop"}  # else the faster way is taken, which rounds in its own way
    together = lab.compare(data, own.mlp, nn.GELU, functions, **given, name="told apart")
    for name, function in functions.items():
        alone = lab.compare(own.signs(), own.mlp, nn.GELU, {name: function}, **given)
        rows = together.table[together.table["function"] == name]
        np.testing.assert_allclose(rows["loss"], alone.table["loss"], rtol=1e-5)
        x, y = data.split("test")
        assert F.cross_entropy(together.model(name)(x), y).item() == pytest.approx(rows["loss"].iloc[0], rel=1e-4)
    assert together.table.groupby("function")["loss"].mean().nunique() == 4


def test_a_function_that_is_frozen_is_trained_as_such():
    learns, frozen = nn.PReLU(), nn.PReLU().requires_grad_(False)
    given = (own.signs(), own.mlp, nn.GELU)
    both = lab.compare(*given, {"learns": learns, "frozen": frozen}, **SHORT, name="frozen or not")
    for name, function in {"frozen": frozen, "learns": learns}.items():
        weight = both.model(name)[1].weight
        assert (weight.item() == 0.25) == (name == "frozen") and weight.requires_grad == (name == "learns")
        alone = lab.compare(*given, {name: function}, **SHORT, name=f"{name} alone")
        rows = both.table[both.table["function"] == name]
        np.testing.assert_allclose(rows["loss"], alone.table["loss"], rtol=1e-5)


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_of_weights_are_refused(register):
    """They were left out without a word: weights of all models are trained as one tensor."""

    def hooked(module):
        getattr(next(module.parameters()), register)(lambda _: None)
        return module

    for given, said in (
        ((own.mlp, nn.GELU, {"a": hooked(nn.PReLU())}), r"functions\['a'\] has a hook on its weight 'weight'"),
        ((lambda seed: hooked(own.mlp(seed)), nn.GELU, {"a": None}), r"model\(0\) has a hook on its weight '0.weight'"),
    ):
        with pytest.raises(lab.ArgumentError, match=f"{said}, which training would leave out"):
            lab.compare(own.signs(), *given, **SHORT)


def test_what_was_traced_is_refused():
    with pytest.warns(DeprecationWarning, match="jit.trace"):
        traced = torch.jit.trace(Wave(1.0), torch.ones(2))
    with pytest.raises(lab.ArgumentError, match="cannot be told from others; give the module that was traced"):
        digest_of(nn.Sequential(traced))


def test_settings_of_a_loss_and_a_metric_are_part_of_the_data():
    weights = [None, torch.tensor([1.0, 9.0])]
    ends = [own.signs(loss=nn.CrossEntropyLoss(weight=weight)) for weight in weights]
    assert ends[0].digest != ends[1].digest
    one, other = (own.signs(metrics={"own": times(a)}) for a in (1.0, 2.0))
    assert one.digest != other.digest and own.signs().digest == own.signs(loss="cross_entropy").digest


class Features(nn.Module):
    """Random features that are neither a parameter nor a buffer."""

    def __init__(self, seed):
        super().__init__()
        self.features = torch.randn(6, 16, generator=torch.Generator().manual_seed(seed))
        self.phi, self.out = nn.GELU(), nn.Linear(16, 2)

    def forward(self, x):
        return self.out(self.phi(x @ self.features))


def features(seed):
    torch.manual_seed(seed)
    return Features(seed)


def test_each_seed_has_the_attributes_of_its_own_model():
    data = own.signs()
    result = lab.compare(data, features, nn.GELU, {"GELU": None, "ReLU": nn.ReLU()}, **SHORT | {"seeds": 3})
    x, y = data.split("test")
    for name in result.functions:
        for row in result.table[result.table["function"] == name].itertuples():
            net = result.model(name, row.seed)
            assert torch.equal(net.features, features(row.seed).features)
            assert F.cross_entropy(net(x), y).item() == pytest.approx(row.loss, rel=1e-4)
    assert "one after the other: vmap gives other numbers" in "".join(result.notes)


def test_models_of_other_shapes_or_parts_are_refused_at_any_seed():
    def wide(seed):
        return nn.Sequential(nn.Linear(6, 8 + (seed > 1)), nn.GELU(), nn.Linear(8 + (seed > 1), 2))

    def other(seed):
        return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2), nn.Identity() if seed < 2 else nn.Tanh())

    for make in (wide, other):
        with pytest.raises(lab.ArgumentError, match="model number 3 that `model` makes has other parts or shapes"):
            lab.compare(own.signs(), make, nn.GELU, {"GELU": None}, **SHORT | {"seeds": 3})


def evaluated(seed):
    """An attribute of the seed that counts in evaluation alone."""

    class Scaled(nn.Sequential):
        def forward(self, x):
            return super().forward(x) * (1 if self.training else self.scale)

    net = Scaled(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2))
    net.scale = 1.0 + 10.0 * seed
    return net


def weight_normed(seed):
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 8)), nn.GELU(), nn.Linear(8, 2))


@pytest.mark.parametrize("make", [evaluated, weight_normed])
def test_scores_are_those_of_each_model_in_evaluation(make):
    data = own.signs()
    result = lab.compare(data, make, nn.GELU, {"GELU": None}, **SHORT | {"seeds": 3})
    x, y = data.split("test")
    for row in result.table.itertuples():
        assert F.cross_entropy(result.model("GELU", row.seed)(x), y).item() == pytest.approx(row.loss, rel=1e-4)


def test_weights_that_models_share_are_refused():
    backbone = nn.Linear(6, 8)
    before = backbone.weight.clone()
    with pytest.raises(lab.ArgumentError, match="gives weights that an earlier call has given, too; make them anew"):
        lab.compare(
            own.signs(), lambda seed: nn.Sequential(backbone, nn.GELU(), nn.Linear(8, 2)), nn.GELU, {"a": None}, **SHORT
        )
    assert torch.equal(backbone.weight, before)


def test_what_is_nested_too_deeply_is_said():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(lab.ArgumentError, match="is nested too deeply to be told from others"):
        digest_of(times(deep))


def test_a_metric_that_is_no_number_is_said():
    def spread(outputs, targets):
        return float("nan") if (outputs == outputs[:1]).all() else 1.0

    functions = {"a": None, "zero": lambda x: 0 * x}
    result = lab.compare(own.signs(metrics={"m": spread}), own.mlp, nn.GELU, functions, **SHORT)
    assert result.table.set_index("function")["m"].isna().groupby("function").sum().to_dict() == {"a": 0, "zero": 2}
    assert "m is NaN in 2 of 4 runs, which are left out" in "".join(result.notes)
    assert "none, for m is NaN in all runs of zero that did not diverge" in str(result.difference("zero", "a"))
    never = own.signs(metrics={"m": lambda outputs, targets: float("nan")})
    result = lab.compare(never, own.mlp, nn.GELU, {"a": None, "b": "relu"}, **SHORT)
    assert "m is NaN in 4 of 4 runs" in "".join(result.notes)
    said = str(result.difference("b", "a"))
    assert "none, for m is NaN in all runs of a and b that did not diverge" in said and "lower rate" not in said


def test_a_report_says_how_many_runs_chose_a_rate():
    given = {key: value for key, value in SHORT.items() if key != "rate"} | {"rates": [1e-3, 1e-2], "tuning_seeds": 2}
    result = lab.compare(own.signs(), own.mlp, nn.GELU, {"a": None, "b": "relu", "c": "silu"}, **given)
    assert len(result.tuning_runs) == 12 and "for each the best on val in 4 other runs with it" in result.report()
