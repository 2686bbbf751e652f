"""What can be drawn says so itself: a probe's result has `.plot()` where `lab.plot` has a picture of it."""

import numpy as np

import lab
from lab import probes
from lab.probes.codes import Codes
from lab.probes.embedding import Embedding
from lab.probes.language import CONVENTIONS, MinimalPairs, TokenLosses
from lab.probes.picture import HasPicture
from lab.probes.profile import profile, received
from lab.widgets.drawing import PICTURES


def test_every_result_with_a_picture_has_plot():
    results = {kind for kind in PICTURES if kind.__module__.startswith("lab.probes.")} | {Codes, Embedding}
    assert len(results) > 8 and results == set(HasPicture.__subclasses__())


def test_it_draws_what_lab_plot_draws():
    codes = np.random.default_rng(0).normal(size=(60, 4))
    points = probes.embed(codes, "pca")
    labels = np.repeat(["a", "b"], 30)
    assert points.plot(labels).to_json() == lab.plot(points, labels).to_json() != points.plot().to_json()


def test_bars_have_the_numbers_of_the_result():
    shape = profile(lab.Spline([0.0, 1.0, 0.0], low=-1.0, high=1.0))
    inputs = received(np.array([-9.0, -0.4, 0.4, 0.6]), shape)
    assert inputs.plot().data[0].y.tolist() == [25, 50, 25]
    losses = TokenLosses(np.arange(2), ("a", "b"), np.array([np.nan, 0.5]), ("", "b"), np.ones(2), False)
    assert losses.plot().data[0].y[1] == 0.5 and losses.plot().layout.xaxis.ticktext == ("a", "b")
    names, good = np.array(["one", "two"]), np.array([[1.0, 2.0]])
    pairs = MinimalPairs(CONVENTIONS["causal"]["2024"], names, names, good, np.array([[0.0, 3.0]]), np.zeros(2, bool))
    assert list(pairs.plot().data[0].y) == [100, 0]
    rule, other = np.random.default_rng(0).integers(4, size=(2, 200))
    groups = probes.contrast(np.eye(4)[rule], *(np.flatnonzero(rule == r) for r in (0, 2)), np.eye(4)[rule], other)
    assert [bar.y.tolist() for bar in groups.plot().data] == [[100, 0, 0, 0], [0, 0, 100, 0]]
