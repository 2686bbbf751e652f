"""SravenExplorer: what it draws, judges and tells is what the task and the model say."""

import html
import re

import numpy as np
import pytest
import torch

import lab
from lab.api import train
from lab.errors import ArgumentError
from lab.papers.hypernetwork.settings import of_task, sraven
from lab.store import Store
from lab.tasks.counts import ambiguous
from lab.tasks.sraven import RULES, Sraven
from lab.widgets.solvers import solvers
from lab.widgets.sraven import SEEN, UNSEEN, SravenExplorer

pytestmark = pytest.mark.usefixtures("own_store")


@pytest.fixture(scope="module")
def runs(own_store):
    return train(Sraven(features=2), attention="hyla", seeds=1, scale="smoke", progress=False)


@pytest.fixture
def explorer(runs):
    return SravenExplorer(Sraven(features=2), scale="smoke")


def truth(explorer):
    return explorer.problem.targets[0].tolist()


def bars(explorer):
    """Probabilities as drawn, (K, F)."""
    found = np.full((explorer.features.value, explorer.values.value), np.nan)
    for trace in explorer.figure.data[:2]:
        for value, base, share in zip(trace.x, trace.base, trace.customdata, strict=True):
            found[len(found) - 1 - base, value] = share
    return found


def test_the_controls_say_what_is_drawn(explorer):
    explorer.features.value, explorer.values.value = 3, 5
    assert explorer.error.value == ""
    assert explorer.problem.latents["panels"].shape == (1, 3, 3, 3) and explorer.problem.latents["panels"].max() < 5
    assert explorer.choice.rows == ["A", "B", "C"] and len(explorer.choice.pictures) == 5
    assert explorer.matrix.value.count("<circle") == 8 * 3
    explorer.shuffled.value = False
    assert (explorer.problem.latents["permutations"] == torch.arange(3)).all()


def test_only_ticked_rules_appear(explorer):
    explorer.features.value = 3
    for box in explorer.rules:
        box.value = box.description in ("constant", "addition")
    seen = set()
    for _ in range(20):
        explorer.following.click()
        seen |= set(explorer.problem.latents["rules"].flatten().tolist())
    assert seen == {RULES.index("constant"), RULES.index("addition")}
    before = explorer.matrix.value
    for box in explorer.rules:
        box.value = False
    assert "tick at least one" in explorer.error.value and explorer.matrix.value == before


def test_combinations_are_those_of_the_model(explorer, runs):
    task, seed = runs[0].spec.task, runs[0].spec.seed
    for among, split in ((SEEN, "train"), (UNSEEN, "ood")):
        explorer.among.value = among
        known = {tuple(row) for row in task.combinations(split, seed).tolist()}
        for _ in range(10):
            explorer.following.click()
            assert tuple(explorer.problem.latents["rules"][0].tolist()) in known
        explorer.reveal.click()
        assert ("has never seen" in explorer.told.value) == (split == "ood")
    explorer.rules[0].value = True
    for box in explorer.rules[1:]:
        box.value = False
    alone = (task.combinations("train", seed) == 0).all(-1).any()  # constant with constant
    explorer.among.value = UNSEEN if alone else SEEN
    assert "tick more rules" in explorer.error.value


def test_the_same_number_is_the_same_problem(explorer):
    first = explorer.matrix.value
    explorer.following.click()
    assert explorer.matrix.value != first and explorer.number.value == 1
    explorer.number.value = 0
    assert explorer.matrix.value == first


