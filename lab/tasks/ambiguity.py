"""Ambiguous problems of SRAVEN: those that more than one answer would fit (hypernetwork paper, Appendix B.2, Table A2).

A problem is ambiguous if some set of rules and permutations fits its eight panels and gives another ninth panel than
the one that was generated. The search is exhaustive, and exact, yet lists no permutations: what a rule says about a
sequence depends on three places alone, one in each column. So for all K³ triples of places it is asked whether some
rule fits, and whether some rule that fits answers wrongly; then whether K triples that use every place once can be
chosen so that all fit and one errs, keeping for every choice of used places whether it can be reached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lab.errors import check_whole
from lab.tasks.sraven import DISTRIBUTE, ROWS, Sraven

CHUNK = 1_000  # problems at once: 64 MB of reached choices for K = 7


@dataclass(frozen=True)
class Ambiguity:
    """A Monte-Carlo estimate of the fraction of ambiguous problems."""

    fraction: float
    standard_error: float
    problems: int  # looked at


def estimate(task: Sraven, problems: int = 4096, seed: int = 0) -> Ambiguity:
    """The fraction of ambiguous problems among those that the task generates, with all combinations of rules.

    The paper prints .0642 ± .0038, .0032 ± .0009 and .0005 ± .0003 for K = 4 and F = 4, 8, 16 (Table A2: 4,096
    problems ± standard error).

    >>> found = estimate(Sraven(values=4), problems=1000)
    >>> abs(found.fraction - 0.0642) < 4 * found.standard_error
    True
    """
    everything, generator = replace(task, held_out=0.0), torch.Generator().manual_seed(check_whole("seed", seed, 0))
    found = 0
    for start in range(0, check_whole("problems", problems), CHUNK):
        examples = everything.sample("train", min(CHUNK, problems - start), generator, seed=0)
        found += int(ambiguous(task, examples.latents["panels"]).sum())
    fraction = found / problems
    return Ambiguity(fraction, (fraction * (1 - fraction) / problems) ** 0.5, problems)


def ambiguous(task: Sraven, panels: Tensor) -> Tensor:
    """Whether another answer would fit: panels (N, 3, 3, K) as shown, int64, the answer included → (N,) bool.

    Two progressions, of +1 and of +2 as shown, stay two progressions if their first panels swap places, but nothing
    else fits the rows then:

    >>> rows = [[[0, 0], [1, 2], [2, 4]], [[3, 5], [4, 7], [5, 1]], [[6, 6], [7, 0], [0, 2]]]
    >>> ambiguous(Sraven(features=2), torch.tensor([rows])).tolist()
    [False]
    """
    fits, errs = _triples(panels, task.values)
    if not task.permute:  # then the features are known, and each is a riddle of its own
        place = torch.arange(task.features, device=panels.device)
        return errs[:, place, place, place].any(-1)
    return _matched(fits, errs)


def _triples(panels: Tensor, values: int) -> tuple[Tensor, Tensor]:
    """For places i, j, k of columns 0, 1, 2: does a rule fit, and does one that fits err? Both (N, K, K, K) bool."""
    first, second, third = panels.unbind(2)  # (N, 3 rows, K)
    x = first[..., :, None, None], second[..., None, :, None], third[..., None, None, :]
    bits = [1 << value for value in x]
    symbols = bits[0] | bits[1] | bits[2]
    # Row 0 has three different values, row 1 the same three; of row 2 two different ones of them, the third is missing
    different = (x[0] != x[1]) & (x[1] != x[2]) & (x[0] != x[2])
    shown = bits[0][:, 2] | bits[1][:, 2]
    missing = symbols[:, 0] & ~shown
    fit = different[:, 0] & (symbols[:, 0] == symbols[:, 1])
    fit &= (x[0] != x[1])[:, 2] & ((shown & ~symbols[:, 0]) == 0)
    fits, errs = fit, fit & (missing != bits[2][:, 2])
    for rule, row in enumerate(ROWS):
        if rule == DISTRIBUTE:
            continue
        # With a and b the first two values of the row, a rule says all three; addition and subtraction agree with any b
        said = [(p * x[0] + q * x[1] + r) % values for p, q, r in row]
        fit = (said[1] == x[1]).all(1) & (said[2] == x[2])[:, :2].all(1)
        fits, errs = fits | fit, errs | fit & (said[2] != x[2])[:, 2]
    return fits, errs


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
