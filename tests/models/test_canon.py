"""Canon layers: torch's depthwise causal convolution plus the residual, run by run."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lab.models.canon import KERNEL, Canon
from tests.models.making import shaken


@pytest.mark.parametrize("tokens", [1, 2, 3, 4, 5, 9])
def test_canon_is_a_padded_depthwise_convolution_and_a_residual(tokens):
    runs, width = 2, 6
    layer = shaken(Canon(runs, width)).double()
    x = torch.randn(runs, 3, tokens, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    got = layer(x)
    for run in range(runs):
        convolution = nn.Conv1d(width, width, KERNEL, groups=width, bias=False, dtype=torch.float64)
        with torch.no_grad():  # Conv1d's last tap is the token itself
            convolution.weight.copy_(layer.weight[run].flip(0).T[:, None])
        y = x[run] + convolution(F.pad(x[run].mT, (KERNEL - 1, 0))).mT
        torch.testing.assert_close(got[run], y)


def test_a_token_sees_itself_and_three_before():
    layer = shaken(Canon(1, 2)).double()
    x = torch.zeros(1, 1, 9, 2, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(layer(x)[0, 0, 6].sum(), x)
    assert gradient[0, 0].any(-1).tolist() == [t in (3, 4, 5, 6) for t in range(9)]
