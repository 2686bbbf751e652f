"""Whatever a task is given, it takes it or says in one short line what it wants; none of Python's own errors."""

import numpy as np
import pytest
import torch

from lab import tasks
from lab.errors import ArgumentError, LabError
from lab.tasks import Collage, Images, Logic, Operation, Sraven, Tabular
from lab.tasks.named import table_named
from lab.tasks.table import TableSplit, scale
from lab.tasks.task import Split

VALUES = {
    "None": None,
    "empty": "",
    "bytes": b"mnist",
    "list": [],
    "dict": {},
    "minus": -1,
    "zero": 0,
    "many": 2**70,
    "digits": 10**5000,
    "half": 0.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "True": True,
    "long": "x" * 5000,
    "modulus": "a+b mod " + "9" * 5000,
    "object": object(),
    "array": np.arange(3),
    "arabic": "a+b mod ٣",
}
CALLS = {
    "load": tasks.load,
    "seed of load": lambda value: tasks.load("memorize", value),
    "by name": table_named,
    "Tabular": Tabular,
    "seed of Tabular": lambda value: Tabular("bank-marketing").split(value),
    "Images": Images,
    "target": lambda value: Images("mnist_sample", target=value),
    "crop": lambda value: Images("mnist_sample", crop=value),
    "Collage": lambda value: Collage(value, "mnist_sample"),
    "hard": lambda value: Collage("mnist_sample", value),
    "form": lambda value: Operation(value, modulus=27),
    "modulus": lambda value: Operation("a+b", modulus=value),
    "group": lambda value: Operation("ab", group=value),
    "fraction": lambda value: Operation("a+b", modulus=27, fraction=value),
    "held_out": lambda value: Operation("a+b", modulus=27, held_out=value),
    "seed of Operation": lambda value: Operation("a+b", modulus=5).split(value),
    "variables": lambda value: Logic(variables=value),
    "terms": lambda value: Logic(terms=value),
    "length": lambda value: Logic(length=value),
    "held_out of Logic": lambda value: Logic(held_out=value),
    "features": lambda value: Sraven(features=value),
    "values": lambda value: Sraven(values=value),
    "permute": lambda value: Sraven(permute=value),
    "held_out of Sraven": lambda value: Sraven(held_out=value),
    "inputs": lambda value: TableSplit(value, torch.zeros(2)),
    "tokens": lambda value: Split(value, value),
}


@pytest.mark.parametrize("call", CALLS)
def test_it_is_taken_or_refused_in_one_line(call):
    refused = 0
    for value in VALUES.values():
        try:
            CALLS[call](value)
        except LabError as error:
            refused += 1
            assert isinstance(error, ArgumentError) and "\n" not in str(error) and len(str(error)) < 450
    assert refused > len(VALUES) // 2


@pytest.mark.parametrize("hole", [float("nan"), float("inf"), -float("inf")])
def test_a_hole_is_not_scaled_to_a_zero(hole):
    whole = torch.arange(12.0).view(4, 3)
    holed = whole.clone()
    holed[2, 1] = hole
    for training, rows in ((holed, whole), (whole, holed)):
        with pytest.raises(ArgumentError, match="missing or infinite, in columns 1;"):
            scale(training, rows)
    assert scale(whole, whole).abs().max() == 1


def test_numbers_of_digits_that_other_scripts_have_are_no_modulus():
    assert table_named("a+b mod ٣") is None
    for digits in (9, 40, 80, 5000):
        with pytest.raises(ArgumentError, match="modulus=999.*: give a whole number, . to 1024"):
            table_named("a+b mod " + "9" * digits)
