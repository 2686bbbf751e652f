"""Baselines: what each can and cannot learn, how settings are chosen, and what they see: `train` and `val` alone."""

from dataclasses import replace

import pytest
import torch

from lab.errors import ArgumentError
from lab.models.baselines import KINDS, fit
from tests.training.making import Wave

SLOW, FAST = Wave(1.0, kind="class", rows=120), Wave(9.0, kind="class", rows=120)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", [SLOW, Wave(1.0, rows=120)], ids=["class", "value"])
def test_all_learn_a_slow_wave(kind, task):
    found = fit(task, kind, tries=4)
    assert found.accuracy(task.split(0)["test"]) > 0.8
    assert found(torch.zeros(3, 1)).shape == (3, task.outputs)


def test_only_the_local_ones_learn_a_fast_wave():
    task = replace(FAST, rows=300)
    accuracy = {kind: fit(task, kind, tries=4).accuracy(task.split(0)["test"]) for kind in KINDS}
    assert min(accuracy["knn"], accuracy["trees"]) > 0.8 > accuracy["linear"] + 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_settings_are_those_best_on_validation_data(kind):
    found = fit(FAST, kind, tries=3)
    accuracies = [accuracy for _, accuracy in found.tried]
    assert found.accuracy(FAST.split(0)["val"]) == max(accuracies)
    assert found.settings == found.tried[accuracies.index(max(accuracies))][0] and len(found.tried) == 3


def test_the_same_seed_gives_the_same_settings_and_another_others():
    one, again, other = (fit(SLOW, "trees", tries=2, seed=seed) for seed in (0, 0, 1))
    assert one.tried == again.tried and one.settings != other.settings


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_split_is_not_seen(kind):
    x = torch.linspace(-1, 1, 50)[:, None]
    found = [
        fit(Wave(9.0, kind="class", garbled=names), kind, tries=2)(x) for names in ((), ("test", "other"), ("val",))
    ]
    assert torch.equal(found[0], found[1])


def test_probabilities_add_up():
    torch.testing.assert_close(fit(FAST, "trees", tries=1)(torch.zeros(1, 1)).sum(), torch.tensor(1.0))


def test_a_class_that_training_lacks_has_no_probability():
    task = Wave(0.1, kind="class")  # the middle class alone
    assert fit(task, "knn", tries=1)(torch.zeros(2, 1)).tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0]] * 2


def test_an_unknown_baseline_is_said():
    with pytest.raises(ArgumentError, match="linear, knn, trees"):
        fit(SLOW, "forest")
