"""ADDMOD: addition modulo 97.

Sequence    a b <sep> c, with a, b in 0..96 and c = (a + b) mod 97
Vocabulary  <pad>, 0..96, <sep>; 99 tokens
Output      c, one token
Splits      all 97² = 9,409 ordered pairs, shuffled. 95 % (8,938) are for training: 7,150 train and 1,788
            search, the 20 % of the training data held out in stage I. The other 471 are val (235) and test
            (236): fewer than the 1,000 of the other tasks, because no more pairs are left. (b, a) may be in
            train where (a, b) is in test.
Latents     first, second (a and b), value (c)
Chance      1/97

>>> from lab.tasks import load
>>> load("addmod").show("train", 0)
'8 82 <sep> 90'

Source: paper Table 1 (N = 97, 95 % of the pairs for training), after Zhong & Andreas (2024). Their code has
N = 199, no separator and no validation split.
"""

import numpy as np

from lab.tasks.disjoint import Examples
from lab.tasks.task import PAD, SEPARATOR, Task

MODULUS = 97
TRAINING = 0.95  # part of all pairs that stage II trains on
SEARCH = 0.20  # part of those that stage I keeps for the non-linearity


def build(seed: int) -> Task:
    """The task with the shuffle of this seed."""
    generator = np.random.default_rng(seed)
    first, second = np.divmod(generator.permutation(MODULUS**2), MODULUS)
    value = (first + second) % MODULUS
    latents = {"first": first, "second": second, "value": value}
    # Token 0 is padding, so integer i is token i + 1.
    pairs = Examples(np.stack([first, second], axis=1) + 1, value[:, None] + 1, latents)

    training = int(TRAINING * len(pairs))
    train = training - round(SEARCH * training)
    val = training + (len(pairs) - training) // 2
    edges = {"train": (0, train), "search": (train, training), "val": (training, val), "test": (val, None)}
    splits = {name: pairs.take(slice(*edge)).split(separator=MODULUS + 1) for name, edge in edges.items()}
    return Task(
        name="addmod",
        vocabulary=(PAD, *map(str, range(MODULUS)), SEPARATOR),
        splits=splits,
    )
