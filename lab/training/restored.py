"""A trained model, from what the store has of its run."""

from __future__ import annotations

from torch import Tensor, nn

from lab.resolve import resolve
from lab.spec import RunSpec, key
from lab.store import Store
from lab.training.fleet import build, model_of


def restored(spec: RunSpec, store: Store, stored: dict[str, Tensor] | None = None) -> nn.Module:
    """The model of a run, with a run axis of length 1. stored: its weights, where they have been read."""
    if stored is None:
        stored = store.load(spec)[1]
    modules = [build([resolve(part, store)]) for part in spec.model.parts.values()]
    model = model_of([spec], modules)
    weights = {name: weight for name, weight in stored.items() if name != "trajectory"}
    absent, unexpected = model.load_state_dict(weights, strict=False)
    names = {name for name, _ in model.named_parameters()}  # tied weights under their first name
    missing = [name for name in absent if name in names and "phi" not in name.split(".")]
    if unexpected or missing:
        raise ValueError(
            f"run {key(spec)}: its weights do not fit its spec (missing {missing}, unexpected {unexpected})"
        )
    return model.requires_grad_(False)
