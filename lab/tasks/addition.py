"""ADD and ADDREVERSED: addition of two decimal numbers of four digits, a token a digit.

Sequence    ADD: d d d d + d d d d <sep> and the digits of the sum, most significant first, no leading zero.
            ADDREVERSED: the same problems with each of the three numbers written least significant digit
            first, so that a digit of the sum depends only on digits and carries that came before.
Vocabulary  <pad>, 0..9, +, <sep>; 13 tokens
Output      the sum, four or five tokens, the first one included. There is no end token: a model is scored
            on as many tokens as the sum has.
Splits      train 80,000, search 20,000, val 1,000, test 1,000; operands uniform in 1000..9999, and no
            ordered pair of operands of one split is in another. ADDREVERSED has the problems of ADD in the
            same order.
Latents     first, second, sum; carries (examples, 4) bool: carry out of the column of ones, tens, hundreds,
            thousands
Chance      about 1/10 a digit. The sum has five digits in 60 % of the training examples.

>>> from lab.tasks import load
>>> load("add").show("train", 0)
'6 7 3 2 + 1 9 8 2 <sep> 8 7 1 4'
>>> load("addreversed").show("train", 0)
'2 3 7 6 + 2 8 9 1 <sep> 4 1 7 8'

Source: paper Table 1, after Zhong & Andreas (2024); the reversed order after Lee et al. (2023), "Teaching
arithmetic to small transformers". The code of Zhong & Andreas has ten digits, always reversed, an end
token, other ids for digits of the sum than for digits of the operands, and neither trains nor scores the
first digit of the sum. Here a digit is one token wherever it stands, as in the paper's examples, and all
digits of the sum count.
"""

from collections.abc import Callable

import numpy as np

from lab.tasks.disjoint import Examples, draw
from lab.tasks.task import PAD, SEPARATOR, Task

DIGITS = 4  # of an operand
SIZES = {"train": 80_000, "search": 20_000, "val": 1_000, "test": 1_000}
PLUS, SEPARATOR_ID = 11, 12  # digit d is token d + 1, because token 0 is padding


def add(seed: int) -> Task:
    """Numbers written most significant digit first."""
    return _build("add", seed, lambda numbers: numbers)


def addreversed(seed: int) -> Task:
    """Numbers written least significant digit first."""
    return _build("addreversed", seed, lambda numbers: numbers[:, ::-1])


def _build(name: str, seed: int, write: Callable[[np.ndarray], np.ndarray]) -> Task:
    """`write` puts numbers (examples, digits), most significant digit first, into the order wanted."""
    generator = np.random.default_rng(seed)
    # Drawn in the order of ADD for both tasks, so that both have the same problems in the same splits.
    splits = draw(lambda n: _propose(generator, n), SIZES)
    return Task(
        name=name,
        vocabulary=(PAD, *map(str, range(10)), "+", SEPARATOR),
        splits={key: _rewrite(examples, write).split(SEPARATOR_ID) for key, examples in splits.items()},
    )


def _propose(generator: np.random.Generator, n: int) -> Examples:
    first, second = generator.integers(10 ** (DIGITS - 1), 10**DIGITS, size=(2, n))
    inputs = np.concatenate([_digits(first, DIGITS) + 1, np.full((n, 1), PLUS), _digits(second, DIGITS) + 1], axis=1)
    outputs = _digits(first + second, DIGITS + 1) + 1
    outputs[first + second < 10**DIGITS, 0] = 0  # no leading zero
    powers = 10 ** np.arange(1, DIGITS + 1)
    carries = first[:, None] % powers + second[:, None] % powers >= powers
    return Examples(inputs, outputs, {"first": first, "second": second, "sum": first + second, "carries": carries})


def _digits(numbers: np.ndarray, count: int) -> np.ndarray:
    """Decimal digits (examples, count), most significant first, with leading zeros."""
    return numbers[:, None] // 10 ** np.arange(count - 1, -1, -1) % 10


def _rewrite(examples: Examples, write: Callable[[np.ndarray], np.ndarray]) -> Examples:
    first, plus, second = np.split(examples.inputs, [DIGITS, DIGITS + 1], axis=1)
    outputs = write(examples.outputs)
    # A sum of four digits has its gap at one end or the other; a stable sort moves the padding to the right.
    outputs = np.take_along_axis(outputs, np.argsort(outputs == 0, axis=1, kind="stable"), axis=1)
    return Examples(np.concatenate([write(first), plus, write(second)], axis=1), outputs, examples.latents)
