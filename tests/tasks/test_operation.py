"""Binary operations: the tables against plain Python and group axioms, the splits against the paper's description."""

from itertools import permutations, product

import pytest
import torch

from lab.errors import ArgumentError
from lab.spec import from_json, to_json
from lab.tasks import Operation
from lab.tasks.operation import ALL, elements, inverses, products
from tests.reference.operations import FORMULAS


@pytest.mark.parametrize("form", FORMULAS)
@pytest.mark.parametrize("modulus", [2, 27, 53])
def test_modular_tables_are_their_formulas(form, modulus):
    table = Operation(form, modulus=modulus).table()
    expected = [[FORMULAS[form](a, b) % modulus for b in range(modulus)] for a in range(modulus)]
    assert table.tolist() == expected


@pytest.mark.parametrize("group", ["S4", "S5"])
def test_products_obey_the_axioms_of_a_group(group):
    table, back = products(group), inverses(group)
    n = torch.arange(len(table))
    assert len(table) == {"S4": 24, "S5": 120}[group]
    assert (table.sort(1).values == n).all() and (table.sort(0).values == n[:, None]).all()  # a Latin square
    assert (table[0] == n).all() and (table[:, 0] == n).all()  # the first element is neutral
    assert (table[n, back] == 0).all() and (table[back, n] == 0).all()
    assert (table[table] == table[:, table]).all()  # (ab)c = a(bc)
    assert (table != table.T).any()  # and it does not commute


@pytest.mark.parametrize("group", ["S4", "S5"])
def test_products_are_compositions_of_permutations(group):
    listed = [tuple(p) for p in elements(group).tolist()]
    assert listed == list(permutations(range(len(listed[0]))))
    inverse = {p: tuple(sorted(range(len(p)), key=p.__getitem__)) for p in listed}
    tables = {form: Operation(form, group=group).table() for form in ("ab", "aba^-1", "aba")}
    for a, b in list(product(range(len(listed)), repeat=2))[::7]:
        p, q = listed[a], listed[b]
        pq = tuple(p[x] for x in q)  # q first
        assert listed[tables["ab"][a, b]] == pq
        assert listed[tables["aba^-1"][a, b]] == tuple(pq[x] for x in inverse[p])
        assert listed[tables["aba"][a, b]] == tuple(pq[x] for x in p)


def test_conjugation_keeps_the_cycle_type():
    fixed = (elements("S5") == torch.arange(5)).sum(1)
    table = Operation("aba^-1", group="S5").table()
    assert (fixed[table] == fixed).all()
    assert (table[0] == torch.arange(120)).all() and (table[:, 0] == 0).all()


def test_there_are_22_with_names_of_their_own():
    assert len(ALL) == len({task.name for task in ALL}) == len({to_json(task) for task in ALL}) == 22
    assert all(from_json(to_json(task)) == task for task in ALL)
    sizes = sorted(task.classes for task in ALL)
    assert sizes == [24] * 3 + [27] * 8 + [53] * 8 + [120] * 3


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_splits_are_disjoint_and_complete_and_say_what_the_table_says(task):
    splits, n = task.split(3), task.classes
    pairs = torch.cat([split.latents["a"] * n + split.latents["b"] for split in splits.values()])
    assert pairs.sort().values.equal(torch.arange(n * n))
    seen = len(splits["train"]) + len(splits["val"])
    assert abs(seen - 0.8 * n * n) <= 0.5 and abs(len(splits["val"]) - 0.2 * seen) <= 0.5
    table = task.table()
    for split in splits.values():
        a, b = split.inputs.view(-1, 2, n).argmax(-1).unbind(1)
        assert (a == split.latents["a"]).all() and (b == split.latents["b"]).all()
        assert (split.inputs.sum(1) == 2).all() and ((split.inputs == 0) | (split.inputs == 1)).all()
        assert (split.targets == table[a, b]).all()


def test_the_seed_decides_the_split_and_the_validation_part_does_not_move_the_test_part():
    task = Operation("a+b", modulus=27)
    rows = {seed: task.split(seed)["test"].inputs for seed in (0, 1)}
    assert task.split(0) is task.split(0) and not torch.equal(rows[0], rows[1])
    other = Operation("a+b", modulus=27, held_out=0.5).split(0)["test"].inputs
    assert torch.equal(other, rows[0])


def test_an_example_can_be_read():
    task = Operation("ab", group="S4")
    split = task.split(0)["test"]
    words = task.show(split, 0)
    a, b = (elements("S4")[split.latents[name][0]].tolist() for name in "ab")
    result = "".join(str(a[x]) for x in b)
    assert words == f"a = {''.join(map(str, a))}, b = {''.join(map(str, b))}: ab in S4 = {result}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "modulus=27"),
        ({"modulus": 27, "group": "S4"}, "one of the two"),
        ({"form": "a/b", "modulus": 27}, "a+b, a-b, ab"),
        ({"form": "a+b", "group": "S4"}, "ab, aba^-1, aba"),
        ({"form": "ab", "group": "S6"}, "S4, S5"),
        ({"modulus": 1}, "2 or more"),
        ({"modulus": 10**6}, "1024"),
        ({"modulus": 27, "fraction": 1.0}, "between 0 and 1"),
        ({"modulus": 2, "fraction": 0.9}, "empty"),
    ],
)
def test_a_wrong_argument_says_what_to_give(arguments, words):
    with pytest.raises(ArgumentError, match=words.replace("+", r"\+").replace("^", r"\^")):
        Operation(**arguments)
