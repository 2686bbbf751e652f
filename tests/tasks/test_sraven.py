"""SRAVEN: rules against an independent checker, the layout of tokens, splits, and that choices are uniform."""

from itertools import combinations_with_replacement

import pytest
import torch
import torch.nn.functional as F

from lab.tasks import Sraven
from lab.tasks.sraven import RULES
from tests.reference.raven import last, obeys


def draw(task, split="train", count=200, seed=0, start=0):
    return task.sample(split, count, torch.Generator().manual_seed(start), seed)


@pytest.mark.parametrize("rule", range(len(RULES)), ids=RULES)
@pytest.mark.parametrize("values", [3, 4, 8, 13, 16])
def test_rows_obey_their_rule(rule, values):
    task = Sraven(features=1, values=values, held_out=0)
    seen = set()
    for seed in range(40):
        problems = task.make(torch.full((8, 1), rule), torch.Generator().manual_seed(seed))
        for grid in problems.latents["grid"][..., 0].tolist():
            assert obeys(RULES[rule], grid, values)
            seen.add(str(grid))
    assert len(seen) > min(0.5 * values**3, 200)  # of 320; a grid has three free numbers or more


@pytest.mark.parametrize("permute", [True, False])
@pytest.mark.parametrize(("features", "values"), [(1, 3), (2, 8), (3, 16), (4, 8), (4, 4), (5, 7), (8, 5)])
def test_what_is_shown_is_the_grid_permuted(features, values, permute):
    task = Sraven(features, values, permute=permute)
    for split, start in (("train", 0), ("ood", 1), ("test", 2)):
        problems = draw(task, split, 60, start=start)
        shown = problems.inputs.argmax(-1)
        assert torch.equal(problems.inputs[:, : 8 * features], F.one_hot(shown, values)[:, : 8 * features].float())
        assert not problems.inputs[:, list(task.positions)].any()  # queries are all zero
        for i in range(60):
            latents = {name: latent[i].tolist() for name, latent in problems.latents.items()}
            tokens = iter(shown[i].tolist()[: 8 * features] + problems.targets[i].tolist())
            for row in range(3):  # panels row by row, one token a feature
                for column in range(3):
                    order = latents["permutations"][column]
                    assert sorted(order) == list(range(features)) and (permute or order == sorted(order))
                    panel = [next(tokens) for _ in range(features)]
                    assert panel == [latents["grid"][row][column][feature] for feature in order]
                    assert panel == latents["panels"][row][column]
            rules = latents["rules"]
            assert rules == sorted(rules)
            for feature, rule in enumerate(rules):
                rows = [[panel[feature] for panel in row] for row in latents["grid"]]
                assert obeys(RULES[rule], rows, values)
                place = latents["permutations"][2].index(feature)
                assert latents["answer_rules"][place] == rule
                assert problems.targets[i, place].item() == last(RULES[rule], rows, values)
            assert list(combinations_with_replacement(range(8), features))[latents["combination"]] == tuple(rules)


def test_four_features_are_36_tokens():
    task = Sraven()
    assert (task.length, task.positions, task.inputs, task.outputs) == (36, (32, 33, 34, 35), 8, 8)


@pytest.mark.parametrize("features", range(1, 9))
@pytest.mark.parametrize("seed", range(3))
def test_no_combination_is_in_two_splits_in_any_order(features, seed):
    task = Sraven(features)
    parts = [{tuple(sorted(c)) for c in task.combinations(split, seed).tolist()} for split in ("train", "ood")]
    everything = set(combinations_with_replacement(range(8), features))
    assert not parts[0] & parts[1] and parts[0] | parts[1] == everything
    assert len(parts[1]) == int(0.25 * len(everything))
    if features == 4:
        assert [len(part) for part in parts] == [248, 82]
    if features > 1:
        assert {rule for combination in parts[0] for rule in combination} == set(range(8))
    for split, wanted in (("train", parts[0]), ("val", parts[0]), ("test", parts[0]), ("ood", parts[1])):
        shown = draw(task, split, 500, seed).latents["rules"]
        assert {tuple(sorted(rules)) for rules in shown.tolist()} <= wanted


