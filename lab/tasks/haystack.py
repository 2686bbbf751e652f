"""HAYSTACK: find a marker in a list of (marker, value) pairs and return the value after it.

Sequence    m1 c1 … mk ck mu <sep> cu: k pairs, k uniform in 1..10, then the marker to look for, the
            separator, and the value that follows the marker's first occurrence
Vocabulary  <pad>, 64 markers "1".."64", 64 values "a".."z", "aa".."az", "ba".."bl", <sep>; 130 tokens. The
            marker that is looked for is the same token as in the list.
Output      cu, one token
Splits      train 80,000, search 20,000, val 1,000, test 1,000; no input of one split is in another
Latents     pairs (k), position (0-based pair of the first occurrence), occurrences (of the marker among the
            pairs), marker and value (0..63 each)
Chance      1/64; 29 % for a model that picks some value of the list

>>> from lab.tasks import load
>>> load("haystack").show("train", 0)
'24 r 7 bh 7 w 58 ae 4 as 7 b 47 ai 34 v 26 au 7 <sep> bh'

Markers and values are each drawn uniformly and independently, so a marker may come twice in a list. The
examples in the paper's table happen to have no repeated marker; but its text asks for the *first*
occurrence, which means something only if markers repeat. The marker to look for is that of a uniformly
drawn pair. In 6.7 % of the training examples (seed 0) it occurs more than once, as above, where the three
values after 7 are bh, w and b.

Source: paper Table 1 (k in 1..10, m and c in 1..64), after Zhong & Andreas (2024). Their code has distinct
markers, up to 30 pairs, another token for the marker at the end than for the same marker in the list, and
no separator.
"""

from string import ascii_lowercase

import numpy as np

from lab.tasks.disjoint import Examples, draw
from lab.tasks.task import PAD, SEPARATOR, Task

PAIRS = 10  # at most
KINDS = 64  # of markers, and of values
SIZES = {"train": 80_000, "search": 20_000, "val": 1_000, "test": 1_000}
VALUES = [*ascii_lowercase, *(a + b for a in "ab" for b in ascii_lowercase)][:KINDS]


def build(seed: int) -> Task:
    """The task with the lists of this seed."""
    generator = np.random.default_rng(seed)
    splits = draw(lambda n: _propose(generator, n), SIZES)
    return Task(
        name="haystack",
        vocabulary=(PAD, *map(str, range(1, KINDS + 1)), *VALUES, SEPARATOR),
        splits={name: examples.split(separator=2 * KINDS + 1) for name, examples in splits.items()},
    )


def _propose(generator: np.random.Generator, n: int) -> Examples:
    pairs = generator.integers(1, PAIRS + 1, size=n)
    markers, values = generator.integers(KINDS, size=(2, n, PAIRS))
    rows = np.arange(n)
    wanted = markers[rows, generator.integers(pairs)]
    hits = (markers == wanted[:, None]) & (np.arange(PAIRS) < pairs[:, None])
    position = hits.argmax(1)  # of the first True
    value = values[rows, position]

    inputs = np.zeros((n, 2 * PAIRS + 1), dtype=np.int64)
    inputs[:, 0:-1:2] = 1 + markers
    inputs[:, 1:-1:2] = 1 + KINDS + values
    inputs[np.arange(2 * PAIRS + 1) >= 2 * pairs[:, None]] = 0
    inputs[rows, 2 * pairs] = 1 + wanted
    latents = {
        "pairs": pairs,
        "position": position,
        "occurrences": hits.sum(1),
        "marker": wanted,
        "value": value,
    }
    return Examples(inputs, 1 + KINDS + value[:, None], latents)
