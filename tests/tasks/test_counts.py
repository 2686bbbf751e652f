"""Counts of SRAVEN tasks and problems against lists of all there are."""

from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

from lab.errors import ArgumentError
from lab.tasks import Sraven, counts
from lab.tasks.sraven import RULES
from tests.reference.raven import all_grids


@pytest.mark.parametrize("values", [3, 4])
def test_the_grids_of_each_rule(values):
    assert counts.grids(values) == [len(set(all_grids(rule, values))) for rule in RULES]


@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("permute", [True, False])
def test_the_tasks(features, permute):
    places = list(permutations(range(features)))
    # The order of features in the first column names them; the others are relative to it
    orders = set(product(places, repeat=2)) if permute else {None}
    listed = set(product(combinations_with_replacement(RULES, features), orders))
    assert counts.count_tasks(Sraven(features, permute=permute)) == len(listed)


@pytest.mark.parametrize("features", [1, 2])
def test_the_problems(features):
    """Every problem with three values, as one number each: rules and grid of every feature, and permutations."""
    grids = {}
    for rule, name in enumerate(RULES):
        digits = np.array(all_grids(name, 3)).reshape(-1, 9)
        grids[rule] = digits @ 3 ** np.arange(9) + 3**9 * rule
    chosen = list(combinations_with_replacement(range(len(RULES)), features))
    size = 8 * 3**9
    listed = [grids[c[0]] if features == 1 else np.add.outer(size * grids[c[0]], grids[c[1]]).ravel() for c in chosen]
    orders = len(list(permutations(range(features)))) ** 2
    assert counts.count_problems(Sraven(features, 3)) == len(np.unique(np.concatenate(listed))) * orders


def test_the_setting_of_the_paper():
    assert counts.count_tasks(Sraven()) == 330 * 576
    # far more than the 40 million problems that the longest training sees (Appendix B.1)
    assert counts.count_problems(Sraven()) > 1e17 * 40e6


@pytest.mark.parametrize("count", [counts.count_tasks, counts.count_problems, counts.estimate_ambiguity])
def test_what_is_no_sraven_is_refused(count):
    with pytest.raises(ArgumentError, match="task='sraven'.*; give a lab.tasks.Sraven"):
        count("sraven")
