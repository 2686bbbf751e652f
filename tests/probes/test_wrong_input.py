# ruff: noqa: F401  (names that the cases speak of)
"""Whatever a probe is given that it cannot use, it says so in one line that names the argument."""

import re

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab import probes
from lab.errors import ArgumentError
from lab.models.mlp import MLP
from lab.probes.cost import cost
from lab.probes.profile import counts, portrait, profile, received, variation, wave
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


# Values by name, as what no array can be made of. Below: calls that are right, and what their arguments must refuse.
GIVEN = """
NO_TEXT: None | 'moby_dick' | 3
NO_WORDS: None | 3 | ['Call'] | ''
NO_ARRAY: None | 'abc' | np.sin | nn.Linear | object() | {'a': 1} | NET | (i for i in range(3))
NO_NUMBERS: *NO_ARRAY | np.array(['a', 'b']) | [[1.0, 2.0], [3.0]] | np.zeros((0, 3)) | X + 1j |
  torch.complex(torch.ones(40, 3), torch.ones(40, 3)) | np.array([[object()] * 3] * 40) | with_nan(X) |
  np.full((40, 3), np.inf) | 3.0 | np.zeros((2, 0, 2, 2)) | [[1.0, None, 2.0]] * 40 |
  np.full((40, 3), np.datetime64('2020-01-01'))
NO_LABELS: 'abc' | np.sin | LABELS[:-1] | np.zeros((40, 1, 1)) | with_nan(LABELS) | [None, *LABELS[1:]] |
  [-100, *LABELS[1:]] | np.array(['a', *LABELS[1:]], dtype=object) | [] | object() | LABELS + 1j
NO_COUNT: None | '5' | 2.5 | -1 | True | np.ones(3) | np.nan | np.sin
NO_NUMBER: '1' | np.nan | np.inf | 1j | np.ones(3) | -1.0
NO_FLAG: None | 'no' | 2
NO_MODEL: None | 'gpt2' | 3.0 | [NET] | nn.Linear | X
NO_FUNCTION: None | 'gelu' | 3.0 | X
BAD_FUNCTION: broken | lambda x: None | lambda x: 'abc' | lambda x: x[:1] | lambda x: 1.0 | lambda x: {'output': x} |
  lambda x: x[:, 0] + 1j | lambda x: x[:, 0] * np.nan | Tokens() | nn.Linear(5, 1) | MLP((3, 2), [0, 1], nn.ReLU()) |
  lambda x: np.array(['a'] * len(x)) | lambda x: x[:, :0]
ANY_FUNCTION: *NO_FUNCTION | nn.Linear | *BAD_FUNCTION
CODES: *NO_NUMBERS | np.zeros(40)
"""
GRID = """
probes.latent_codes(model=SCORES, query=-1, key=-1)
  model: *NO_ARRAY | 3.0 | [] | X | np.array(['a']) | SCORES + 1j | ['a', 'b'] | [SCORES, SCORES[:3]] | SCORES[:0] |
    Fused() | nn.Transformer
  layer: None | 'last' | 1.5 | 7 | True | [0]
  query: None | 'last' | 0.5 | 9 | [0] * 5 | ['a'] * 6 | np.nan | True | 1j
  key: None | -9 | object() | [[0], [0, 1]]
  run: 5 | None | 'first' | 0.5 | True
  normalized: *NO_FLAG
  batch: *NO_COUNT | 0
probes.codes_by_layer(model=[SCORES])
  model: *NO_ARRAY
  run: 1
probes.embed(codes=X, method='pca')
  codes: *CODES | np.ones((40, 3)) | np.ones((1, 3))
  method: None | 'mds' | 3 | ['pca']
  seed: *NO_COUNT | 2 ** 40
  neighbours: *NO_COUNT | 20
probes.decode(codes=X, labels=LABELS, groups=GROUPS, shuffles=1, resamples=2)
  codes: *CODES
  labels: *NO_LABELS | None | X | np.zeros(40)
  groups: *NO_LABELS | np.zeros(40)
  seed: *NO_COUNT
  shuffles: *NO_COUNT
  resamples: *NO_COUNT
  held_out: *NO_NUMBER | 0 | 1
  balanced: *NO_FLAG
  train: 'half' | LABELS | np.zeros(40, bool) | np.ones(40, bool) | LABELS == 1 | np.ones(3, bool)
  test: 'half' | LABELS | np.ones(40, bool) | LABELS == 1
probes.code_similarity(codes=X, labels=LABELS)
  codes: *CODES
  labels: *NO_LABELS | None
probes.contrast(codes=X, a=np.arange(10), b=np.arange(20, 30), traits=np.eye(40) == 1, shuffles=1)
  codes: *CODES
  a: *NO_ARRAY | np.arange(35, 45) | np.arange(10) + 0.5 | [1, 2] | np.arange(15, 25) | np.zeros((10, 2), int)
  b: None | ['a'] * 10
  groups: *NO_LABELS
  seed: *NO_COUNT
  shuffles: *NO_COUNT
  traits: *NO_ARRAY | np.ones((3, 2)) | np.ones((40, 0)) | with_nan(np.eye(40)) | X | np.full((40, 2), 'a')
probes.total_variation(f=NET, points=X, paths=3, samples=5)
  f: *ANY_FUNCTION
  points: *NO_NUMBERS
  labels: *NO_LABELS | np.zeros(40)
  paths: *NO_COUNT
  samples: *NO_COUNT | 2
  seed: *NO_COUNT
probes.fourier_complexity(f=NET, points=X, paths=3, samples=5)
  f: *ANY_FUNCTION
  points: *NO_NUMBERS
  labels: *NO_LABELS | np.zeros(40)
  paths: *NO_COUNT
  samples: *NO_COUNT | 2
  seed: *NO_COUNT
probes.slice_1d(f=NET, a=X[0], b=X[1], samples=3)
  f: *ANY_FUNCTION
  a: *NO_NUMBERS | np.zeros(4)
  b: *NO_NUMBERS
  samples: *NO_COUNT | 1
probes.slice_2d(f=NET, x=X[0], dims=(0, 1), grid=3)
  f: *ANY_FUNCTION
  x: *NO_NUMBERS
  grid: *NO_COUNT | 1
  dims: 'xy' | 0 | (0,) | (1, 1) | (0, 9) | (0.5, 1) | (0, None) | ('x', 'y') | (True, False)
  bounds: 'wide' | 1.0 | (1.0,) | (1.0, -1.0) | (np.nan, 1.0) | ('a', 'b') | (None, 1.0) | (0, 1, 2) | (0, 1j)
probes.alignment(plane=SLICE)
  plane: None | X | 'slice' | HAT
probes.landscape(model=NET, measures={'loss': probes.Loss(X, LABELS)}, directions='random', grid=2)
  model: *NO_MODEL | np.sin | nn.ReLU()
  measures: None | probes.Loss(X, LABELS) | 'loss' | {} | [np.sin] | {'loss': 3.0} | {1: probes.Loss(X, LABELS)} |
    {'loss': broken} | {'loss': lambda m: None} | {'loss': lambda m: 'abc'} | {'loss': lambda m: np.ones(3)} |
    {'loss': lambda m: 1j} | {'loss': probes.Loss(np.zeros((3, 7)), np.zeros(3))}
  directions: None | 'up' | 3 | np.zeros((3, 8)) | ['a', 'b'] | np.zeros((2, 3)) | np.ones((2, 8)) | 'pca' |
    np.full((2, 8), np.nan) | np.ones((2, 8)) * 1j | [[1.0], [1.0, 2.0]]
  trajectory: 'long' | np.zeros((4, 3)) | np.full((4, 8), np.nan) | [[1.0], [1.0, 2.0]] | np.ones((4, 8)) * 1j | [] |
    3.0 | [['a'] * 8] * 4
  grid: *NO_COUNT | 1
  radius: *NO_NUMBER | None | 0
  seed: *NO_COUNT
  normalize: None | 'neuron' | 3
  chunk: '5' | 0 | 2.5 | True | np.ones(3)
  progress: 'bar' | 3
probes.spectrum(model=NET, measures={'loss': probes.Loss(X, LABELS)}, probes=1)
  model: *NO_MODEL | np.sin | nn.ReLU()
  measures: None | 'loss' | {} | {'loss': 3.0} | {'loss': broken} | {'loss': lambda m: 1.0} | {'loss': lambda m: None}
  count: *NO_COUNT | 0
  steps: *NO_COUNT | 0
  probes: *NO_COUNT | 0
  seed: *NO_COUNT
probes.connectivity(a=NET, b=NET, measures={'loss': probes.Loss(X, LABELS)}, points=3)
  a: None | 'gpt2' | 3.0 | nn.Linear | X | [] | [NET, NET] | nn.ReLU()
  b: None | 'gpt2' | 3.0 | nn.Linear | X | nn.Linear(2, 1) | (NET, NET)
  measures: None | 'loss' | {} | {'loss': 3.0} | {'loss': broken} | {'loss': lambda m: np.ones(3)}
  points: *NO_COUNT | 1
  match: *NO_FLAG
cost(functions={'relu': torch.relu}, elements=4, repeats=1)
  functions: None | torch.relu | {} | 'relu' | {'a': 3} | {'a': broken} | {'a': lambda x: None} |
    {'a': lambda x: x.sum()} | {'a': lambda x: x.detach()}
  elements: *NO_COUNT | 0
  repeats: *NO_COUNT | 0
  seed: *NO_COUNT
  spread: *NO_NUMBER
  dtype: None | 'float32' | torch.int64
  device: 'gpu' | 3.5
  backward: *NO_FLAG
profile(phi=torch.tanh)
  phi: None | 'gelu' | 3.0 | broken | lambda x: None | lambda x: x * 1j | torch.sum | nn.GELU
  low: '1' | np.nan | np.inf | 1j | np.ones(3) | None | 30.0
  samples: *NO_COUNT | 1
counts(inputs=X, low=-1.0, high=1.0, points=5)
  inputs: *NO_ARRAY | with_nan(X) | ['a'] | X * 1j
  low: 'a' | 2.0 | np.nan
  points: *NO_COUNT | 1
received(inputs=X, shape=HAT)
  inputs: *NO_ARRAY | []
  shape: None | X
wave(x=AXIS, y=np.sin(9 * AXIS))
  x: *NO_NUMBERS | AXIS ** 3 | np.zeros(20)
  y: *NO_NUMBERS | AXIS[:-1] | with_nan(AXIS)
  weights: 'abc' | -np.ones(20) | np.zeros(20) | with_nan(AXIS) | np.ones(3) | AXIS * 1j
portrait(phi=nn.Tanh(), grid=3, samples=3)
  phi: None | 'gelu' | torch.tanh | nn.GELU | 3.0 | nn.Linear(2, 3)
  seed: *NO_COUNT
  scale: *NO_NUMBER | None
  grid: *NO_COUNT | 1
  samples: *NO_COUNT | 1
probes.token_losses(model=Probable(), task=TEXT, text='Call me Ishmael.')
  model: *NO_MODEL
  task: *NO_TEXT
  text: *NO_WORDS | 'C'
  run: *NO_COUNT | 1
probes.continuation(model=Probable(), task=TEXT, prompt='Call', count=3)
  model: *NO_MODEL
  task: *NO_TEXT
  prompt: *NO_WORDS
  count: *NO_COUNT | 0
  temperature: *NO_NUMBER
  seed: *NO_COUNT
  run: *NO_COUNT | 1
variation(phi=nn.Tanh())
  phi: None | nn.GELU
  seed: *NO_COUNT
  scale: *NO_NUMBER
probes.function_of(model=NET)
  model: None | 'gpt2' | 3.0 | nn.Linear
probes.cost(functions={'relu': torch.relu}, elements=100, repeats=1)
  functions: None | 'relu' | [torch.relu] | {} | {'relu': 3.0}
  elements: *NO_COUNT | 0
  repeats: *NO_COUNT | 0
  backward: *NO_FLAG
  spread: *NO_NUMBER
  seed: *NO_COUNT
  device: None | 'tpu' | 3
probes.listings(phi=lab.Spline([0.0, 1.0, 0.0]))
  phi: None | 'gelu' | NET | 3.0
"""


