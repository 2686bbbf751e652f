"""What is said before a figure is made: how long its training takes, and which of its results are missing."""

from __future__ import annotations

import sys

from lab.devices import choose_device
from lab.papers.entry import Entry
from lab.progress import lasting

LONG, LOOSE = 0.25, 8  # minutes of training that are announced


def announce(entry: Entry, scale: str, runs: int, missing: int, device: str = "auto") -> bool:
    """Say so before a training that nobody would wait for unprepared; whether it was said. device: that trains; none
    for a cluster."""
    place = choose_device(device) if device else ""
    slow = scale == "paper" and place == "cpu" and entry.minutes[scale] > 1  # less is no training
    minutes = entry.minutes[scale] * missing / max(1, runs)
    # at smoke scale an entry's minutes are many times too long: its pace says it (lab.progress)
    long_one = minutes >= (LOOSE if scale == "smoke" else 1) * LONG or slow and missing > 0
    if long_one:
        long = f"about {lasting(60 * minutes)} {_where(scale, place)}"
        text = f"{entry.name}, scale {scale}: {missing} of {runs} runs have to be trained, {long}."
        text += " You can interrupt: what is trained is stored, and the next call goes on from there."
        print(text, file=sys.stderr, flush=True)
    return long_one


def _where(scale: str, place: str) -> str:
    """The machine that an entry's minutes are for, and that which trains, where it is another.

    >>> _where("paper", "cpu")
    'on a GPU; here it is a CPU, which takes many times as long'
    """
    if scale == "paper":
        return "on a GPU; here it is a CPU, which takes many times as long" if place == "cpu" else "on a GPU"
    return "on 2 CPU cores; here it is a GPU" if place == "cuda" else "on 2 CPU cores"


def name_missing(entry: Entry, scale: str, missing: list[str]) -> None:
    """Say which tasks of an entry have no shipped results, and how to train them."""
    text = f"{entry.name}, scale {scale}: no results of {', '.join(missing)} are shipped; to train them:"
    text += f" lab.figure({entry.name!r}, {scale!r}, tasks={missing})"
    text += "; with all tasks named, they are drawn together" if entry.histories else ""
    print(text, file=sys.stderr, flush=True)
