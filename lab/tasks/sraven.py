"""SRAVEN: symbolic Raven's Progressive Matrices (hypernetwork paper, Section 4 and Appendix B).

Problem     a 3×3 grid of panels, each of K features with values 0..F-1. A feature follows one rule in every
            row. Eight panels are shown, the ninth is asked for. Rules, values modulo F (Appendix B.3):

            0 constant      c, c, c            5 addition          a, b, a + b
            1 progression   s, s + 1, s + 2    6 subtraction       a, b, a - b
            2 progression   s, s + 2, s + 4    7 distribute three  three different values, drawn once for the
            3 progression   s, s - 1, s - 2                        problem; each row is an independent
            4 progression   s, s - 2, s - 4                        permutation of them

            c, s, a, b are uniform, new in each row. With F = 4, +2 and -2 are one rule under two names, with
            F = 3, +2 and -1, +1 and -2; and nothing can tell them apart.
Rules       K rules, a multiset: each of the C(8 + K - 1, K) is drawn alike, and feature i has the i-th in the
            order above. Which answer token asks for which feature is then up to the permutations.
Finding     With `permute`, every column of a problem shows the features in an order of its own, the same in
correspon-  all rows: the features of one rule have to be found (Section 4.3). Without, feature i is in place i
dences      everywhere, as the reference does for looking at latent codes.
Sequence    the eight panels row by row, their features inside a panel: one token each, one-hot of width F.
            Then K queries, all zero, one a feature of the ninth panel: 9 K tokens (36 for K = 4).
Output      the K values of the ninth panel, from the queries; mean cross-entropy
Splits      ⌊`held_out` of the multisets⌋ are "ood", drawn by the run's seed: with K = 4, 82 of 330. train, val
            and test are fresh problems with the other 248. A multiset has no order, so that a combination of
            rules is in one split alone in all of its permutations. With K = 1, "ood" has rules never seen.
Latents     rules (N, K); combination (N,): rank of the multiset in lexicographic order; permutations (N, 3, K):
            place j of column c shows feature permutations[c, j]; grid (N, 3, 3, K): row, column, feature,
            before permuting; panels (N, 3, 3, K): as shown; answer_rules (N, K): rule of what each query asks
Chance      1/F a feature, F^-K a problem

>>> import torch
>>> task = Sraven()
>>> problems = task.sample("train", 100, torch.Generator().manual_seed(0), seed=0)
>>> problems.inputs.shape, problems.targets.shape
(torch.Size([100, 36, 8]), torch.Size([100, 4]))
>>> print(task.show(problems, 0))
(0 7 6 4)  (6 5 6 2)  (5 4 4 7)
(7 5 6 1)  (4 0 3 1)  (3 1 3 1)
(6 2 5 5)  (1 1 4 0)  (? ? ? ?)
answer (0 1 2 4)
places 1 0 0: progression -1, 7 6 5; 5 4 3; 2 1 0
places 2 2 1: addition, 6 6 4; 6 3 1; 5 4 1
places 0 3 2: progression +2, 0 2 4; 7 1 3; 6 0 2
places 3 1 3: subtraction, 4 5 7; 1 0 1; 5 1 4

The last lines say, for each place of the answer, where its feature stands in the three columns, counted from 0.

Departures from the reference code: its in-distribution test repeats the first batches of training; here no two
splits share numbers. Every rule of a held-out combination is in one that is trained on (`hold_out`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, permutations
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.errors import ArgumentError, check_flag, check_whole
from lab.tasks.stream import Examples, StreamTask, check_held_out, fork, hold_out, known, rank

COLUMNS = 3
# Column c of a row is (p a + q b + r) modulo F, with a and b uniform: (p, q, r) by rule and column. Distribute three
# is made by another way; its line is never read.
_ROWS = {
    "constant": ((1, 0, 0), (1, 0, 0), (1, 0, 0)),
    "progression +1": ((1, 0, 0), (1, 0, 1), (1, 0, 2)),
    "progression +2": ((1, 0, 0), (1, 0, 2), (1, 0, 4)),
    "progression -1": ((1, 0, 0), (1, 0, -1), (1, 0, -2)),
    "progression -2": ((1, 0, 0), (1, 0, -2), (1, 0, -4)),
    "addition": ((1, 0, 0), (0, 1, 0), (1, 1, 0)),
    "subtraction": ((1, 0, 0), (0, 1, 0), (1, -1, 0)),
    "distribute three": ((0, 0, 0), (0, 0, 0), (0, 0, 0)),
}
RULES, ROWS = tuple(_ROWS), tuple(_ROWS.values())
DISTRIBUTE = RULES.index("distribute three")


@dataclass(frozen=True)
class Sraven(StreamTask):
    """Problems of `features` features with `values` values each."""

    features: int = 4  # K, 1 to 8
    values: int = 8  # F, 3 to 16
    held_out: float = 0.25  # fraction of the combinations of rules
    permute: bool = True  # features in an order of its own in each column

    name: ClassVar[str] = "sraven"
    splits: ClassVar[tuple[str, ...]] = ("train", "val", "test", "ood")
    metric_signs: ClassVar[Mapping[str, int]] = {"accuracy": 1, "accuracy_per_feature": 1}

    def __post_init__(self):
        check_whole("features", self.features, 1, 8)
        check_whole("values", self.values, 3, 16)  # the rule "distribute three" needs 3
        check_flag("permute", self.permute)
        check_held_out(self.held_out)
        _combinations(self, 0)  # says when held_out leaves nothing to train on

    @property
    def inputs(self) -> int:
        return self.values

    @property
    def outputs(self) -> int:
        return self.values

    @property
    def length(self) -> int:
        return COLUMNS * COLUMNS * self.features

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(range(self.length - self.features, self.length))

    def combinations(self, split: str, seed: int = 0) -> Tensor:
        """The multisets of rules of a split, (combinations, K) int64, sorted and in lexicographic order.

        >>> [len(Sraven().combinations(split)) for split in ("train", "ood")]
        [248, 82]
        """
        combinations = _combinations(self, seed)[known(self, split)]
        if not len(combinations):
            raise ArgumentError(f"held_out={self.held_out} holds nothing out, so {split!r} is empty; hold out more")
        return combinations

    def sample(self, split: str, count: int, generator: torch.Generator, seed: int) -> Examples:
        """`count` problems of a split; `seed` decides which combinations of rules are held out."""
        combinations = self.combinations(split, seed).to(generator.device)
        rng = fork(generator, split)
        index = torch.randint(len(combinations), (check_whole("count", count),), generator=rng, device=rng.device)
        return self._draw(combinations[index], rng)

    def make(self, rules: Tensor, generator: torch.Generator) -> Examples:
        """Problems with rules of your choice: (N, K) int64, indices into `RULES`, in increasing order.

        >>> problems = Sraven(features=2).make(torch.tensor([[0, 5]]), torch.Generator().manual_seed(0))
        >>> problems.latents["grid"][0, ..., 0].tolist()
        [[4, 4, 4], [5, 5, 5], [3, 3, 3]]
        """
        if rules.ndim != 2 or rules.shape[1] != self.features or rules.dtype != torch.int64:
            raise ArgumentError(f"rules of shape {tuple(rules.shape)}: give int64 (problems, {self.features})")
        if rules.min() < 0 or rules.max() >= len(RULES) or (rules.diff(dim=1) < 0).any():
            raise ArgumentError(f"rules are {rules.tolist()}: give 0..{len(RULES) - 1} in increasing order")
        return self._draw(rules, generator)

    def _draw(self, rules: Tensor, generator: torch.Generator) -> Examples:
        place: dict[str, Any] = {"generator": generator, "device": generator.device}
        grid = self._grid(rules, place)
        orders = _permutations(self.features, str(generator.device))
        if self.permute:
            chosen = orders[torch.randint(len(orders), (len(rules), COLUMNS), **place)]
        else:
            chosen = orders[0].expand(len(rules), COLUMNS, -1)
        panels = grid.gather(-1, chosen[:, None].expand_as(grid))
        shown = panels.flatten(1)  # (N, 9 K)
        inputs = F.one_hot(shown, self.values).float()
        inputs[:, -self.features :] = 0.0
        latents = {
            "rules": rules,
            "combination": self.rank(rules),
            "permutations": chosen,
            "grid": grid,
            "panels": panels,
            "answer_rules": rules.gather(1, chosen[:, -1]),
        }
        return Examples(inputs, shown[:, -self.features :], latents)

    def _grid(self, rules: Tensor, place: dict) -> Tensor:
        """Values (N, 3, 3, K) that obey the rules (N, K): row, column, feature."""
        count, values = len(rules), self.values
        a, b = torch.randint(values, (2, count, COLUMNS, 1, self.features), **place).unbind()
        p, q, r = torch.tensor(ROWS, device=rules.device)[rules].permute(3, 0, 2, 1)[:, :, None].unbind()
        grid = (p * a + q * b + r) % values  # p, q, r (N, 1, 3, K)
        special = rules == DISTRIBUTE
        symbols = _different(int(special.sum()), values, place)
        orders = _permutations(COLUMNS, str(rules.device))
        chosen = orders[torch.randint(len(orders), (len(symbols), COLUMNS), **place)]  # (problems, row, column)
        rows = symbols[:, None].expand_as(chosen).gather(-1, chosen)
        grid.permute(0, 3, 1, 2)[special] = rows  # a view: writes into grid
        return grid

    def rank(self, rules: Tensor) -> Tensor:
        """Rank (N,) of sorted multisets (N, K) of rules among all, in lexicographic order.

        >>> Sraven().rank(torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1], [7, 7, 7, 7]])).tolist()
        [0, 1, 329]
        """
        places = torch.arange(self.features, device=rules.device)
        return rank(rules + places, len(RULES) + self.features - 1)  # a multiset r is the subset r + (0, 1, …, K - 1)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy over problems and features, in nats: outputs (R, N, K, F), targets (R, N, K) → (R,)."""
        nats = F.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="none")
        return nats.view_as(targets).mean((-2, -1))

    def statistics(self, outputs: Tensor, targets: Tensor, examples: Examples) -> dict[str, Tensor]:
        """Sums over problems, each (R,) float64, of two batches to be added up; arguments as in `loss`."""
        hits = outputs.argmax(-1) == targets
        problems, features = hits.all(-1).double(), hits.double().mean(-1)
        sums = {"problems": problems, "features": features, "count": torch.ones_like(features)}
        return {name: value.sum(-1) for name, value in sums.items()}

    def summary(self, statistics: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """accuracy (of whole answers, all features right) and accuracy_per_feature, each (R,)."""
        whole, each = (statistics[name] / statistics["count"] for name in ("problems", "features"))
        return {"accuracy": whole, "accuracy_per_feature": each}

    def show(self, examples: Examples, i: int) -> str:
        """Problem i as text: the panels, the answer, and for each of its places which rule gives it from where."""
        latents = {name: latent[i].tolist() for name, latent in examples.latents.items()}
        width = len(str(self.values - 1))
        rows = [["(" + " ".join(f"{v:{width}}" for v in panel) + ")" for panel in row] for row in latents["panels"]]
        answer, rows[-1][-1] = rows[-1][-1], "(" + " ".join("?".rjust(width) for _ in range(self.features)) + ")"
        lines = ["  ".join(row) for row in rows] + [f"answer {answer}"]
        first, second, third = latents["permutations"]
        for place, feature in enumerate(third):
            sequences = "; ".join(" ".join(str(row[c][feature]) for c in range(COLUMNS)) for row in latents["grid"])
            places = f"places {first.index(feature)} {second.index(feature)} {place}"
            lines.append(f"{places}: {RULES[latents['rules'][feature]]}, {sequences}")
        return "\n".join(lines)


def _different(count: int, values: int, place: dict) -> Tensor:
    """Three different values each time, in all orders alike: (count, 3) int64 in 0..values-1."""
    first = torch.randint(values, (count,), **place)
    second = (first + 1 + torch.randint(values - 1, (count,), **place)) % values
    low, high = torch.minimum(first, second), torch.maximum(first, second)
    third = torch.randint(values - 2, (count,), **place)  # counts the values that are left
    third = third + (third >= low)
    return torch.stack([first, second, third + (third >= high)], -1)


@lru_cache(maxsize=32)
def _permutations(size: int, device: str) -> Tensor:
    """All permutations of 0..size-1 in lexicographic order, (size!, size) int64. Shared: not to be written into."""
    return torch.tensor(list(permutations(range(size))), device=device)


@lru_cache(maxsize=512)  # a fleet asks for its seeds at every block of batches
def _combinations(task: Sraven, seed: int) -> dict[str, Tensor]:
    everything = torch.tensor(list(combinations_with_replacement(range(len(RULES)), task.features)))
    training, unseen = hold_out(everything, task.held_out, seed, task.name)
    return dict.fromkeys(("train", "val", "test"), training) | {"ood": unseen}
