"""LOGIC: fuzzy logic functions, learned from examples in context (hypernetwork paper, Section 3).

Function    K different terms in disjunctive normal form under Zadeh's operators (Eq. 8): and = min, or = max,
            not x = 1 - x. A term is the conjunction of all L variables, each plain or negated. The bits of a
            term's index, x1 the most significant, are 1 where the variable is plain: with L = 4, term 13 =
            0b1101 is x1 ∧ x2 ∧ ¬x3 ∧ x4. A function's terms stand in the order of their indices.
Sequence    `length` tokens (x1 … xL, f(x)), x uniform in [0, 1]^L, the same f all along. The last token is
            the query: its f(x) is 0. Nothing else marks it.
Output      f(x) of the query, one number; mean squared error
Splits      The last quarter of the terms, those with x1 and x2 plain, is reserved. Of all combinations of K
            other terms, ⌊`held_out` of them⌋ are "ood", drawn by the run's seed; the rest are trained on.
            train, val and test are fresh examples of the functions trained on; unseen_terms has functions of
            reserved terms. With L = 4 and K = 2, 66 functions: .3, .5 and .7 of them are 19, 33 and 46; and 6
            of reserved terms. A function is drawn uniformly for each sequence.
Latents     terms (N, K): their indices; function (N,): the rank of the combination among all of K terms in
            lexicographic order, the same in all splits; values (N, K): of each term at the query; variance
            (N,): of f over the sequence, query included
Chance      the mean of f gives R² = 0

>>> import torch
>>> task = Logic(length=4)
>>> examples = task.sample("train", 100, torch.Generator().manual_seed(0), seed=0)
>>> print(task.show(examples, 0))
f = (¬x1 ∧ ¬x2 ∧ x3 ∧ ¬x4) ∨ (x1 ∧ ¬x2 ∧ ¬x3 ∧ x4)
   x1    x2    x3    x4     f
 0.99  0.72  0.45  0.93  0.28
 0.44  0.13  0.35  0.74  0.44
 0.57  0.32  0.12  0.64  0.57
 0.80  0.89  0.28  0.77     ?
answer 0.11 = max(0.11, 0.11)

Two definitions of R² are reported. `r2_paper` is the mean over sequences of 1 - SE / Var, SE the squared error at
the one query and Var the variance of f over that one sequence, as in the reference code and so in the paper's
figures. A sequence on which f hardly varies can make it very negative. `r2` is 1 - ΣSE / ΣVar over all sequences.

Departures from the reference code: it draws the held-out combinations without looking whether every term is left
in one that is trained on, which the paper says it is; here it always is (`hold_out`). Its validation data repeat the
training data; here no two splits share numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, check_whole
from lab.seeds import stream
from lab.tasks.stream import Examples, StreamTask, check_held_out, fork, hold_out, known, rank

MOST = 1_000_000  # combinations of terms that are listed


@dataclass(frozen=True)
class Logic(StreamTask):
    """Functions of `terms` terms over `variables` variables, shown by `length` - 1 examples and asked for one more."""

    variables: int = 4  # L
    terms: int = 2  # K
    length: int = 32  # tokens, the query included
    held_out: float = 0.7  # fraction of the functions of seen terms

    name: ClassVar[str] = "logic"
    outputs: ClassVar[int] = 1
    metric_signs: ClassVar[Mapping[str, int]] = {"r2_paper": 1, "mse": -1}
    splits: ClassVar[tuple[str, ...]] = ("train", "val", "test", "ood", "unseen_terms")

    def __post_init__(self):
        check_whole("variables", self.variables, 2, 20)  # of more there are too many functions to count
        check_whole("terms", self.terms)
        check_whole("length", self.length, 2)
        if self.terms > self.reserved:
            said = f"{self.variables} variables reserve {self.reserved} terms for unseen_terms, too few for one"
            raise ArgumentError(f"terms={self.terms}: {said}; give more variables or fewer terms")
        if comb(2**self.variables, self.terms) > MOST:
            said = f"variables={self.variables}, terms={self.terms}"
            raise ArgumentError(f"{said}: more than {MOST} functions; give fewer of either")
        check_held_out(self.held_out)
        _functions(self, 0)  # says when held_out leaves nothing to train on

    @property
    def inputs(self) -> int:
        return self.variables + 1

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.length - 1,)

    @property
    def reserved(self) -> int:
        """Number of terms that no function trained on has: the last quarter."""
        return 2**self.variables // 4

    def functions(self, split: str, seed: int = 0) -> Tensor:
        """The functions of a split by the indices of their terms, (functions, K) int64, in lexicographic order.

        >>> [len(Logic(held_out=0.3).functions(split)) for split in ("train", "ood", "unseen_terms")]
        [47, 19, 6]
        """
        functions = _functions(self, seed)[known(self, split)]
        if not len(functions):
            raise ArgumentError(f"held_out={self.held_out} holds no function out, so {split!r} is empty; hold out more")
        return functions

    def sample(self, split: str, count: int, generator: torch.Generator, seed: int, fixed: str = "") -> Examples:
        """`count` sequences of a split; `seed` decides which functions are held out.

        fixed: "context" gives the labelled points of all sequences the same x, "query" the query; for looking at
        latent codes (Section 3.2). These points depend on `seed` alone. Values of f go with each one's function.
        """
        if fixed not in ("", "context", "query"):
            raise ArgumentError(f"fixed={fixed!r}: say 'context', 'query', or nothing")
        functions = self.functions(split, seed).to(generator.device)
        rng = fork(generator, split)
        place: dict[str, Any] = {"generator": rng, "device": rng.device}
        x = torch.rand(check_whole("count", count), self.length, self.variables, **place)
        if fixed:
            points = slice(None, -1) if fixed == "context" else slice(-1, None)
            same = torch.rand(x.shape[1:], generator=torch.Generator().manual_seed(stream(seed, "fixed")))
            x[:, points] = same[points].to(rng.device)
        return self._evaluate(functions[torch.randint(len(functions), (count,), **place)], x)

    def make(self, terms: Tensor, x: Tensor) -> Examples:
        """Sequences of your choice: functions (N, K), int64 indices of terms in increasing order, at x (N, T, L).

        >>> ones = torch.ones(1, 3, 2)
        >>> task = Logic(variables=2, terms=1, length=3, held_out=0)
        >>> [task.make(torch.tensor([[term]]), ones).targets.item() for term in range(4)]
        [0.0, 0.0, 0.0, 1.0]
        """
        if terms.ndim != 2 or terms.shape[1] != self.terms or terms.dtype != torch.int64:
            raise ArgumentError(f"terms of shape {tuple(terms.shape)}: give int64 (sequences, {self.terms})")
        if terms.min() < 0 or terms.max() >= 2**self.variables or (terms.diff(dim=1) <= 0).any():
            raise ArgumentError(f"terms are {terms.tolist()}: give 0..{2**self.variables - 1} in increasing order")
        if x.shape != (len(terms), self.length, self.variables):
            raise ArgumentError(f"x of shape {tuple(x.shape)}: give {(len(terms), self.length, self.variables)}")
        return self._evaluate(terms, x)

    def _evaluate(self, terms: Tensor, x: Tensor) -> Examples:
        shifts = torch.arange(self.variables - 1, -1, -1, device=x.device)
        plain = (terms[..., None] >> shifts & 1).bool()  # (N, K, L)
        # One term after the other: (N, K, T, L) at once would not fit the cache
        values = torch.stack([torch.where(bits[:, None], x, 1 - x).amin(-1) for bits in plain.unbind(1)], 1)
        f = values.amax(1)  # (N, T)
        inputs = torch.cat([x, f[..., None]], -1)
        inputs[:, -1, -1] = 0.0
        latents = {"terms": terms, "function": self.rank(terms), "values": values[..., -1]}
        latents["variance"] = f.var(1, correction=0)
        return Examples(inputs, f[:, -1:], latents)

    def rank(self, terms: Tensor) -> Tensor:
        """Rank (N,) of combinations (N, K) among all combinations of K terms, in lexicographic order.

        >>> Logic().rank(torch.tensor([[0, 1], [0, 2], [14, 15]])).tolist()
        [0, 1, 119]
        """
        return rank(terms, 2**self.variables)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error: outputs (R, N, 1, 1), targets (R, N, 1) → (R,)."""
        return (outputs.squeeze(-1) - targets).square().mean((-2, -1))

    def statistics(self, outputs: Tensor, targets: Tensor, examples: Examples) -> dict[str, Tensor]:
        """Sums over sequences, each (R,) float64, of two batches to be added up.

        outputs (R, N, 1, 1), targets (R, N, 1); the variance of `examples` is (R, N) or (N,).
        """
        error = (outputs.squeeze(-1) - targets).double().square().squeeze(-1)  # (R, N)
        variance = examples.latents["variance"].double().expand_as(error)
        sums = {"error": error, "variance": variance, "ratio": error / variance, "count": torch.ones_like(error)}
        return {name: value.sum(-1) for name, value in sums.items()}

    def summary(self, statistics: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """mse, r2 (1 - ΣSE / ΣVar) and r2_paper (mean of 1 - SE / Var), each (R,)."""
        error, variance, ratio, count = (statistics[name] for name in ("error", "variance", "ratio", "count"))
        return {"mse": error / count, "r2": 1 - error / variance, "r2_paper": 1 - ratio / count}

    def formula(self, terms: Tensor) -> str:
        """The function with these terms, written out.

        >>> Logic().formula(torch.tensor([0, 13]))
        '(¬x1 ∧ ¬x2 ∧ ¬x3 ∧ ¬x4) ∨ (x1 ∧ x2 ∧ ¬x3 ∧ x4)'
        """
        bits = (f"{term:0{self.variables}b}" for term in terms.tolist())
        written = (" ∧ ".join(f"{'' if bit == '1' else '¬'}x{i}" for i, bit in enumerate(b, 1)) for b in bits)
        return " ∨ ".join(f"({term})" for term in written)

    def show(self, examples: Examples, i: int) -> str:
        """Sequence i as text: the function, its labelled points, the query, and the answer with each term's value."""
        latents = {name: latent[i] for name, latent in examples.latents.items()}
        rows = [[f"{value:5.2f}" for value in token] for token in examples.inputs[i].tolist()]
        rows[-1][-1] = "    ?"
        head = [f"{name:>5}" for name in [f"x{n}" for n in range(1, self.variables + 1)] + ["f"]]
        values = ", ".join(f"{value:.2f}" for value in latents["values"].tolist())
        lines = [f"f = {self.formula(latents['terms'])}", *map(" ".join, [head, *rows])]
        return "\n".join([*lines, f"answer {examples.targets[i].item():.2f} = max({values})"])


@lru_cache(maxsize=512)  # a fleet asks for its seeds at every block of batches
def _functions(task: Logic, seed: int) -> dict[str, Tensor]:
    first_reserved = 2**task.variables - task.reserved
    pool = _combinations(0, first_reserved, task.terms)
    training, unseen = hold_out(pool, task.held_out, seed, task.name)
    reserved = _combinations(first_reserved, 2**task.variables, task.terms)
    return dict.fromkeys(("train", "val", "test"), training) | {"ood": unseen, "unseen_terms": reserved}


def _combinations(first: int, last: int, count: int) -> Tensor:
    return torch.tensor(list(combinations(range(first, last), count)))


TERMS = 2 ** Logic().variables - Logic().reserved  # that training sees


def which_terms(examples: Examples, count: int = TERMS) -> np.ndarray:
    """Whether a function has each of the terms that training saw, (examples, terms)."""
    terms = examples.latents["terms"].numpy()
    return (terms[:, :, None] == np.arange(count)).any(1).astype(int)


def written(term: int, variables: int = Logic().variables) -> str:
    """A term by the signs of its variables, x1 first: − is negated.

    >>> written(13)
    '++−+'
    """
    return "".join("+" if bit == "1" else "−" for bit in f"{term:0{variables}b}")
