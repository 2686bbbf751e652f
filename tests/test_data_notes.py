"""A key does not have the content of a data set: where nothing states it, notes do, and what differs is said."""

import numpy as np
import pytest
import torch

from lab import engine
from lab.data import datasets
from lab.errors import LabWarning
from lab.jobs import job
from lab.run import Run, complete
from lab.spec import AdamTrapezoid, FineTuning, Learned, ModelSpec, RunSpec, SearchSpec, SharedSearch, replace, sources
from lab.store import MixedRevisionsError, Store
from lab.tasks import Collage, Text
from lab.training.text import MaskedText

NAME = "enwik8_clean"
TEXT = Text(NAME, context=8, least=1)
MODEL, RECIPE = ModelSpec(layers=1, width=8, mlp="gelu"), AdamTrapezoid(steps=4, rate=0.003, batch=4, every=2)
RUNS = [RunSpec(TEXT, MODEL, RECIPE, seed) for seed in range(2)]


@pytest.fixture
def text(tmp_path, monkeypatch):
    """Writes a text of the letters given into LAB_DATA."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()

    def write(letters):
        words = np.random.default_rng(0).choice(list(letters), (2000, 6))
        (tmp_path / "data" / f"{NAME}.txt").write_text("\n".join(map("".join, words)))
        return datasets.digest(NAME)

    return write


def trained(specs, store):
    complete(specs, store, "cpu", progress=False)
    return [Run(spec, store) for spec in specs]


def test_a_result_of_another_text_than_is_here_says_so(text, tmp_path):
    store, first = Store(tmp_path / "store"), text("abcd")
    (run,) = trained(RUNS[:1], store)
    assert run.notes["data"] == {NAME: first}
    second = text("efghij")
    said = f"{NAME} is not what these stored results were trained on \\(SHA-256 {second[:8]}…, not {first[:8]}…\\)"
    with pytest.warns(LabWarning, match=f"{said}; they stay what they are"):
        assert (trained(RUNS[:1], store)[0].loss == run.loss).all()
    for specs in (RUNS, [RUNS[1], RUNS[0]]):
        with pytest.raises(MixedRevisionsError, match=f"{said}, and others would stand next to them"):
            trained(specs, store)
    trained(RUNS[1:], store)  # alone it is of what is here, and the two are not to be compared
    with pytest.raises(MixedRevisionsError, match="others would stand next to them"):
        trained(RUNS, store)
    (tmp_path / "data" / f"{NAME}.txt").unlink()
    store.forget(RUNS[1:])
    store.check_one_revision(RUNS[:1])  # nothing here contradicts it
    text("abcd")
    assert {run.notes["data"][NAME] for run in trained(RUNS, store)} == {first}


def test_a_search_on_another_text_is_not_taken_for_runs_on_this_one(text, tmp_path):
    store = Store(tmp_path / "store")
    search = SearchSpec(TEXT, MODEL, RECIPE, models=2)
    text("abcd")
    engine.complete([search], store, "cpu", 1)
    text("efgh")
    with pytest.raises(MixedRevisionsError, match="others would stand next to them"):
        trained([replace(RUNS[0], model=replace(MODEL, mlp=Learned(search, "mlp")))], store)


def test_a_training_that_was_interrupted_begins_again_on_another_text(text, tmp_path, monkeypatch, capsys):
    store, fresh = Store(tmp_path / "store"), Store(tmp_path / "fresh")
    kept = job.keep

    def killed(*args):
        kept(*args)
        raise KeyboardInterrupt

    text("abcd")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(job, "CHECKPOINT_SECONDS", -1)
        patch.setattr(job, "keep", killed)
        trained(RUNS[:1], store)
    assert store.checkpoint(RUNS[:1])
    text("efgh")
    (run,), (other,) = (trained(RUNS[:1], one) for one in (store, fresh))
    assert f"a checkpoint of another {NAME} is left: training begins again" in capsys.readouterr().err
    assert run.notes["data"] == other.notes["data"] and (run.loss == other.loss).all()
    assert all(torch.equal(a, b) for a, b in zip(run.model().parameters(), other.model().parameters(), strict=True))


def test_every_set_that_a_spec_reads_is_known():
    search = SearchSpec(replace(TEXT, corpus="moby_dick"), MODEL, RECIPE)
    learned = replace(RUNS[0], model=replace(MODEL, mlp=Learned(search, "mlp")))
    assert sources(RUNS[0]) == sources(replace(RUNS[0], task=MaskedText(TEXT))) == {NAME}
    assert sources(learned) == sources(FineTuning(learned, "sst2")) - {"sst2"} == {NAME, "moby_dick"}
    assert sources(SharedSearch((search, replace(search, task=TEXT)))) == {NAME, "moby_dick"}
    assert sources(replace(RUNS[0], task=Collage("mnist_sample", "svhn"))) == {"mnist_sample", "svhn"}
    assert sources(replace(RUNS[0], task="addmod")) == set()


def test_a_stated_digest_needs_no_note(tmp_path):
    (run,) = trained([replace(RUNS[0], task=Text("moby_dick", context=8))], Store(tmp_path))
    assert "data" not in run.notes
