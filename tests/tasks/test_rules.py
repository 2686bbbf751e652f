"""Examples obey their task's rule, checked on the readable tokens by an independent oracle."""

import ast
import re
from collections import Counter

import pytest

from lab.tasks import load
from tests.tasks.reading import halves, lines

SPLITS = ("train", "search", "val", "test")
# Where nearly all examples differ: all of every split but train, and a part of train.
MOST = 20_000


def latents(task, split):
    return {name: values.tolist() for name, values in task.splits[split].latents.items()}


def test_memorize_has_each_key_once():
    task = load("memorize")
    rows = [list(map(int, key + value)) for key, value in halves(task, "train")]
    assert {(a, b) for a, b, _ in rows} == {(a, b) for a in range(1, 33) for b in range(1, 33)}
    assert len(rows) == 1024
    assert {value for *_, value in rows} == set(range(1, 33))
    truth = latents(task, "train")
    assert rows == [list(row) for row in zip(truth["first"], truth["second"], truth["value"], strict=True)]


def test_addmod_adds_and_its_splits_are_all_pairs():
    task = load("addmod")
    seen = Counter()
    for split in SPLITS:
        truth = latents(task, split)
        for i, (operands, result) in enumerate(halves(task, split)):
            a, b = map(int, operands)
            assert int(*result) == truth["value"][i] == (a + b) % 97
            assert (a, b) == (truth["first"][i], truth["second"][i])
            seen[a, b] += 1
    assert seen == Counter((a, b) for a in range(97) for b in range(97))


@pytest.mark.parametrize("split", SPLITS)
def test_haystack_answers_with_the_successor_of_the_first_occurrence(split):
    task = load("haystack")
    truth = latents(task, split)
    for i, (tokens, answer) in enumerate(halves(task, split, MOST)):
        *body, wanted = tokens
        markers, values = body[0::2], body[1::2]
        assert 1 <= len(markers) == len(values) == truth["pairs"][i] <= 10
        assert all(m.isdigit() and 1 <= int(m) <= 64 for m in markers) and all(v.isalpha() for v in values)
        first = next(place for place, marker in enumerate(markers) if marker == wanted)
        assert answer == [values[first]]
        assert (truth["position"][i], truth["occurrences"][i]) == (first, markers.count(wanted))
        assert task.vocabulary[1 + truth["marker"][i]] == wanted
        assert task.vocabulary[65 + truth["value"][i]] == values[first]


@pytest.mark.parametrize("split", SPLITS)
def test_add_adds(split):
    task = load("add")
    truth = latents(task, split)
    for i, line in enumerate(lines(task, split, MOST)):
        a, b, total = re.fullmatch(r"(\d{4})\+(\d{4})<sep>(\d{4,5})", line.replace(" ", "")).groups()
        assert a[0] != "0" and b[0] != "0" and total[0] != "0"
        assert int(total) == int(a) + int(b)
        assert (int(a), int(b), int(total)) == (truth["first"][i], truth["second"][i], truth["sum"][i])
        carry, carries = 0, []
        for x, y in zip(reversed(a), reversed(b), strict=True):  # column addition as at school
            carry = (int(x) + int(y) + carry) // 10
            carries.append(bool(carry))
        assert carries == truth["carries"][i]


@pytest.mark.parametrize("split", SPLITS)
def test_addreversed_is_add_with_every_number_written_backwards(split):
    for forward, backward in zip(lines(load("add"), split, MOST), lines(load("addreversed"), split, MOST), strict=True):
        numbers = re.split(r"(\+|<sep>)", forward.replace(" ", ""))
        assert backward.replace(" ", "") == "".join(n[::-1] if n.isdigit() else n for n in numbers)


def infix(node, outermost=True):
    """Write a parsed expression again, with parentheses around every operation but the outermost."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(node.op)]
    text = infix(node.left, False) + sign + infix(node.right, False)
    return text if outermost else f"({text})"


@pytest.mark.parametrize("split", SPLITS)
def test_mano_is_python_arithmetic_modulo_7(split):
    task = load("mano")
    truth, known = latents(task, split), {}
    for i, line in enumerate(lines(task, split)):
        if line not in known:
            expression, answer = line.replace(" ", "").split("<sep>")
            tree = ast.parse(expression, mode="eval").body
            assert infix(tree) == expression
            numbers = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            assert set(numbers) <= set(range(7)) and 2 <= len(numbers) <= 4
            assert answer == str(eval(expression) % 7)
            root = [ast.Add, ast.Sub, ast.Mult].index(type(tree.op))
            known[line] = len(numbers) - 1, root, int(answer)
        assert known[line] == (truth["operations"][i], truth["root"][i], truth["value"][i])


def test_mano_draws_the_left_operand_size_uniformly():
    """Of three operations, 0, 1 or 2 are in the left operand, each in a third of the training examples."""
    left = Counter()
    for line in lines(load("mano"), "train"):
        tree = ast.parse(line.split("<sep>")[0].replace(" ", ""), mode="eval").body
        inside = [sum(isinstance(n, ast.BinOp) for n in ast.walk(side)) for side in (tree.left, tree.right)]
        if sum(inside) == 2:
            left[inside[0]] += 1
    assert sum(left.values()) == pytest.approx(80_000 / 3, abs=1)
    # 26,667 draws from 25,000 expressions: a standard deviation of 0.4 % for both together.
    assert [left[size] / sum(left.values()) for size in range(3)] == pytest.approx([1 / 3] * 3, abs=0.015)


LENGTHS = {"train": (2, 10), "search": (2, 15), "val": (2, 15), "test": (16, 20), "lengths": (2, 20)}


@pytest.mark.parametrize("split", LENGTHS)
def test_copy_repeats_its_input(split):
    task = load("copy")
    truth = task.splits[split].latents["length"]
    for i, (before, after) in enumerate(halves(task, split, MOST)):
        assert before == after and set(before) <= set("12345678")
        assert len(before) == truth[i]
    low, high = LENGTHS[split]
    lengths = Counter(task.splits[split].output.sum(1).tolist())
    assert set(lengths) == set(range(low, high + 1))
    assert max(lengths.values()) - min(lengths.values()) <= 1  # all lengths equally frequent
    assert split != "lengths" or set(lengths.values()) == {100}


@pytest.mark.parametrize("split", SPLITS)
def test_parentheses_are_balanced_if_erasing_pairs_leaves_nothing(split):
    task = load("parentheses")
    truth, known = latents(task, split), {}
    low, high = (1, 20) if split == "train" else (21, 40)
    for i, line in enumerate(lines(task, split)):
        if line not in known:
            string, verdict = line.replace(" ", "").split("<sep>")
            assert low <= len(string) <= high and set(string) <= set("()")
            rest = string
            while "()" in rest:
                rest = rest.replace("()", "")
            assert verdict == ("<unbalanced>" if rest else "<balanced>")
            opened = 0
            depths = [opened := opened + (1 if c == "(" else -1) for c in string]
            known[line] = len(string), not rest, max(0, *depths)
        assert known[line] == (truth["length"][i], truth["balanced"][i], truth["depth"][i])
    assert {length for length, *_ in known.values()} == set(range(low, high + 1))
