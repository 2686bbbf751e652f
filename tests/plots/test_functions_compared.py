"""Functions compared: each is named under its values, axes have units, and the constant answer is drawn where it is."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, mean_squared_error, r2_score

from lab.data.measures import constant_score
from lab.plots.learning_curves import compared


@pytest.fixture
def curves():
    rows = [
        (name, 0, seed, step) for name in ("a long name of a function", "GELU") for seed in (0, 1) for step in (1, 2)
    ]
    table = pd.DataFrame(rows, columns=["function", "search", "seed", "step"])
    return table.assign(accuracy=np.linspace(0.3, 0.6, len(rows)), loss=1.0)


def test_values_at_the_end_have_names_below_and_units_beside_them(curves):
    plot = compared(curves, "accuracy", "test", constant=0.25)
    axis = plot.layout.xaxis2
    assert (
        [text.replace("<br>", " ") for text in axis.ticktext]
        == list(axis.tickvals)
        == ["a long name of a function", "GELU"]
    )
    assert axis.showticklabels is not False and plot.layout.margin.b > 50
    assert plot.layout.yaxis.title.text == plot.layout.yaxis2.title.text == "test accuracy (%)"
    assert {(line.y0, line.y1) for line in plot.layout.shapes} == {(25.0, 25.0)} and len(plot.layout.shapes) == 2
    assert "constant answer: 25" in [trace.name for trace in plot.data]
    assert all(axis.range[0] < 25 for axis in (plot.layout.yaxis, plot.layout.yaxis2)), "it can be seen"
    assert compared(curves, "loss", "test", "mean squared error").layout.yaxis2.title.text == "test mean squared error"


def test_the_constant_answer_scores_what_that_of_scikit_learn_does():
    random = np.random.default_rng(0)
    labels, others = (random.choice(3, size, p=[0.2, 0.5, 0.3]) for size in (50, 40))
    dummy = DummyClassifier(strategy="prior").fit(labels[:, None], labels)
    shares, said = dummy.predict_proba(others[:, None]), dummy.predict(others[:, None])
    expected = {"accuracy": accuracy_score(others, said), "cross_entropy": log_loss(others, shares)}
    values, more = (random.gamma(2.0, size=size) for size in (51, 40))
    for metric, strategy, score in (
        ("r2", "mean", r2_score),
        ("mse", "mean", mean_squared_error),
        ("mae", "median", mean_absolute_error),
    ):
        guess = DummyRegressor(strategy=strategy).fit(values[:, None], values).predict(more[:, None])
        found = constant_score(metric, torch.from_numpy(values), torch.from_numpy(more))
        assert found == pytest.approx(score(more, guess), abs=1e-6)
    for metric, score in expected.items():
        found = constant_score(metric, torch.from_numpy(labels), torch.from_numpy(others), 3)
        assert found == pytest.approx(score, abs=1e-6)
    assert constant_score(lambda out, target: 1 / 0, torch.from_numpy(values), torch.from_numpy(more)) is None
