"""Functions through control points: what is drawn is what scipy draws, and a search learns through it."""

import numpy as np
import pytest
import torch
from scipy.interpolate import CubicSpline

from lab import engine
from lab.errors import ArgumentError
from lab.search_results import EpisodeResult
from lab.spec import ConstantRate, EpisodeSpec, InterpolatedSpec, Perceptron, Restart, from_json, key, to_json
from lab.store import Store
from lab.tasks import Operation
from lab.training.episodes import Episodes
from lab.training.inner_task import FINE, refine

RESTARTS = (Restart(0, 0.05, 9, 2, "noise"), Restart(1, 0.1, 7, 3, "relu"))
SETTINGS = {
    "task": Operation("a+b", modulus=5),
    "model": Perceptron(width=8),
    "inner": ConstantRate(3, 0.5),
    "retrain": ConstantRate(4, 0.5, every=2, average=2),
    "restarts": RESTARTS,
    "low": -2.0,
    "high": 2.0,
    "episodes": 3,
}


def drawn(kind, x, values, at):
    """What is to be seen at finer knots."""
    if kind == "cubic":
        return CubicSpline(x, values, bc_type="natural")(at)
    return values[np.abs(at[:, None] - x[None]).argmin(1)]


@pytest.mark.parametrize("kind", ["nearest", "cubic"])
def test_the_matrix_draws_the_interpolation(kind):
    x, values = np.linspace(-2, 2, 11), np.random.default_rng(0).normal(size=11)
    finer = refine(kind, 11) @ torch.from_numpy(values).float()
    at = np.linspace(-2, 2, 10 * FINE + 1)
    np.testing.assert_allclose(finer, drawn(kind, x, values, at), atol=1e-5)
    np.testing.assert_allclose(finer[::FINE], values, atol=1e-6)
    np.testing.assert_allclose(refine(kind, 11).sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", ["nearest", "cubic"])
def test_a_search_finds_functions_of_that_form_for_restarts_of_any_size(tmp_path, kind):
    spec, store = InterpolatedSpec(**SETTINGS, interpolation=kind), Store(tmp_path)
    engine.complete([spec], store, "cpu", 1)
    found = EpisodeResult(spec, store)
    for number, restart in enumerate(RESTARTS):
        values = found.of_restart(number)["phi"].values.numpy().ravel()
        x, at = (np.linspace(-2, 2, count) for count in (restart.knots, FINE * (restart.knots - 1) + 1))
        assert len(values) == len(at)
        np.testing.assert_allclose(values, drawn(kind, x, values[::FINE], at), atol=1e-5)
    made = Episodes(spec)
    before = [values.detach().clone() for values in made.phi.values]
    made.learn(made.run_episode(1))
    for values, old, count in zip(made.phi.values, before, (9, 7), strict=True):
        assert values.shape == (1, 1, count) and not torch.equal(values, old), "control points are learned"


def test_control_points_follow_the_gradient_through_the_interpolation():
    """The slope of an episode's loss in one control point, by differences, in float64."""
    spec, old = InterpolatedSpec(**SETTINGS, interpolation="cubic"), torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        made = Episodes(spec)
        made.phi._finer = [refine("cubic", knots).double() for knots in (9, 7)]
        wide = made.inner_tasks[0]
        wide.inputs = wide.inputs.double()
        outcome = made.run_episode(2)
        step, losses = 1e-6, []
        for sign in (1, -1):
            with torch.no_grad():
                made.phi.values[1][0, 0, 3] += sign * step
            losses.append(float(made.run_episode(2).loss[1]))
            with torch.no_grad():
                made.phi.values[1][0, 0, 3] -= sign * step
    finally:
        torch.set_default_dtype(old)
    # restart 1 differentiates all three inner steps, so nothing is left out of its gradient
    assert float(outcome.gradients[1][0, 0, 3]) == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-4)


def test_it_has_a_name_of_its_own_and_unknown_kinds_are_refused(tmp_path):
    plain, cubic = EpisodeSpec(**SETTINGS), InterpolatedSpec(**SETTINGS)
    assert key(plain) != key(cubic) and from_json(to_json(cubic)) == cubic != plain
    with pytest.raises(ArgumentError, match="'quintic'; known: nearest, cubic"):
        engine.complete([InterpolatedSpec(**SETTINGS, interpolation="quintic")], Store(tmp_path), "cpu", 1)
