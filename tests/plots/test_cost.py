"""Appendix F: every point of a drawing is a number that was measured; errors of series are those of their values."""

import numpy as np
import pytest
import torch

import lab
from lab.plots.learning_curves import draw_costs
from lab.probes.cost import Cost


def test_a_point_is_the_median_and_its_whiskers_are_quartiles():
    seconds = np.array([[0.004, 0.001, 0.002, 0.003, 0.005], [0.01, 0.02, 0.03, 0.04, 0.05]])
    figure = draw_costs(Cost(("GELU", "other"), seconds, 1000, True, "float32", "cpu", 2))
    point = figure.data[0]
    assert list(point.x) == pytest.approx([3, 30]) and list(point.y) == ["GELU", "other"]
    assert list(point.error_x.array) == pytest.approx([1, 10]) == list(point.error_x.arrayminus)
    assert point.text == ("3 ms, × 1", "30 ms, × 10")
    words = figure.layout.xaxis.title.text
    assert "1,000 numbers" in words and "forward and backward" in words and "2 CPU thread" in words


def test_errors_of_series_are_those_of_their_values():
    phi, errors = lab.zoo("transformers/memorize"), []
    low, high = phi.support
    x = torch.linspace(low, high, 20_001, dtype=torch.float64)
    exact = np.interp(x.numpy(), phi.positions.numpy(), phi.values.detach().numpy())
    for degree in (3, 18, 36):
        series = phi.chebyshev(degree)
        errors.append(series.rms_error)
        assert np.sqrt(np.mean((series(x.float()).numpy() - exact) ** 2)) == pytest.approx(errors[-1], rel=0.02)
    assert errors == sorted(errors, reverse=True), "a longer series is nearer"
