"""Small models with weights of ordinary size: at 0.02, where training starts, mistakes would hide."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lab.models.layers import Rotary
from lab.models.transformer import Transformer
from lab.nonlinearity.spline import Spline
from lab.spec import ModelSpec

VOCABULARY, LENGTH = 11, 9


def shaken(module, seed=0, scale=0.5):
    """The module with its weights, not its splines, drawn anew from N(0, scale²), each run's from its own seed."""
    learned = {id(p) for part in module.modules() if isinstance(part, Spline) for p in part.parameters()}
    weights = [parameter for parameter in module.parameters() if id(parameter) not in learned]
    generators = [torch.Generator().manual_seed(100 * seed + run) for run in range(len(weights[0]))]
    with torch.no_grad():
        for weight in weights:
            for part, generator in zip(weight, generators, strict=True):
                part.normal_(0, scale, generator=generator)
    return module


def wavy(*shape, seed=7):
    """Splines with negative and positive values on [-4, 4]."""
    return Spline(torch.randn(shape, generator=torch.Generator().manual_seed(seed)), -4.0, 4.0)


def decoder(runs=1, mlp=None, attention=None, dtype=torch.float64, **shape):
    """A shaken transformer of width 8 with 2 heads."""
    spec = ModelSpec(**{"layers": 2, "heads": 2, "width": 8} | shape)
    model = Transformer(spec, VOCABULARY, LENGTH, list(range(runs)), mlp or torch.nn.GELU(), attention)
    return shaken(model).to(dtype), spec


def words(runs, batch=3, length=LENGTH, seed=0):
    """Random tokens (runs, batch, length)."""
    return torch.randint(VOCABULARY, (runs, batch, length), generator=torch.Generator().manual_seed(seed))


class Largest(TorchDispatchMode):
    """The numbers of the largest tensor that any operation gives, forward and backward."""

    numbers = 0

    def __torch_dispatch__(self, function, types, given=(), named=None):
        found = function(*given, **(named or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor)]
        self.numbers = max(self.numbers, *sizes, 0)
        return found


def rotary(length, width):
    """Rotary positions whose tables are not rounded."""
    made, turns = Rotary(length, width), 10_000.0 ** (-torch.arange(width // 2, dtype=torch.float64) / (width // 2))
    angles = torch.arange(length, dtype=torch.float64)[:, None] * turns
    made.cosine, made.sine = angles.cos(), angles.sin()
    return made
