"""Language models that come with the lab: their weights give the losses that the shipped figures have."""

import re

import pytest
import torch

from lab import kinds
from lab.catalogue import build
from lab.catalogue.build import entry
from lab.catalogue.shipped import shipped_results
from lab.errors import ArgumentError
from lab.places import SHIPPED
from lab.run import Run
from lab.spec import from_json, key, needs
from lab.store import Store
from lab.tasks import Text

FIGURES = {
    "transformers/fig15": {"task": "shakespeare char"},
    "hypernetwork/fig6": {},
    "activations/table1": {"family": "gpt_neo", "method": ("relu", "gelu", "learnable_gelu")},
}


def models_of(name, scale, **asked):
    return entry(name, scale).runs(**asked)


WRONG = [
    ("hypernetwork/fig6", {"task": "shakespeare"}, "task='shakespeare': there are shakespeare char"),
    ("hypernetwork/fig6", {"family": "gpt_neo"}, "label='family': the figure's runs have task, method"),
    ("hypernetwork/fig6", {"by": "kind"}, "by='kind': the figure's runs have task, method"),
    ("hypernetwork/fig6", {"scale": "tiny"}, "unknown scale 'tiny'; known: smoke, laptop, paper"),
    ("activations/table1", {}, "several runs are ReLU: choose one task, as task='shakespeare char'"),
    ("transformers/fig15", {}, "several runs are baseline: choose one task, as task='shakespeare char'"),
]


def shipped(name):
    return models_of(name, "laptop", **FIGURES[name])


@pytest.fixture
def nothing_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    yield
    assert not (tmp_path / "empty").exists(), "all of them come with the lab"


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.usefixtures("nothing_trained")
def test_shipped_weights_give_the_loss_that_the_figure_has(name):
    found = []
    for run in shipped(name).values():
        scores = kinds.training_data(run.spec.task, [run.spec], torch.device("cpu")).scores(run.model())
        found.append(float(scores["loss_test"][0]))
        assert found[-1] == pytest.approx(run.scores["loss_test"][-1], rel=1e-4)
    here = shipped_results(name, "laptop")
    if here.facts:
        table = here.table()
        last = table[(table["seed"] == 0) & (table["step"] == table["step"].max() if "step" in table else True)]
        for label, wanted in FIGURES[name].items():
            last = last[last[label].isin([wanted] if isinstance(wanted, str) else wanted)]
        assert sorted(found) == pytest.approx(sorted(last["loss"]), rel=1e-4)
    assert max(found) < 2.7, "nats a character; one that knows how frequent characters are has above 3"


@pytest.mark.usefixtures("nothing_trained")
def test_every_language_model_that_is_shipped_is_of_a_figure_and_has_its_function():
    offered = {run.key for name in FIGURES for run in shipped(name).values()}
    store = Store(SHIPPED)
    specs = [from_json((folder / "spec.json").read_text()) for folder in SHIPPED.glob("runs/*")]
    texts = [spec for spec in specs if isinstance(spec.task, Text)]
    assert {key(spec) for spec in texts} == offered
    searches = {key(search) for spec in specs for search in needs(spec)}
    assert {folder.name for folder in SHIPPED.glob("searches/*")} >= searches
    assert all(Run(spec, store).diverged is None for spec in texts)


@pytest.mark.usefixtures("nothing_trained")
@pytest.mark.parametrize(("name", "asked", "said"), WRONG)
def test_a_wrong_label_is_named_before_anything_is_trained(name, asked, said):
    with pytest.raises(ArgumentError, match=f"^{re.escape(said)}"):
        models_of(name, **{"scale": "laptop"} | asked)


def test_what_has_to_be_trained_is_announced(store_folder, monkeypatch, capsys):
    monkeypatch.setattr(build, "LONG", 0.0)
    runs = models_of("hypernetwork/fig6", "smoke", method="linear")
    said = capsys.readouterr().err
    assert "hypernetwork/fig6, scale smoke: 1 of 6 runs have to be trained" in said
    assert runs["linear attention"].diverged is None
    models_of("hypernetwork/fig6", "smoke", method="linear")
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("nothing_trained")
def test_what_the_store_has_goes_before_what_came_with_the_lab(tmp_path, monkeypatch):
    name = "hypernetwork/fig6"
    mine = Store(tmp_path / "mine")
    lent = shipped(name)["HYLA"]
    Store(SHIPPED).export(lent.key, mine.folder)
    monkeypatch.setenv("LAB_STORE", str(mine.folder))
    places = {label: run.store.folder for label, run in shipped(name).items()}
    assert places == {"softmax attention": SHIPPED, "linear attention": SHIPPED, "HYLA": mine.folder}
    assert list(models_of(name, "laptop", method="linear")) == ["linear attention"]
