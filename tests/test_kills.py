"""A short campaign of kills; `python -m tests.kills --kills 100` is the long one."""

import sys

import pytest

from tests.kills import campaign


@pytest.mark.skipif(sys.platform != "linux", reason="locks and process groups are Linux's")
def test_two_processes_on_a_store_are_killed_at_random_moments(nursery, tmp_path):
    outcome = campaign(nursery, tmp_path, kills=5, workers=False)
    assert outcome.kills >= 5 and outcome.stores >= 1 and outcome.in_training
