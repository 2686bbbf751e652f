"""How many SRAVEN tasks and problems there are, exactly (hypernetwork paper, Appendix B.1, Figure A9)."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial

from lab.tasks.sraven import COLUMNS, RULES, Sraven


def tasks(task: Sraven) -> int:
    """Number of tasks: C(R + K - 1, K) multisets of the R = 8 rules, times (K!)^(G - 1) permutations, G = 3 columns.

    Only the order of features in one column relative to another counts, so there is one K! less than columns.

    >>> tasks(Sraven(features=4)) == 330 * 24**2
    True
    """
    return comb(len(RULES) + task.features - 1, task.features) * _orders(task)


def problems(task: Sraven) -> int:
    """Number of problems: a task together with the rows that its rules give.

    A multiset of rules has as many grids as the product of what each rule has (`grids`), and the sum over all
    multisets is the complete homogeneous symmetric polynomial h_K of these numbers. Two problems are different if
    they differ in rules, permutations or grid; a few of them show the same panels. The paper prints the formula of
    `tasks` alone, and no number for problems: this is the count that goes with it.

    >>> problems(Sraven(features=1)), f"{problems(Sraven()):.2e}"
    (538944, '1.42e+25')
    """
    sums = [1] + [0] * task.features  # h_0 … h_K of the rules so far
    for number in grids(task.values):
        for k in range(1, task.features + 1):
            sums[k] += number * sums[k - 1]
    return sums[-1] * _orders(task)


def grids(values: int) -> Sequence[int]:
    """Number of 3×3 grids of one feature by rule, in the order of `RULES`, with F values.

    One free value a row (constant, progressions): F³. Two (addition, subtraction): F⁶. Distribute three: C(F, 3)
    choices of symbols in 3! orders for each row.

    >>> grids(8)
    [512, 512, 512, 512, 512, 262144, 262144, 12096]
    """
    one, two = values**3, values**6
    return [one, one, one, one, one, two, two, comb(values, 3) * factorial(3) ** 3]


def _orders(task: Sraven) -> int:
    return factorial(task.features) ** (COLUMNS - 1) if task.permute else 1
