"""Pairs of sentences as objects: BLiMP's, from where the lab finds it."""

from __future__ import annotations

from typing import NamedTuple

from lab import datasets
from lab.datasets.blimp import PARADIGMS


class Pair(NamedTuple):
    """A grammatical sentence and one that is not, alike in all else."""

    paradigm: str
    phenomenon: str
    good: str
    bad: str


def pairs(each: int | None = None) -> list[Pair]:
    """The pairs, by paradigm. each: the first so many of every paradigm; None: all.

    Raises MissingError, with what to do, where BLiMP is not here.
    """
    all_pairs = [
        Pair(*line.split("\t")) for line in datasets.load("blimp").arrays["text"].tobytes().decode().splitlines()
    ]
    if each is None:
        return all_pairs
    count = dict.fromkeys(PARADIGMS, 0)
    chosen = []
    for pair in all_pairs:
        count[pair.paradigm] += 1
        if count[pair.paradigm] <= each:
            chosen.append(pair)
    return chosen
