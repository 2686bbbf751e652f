"""The interval of the benchmark on the luck of searches."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from lab.statistics import half_width


@pytest.fixture(scope="module")
def luck():
    folder = Path(__file__).parents[1] / "benchmarks"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("luck", folder / "luck.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


def test_more_searches_do_not_average_away_what_their_baseline_runs_share(luck):
    """Searches without any luck of their own: whatever their number, the interval is that of the seeds."""
    shared = np.random.default_rng(0).normal(0, 5, 6)
    low, high = luck.interval(np.tile(shared, (3, 1)))
    one, other = luck.interval(shared[None])
    assert (low, high) == pytest.approx((one, other), abs=0.3)
    assert high - low > 2 > 2 * half_width(np.tile(shared, (3, 1)).mean(1)), "means of searches are equal here"


def test_searches_that_differ_widen_it(luck):
    shared = np.random.default_rng(0).normal(0, 1, 6)
    apart = shared + np.array([[-5.0], [0.0], [5.0]])
    assert np.ptp(luck.interval(apart)) > 3 * np.ptp(luck.interval(np.tile(shared, (3, 1))))
