"""A small real task and small fleets: eight channels, one layer, eight sequences a step."""

import itertools
from dataclasses import dataclass
from typing import ClassVar

import torch
from safetensors.torch import load, save

from lab import tasks
from lab.spec import AdamTrapezoid, ConstantRate, ModelSpec, Perceptron, RunSpec, SearchSpec, replace
from lab.tasks.table import TableSplit, TableTask, nearest_class
from lab.tasks.task import Split, Task
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import Fleet
from lab.training.two_loss import Search

RECIPE = AdamTrapezoid(steps=20, rate=0.003, batch=8, every=5)
MODEL = ModelSpec(layers=1, width=8)


def bits(metric="token", search_in_training=True):
    """Copy one to three letters out of a, b: small enough to be looked at whole, with outputs of several lengths."""
    words = [word for length in (1, 2, 3) for word in itertools.product((1, 2), repeat=length)] * 3
    order = torch.randperm(len(words), generator=torch.Generator().manual_seed(0)).tolist()
    splits = {}
    for number, name in enumerate(("train", "search", "val", "test")):
        rows = [words[i] for i in order[number * 10 : (number + 1) * 10]]
        tokens = torch.zeros(10, 7, dtype=torch.int64)
        output = torch.zeros(10, 7, dtype=torch.bool)
        for tokens_row, output_row, word in zip(tokens, output, rows, strict=True):
            n = len(word)
            tokens_row[: 2 * n + 1] = torch.tensor([*word, 3, *word])
            output_row[n + 1 : 2 * n + 1] = True
        splits[name] = Split(tokens, output)
    return Task("bits", ("<pad>", "a", "b", "<sep>"), splits, metric, search_in_training)


def garbled(task, *names, seed=0):
    """The task with other words in the output of the splits so named."""
    splits = dict(task.splits)
    for name in names:
        split = splits[name]
        other = torch.randint(1, 3, split.tokens.shape, generator=torch.Generator().manual_seed(seed))
        splits[name] = Split(torch.where(split.output, other, split.tokens), split.output)
        assert not torch.equal(splits[name].tokens, split.tokens)
    return replace(task, splits=splits)


def use(monkeypatch, task):
    """Let the name "bits" mean this task."""
    known = tasks.load
    monkeypatch.setattr(tasks, "load", lambda name, seed=0: task if name == "bits" else known(name, seed))


def fleet(seeds=(0,), task="memorize", parts=None, wide=False, evaluate=("test",), model=MODEL, **recipe):
    """A fleet of tiny runs; wide: in float64."""
    specs = [RunSpec(task, model, replace(RECIPE, **recipe), seed, evaluate) for seed in seeds]
    made = Fleet(specs, parts or [(model.mlp, model.attention)] * len(specs))
    if wide:
        made.model.double()
    return made


def search_of(task="memorize", wide=False, model=MODEL, learn=("mlp",), models=2, knots=21, **recipe):
    """A search with tiny models; wide: in float64."""
    settings = {
        "learn": learn,
        "models": models,
        "low": -2.0,
        "high": 2.0,
        "knots": knots,
        "spline_rate": 0.02,
        "seed": 3,
    }
    made = Search(SearchSpec(task, model, replace(RECIPE, **recipe), **settings))
    if wide:
        made.model.double()
    return made


def until(step):
    """A report that stops training at this step."""
    return lambda state: state.step < step


def through_a_file(tensors):
    """What a store would keep and give back."""
    return load(save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def same(one, other):
    """Whether two states hold the same bits, NaN included."""
    assert one.keys() == other.keys()
    return all(torch.equal(one[name].nan_to_num(7e9), other[name].nan_to_num(7e9)) for name in one)


def copied(tensors):
    return {name: tensor.clone() for name, tensor in tensors.items()}


@dataclass(frozen=True)
class Wave(TableTask):
    """sin(frequency · x) of a number x in [-1, 1], a value or the class it is nearest to; each split its own rows."""

    frequency: float = 9.0
    rows: int = 60
    kind: str = "value"
    garbled: tuple[str, ...] = ()  # splits whose targets are turned round

    name: ClassVar[str] = "wave"
    inputs: ClassVar[int] = 1
    classes: ClassVar[int] = 5

    @property
    def classification(self):
        return self.kind == "class"

    @property
    def loss_name(self):
        return "cross_entropy" if self.classification else "mse"

    def split(self, seed=0):
        found = {}
        for number, name in enumerate(("train", "val", "test", "other")):
            x = 2 * torch.rand(self.rows, 1, generator=torch.Generator().manual_seed(10 * seed + number)) - 1
            y = torch.sin(self.frequency * x[:, 0]) * (-1 if name in self.garbled else 1)
            found[name] = TableSplit(x, nearest_class(y, self.classes) if self.classification else y)
        return found


def descent(seeds=(0,), task=None, model=None, recipe=None, evaluate=("test",), task_seeds=None, **changes):
    """A fleet of small perceptrons; changes: of the recipe."""
    task, model = task or Wave(), model or Perceptron(width=8)
    recipe = replace(recipe or ConstantRate(40, 0.1, every=10, average=4), **changes)
    task_seeds = task_seeds or [0] * len(seeds)
    specs = [RunSpec(task, model, recipe, s, evaluate, t) for s, t in zip(seeds, task_seeds, strict=True)]
    return fleet_of(specs, [tuple(model.parts.values())] * len(specs))
