"""Tasks of the transformers paper that compute with numbers (Table 1): MEMORIZE, ADDMOD, ADD, ADDREVERSED and MANO.

Integers are tokens; token 0 is padding. What is said of chance holds for seed 0.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from lab.tasks.task import PAD, SEPARATOR, SIZES, Sequences, Task, draw, draw_evenly, of_sequences

KEYS = 32  # of MEMORIZE: integers of a key, and values
MODULUS = 97  # of ADDMOD
TRAINING = 0.95  # part of all pairs of ADDMOD that stage II trains on
SEARCH = 0.20  # part of those that stage I keeps for the non-linearity
DIGITS = 4  # of an operand of ADD
PLUS = 11  # in ADD: digit d is token d + 1
MANO = (*map(str, range(7)), "+", "-", "*", "(", ")", SEPARATOR)  # its tokens: number i is token i + 1
OPERATION, OPEN, CLOSE = (1 + MANO.index(sign) for sign in "+()")  # - and * follow +
OPERATIONS = 3  # of an expression of MANO at most
WIDTH = 1 + 4 * OPERATIONS - 2  # an operation adds operator, number and, but for one, two parentheses

# The shape of an expression: None is a number, a pair (left, right) an operation.
Shape = tuple["Shape", "Shape"] | None


def memorize(seed: int) -> Task:
    """MEMORIZE: learn by heart a random mapping from a pair of integers to an integer.

    Sequence    k1 k2 <sep> v, with k1, k2 and v in 1..32
    Vocabulary  <pad>, 1..32 (keys and values share these tokens), <sep>; 34 tokens
    Output      v, one token
    Splits      one: all 32² = 1,024 keys, each with a value drawn uniformly. There is nothing to generalize to, so
                train, search, val and test are the same object (`held_out` is False): accuracy is training accuracy,
                and the search for a non-linearity uses the training pairs themselves.
    Latents     first, second (the key's integers), value
    Chance      1/32; no rule connects key and value

    >>> memorize(0).show("train", 0)
    '3 21 <sep> 28'

    Source: paper Table 1, after Zhong & Andreas (2024), "Algorithmic capabilities of random transformers". Their code
    has 512² keys, gives each position of the key its own token ids, has no separator, and lets the value share the ids
    of the first position. Here all integers are in 1..32 and a separator follows the key, as the paper says.
    """
    generator = np.random.default_rng(seed)
    key = np.stack(np.divmod(generator.permutation(KEYS**2), KEYS), axis=1) + 1
    value = generator.integers(1, KEYS + 1, size=len(key))
    latents = {"first": key[:, 0], "second": key[:, 1], "value": value}
    everything = Sequences(key, value[:, None], latents).split(separator=KEYS + 1)
    return Task(
        name="memorize",
        vocabulary=(PAD, *map(str, range(1, KEYS + 1)), SEPARATOR),
        splits=dict.fromkeys(SIZES, everything),
        search_in_training=False,  # train is everything already
        held_out=False,
    )


def addmod(seed: int) -> Task:
    """ADDMOD: addition modulo 97.

    Sequence    a b <sep> c, with a, b in 0..96 and c = (a + b) mod 97
    Vocabulary  <pad>, 0..96, <sep>; 99 tokens
    Output      c, one token
    Splits      all 97² = 9,409 ordered pairs, shuffled. 95 % (8,938) are for training: 7,150 train and 1,788 search,
                the 20 % of the training data held out in stage I. The other 471 are val (235) and test (236): fewer
                than the 1,000 of the other tasks, because no more pairs are left. (b, a) may be in train where (a, b)
                is in test.
    Latents     first, second (a and b), value (c)
    Chance      1/97

    >>> addmod(0).show("train", 0)
    '8 82 <sep> 90'

    Source: paper Table 1 (N = 97, 95 % of the pairs for training), after Zhong & Andreas (2024). Their code has N =
    199, no separator and no validation split.
    """
    generator = np.random.default_rng(seed)
    first, second = np.divmod(generator.permutation(MODULUS**2), MODULUS)
    value = (first + second) % MODULUS
    latents = {"first": first, "second": second, "value": value}
    pairs = Sequences(np.stack([first, second], axis=1) + 1, value[:, None] + 1, latents)
    training = int(TRAINING * len(pairs))
    train = training - round(SEARCH * training)
    val = training + (len(pairs) - training) // 2
    edges = {"train": (0, train), "search": (train, training), "val": (training, val), "test": (val, None)}
    splits = {name: pairs.take(slice(*edge)) for name, edge in edges.items()}
    return of_sequences("addmod", (*map(str, range(MODULUS)), SEPARATOR), splits)


def add(seed: int) -> Task:
    """ADD: addition of two decimal numbers of four digits, a token a digit.

    Sequence    d d d d + d d d d <sep> and the digits of the sum, most significant first, no leading zero
    Vocabulary  <pad>, 0..9, +, <sep>; 13 tokens
    Output      the sum, four or five tokens, the first one included. There is no end token: a model is scored on as
                many tokens as the sum has.
    Splits      train 80,000, search 20,000, val 1,000, test 1,000; operands uniform in 1000..9999, and no ordered pair
                of operands of one split is in another
    Latents     first, second, sum; carries (examples, 4) bool: carry out of the column of ones, tens, hundreds,
                thousands
    Chance      about 1/10 a digit. The sum has five digits in 60 % of the training examples.

    >>> add(0).show("train", 0)
    '6 7 3 2 + 1 9 8 2 <sep> 8 7 1 4'

    Source: paper Table 1, after Zhong & Andreas (2024). Their code has ten digits, always reversed, an end token, other
    ids for digits of the sum than for digits of the operands, and neither trains nor scores the first digit of the sum.
    Here a digit is one token wherever it stands, as in the paper's examples, and all digits of the sum count.
    """
    return _addition("add", seed, lambda numbers: numbers)


def addreversed(seed: int) -> Task:
    """ADDREVERSED: the problems of ADD in the same order, each number with its least significant digit first.

    A digit of the sum depends only on digits and carries that came before it. All else is as in `add`. Source: paper
    Table 1; the order after Lee et al. (2023), "Teaching arithmetic to small transformers".

    >>> addreversed(0).show("train", 0)
    '2 3 7 6 + 2 8 9 1 <sep> 4 1 7 8'
    """
    return _addition("addreversed", seed, lambda numbers: numbers[:, ::-1])


def _addition(name: str, seed: int, write: Callable[[np.ndarray], np.ndarray]) -> Task:
    """write: numbers (examples, digits), most significant digit first, in the order wanted."""
    generator = np.random.default_rng(seed)
    # Drawn in the order of ADD for both tasks, so that both have the same problems in the same splits.
    splits = draw(partial(_sums, generator), SIZES)
    written = {key: _rewrite(part, write) for key, part in splits.items()}
    return of_sequences(name, (*map(str, range(10)), "+", SEPARATOR), written)


def _sums(generator: np.random.Generator, n: int) -> Sequences:
    first, second = generator.integers(10 ** (DIGITS - 1), 10**DIGITS, size=(2, n))
    inputs = np.concatenate([_digits(first, DIGITS) + 1, np.full((n, 1), PLUS), _digits(second, DIGITS) + 1], axis=1)
    outputs = _digits(first + second, DIGITS + 1) + 1
    outputs[first + second < 10**DIGITS, 0] = 0  # no leading zero
    powers = 10 ** np.arange(1, DIGITS + 1)
    carries = first[:, None] % powers + second[:, None] % powers >= powers
    return Sequences(inputs, outputs, {"first": first, "second": second, "sum": first + second, "carries": carries})


def _digits(numbers: np.ndarray, count: int) -> np.ndarray:
    """Decimal digits (examples, count), most significant first, with leading zeros."""
    return numbers[:, None] // 10 ** np.arange(count - 1, -1, -1) % 10


def _rewrite(sums: Sequences, write: Callable[[np.ndarray], np.ndarray]) -> Sequences:
    first, plus, second = np.split(sums.inputs, [DIGITS, DIGITS + 1], axis=1)
    outputs = write(sums.outputs)
    # A sum of four digits has its gap at one end or the other; a stable sort moves the padding to the right.
    outputs = np.take_along_axis(outputs, np.argsort(outputs == 0, axis=1, kind="stable"), axis=1)
    return Sequences(np.concatenate([write(first), plus, write(second)], axis=1), outputs, sums.latents)


def mano(seed: int) -> Task:
    """MANO: evaluate a nested arithmetic expression modulo 7.

    Sequence    the expression in infix notation, <sep>, and its value in 0..6. One to three operations among + - *, on
                numbers in 0..6. Every operation but the outermost is in parentheses: "(2-(6-1))*3" is 5.
    Vocabulary  <pad>, 0..6, +, -, *, (, ), <sep>; 14 tokens
    Output      the value, one token
    Splits      train 80,000 and search 20,000 (the paper's 1e5 training examples), val 1,000, test 1,000; no expression
                of one split is in another. All 147 expressions with one operation are in train: they are the
                multiplication and addition tables that the others are made of, and held out they would be a few
                expressions over and over. search, val and test have two or three operations, half each.
    Latents     operations (1..3), root (outermost operation: 0 is +, 1 is -, 2 is *), value
    Chance      1/7; a constant answer of 0, the most frequent one because of the products, is right in 21 % of test

    >>> mano(0).show("train", 3), mano(0).show("train", 1)
    ('6 * 0 <sep> 0', '( 4 - ( 6 - 5 ) ) - 4 <sep> 6')

    Train has equally many expressions of one, two and three operations. Operators and numbers are uniform, save that a
    split draws only from its own expressions. A tree is drawn as in the reference: of the operations below the root,
    the number in the left operand is uniform (so tree shapes are not equally likely).

    Source: paper Table 1 and Appendix B, after Allen-Zhu (2025), "Physics of language models 4.1". The reference writes
    expressions in prefix notation, modulo 23, with up to 10–16 operations, a token for the number of operations and two
    alternative ids for each token, and tests on the largest number of operations only. Here the notation is that of the
    examples in the paper's table, without a length token as its Appendix B says; whether the paper trained on infix is
    otherwise not said.
    """
    generator = np.random.default_rng(seed)
    propose = partial(_expressions, generator)
    facts = draw(partial(propose, level=1), {"train": SIZES["train"] // OPERATIONS}, {"train": 1.0})["train"]
    sizes = SIZES | {"train": SIZES["train"] - len(facts)}
    splits = draw_evenly(propose, range(2, OPERATIONS + 1), sizes, generator)
    order = generator.permutation(SIZES["train"])
    splits["train"] = Sequences.join([facts, splits["train"]]).take(order)
    return of_sequences("mano", MANO, splits)


def _shapes(operations: int) -> Iterator[tuple[Shape, float]]:
    """All tree shapes with so many operations, each with its probability."""
    if operations == 0:
        yield None, 1.0
    for below_left in range(operations):
        for left, p in _shapes(below_left):
            for right, q in _shapes(operations - 1 - below_left):
                yield (left, right), p * q / operations


def _expressions(generator: np.random.Generator, n: int, level: int) -> Sequences:
    kinds, probabilities = zip(*_shapes(level), strict=True)
    chosen = generator.choice(len(kinds), size=n, p=probabilities)
    numbers = generator.integers(7, size=(n, level + 1))
    operators = generator.integers(3, size=(n, level))
    inputs = np.zeros((n, WIDTH), dtype=np.int64)
    value = np.empty(n, dtype=np.int64)
    for index, shape in enumerate(kinds):  # all examples of one shape at once
        rows = np.flatnonzero(chosen == index)
        tokens, value[rows] = _write(shape, iter(numbers[rows].T), iter(operators[rows].T))
        tokens = tokens[1:-1]  # the outermost operation has no parentheses
        inputs[rows, : len(tokens)] = np.stack(np.broadcast_arrays(*tokens), axis=1)
    return Sequences(
        inputs, 1 + value[:, None], {"operations": np.full(n, level), "root": operators[:, 0], "value": value}
    )


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
    value = np.choose(operator, [a + b, a - b, a * b]) % 7
    return [OPEN, *left, OPERATION + operator, *right, CLOSE], value
