"""Sentences as objects: BLiMP's pairs, and the labelled sentences of GLUE's tasks, from where the lab finds them."""

from itertools import groupby, islice
from typing import NamedTuple

from lab.data import datasets
from lab.data.sentence_sets import TASKS
from lab.errors import check_choice


class Pair(NamedTuple):
    """A grammatical sentence and one that is not, alike in all else."""

    paradigm: str
    phenomenon: str
    good: str
    bad: str


class Labelled(NamedTuple):
    """A sentence, or two, of class 0 or 1; `second` is empty where there is one."""

    label: int
    first: str
    second: str


def pairs(each: int | None = None) -> list[Pair]:
    """The pairs, by paradigm. each: the first so many of every paradigm; None: all.

    Raises MissingError, with what to do, where BLiMP is not here.
    """
    every = (Pair(*line.split("\t")) for line in datasets.load("blimp").text.splitlines())
    return [pair for _, group in groupby(every, lambda pair: pair.paradigm) for pair in islice(group, each)]


def labelled(task: str, part: str) -> list[Labelled]:
    """The examples of a task of GLUE: "cola", "sst2", "mrpc" or "rte". part: "train" or "val"."""
    check_choice("task", task, TASKS)
    check_choice("part", part, ("train", "val"))
    lines = (line.split("\t") for line in datasets.load(task).text.splitlines())
    return [Labelled(int(label), first, second) for split, label, first, second in lines if split == part]
