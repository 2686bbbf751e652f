"""What can be drawn says so itself: a probe's result has `.plot()` where `lab.plot` has a picture of it."""

import numpy as np

import lab
from lab import probes
from lab.probes.codes import Codes
from lab.probes.embedding import Embedding
from lab.probes.picture import HasPicture
from lab.widgets.drawing import PICTURES


def test_every_result_with_a_picture_has_plot():
    results = {kind for kind in PICTURES if kind.__module__.startswith("lab.probes.")} | {Codes, Embedding}
    assert len(results) > 8 and results == set(HasPicture.__subclasses__())


def test_it_draws_what_lab_plot_draws():
    codes = np.random.default_rng(0).normal(size=(60, 4))
    points = probes.embed(codes, "pca")
    labels = np.repeat(["a", "b"], 30)
    assert points.plot(labels).to_json() == lab.plot(points, labels).to_json() != points.plot().to_json()
