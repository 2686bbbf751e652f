"""Searches by two losses on examples that are made as they are needed: HYLA's φ on fuzzy logic and SRAVEN."""

import numpy as np
import pytest
import torch

from lab.engine import complete
from lab.models.hyper import method
from lab.resolve import resolve
from lab.run import Run
from lab.spec import AdamWCosine, HyperModel, Knots, Learned, RunSpec, SearchSpec, from_json, replace, to_json
from lab.store import Store
from lab.tasks import Logic, Sraven
from lab.training.fleet import train
from lab.training.two_loss import Search
from tests.training.making import through_a_file

TASKS = {"logic": Logic(length=6), "sraven": Sraven(features=2)}
MODEL = method("hyla", HyperModel(layers=1, heads=2, width=8, key_width=4, mlp_width=12))
RECIPE = AdamWCosine(steps=6, rate=0.01, batch=16, warmup=1, every=3, examples=16)
EACH = pytest.mark.parametrize("name", TASKS)


def spec_of(name, **changes):
    shape = {"learn": ("phi",), "models": 2, "low": -4.0, "high": 4.0, "knots": 17, "spline_rate": 0.05}
    return SearchSpec(TASKS[name], MODEL, RECIPE, **shape | changes)


@EACH
def test_the_knots_follow_examples_that_no_weights_see(name):
    state = Search(spec_of(name))
    seen = {row.numpy().tobytes() for step in range(20) for row in state.batch(step).examples.inputs.flatten(0, 1)}
    fresh = [row.numpy().tobytes() for step in range(20) for row in state.search_batch(step).examples.inputs[0]]
    assert len(set(fresh)) == len(fresh) and not seen & set(fresh)
    assert state.search_batch(3).keep is None, "nothing is dropped where the function is judged"
    again = state.search_batch(3).examples.inputs
    assert torch.equal(again, Search(spec_of(name)).search_batch(3).examples.inputs)
    assert not torch.equal(again, Search(spec_of(name, seed=1)).search_batch(3).examples.inputs)


def test_a_model_is_asked_for_functions_that_it_trains_on():
    state = Search(spec_of("logic"))
    for run, spec in enumerate(state.specs):
        ranks = TASKS["logic"].rank(TASKS["logic"].functions("train", spec.seed)).tolist()
        for batch in (state.batch(0), state.search_batch(0)):
            assert set(batch.examples.latents["function"][run].tolist()) <= set(ranks)


@EACH
def test_what_is_found_is_trained_with(name, tmp_path):
    store, spec = Store(tmp_path), spec_of(name)
    run = RunSpec(TASKS[name], replace(MODEL, phi=Learned(spec, "phi")), RECIPE, 0, ("test",))
    complete([run], store)
    found = resolve(Learned(spec, "phi"), store)
    assert isinstance(found, Knots) and np.abs(found.values).max() > 0.01 and Run(run, store).loss.shape == (2,)
    assert from_json(to_json(run)) == run


def test_an_interrupted_search_ends_with_the_same_knots():
    whole = train(Search(spec_of("logic"))).functions()
    half = train(Search(spec_of("logic")), lambda state: state.step < 3)
    rest = Search(spec_of("logic"))
    rest.restore(through_a_file(half.state()))
    assert train(rest).functions() == whole