def read(text, known):
    """Lines `name: value | value …` as names and lists of values; *NAME is all of a list that is known."""
    whole = re.sub(r"\|\n +", "| ", text.strip())
    for name, values in (line.strip().split(": ", 1) for line in whole.splitlines()):
        known[name] = []
        for value in values.split(" | "):
            known[name] += known[value[1:]] if value[0] == "*" else [eval(value, globals())]
    return known


GIVEN = read(GIVEN, {})
CALLS, CASES = {}, []  # by probe: arguments that are right; and probe, argument, value
for block in re.split(r"\n(?=\w)", GRID.strip()):
    call, _, arguments = block.partition("\n")
    name, _, right = call.partition("(")
    probe = eval(name)
    CALLS[probe] = eval(f"dict({right}")
    for argument, values in read(arguments, dict(GIVEN)).items():
        if argument not in GIVEN:
            CASES += [
                pytest.param(probe, argument, value, id=f"{probe.__name__}-{argument}-{number}")
                for number, value in enumerate(values)
            ]


def one_line(error):
    """The text of an error: one short line that says what to do."""
    text = str(error)
    assert "\n" not in text and 20 < len(text) < 420, text
    assert not re.search(r" at 0x|Traceback|<class '|array\(|tensor\(", text), text
    return text


