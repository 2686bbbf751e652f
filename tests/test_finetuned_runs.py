"""Fine-tuning as a result that the store keeps: it begins with a stored run, and is what `fine_tune` gives."""

import numpy as np
import pytest

from lab.datasets.sentences import Labelled
from lab.errors import ArgumentError
from lab.models.small_language import SmallLanguageModel
from lab.probes.minimal_pairs import reader_of
from lab.run import Run, Tuned, complete
from lab.spec import AdamTrapezoid, FineTuning, ModelSpec, RunSpec, Tuning, from_json, key, needs, replace, to_json
from lab.store import Store
from lab.tasks import Text
from lab.training.finetuning import fine_tune

pytest.importorskip("transformers")
TEXT = Text("moby_dick", context=32)
MODEL = SmallLanguageModel(layers=1, heads=2, width=8, inner=12)
RUN = RunSpec(TEXT, MODEL, AdamTrapezoid(steps=2, rate=0.01, batch=2, every=2), 0, ("test",))
SPEC = FineTuning(RUN, "cola", Tuning(rate=1e-2, batch=4, epochs=2), seed=1, examples=12)
SENTENCES = [Labelled(n % 2, ("the whale swims", "whale the swims")[n % 2], "") for n in range(20)]


@pytest.fixture(autouse=True)
def sentences(monkeypatch):
    """GLUE is not here in tests: some sentences in its place."""
    monkeypatch.setattr("lab.jobs.finetuning.labelled", lambda task, part: SENTENCES)


def test_the_run_is_trained_first_and_the_tuning_is_kept(tmp_path):
    store = Store(tmp_path)
    complete([SPEC], store, progress=False)
    assert store.has(RUN) and needs(SPEC) == [RUN]
    found = Tuned(SPEC, store)
    table = fine_tune(
        Run(RUN, store).model(), reader_of(TEXT), "cola", SENTENCES[:12], SENTENCES, seed=1, tuning=SPEC.tuning
    )
    for name in ("epoch", "loss", "accuracy", "score", "constant", "best"):
        np.testing.assert_allclose(found.table[name], table[name].to_numpy(float))
    assert found.score == table.loc[table["best"], "score"].iloc[0] and found.provenance["seconds"] > 0
    before = (tmp_path / "runs" / key(SPEC) / "done.json").stat().st_mtime_ns
    complete([SPEC], store, progress=False)
    assert (tmp_path / "runs" / key(SPEC) / "done.json").stat().st_mtime_ns == before, "it is not tuned again"


def test_its_identity_is_the_run_and_all_that_tunes_it():
    assert from_json(to_json(SPEC)) == SPEC
    others = [replace(SPEC, seed=2), replace(SPEC, task="rte"), replace(SPEC, pretrained=replace(RUN, seed=1))]
    assert len({key(spec) for spec in (SPEC, RUN, *others)}) == 5


def test_what_cannot_be_tuned_is_refused_before_anything_is_trained(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(ArgumentError, match="the run has a ModelSpec; give one with a SmallLanguageModel"):
        complete([replace(SPEC, pretrained=replace(RUN, model=ModelSpec()))], store, progress=False)
    with pytest.raises(ArgumentError, match="'sst'.*known: cola, sst2, mrpc, rte"):
        complete([replace(SPEC, task="sst")], store, progress=False)
    assert not store.has(RUN)
