"""Laws of lines: a band is the whole interval, and only percentages have ends."""

import pandas as pd
import plotly.graph_objects as go
import pytest

from lab.plots.panels import band


@pytest.mark.parametrize(("percent", "ends"), [(False, [(-0.5, 1.5), (95.0, 115.0)]), (True, [(0, 1.5), (95.0, 100)])])
def test_a_band_is_cut_where_percentages_end_and_nowhere_else(percent, ends):
    figure = go.Figure()
    band(figure, pd.DataFrame({"mean": [0.5, 105.0], "half": [1.0, 10.0]}), "#000000", "learned MLP", percent=percent)
    high, low = figure.data[0].y[:2], figure.data[0].y[:1:-1]
    assert list(zip(low, high, strict=True)) == ends and list(figure.data[0].x) == [0, 1, 1, 0]


def test_one_run_has_no_band():
    figure = go.Figure()
    band(figure, pd.DataFrame({"mean": [1.0], "half": [float("nan")]}), "#000000", "learned MLP")
    assert not figure.data
