"""Labelled sentences as objects: those of GLUE's tasks, from where the lab finds them."""

from __future__ import annotations

from typing import NamedTuple

from lab import datasets
from lab.datasets.glue import TASKS
from lab.errors import check_choice


class Labelled(NamedTuple):
    """A sentence, or two, of class 0 or 1; `second` is empty where there is one."""

    label: int
    first: str
    second: str


def labelled(task: str, part: str) -> list[Labelled]:
    """The examples of a task of GLUE: "cola", "sst2", "mrpc" or "rte". part: "train" or "val"."""
    check_choice("task", task, TASKS)
    check_choice("part", part, ("train", "val"))
    lines = (line.split("\t") for line in datasets.load(task).arrays["text"].tobytes().decode().splitlines())
    return [Labelled(int(label), first, second) for split, label, first, second in lines if split == part]
