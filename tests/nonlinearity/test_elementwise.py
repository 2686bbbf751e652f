"""Functions of one number are taken, what mixes numbers or draws them is refused, wherever such a function is given."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import lab
from lab.errors import ArgumentError
from lab.nonlinearity.functions import MIXING, RANDOM

ELEMENTWISE = {
    "sin": torch.sin,
    "step": lambda x: (x > 0).float(),
    "constant": lambda x: 0 * x + 3,
    "with poles": torch.tan,
    "in place": lambda x: x.relu_(),
    "numpy": lambda x: np.sign(x.numpy()),
    "network": lambda x: (x[..., None] * torch.linspace(-1, 1, 64)).cos().mean(-1),
}
MIXED = {
    "softmax": nn.Softmax(-1),
    "over channels": nn.Softmax(1),
    "of images": nn.Softmax2d(),
    "over the fourth axis": nn.Softmax(3),
    "cumsum": lambda x: x.cumsum(-1),
    "cummax": lambda x: x.cummax(-1).values,
    "mean": lambda x: x - x.mean(),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "largest": lambda x: x / x.abs().max(),
    "order": lambda x: x.sort(-1).values,
    "mirror": lambda x: x.flip(-1),
    "shift": lambda x: x.roll(1, -1),
    "squeeze and excite": lambda x: x * x.mean((2, 3), keepdim=True).sigmoid(),
}
DRAWN = {
    "rand_like": torch.rand_like,
    "noise": lambda x: x + 0.01 * torch.randn_like(x),
    "dropout": nn.Dropout(),
    "of channels": nn.Dropout2d(),
}
SEVERAL_AXES = ("over channels", "of images", "over the fourth axis", "squeeze and excite", "of channels")
KNOTS = (2, 3, 5, 6, 33, 361)


def one_axis(functions):
    return [name for name in functions if name not in SEVERAL_AXES]


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.GELU())


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_functions_of_one_number_are_taken(name):
    f, model, x = ELEMENTWISE[name], net(), torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    for knots in KNOTS:
        phi = lab.Spline.from_function(f, -4.0, 4.0, knots)
        assert torch.equal(phi.values, torch.as_tensor(f(phi.positions)))
    lab.swap(model, nn.GELU, f)
    if name != "numpy":  # which has no gradients
        assert torch.equal(model(x), torch.as_tensor(f(model[0](x))))


@pytest.mark.parametrize(("name", "knots"), [(name, knots) for name in one_axis(MIXED | DRAWN) for knots in KNOTS])
def test_no_spline_is_made_of_what_mixes_or_draws_numbers(name, knots):
    with pytest.raises(ArgumentError, match=f"f {(MIXING if name in MIXED else RANDOM)[:20]}"):
        lab.Spline.from_function((MIXED | DRAWN)[name], -4.0, 4.0, knots)


def test_dropout_in_evaluation_is_the_identity():
    assert lab.Spline.from_function(nn.Dropout().eval(), -1.0, 1.0, 3).values.tolist() == [-1.0, 0.0, 1.0]


def test_a_table_of_values_is_no_function():
    with pytest.raises(ArgumentError, match="not a function of one number"):
        lab.Spline.from_function(lambda x: torch.arange(5.0), knots=5)


@pytest.mark.parametrize("name", MIXED)
def test_swap_refuses_what_mixes_and_changes_nothing(name):
    model = net()
    with pytest.raises(ArgumentError, match=f"phi {MIXING[:20]}"):
        lab.swap(model, nn.GELU, MIXED[name])
    assert isinstance(model[1], nn.GELU)


@pytest.mark.parametrize("name", one_axis(DRAWN))
def test_an_activation_may_be_noisy_in_a_model(name):
    model, x = net(), torch.randn(500, 3)
    lab.swap(model, nn.GELU, DRAWN[name])
    assert model(x).shape == (500, 4) and not torch.equal(model(x), model(x))


def test_what_mixes_can_replace_what_mixes():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Softmax(-1)), torch.randn(5, 3)
    lab.swap(model, nn.Softmax, lambda x: F.normalize(x, dim=-1))
    torch.testing.assert_close(model(x), F.normalize(model[0](x), dim=-1))


@pytest.mark.parametrize(
    "phi",
    [nn.RReLU(), nn.PReLU(4), nn.LayerNorm(4), lambda x: x[..., :2] * x[..., 2:]],
    ids=["RReLU", "PReLU", "norm", "gate"],
)
def test_torchs_activations_modules_with_weights_and_other_shapes_are_left_to_the_model(phi):
    model = net()
    assert lab.swap(model, nn.GELU, phi) == ["1"]
    model(torch.randn(5, 3))


@pytest.mark.parametrize(("given", "said"), [(nn.Softmax(-1), MIXING), (nn.Dropout(), RANDOM)], ids=["mixes", "draws"])
def test_no_function_of_a_model_of_the_labs_is_made_of_it(given, said, store_folder):
    with pytest.raises(ArgumentError, match=f"mlp: a {type(given).__name__} {said[:20]}"):
        lab.train("memorize", mlp=given, scale="smoke", progress=False)
    assert not list(store_folder.rglob("*.json"))


def test_nothing_is_compared_with_what_mixes(store_folder):
    data = lab.Data.from_arrays(np.zeros((40, 3)), np.arange(40) % 2)
    with pytest.raises(ArgumentError, match=f"functions.'it'.: phi {MIXING[:20]}"):
        lab.compare(
            data,
            lambda seed: nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)),
            nn.GELU,
            {"it": nn.Softmax(-1)},
            seeds=1,
            progress=False,
        )
    assert not list(store_folder.rglob("*.json"))
