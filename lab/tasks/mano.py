"""MANO: evaluate a nested arithmetic expression modulo 7.

Sequence    the expression in infix notation, <sep>, and its value in 0..6. One to three operations among +
            - *, on numbers in 0..6. Every operation but the outermost is in parentheses: "(2-(6-1))*3" is
            5.
Vocabulary  <pad>, 0..6, +, -, *, (, ), <sep>; 14 tokens
Output      the value, one token
Splits      train 80,000 and search 20,000 (the paper's 1e5 training examples), val 1,000, test 1,000; no
            expression of one split is in another. All 147 expressions with one operation are in train: they
            are the multiplication and addition tables that the others are made of, and held out they would
            be a few expressions over and over. search, val and test have two or three operations, half each.
Latents     operations (1..3), root (outermost operation: 0 is +, 1 is -, 2 is *), value
Chance      1/7; a constant answer of 0, the most frequent one because of the products, is right in 21 % of
            test (seed 0)

>>> from lab.tasks import load
>>> load("mano").show("train", 3)
'6 * 0 <sep> 0'
>>> load("mano").show("train", 1)
'( 4 - ( 6 - 5 ) ) - 4 <sep> 6'

Train has equally many expressions of one, two and three operations. Operators and numbers are uniform,
save that a split draws only from its own expressions. A tree is drawn as in the reference: of the
operations below the root, the number in the left operand is uniform (so tree shapes are not equally
likely).

Source: paper Table 1 and Appendix B, after Allen-Zhu (2025), "Physics of language models 4.1". The
reference writes expressions in prefix notation, modulo 23, with up to 10–16 operations, a token for the
number of operations and two alternative ids for each token, and tests on the largest number of operations
only. Here the notation is that of the examples in the paper's table, without a length token as its Appendix
B says; whether the paper trained on infix is otherwise not said.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from lab.tasks.disjoint import Examples, draw, draw_evenly
from lab.tasks.task import PAD, SEPARATOR, Task

MODULUS = 7
OPERATIONS = 3  # at most
SIZES = {"train": 80_000, "search": 20_000, "val": 1_000, "test": 1_000}
VOCABULARY = (PAD, *map(str, range(MODULUS)), "+", "-", "*", "(", ")", SEPARATOR)
PLUS, OPEN, CLOSE = map(VOCABULARY.index, "+()")  # number i is token i + 1; - and * follow +
WIDTH = 1 + 4 * OPERATIONS - 2  # an operation adds operator, number and, but for one, two parentheses

# The shape of an expression: None is a number, a pair (left, right) an operation.
Shape = tuple["Shape", "Shape"] | None


def build(seed: int) -> Task:
    """The task with the expressions of this seed."""
    generator = np.random.default_rng(seed)
    propose = partial(_propose, generator)
    facts = draw(partial(propose, level=1), {"train": SIZES["train"] // OPERATIONS}, {"train": 1.0})["train"]
    sizes = SIZES | {"train": SIZES["train"] - len(facts)}
    splits = draw_evenly(propose, range(2, OPERATIONS + 1), sizes, generator)
    order = generator.permutation(SIZES["train"])
    splits["train"] = Examples.join([facts, splits["train"]]).take(order)
    return Task(
        name="mano",
        vocabulary=VOCABULARY,
        splits={name: examples.split(VOCABULARY.index(SEPARATOR)) for name, examples in splits.items()},
    )


def shapes(operations: int) -> Iterator[tuple[Shape, float]]:
    """All tree shapes with so many operations, each with its probability."""
    if operations == 0:
        yield None, 1.0
    for below_left in range(operations):
        for left, p in shapes(below_left):
            for right, q in shapes(operations - 1 - below_left):
                yield (left, right), p * q / operations


def _propose(generator: np.random.Generator, n: int, level: int) -> Examples:
    """n expressions with `level` operations."""
    kinds, probabilities = zip(*shapes(level), strict=True)
    chosen = generator.choice(len(kinds), size=n, p=probabilities)
    numbers = generator.integers(MODULUS, size=(n, level + 1))
    operators = generator.integers(3, size=(n, level))
    inputs = np.zeros((n, WIDTH), dtype=np.int64)
    value = np.empty(n, dtype=np.int64)
    for index, shape in enumerate(kinds):  # all examples of one shape at once
        rows = np.flatnonzero(chosen == index)
        tokens, value[rows] = _write(shape, iter(numbers[rows].T), iter(operators[rows].T))
        tokens = tokens[1:-1]  # the outermost operation has no parentheses
        inputs[rows, : len(tokens)] = np.stack(np.broadcast_arrays(*tokens), axis=1)
    latents = {"operations": np.full(n, level), "root": operators[:, 0], "value": value}
    return Examples(inputs, 1 + value[:, None], latents)


def _write(
    shape: Shape, numbers: Iterator[np.ndarray], operators: Iterator[np.ndarray]
) -> tuple[list[np.ndarray | int], np.ndarray]:
    """Tokens and values of one shape for many examples: a list of columns (examples,) and values (examples,).

    Numbers are taken from left to right, operators from the root down, so the root has the first one.
    """
    if shape is None:
        number = next(numbers)
        return [1 + number], number
    operator = next(operators)
    (left, a), (right, b) = (_write(part, numbers, operators) for part in shape)
    value = np.choose(operator, [a + b, a - b, a * b]) % MODULUS
    return [OPEN, *left, PLUS + operator, *right, CLOSE], value
