"""Appendix F's tables and drawings: every point is a number of the table, and that is what was measured."""

import numpy as np
import pytest
import torch

import lab
from lab.plots.cost import costs, draw_costs, draw_errors, errors
from lab.probes.cost import Cost


def test_a_point_is_the_median_and_its_whiskers_are_quartiles():
    seconds = np.array([[0.004, 0.001, 0.002, 0.003, 0.005], [0.01, 0.02, 0.03, 0.04, 0.05]])
    table = costs(Cost(("GELU", "other"), seconds, 1000, True, "float32", "cpu", 2))
    assert table[["milliseconds", "low", "high"]].values == pytest.approx(np.array([[3, 2, 4], [30, 20, 40]]))
    assert table["ratio"].tolist() == [1.0, pytest.approx(10)]
    point = draw_costs(table).data[0]
    assert list(point.x) == pytest.approx([3, 30]) and list(point.y) == ["GELU", "other"]
    assert list(point.error_x.array) == pytest.approx([1, 10]) == list(point.error_x.arrayminus)
    assert point.text == ("3 ms, × 1", "30 ms, × 10")
    words = draw_costs(table).layout.xaxis.title.text
    assert "1,000 numbers" in words and "forward and backward" in words and "2 CPU thread" in words


def test_errors_are_those_of_the_polynomials():
    phi, degrees = lab.zoo("transformers/memorize"), (3, 18, 36)
    table = errors(phi, degrees).set_index(["kind", "degree"])
    low, high = phi.support
    x = torch.linspace(low, high, 20_001, dtype=torch.float64)
    exact = np.interp(x.numpy(), phi.positions.numpy(), phi.values.detach().numpy())
    for degree in degrees:
        far = phi.chebyshev(degree)(x.float()).numpy() - exact
        assert np.sqrt(np.mean(far**2)) == pytest.approx(table.loc[("Chebyshev", degree), "rms_error"], rel=0.02)
    chebyshev = table.loc["Chebyshev", "rms_error"]
    assert chebyshev.is_monotonic_decreasing, "a longer series is nearer"
    drawn = draw_errors(table.reset_index(), height=2.0)
    assert [line.name for line in drawn.data] == ["powers, least squares", "Chebyshev series"]
    assert list(drawn.data[1].y) == pytest.approx(50 * chebyshev)
