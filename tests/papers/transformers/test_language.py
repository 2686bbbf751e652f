"""Figures of language models: their numbers are those of stored runs, recomputed here; settings are the paper's."""

import re

import numpy as np
import pytest
import torch

import lab
from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.errors import ArgumentError
from lab.papers.transformers.language import accuracy_gains, perplexity_changes
from lab.papers.transformers.settings import TEXTS, language, of_sequences, scale_of
from lab.spec import key, needs, replace
from lab.tasks import Text
from tests.papers.plans import planned_runs
from tests.papers.transformers.planted import LANGUAGE, designs

every_entry = pytest.mark.parametrize("name", LANGUAGE)


@pytest.fixture(scope="module")
def made():
    """All figures at smoke scale, in the store that tests share."""
    return {name: figure(name, "smoke", progress=False) for name in LANGUAGE}


@every_entry
def test_a_figure_has_all_that_it_promises(made, name):
    one = made[name]
    assert len(one.table) and one.plot.data and entry(name).shows in one.caption
    for word in ("Scale smoke", "Steps:", "Data: moby_dick (public domain)", "Departures from the paper:"):
        assert word in one.caption
    assert not re.search(r"\bnan\b", one.full_caption) and one.summary
    facts = one.provenance
    check(facts)
    runs = [run for _, run in planned_runs(name)]
    assert facts["runs"].keys() == {run.key for run in runs} and facts["guesses"]
    assert facts["searches"].keys() == {key(search) for run in runs for search in needs(run.spec)}
    assert facts["data"][0]["sha256"] == lab.data.datasets.entry("moby_dick").digest
    assert [source["name"] for source in facts["data"][1:]] == ["mano"] * (name == "transformers/fig9")


def test_scores_are_those_of_the_stored_model():
    """Window by window: the model reads it alone, the second half of its predictions counts for accuracy."""
    labels, run = planned_runs("transformers/table3")[-1]
    task, model = run.spec.task, run.model()
    windows = task.windows("test")
    numbers = np.linspace(0, len(windows) - 1, -(-(1 << 15) // task.context)).astype(int)
    hits, nats, letters = [], [], 0
    for row in torch.from_numpy(windows.at(numbers[::16])):
        logits = model(row[None, None, :-1])[0, 0].log_softmax(-1)
        hits += (logits.argmax(-1) == row[1:])[task.context // 2 :].tolist()
        nats += (-logits[torch.arange(task.context), row[1:]]).tolist()
        letters += len(task.vocabulary.decode(row[1:].tolist()))
    assert run.score("accuracy", "test")[-1] == pytest.approx(np.mean(hits), abs=0.03)
    assert run.score("loss", "test")[-1] == pytest.approx(np.mean(nats), abs=0.02)
    assert run.score("bits", "test")[-1] == pytest.approx(np.sum(nats) / np.log(2) / letters, abs=0.03)


def test_designs_are_measured_at_the_end_of_training(made):
    table = made["transformers/table3"].table
    assert len(table) == len(planned_runs("transformers/table3"))
    for (labels, run), (_, row) in zip(planned_runs("transformers/table3"), table.iterrows(), strict=True):
        assert row["method"] == labels["method"] and row["step"] == run.spec.recipe.steps
        assert row["perplexity"] == pytest.approx(np.exp(run.loss[-1]))
        assert row["accuracy"] == run.accuracy[-1]


def test_the_matrix_of_texts_has_no_explorer_and_says_so(made):
    with pytest.raises(ArgumentError, match="no explorer for the figure transformers/fig9"):
        lab.explore(made["transformers/fig9"])


def test_changes_against_the_baseline_are_ratios_and_differences():
    table = designs(True)
    means = table.groupby("method")[["perplexity", "accuracy"]].mean()
    for method, change in perplexity_changes(table, "method", "GELU").items():
        ratio = means.loc[method, "perplexity"] / means.loc["GELU", "perplexity"]
        assert change.effect == pytest.approx(100 * (ratio - 1), abs=0.01)
        low, high = change.interval(0.95)
        assert low < change.effect < high
    for method, gain in accuracy_gains(table, "method", "GELU").items():
        assert gain.effect == pytest.approx(100 * (means.loc[method] - means.loc["GELU"])["accuracy"])
    lost = table.assign(diverged=table["method"] == "ReLU")
    assert "ReLU" not in perplexity_changes(lost, "method", "GELU")


def test_what_a_seeds_batches_do_to_all_methods_is_no_part_of_a_change():
    """Training perplexity is of the batches that a seed fixes; held-out accuracy is of one text for all seeds."""
    table = designs(True)
    text = table["seed"].map({seed: 1.0 + 0.1 * seed for seed in table["seed"].unique()})
    plain, harder = (
        perplexity_changes(one, "method", "GELU")
        for one in (table, table.assign(perplexity=table["perplexity"] * text))
    )
    for method, change in plain.items():
        assert harder[method].interval(0.95) == pytest.approx(change.interval(0.95))
    one = accuracy_gains(table.assign(accuracy=table["accuracy"] * text), "method", "GELU")
    for method, gain in accuracy_gains(table, "method", "GELU").items():
        assert np.ptp(one[method].interval(0.95)) > 2 * np.ptp(gain.interval(0.95))


def test_settings_are_those_of_table_4():
    paper = language("shakespeare char", "paper")
    model, recipe = paper.model, paper.recipe
    assert (model.layers, model.heads, model.width, model.tied, model.canon) == (4, 4, 512, True, True)
    assert (recipe.steps, recipe.rate, recipe.batch, recipe.betas) == (3000, 0.001, 64, (0.9, 0.999))
    assert (recipe.warmup, recipe.cooldown, paper.models) == (0.05, 0.5, 3)
    spacing = (paper.search().high - paper.search().low) / (paper.search().knots - 1)
    assert spacing == pytest.approx(1 / 3)
    for scale, names in TEXTS.items():
        assert all(language(name, scale).task_name == name for name in names)


def test_a_text_is_trained_and_searched_by_its_name():
    runs = lab.train("moby_dick", seeds=1, scale="smoke", progress=False)
    assert runs[0].spec == language("moby_dick", "smoke").runs(1)[0]
    own = Text("moby_dick", "bpe", context=8)
    assert lab.train(own, mlp="relu", seeds=1, scale="smoke", progress=False)[0].spec.task == own
    found = lab.search("moby_dick bpe", scale="smoke", progress=False)
    assert found.spec == language("moby_dick bpe", "smoke").search() and scale_of(found.spec) == "smoke"
    assert scale_of(replace(found.spec, start="gelu", seed=3)) == "smoke"
    assert scale_of(of_sequences("memorize", "laptop").search()) == "laptop"
    for name in ("moby_dick words", "moby dick"):
        with pytest.raises(ArgumentError, match=f"unknown task '{name}'.*a text \\('shakespeare'"):
            lab.train(name, seeds=1, scale="smoke", progress=False)
    with pytest.raises(ArgumentError, match="by='episodes': moby_dick char is searched by two_loss"):
        lab.search("moby_dick", scale="smoke", by="episodes", progress=False)
