"""Costs are times of what was asked for: of the work done, in turn, forward and backward."""

import time

import pytest
import torch

import lab
from lab.errors import ArgumentError
from lab.probes.cost import Listing1, cost


class Sleeper(torch.nn.Module):
    """Takes its time; notes what it was given."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds, self.seen = seconds, []

    def forward(self, x):
        self.seen.append(x.detach().clone())
        time.sleep(self.seconds)
        return 2 * x


def test_times_are_those_that_functions_take():
    slow, slower = Sleeper(0.01), Sleeper(0.03)
    found = cost({"slow": slow, "slower": slower}, elements=10, repeats=4)
    assert found.seconds.shape == (2, 4) and len(slow.seen) == len(slower.seen) == 6  # two rounds to get warm
    assert (found.seconds[0] >= 0.01).all() and (found.seconds[1] >= 0.03).all()
    assert found.ratio("slower", "slow") > 1 and found.ratio("slow", "slow") == 1
    assert all(torch.equal(x, slow.seen[0]) for x in slow.seen + slower.seen), "one input for all"


def test_functions_take_turns():
    order = []
    functions = {name: lambda x, name=name: order.append(name) or x * 2 for name in "abc"}
    cost(functions, elements=1, repeats=3)
    assert order == list("abc") * 5


@pytest.mark.parametrize("learnable", [False, True])
def test_the_backward_pass_is_timed_to_the_input_and_to_what_learns(learnable):
    class Noting(torch.autograd.Function):
        wanted = []

        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, grad):
            Noting.wanted.append(ctx.needs_input_grad)
            return grad, grad.sum()

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.tensor(1.0), requires_grad=learnable)

        def forward(self, x):
            return Noting.apply(x, self.w)

    module = Module()
    cost({"m": module}, elements=3, repeats=1)
    assert Noting.wanted == [(True, learnable)] * 3 and module.w.grad is None
    assert cost({"m": module}, elements=3, repeats=1, backward=False).backward is False
    assert len(Noting.wanted) == 3, "forward only"


def test_listing_1_is_the_same_function():
    """In float64: in float32 Listing 1 takes the spacing from knots near 20, whose difference has five digits left."""
    phi = lab.zoo("transformers/memorize").double().requires_grad_()
    x, listing = torch.linspace(-25, 25, 4001, dtype=torch.float64), Listing1(phi)
    torch.testing.assert_close(listing(x), phi(x), rtol=1e-9, atol=1e-12)
    weights = torch.linspace(0, 1, len(x), dtype=torch.float64)
    (listing(x) * weights).sum().backward()
    (phi(x) * weights).sum().backward()
    torch.testing.assert_close(listing.values.grad, phi.values.grad, rtol=1e-9, atol=1e-9)
    with pytest.raises(ArgumentError, match="has 2 functions; give one of them"):
        Listing1(lab.Spline(torch.zeros(2, 5)))


@pytest.mark.parametrize(
    ("more", "said"),
    [({"functions": {}}, "no functions"), ({"elements": 0}, "elements=0"), ({"repeats": 0}, "repeats=0")],
    ids=str,
)
def test_nothing_to_measure_is_said(more, said):
    with pytest.raises(ArgumentError, match=said):
        cost(**{"functions": {"relu": torch.relu}} | more)
