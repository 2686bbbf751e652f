"""A small network that was really trained, with its checkpoints: what explorers of landscapes and slices are given."""

import functools

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.nn.utils import parameters_to_vector

from lab import probes
from lab.models.mlp import MLP


@functools.cache
def table():
    """Breast cancer in Wisconsin (scikit-learn's copy): its first eight columns in [-1, 1], classes, column names."""
    data = load_breast_cancer()
    x = torch.from_numpy(data.data[:, :8]).float()
    x = 2 * (x - x.amin(0)) / (x.amax(0) - x.amin(0)) - 1
    return x, torch.from_numpy(data.target), tuple(data.feature_names[:8])


@functools.cache
def trained(phi="relu", steps=60):
    """A perceptron 8-16-16-2 after full-batch Adam, and its checkpoints, (steps / 2, parameters)."""
    x, y, _ = table()
    model = MLP((8, 16, 16, 2), [0], nn.Tanh() if phi == "tanh" else nn.ReLU())
    optimizer, kept = torch.optim.Adam(model.parameters(), lr=0.02), []
    with torch.enable_grad():
        for step in range(steps):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[None])[0], y).backward()
            optimizer.step()
            if step % 2:
                kept.append(parameters_to_vector(model.parameters()).detach().clone())
    return model, torch.stack(kept)


@functools.cache
def found(grid=9):
    """Loss and complexity over the plane of its training."""
    (x, y, _), (model, kept) = table(), trained()
    measures = {"loss": probes.Loss(x, y), "complexity": probes.Variation(x, y, paths=20, samples=30)}
    return probes.landscape(model, measures, "pca", kept, grid=grid)
