"""Complexity on paths: laws that total variation and mean frequency keep, and closed forms."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.fft import dst
from sklearn.tree import DecisionTreeRegressor
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from lab.probes.complexity import deviation, spectrum

POINTS = np.random.default_rng(0).uniform(-1, 1, (60, 3))
MEASURES = [probes.total_variation, probes.fourier_complexity]


def wavy(x):
    return np.sin(4 * x[:, 0]) + np.cos(3 * x[:, 1]) * x[:, 2]


def ends(a=0.0, b=1.0):
    return np.array([[a], [b]])


@pytest.mark.parametrize("measure", MEASURES)
@given(st.lists(st.floats(-100, 100), min_size=4, max_size=4))
@example([0.0, 0.0, 2.2250738585e-313, 0.0])  # so small that rounding is no share of it
def test_an_affine_function_has_none(measure, weights):
    found = measure(lambda x: x @ np.array(weights[:3]) + weights[3], POINTS, paths=20)
    assert (found.value, found.low, found.high) == (0, 0, 0)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_linear_module_has_none_for_all_its_rounding(measure):
    torch.manual_seed(0)
    assert measure(nn.Linear(3, 4), POINTS).value == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_an_affine_function_added_changes_nothing(measure):
    bent = measure(lambda x: wavy(x) + 5 * x[:, 0] - 2 * x[:, 2] + 7, POINTS)
    np.testing.assert_allclose(bent.paths, measure(wavy, POINTS).paths, rtol=1e-9)


@given(st.floats(-50, 50).filter(lambda factor: abs(factor) > 1e-3))
def test_variation_scales_with_the_output_and_frequency_does_not(factor):
    for measure, power in zip(MEASURES, (abs(factor), 1.0), strict=True):
        scaled = measure(lambda x: factor * wavy(x), POINTS, paths=10)
        np.testing.assert_allclose(scaled.paths, power * measure(wavy, POINTS, paths=10).paths, rtol=1e-9)


@pytest.mark.parametrize("cycles", [1, 2, 7])
def test_a_sine_has_its_closed_forms(cycles):
    # 4 · amplitude · cycles is the variation of a sine; 100 points of 7 cycles miss the tops by less than 1 - cos(π/14)
    sine = lambda x: 3 * np.sin(2 * np.pi * cycles * x[:, 0])  # noqa: E731
    assert probes.total_variation(sine, ends(), samples=1001).value == pytest.approx(12 * cycles, rel=1e-3)
    assert probes.total_variation(sine, ends()).value == pytest.approx(12 * cycles, rel=1 - np.cos(np.pi / 14))
    assert probes.fourier_complexity(sine, ends()).value == pytest.approx(cycles, abs=1e-9)


def test_the_line_that_is_subtracted_joins_the_predictions():
    # x² from 0 to 1 lies below its chord by at most 1/4: down and up again
    assert probes.total_variation(lambda x: x[:, 0] ** 2, ends(), samples=101).value == pytest.approx(0.5)
    # and from -1 to 1 the chord is flat
    assert probes.total_variation(lambda x: x[:, 0] ** 2, ends(-1, 1), samples=101).value == pytest.approx(2.0)


@pytest.mark.parametrize("measure", MEASURES)
def test_it_is_symmetric_in_the_ends(measure):
    a, b = POINTS[:2]
    assert measure(wavy, np.stack([a, b]), paths=3).paths == pytest.approx(
        measure(wavy, np.stack([b, a]), paths=8).paths[:3], rel=1e-9
    )


def test_more_waves_are_more_complex():
    found = [[m(lambda x, k=k: np.sin(k * x[:, 0]), POINTS).value for k in (1, 10, 40)] for m in MEASURES]
    assert (np.diff(found, axis=1) > 0).all()


def test_the_interval_holds_the_mean_of_many_paths_about_as_often_as_it_says():
    truth = probes.total_variation(wavy, POINTS, paths=20_000, samples=30).value
    found = [probes.total_variation(wavy, POINTS, paths=60, samples=30, seed=seed) for seed in range(100)]
    inside = sum(one.low <= truth <= one.high for one in found)
    assert 85 <= inside <= 100  # 95 expected; below 85 has a probability of 1e-4
    wide = np.median([one.high - one.low for one in found])
    many = probes.total_variation(wavy, POINTS, paths=60 * 16, samples=30)
    assert many.high - many.low == pytest.approx(wide / 4, rel=0.3)  # 1 / √paths


def test_paths_join_different_labels_only():
    where = np.arange(40.0)[:, None]
    labels = np.array([0] * 30 + [1] * 7 + [2] * 3)
    seen = []

    def noted(x):
        seen.append(x)
        return x[:, 0]

    probes.total_variation(noted, where, labels, paths=5000, samples=3)
    way = np.concatenate([x for x in seen if len(x) > 9]).reshape(-1, 3)  # a few are asked for again
    first, second = way[:, 0].round().astype(int), way[:, 2].round().astype(int)
    assert (labels[first] != labels[second]).all()
    expected = {(0, 1): 210, (0, 2): 90, (1, 2): 21}  # pairs of points: each as likely as any other
    pairs = np.sort(np.stack([labels[first], labels[second]]), axis=0)
    for (a, b), number in expected.items():
        assert ((pairs[0] == a) & (pairs[1] == b)).mean() == pytest.approx(number / 321, abs=0.03)
    assert len(np.unique(first)) == 40


def test_labels_may_be_anything_that_can_be_compared():
    words = np.array(["cat", "dog"] * 30)
    signs = torch.tensor([0, 1] * 30)
    assert probes.total_variation(wavy, POINTS, words).value == probes.total_variation(wavy, POINTS, signs).value


def test_tensors_arrays_and_estimators_agree():
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)).double().requires_grad_(False)
    expected = probes.total_variation(net, POINTS)
    assert probes.total_variation(lambda x: net(torch.from_numpy(x)).numpy(), POINTS).value == expected.value
    assert probes.total_variation(lambda x: net(x)[:, 0], torch.from_numpy(POINTS)).value == expected.value
    tree = DecisionTreeRegressor(random_state=0).fit(POINTS, wavy(POINTS))
    for measure in MEASURES:
        assert measure(tree.predict, POINTS, paths=20).value > 0


def test_of_several_outputs_each_path_looks_at_one():
    found = probes.total_variation(lambda x: np.stack([0 * x[:, 0], np.sin(9 * x[:, 0])], 1), POINTS, paths=400)
    only = probes.total_variation(lambda x: np.sin(9 * x[:, 0]), POINTS, paths=400)
    first = found.paths == 0
    assert first.mean() == pytest.approx(0.5, abs=0.1)
    np.testing.assert_allclose(found.paths[~first], only.paths[~first])


def test_a_seed_draws_the_same_paths_and_touches_nothing_else():
    state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    one, same, other = (probes.total_variation(wavy, POINTS, seed=seed) for seed in (3, 3, 4))
    assert (one.value, one.low, one.high) == (same.value, same.low, same.high)
    assert one.value != other.value
    assert (np.random.get_state()[1] == state).all() and torch.equal(torch.get_rng_state(), torch_state)  # noqa: NPY002


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=60))
def test_the_spectrum_is_the_sine_transform_and_keeps_the_energy(course):
    course = np.array(course)
    left = deviation(course)[:-1]
    np.testing.assert_allclose(spectrum(course), np.abs(dst(left[1:], type=1)) / len(left), atol=1e-12)
    assert (spectrum(course) ** 2).sum() / 2 == pytest.approx((left**2).mean(), abs=1e-9)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ArgumentError, match="one label only; give points of several, or no labels"):
        probes.total_variation(wavy, POINTS, np.zeros(60))
    with pytest.raises(ArgumentError, match="one for each of 60 examples"):
        probes.total_variation(wavy, POINTS, np.zeros(59))
    with pytest.raises(ArgumentError, match="joins two points, and there is 1; give two"):
        probes.total_variation(wavy, POINTS[:1])
    with pytest.raises(ArgumentError, match=r"points has shape \(60,\)"):
        probes.total_variation(wavy, POINTS[:, 0])
    with pytest.raises(ArgumentError, match="points has numbers that are not finite"):
        probes.total_variation(wavy, POINTS * np.nan)
    with pytest.raises(ArgumentError, match="not finite at [0-9]+ of"):
        probes.total_variation(lambda x: np.where(x[:, 0] > 0, np.inf, 0), POINTS)
    with pytest.raises(ArgumentError, match=r"shape \(3,\)"):
        probes.total_variation(lambda x: x.sum(0), POINTS)
    with pytest.raises(ArgumentError, match="samples=2"):
        probes.total_variation(wavy, POINTS, samples=2)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("far", [1e4, 1e6])
def test_one_point_far_away_does_not_straighten_other_paths(measure, far):
    """Rounding on a path is a share of what the function reaches on it."""
    torch.manual_seed(0)
    net, points = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1)), POINTS.copy()
    points[0, 0] = far
    rounded, exact = measure(net, points), measure(copy.deepcopy(net).double(), points)
    bent = exact.paths != 0
    assert bent.sum() > 180 and ((rounded.paths != 0) == bent).sum() > 180
    assert np.median(np.abs(rounded.paths[bent] / exact.paths[bent] - 1)) < 1e-4
