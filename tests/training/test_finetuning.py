"""Fine-tuning: the library's own classifiers with the same weights, scores, schedules, a task that can be learned."""

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, matthews_corrcoef

from lab.data.sentence_sets import GLUE, PARQUET, TASKS, SentencesShape, of_hub, of_tables
from lab.data.sentences import Labelled
from lab.errors import ArgumentError, LabError
from lab.kinds import Sizes, build
from lab.models.small_language import FORMS, SmallLanguageModel
from lab.probes.language import Reader
from lab.spec import AdamTrapezoid, Knots, RunSpec, replace
from lab.training.finetuning import TUNINGS, Classifier, Tuner, Tuning, _fraction, one_run, padded, score
from lab.training.fleet import train

pytest.importorskip("transformers")
FAMILY = pytest.mark.parametrize("family", FORMS)
SMALL = SmallLanguageModel(layers=1, heads=2, width=16, inner=24)
WORDS = 12


def pretrained(family, activation="gelu", modules=()):
    spec = replace(SMALL, family=family, activation=activation)
    specs = [RunSpec("copy", spec, AdamTrapezoid(1, 0.1, 1), seed=seed) for seed in (0, 1)]
    model = build(spec, Sizes(FORMS[family], WORDS, WORDS, 20), specs, list(modules))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight += 0.2 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(3))
    return model


READER = Reader(lambda text: [2 + ord(letter) % 10 for letter in text], start=1, length=20)


@FAMILY
def test_logits_are_those_of_the_librarys_classifier(family):
    """Sentences of different lengths: its padding is masked by what it is told."""
    import transformers

    model = pretrained(family)
    made = Classifier(one_run(model, 1), torch.Generator().manual_seed(0)).eval()
    for weight in (made.out.weight, *([] if made.dense is None else [made.dense.weight])):
        torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(1))
    config = made.body.net.config
    config.num_labels = 2
    tokens, lengths = padded([[3, 4, 5], [3, 4, 5, 6, 7], [9]], torch.device("cpu"))
    if family == "gpt_neo":
        config.activation_function, config.pad_token_id = "gelu_new", 0
        theirs = transformers.GPTNeoForSequenceClassification(config).eval()
        theirs.transformer.load_state_dict(made.body.net.transformer.state_dict())
        theirs.score.load_state_dict(made.out.state_dict())
        wanted = theirs(tokens, attention_mask=(tokens > 0).long()).logits
    else:
        config.hidden_act = "gelu_new"
        theirs = transformers.RobertaForSequenceClassification(config).eval()
        theirs.roberta.load_state_dict(made.body.net.roberta.state_dict())
        theirs.classifier.dense.load_state_dict(made.dense.state_dict())
        theirs.classifier.out_proj.load_state_dict(made.out.state_dict())
        places = torch.arange(5).expand(3, -1)
        wanted = theirs(tokens, attention_mask=(tokens > 0).long(), position_ids=places).logits
    torch.testing.assert_close(made(tokens, lengths), wanted, rtol=1e-4, atol=1e-5)


@FAMILY
def test_one_run_is_that_run_and_a_copy(family):
    model, tokens = pretrained(family), torch.randint(WORDS, (2, 4, 6), generator=torch.Generator().manual_seed(0))
    alone = one_run(model, 1)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    torch.testing.assert_close(alone(tokens[1]), model(tokens)[1])
    with torch.no_grad():
        for weight in alone.parameters():
            weight.add_(1.0)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