def test_answers_do_not_give_away_the_split():
    """In the order shown, too: rules as the answer's places have them, sorted again, are of the right split."""
    task = Sraven(features=3)
    wanted = {tuple(c) for c in task.combinations("ood").tolist()}
    rules = draw(task, "ood", 2000).latents["answer_rules"]
    assert {tuple(sorted(r)) for r in rules.tolist()} == wanted and len(rules.unique(dim=0)) > 3 * len(wanted)


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_the_held_out_fractions_of_figure_a5(fraction):
    task = Sraven(held_out=fraction)
    assert len(task.combinations("ood")) == int(330 * fraction)
    assert len(task.combinations("train")) + len(task.combinations("ood")) == 330


def uniform(counts, cells):
    """Whether counts of independent draws fit a uniform choice of so many cells, to 4.5 standard deviations."""
    counts = counts.double()
    expected = counts.sum() / cells
    return len(counts) == cells and bool(((counts - expected).abs() < 4.5 * expected.sqrt()).all())


def test_choices_are_uniform():
    task = Sraven(features=3, values=5, held_out=0)
    problems = draw(task, count=60_000)
    assert uniform(problems.latents["combination"].bincount(), 120)
    for column in range(3):
        assert uniform(problems.latents["permutations"][:, column].unique(dim=0, return_counts=True)[1], 6)
    first, second = (problems.latents["permutations"][:, column] for column in (0, 1))
    assert uniform(torch.cat([first, second], 1).unique(dim=0, return_counts=True)[1], 36)  # and independent


@pytest.mark.parametrize(("rule", "grids"), [(0, 125), (2, 125), (5, 15_625), (7, 10 * 216)])
def test_grids_of_a_rule_are_uniform(rule, grids):
    task = Sraven(features=1, values=5, held_out=0)
    count = 40 * grids
    rules = torch.full((count, 1), rule)
    grid = task.make(rules, torch.Generator().manual_seed(0)).latents["grid"].flatten(1)
    counts = grid.unique(dim=0, return_counts=True)[1].double()
    assert len(counts) == grids  # 40 expected of each: none is missed but with probability grids * exp(-40)
    statistic = ((counts - 40) ** 2 / 40).sum().item()  # chi-squared with grids - 1 degrees of freedom
    assert abs(statistic - (grids - 1)) < 4.5 * (2 * grids) ** 0.5


def test_scores_and_loss():
    task = Sraven(features=2, values=4)
    problems = draw(task, count=4)
    right = F.one_hot(problems.targets, 4).float()
    half = right.clone()
    half[:2, 0] = half[:2, 0].roll(1, -1)  # the first feature of two problems is wrong
    scores = task.scores(torch.stack([right, half]), problems.targets.expand(2, -1, -1), problems)
    assert scores["accuracy"].tolist() == [1.0, 0.5] and scores["accuracy_per_feature"].tolist() == [1.0, 0.75]
    outputs = torch.randn(2, 4, 2, 4, generator=torch.Generator().manual_seed(0))
    loss = task.loss(outputs, problems.targets.expand(2, -1, -1))
    for run in range(2):
        nats = [-outputs[run, n, k].log_softmax(-1)[problems.targets[n, k]] for n in range(4) for k in range(2)]
        torch.testing.assert_close(loss[run], torch.stack(nats).mean())


def test_a_problem_is_written_out_with_the_way_to_its_answer():
    task = Sraven()
    problems = draw(task, count=20)
    for i in range(20):
        lines = task.show(problems, i).splitlines()
        assert lines[2].endswith("(? ? ? ?)") and len(lines) == 8
        assert lines[3] == "answer (" + " ".join(map(str, problems.targets[i].tolist())) + ")"
        for place, line in enumerate(lines[4:]):
            places, rest = line.split(": ")
            rule, rows = rest.split(", ")
            rows = [[int(x) for x in row.split()] for row in rows.split("; ")]
            assert obeys(rule, rows, 8) and rows[2][2] == problems.targets[i, place]
            columns = [int(x) for x in places.split()[1:]]
            panels = problems.latents["panels"][i]
            assert rows == [[panels[r, c, columns[c]].item() for c in range(3)] for r in range(3)]
