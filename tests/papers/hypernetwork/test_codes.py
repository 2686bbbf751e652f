"""What figures read from the codes of trained models: the models' own scores, on unseen combinations, with controls."""

import re

import numpy as np
import pytest
import torch

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.errors import LabError
from lab.papers.codes import converged, decoded, fresh
from lab.papers.hypernetwork.logic_codes import plan, sample
from lab.papers.hypernetwork.settings import READ_HELD_OUT
from lab.run import Run
from lab.scale import SCALES
from lab.store import Store
from lab.tasks.logic import TERMS, which_terms, written
from lab.tasks.sraven import RULES
from tests.papers.hypernetwork.planted import decoders, maps, similarities

RAVEN = [f"hypernetwork/{name}" for name in ("fig5a", "fig5b", "fig5e", "fig5f", "figA6", "figA8")]
FUZZY = [f"hypernetwork/{name}" for name in ("fig2b", "fig2d", "figA2")]


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in FUZZY + RAVEN}


def runs_of(name, scale="smoke", seeds=None):
    found = entry(name)
    return [(labels, Run(spec, Store())) for labels, spec in found.plan(scale, seeds or found.seeds[scale])]


@pytest.mark.parametrize("scale", SCALES)
def test_codes_are_those_of_runs_that_figure_2c_trains(scale):
    known = {spec for _, spec in entry("hypernetwork/fig2c").plan(scale, 3)}
    mine = {spec for _, spec in plan(scale, 3)}
    assert mine < known and {spec.task.held_out for spec in mine} == {READ_HELD_OUT}
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
        assert (part.inputs[0, -1, :-1] == part.inputs[:, -1, :-1]).all(), "the query is the same for all"
    assert len(unseen.inputs[:, 0, :-1].unique(dim=0)) == 500, "the context is not"
    other = sample(run, "ood", 500, varied="query")
    assert (other.inputs[0, :-1, :-1] == other.inputs[:, :-1, :-1]).all(), "as the paper's text has it"
    assert len(other.inputs[:, -1, :-1].unique(dim=0)) == 500


def test_a_decoder_of_a_model_that_writes_the_terms_into_its_scores_reads_them():
    """The whole way of figure 2B, with a model whose 12 heads say the term: F1 of 1, shuffled labels far below."""
    run = runs_of("hypernetwork/fig2b")[0][1]

    class Planted(torch.nn.Module):
        runs = 1

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.terms = {}  # by the numbers of an example

        def attention_scores(self, inputs, normalized=True):
            marks = torch.zeros(inputs.shape[1], TERMS)
            for number, example in enumerate(inputs[0]):
                marks[number, self.terms[example.numpy().tobytes()]] = 1.0
            length = inputs.shape[2]
            return [marks[None, :, :, None, None].expand(1, -1, -1, length, length)]

    class Told(Run):
        def model(self):
            return planted

    planted = Planted()

    def planting(run, split, count):
        examples = sample(run, split, count)
        terms = examples.latents["terms"].tolist()
        planted.terms |= {
            one.numpy().tobytes(): two for one, two in zip(examples.inputs.flatten(0, -3), terms, strict=True)
        }
        return examples

    table = decoded([({"method": "softmax"}, Told(run.spec, run.store))], 400, planting, which_terms, "terms", written)
    present = table[table["value"].notna()]
    assert (present["value"] == 1).all() and len(present) >= TERMS - 1 and set(table["layer"]) == {0}
    assert present["shuffled"].mean() < 0.5 and (present["chance"] < 0.6).all()


def test_methods_whose_terms_are_surely_decoded_are_counted():
    summary, table = entry("hypernetwork/fig2b").summary, decoders(True)
    low = table["varied"].eq("query") | (table["method"] == "hyla")
    some = table.assign(value=table["value"].where(~low, 0.3))
    words = summary(some)
    assert (
        "where contexts differ and the query does not (surely more: 2 of 3 methods)" in words
        and "way (surely more: 0 of 3" in words
    )
    assert "surely" not in summary(some[some["seed"] == 0]), "one seed has no interval"


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


@pytest.mark.parametrize("name", FUZZY + RAVEN)
def test_captions_provenance_and_what_is_shipped(made, name, tmp_path, monkeypatch):
    one = made[name]
    check(one.provenance)
    assert set(one.provenance["runs"]) == {run.key for _, run in runs_of(name)}
    said = "70 % of the functions held out" if name in FUZZY else "codes of the last query attending to itself"
    for word in ("Probes looked at", said, f"Steps: {'logic' if name in FUZZY else 'sraven'} 6", one.summary):
        assert word in one.caption
    assert not re.search(r"\bnan\b", one.full_caption)
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", tmp_path / "results")
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    one.write(tmp_path / "results" / name / "smoke", images=False, page=False)
    read = figure(name, "smoke", progress=False)
    assert not Store().folder.exists(), "drawn from the table alone"
    assert read.plot.layout == one.plot.layout and len(read.plot.data) == len(one.plot.data)
    assert read.table.to_csv() == one.table.to_csv()


# SRAVEN.


@pytest.mark.parametrize("scale", SCALES)
def test_all_of_section_4_reads_the_runs_of_figure_4(scale):
    known = {spec for _, spec in entry("hypernetwork/fig4a").plan(scale, 3)}
    for name in RAVEN:
        planned = entry(name).plan(scale, 3)
        assert {spec for _, spec in planned} <= known
        most = {labels["problems"] for labels, _ in planned}
        assert most == {max(labels["problems"] for labels, _ in entry("hypernetwork/fig4a").plan(scale, 1))}
        for labels, spec in planned:
            assert labels["problems"] == spec.recipe.steps * spec.recipe.batch and "val" in spec.evaluate