@pytest.mark.parametrize("probe", CALLS, ids=lambda probe: probe.__name__)
def test_a_call_that_is_right_is_answered(probe):
    assert probe(**CALLS[probe]) is not None


@pytest.mark.parametrize(("probe", "name", "wrong"), CASES)
def test_what_cannot_be_used_is_named_in_one_line(probe, name, wrong):
    with pytest.raises(ArgumentError) as raised:
        probe(**CALLS[probe] | {name: wrong})
    one_line(raised.value)


def test_there_are_cases_of_every_public_probe():
    public = {value for name in probes.__all__ if not isinstance(value := getattr(probes, name), type)}
    assert public <= set(CALLS) and len(CASES) >= 100


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
        for wrong in (*GIVEN["NO_MODEL"], np.sin, nn.Linear(7, 2), Tokens())
    ],
    "Loss-classes": [
        lambda wrong=wrong: probes.Loss(X, wrong)(NET)
        for wrong in (LABELS + 7, LABELS - 5, np.zeros((40, 7)), np.zeros((40, 7), int), np.zeros(40))
    ],
    "Loss-answer": [
        lambda wrong=wrong: probes.Loss(X, LABELS, wrong)(NET)
        for wrong in (broken, lambda y, t: None, lambda y, t: "abc", lambda y, t: y)
    ],
    "Variation-points": [lambda wrong=wrong: probes.Variation(wrong)(NET) for wrong in GIVEN["NO_NUMBERS"]],
    "Variation-labels": [lambda wrong=wrong: probes.Variation(X, wrong)(NET) for wrong in GIVEN["NO_LABELS"]],
    "Variation-paths": [lambda wrong=wrong: probes.Variation(X, paths=wrong)(NET) for wrong in GIVEN["NO_COUNT"]],
    "Variation-samples": [lambda wrong=wrong: probes.Variation(X, samples=wrong)(NET) for wrong in GIVEN["NO_COUNT"]],
    "Variation-model": [
        lambda wrong=wrong: probes.Variation(X)(wrong) for wrong in (*GIVEN["NO_MODEL"], Tokens(), nn.Linear(5, 1))
    ],
    "Frequency-seed": [lambda wrong=wrong: probes.Frequency(X, seed=wrong)(NET) for wrong in GIVEN["NO_COUNT"]],
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
