"""What figures read from the codes of trained models: the models' own scores, on unseen combinations, with controls."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from lab.errors import LabError
from lab.figures import build
from lab.figures.build import figure
from lab.figures.fuzzy_codes import HELD_OUT, TERMS, plan, sample, which_terms
from lab.figures.provenance import check
from lab.figures.read import living
from lab.figures.registry import entry
from lab.run import Run
from lab.scale import SCALES
from lab.store import Store

FUZZY = [f"hypernetwork/{name}" for name in ("fig2b", "fig2d", "figA2")]


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in FUZZY}


def runs_of(name, scale="smoke", seeds=None):
    found = entry(name)
    return [(labels, Run(spec, Store())) for labels, spec in found.plan(scale, seeds or found.seeds[scale])]


@pytest.mark.parametrize("scale", SCALES)
def test_codes_are_those_of_runs_that_figure_2c_trains(scale):
    known = {spec for _, spec in entry("hypernetwork/fig2c").plan(scale, 3)}
    mine = {spec for _, spec in plan(scale, 3)}
    assert mine < known and {spec.task.held_out for spec in mine} == {HELD_OUT}
    assert len({spec.task.length for spec in mine}) == 1
    assert all({spec for _, spec in entry(name).plan(scale, 3)} == mine for name in FUZZY)


def test_decoders_are_tested_on_functions_that_no_training_saw(made):
    _, run = runs_of("hypernetwork/fig2b")[0]
    seen, unseen = (sample(run, split, 500) for split in ("test", "ood"))
    functions = [set(part.latents["function"].tolist()) for part in (seen, unseen)]
    assert not functions[0] & functions[1]
    assert functions[0] == set(run.spec.task.rank(run.spec.task.functions("train", run.spec.seed)).tolist())
    marks = which_terms(unseen)
    assert marks.shape == (500, TERMS) and (marks.sum(1) == 2).all() and which_terms(seen).any(0).all()
    for part in (seen, unseen):
        assert (part.inputs[0, :-1, :-1] == part.inputs[:, :-1, :-1]).all(), "the context is the same for all"
    assert len(unseen.inputs[:, -1, :-1].unique(dim=0)) == 500, "the query is not"


def test_a_decoder_of_a_model_that_writes_the_terms_into_its_scores_reads_them():
    """The whole way of figure 2B, with a model whose 12 heads say the term: F1 of 1, shuffled labels far below."""
    from lab.figures.fuzzy_codes import written
    from lab.figures.read import decoded

    run = runs_of("hypernetwork/fig2b")[0][1]

    class Planted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.terms = []

        def attention_scores(self, inputs, normalized=True):
            marks = torch.zeros(inputs.shape[1], TERMS)
            for number, terms in enumerate(self.terms[: inputs.shape[1]]):
                marks[number, terms] = 1.0
            self.terms = self.terms[inputs.shape[1] :]
            length = inputs.shape[2]
            return [marks[None, :, :, None, None].expand(1, -1, -1, length, length)]

    class Told(Run):
        def model(self):
            return planted

    planted = Planted()

    def planting(run, split, count):
        examples = sample(run, split, count)
        planted.terms += examples.latents["terms"].tolist()
        return examples

    table = decoded([({"method": "softmax"}, Told(run.spec, run.store))], 400, planting, which_terms, "terms", written)
    present = table[table["value"].notna()]
    assert (present["value"] == 1).all() and len(present) >= TERMS - 1 and set(table["layer"]) == {0}
    assert present["shuffled"].mean() < 0.5 and (present["chance"] < 0.6).all()


def test_maps_have_every_example_once_in_each_colouring(made):
    table = made["hypernetwork/figA2"].table
    groups = table.groupby(["method", "layer", "colouring"], sort=False)
    assert set(groups.size()) == {60} and len(groups) == 3 * 2 * 4
    for _, rows in table.groupby(["method", "layer"]):
        points = [part[["x", "y"]].to_numpy() for _, part in rows.groupby("colouring")]
        assert all(np.array_equal(points[0], other) for other in points[1:])
    labels, run = runs_of("hypernetwork/figA2")[1]
    examples = sample(run, "ood", 60)
    own = table[(table["method"] == labels["method"]) & (table["layer"] == 1)]
    target = own.loc[own["colouring"] == "target", "value"].to_numpy()
    np.testing.assert_allclose(target, examples.targets[:, 0].numpy(), atol=1e-4)
    first = own.loc[own["colouring"] == "term 1", "label"].tolist()
    signs = [f"{terms[0]:04b}".replace("1", "+").replace("0", "−") for terms in examples.latents["terms"].tolist()]
    assert first == signs
    assert set(made["hypernetwork/fig2d"].table["layer"]) == {1}, "the last layer alone"


@pytest.mark.parametrize("name", FUZZY)
def test_captions_provenance_and_what_is_shipped(made, name, tmp_path, monkeypatch):
    one = made[name]
    check(one.provenance)
    assert set(one.provenance["runs"]) == {run.key for _, run in runs_of(name)}
    for word in ("Probes looked at", "70 % of the functions held out", "Steps: logic 6", one.summary):
        assert word in one.caption
    assert not re.search(r"\bnan\b", one.full_caption)
    monkeypatch.setattr(build, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    one.write(tmp_path / "results" / name / "smoke", images=False, page=False)
    read = figure(name, "smoke", progress=False)
    assert not Store().folder.exists(), "drawn from the table alone"
    assert read.plot.layout == one.plot.layout and len(read.plot.data) == len(one.plot.data)
    pd.testing.assert_frame_equal(read.table, one.table, check_dtype=False)


def test_runs_that_diverged_are_left_out_and_none_left_is_said():
    class Lost(Run):
        diverged = (3, float("nan"))

    (labels, run), *others = runs_of("hypernetwork/fig2b")
    lost = Lost(run.spec, run.store)
    assert living([(labels, lost), *others]) == others
    with pytest.raises(LabError, match="every run diverged"):
        living([(labels, lost)])
