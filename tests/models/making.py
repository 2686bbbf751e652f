"""Small models with weights of ordinary size: at 0.02, where training starts, mistakes would hide."""

import torch

from lab.models.transformer import Transformer
from lab.nonlinearity.spline import Spline
from lab.spec import ModelSpec

VOCABULARY, LENGTH = 11, 9


def shaken(module, seed=0, scale=0.5):
    """The module with all its weights drawn anew from N(0, scale²), each run's from a seed of its own."""
    with torch.no_grad():
        for parameter in module.parameters():
            for run, part in enumerate(parameter):
                part.normal_(0, scale, generator=torch.Generator().manual_seed(100 * seed + run))
    return module


def wavy(*shape, seed=7):
    """Splines with negative and positive values on [-4, 4]."""
    return Spline(torch.randn(shape, generator=torch.Generator().manual_seed(seed)), -4.0, 4.0)


def decoder(runs=1, mlp=None, attention=None, dtype=torch.float64, **shape):
    """A shaken transformer of width 8 with 2 heads."""
    spec = ModelSpec(**{"layers": 2, "heads": 2, "width": 8} | shape)
    model = Transformer(spec, VOCABULARY, LENGTH, list(range(runs)), mlp or torch.nn.GELU(), attention)
    phi = [p for name, p in model.named_parameters() if "phi" in name]
    before = [p.detach().clone() for p in phi]
    shaken(model)
    with torch.no_grad():
        for parameter, value in zip(phi, before, strict=True):
            parameter.copy_(value)  # the non-linearity is not a weight
    return model.to(dtype), spec


def words(runs, batch=3, length=LENGTH, seed=0):
    """Random tokens (runs, batch, length)."""
    return torch.randint(VOCABULARY, (runs, batch, length), generator=torch.Generator().manual_seed(seed))