def own_codes(run, split, count):
    """Scores of the last layer, read off the model itself, and the rule that the last answer follows."""
    examples = fresh(run, split, count)
    with torch.no_grad():
        scores = run.model().attention_scores(examples.inputs[None])[-1][0, :, :, -1, -1]
    last = examples.latents["permutations"][:, -1, -1]
    rule = examples.latents["rules"].gather(1, last[:, None])[:, 0]
    return scores.numpy(), np.array(RULES)[rule.numpy()]


def test_similarities_are_those_of_mean_codes(made):
    table, (labels, run) = made["hypernetwork/fig5e"].table, runs_of("hypernetwork/fig5e")[-1]
    codes, rule = own_codes(run, "ood", 200)
    own = table[(table["method"] == labels["method"]) & (table["seed"] == run.spec.seed)]
    for row in own.itertuples():
        a, b = (codes[rule == name].mean(0) for name in (row.a, row.b))
        assert row.similarity == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-4)
    assert list(dict.fromkeys(own["a"])) == [name for name in RULES if name in rule]
    assert list(dict.fromkeys(table["a"])) == [name for name in RULES if name in set(table["a"])]


def test_codes_are_drawn_as_they_are(made):
    table, (labels, run) = made["hypernetwork/figA8"].table, runs_of("hypernetwork/figA8")[0]
    codes, rule = own_codes(run, "ood", 200)
    own = table[table["method"] == labels["method"]]
    for kind, each in (("sample", 5), ("mean", 1)):
        rows = own[own["kind"] == kind].pivot(index=["row", "label"], columns="head", values="value")
        for name in set(rule):
            found = rows.xs(name, level="label").to_numpy()
            wanted = codes[rule == name][:each] if kind == "sample" else codes[rule == name].mean(0)[None]
            np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_rules_are_decoded_on_combinations_that_training_did_not_see(made):
    table = made["hypernetwork/fig5f"].table
    assert set(table["layer"]) == {0, 1, 2, 3} and len(table) == 3 * 2 * 4
    run = runs_of("hypernetwork/fig5f")[0][1]
    seen, unseen = (set(fresh(run, split, 500).latents["combination"].tolist()) for split in ("test", "ood"))
    assert not seen & unseen and len(unseen) == 9
    _, rule = own_codes(run, "ood", 200)
    most = np.unique(rule, return_counts=True)[1].max() / 200
    own = table[(table["method"] == "softmax") & (table["seed"] == 0)]
    assert own["chance"].tolist() == [pytest.approx(most)] * 4


def test_maps_are_judged_where_they_can_be_compared_alone():
    """Over layers and over methods, if there are several; what the target explains is said in numbers."""
    said = {name: entry(f"hypernetwork/{name}").summary for name in ("fig5a", "fig5b", "figA6")}
    table = maps(True)
    rule, target = "rule in 0 of 3 (not surely; paper: more)", "target in 0 of 3 (surely)"
    assert f"more neighbours share the {rule}, the {target}. " in said["figA6"](table)
    for layers in ([3], [2, 3]):
        assert said["figA6"](table[table["layer"].isin(layers)]).startswith("Alike in the last layer")
    one = table[table["method"] == "hyla"]
    assert "target in 0 of 1 (not surely)" in said["figA6"](one)
    alike = [said["fig5b"](one), words := said["fig5a"](maps(False))]
    assert all(text.startswith("Alike in the last layer") for text in alike) and "target 1.00, 1.00, 1.00" in words


def test_the_rank_of_addition_and_subtraction_is_said_of_methods_that_have_both():
    summary, table = entry("hypernetwork/fig5e").summary, similarities(False)
    lacks = (table["method"] == "softmax") & (table[["a", "b"]] == "addition").any(axis=1)
    words = summary(table[~lacks])
    assert re.search(r"softmax attention – \(–; 0.\d\d\), HYLA 28 of 28 \(", words) and "among the 28" not in words


def test_a_layer_whose_codes_are_all_one_has_a_point_and_no_trust(made):
    """Queries of SRAVEN are zero, so without softmax the first layer's score of one with itself is the same in all."""
    table = made["hypernetwork/figA6"].table
    for (method, layer), rows in table.groupby(["method", "layer"]):
        single = layer == 0 and method != "softmax"
        assert rows["trustworthiness"].isna().all() == single and (rows["x"].nunique() == 1) == single


def test_accuracies_are_those_of_the_stored_run():
    one = figure("hypernetwork/fig4a", "smoke", progress=False)
    for (labels, run), (_, row) in zip(runs_of("hypernetwork/fig4a"), one.table.iterrows(), strict=True):
        assert (row["method"], row["problems"], row["seed"]) == (labels["method"], labels["problems"], run.spec.seed)
        assert row["accuracy_ood"] == run.score("accuracy", "ood")[-1] and row["chosen"]
    lines = {trace.name: trace for trace in one.plot.data}
    for method, name in (("softmax", "softmax attention"), ("hyla", "HYLA")):
        for split, end in (("ood", ""), ("test", ", seen combinations")):
            own = one.table.loc[one.table["method"] == method, f"accuracy_{split}"]
            assert lines[name + end].y[0] == pytest.approx(100 * own.mean())
    assert "unseen combinations" in one.plot.layout.meta["reading"] and "768" not in one.caption


def test_runs_that_diverged_are_left_out_and_none_left_is_said():
    class Lost(Run):
        diverged = (3, float("nan"))

    (labels, run), *others = runs_of("hypernetwork/fig2b")
    lost = Lost(run.spec, run.store)
    assert converged([(labels, lost), *others]) == others
    with pytest.raises(LabError, match="every run diverged"):
        converged([(labels, lost)])
