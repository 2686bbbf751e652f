"""MEMORIZE: learn by heart a random mapping from a pair of integers to an integer.

Sequence    k1 k2 <sep> v, with k1, k2 and v in 1..32; e.g. "3 21 <sep> 28"
Vocabulary  <pad>, 1..32 (keys and values share these tokens), <sep>; 34 tokens
Output      v, one token
Splits      one: all 32² = 1,024 keys, each with a value drawn uniformly. There is nothing to generalize to,
            so train, search, val and test are the same object (`held_out` is False): accuracy is training
            accuracy, and the search for a non-linearity uses the training pairs themselves.
Latents     first, second (the key's integers), value
Chance      1/32; no rule connects key and value

>>> from lab.tasks import load
>>> load("memorize").show("train", 0)
'3 21 <sep> 28'

Source: paper Table 1, after Zhong & Andreas (2024), "Algorithmic capabilities of random transformers".
Their code has 512² keys, gives each position of the key its own token ids, has no separator, and lets the
value share the ids of the first position. Here all integers are in 1..32 and a separator follows the key,
as the paper says.
"""

import numpy as np

from lab.tasks.disjoint import Examples
from lab.tasks.task import PAD, SEPARATOR, Task

INTEGERS = 32


def build(seed: int) -> Task:
    """The task with the mapping of this seed."""
    generator = np.random.default_rng(seed)
    first, second = np.divmod(generator.permutation(INTEGERS**2), INTEGERS)
    key = np.stack([first + 1, second + 1], axis=1)  # integer i is token i
    value = generator.integers(1, INTEGERS + 1, size=len(key))
    latents = {"first": key[:, 0], "second": key[:, 1], "value": value}
    everything = Examples(key, value[:, None], latents).split(separator=INTEGERS + 1)
    return Task(
        name="memorize",
        vocabulary=(PAD, *map(str, range(1, INTEGERS + 1)), SEPARATOR),
        splits=dict.fromkeys(("train", "search", "val", "test"), everything),
        search_in_training=False,  # train is everything already
        held_out=False,
    )
