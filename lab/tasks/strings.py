"""Tasks of the transformers paper on strings of symbols (Table 1): HAYSTACK, COPY and PARENTHESES."""

from functools import partial
from string import ascii_lowercase

import numpy as np

from lab.tasks.task import SEPARATOR, SIZES, Sequences, Task, draw, draw_evenly, of_sequences

PAIRS = 10  # of a list of HAYSTACK at most
KINDS = 64  # of its markers, and of its values
VALUES = [*ascii_lowercase, *(a + b for a in "ab" for b in ascii_lowercase)][:KINDS]
SYMBOLS = 8  # of COPY
LONGEST = 20
EACH_LENGTH = 100  # examples of each length in its split "lengths"
LENGTHS = {"train": (2, 10), "search": (2, 15), "val": (2, 15), "test": (16, 20)}
LARGER = SIZES | {"train": 100_000}  # where the search split has no part in training
VERDICTS = ("(", ")", SEPARATOR, "<balanced>", "<unbalanced>")  # the tokens of PARENTHESES
OPEN, CLOSE = 1, 2


def haystack(seed: int) -> Task:
    """HAYSTACK: find a marker in a list of (marker, value) pairs and return the value after it.

    Sequence    m1 c1 … mk ck mu <sep> cu: k pairs, k uniform in 1..10, then the marker to look for, the separator, and
                the value that follows the marker's first occurrence
    Vocabulary  <pad>, 64 markers "1".."64", 64 values "a".."z", "aa".."az", "ba".."bl", <sep>; 130 tokens. The marker
                that is looked for is the same token as in the list.
    Output      cu, one token
    Splits      train 80,000, search 20,000, val 1,000, test 1,000; no input of one split is in another
    Latents     pairs (k), position (0-based pair of the first occurrence), occurrences (of the marker among the pairs),
                marker and value (0..63 each)
    Chance      1/64; 29 % for a model that picks some value of the list

    >>> haystack(0).show("train", 0)
    '24 r 7 bh 7 w 58 ae 4 as 7 b 47 ai 34 v 26 au 7 <sep> bh'

    Markers and values are each drawn uniformly and independently, so a marker may come twice in a list. The examples in
    the paper's table happen to have no repeated marker; but its text asks for the *first* occurrence, which means
    something only if markers repeat. The marker to look for is that of a uniformly drawn pair. In 6.7 % of the training
    examples (seed 0) it occurs more than once, as above, where the three values after 7 are bh, w and b.

    Source: paper Table 1 (k in 1..10, m and c in 1..64), after Zhong & Andreas (2024). Their code has distinct markers,
    up to 30 pairs, another token for the marker at the end than for the same marker in the list, and no separator.
    """
    splits = draw(partial(_lists, np.random.default_rng(seed)), SIZES)
    return of_sequences("haystack", (*map(str, range(1, KINDS + 1)), *VALUES, SEPARATOR), splits)


def _lists(generator: np.random.Generator, n: int) -> Sequences:
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
    latents = {"pairs": pairs, "position": position, "occurrences": hits.sum(1), "marker": wanted, "value": value}
    return Sequences(inputs, 1 + KINDS + value[:, None], latents)


def copy(seed: int) -> Task:
    """COPY: repeat the input.

    Sequence    x1 … xL <sep> x1 … xL, with each x in 1..8
    Vocabulary  <pad>, 1..8, <sep>; 10 tokens
    Output      the second x1 … xL. There is no end token.
    Metric      sequence accuracy: all L tokens right. Token accuracy stays high where length generalization has failed.
    Splits      train 100,000 of lengths 2–10, search 20,000 of 2–15, val 1,000 of 2–15, test 1,000 of 16–20, and
                "lengths": 100 of each length 2..20, for accuracy by length. In each split all its lengths are equally
                frequent and the tokens uniform. No input of train, search or val is in another split; "lengths" draws
                from the inputs that test owns. Of the shortest sequences there are few (64 of length 2), so they repeat
                inside a split. Stage II trains on train alone: search has lengths that training must not see.
    Latents     length (L)

    >>> copy(0).show("train", 0)
    '1 6 4 3 8 5 1 5 8 <sep> 1 6 4 3 8 5 1 5 8'

    Source: paper Table 1 and Section 3.1 (weights on lengths 2–10, non-linearities on 2–15), after Cai et al. (2025) on
    length generalization. An example in the paper's table has a 9 among its tokens; its text says 1..8, and so it is
    here.
    """
    generator = np.random.default_rng(seed)
    splits: dict[str, Sequences] = {}
    propose = partial(_copies, generator)
    for name, (low, high) in LENGTHS.items():
        splits |= draw_evenly(propose, range(low, high + 1), {name: LARGER[name]}, generator)
    every = range(LENGTHS["train"][0], LONGEST + 1)
    splits["lengths"] = draw_evenly(propose, every, {"test": EACH_LENGTH * len(every)}, generator)["test"]
    words = (*map(str, range(1, SYMBOLS + 1)), SEPARATOR)
    return of_sequences("copy", words, splits, metric="sequence", search_in_training=False)


