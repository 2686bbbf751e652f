"""Compiled steps: the losses of plain ones, up to rounding; and plain ones where nothing can be compiled."""

import json

import pytest

from lab import engine
from lab.errors import ArgumentError
from lab.store import Store
from tests.test_engine import LEARNED, SEARCH

# three runs with a learned function, twenty steps; the losses of each step, and what the store's notes say of one
TRAINED = """
import json, torch
from lab import engine
from lab.spec import AdamTrapezoid, Knots, replace
from lab.store import Store
from tests.test_engine import RUNS
phi = Knots(-2.0, 2.0, tuple(torch.linspace(-2, 2, 33).sin().tolist()))
recipe = AdamTrapezoid(steps=20, rate=0.003, batch=8, every=1)
specs = [replace(run, model=replace(run.model, mlp=phi), recipe=recipe) for run in RUNS]
store = Store()
engine.complete(specs, store, "cpu", 1)
print(json.dumps([[store.load(spec)[0]["loss"].tolist() for spec in specs], store.load(specs[0])[2]["kernel"]]))
"""


@pytest.fixture(scope="module")
def plain(nursery, tmp_path_factory):
    """Losses by run and step, and the note, of plain steps."""
    ended = nursery.run(TRAINED, LAB_STORE=tmp_path_factory.mktemp("plain"), LAB_STEPS="plain")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def test_compiled_steps_have_the_losses_of_plain_ones(plain, nursery, tmp_path):
    ended = nursery.run(TRAINED, LAB_STORE=tmp_path, LAB_STEPS="compiled")
    assert ended.code == 0 and ended.said == [], ended.err
    losses, note = json.loads(ended.out)
    assert note == f"{plain[1]}, compiled steps"
    for one, other in zip(losses, plain[0], strict=True):
        assert one == pytest.approx(other, rel=1e-5)


def test_where_nothing_compiles_a_line_says_so_and_steps_are_plain(plain, nursery, tmp_path):
    nowhere = "from torch._inductor import config\nconfig.cpp.cxx = ('/no/such/compiler',)\n"
    places = {"LAB_STORE": tmp_path / "store", "TORCHINDUCTOR_CACHE_DIR": tmp_path / "cache"}
    ended = nursery.run(nowhere + TRAINED, LAB_STEPS="compiled", **places)
    assert ended.code == 0 and json.loads(ended.out) == plain, ended.err  # the same bits
    assert len(ended.said) == 1 and ended.said[0].startswith("steps are not compiled (") and "compiler" in ended.said[0]


def test_another_word_is_refused_before_the_search_is_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_STEPS", "fast")
    with pytest.raises(ArgumentError, match=r"LAB_STEPS='fast': give kernel, plain, compiled"):
        engine.complete(LEARNED[:1], Store(tmp_path), "cpu", 1)
    assert not Store(tmp_path).has(SEARCH)
