"""Models inside torch.compile, DataParallel and their like, whose names stand in the names of all that is inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from lab.errors import ArgumentError

WRAPPERS = {  # of torch, and the name of what is inside
    "OptimizedModule": "_orig_mod",  # torch.compile
    **dict.fromkeys(("DataParallel", "DistributedDataParallel", "AveragedModel"), "module"),
    "CheckpointWrapper": "_checkpoint_wrapped_module",
}
SHARDED = ("FullyShardedDataParallel",)


@contextmanager
def without_wrappers(model: nn.Module) -> Iterator[nn.Module]:
    """Within the block the model as `unwrapped`; then wrapped as it was.

    >>> with without_wrappers(nn.DataParallel(nn.Sequential(nn.Linear(1, 1)))) as plain:
    ...     list(plain.state_dict())
    ['0.weight', '0.bias']
    """
    changed: list[tuple[nn.Module, str, nn.Module]] = []
    try:
        yield unwrapped(model, changed)
    finally:
        for parent, name, child in changed:
            parent._modules[name] = child


def unwrapped(model: nn.Module, changed: list[tuple[nn.Module, str, nn.Module]] | None = None) -> nn.Module:
    """The model without wrappers around it or, in the model itself, around its parts. ArgumentError for a wrapper that
    keeps parts of weights. changed: gets parents, names and wrappers.

    >>> type(unwrapped(nn.DataParallel(nn.Linear(1, 1)))).__name__
    'Linear'
    """
    plain = _inside(model)
    for parent in list(plain.modules()):
        for name, child in list(parent._modules.items()):
            if child is not None and (inner := _inside(child)) is not child:
                parent._modules[name] = inner
                if changed is not None:
                    changed.append((parent, name, child))
    return plain


def _inside(module: nn.Module) -> nn.Module:
    kind = type(module).__name__
    if kind in SHARDED:
        raise ArgumentError(f"the model is wrapped by {kind}, which keeps parts of weights; give the module inside it")
    inner = module._modules.get(WRAPPERS[kind]) if kind in WRAPPERS else None
    return module if inner is None else _inside(inner)
