"""Token tasks of the user's own: known by their content, trained and stored as the lab's."""

import pytest
import torch

import lab
from lab import engine, tasks
from lab.papers.transformers.defaults import of_sequences
from lab.spec import RunSpec, key, replace
from lab.store import Store
from lab.training.fleet import Fleet
from lab.training.loop import train
from tests.training.making import MODEL, RECIPE

WORDS = [f"{a}{b}{c}" for a in "abcd" for b in "abcd" for c in "abcd"]
SHORT = {"scale": "smoke", "progress": False}


def reverse(name="reversed", words=WORDS, **given):
    return lab.Task.from_pairs(words, [word[::-1] for word in words], name, **given)


def test_examples_are_their_tokens_and_splits_are_disjoint():
    task = reverse()
    seen = {task.show(split, i) for split in task.splits for i in range(len(task.splits[split]))}
    assert seen == {f"{' '.join(word)} <sep> {' '.join(word[::-1])}" for word in WORDS}
    assert sum(len(split) for split in task.splits.values()) == len(WORDS)
    lists = lab.Task.from_pairs([["go", "left"], ["stop"]] * 10, [["1"], ["2", "3"]] * 10, "steps")
    assert lists.show("train", 0) in ("go left <sep> 1", "stop <sep> 2 3")


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
