"""One function for several tasks: of one task it is that task's search, of two its gradient is the sum of theirs."""

import numpy as np
import pytest
import torch

from lab.engine import complete
from lab.errors import ArgumentError
from lab.resolve import resolve
from lab.run import Run
from lab.spec import (
    AdamTrapezoid,
    Knots,
    Learned,
    ModelSpec,
    RunSpec,
    SearchSpec,
    SharedSearch,
    from_json,
    key,
    replace,
    to_json,
)
from lab.store import Store
from lab.training.fleet import train
from lab.training.two_loss import Search, Shared
from tests.training.making import through_a_file

RECIPE = AdamTrapezoid(steps=6, rate=0.01, batch=32, every=3)


def one(task="memorize", **changes):
    model = ModelSpec(layers=1, width=8 if task == "memorize" else 12)
    shape = {"models": 2, "low": -4.0, "high": 4.0, "knots": 17, "spline_rate": 0.05, "start": "relu"}
    return SearchSpec(task, model, RECIPE, **shape | changes)


BOTH = SharedSearch((one(), one("addmod")))


def test_of_one_task_it_is_the_search_of_that_task():
    alone, shared = train(Search(one())), train(Shared(SharedSearch((one(),))))
    assert shared.functions() == alone.functions() and shared.search_loss == alone.search_loss
    for name, values in alone.history.arrays().items():
        np.testing.assert_array_equal(values, shared.history.arrays()[name])


def test_the_gradient_of_the_knots_is_the_sum_over_tasks():
    parts = []
    for spec in BOTH.searches:
        state = Search(spec)
        state.set_rates(0)
        state.gradients(0)
        parts.append(state.knots[0].grad.clone())
    shared = Shared(BOTH)
    for member in shared.members:
        member.set_rates(0)
        member.gradients(0)
    torch.testing.assert_close(shared.splines["mlp"].values.grad, parts[0] + parts[1])
    assert (parts[0] - parts[1]).abs().max() > 1e-4


def test_all_models_compute_with_the_same_knots_and_each_learns_its_task():
    state = train(Shared(BOTH))
    knots = {id(member.parts["mlp"].values) for member in state.members}
    assert len(knots) == 1 and len(state.specs) == 4 == state.history.arrays()["loss"].shape[1]
    assert not torch.equal(state.members[0].weights[0], Shared(BOTH).members[0].weights[0])


def test_an_interrupted_search_ends_with_the_same_knots():
    half = train(Shared(BOTH), lambda state: state.step < 4)
    rest = Shared(BOTH)
    rest.restore(through_a_file(half.state()))
    whole = train(Shared(BOTH))
    assert train(rest).functions() == whole.functions() and rest.search_loss == whole.search_loss
    np.testing.assert_array_equal(rest.history.arrays()["loss"], whole.history.arrays()["loss"])


def test_what_is_found_is_kept_and_trained_with_on_each_task(tmp_path):
    store = Store(tmp_path)
    runs = [
        RunSpec(spec.task, replace(spec.model, mlp=Learned(BOTH)), spec.recipe, 0, ("test",)) for spec in BOTH.searches
    ]
    complete(runs, store)
    found = resolve(Learned(BOTH), store)
    assert isinstance(found, Knots) and found == train(Shared(BOTH)).functions()["mlp"]
    assert all(Run(run, store).accuracy.shape == (2,) for run in runs)
    assert from_json(to_json(runs[1])) == runs[1] and key(BOTH) != key(SharedSearch((one(),)))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (one("addmod", knots=33), "knots=33 for addmod, 17 for memorize"),
        (replace(one("addmod"), recipe=replace(RECIPE, steps=8)), "addmod takes 8 steps, memorize 6"),
        (
            replace(one("addmod"), model=ModelSpec(attention=Learned(one()))),
            "attention of addmod is learned by another",
        ),
    ],
)
def test_tasks_that_cannot_share_are_refused(other, said):
    with pytest.raises(ArgumentError, match=said):
        Shared.check(SharedSearch((one(), other)))
    with pytest.raises(ArgumentError, match="give one search a task"):
        Shared.check(SharedSearch(()))
