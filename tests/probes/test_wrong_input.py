"""Whatever a probe is given that it cannot use, it says so in one line that names the argument."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from lab.models.mlp import MLP
from lab.probes.cost import cost
from lab.probes.portrait import portrait, variation
from lab.probes.profile import counts, profile, received
from lab.probes.wave import wave
from lab.tasks import Text
from tests.models.making import decoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
LABELS = np.arange(40) % 2
GROUPS = np.arange(40) // 2
NET = nn.Linear(3, 2).requires_grad_(False)
SCORES = torch.rand(6, 2, 4, 4)
SLICE = probes.slice_2d(lambda x: x[:, 0], np.zeros(3), dims=(0, 2), grid=3)
HAT = profile(torch.tanh, -1.0, 1.0, 5)
AXIS = np.linspace(-1, 1, 20)


class Probable(nn.Module):
    """A language model to which all of 57 tokens are equally probable."""

    def forward(self, tokens):
        return torch.zeros(*tokens.shape, 57)


TEXT = Text("moby_dick", context=8)
NO_TEXT = {"None": None, "name": "moby_dick", "number": 3}
NO_WORDS = {"None": None, "number": 3, "list": ["Call"], "nothing": ""}


class Tokens(nn.Module):
    """A model that reads token ids, as language models do."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 4)

    def forward(self, ids):
        return self.table(ids).mean(1)


class Fused(nn.Module):
    def attention_scores(self, inputs, normalized=True):
        return None


def broken(x):
    raise RuntimeError("something\nwent wrong\n" + "far " * 100)


def with_nan(x):
    x = np.array(x, dtype=float)
    x.flat[1] = np.nan
    return x


# What no array can be made of, and arrays that no probe of numbers can use.
NO_ARRAY = {
    "None": None,
    "text": "abc",
    "function": np.sin,
    "class": nn.Linear,
    "object": object(),
    "dict": {"a": 1},
    "module": NET,
    "generator": (i for i in range(3)),
}
NO_NUMBERS = NO_ARRAY | {
    "words": np.array(["a", "b"]),
    "ragged": [[1.0, 2.0], [3.0]],
    "empty": np.zeros((0, 3)),
    "complex": X + 1j,
    "complex tensor": torch.complex(torch.ones(40, 3), torch.ones(40, 3)),
    "objects": np.array([[object()] * 3] * 40),
    "NaN": with_nan(X),
    "infinite": np.full((40, 3), np.inf),
    "number": 3.0,
    "four axes": np.zeros((2, 0, 2, 2)),
    "None inside": [[1.0, None, 2.0]] * 40,
    "dates": np.full((40, 3), np.datetime64("2020-01-01")),
}
NO_LABELS = {
    "text": "abc",
    "function": np.sin,
    "short": LABELS[:-1],
    "three axes": np.zeros((40, 1, 1)),
    "NaN": with_nan(LABELS),
    "None inside": [None, *LABELS[1:]],
    "mixed": np.array(["a", *LABELS[1:]], dtype=object),
    "empty": [],
    "object": object(),
    "complex": LABELS + 1j,
}
NO_COUNT = {
    "None": None,
    "text": "5",
    "fraction": 2.5,
    "negative": -1,
    "True": True,
    "array": np.ones(3),
    "NaN": np.nan,
    "function": np.sin,
}
NO_NUMBER = {"text": "1", "NaN": np.nan, "infinite": np.inf, "complex": 1j, "array": np.ones(3), "negative": -1.0}
NO_FLAG = {"None": None, "text": "no", "number": 2}
NO_MODEL = {"None": None, "text": "gpt2", "number": 3.0, "list": [NET], "class": nn.Linear, "array": X}
NO_FUNCTION = {"None": None, "text": "gelu", "number": 3.0, "array": X}
BAD_FUNCTION = {
    "breaks": broken,
    "gives None": lambda x: None,
    "gives text": lambda x: "abc",
    "gives too few": lambda x: x[:1],
    "gives one": lambda x: 1.0,
    "gives a dict": lambda x: {"logits": x},
    "complex": lambda x: x[:, 0] + 1j,
    "not finite": lambda x: x[:, 0] * np.nan,
    "reads tokens": Tokens(),
    "reads five inputs": nn.Linear(5, 1),
    "two runs": MLP((3, 2), [0, 1], nn.ReLU()),
    "gives words": lambda x: np.array(["a"] * len(x)),
    "gives nothing": lambda x: x[:, :0],
}
ANY_FUNCTION = NO_FUNCTION | {"class": nn.Linear} | BAD_FUNCTION

