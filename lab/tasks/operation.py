"""Binary operations on which grokking is studied: every pair of operands, split at random (simplicity paper, App. E.6).

Both operands are one-hot, one after the other; the answer is a class. The operations are those of Power et al.
(2022), on numbers modulo 27 or 53 and on the groups S4 and S5 of permutations of 4 and 5 things.

The paper counts 22 of them. Its text names, in Figures 10 and 27: a+b, a-b, ab, "ab if b is odd, else a+b", a²+b²
and one that ends in +a, modulo 27; a²+ab+b² and a³+ab modulo 53; ab in S4. The others are drawn, and not in the text.
`ALL` is our guess at the 22: these eight forms for each of the two moduli, and ab, aba⁻¹, aba (the three products of
Power et al.) for each group. Power et al. have one form more, a³+ab²+b; it can be asked for and is not in `ALL`.

Division, which Power et al. have, is not defined modulo 27 for every b; the paper has ab in its place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from lab.errors import ArgumentError, check_choice, check_number, check_type, check_whole, shown
from lab.tasks.table import TableSplit, TableTask, random_parts

# (a, b) → value, before the modulus is taken; operands are below MOST, so int64 does not overflow
MODULAR: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a+b": lambda a, b: a + b,
    "a-b": lambda a, b: a - b,
    "ab": lambda a, b: a * b,
    "ab if b odd else a+b": lambda a, b: torch.where(b % 2 == 1, a * b, a + b),
    "a^2+b^2": lambda a, b: a**2 + b**2,
    "a^2+ab+b^2": lambda a, b: a**2 + a * b + b**2,
    "a^2+ab+b^2+a": lambda a, b: a**2 + a * b + b**2 + a,
    "a^3+ab": lambda a, b: a**3 + a * b,
    "a^3+ab^2+b": lambda a, b: a**3 + a * b**2 + b,
}
PRODUCTS = ("ab", "aba^-1", "aba")
GROUPS = {"S4": 4, "S5": 5}
MOST = 1024  # values of an operand
LOSSES = ("mse", "cross_entropy", "stablemax")


@dataclass(frozen=True)
class Operation(TableTask):
    """A binary operation, learned from a part of its table.

    >>> task = Operation("a+b", modulus=27)
    >>> task.name, task.inputs, task.outputs
    ('a+b mod 27', 54, 27)
    >>> {name: len(split) for name, split in task.split(0).items()}
    {'train': 466, 'val': 117, 'test': 146}
    >>> Operation("aba^-1", group="S4").table().shape
    torch.Size([24, 24])
    """

    form: str = "a+b"  # of MODULAR, or with a group of PRODUCTS
    modulus: int = 0
    group: str = ""  # "S4" or "S5"
    fraction: float = 0.8  # of the table that is not the test split (App. E.6)
    held_out: float = 0.2  # of that part, for "val"
    # "trained with an MSE loss"; or "cross_entropy", "stablemax"
    loss_name: str = field(default="mse", metadata={"since": 2})

    classification: ClassVar[bool] = True

    def __post_init__(self):
        check_type("group", self.group, str, f"one of {', '.join(GROUPS)}")
        check_whole("modulus", self.modulus, 0, MOST)
        if bool(self.modulus) == bool(self.group):
            said = f"modulus={self.modulus}, group={shown(self.group)}"
            raise ArgumentError(f"{said}: give one of the two, as in modulus=27")
        if self.group:
            check_choice("group", self.group, GROUPS)
        forms = PRODUCTS if self.group else tuple(MODULAR)
        if not isinstance(self.form, str) or self.form not in forms:
            raise ArgumentError(f"unknown operation {shown(self.form)}; choose one of {', '.join(forms)}")
        if not self.group:
            check_whole("modulus", self.modulus, 2, MOST)
        check_choice("loss_name", self.loss_name, LOSSES)
        for name in ("fraction", "held_out"):
            if not 0 < check_number(name, getattr(self, name), 0, 1) < 1:
                raise ArgumentError(f"{name}={getattr(self, name)}: give a fraction between 0 and 1")
        if min(self._sizes().values()) < 1:
            raise ArgumentError(f"fraction={self.fraction}, held_out={self.held_out} leave a split empty; move them")

    @property
    def name(self) -> str:
        """As people write it, e.g. "a+b mod 27" or "aba^-1 in S5"."""
        return f"{self.form} in {self.group}" if self.group else f"{self.form} mod {self.modulus}"

    @property
    def classes(self) -> int:
        return len(elements(self.group)) if self.group else self.modulus

    @property
    def inputs(self) -> int:
        return 2 * self.classes

    def table(self) -> Tensor:
        """The result for every pair (a, b), (n, n) int64: rows are a, columns b. What Figures 10 and 27 draw."""
        n = torch.arange(self.classes)
        if not self.group:
            return MODULAR[self.form](n[:, None], n[None]) % self.modulus
        product = products(self.group)
        if self.form == "ab":
            return product
        a = n[:, None].expand_as(product)
        return product[product, inverses(self.group)[a] if self.form == "aba^-1" else a]

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """train, val and test: disjoint, together the whole table, at random from `seed`. latents: a and b.

        The test split is the same for every `held_out`, so that "val" can be given back to training.
        """
        return _split(self, check_whole("seed", seed, 0))

    def _sizes(self) -> dict[str, int]:
        rows = self.classes**2
        pool = round(rows * self.fraction)
        val = round(pool * self.held_out)
        return {"test": rows - pool, "val": val, "train": pool - val}

    def show(self, split: TableSplit, i: int) -> str:
        """Row i as text: operands and result; permutations as the images of 0, 1, 2, …"""
        names = [str(n) for n in range(self.classes)]
        if self.group:
            names = ["".join(map(str, p)) for p in elements(self.group).tolist()]
        a, b, result = (names[v[i]] for v in (split.latents["a"], split.latents["b"], split.targets))
        return f"a = {a}, b = {b}: {self.name} = {result}"


def elements(group: str) -> Tensor:
    """The permutations of a group, (n!, n) int64, in lexicographic order: the identity is the first one.

    >>> elements("S4")[1]
    tensor([0, 1, 3, 2])
    """
    return torch.tensor(list(permutations(range(GROUPS[group]))))


def products(group: str) -> Tensor:
    """Cayley table (n!, n!) int64: [a, b] is the index of ab, which does b first: (ab)(x) = a(b(x))."""
    all_of_them = elements(group)
    composed = all_of_them[:, all_of_them]  # [a, b, x] = a(b(x))
    places = len(all_of_them[0]) ** torch.arange(len(all_of_them[0]))
    code, codes = (composed * places).sum(-1), (all_of_them * places).sum(-1)
    ordered, order = codes.sort()
    return order[torch.searchsorted(ordered, code)]


def inverses(group: str) -> Tensor:
    """Index of the inverse of each element, (n!,) int64."""
    return (products(group) == 0).long().argmax(1)


@lru_cache(maxsize=64)  # S5: 14,400 rows of 240 columns, 14 MB; the others less than 3 MB
def _split(task: Operation, seed: int) -> Mapping[str, TableSplit]:
    n = task.classes
    a, b = (v.flatten() for v in torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij"))
    inputs = torch.cat([F.one_hot(a, n), F.one_hot(b, n)], 1).float()
    whole = TableSplit(inputs, task.table().flatten(), {"a": a, "b": b})
    parts = random_parts(len(whole), task._sizes(), torch.Generator().manual_seed(seed))
    return MappingProxyType({name: whole[parts[name]] for name in ("train", "val", "test")})


EIGHT = tuple(MODULAR)[:8]
ALL = tuple(Operation(form, modulus=m) for m in (27, 53) for form in EIGHT)
ALL += tuple(Operation(form, group=group) for group in GROUPS for form in PRODUCTS)
