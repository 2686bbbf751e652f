"""What can be drawn says so itself: a probe's result has `.plot()` where `lab.plot` has a picture of it."""

import numpy as np
import torch

import lab
import lab.catalogue.figure
from lab import probes
from lab.picture import HasPicture
from lab.probes.codes import Codes
from lab.probes.complexity import Complexity
from lab.probes.connectivity import Connectivity
from lab.probes.embedding import Embedding
from lab.probes.landscape import Landscape
from lab.probes.language import CONVENTIONS, MinimalPairs, TokenLosses
from lab.probes.profile import profile, received
from lab.widgets.drawing import PICTURES
from lab.widgets.result import TITLES


def test_every_result_with_a_picture_has_plot():
    results = {kind for kind in PICTURES if kind.__module__.startswith("lab.probes.")} | {Codes, Embedding}
    assert len(results) > 8 and results == set(HasPicture.__subclasses__())
    ours = {kind for kind in PICTURES if kind.__module__.startswith("lab.")} - {lab.catalogue.figure.Figure}
    assert all(callable(getattr(kind, "plot", None)) for kind in ours)


def test_pages_of_results_have_words_for_titles():
    """No name of a class; the two complexities are told apart, on the axis, too."""
    others = {Landscape, Connectivity, Complexity}  # the first two have explorers of their own
    assert set(TITLES) == set(HasPicture.__subclasses__()) - others
    line = np.linspace(-1, 1, 9)[:, None]
    for measure in (probes.total_variation, probes.fourier_complexity):
        result = measure(lambda x: x[:, 0] ** 2, line, paths=5)
        heading = lab.explore(result).heading
        assert heading.lower().startswith(measure.__name__.replace("_", " "))
        assert result.plot().layout.xaxis.title.text.lower().startswith(heading.lower())


def test_a_function_is_drawn_and_explored_in_whatever_shape():
    phi = lab.Spline.from_function(torch.sin, low=-3.0, high=3.0, knots=61)
    for shape in (phi, phi.symmetrized(), phi.chebyshev(5), phi.polynomial(5)):
        assert shape.plot().to_json() == lab.plot(shape).to_json()
        explorer = lab.explore(shape)
        assert type(explorer).__name__ == "SplineExplorer"
        assert type(lab.explore({"one": shape, "other": phi})).__name__ == "SplineExplorer"


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
