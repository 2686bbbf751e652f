"""What a task owes to those who train on it and report what they find: a law each, with its reason as docstring.

`lab.check` is the way in. A law gives what there is to report, mostly nothing; it raises `Broken`, or `NotAsked` where
it does not apply.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from lab.data.data import IGNORED, Data
from lab.errors import NotAsked, demand, listed
from lab.tasks.stream import StreamTask
from lab.tasks.table import TableTask
from lab.tasks.task import Task
from lab.tasks.text import Text

KINDS = (Task, TableTask, StreamTask, Text, Data)
SAMPLE = 512  # examples of what is generated, or read in windows; rows whose neighbours are looked for
# Of the usual distance of neighbours, nearer than any two examples happen to be; a share of them; the neighbour whose
# distance is the usual one: there may be fewer copies
NEAR, MANY, COPIES = 1e-3, 0.05, 20
TRAINED = ("train", "search")  # splits that models or functions learn from, with what follows "_" in their names


@dataclass(frozen=True, eq=False)
class Part:
    """One split: inputs by name, targets and latents, each with an axis of examples in front."""

    inputs: Mapping[str, Tensor]
    targets: Tensor
    latents: Mapping[str, Tensor]

    @cached_property
    def keys(self) -> list[bytes]:
        """The input of each example as bytes: equal where inputs are."""
        columns = [(part + 0).reshape(len(part), -1).numpy() for part in self.inputs.values()]  # + 0: no -0
        rows = np.concatenate([np.ascontiguousarray(c).view(np.uint8).reshape(len(c), -1) for c in columns], 1)
        return [row.tobytes() for row in rows]

    @property
    def answers(self) -> list[bytes]:
        """The target of each example, as bytes."""
        return [row.tobytes() for row in self.targets.reshape(len(self.targets), -1).numpy()]


@dataclass(frozen=True, eq=False)
class TaskCase:
    """A task with its splits."""

    given: Any

    @cached_property
    def parts(self) -> dict[str, Part]:
        return self.at(0)

    def at(self, seed: int) -> dict[str, Part]:
        """The splits of a seed, read or generated; of a stream and a text a sample."""
        task = self.given
        if isinstance(task, Data):
            splits = {name: task.split(name) for name in task.rows}
            return {name: Part(x if isinstance(x, Mapping) else {"": x}, y, {}) for name, (x, y) in splits.items()}
        if isinstance(task, Text):
            return {name: _windows(task, name) for name in ("train", "search", "val", "test")}
        if isinstance(task, Task):
            width = task.max_length
            return {name: _sequences(split, width) for name, split in task.splits.items()}
        if isinstance(task, StreamTask):
            parts = {name: task.sample(name, SAMPLE, _generator(seed), seed) for name in task.splits}
        else:
            parts = dict(task.split(seed))
        return {name: Part({"": part.inputs}, part.targets, part.latents) for name, part in parts.items()}

    @property
    def plain(self) -> dict[str, Part]:
        """The splits with one kind of answers: without "test_easy" where there is "test"."""
        return {name: part for name, part in self.parts.items() if name == _family(name)}

    @property
    def is_table(self) -> bool:
        """Whether inputs are rows of numbers."""
        inputs = next(iter(self.parts.values())).inputs
        return set(inputs) == {""} and inputs[""].ndim == 2 and inputs[""].is_floating_point()

    @property
    def classes(self) -> Tensor | None:
        """One class an example of the first split, -100 where it has none; None where values are predicted."""
        part = next(iter(self.parts.values()))
        return None if part.targets.is_floating_point() or isinstance(self.given, (Task, Text)) else part.targets


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _sequences(split: Any, width: int) -> Part:
    tokens, output = (pad(part, (0, width - part.shape[1])) for part in (split.tokens, split.output))
    return Part({"": tokens.masked_fill(output, 0)}, tokens.masked_fill(~output, 0), split.latents)


def _windows(task: Text, name: str) -> Part:
    windows = task.windows(name)
    numbers = np.linspace(0, len(windows) - 1, min(SAMPLE, len(windows))).astype(int)
    tokens = torch.from_numpy(windows.at(numbers))
    return Part({"": tokens[:, :-1]}, tokens[:, 1:], {})


def _family(split: str) -> str:
    return split.split("_")[0]


Test = Callable[[TaskCase], str | None]
LAWS: dict[str, Test] = {}  # by name; the first line of each docstring is the law's reason


def law(test: Test) -> Test:
    """Register a law."""
    LAWS[test.__name__.replace("_", " ")] = test
    return test


@law
def splits_are_disjoint(case: TaskCase) -> str | None:
    """A test that has seen its examples in training measures what was remembered."""
    if isinstance(case.given, Task) and not case.given.held_out:
        raise NotAsked("nothing can be held out (held_out=False)")
    if isinstance(case.given, Text):
        raise NotAsked("windows may repeat; their pieces are compared by another law")
    shared = []
    for (a, one), (b, other) in combinations(case.parts.items(), 2):
        measured = all(_family(name) not in (*TRAINED, "val") for name in (a, b))
        if one is other or _family(a) == _family(b) or measured:
            continue
        known = set(one.keys)
        if count := sum(key in known for key in other.keys):
            shared.append(f"{count} of {len(other.keys)} inputs of {b} are in {a}, too")
    demand(not shared, "; ".join(shared))
    return None


@law
def no_leak_between_neighbours(case: TaskCase) -> str | None:
    """Near copies on both sides of a split, as frames of one film, are no independent examples."""
    if isinstance(case.given, Text):
        spans = sorted((*ends, name) for name, all_ in case.given.data.segments.items() for ends in all_)
        spans = [span for span in spans if span[2] != "training"]
        for (_, end, one), (start, _, other) in zip(spans, spans[1:], strict=False):
            demand(start >= end, f"a piece of {one} and one of {other} have {end - start} tokens in common")
        return f"{len(spans)} pieces without a token in common"
    if not case.is_table or "train" not in case.parts:
        raise NotAsked("inputs are no rows of measured numbers")
    train = case.parts["train"].inputs[""].flatten(1).double()
    if bool((train == train.round()).all()):
        raise NotAsked("inputs are whole numbers, whose neighbours are other examples")
    spread, middle = train.std(0, correction=0), train.mean(0)
    train = ((train - middle) / spread.clamp(min=1e-12))[:, spread > 0]
    apart = partial(torch.cdist, x2=train, compute_mode="donot_use_mm_for_euclid_dist")  # products would round copies
    usual = apart(train[:SAMPLE])
    usual = usual.kthvalue(min(COPIES, len(train)), 1).values.median()
    lines = []
    for name, part in case.parts.items():
        if _family(name) not in TRAINED:
            rows = ((part.inputs[""][:SAMPLE].double() - middle) / spread.clamp(min=1e-12))[:, spread > 0]
            gaps = apart(rows)
            near = float(((gaps > 0) & (gaps < NEAR * usual)).any(1).double().mean())
            said = f"{100 * near:.0f} % of {name} have a row of train within a thousandth of the usual distance"
            lines += [said] if near > MANY else []
    demand(not lines, "; ".join(lines))
    return None


@law
def targets_follow_from_inputs(case: TaskCase) -> str | None:
    """Where one input has two answers, no model can give both: the best score is below perfect, and should be known."""
    if isinstance(case.given, Text):
        raise NotAsked("a text goes on in several ways")
    known: dict[bytes, bytes] = {}
    wrong = total = 0
    for part in dict.fromkeys(case.plain.values()):
        for key, answer in zip(part.keys, part.answers, strict=True):
            wrong += known.setdefault(key, answer) != answer
            total += 1
    demand(not wrong, f"{wrong} of {total} examples have the input of another, and another answer")
    return None


@law
def latents_agree_with_targets(case: TaskCase) -> str | None:
    """A latent that tells the answer in training tells the same answer in every split."""
    parts, telling = case.plain, []
    for name in parts["train"].latents if "train" in parts else ():
        known: dict[bytes, bytes] = {}
        for split, part in parts.items():
            latent = part.latents[name]
            demand(len(latent) == len(part.targets), f"{name} of {split} has {len(latent)} rows")
            rows = latent.reshape(len(latent), -1).numpy()
            pairs = list(zip((row.tobytes() for row in rows), part.answers, strict=True))
            if split == "train":
                known = dict(pairs)
                if len(known) == len(pairs) or any(known[key] != answer for key, answer in pairs):
                    break  # it does not tell the answer
                telling.append(name)
            wrong = sum(known.get(key, answer) != answer for key, answer in pairs)
            demand(not wrong, f"{wrong} answers of {split} are not what {name} says")
    if not telling:
        raise NotAsked("no latent tells the answer by itself")
    return f"the answer follows from {listed(telling)}"


@law
def the_same_for_a_seed(case: TaskCase) -> str | None:
    """Results must repeat: a seed fixes the data, whatever was drawn before."""
    task = case.given
    if isinstance(task, (Data, Text)):
        raise NotAsked("its data are given")
    if isinstance(task, Task):
        import lab.tasks as tasks

        if task.name not in tasks.NAMES or tasks.load(task.name).digest != task.digest:
            raise NotAsked("its data are given")
        again = TaskCase(tasks._BUILDERS[task.name](0)).parts
    else:
        home = type(task).__module__
        for thing in vars(sys.modules[home]).values():  # what it keeps is made again; what is imported stays
            if hasattr(thing, "cache_clear") and getattr(thing, "__module__", home) == home:
                thing.cache_clear()
        again = TaskCase(task).parts
    for name, part in case.parts.items():
        same = part.keys == again[name].keys and torch.equal(part.targets, again[name].targets)
        demand(same, f"{name} differs from one call to the next")
    return None


@law
def no_global_random_numbers(case: TaskCase) -> str | None:
    """A task that draws from the global generators changes whatever is drawn after it."""

    def state() -> tuple[Tensor, str, object]:
        return torch.get_rng_state(), str(np.random.get_state()), random.getstate()  # noqa: NPY002

    before = state()
    case.at(1)
    now = state()
    demand(torch.equal(before[0], now[0]), "torch's global generator has moved")
    demand(before[1:] == now[1:], "a global generator of numpy or Python has moved")
    return None


@law
def shapes_and_types(case: TaskCase) -> str | None:
    """What was trained on one split must take the others: one target an example, the same types and sizes."""
    first = next(iter(case.parts.values()))
    for name, part in case.parts.items():
        demand(len(part.targets), f"{name} is empty")
        for key, x in part.inputs.items():
            like, where = first.inputs[key], f"{name}{' ' * bool(key)}{key}"
            demand(len(x) == len(part.targets), f"{where}: {len(x)} inputs and {len(part.targets)} targets")
            demand(x.dtype == like.dtype and x.shape[1:] == like.shape[1:], f"{where}: {x.dtype}, {tuple(x.shape)}")
        demand(part.targets.dtype == first.targets.dtype, f"targets of {name} are {part.targets.dtype}")
    shapes = ", ".join(f"{key} {tuple(x.shape[1:])}".strip() for key, x in first.inputs.items())
    return f"{shapes} to {tuple(first.targets.shape[1:])} {str(first.targets.dtype).removeprefix('torch.')}"


@law
def every_number_is_finite(case: TaskCase) -> str | None:
    """A NaN among the inputs is a NaN in every weight after one step."""
    for name, part in case.parts.items():
        for key, tensor in {**part.inputs, "targets": part.targets}.items():
            bad = int((~tensor.isfinite()).sum())
            demand(not bad, f"{bad} numbers of {name} {key or 'inputs'} are missing or infinite")
    return None


@law
def no_constant_column(case: TaskCase) -> str | None:
    """A column that never changes in training tells nothing, and what it does later was never learned."""
    if not case.is_table or "train" not in case.parts:
        raise NotAsked("inputs are no rows of numbers")
    train = case.parts["train"].inputs[""]
    constant = (train == train[:1]).all(0)
    others = [name for name, part in case.parts.items() if bool((part.inputs[""] != train[:1])[:, constant].any())]
    said = f"{int(constant.sum())} of {train.shape[1]} columns are constant in train"
    demand(not constant.any(), said + (f", and not in {listed(others)}" if others else ""))
    return None


@law
def no_column_is_the_target(case: TaskCase) -> str | None:
    """An answer among the inputs makes a task of copying."""
    if not case.is_table or "train" not in case.parts or case.parts["train"].targets.ndim != 1:
        raise NotAsked("inputs are no rows of numbers with one answer each")
    part = case.parts["train"]
    y = part.targets.double()
    x, y = part.inputs[""].double() - part.inputs[""].double().mean(0), y - y.mean()
    alike = (x * y[:, None]).sum(0).abs() / (x.norm(dim=0) * y.norm()).clamp(min=1e-12)
    columns = (alike > 1 - 1e-9).nonzero().flatten().tolist()
    demand(not columns, f"column {', '.join(map(str, columns))} is the target, up to its scale")
    return f"the largest correlation with it is {float(alike.max()):.2f}"


@law
def every_class_is_in_training(case: TaskCase) -> str | None:
    """A class that training never shows cannot be answered; how frequent the first is, is what a guess scores."""
    if case.classes is None:
        raise NotAsked("what is predicted is no single class")
    classes = {name: part.targets[part.targets != IGNORED] for name, part in case.parts.items()}
    known = torch.cat([values for name, values in classes.items() if _family(name) in TRAINED]).unique()
    for name, values in classes.items():
        new = values.unique()[~torch.isin(values.unique(), known)].tolist()
        demand(not new, f"{name} has {listed([str(one) for one in new])}, which training has not")
    counts = classes["train"].flatten().bincount()
    share = float(counts.max() / counts.sum())
    return f"{int((counts > 0).sum())} classes, the most frequent is {100 * share:.0f} % of train"


@law
def answers_differ(case: TaskCase) -> str | None:
    """Where every example has one answer, a constant is perfect, and nothing can be compared."""
    for name, part in case.parts.items():
        answers = len(set(part.answers))
        demand(answers > 1 or len(part.targets) == 1, f"all {len(part.targets)} answers of {name} are equal")
    return None


@law
def the_right_answer_scores_best(case: TaskCase) -> str | None:
    """A measure must be at its best for the targets themselves, and worse for others."""
    task = case.given
    if not isinstance(task, (TableTask, StreamTask)):
        raise NotAsked("its measure is one of the lab's, by name")
    name, part = next((name, part) for name, part in case.parts.items() if _family(name) in ("val", "test"))
    targets = part.targets
    classes = not targets.is_floating_point()
    right = 40.0 * one_hot(targets, task.outputs).float() if classes else targets[..., None]
    if classes and isinstance(task, TableTask) and task.loss_name == "mse":
        right = right / 40
    wrong = right.roll(1, -1) if classes else right.flip(0)

    def scores(outputs: Tensor) -> dict[str, float]:
        if isinstance(task, TableTask):
            values = task.of_split(task.scores(outputs[None], targets[None]), targets[None])
        else:
            examples = task.sample(name, SAMPLE, _generator(0), 0)
            values = task.scores(outputs[None], targets[None], examples)
        return {key: float(value[0]) for key, value in values.items()}

    best, worse = scores(right), scores(wrong)
    for key, sign in task.metric_signs.items():
        demand(sign * best[key] > sign * worse[key], f"{key} is {best[key]:.3g} for the targets, else {worse[key]:.3g}")
    return ", ".join(f"{key} {value:.3g}" for key, value in best.items())
