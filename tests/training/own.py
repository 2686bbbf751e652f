"""Small models and data of a user's, for tests."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

from lab.data import Data
from lab.nonlinearity.spline import Spline

NUMBERS = np.random.default_rng(0).normal(size=(240, 6)).astype(np.float32)


def signs(**given):
    """Whether the product of three numbers is positive; nothing that a linear model could tell."""
    return Data.from_arrays(NUMBERS, (NUMBERS[:, :3].prod(1) > 0).astype(int), name="signs", **given)


def images():
    return Data.from_arrays(NUMBERS[:, None].repeat(6, 1)[:, None], np.arange(240) % 3, name="images")


def sequences():
    words = np.random.default_rng(1).integers(0, 7, (240, 5))
    return Data.from_arrays(words, words.sum(1) % 2, name="sums")


def song():
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / "song.txt").write_text("la la li " * 80)
        return Data.from_text(path, context=16)


def mlp(seed):
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2))


def norms(seed):
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(64, 3, bias=False)
    )


def dropout(seed):
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.3), nn.Linear(16, 2))


class Reader(nn.Module):
    """An LSTM with a learnable start that two places share."""

    def __init__(self):
        super().__init__()
        self.words, self.memory = nn.Embedding(7, 6), nn.LSTM(6, 6, batch_first=True)
        self.act, self.out = nn.GELU(), nn.Linear(6, 2)

    def forward(self, x):
        return self.out(self.act(self.memory(self.words(x))[0][:, -1]))


def reader(seed):
    return Reader()


class Letters(nn.Module):
    """The letter that follows each of a text, from three letters: the last ones, or one of them the following."""

    def __init__(self, size, causal, classes_last=True):
        super().__init__()
        self.words, self.mix, self.act = nn.Embedding(size, 8), nn.Conv1d(8, 8, 3), nn.GELU()
        self.out, self.padding = nn.Linear(8, size), (2, 0) if causal else (1, 1)
        self.classes_last = classes_last

    def forward(self, x):
        columns = self.mix(nn.functional.pad(self.words(x).transpose(1, 2), self.padding))
        logits = self.out(self.act(columns).transpose(1, 2))
        return logits if self.classes_last else logits.transpose(1, 2)


class Fourier(nn.Module):
    """Complex weights, and real ones."""

    def __init__(self):
        super().__init__()
        self.waves, self.act, self.out = nn.Parameter(torch.randn(6, 8, dtype=torch.cfloat)), nn.GELU(), nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.act((x.to(torch.cfloat) @ self.waves).real))


def fourier(seed):
    return Fourier()


class Attending(nn.Module):
    """A decoder with its mask of -inf among the buffers."""

    def __init__(self):
        super().__init__()
        self.words, self.mix, self.act, self.out = nn.Embedding(7, 6), nn.Linear(6, 18), nn.GELU(), nn.Linear(6, 2)
        self.register_buffer("mask", torch.triu(torch.full((5, 5), float("-inf")), 1))

    def forward(self, x):
        q, k, v = self.mix(self.words(x)).chunk(3, -1)
        return self.out(self.act((q @ k.mT + self.mask).softmax(-1) @ v))[:, -1]


def attending(seed):
    return Attending()


class Projecting(nn.Module):
    """What is drawn and does not learn: a buffer and a frozen weight."""

    def __init__(self):
        super().__init__()
        self.register_buffer("drawn", torch.randn(6, 12))
        self.frozen = nn.Parameter(torch.randn(12), requires_grad=False)
        self.act, self.out = nn.GELU(), nn.Linear(12, 2)

    def forward(self, x):
        return self.out(self.act(x @ self.drawn + self.frozen))


def projecting(seed):
    return Projecting()


class Features(nn.Module):
    """What is drawn is an attribute, neither parameter nor buffer."""

    def __init__(self):
        super().__init__()
        self.drawn, self.act, self.out = torch.randn(6, 12), nn.GELU(), nn.Linear(12, 2)

    def forward(self, x):
        return self.out(self.act(x @ self.drawn))


def features(seed):
    return Features()


def splined(seed):
    """A spline that is the user's stands before the activation."""
    fixed = Spline.from_function(torch.sin, -3, 3, 13)
    return nn.Sequential(nn.Linear(6, 8), fixed, nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2))


class Centred(nn.Module):
    """Buffers that are assigned anew: a running mean, of which evaluation makes use, and a number of steps."""

    def __init__(self):
        super().__init__()
        self.layer, self.act, self.out = nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2)
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        h = self.layer(x)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * h.mean(0).detach()
            self.steps = self.steps + 1
        return self.out(self.act(h - self.mean) * self.steps.clamp(max=10) / 10)


def centred(seed):
    return Centred()


class Annealed(nn.Module):
    """Counts its steps in an attribute."""

    def __init__(self):
        super().__init__()
        self.layer, self.act, self.out, self.steps = nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2), 0

    def forward(self, x):
        self.steps += self.training
        return self.out(self.act(self.layer(x))) * min(1.0, self.steps / 10)


class Listing(Annealed):
    """Counts them by what a list has, and draws from a generator of its own."""

    def __init__(self):
        super().__init__()
        self.seen, self.chance = [], torch.Generator().manual_seed(7)

    def forward(self, x):
        if self.training:
            self.seen.append(None)
            x = x + 0.1 * torch.randn(x.shape[-1:], generator=self.chance)
        return self.out(self.act(self.layer(x))) * min(1.0, len(self.seen) / 10)


def listing(seed):
    return Listing()


def annealed(seed):
    return Annealed()


class Branching(nn.Module):
    """Which way it goes depends on the data; one layer and one activation stand in two places, two weights are tied."""

    def __init__(self):
        super().__init__()
        self.act, self.layer, self.out = nn.GELU(), nn.Linear(6, 6), nn.Linear(6, 2)
        self.again, self.other = self.layer, nn.Linear(6, 6)
        self.other.weight = self.layer.weight

    def forward(self, x):
        if x.mean() > 100:
            return self.out(x)
        return self.out(self.act(self.again(self.act(self.layer(x)))) + self.other(x))


def branching(seed):
    return Branching()


class Tied(Branching):
    def forward(self, x):
        return self.out(self.act(self.again(self.act(self.layer(x)))) + self.other(x))


def tied(seed):
    return Tied()


def seeded(make, seed):
    """What the user has without the lab: a seed, then the model."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make(seed)
