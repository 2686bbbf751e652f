"""Token tasks of the user's own: known by their content, trained and stored as the lab's."""

import random

import numpy as np
import pytest
import torch

import lab
from lab import engine, tasks
from lab.papers.transformers.settings import of_sequences
from lab.spec import RunSpec, key, replace
from lab.store import Store
from lab.training.fleet import Fleet, train
from lab.widgets.explorable import python_of
from tests.training.making import MODEL, RECIPE

WORDS = [f"{a}{b}{c}" for a in "abcd" for b in "abcd" for c in "abcd"]
HALVES = {"train": [0], "search": [1], "val": [2], "test": [3, 4]}
SHORT = {"scale": "smoke", "progress": False}


def reverse(name="reversed", words=WORDS, **given):
    return lab.Task.from_pairs(words, [word[::-1] for word in words], name, **given)


def test_examples_are_their_tokens_and_splits_are_disjoint():
    task = reverse()
    seen = {task.show(split, i) for split in task.splits for i in range(len(task.splits[split]))}
    assert seen == {f"{' '.join(word)} <sep> {' '.join(word[::-1])}" for word in WORDS}
    assert sum(len(split) for split in task.splits.values()) == len(WORDS)
    lists = lab.Task.from_pairs([["go", "left"], *"abcd"], [["1"], *[["2", "3"]] * 4], "steps", splits=HALVES)
    assert lists.show("train", 0) == "go left <sep> 1" and lists.show("val", 0) == "b <sep> 2 3"


def test_equal_inputs_are_in_one_split():
    """Whatever is answered to them: else a test example would be one of training."""
    draw = random.Random(0)
    sums = [(draw.randrange(10), draw.randrange(10)) for _ in range(600)]
    contradictory = [str(a + b + draw.randrange(2)) for a, b in sums]
    for outputs in ([str(a + b) for a, b in sums], contradictory):
        task = lab.Task.from_pairs([f"{a}+{b}" for a, b in sums], outputs, "sums")
        inputs = [{tuple(row[:4].tolist()) for row in split.tokens} for split in task.splits.values()]
        assert sum(map(len, inputs)) == len(set(sums)) == len(set().union(*inputs))
        assert sum(map(len, task.splits.values())) == 600 and len(task.splits["train"]) > 300


def test_a_task_says_what_it_is_in_one_line():
    sizes = "64 examples (train 39, search 13, val 6, test 6)"
    assert repr(reverse()) == f"Task 'reversed': {sizes} of at most 7 tokens, vocabulary of 6, accuracy by token"
    assert repr(reverse().splits["val"]) == "Split of 6 examples of at most 7 tokens"


DIGESTS = {  # of tasks that were trained before equal inputs were kept together
    "7d2cf2c1310c148880ff5e20459aaf46a079271b299f43a8053f95dd836ec598": {},
    "1e20f17152105111bf2a6e66922e38ede2cacc77446ce9e99c41ce6fd9cbdd90": {"seed": 3},
    "441fdc3615c23cd28761d9c451fff6dfcb82a7ab0151420fd8f2c1c4f97aeb74": {
        "splits": {"search": 8, "val": list(range(10)), "test": 0.2}
    },
}


@pytest.mark.parametrize("digest", DIGESTS)
def test_a_task_without_repeated_inputs_stays_what_it_is(digest):
    assert reverse(**DIGESTS[digest]).digest == digest


def test_examples_that_are_named_stay_where_they_are_put():
    task = lab.Task.from_pairs(["a", "b"] * 4, ["1", "2"] * 4, "two", splits=HALVES | {"test": [3, 5, 6, 7]})
    assert [task.show(name, 0) for name in ("train", "search", "test")] == ["a <sep> 1", "b <sep> 2", "b <sep> 2"]


