"""PARENTHESES: decide whether a string of parentheses is balanced (the Dyck language of one kind of bracket).

Sequence    a string of ( and ), <sep>, and <balanced> or <unbalanced>; e.g. "( ( ) ( ) ) <sep> <balanced>"
Vocabulary  <pad>, (, ), <sep>, <balanced>, <unbalanced>; 6 tokens
Output      the verdict, one token
Splits      train 100,000 strings of lengths 1–20; search 20,000, val 1,000 and test 1,000 of lengths 21–40.
            No string of one split is in another; inside train, short ones repeat. Stage II trains on train
            alone: search has lengths that training must not see.
Latents     length, balanced (bool), depth (the largest number of open parentheses after any prefix, at
            least 0)

>>> from lab.tasks import load
>>> load("parentheses").show("train", 0)
'( ( ( ) ) ( ( ) ) ) <sep> <balanced>'

Strings are made as in the reference, with M pairs at most (10 in train, 20 elsewhere). One in three is
uniformly random of uniform length. The others are balanced, of a uniform number of pairs: with t > 1 pairs,
either one pair around a balanced string of t - 1, or two balanced strings of u and t - u one after the
other, u uniform; each in half of the cases. Then damage is done: with probability 1/2, swaps of two random
places, and with probability 1/2, flips of random places, their number doubled in 2 of 3 cases so that the
counts of ( and ) often still agree. Balanced strings are spared both in half of the cases. The verdict is
that of the final string.

What seed 0 gives, and how often shortcuts are right:

                                                                  train   search
balanced                                                         52.9 %   52.1 %
odd length                                                       16.6 %   17.1 %
as many ( as )                                                   62.6 %   58.3 %
right if an even length is called balanced                       69.5 %   69.2 %
right if as many ( as ) is called balanced                       90.3 %   93.8 %
right if that, with ( at the start and ) at the end, is          98.4 %   97.2 %

Source: paper Table 1, after Zhong & Andreas (2024). Their code has lengths 1–60 in all splits, "?" as
separator, and answers with a parenthesis: ) for balanced, ( for unbalanced.
"""

import numpy as np

from lab.tasks.disjoint import Examples, draw
from lab.tasks.task import PAD, SEPARATOR, Task

SIZES = {"train": 100_000, "search": 20_000, "val": 1_000, "test": 1_000}
LENGTHS = {"train": (1, 20), "search": (21, 40), "val": (21, 40), "test": (21, 40)}
# Train needs no share of its own: its strings are shorter than all others.
SHARES = {"search": 0.8, "val": 0.1, "test": 0.1}
VOCABULARY = (PAD, "(", ")", SEPARATOR, "<balanced>", "<unbalanced>")
OPEN, CLOSE = 1, 2


def build(seed: int) -> Task:
    """The task with the strings of this seed."""
    generator = np.random.default_rng(seed)
    longer = {name: size for name, size in SIZES.items() if name != "train"}
    splits = {"train": _propose(generator, SIZES["train"], *LENGTHS["train"])}
    splits |= draw(lambda n: _propose(generator, n, *LENGTHS["test"]), longer, SHARES)
    return Task(
        name="parentheses",
        vocabulary=VOCABULARY,
        splits={name: examples.split(VOCABULARY.index(SEPARATOR)) for name, examples in splits.items()},
        search_in_training=False,
    )


def _propose(generator: np.random.Generator, n: int, low: int, high: int) -> Examples:
    random = generator.random(n) < 1 / 3
    length = generator.integers(low, high + 1, size=n)
    pairs = generator.integers((low + 1) // 2, high // 2 + 1, size=n)
    length = np.where(random, length, 2 * pairs)
    strings = generator.integers(OPEN, CLOSE + 1, size=(n, high))
    strings[np.arange(high) >= length[:, None]] = 0
    strings[~random] = _balanced(generator, pairs[~random], high)

    spared = ~random & (generator.random(n) < 1 / 2)
    swaps = np.where(spared | (generator.random(n) < 1 / 2), 0, generator.geometric(1 / 2, size=n))
    flips = np.where(spared | (generator.random(n) < 1 / 2), 0, generator.geometric(1 / 2, size=n))
    flips[generator.random(n) < 2 / 3] *= 2
    for round in range(swaps.max()):
        rows = np.flatnonzero(swaps > round)
        p, q = generator.integers(length[rows], size=(2, len(rows)))
        rows, p, q = rows[p < q], p[p < q], q[p < q]  # the reference leaves out the others
        strings[rows, p], strings[rows, q] = strings[rows, q], strings[rows, p]
    for round in range(flips.max()):
        rows = np.flatnonzero(flips > round)
        place = generator.integers(length[rows])
        strings[rows, place] = OPEN + CLOSE - strings[rows, place]

    steps = (strings == OPEN).astype(np.int8) - (strings == CLOSE).astype(np.int8)
    height = steps.cumsum(1, dtype=np.int8)
    balanced = (height[:, -1] == 0) & (height.min(1) == 0)
    verdict = np.where(balanced, VOCABULARY.index("<balanced>"), VOCABULARY.index("<unbalanced>"))
    depth = np.maximum(height.max(1), 0).astype(np.int64)
    return Examples(strings, verdict[:, None], {"length": length, "balanced": balanced, "depth": depth})


def _balanced(generator: np.random.Generator, pairs: np.ndarray, width: int) -> np.ndarray:
    """Balanced strings (examples, width) with the given numbers of pairs (examples,), padded with 0.

    The recursion of the reference for all strings at once, each with its own stack of what is still to be
    written: a number of pairs, or 0 for a parenthesis to close.
    """
    n, everyone = len(pairs), np.arange(len(pairs))
    strings = np.zeros((n, width), dtype=np.int64)
    stack = np.zeros((n, width + 1), dtype=np.int64)
    stack[:, 0] = pairs
    waiting, written = np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    while len(rows := everyone[waiting > 0]):
        todo = stack[rows, waiting[rows] - 1]
        waiting[rows] -= 1

        split = (todo > 1) & (generator.random(len(rows)) < 1 / 2)
        parts = rows[split]
        left = generator.integers(1, todo[split])
        stack[parts, waiting[parts]] = todo[split] - left
        stack[parts, waiting[parts] + 1] = left
        waiting[parts] += 2

        close = todo == 0
        strings[rows[close], written[rows[close]]] = CLOSE
        written[rows[close]] += 1

        wrap = rows[~split & ~close]
        strings[wrap, written[wrap]] = OPEN
        written[wrap] += 1
        stack[wrap, waiting[wrap]] = 0
        waiting[wrap] += 1
        inner = todo[~split & ~close] - 1
        wrap, inner = wrap[inner > 0], inner[inner > 0]
        stack[wrap, waiting[wrap]] = inner
        waiting[wrap] += 1
    return strings
