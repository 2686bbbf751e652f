"""COPY: repeat the input.

Sequence    x1 … xL <sep> x1 … xL, with each x in 1..8
Vocabulary  <pad>, 1..8, <sep>; 10 tokens
Output      the second x1 … xL. There is no end token.
Metric      sequence accuracy: all L tokens right. Token accuracy stays high where length generalization has
            failed.
Splits      train 100,000 of lengths 2–10, search 20,000 of 2–15, val 1,000 of 2–15, test 1,000 of 16–20,
            and "lengths": 100 of each length 2..20, for accuracy by length. In each split all its lengths
            are equally frequent and the tokens uniform. No input of train, search or val is in another
            split; "lengths" draws from the inputs that test owns. Of the shortest sequences there are few
            (64 of length 2), so they repeat inside a split. Stage II trains on train alone: search has
            lengths that training must not see.
Latents     length (L)

>>> from lab.tasks import load
>>> load("copy").show("train", 0)
'1 6 4 3 8 5 1 5 8 <sep> 1 6 4 3 8 5 1 5 8'

Source: paper Table 1 and Section 3.1 (weights on lengths 2–10, non-linearities on 2–15), after Cai et al.
(2025) on length generalization. An example in the paper's table has a 9 among its tokens; its text says
1..8, and so it is here.
"""

from functools import partial

import numpy as np

from lab.tasks.disjoint import Examples, draw_evenly
from lab.tasks.task import PAD, SEPARATOR, Task

SYMBOLS = 8
LONGEST = 20
SIZES = {"train": 100_000, "search": 20_000, "val": 1_000, "test": 1_000}
LENGTHS = {"train": (2, 10), "search": (2, 15), "val": (2, 15), "test": (16, 20)}
EACH_LENGTH = 100  # examples of each length in the split "lengths"


def build(seed: int) -> Task:
    """The task with the sequences of this seed."""
    generator = np.random.default_rng(seed)
    splits: dict[str, Examples] = {}
    propose = partial(_propose, generator)
    for name, (low, high) in LENGTHS.items():
        splits |= draw_evenly(propose, range(low, high + 1), {name: SIZES[name]}, generator)
    every = range(LENGTHS["train"][0], LONGEST + 1)
    size = {"test": EACH_LENGTH * len(every)}  # the split "lengths" draws from the inputs that test owns
    splits["lengths"] = draw_evenly(propose, every, size, generator)["test"]
    return Task(
        name="copy",
        vocabulary=(PAD, *map(str, range(1, SYMBOLS + 1)), SEPARATOR),
        splits={name: examples.split(separator=SYMBOLS + 1) for name, examples in splits.items()},
        metric="sequence",
        search_in_training=False,
    )


def _propose(generator: np.random.Generator, n: int, level: int) -> Examples:
    """n sequences of length `level`."""
    inputs = np.zeros((n, LONGEST), dtype=np.int64)
    inputs[:, :level] = generator.integers(1, SYMBOLS + 1, size=(n, level))
    return Examples(inputs, inputs, {"length": np.full(n, level)})
