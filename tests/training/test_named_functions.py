"""Named functions in the lab's own models: runs side by side learn what each learns alone; gates; what is refused."""

import pytest
import torch
from torch import nn

import lab
from lab.errors import ArgumentError
from lab.models.small_language import SmallLanguageModel, Stacked
from lab.training.fleet import build
from lab.training.optimizers import decaying

FEW = {"scale": "smoke", "progress": False}


@pytest.mark.parametrize("name", ["prelu", "xielu", "rational", "polynorm", "bspline"])
@pytest.mark.parametrize("task", ["addmod", "ab mod 5"])
def test_each_run_has_and_learns_its_own_parameters(name, task, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "together"))
    runs = lab.train(task, mlp=name, seeds=2, **FEW)
    first, second = (dict(run.model().named_parameters()) for run in runs)
    own = [weight for weight in first if "phi" in weight.split(".")]
    assert own and all(not torch.equal(first[weight], second[weight]) for weight in own)
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "alone"))
    alone = lab.train(like=runs[1], progress=False)[0]
    for weight, value in alone.model().named_parameters():
        torch.testing.assert_close(value, second[weight], rtol=1e-4, atol=1e-5)


def test_a_gate_makes_a_gated_model_of_as_many_weights_and_is_refused_elsewhere():
    run = lab.train("addmod", mlp="geglu", seeds=1, **FEW)[0]
    assert run.spec.model.gated and run.spec.model.mlp == "gelu"
    cases = {
        "table": lambda: lab.train("ab mod 5", mlp="swiglu", seeds=1, **FEW),
        "attention": lambda: lab.train("addmod", attention="swiglu", seeds=1, **FEW),
        "swap": lambda: lab.swap(nn.Sequential(nn.Linear(1, 1), nn.GELU()), nn.GELU, "swiglu"),
        "check": lambda: lab.check("swiglu"),
    }
    for name, call in cases.items():
        with pytest.raises(ArgumentError, match="'swiglu' is a gate.*give 'silu'") as caught:
            call()
        assert "\n" not in str(caught.value), name
    with pytest.raises(ArgumentError, match="'kan' is a layer"):
        lab.train("addmod", mlp="kan", seeds=1, **FEW)


def test_what_a_named_function_learns_does_not_decay():
    phi = build(["rational", "rational"], SmallLanguageModel(activation="rational"))
    model = nn.ModuleDict({"phi": phi, "up": nn.Linear(2, 2)})
    assert decaying(model) == [False, False, True, False]


def test_stacked_models_give_each_run_its_own_function():
    phi = build(["xielu", "xielu"])
    phi.alpha_p.data.copy_(torch.tensor([0.0, 1.0]))
    models = [nn.Sequential(nn.Linear(3, 4), phi) for _ in range(2)]
    x = torch.randn(2, 5, 3)
    stacked = Stacked(models, phi)
    y = stacked(x)
    for run in range(2):
        alone = lab.nonlinearity.functions.named("xielu")
        alone.alpha_p.data.copy_(phi.alpha_p[run])
        weight, bias = stacked.model[0].weight[run], stacked.model[0].bias[run]
        torch.testing.assert_close(y[run], alone(x[run] @ weight.T + bias))