PATHS = {
    "points": NO_NUMBERS,
    "labels": NO_LABELS | {"one label": np.zeros(40)},
    "paths": NO_COUNT,
    "samples": NO_COUNT | {"two": 2},
    "seed": NO_COUNT,
}
CODES = NO_NUMBERS | {"vector": np.zeros(40)}

# By probe: a call that is right, and for each argument what it must refuse.
GRID = {
    probes.latent_codes: (
        {"model": SCORES, "query": -1, "key": -1},
        {
            "model": NO_ARRAY
            | {
                "number": 3.0,
                "no layers": [],
                "codes": X,
                "words": np.array(["a"]),
                "complex": SCORES + 1j,
                "list of text": ["a", "b"],
                "layers of other sizes": [SCORES, SCORES[:3]],
                "empty": SCORES[:0],
                "breaks": Fused(),
                "class": nn.Transformer,
            },
            "layer": {"None": None, "text": "last", "fraction": 1.5, "outside": 7, "True": True, "list": [0]},
            "query": {
                "None": None,
                "text": "last",
                "fraction": 0.5,
                "outside": 9,
                "one too few": [0] * 5,
                "words": ["a"] * 6,
                "NaN": np.nan,
                "True": True,
                "complex": 1j,
            },
            "key": {"None": None, "outside": -9, "object": object(), "ragged": [[0], [0, 1]]},
            "run": {"no run axis": 5, "None": None, "text": "first", "fraction": 0.5, "True": True},
            "normalized": NO_FLAG,
            "batch": NO_COUNT | {"zero": 0},
        },
    ),
    probes.codes_by_layer: ({"model": [SCORES]}, {"model": NO_ARRAY, "run": {"no run axis": 1}}),
    probes.embed: (
        {"codes": X, "method": "pca"},
        {
            "codes": CODES | {"all the same": np.ones((40, 3)), "one": np.ones((1, 3))},
            "method": {"None": None, "unknown": "mds", "number": 3, "list": ["pca"]},
            "seed": NO_COUNT | {"huge": 2**40},
            "neighbours": NO_COUNT | {"too many": 20},
        },
    ),
    probes.decode: (
        {"codes": X, "labels": LABELS, "groups": GROUPS, "shuffles": 1, "resamples": 2},
        {
            "codes": CODES,
            "labels": NO_LABELS | {"None": None, "numbers as columns": X, "one class": np.zeros(40)},
            "groups": NO_LABELS | {"one group": np.zeros(40)},
            "seed": NO_COUNT,
            "shuffles": NO_COUNT,
            "resamples": NO_COUNT,
            "held_out": NO_NUMBER | {"None": None, "nothing": 0, "all": 1},
            "balanced": NO_FLAG,
            "train": {
                "text": "half",
                "numbers": LABELS,
                "none of them": np.zeros(40, bool),
                "all": np.ones(40, bool),
                "crossing groups": LABELS == 1,
                "short": np.ones(3, bool),
            },
            "test": {"text": "half", "numbers": LABELS, "all": np.ones(40, bool), "crossing groups": LABELS == 1},
        },
    ),
    probes.code_similarity: ({"codes": X, "labels": LABELS}, {"codes": CODES, "labels": NO_LABELS | {"None": None}}),
    probes.contrast: (
        {"codes": X, "a": np.arange(10), "b": np.arange(20, 30), "traits": np.eye(40) == 1, "shuffles": 1},
        {
            "codes": CODES,
            "a": NO_ARRAY
            | {
                "outside": np.arange(35, 45),
                "fractions": np.arange(10) + 0.5,
                "few": [1, 2],
                "common": np.arange(15, 25),
                "two axes": np.zeros((10, 2), int),
            },
            "b": {"None": None, "words": ["a"] * 10},
            "groups": NO_LABELS,
            "seed": NO_COUNT,
            "shuffles": NO_COUNT,
            "traits": NO_ARRAY
            | {
                "short": np.ones((3, 2)),
                "no traits": np.ones((40, 0)),
                "NaN": with_nan(np.eye(40)),
                "numbers": X,
                "words": np.full((40, 2), "a"),
            },
        },
    ),
    probes.total_variation: ({"f": NET, "points": X, "paths": 3, "samples": 5}, {"f": ANY_FUNCTION, **PATHS}),
    probes.fourier_complexity: ({"f": NET, "points": X, "paths": 3, "samples": 5}, {"f": ANY_FUNCTION, **PATHS}),
    probes.slice_1d: (
        {"f": NET, "a": X[0], "b": X[1], "samples": 3},
        {
            "f": ANY_FUNCTION,
            "a": NO_NUMBERS | {"longer": np.zeros(4)},
            "b": NO_NUMBERS,
            "samples": NO_COUNT | {"one": 1},
        },
    ),
    probes.slice_2d: (
        {"f": NET, "x": X[0], "dims": (0, 1), "grid": 3},
        {
            "f": ANY_FUNCTION,
            "x": NO_NUMBERS,
            "grid": NO_COUNT | {"one": 1},
            "dims": {
                "text": "xy",
                "number": 0,
                "one": (0,),
                "the same": (1, 1),
                "outside": (0, 9),
                "fractions": (0.5, 1),
                "None inside": (0, None),
                "words": ("x", "y"),
                "True": (True, False),
            },
            "bounds": {
                "text": "wide",
                "number": 1.0,
                "one": (1.0,),
                "turned": (1.0, -1.0),
                "NaN": (np.nan, 1.0),
                "words": ("a", "b"),
                "None inside": (None, 1.0),
                "three": (0, 1, 2),
                "complex": (0, 1j),
            },
        },
    ),
    probes.alignment: ({"plane": SLICE}, {"plane": {"None": None, "array": X, "text": "slice", "line": HAT}}),
    probes.landscape: (
        {"model": NET, "measures": {"loss": probes.Loss(X, LABELS)}, "directions": "random", "grid": 2},
        {
            "model": NO_MODEL | {"function": np.sin, "no weights": nn.ReLU()},
            "measures": {
                "None": None,
                "function": probes.Loss(X, LABELS),
                "text": "loss",
                "empty": {},
                "list": [np.sin],
                "no functions": {"loss": 3.0},
                "names of numbers": {1: probes.Loss(X, LABELS)},
                "breaks": {"loss": broken},
                "gives None": {"loss": lambda m: None},
                "gives text": {"loss": lambda m: "abc"},
                "gives many": {"loss": lambda m: np.ones(3)},
                "complex": {"loss": lambda m: 1j},
                "wrong inputs": {"loss": probes.Loss(np.zeros((3, 7)), np.zeros(3))},
            },
            "directions": {
                "None": None,
                "unknown": "up",
                "number": 3,
                "three": np.zeros((3, 8)),
                "words": ["a", "b"],
                "short": np.zeros((2, 3)),
                "the same": np.ones((2, 8)),
                "needs a trajectory": "pca",
                "NaN": np.full((2, 8), np.nan),
                "complex": np.ones((2, 8)) * 1j,
                "ragged": [[1.0], [1.0, 2.0]],
            },
            "trajectory": {
                "text": "long",
                "short": np.zeros((4, 3)),
                "NaN": np.full((4, 8), np.nan),
                "ragged": [[1.0], [1.0, 2.0]],
                "complex": np.ones((4, 8)) * 1j,
                "empty": [],
                "number": 3.0,
                "words": [["a"] * 8] * 4,
            },
            "grid": NO_COUNT | {"one": 1},
            "radius": NO_NUMBER | {"None": None, "zero": 0},
            "seed": NO_COUNT,
            "normalize": {"None": None, "unknown": "neuron", "number": 3},
            "chunk": {"text": "5", "zero": 0, "fraction": 2.5, "True": True, "array": np.ones(3)},
            "progress": {"text": "bar", "number": 3},
        },
    ),
    cost: (
        {"functions": {"relu": torch.relu}, "elements": 4, "repeats": 1},
        {
            "functions": {
                "None": None,
                "function": torch.relu,
                "empty": {},
                "text": "relu",
                "no functions": {"a": 3},
                "breaks": {"a": broken},
                "gives None": {"a": lambda x: None},
                "gives one": {"a": lambda x: x.sum()},
                "no gradient": {"a": lambda x: x.detach()},
            },
            "elements": NO_COUNT | {"zero": 0},
            "repeats": NO_COUNT | {"zero": 0},
            "seed": NO_COUNT,
            "spread": NO_NUMBER,
            "dtype": {"None": None, "text": "float32", "whole": torch.int64},
            "device": {"text": "gpu", "number": 3.5},
            "backward": NO_FLAG,
        },
    ),
    profile: (
        {"phi": torch.tanh},
        {
            "phi": {
                "None": None,
                "text": "gelu",
                "number": 3.0,
                "breaks": broken,
                "gives None": lambda x: None,
                "complex": lambda x: x * 1j,
                "sums": torch.sum,
                "class": nn.GELU,
            },
            "low": {k: v for k, v in NO_NUMBER.items() if k != "negative"} | {"None": None, "above high": 30.0},
            "samples": NO_COUNT | {"one": 1},
        },
    ),
    counts: (
        {"inputs": X, "low": -1.0, "high": 1.0, "points": 5},
        {
            "inputs": NO_ARRAY | {"NaN": with_nan(X), "words": ["a"], "complex": X * 1j},
            "low": {"text": "a", "above": 2.0, "NaN": np.nan},
            "points": NO_COUNT | {"one": 1},
        },
    ),
    received: ({"inputs": X, "shape": HAT}, {"inputs": NO_ARRAY | {"empty": []}, "shape": {"None": None, "array": X}}),
    wave: (
        {"x": AXIS, "y": np.sin(9 * AXIS)},
        {
            "x": NO_NUMBERS | {"uneven": AXIS**3, "constant": np.zeros(20)},
            "y": NO_NUMBERS | {"short": AXIS[:-1], "NaN": with_nan(AXIS)},
            "weights": {
                "text": "abc",
                "negative": -np.ones(20),
                "none": np.zeros(20),
                "NaN": with_nan(AXIS),
                "short": np.ones(3),
                "complex": AXIS * 1j,
            },
        },
    ),
    portrait: (
        {"phi": nn.Tanh(), "grid": 3, "samples": 3},
        {
            "phi": {
                "None": None,
                "text": "gelu",
                "function": torch.tanh,
                "class": nn.GELU,
                "number": 3.0,
                "sums": nn.Linear(2, 3),
            },
            "seed": NO_COUNT,
            "scale": NO_NUMBER | {"None": None},
            "grid": NO_COUNT | {"one": 1},
            "samples": NO_COUNT | {"one": 1},
        },
    ),
    probes.token_losses: (
        {"model": Probable(), "task": TEXT, "text": "Call me Ishmael."},
        {"model": NO_MODEL, "task": NO_TEXT, "text": NO_WORDS | {"one character": "C"}, "run": NO_COUNT | {"one": 1}},
    ),
    probes.continuation: (
        {"model": Probable(), "task": TEXT, "prompt": "Call", "count": 3},
        {
            "model": NO_MODEL,
            "task": NO_TEXT,
            "prompt": NO_WORDS,
            "count": NO_COUNT | {"zero": 0},
            "temperature": NO_NUMBER,
            "seed": NO_COUNT,
            "run": NO_COUNT | {"one": 1},
        },
    ),
    variation: ({"phi": nn.Tanh()}, {"phi": {"None": None, "class": nn.GELU}, "seed": NO_COUNT, "scale": NO_NUMBER}),
}
CASES = [
    pytest.param(probe, name, wrong, id=f"{probe.__name__}-{name}-{kind}".replace(" ", "_"))
    for probe, (_, arguments) in GRID.items()
    for name, kinds in arguments.items()
    for kind, wrong in kinds.items()
]