def test_a_spline_stays_frozen_and_one():
    from lab.nonlinearity.spline import Spline

    phi = Spline(torch.tensor([-0.1, 0.0, 1.0, 4.0]), -4.0, 4.0)
    model = pretrained("gpt_neo", Knots(-4.0, 4.0, (-0.1, 0.0, 1.0, 4.0)), [phi])
    alone = one_run(model, 0)
    frozen = [weight for weight in alone.parameters() if not weight.requires_grad]
    assert len(frozen) == 1 and torch.equal(frozen[0], phi.values)
    tokens = torch.randint(WORDS, (2, 4, 6), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(alone(tokens[0]), model(tokens)[0])


def sentences(count, seed):
    """Class 1 begins and ends with "b", class 0 with "c"."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=count)
    middles = ("".join(chr(97 + letter) for letter in rng.integers(3, 9, size=rng.integers(1, 9))) for _ in labels)
    pairs = zip(labels.tolist(), middles, strict=True)
    return [Labelled(label, f"{'cb'[label]}{middle}{'cb'[label]}", "") for label, middle in pairs]


@FAMILY
def test_a_task_that_can_be_learned_is_learned_and_seeds_decide(family):
    tuning, once = (Tuning(rate=5e-3, batch=16, epochs=epochs) for epochs in (6, 1))
    examples = sentences(96, 0), sentences(60, 1)
    found = train(Tuner(pretrained(family), READER, "cola", *examples, tuning=tuning)).table
    first, again, other = (
        train(Tuner(pretrained(family), READER, "cola", *examples, seed=seed, tuning=once)).table for seed in (0, 0, 1)
    )
    assert first.equals(again) and not first["loss"].equals(other["loss"])
    best = found[found["best"]]
    assert len(best) == 1 and best["score"].item() == found["score"].max() > 0.9 > 0 == best["constant"].item()


def test_weights_that_are_not_finite_at_the_end_are_said(monkeypatch):
    tuner = Tuner(pretrained("gpt_neo"), READER, "sst2", sentences(20, 0), sentences(10, 1), tuning=Tuning(0.1, 20, 1))
    step = tuner._optimizer.step

    def last_step():
        step()
        tuner.classifier.out.weight.data[0, 0] = np.nan

    monkeypatch.setattr(tuner._optimizer, "step", last_step)
    with pytest.raises(LabError, match=r"diverged at step 1 of its tuning on sst2 \(weights are not finite\)"):
        train(tuner)


def test_training_ends_where_nothing_gets_better():
    found = train(
        Tuner(
            pretrained("gpt_neo"),
            READER,
            "sst2",
            sentences(20, 0),
            sentences(10, 1),
            tuning=Tuning(0.0, 20, 9, patience=2),
        )
    ).table
    assert found["epoch"].tolist() == [1, 2, 3] and found["best"].tolist() == [True, False, False]


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_scikit_learns(seed):
    answers, truth = np.random.default_rng(seed).integers(2, size=(2, 30))
    assert score(answers, truth, "f1") == pytest.approx(f1_score(truth, answers))
    assert score(answers, truth, "mcc") == pytest.approx(matthews_corrcoef(truth, answers))
    assert score(np.ones(30, int), truth, "mcc") == 0 and score(truth, truth, "accuracy") == 1


def test_schedules():
    line, cosine = TUNINGS["2024"], TUNINGS["2025"]
    assert [_fraction(step, 10, line) for step in (0, 25, 50, 75)] == [1.0, 0.75, 0.5, 0.25]
    assert _fraction(0, 10, cosine) == pytest.approx(1 / 6) and _fraction(6, 10, cosine) == 1.0
    assert _fraction(53, 10, cosine) == pytest.approx(0.55) and _fraction(99, 10, cosine) == pytest.approx(
        0.1, abs=0.01
    )


def tables(task, rows):
    """The publisher's table."""
    head = {"mrpc": "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "rte": "index\tsentence1\tsentence2\tlabel"}
    return "\n".join([head[task], *("\t".join(row) for row in rows)]).encode()


def test_the_publishers_tables_and_parquet_give_the_same():
    import pandas as pd

    rte = {"RTE_train.tsv": [["0", "A b.", "C.", "entailment"]], "RTE_dev.tsv": [["1", "D.", "E f.", "not_entailment"]]}
    own = of_tables({name: tables("rte", rows) for name, rows in rte.items()}, TASKS["rte"])
    assert own["text"].tobytes().decode() == "train\t1\tA b.\tC.\nval\t0\tD.\tE f.\n"
    files = {}
    for file, (first, second, label) in zip(PARQUET.values(), (("A b.", "C.", 0), ("D.", "E f.", 1)), strict=True):
        files[file] = pd.DataFrame({"sentence1": [first], "sentence2": [second], "label": [label]}).to_parquet()
    assert of_hub(files, TASKS["rte"])["text"].tobytes() == own["text"].tobytes()
    cola = {
        name: b"gj04\t1\t\tThe sailors rode.\ngj04\t0\t*\tRode sailors.\n"
        for name in ("CoLA_train.tsv", "CoLA_dev.tsv")
    }
    assert of_tables(cola, TASKS["cola"])["text"].tobytes().decode().count("\t0\tRode sailors.\t\n") == 2
    mrpc = {f"MRPC_{part}.tsv": tables("mrpc", [["1", "7", "8", 'He said "no', "No"]]) for part in ("train", "dev")}
    assert of_tables(mrpc, TASKS["mrpc"])["text"].tobytes().decode().startswith('train\t1\tHe said "no\tNo\n')


def test_the_sets_are_listed_and_counted():
    assert {known.name for known in GLUE} == set(TASKS)
    shape = SentencesShape(1, counts=(1, 1))
    text = np.frombuffer(b"train\t1\ta\t\nval\t0\tb\tc\n", np.uint8)
    assert shape.misfit({"text": text}) == "" and str(shape) == "1 + 1 examples"
    assert SentencesShape(1, counts=(2, 1)).misfit({"text": text}) == "1 + 1 examples, not 2 + 1 examples"
    assert shape.misfit({"text": np.frombuffer(b"train\t7\ta\t\n", np.uint8)}) == "line 1 is no labelled sentence"


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="give one of a run with a SmallLanguageModel"):
        one_run(torch.nn.Linear(1, 1))
    with pytest.raises(ArgumentError, match="'qqp'"):
        train(Tuner(pretrained("gpt_neo"), READER, "qqp", sentences(2, 0), sentences(2, 1)))
    with pytest.raises(ArgumentError, match="there are no examples"):
        train(Tuner(pretrained("gpt_neo"), READER, "cola", [], sentences(2, 1)))
