"""Training does not depend on what a notebook has set for all of torch."""

from contextlib import contextmanager

import pytest
import torch
from torch import nn

import lab
from lab.store import Store
from lab.training.fleet import torch_defaults
from tests.training import own


@contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    yield
    torch.set_default_dtype(before)


@contextmanager
def no_gradients():
    torch.set_grad_enabled(False)
    yield
    torch.set_grad_enabled(True)


SETTINGS = {
    "no gradients": no_gradients,
    "inference": torch.inference_mode,
    "float64": lambda: default_dtype(torch.float64),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "another device": lambda: torch.device("meta"),
    "anomalies": lambda: torch.autograd.detect_anomaly(check_nan=True),
}


def models(folder):
    data, given = DATA, {"steps": 4, "progress": False, "side_by_side": "loop"}
    result = lab.compare(data, own.mlp, nn.GELU, {"a": None, "b": nn.Softplus()}, seeds=1, **given)
    found = lab.search(data, model=own.mlp, replace=nn.GELU, models=2, **given)
    restarts = lab.search(data, model=own.mlp, replace=nn.GELU, by="episodes", episodes=2, restarts=1, **given)
    return lambda: [*result.model("b").parameters(), found.spline.values, restarts.spline.values]


def runs(folder):
    trained = [lab.train(task, seeds=1, scale="smoke", store=Store(folder), progress=False)[0] for task in TASKS]
    return lambda: [tensor for run in trained for _, tensor in sorted(run._stored[1].items())]


TASKS, DATA = ("memorize", "ab mod 5"), own.signs()


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return {call: [t.detach().clone() for t in call(tmp_path_factory.mktemp("usual"))()] for call in (models, runs)}


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("call", [models, runs])
def test_the_same_bits_whatever_is_set(call, name, usual, tmp_path):
    with SETTINGS[name]():
        state = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_default_device()
        trained = call(tmp_path)
        assert (torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_default_device()) == state
    for one, other in zip(trained(), usual[call], strict=True):
        assert one.dtype == other.dtype and one.device == other.device and bool((one.detach() == other).all())


@contextmanager
def old_setting():
    torch.set_float32_matmul_precision("medium")
    yield torch.get_float32_matmul_precision
    torch.set_float32_matmul_precision("highest")


@contextmanager
def new_setting():
    places = (torch.backends.mkldnn.matmul, torch.backends.cuda.matmul)
    for place, word in zip(places, ("bf16", "tf32"), strict=True):
        place.fp32_precision = word
    yield lambda: [place.fp32_precision for place in places]
    for place in places:
        place.fp32_precision = "none"


@pytest.mark.parametrize("setting", [old_setting, new_setting])
def test_products_are_of_float32_whatever_is_set(setting):
    if setting is new_setting and not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        pytest.skip("torch has it from 2.9 on")
    a = torch.randn(256, 256, generator=torch.Generator().manual_seed(0))
    usual = a @ a
    with setting() as state:
        before = state()
        with torch_defaults():
            assert torch.equal(a @ a, usual) and torch.get_float32_matmul_precision() == "highest"
        assert state() == before
