"""Seeds of independent random streams: weights, batches and splits of a run never share numbers."""

import numpy as np


def stream(*values: int | str) -> int:
    """A 63-bit seed from numbers, which are not negative, and words.

    Words are joined letter by letter, and zeros at the end do not count: so each purpose has one order of words and
    numbers.

    >>> stream(0, "weights") != stream(0, "batches") != stream(1, "batches")
    True
    """
    entropy = [number for v in values for number in (v.encode() if isinstance(v, str) else [v])]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
