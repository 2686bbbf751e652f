"""Ambiguity of SRAVEN against a list of all permutations and rules, and against Table A2."""

import pytest
import torch

from lab.tasks import Sraven
from lab.tasks.counts import ambiguous, estimate_ambiguity
from lab.tasks.sraven import RULES
from tests.reference.raven import last_as_printed, readings


def panels(task, count, start=0):
    return task.sample("train", count, torch.Generator().manual_seed(start), 0).latents["panels"]


CASES = [(1, 3, 200), (2, 3, 100), (2, 8, 100), (3, 4, 60), (4, 4, 8)]  # features, values, problems


@pytest.mark.parametrize(("features", "values", "count"), CASES)
def test_a_list_of_all_readings_agrees(features, values, count):
    task = Sraven(features, values, held_out=0)
    drawn = panels(task, count)
    wanted = []
    for problem in drawn.tolist():
        answer, found = problem[2][2], list(readings(problem, values, RULES))
        # the true reading is one of them
        assert any(all(a in said for a, said in zip(answer, reading, strict=True)) for reading in found)
        wanted.append(any(said - {a} for reading in found for a, said in zip(answer, reading, strict=True)))
    assert ambiguous(task, drawn).tolist() == wanted
    assert 0 < sum(wanted) < count


@pytest.mark.parametrize(("features", "values", "count"), CASES)
def test_so_does_one_with_the_reference_codes_rules(features, values, count):
    """Problems of random numbers among the generated ones, so that repeated symbols occur and readings are many."""
    task = Sraven(features, values, held_out=0)
    random = torch.randint(2, (count, 3, 3, features), generator=torch.Generator().manual_seed(1))
    drawn = torch.cat([panels(task, count // 2), random[: count // 2]])
    wanted = []
    for problem in drawn.tolist():
        found = readings(problem, values, RULES, last_as_printed)
        answer = problem[2][2]
        wanted.append(any(all(s - {a} for a, s in zip(answer, reading, strict=True)) for reading in found))
    assert ambiguous(task, drawn, printed=True).tolist() == wanted
    assert 0 < sum(wanted) < len(drawn)


@pytest.mark.parametrize("features", [2, 3, 5, 8])
def test_with_known_places_each_feature_is_a_riddle_of_its_own(features):
    task = Sraven(features, 4, permute=False)
    drawn = panels(task, 400)
    alone = [ambiguous(Sraven(1, 4), drawn[..., i : i + 1]) for i in range(features)]
    assert torch.equal(ambiguous(task, drawn), torch.stack(alone).any(0))
    # more readings never make a problem less ambiguous
    assert not (ambiguous(task, drawn) & ~ambiguous(Sraven(features, 4), drawn)).any()


@pytest.mark.parametrize("order", [[2, 0, 3, 1], [7, 2, 5, 0, 1, 6, 3, 4]], ids=["4", "8"])
def test_renaming_the_features_of_a_column_changes_nothing(order):
    """Eight features, too, whose 8!² readings nobody could list."""
    task = Sraven(len(order), 8)
    drawn = panels(task, 200)
    renamed = drawn.clone()
    renamed[:, :, 1] = drawn[:, :, 1][..., order]
    for printed in (True, False):
        assert torch.equal(ambiguous(task, drawn, printed), ambiguous(task, renamed, printed))
    assert 0 < ambiguous(task, drawn).sum() < 200


@pytest.mark.parametrize(("values", "paper", "error"), [(4, 0.0642, 0.0038), (8, 0.0032, 0.0009), (16, 0.0005, 0.0003)])
def test_the_numbers_of_table_a2(values, paper, error):
    found = estimate_ambiguity(Sraven(values=values), problems=16_000, printed=True)
    assert abs(found.fraction - paper) < 3 * (error**2 + found.standard_error**2) ** 0.5
    by_its_words = estimate_ambiguity(Sraven(values=values), problems=2_000)
    assert by_its_words.fraction > 5 * found.fraction  # what the table leaves out


def test_the_standard_error_is_that_of_a_fraction():
    found = [estimate_ambiguity(Sraven(values=4), problems=500, seed=seed) for seed in range(30)]
    spread = torch.tensor([e.fraction for e in found]).std().item()
    assert 0.6 * found[0].standard_error < spread < 1.5 * found[0].standard_error
