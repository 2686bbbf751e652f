"""Fine-tuning as a result that the store keeps: it begins with a stored run, and is what `Tuner` gives."""

import numpy as np
import pytest
import torch

from lab import engine
from lab.catalogue.listing import stored
from lab.cli import main
from lab.data import datasets
from lab.data.sentences import Labelled, labelled
from lab.errors import ArgumentError, LabError
from lab.finetuning import Tuned, finetune
from lab.jobs import job
from lab.models.small_language import SmallLanguageModel
from lab.probes.language import reader_of
from lab.run import Run, complete
from lab.spec import AdamTrapezoid, FineTuning, ModelSpec, RunSpec, Tuning, from_json, key, needs, replace, to_json
from lab.store import Store
from lab.tasks import Text
from lab.training.finetuning import Tuner
from lab.training.fleet import train
from lab.training.text import MaskedText

pytest.importorskip("transformers")
TEXT = Text("moby_dick", context=32)
MODEL = SmallLanguageModel(layers=1, heads=2, width=8, inner=12)
RUN = RunSpec(TEXT, MODEL, AdamTrapezoid(steps=2, rate=0.01, batch=2, every=2), 0, ("test",))
SPEC = FineTuning(RUN, "cola", Tuning(rate=1e-2, batch=4, epochs=2), seed=1, examples=12)
SENTENCES = [Labelled(n % 2, ("the whale swims", "whale the swims")[n % 2], "") for n in range(20)]


@pytest.fixture(autouse=True)
def sentences(monkeypatch):
    """GLUE is not here in tests: some sentences in its place."""
    monkeypatch.setattr("lab.jobs.trainers.labelled", lambda task, part: SENTENCES)


def test_the_run_is_trained_first_and_the_tuning_is_kept(tmp_path):
    store = Store(tmp_path)
    told = []
    engine.complete([SPEC], store, report=lambda *said: told.append(said))
    assert store.has(RUN) and needs(SPEC) == [RUN]
    assert told[-1] == (8, 8, "1 run and 1 fine-tuning"), "two steps, and two epochs of three"
    found = Tuned(SPEC, store)
    table = train(
        Tuner(Run(RUN, store).model(), reader_of(TEXT), "cola", SENTENCES[:12], SENTENCES, seed=1, tuning=SPEC.tuning)
    ).table
    for name in ("epoch", "loss", "accuracy", "score", "constant", "best"):
        np.testing.assert_allclose(found.table[name], table[name].to_numpy(float))
    assert found.score == table.loc[table["best"], "score"].iloc[0] and found.provenance["seconds"] > 0
    before = (tmp_path / "runs" / key(SPEC) / "done.json").stat().st_mtime_ns
    complete([SPEC], store, progress=False)
    assert (tmp_path / "runs" / key(SPEC) / "done.json").stat().st_mtime_ns == before, "it is not tuned again"


@pytest.mark.parametrize("family", ["gpt_neo", "roberta"])
def test_tuned_weights_come_back_and_answer_as_in_the_epoch_that_counts(tmp_path, family):
    store, task = Store(tmp_path), TEXT if family == "gpt_neo" else MaskedText(TEXT)
    spec = replace(SPEC, pretrained=replace(RUN, task=task, model=replace(MODEL, family=family)))
    complete([spec], store, progress=False)
    tuned = Tuned(spec, store)
    right = tuned.answers(SENTENCES) == [one.label for one in SENTENCES]
    assert right.mean() == pytest.approx(tuned.table["accuracy"][tuned.table["best"].astype(bool)][0])
    before, after = Run(spec.pretrained, store).model(), tuned.model()
    name = next(name for name, _ in after.body.named_parameters() if "embed" in name or "wte" in name)
    assert not torch.equal(after.body.get_parameter(name), before.model.get_parameter(name)[0])
    assert not any(weight.requires_grad for weight in after.parameters())


