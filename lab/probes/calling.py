"""Calling a model on many points: in batches, whatever framework it is written in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.probes.weights import runs_of

Points = np.ndarray | Tensor
Model = Callable[[Points], Points]
BATCH = 4096  # points that a model is given at once: what bounds the memory of a probe


def values(f: Model, points: np.ndarray, like: object) -> np.ndarray:
    """f at points (N, inputs): (N, outputs), in the type that f answers in.

    f: a model with one or more outputs, (N, inputs) → (N,) or (N, outputs), called in the mode that it is in. A module
    receives tensors of the type and device of its parameters; any other callable what `like`, the points that the
    user gave, is: tensors of the same type and device, or arrays. Values that are not finite are refused.
    """
    parts = [points[start : start + BATCH] for start in range(0, len(points), BATCH)]
    with torch.no_grad():
        found = np.concatenate([_array(f(_given(f, part, like)), len(part)) for part in parts])
    if lost := int((~np.isfinite(found)).any(1).sum()):
        raise ArgumentError(f"the function is not finite at {lost} of {len(found)} points; give a model that is")
    return found


class Alone(nn.Module):
    """The one run of a model with a run axis, as a function of points (N, inputs) → (N, outputs)."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """The run's output."""
        return self.model(x[None])[0]


def function_of(model: object) -> Model:
    """What can be called on points: of a network with a run axis its one run, of an estimator its probabilities, else
    its decision function, else its prediction; any other callable itself.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> function_of(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))(np.array([[0.9]])).tolist()
    [[0.0, 1.0]]
    """
    if isinstance(model, nn.Module):
        return Alone(model) if runs_of(model) == 1 else model
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, name):
            return getattr(model, name)
    if not callable(model):
        raise ArgumentError(f"{model!r} cannot be called on points; give a module, an estimator or a function")
    return model


def coordinates(points: object, dimensions: int, name: str) -> np.ndarray:
    """Points as a float64 array with this number of dimensions, each number finite."""
    found = points.detach().cpu().double().numpy() if isinstance(points, Tensor) else np.asarray(points, np.float64)
    if found.ndim != dimensions or not found.size:
        shape = ("(inputs,)", "(points, inputs)")[dimensions - 1]
        raise ArgumentError(f"{name} has shape {found.shape}; give numbers of shape {shape}")
    if not np.isfinite(found).all():
        raise ArgumentError(f"{name} has numbers that are not finite; give finite ones")
    return found


def _given(f: Model, points: np.ndarray, like: object) -> Points:
    model = next(f.parameters(), torch.empty(0)) if isinstance(f, nn.Module) else like
    if not isinstance(model, Tensor):
        return points
    kind = model.dtype if model.is_floating_point() else torch.get_default_dtype()
    return torch.from_numpy(points).to(model.device, kind)


def _array(answer: object, count: int) -> np.ndarray:
    if isinstance(answer, Tensor):  # numpy has no bfloat16
        answer = answer.detach().cpu()
        answer = (answer.float() if answer.dtype in (torch.bfloat16, torch.float16) else answer).numpy()
    found = np.asarray(answer)
    if found.ndim == 0 or len(found) != count or found.ndim > 2:
        raise ArgumentError(
            f"the function gave shape {found.shape} for {count} points; it must be ({count},) or ({count}, outputs)"
        )
    if not np.issubdtype(found.dtype, np.floating):
        found = found.astype(np.float64)  # classes of a classifier, True and False
    return found.reshape(count, -1)
