"""How many SRAVEN tasks and problems there are (hypernetwork paper, Appendix B.1, Figure A9), and how many problems are
ambiguous: more than one answer would fit them (Appendix B.2, Table A2).

The paper calls a problem ambiguous if another set of rules and permutations fits its eight panels and gives another
ninth panel. By these words 24 % are, with K = 4 and F = 8; the paper prints 0.3 %. What it prints is what the
reference code counts, and that differs in two ways: all K answers have to differ at once, and "distribute three" may
repeat a symbol, which the generator never does. Both counts are here; `printed` chooses.

Ambiguous does not mean unsolvable: one reading may be far more likely than the other, as "constant" is for a feature
that was 0 in both full rows, though these are sums too.

The search is exhaustive, yet lists no permutations: what a rule says about a sequence depends on three places alone,
one in each column. So it is asked for all K³ triples of places whether some rule fits, and whether some rule that
fits errs. Then whether K triples that use every place once can be chosen so that all fit and one errs (or all err),
by keeping for every choice of used places whether it can be reached.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, factorial

import torch
from torch import Tensor

from lab.errors import check_type, check_whole
from lab.tasks.sraven import COLUMNS, DISTRIBUTE, ROWS, RULES, Sraven

WANTED = "a lab.tasks.Sraven, as lab.tasks.Sraven(features=4)"
CHUNK = 1_000  # problems at once: 131 MB of reached choices for K = 8


def count_tasks(task: Sraven) -> int:
    """Number of tasks: C(R + K - 1, K) multisets of the R = 8 rules, times (K!)^(G - 1) permutations, G = 3 columns.

    Only the order of features in one column relative to another counts, so there is one K! less than columns.

    >>> count_tasks(Sraven(features=4)) == 330 * 24**2
    True
    """
    check_type("task", task, Sraven, WANTED)
    return comb(len(RULES) + task.features - 1, task.features) * _orders(task)


def count_problems(task: Sraven) -> int:
    """Number of problems: a task together with the rows that its rules give.

    A multiset of rules has as many grids as the product of what each rule has (`grids`), and the sum over all
    multisets is the complete homogeneous symmetric polynomial h_K of these numbers. Two problems are different if
    they differ in rules, permutations or grid; a few of them show the same panels. The paper prints the formula of
    `count_tasks` alone, and no number for problems: this is the count that goes with it.

    >>> count_problems(Sraven(features=1)), f"{count_problems(Sraven()):.2e}"
    (538944, '1.42e+25')
    """
    check_type("task", task, Sraven, WANTED)
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


@dataclass(frozen=True)
class Ambiguity:
    """A Monte-Carlo estimate of the fraction of ambiguous problems."""

    fraction: float
    standard_error: float
    problems: int  # looked at


def estimate_ambiguity(task: Sraven, problems: int = 4096, seed: int = 0, printed: bool = False) -> Ambiguity:
    """The fraction of ambiguous problems among those that the task generates, with all combinations of rules.

    printed: count as the reference code does. Table A2 has .0642 ± .0038, .0032 ± .0009 and .0005 ± .0003 for K = 4
    and F = 4, 8, 16, from 4,096 problems, ± standard error.

    >>> for printed in (True, False):
    ...     result = estimate_ambiguity(Sraven(), problems=4000, printed=printed)
    ...     print(f"{result.fraction:.4f} ± {result.standard_error:.4f}")
    0.0022 ± 0.0007
    0.2320 ± 0.0067
    """
    check_type("task", task, Sraven, WANTED)
    everything, generator = replace(task, held_out=0.0), torch.Generator().manual_seed(check_whole("seed", seed, 0))
    count = 0
    for start in range(0, check_whole("problems", problems), CHUNK):
        examples = everything.sample("train", min(CHUNK, problems - start), generator, seed=0)
        count += int(ambiguous(task, examples.latents["panels"], printed).sum())
    fraction = count / problems
    return Ambiguity(fraction, (fraction * (1 - fraction) / problems) ** 0.5, problems)


def ambiguous(task: Sraven, panels: Tensor, printed: bool = False) -> Tensor:
    """Whether another answer would fit: panels (N, 3, 3, K) as shown, int64, the answer included → (N,) bool.

    Two problems of one feature that stays constant in each row. In the second, both full rows are sums as well:

    >>> rows = [[[0, 0, 0], [3, 3, 3], [5, 5, 5]], [[0, 0, 0], [0, 0, 0], [5, 5, 5]]]
    >>> ambiguous(Sraven(features=1), torch.tensor(rows)[..., None]).tolist()
    [False, True]
    """
    fits, errs = _triples(panels, task.values, repeated=printed)
    if not task.permute:  # then the places are known, and each is a riddle of its own
        place = torch.arange(task.features, device=panels.device)
        alone = errs[:, place, place, place]
        return alone.all(-1) if printed else alone.any(-1)
    return _matched(errs, errs) if printed else _matched(fits, errs)


def _triples(panels: Tensor, values: int, repeated: bool) -> tuple[Tensor, Tensor]:
    """For places i, j, k of columns 0, 1, 2: does a rule fit, and does one that fits err? Both (N, K, K, K) bool."""
    first, second, third = panels.unbind(2)  # (N, 3 rows, K)
    x = first[..., :, None, None], second[..., None, :, None], third[..., None, None, :]
    fits, answer = _distribute_three(torch.stack(torch.broadcast_tensors(*x), -1), repeated)
    errs = fits & (answer != x[2][:, 2])
    for rule, row in enumerate(ROWS):
        if rule == DISTRIBUTE:
            continue
        # With a and b the first two values of a row, a rule says all three; a sum or difference takes any two
        said = [(p * x[0] + q * x[1] + r) % values for p, q, r in row]
        fit = (said[1] == x[1]).all(1) & (said[2] == x[2])[:, :2].all(1)
        fits, errs = fits | fit, errs | fit & (said[2] != x[2])[:, 2]
    return fits, errs


def _distribute_three(rows: Tensor, repeated: bool) -> tuple[Tensor, Tensor]:
    """Whether rows (N, 3, ..., 3 columns) have the same three symbols, and the one that row 2 lacks: both (N, ...)."""
    symbols, others = rows[:, :2].sort(-1).values.unbind(1)
    same = rows[:, 2, ..., :2, None] == symbols[..., None, :]  # (N, ..., 2 values, 3 symbols)
    fit = (symbols == others).all(-1) & same.any(-1).all(-1)
    if not repeated:
        fit &= (symbols[..., 1:] != symbols[..., :-1]).all(-1) & (rows[:, 2, ..., 0] != rows[:, 2, ..., 1])
    missing = same.sum(-2).argmin(-1, keepdim=True)
    return fit, symbols.gather(-1, missing).squeeze(-1)


def _matched(fits: Tensor, errs: Tensor) -> Tensor:
    """Whether places can be matched so that each triple fits and one or more errs: (N, K, K, K) bool → (N,) bool."""
    count, features = fits.shape[:2]
    masks = torch.arange(2**features, device=fits.device)
    size = sum(masks >> place & 1 for place in range(features))  # places that a mask uses
    # reached[e, a, b]: with places a of column 1 and b of column 2 used, and an error (e = 1) or none so far
    reached = torch.zeros(2, len(masks), len(masks), count, dtype=torch.bool, device=fits.device)
    reached[0, 0, 0] = True
    fits, errs = (part.permute(1, 2, 3, 0).contiguous() for part in (fits, errs))
    for i in range(features):
        for j in range(features):
            for k in range(features):
                a, b = (masks[(size == i) & (masks >> place & 1 == 0)] for place in (j, k))
                old = reached[:, a[:, None], b]
                new = old & fits[i, j, k]
                new[1] |= old[0] & errs[i, j, k]
                reached[:, (a | 1 << j)[:, None], b | 1 << k] |= new
    return reached[1, -1, -1]