def test_a_tuning_that_diverges_says_so_and_answers_want_labelled_sentences(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(LabError, match=r"seed 1 diverged at step \d+ of its tuning on cola .*lower rate than 1e\+30"):
        complete([replace(SPEC, tuning=replace(SPEC.tuning, rate=1e30))], store, progress=False)
    complete([SPEC], store, progress=False)
    for wrong in (["the whale swims"], [None], []):
        with pytest.raises(ArgumentError, match=r"give lab.data.sentences.Labelled, as Labelled\(0, "):
            Tuned(SPEC, store).answers(wrong)


def test_a_tuning_that_was_stored_without_weights_says_so(tmp_path):
    store = Store(tmp_path)
    complete([SPEC], store, progress=False)
    earlier, (history, _, notes) = Store(tmp_path / "earlier"), store.load(SPEC)
    earlier.save(SPEC, history, {}, notes)
    with pytest.raises(LabError, match="was stored without weights"):
        Tuned(SPEC, earlier).model()


@pytest.mark.parametrize("steps", [1, 3, 4], ids=["in the first epoch", "between epochs", "in the second"])
def test_a_killed_tuning_goes_on_where_it_was_and_ends_with_the_same_bits(tmp_path, monkeypatch, steps):
    whole, killed = Store(tmp_path / "whole"), Store(tmp_path / "killed")
    complete([SPEC], whole, progress=False)
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", -1.0)  # after every step
    taken, advance = [], Tuner.advance

    def killed_after(tuner):
        if len(taken) == steps:
            raise KeyboardInterrupt
        taken.append(tuner.step)
        advance(tuner)

    monkeypatch.setattr(Tuner, "advance", killed_after)
    with pytest.raises(KeyboardInterrupt):
        complete([SPEC], killed, progress=False)
    assert not killed.has(SPEC)
    steps = -1  # not again
    complete([SPEC], killed, progress=False)
    assert taken == list(range(6)), "two epochs of three batches, none of them twice"
    for one, other in zip(whole.load(SPEC)[:2], killed.load(SPEC)[:2], strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    assert list(killed.checkpoints()) == []


def test_several_seeds_begin_with_a_run_that_the_store_has(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "store"))
    store = Store()
    complete([RUN], store, progress=False)
    found = finetune(key(RUN)[:10], "cola", 3, SPEC.tuning, 12, progress=False)
    assert found[1].spec == SPEC and [run.spec.seed for run in found] == [0, 1, 2]
    low, high = found.estimate.interval(0.95)
    half = 4.302653 * np.std(found.scores, ddof=1) / np.sqrt(3)  # Student's t with two degrees of freedom
    assert (high - low) / 2 == pytest.approx(half, abs=1e-6) and f"± {half:.3f}, 95 % confidence" in repr(found)
    assert found.table["score"].tolist() == found.scores.tolist()
    assert {row["kind"] for row in stored(store)} == {"run", "fine-tuning"}
    again = finetune(Run(RUN, store), "cola", 3, SPEC.tuning, 12, store=Store(tmp_path / "other"), progress=False)
    np.testing.assert_allclose(again.scores, found.scores)
    assert Store(tmp_path / "other").load(RUN)[2] == store.load(RUN)[2], "the run is copied, not trained again"
    main(f"finetune {key(RUN)[:10]} cola --seeds 1 --tuning 2025 --examples 4 --out {tmp_path / 'out'}".split())
    said = capsys.readouterr().out
    assert said.startswith("cola, correlation of Matthews on val: ") and "(one seed, no interval); the better" in said
    assert (tmp_path / "out" / "scores.csv").read_text().startswith("key,task,seed,epoch,score,accuracy,constant\n")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"pretrained": "0" * 12}, "0 results have a key that begins with '000000000000'; `lab store list`"),
        ({"pretrained": ""}, "no key is given; `lab store list`"),
        ({"pretrained": RUN}, "type RunSpec; give a lab.Run, or the beginning of its key"),
        ({"task": "sst"}, "'sst'; known: .*sst2"),
        ({"tuning": Tuning(schedule="linear")}, "'linear'; known: line, cosine"),
        ({"tuning": Tuning(rate=-0.1)}, "rate=-0.1: give a finite number, 0 to inf"),
        ({"tuning": Tuning(epochs=0)}, "epochs=0.*1 or more"),
        ({"tuning": Tuning(length=0)}, "length=0.*1 or more"),
        ({"tuning": Tuning(warmup=5.0)}, "warmup=5.*0 to 1"),
        ({"tuning": "2022"}, "'2022'; known: 2023, 2024, 2025"),
        ({"seeds": 0}, "seeds=0.*1 or more"),
        ({"examples": 0}, "examples=0.*1 or more"),
        ({"device": "tpu"}, "'tpu'"),
    ],
)
def test_wrong_input_is_one_line_before_anything_is_tuned(tmp_path, wrong, words):
    store = Store(tmp_path)
    complete([RUN], store, progress=False)
    given = {"pretrained": key(RUN), "task": "cola", "tuning": SPEC.tuning, "store": store, "progress": False} | wrong
    with pytest.raises(ArgumentError, match=words) as caught:
        finetune(**given)
    assert len(str(caught.value).splitlines()) == 1 and len(list(store.results())) == 1


def test_glue_that_is_not_here_is_one_line(tmp_path, monkeypatch):
    if datasets.find("rte"):
        pytest.skip("RTE is here")
    monkeypatch.setattr("lab.jobs.trainers.labelled", labelled)
    store = Store(tmp_path)
    complete([RUN], store, progress=False)
    with pytest.raises(LabError, match="rte") as caught:
        finetune(key(RUN), "rte", store=store, progress=False)
    assert len(str(caught.value).splitlines()) == 1


def test_its_identity_is_the_run_and_all_that_tunes_it():
    assert from_json(to_json(SPEC)) == SPEC
    others = [replace(SPEC, seed=2), replace(SPEC, task="rte"), replace(SPEC, pretrained=replace(RUN, seed=1))]
    assert len({key(spec) for spec in (SPEC, RUN, *others)}) == 5


def test_what_cannot_be_tuned_is_refused_before_anything_is_trained(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(
        ArgumentError, match="with a ModelSpec; give one of a GPT-Neo or RoBERTa, whose keys `lab store list`"
    ):
        complete([replace(SPEC, pretrained=replace(RUN, model=ModelSpec()))], store, progress=False)
    with pytest.raises(ArgumentError, match="'sst'.*known: cola, sst2, mrpc, rte"):
        complete([replace(SPEC, task="sst")], store, progress=False)
    assert not store.has(RUN)