def one_line(error):
    """The text of an error: one short line that says what to do."""
    text = str(error)
    assert "\n" not in text and 20 < len(text) < 420, text
    assert not re.search(r" at 0x|Traceback|<class '|array\(|tensor\(", text), text
    return text


@pytest.mark.parametrize("probe", GRID, ids=lambda probe: probe.__name__)
def test_a_call_that_is_right_is_answered(probe):
    assert probe(**GRID[probe][0]) is not None


@pytest.mark.parametrize(("probe", "name", "wrong"), CASES)
def test_what_cannot_be_used_is_named_in_one_line(probe, name, wrong):
    with pytest.raises(ArgumentError) as raised:
        probe(**GRID[probe][0] | {name: wrong})
    one_line(raised.value)


def test_there_are_cases_of_every_public_probe():
    public = {value for name in probes.__all__ if not isinstance(value := getattr(probes, name), type)}
    assert public <= set(GRID) and len(CASES) >= 100


MEASURES = {
    "Loss-inputs": [
        lambda wrong=wrong: probes.Loss(wrong, LABELS)
        for wrong in (None, "abc", np.sin, X[:3], [[1.0], [1.0, 2.0]], X[:0], X * 1j)
    ],
    "Loss-targets": [
        lambda wrong=wrong: probes.Loss(X, wrong)
        for wrong in (None, "abc", np.sin, LABELS[:3], [object()] * 40, with_nan(X), LABELS * 1j)
    ],
    "Loss-loss": [lambda wrong=wrong: probes.Loss(X, LABELS, wrong) for wrong in ("mse", 3.0, nn.MSELoss)],
    "Loss-runs": [lambda: probes.Loss(X, LABELS, runs="no")],
    "Loss-model": [
        lambda wrong=wrong: probes.Loss(X, LABELS)(wrong)
        for wrong in (*NO_MODEL.values(), np.sin, nn.Linear(7, 2), Tokens())
    ],
    "Loss-classes": [
        lambda wrong=wrong: probes.Loss(X, wrong)(NET)
        for wrong in (LABELS + 7, LABELS - 5, np.zeros((40, 7)), np.zeros((40, 7), int), np.zeros(40))
    ],
    "Loss-answer": [
        lambda wrong=wrong: probes.Loss(X, LABELS, wrong)(NET)
        for wrong in (broken, lambda y, t: None, lambda y, t: "abc", lambda y, t: y)
    ],
    "Variation-points": [lambda wrong=wrong: probes.Variation(wrong)(NET) for wrong in NO_NUMBERS.values()],
    "Variation-labels": [lambda wrong=wrong: probes.Variation(X, wrong)(NET) for wrong in NO_LABELS.values()],
    "Variation-paths": [lambda wrong=wrong: probes.Variation(X, paths=wrong)(NET) for wrong in NO_COUNT.values()],
    "Variation-samples": [lambda wrong=wrong: probes.Variation(X, samples=wrong)(NET) for wrong in NO_COUNT.values()],
    "Variation-model": [
        lambda wrong=wrong: probes.Variation(X)(wrong) for wrong in (*NO_MODEL.values(), Tokens(), nn.Linear(5, 1))
    ],
    "Frequency-seed": [lambda wrong=wrong: probes.Frequency(X, seed=wrong)(NET) for wrong in NO_COUNT.values()],
}


@pytest.mark.parametrize(
    "call",
    [call for calls in MEASURES.values() for call in calls],
    ids=[f"{name}-{i}" for name, calls in MEASURES.items() for i in range(len(calls))],
)
def test_measures_say_what_they_cannot_use(call):
    with pytest.raises(ArgumentError) as raised:
        call()
    one_line(raised.value)


def test_a_model_that_breaks_is_quoted_and_its_own_error_kept():
    with pytest.raises(ArgumentError, match="RuntimeError: something went wrong") as raised:
        probes.total_variation(broken, X)
    assert isinstance(raised.value.__cause__, RuntimeError), "the traceback shows where"


def test_a_model_of_tokens_is_told_how_to_be_wrapped():
    with pytest.raises(ArgumentError, match="token ids.*embeddings"):
        probes.total_variation(Tokens(), np.zeros((4, 3)) + np.arange(4)[:, None])
    model, _ = decoder(1)
    with pytest.raises(ArgumentError, match="token ids.*embeddings"):
        probes.total_variation(model, np.zeros((4, 3)) + np.arange(4)[:, None])


def test_interrupts_and_programming_errors_of_the_lab_pass():
    def stop(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        probes.total_variation(stop, X)
