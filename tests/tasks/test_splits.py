"""Laws of all tasks' data: sizes, disjoint splits, seeds, global random state, balance, documentation."""

import hashlib
import os
import random
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
import torch

from lab.tasks import NAMES, load
from tests.tasks.reading import halves, lines

USUAL = {"train": 80_000, "search": 20_000, "val": 1_000, "test": 1_000}
LONGER = {"train": 100_000, "search": 20_000, "val": 1_000, "test": 1_000}
SIZES = {
    "memorize": dict.fromkeys(USUAL, 1024),
    "addmod": {"train": 7150, "search": 1788, "val": 235, "test": 236},
    "add": USUAL,
    "addreversed": USUAL,
    "mano": USUAL,
    "haystack": USUAL,
    "copy": LONGER | {"lengths": 1900},
    "parentheses": LONGER,
}


def inputs(name, split, seed=0):
    return {line.split("<sep>")[0] for line in lines(load(name, seed), split)}


def digest(task):
    """SHA-256 of all that a task holds."""
    sha = hashlib.sha256(repr(task.vocabulary).encode())
    for name, split in sorted(task.splits.items()):
        sha.update(name.encode())
        for tensor in (split.tokens, split.output, *split.latents.values()):
            sha.update(tensor.numpy().tobytes())
    return sha.hexdigest()


def test_the_names_are_those_of_the_papers_matrix():
    assert NAMES == ("memorize", "addmod", "add", "addreversed", "mano", "haystack", "copy", "parentheses")
    assert tuple(SIZES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_sizes(name):
    task = load(name)
    assert {split: len(data) for split, data in task.splits.items()} == SIZES[name]
    extra = SIZES[name]["search"] if task.search_in_training else 0
    assert len(task.training) == SIZES[name]["train"] + extra
    assert task.search_in_training == (name not in ("memorize", "copy", "parentheses"))
    assert task.metric == ("sequence" if name == "copy" else "token")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "memorize"])
def test_no_input_is_in_two_splits(name):
    seen = {split: inputs(name, split) for split in load(name).splits}
    for a, b in combinations(seen, 2):
        if {a, b} != {"test", "lengths"}:  # COPY's "lengths" is more of test
            assert not seen[a] & seen[b], (a, b)


@pytest.mark.parametrize("name", ["add", "mano", "haystack", "copy", "parentheses"])
def test_no_input_changes_split_with_the_seed(name):
    assert not inputs(name, "train", seed=0) & inputs(name, "test", seed=1)
    assert not inputs(name, "search", seed=0) & inputs(name, "val", seed=1)


def test_memorize_holds_nothing_out():
    task = load("memorize")
    assert not task.held_out and all(split is task.training for split in task.splits.values())
    assert all(load(name).held_out for name in NAMES if name != "memorize")


def test_another_seed_gives_other_data_and_global_generators_are_left_alone():
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    for name in NAMES:
        assert digest(load(name, seed=1)) != digest(load(name, seed=0))
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()  # noqa: NPY002
    assert before[2] == random.getstate()


def test_another_process_generates_the_same_data():
    """With another hash seed of Python's, and whatever the state of the global generators."""
    code = (
        "import random, numpy, torch; random.seed(3); numpy.random.seed(3); torch.manual_seed(3)\n"
        "from tests.tasks.test_splits import NAMES, digest, load\n"
        "for name in reversed(NAMES): print(name, digest(load(name)))"
    )
    env = os.environ | {"PYTHONHASHSEED": "77"}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert dict(line.split() for line in ran.stdout.splitlines()) == {name: digest(load(name)) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_output_part_is_all_that_follows_the_separator(name):
    task = load(name)
    separator = task.vocabulary.index("<sep>")
    for split in task.splits.values():
        # True from the token after the separator on, wherever there is a token.
        after = (split.tokens == separator).cumsum(1).roll(1, dims=1)
        after[:, 0] = 0
        assert torch.equal(split.output, (after == 1) & (split.tokens != 0))
        assert ((split.tokens == separator).sum(1) == 1).all()
        assert split.tokens[:, -1].any()  # no wider than its longest sequence


@pytest.mark.parametrize("name", NAMES)
def test_targets_are_predicted_from_the_token_before(name):
    task = load(name)
    for split_name in ("train", "test"):
        split = task.splits[split_name]
        positions, targets, weights = split.targets()
        shown = [[task.vocabulary[t] for t in row if t] for row in targets[:500].tolist()]
        assert shown == [after for _, after in halves(task, split_name, 500)]
        assert torch.equal(weights.sum(1).long(), split.output.sum(1)) and set(weights.unique().tolist()) <= {
            0,
            1,
        }
        assert (split.tokens.gather(1, positions[:, :1]) == task.vocabulary.index("<sep>")).all()
        following = split.tokens.gather(1, positions + 1)
        assert torch.equal(following[weights == 1], targets[weights == 1])
        assert (targets[weights == 0] == 0).all() and (positions[weights == 0] == 0).all()


@pytest.mark.parametrize(
    ("name", "latent", "kinds", "slack"),
    [
        ("memorize", "value", 32, 0.022),  # 1,024 draws: 4 standard deviations
        ("addmod", "value", 97, 0.003),
        ("haystack", "pairs", 10, 0.005),
        ("haystack", "marker", 64, 0.003),
        ("haystack", "value", 64, 0.003),
        ("mano", "operations", 3, 0.001),
        (
            "mano",
            "root",
            3,
            0.025,
        ),  # expressions with one operation are few, and the shares of the splits uneven
        ("parentheses", "balanced", 2, 0.035),
    ],
)
def test_training_data_are_balanced(name, latent, kinds, slack):
    values = load(name).splits["train"].latents[latent].long()
    values = values - values.min()
    share = torch.bincount(values, minlength=kinds) / len(values)
    assert len(share) == kinds
    assert (share - 1 / kinds).abs().max() < slack


def test_haystack_asks_for_markers_that_occur_again():
    """'First occurrence' would mean nothing if markers never repeated."""
    data = load("haystack").splits["train"]
    expected = np.mean([1 - (63 / 64) ** (k - 1) for k in range(1, 11)])  # another of k - 1 markers is the same
    assert (data.latents["occurrences"] > 1).float().mean() == pytest.approx(expected, abs=0.004)


def test_haystack_asks_for_every_pair_alike():
    latents = load("haystack").splits["train"].latents
    single = latents["occurrences"] == 1  # of a repeated marker, the first pair answers for the later ones
    for pairs in (2, 10):
        share = torch.bincount(latents["position"][single & (latents["pairs"] == pairs)]).float()
        assert (share / share.sum() - 1 / pairs).abs().max() < 0.025


@pytest.mark.parametrize("name", ["add", "addreversed"])
def test_operands_have_four_digits_and_are_uniform(name):
    latents = load(name).splits["train"].latents
    for operand in (latents["first"], latents["second"]):
        share = torch.bincount(operand // 1000, minlength=10) / len(operand)
        assert share[0] == 0 and (share[1:] - 1 / 9).abs().max() < 0.005 and len(share) == 10