def _copies(generator: np.random.Generator, n: int, level: int) -> Sequences:
    inputs = np.zeros((n, LONGEST), dtype=np.int64)
    inputs[:, :level] = generator.integers(1, SYMBOLS + 1, size=(n, level))
    return Sequences(inputs, inputs, {"length": np.full(n, level)})


def parentheses(seed: int) -> Task:
    """PARENTHESES: decide whether a string of parentheses is balanced (the Dyck language of one kind of bracket).

    Sequence    a string of ( and ), <sep>, and <balanced> or <unbalanced>
    Vocabulary  <pad>, (, ), <sep>, <balanced>, <unbalanced>; 6 tokens
    Output      the verdict, one token
    Splits      train 100,000 strings of lengths 1–20; search 20,000, val 1,000 and test 1,000 of lengths 21–40. No
                string of one split is in another; inside train, short ones repeat. Stage II trains on train alone:
                search has lengths that training must not see.
    Latents     length, balanced (bool), depth (the largest number of open parentheses after any prefix, at least 0)

    >>> parentheses(0).show("train", 0)
    '( ( ( ) ) ( ( ) ) ) <sep> <balanced>'

    Strings are made as in the reference, with M pairs at most (10 in train, 20 elsewhere). One in three is uniformly
    random of uniform length. The others are balanced, of a uniform number of pairs: with t > 1 pairs, either one pair
    around a balanced string of t - 1, or two balanced strings of u and t - u one after the other, u uniform; each in
    half of the cases. Then damage is done: with probability 1/2, swaps of two random places, and with probability 1/2,
    flips of random places, their number doubled in 2 of 3 cases so that the counts of ( and ) often still agree.
    Balanced strings are spared both in half of the cases. The verdict is that of the final string.

    What seed 0 gives, and how often shortcuts are right:

                                                                      train   search
    balanced                                                         52.9 %   52.1 %
    odd length                                                       16.6 %   17.1 %
    as many ( as )                                                   62.6 %   58.3 %
    right if an even length is called balanced                       69.5 %   69.2 %
    right if as many ( as ) is called balanced                       90.3 %   93.8 %
    right if that, with ( at the start and ) at the end, is          98.4 %   97.2 %

    Source: paper Table 1, after Zhong & Andreas (2024). Their code has lengths 1–60 in all splits, "?" as separator,
    and answers with a parenthesis: ) for balanced, ( for unbalanced.
    """
    generator = np.random.default_rng(seed)
    # Train needs no share of its own: its strings are shorter than all others.
    longer = {name: size for name, size in LARGER.items() if name != "train"}
    splits = {"train": _strings(generator, LARGER["train"], 1, 20)}
    splits |= draw(partial(_strings, generator, low=21, high=40), longer, {"search": 0.8, "val": 0.1, "test": 0.1})
    return of_sequences("parentheses", VERDICTS, splits, search_in_training=False)


def _strings(generator: np.random.Generator, n: int, low: int, high: int) -> Sequences:
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
    verdict = 1 + np.where(balanced, VERDICTS.index("<balanced>"), VERDICTS.index("<unbalanced>"))
    depth = np.maximum(height.max(1), 0).astype(np.int64)
    return Sequences(strings, verdict[:, None], {"length": length, "balanced": balanced, "depth": depth})


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
