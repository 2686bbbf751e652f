"""Layers with a run axis: each run is the torch.nn layer with that run's weights."""

import pytest
import torch
import torch.nn.functional as F

from lab.models.layers import Embedding, Linear, Norm
from tests.models.making import shaken

RUNS = pytest.mark.parametrize("runs", [1, 3])


def draw(*shape):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@RUNS
@pytest.mark.parametrize("inner", [(5,), (4, 5), (2, 4, 5)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_linear(runs, inner, bias):
    layer = shaken(Linear(runs, 6, 7, bias)).double()
    x = draw(runs, *inner, 6)
    wanted = [F.linear(x[r], layer.weight[r].T, layer.bias[r, 0] if bias else None) for r in range(runs)]
    torch.testing.assert_close(layer(x), torch.stack(wanted))
    assert all(len(parameter) == runs for parameter in layer.parameters())


@RUNS
def test_norm(runs):
    layer = shaken(Norm(runs, 6)).double()
    x = draw(runs, 2, 5, 6) * 3 + 1
    wanted = [F.layer_norm(x[r], (6,), layer.weight[r], layer.bias[r]) for r in range(runs)]
    torch.testing.assert_close(layer(x), torch.stack(wanted))


@RUNS
def test_embedding(runs):
    layer = shaken(Embedding(runs, 7, 4)).double()
    index = torch.randint(7, (runs, 3, 5), generator=torch.Generator().manual_seed(0))
    assert torch.equal(layer(index), torch.stack([F.embedding(index[r], layer.weight[r]) for r in range(runs)]))
    layer(index)[-1].sum().backward()
    assert (layer.weight.grad[:-1] == 0).all()
    counts = index[-1].flatten().bincount(minlength=7)
    assert torch.equal(layer.weight.grad[-1], counts[:, None].expand(7, 4).double())
