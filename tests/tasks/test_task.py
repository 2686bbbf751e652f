"""The contract of Split and Task, and what they say to a wrong argument."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import ArgumentError
from lab.tasks import NAMES, Split, Task, load


def split(*rows, output=None, **latents):
    tokens = torch.tensor(rows)
    return Split(tokens, tokens > 2 if output is None else torch.tensor(output), latents)


def task(**changes):
    data = split([1, 2, 3], [1, 3, 0])
    settings = {
        "name": "tiny",
        "vocabulary": ("<pad>", "a", "<sep>", "b"),
        "splits": dict.fromkeys(("train", "search", "val", "test"), data),
    }
    return Task(**settings | changes)


@st.composite
def marked_rows(draw):
    """Right-padded rows with any marks that are allowed, in one piece or not."""
    width = draw(st.integers(2, 8))
    rows, marks = [], []
    for _ in range(draw(st.integers(1, 5))):
        length = draw(st.integers(2, width))
        mark = [False] + draw(st.lists(st.booleans(), min_size=length - 1, max_size=length - 1).filter(any))
        rows.append(draw(st.lists(st.integers(1, 9), min_size=length, max_size=length)) + [0] * (width - length))
        marks.append(mark + [False] * (width - length))
    return rows, marks


@given(marked_rows())
def test_targets_list_the_marked_tokens_in_order(case):
    rows, marks = case
    positions, targets, weights = split(*rows, output=marks).targets()
    most = max(map(sum, marks))
    for i, (row, mark) in enumerate(zip(rows, marks, strict=True)):
        places = [j for j, marked in enumerate(mark) if marked]
        gap = [0] * (most - len(places))
        assert positions[i].tolist() == [j - 1 for j in places] + gap
        assert targets[i].tolist() == [row[j] for j in places] + gap
        assert weights[i].tolist() == [1.0] * len(places) + gap
    assert (positions.dtype, targets.dtype, weights.dtype) == (torch.int64, torch.int64, torch.float32)


@pytest.mark.parametrize(
    ("tokens", "output", "latents", "says"),
    [
        (torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool), {}, r"shape \(3,\)"),
        (torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool), {}, "float32"),
        (torch.ones(0, 3, dtype=torch.int64), torch.ones(0, 3, dtype=torch.bool), {}, "not empty"),
        (torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 2, dtype=torch.bool), {}, r"\(2, 3\)"),
        (torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64), {}, "give bool"),
        (torch.tensor([[1, 0, 3]]), torch.tensor([[False, False, True]]), {}, "right only"),
        (torch.tensor([[1, 3, 0]]), torch.tensor([[False, True, True]]), {}, "marks padding"),
        (torch.tensor([[1, 3, 0]]), torch.tensor([[True, True, False]]), {}, "first token"),
        (torch.tensor([[1, 3], [1, 3]]), torch.tensor([[False, True], [False, False]]), {}, "row without"),
        (torch.tensor([[1, 3]]), torch.tensor([[False, True]]), {"x": torch.ones(2)}, "'x' has 2 rows"),
    ],
)
def test_a_split_refuses_what_is_malformed(tokens, output, latents, says):
    with pytest.raises(ArgumentError, match=says):
        Split(tokens, output, latents)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vocabulary": ("a", "<pad>", "<sep>", "b")}, "the first be '<pad>'"),
        ({"vocabulary": ("<pad>", "a", "a", "b")}, "differ"),
        ({"vocabulary": ("<pad>", "a", "<sep>")}, r"1\.\.3 in 'train'|0\.\.3 in 'train'"),
        ({"metric": "bleu"}, "'bleu'.*token, sequence"),
        ({"splits": {"train": split([1, 2, 3])}}, "no 'search' split"),
    ],
)
def test_a_task_refuses_what_is_malformed(changes, says):
    with pytest.raises(ArgumentError, match=says):
        task(**changes)


def test_training_is_train_then_search_in_one_width():
    data = {
        "train": split([1, 2, 3], x=torch.tensor([5])),
        "search": split([1, 1, 2, 3], [1, 2, 3, 0], x=torch.tensor([6, 7])),
    }
    both = task(splits=data | {"val": data["train"], "test": data["train"]})
    assert both.training.tokens.tolist() == [[1, 2, 3, 0], [1, 1, 2, 3], [1, 2, 3, 0]]
    assert both.training.output.sum(1).tolist() == [1, 1, 1]
    assert both.training.latents["x"].tolist() == [5, 6, 7]
    assert both.max_length == 4
    alone = task(splits=both.splits, search_in_training=False)
    assert alone.training is data["train"]


def test_show_writes_the_tokens_without_padding():
    tiny = task()
    assert tiny.show("train", 0) == "a <sep> b" and tiny.show("val", -1) == "a b"
    with pytest.raises(ArgumentError, match="no split 'dev'; choose one of train, search, val, test"):
        tiny.show("dev", 0)
    with pytest.raises(ArgumentError, match=r"no example 2 in 'train'; choose 0\.\.1"):
        tiny.show("train", 2)


@pytest.mark.parametrize("name", ["addmodulo", "", None, ["add"], "ADD"])
def test_an_unknown_task_is_answered_with_the_known_ones(name):
    with pytest.raises(ArgumentError, match=f"choose one of {', '.join(NAMES)}"):
        load(name)


@pytest.mark.parametrize("seed", [-1, 0.5, None, True, "0"])
def test_a_seed_is_an_integer_of_0_or_more(seed):
    with pytest.raises(ArgumentError, match="seed=.*: give a whole number, 0 or more"):
        load("memorize", seed)


def test_the_same_call_gives_the_same_object():
    assert load("memorize") is load("memorize", 0) is load("memorize", seed=0)