def test_a_task_of_the_labs_given_as_ones_own_trains_to_the_same_bits():
    own, found = of_sequences(tasks.load("memorize"), "smoke").task, []
    for task in ("memorize", own):
        fleet = Fleet([RunSpec(task, MODEL, replace(RECIPE, steps=3), 0)], [(MODEL.mlp, MODEL.attention)])
        train(fleet)
        found.append(fleet.run_weights(0))
    assert all(torch.equal(one, other) for one, other in zip(*(each.values() for each in found), strict=True))


def test_identity_is_the_content():
    def one(task):
        return key(of_sequences(task, "smoke").runs(1)[0])

    others = [reverse(words=WORDS[1:]), reverse(seed=1), reverse(metric="sequence"), reverse("other")]
    assert len({one(task) for task in [reverse(), *others]}) == 5 and one(reverse()) == one(reverse())


def test_what_is_searched_and_trained_is_kept(store_folder):
    found = lab.search(reverse(), **SHORT)
    runs = lab.train(reverse(), mlp=found.spline, seeds=2, **SHORT)
    count = len(list(Store().results()))
    again = lab.train(reverse(), mlp=lab.search(reverse(), **SHORT).spline, seeds=2, **SHORT)
    assert len(list(Store().results())) == count == 3 and Store().verify() == []
    assert (runs.accuracy == again.accuracy).all() and runs[0].spec.task_name == "reversed"
    found.publish("reverse")
    assert torch.equal(lab.zoo("mine/reverse").values, found.spline.values)
    assert lab.zoo().task["mine/reverse"] == "reversed"


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("64 inputs and 1 outputs", (WORDS, ["a"])),
        ("example 1 has no input or no output", (["a", ""], ["b", "c"])),
        ("there are no examples", ([], [])),
        ("would have no row of 3", (["a", "b", "c"], ["b", "c", "d"])),
        ("inputs[0]=1 is no row of tokens; give a text, or a list of words", ([1, 2], [3, 4])),
        ("outputs[1]=4 is no row of tokens", (["1", "2"], ["3", 4])),
        ("inputs=3: give a list of texts", (3, ["4"])),
        ("'<pad>' marks padding", ([["a", "<pad>"]] + [["b"]] * 9, ["c"] * 10)),
        ("'<pad>' and '<sep>' mark padding", ([["a", "<sep>"]] * 10, [["<pad>"]] * 10)),
        ("40 examples have 2 distinct inputs", (["a", "b"] * 20, ["c", "d"] * 20)),
    ],
)
def test_what_makes_no_task_is_said_in_one_line(said, given):
    with pytest.raises(lab.ArgumentError) as error:
        lab.Task.from_pairs(*given, "mine")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_what_no_other_process_knows_is_trained_in_this_one(tmp_path, monkeypatch):
    """A worker process has never seen the task."""
    monkeypatch.setattr(engine, "SMALL", 0.0)
    run = of_sequences(reverse(), "smoke").runs(1)[0]
    runs = [run, replace(run, model=replace(run.model, width=2 * run.model.width))]
    engine.complete(runs, store := Store(tmp_path), "cpu", workers=2)
    assert all(map(store.has, runs))


def test_copied_code_names_a_task_of_the_users_as_what_only_they_have():
    task = lab.Task.from_pairs(WORDS, [word[::-1] for word in WORDS], name="reversed")
    assert python_of(task, "smoke") == "x, scale='smoke'"
    assert python_of(lab.tasks.Operation("a+b", modulus=5)).startswith("lab.tasks.Operation(")


def test_tensors_are_tokens_as_arrays_are():
    rows = np.random.default_rng(0).integers(0, 3, (40, 4))
    one, other = (lab.Task.from_pairs(given, given, "same") for given in (rows, torch.tensor(rows)))
    assert one.vocabulary == other.vocabulary == ("<pad>", "<sep>", "0", "1", "2") and one.digest == other.digest
    with pytest.raises(lab.ArgumentError, match="name=None"):
        lab.Task.from_pairs(rows, rows, None)
