"""Table tasks by name, as people type them: the inverse of their `name`."""

from __future__ import annotations

import re

from lab import datasets
from lab.errors import LONGEST, ArgumentError, check_type, shortened
from lab.tasks.images import Images
from lab.tasks.operation import GROUPS, MOST, Operation
from lab.tasks.table import TableTask
from lab.tasks.tabular import Tabular

AS_NUMBERS = " as numbers"
HELP = "a table: an operation ('a+b mod 27'), images ('mnist_sample', also ' as numbers')"
HELP += " or a data set ('bank-marketing'); `lab data` lists them"
TEXT_HELP = "a text ('shakespeare')"


def table_named(name: str) -> TableTask | None:
    """The operation, image set or data set of this name; None where there is none.

    >>> table_named("ab mod 27") == Operation("ab", modulus=27), table_named("aba^-1 in S4").inputs
    (True, 48)
    >>> table_named("mnist_sample as numbers").target, table_named("bank-marketing").inputs, table_named("chess")
    ('id', 7, None)
    """
    check_type("name", name, str, "a text, such as 'ab mod 27'")
    if match := re.fullmatch(r"(.+) mod ([0-9]+)", name):
        if len(match[2]) > LONGEST:  # Python does not read numbers of thousands of digits
            raise ArgumentError(f"modulus={shortened(match[2])}: give a whole number, 2 to {MOST}")
        return Operation(match[1], modulus=int(match[2]))
    if match := re.fullmatch(rf"(.+) in ({'|'.join(GROUPS)})", name):
        return Operation(match[1], group=match[2])
    source = name.removesuffix(AS_NUMBERS)
    kind = datasets.CATALOGUE[source].kind if source in datasets.CATALOGUE else None
    if kind == "images":
        return Images(source, target="class" if source == name else "id")
    return Tabular(name) if kind == "table" and source == name else None