def test_answers_are_judged_and_counted_once(explorer):
    right = truth(explorer)
    explorer.check.click()
    assert "nothing is chosen for A, B" in explorer.error.value
    explorer.choice.value = [right[0], (right[1] + 1) % 8]
    assert explorer.told.value.count("right") == 0  # nothing is told before
    explorer.check.click()
    assert explorer.error.value == "" and "You: 1 of 2 right." in explorer.told.value
    assert explorer.matrix.value.count("✓") == 1 and f"✗ {right[1]}" in explorer.matrix.value
    explorer.choice.value = right
    explorer.check.click()
    assert "You: 2 of 2 right." in explorer.told.value and len(explorer.tally.solved) == 1
    explorer.following.click()
    assert explorer.choice.value == [None, None] and "You" not in explorer.told.value
    explorer.reveal.click()
    explorer.choice.value = truth(explorer)
    explorer.check.click()
    assert len(explorer.tally.solved) == 1  # it was revealed
    explorer.following.click()
    explorer.choice.value = truth(explorer)
    explorer.check.click()
    assert [you for *_, you, _ in explorer.tally.solved] == [1, 2]


def test_the_solution_names_the_rules_and_the_places(explorer):
    explorer.features.value = 3
    explorer.reveal.click()
    told, latents = explorer.told.value, explorer.problem.latents
    for rule in latents["rules"][0].tolist():
        assert RULES[rule] in told
    panels, found = latents["panels"][0], re.search(r"three columns: (.*?)\.<", told).group(1)
    for line, rule in zip(found.split("; "), latents["answer_rules"][0].tolist(), strict=True):
        places = [int(place) - 1 for place in line[2:].split(", ")]
        rows = [[int(panels[row, column, place]) for column, place in enumerate(places)] for row in range(3)]
        assert f"{line[0]}: {RULES[rule]}, {'; '.join(' '.join(map(str, row)) for row in rows)}" in told


def test_the_model_answers_the_same_problem(explorer, runs):
    assert np.isnan(bars(explorer)).all()
    explorer.choice.value = truth(explorer)
    explorer.check.click()
    with torch.no_grad():
        expected = runs[0].model()(explorer.problem.inputs[None])[0, 0].softmax(-1).numpy()
    np.testing.assert_allclose(bars(explorer), expected, atol=1e-6)
    assert " ".join(map(str, expected.argmax(-1))) in explorer.told.value
    assert explorer.figure.data[1].x == tuple(truth(explorer))  # blue: the right ones
    hits = int((expected.argmax(-1) == truth(explorer)).sum())
    assert explorer.tally.solved == [(2, 8, 2, hits)]


def test_where_there_is_no_model_it_says_which_command_trains_one(explorer):
    explorer.features.value, explorer.values.value = 1, 4
    command = re.search(r"lab\.train\(.*?\"smoke\"\)", html.unescape(explorer.told.value)).group(0)
    assert explorer.run is None and np.isnan(bars(explorer)).all()
    explorer.choice.value = truth(explorer)
    explorer.check.click()
    assert explorer.tally.solved[-1] == (1, 4, 1, None)
    eval(command, {"lab": lab})
    explorer.following.click()
    assert explorer.run is not None and explorer.run.spec.task == Sraven(features=1, values=4)


def test_ambiguous_problems_are_said_to_be(explorer):
    said = set()
    for _ in range(30):
        explorer.following.click()
        found = bool(ambiguous(explorer.task, explorer.problem.latents["panels"]))
        assert ("Not ambiguous" in explorer.told.value) != found
        said.add(found)
    assert said == {True, False}


def test_models_that_fit_are_found(runs):
    store = Store()
    assert [run.key for run in solvers(Sraven(features=2, permute=False), "smoke", store).values()] == [runs[0].key]
    assert solvers(Sraven(features=2, held_out=0.5), "smoke", store) == {}
    assert runs[0].spec == sraven("smoke", "hyla").runs(1)[0] == of_task(Sraven(features=2), "smoke", "hyla").runs(1)[0]


def test_runs_may_be_given(runs):
    explorer = SravenExplorer(runs, scale="laptop")
    assert explorer.run is runs[0] and explorer.features.value == 2
    assert SravenExplorer(runs[0]).run is runs[0]
    words = train("memorize", seeds=1, scale="smoke", progress=False)
    for wrong in (words, [], 3):
        with pytest.raises(ArgumentError, match="give a lab.tasks.Sraven"):
            SravenExplorer(wrong)
