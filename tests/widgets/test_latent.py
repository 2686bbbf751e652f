"""LatentExplorer: what it shows is what the probes say of the run's codes, and what the model answers."""

import json
import re
import time

import numpy as np
import pytest
import torch

import lab
from lab import probes
from lab.errors import ArgumentError, LabError
from lab.papers.codes import SEED, SHUFFLES, fresh
from lab.papers.hypernetwork import logic_codes
from lab.spec import replace
from lab.tasks.logic import TERMS, written
from lab.tasks.sraven import RULES
from lab.widgets import latent
from lab.widgets.latent import LatentExplorer
from lab.widgets.problems import problems_of

COUNT = 60


@pytest.fixture(scope="module")
def runs():
    return {task: lab.trained(task, "hyla", scale="smoke", progress=False) for task in ("sraven", "logic")}


@pytest.fixture(params=["sraven", "logic"])
def run(runs, request):
    return runs[request.param]


@pytest.fixture
def explorer(runs):
    return LatentExplorer(runs["sraven"], COUNT)


def shown(explorer):
    """The points of the map."""
    return np.array(explorer.map.points)


def select(explorer, which):
    """What the page does where a line is drawn around points."""
    explorer.map.selected = [int(one) for one in which]


def click(explorer, i):
    explorer.map.chosen = i


def settled(explorer):
    assert explorer.wait(60) and explorer.computing.value == "" and explorer.error.value == ""
    return explorer


def test_the_map_is_that_of_the_probe_on_unseen_combinations(run):
    explorer = LatentExplorer(run, COUNT)
    sample = fresh if run.spec.task_name == "sraven" else logic_codes.sample
    part = sample(run, "ood", COUNT)
    for layer, query, key in ((run.spec.model.layers, -1, -1), (2, -1, 3), (2, 5, 3)):
        last = len(explorer.problems.tokens)
        explorer.layer.value, explorer.query.value, explorer.key.value = layer, query % last, key % last
        settled(explorer)
        codes = probes.latent_codes(run.model(), part, layer - 1, query, key).codes
        found = probes.embed(codes, "tsne", SEED, float(explorer.perplexity.value))
        np.testing.assert_allclose(shown(explorer), found.points, rtol=1e-7)
        assert f"layer {layer}\ntrustworthiness {found.trustworthiness:.2f}" in explorer.map.title
        np.testing.assert_allclose(explorer.map.codes, codes, rtol=1e-7, atol=1e-12)
        json.dumps(explorer.map.data(), allow_nan=False)


def test_scores_are_those_of_figure_5f_and_2b(runs):
    explorer = settled(LatentExplorer(runs["sraven"], COUNT))
    parts = [fresh(runs["sraven"], split, COUNT) for split in ("test", "ood")]
    codes = np.concatenate([probes.latent_codes(runs["sraven"].model(), part).codes for part in parts])
    rules = np.concatenate([np.array(RULES)[part.latents["answer_rules"][:, -1]] for part in parts])
    groups = torch.cat([part.latents["rules"] for part in parts])
    found = probes.decode(
        codes, rules, groups, SEED, train=np.arange(2 * COUNT) < COUNT, shuffles=SHUFFLES, balanced=True
    )
    bar, chance, shuffled = explorer.bars.data
    assert list(bar.y) == found.classes.tolist()
    np.testing.assert_allclose(bar.x, 100 * np.nan_to_num(found.f1.value))
    np.testing.assert_allclose(chance.x, 100 * found.f1.chance)
    np.testing.assert_allclose(shuffled.x, 100 * found.f1.shuffled.mean(0))
    assert f"{100 * found.accuracy.value:.0f} % right" in explorer.bars.layout.title.text

    logic = LatentExplorer(runs["logic"], COUNT)
    assert list(logic.bars.data[0].y) == [written(term) for term in range(TERMS)]
    assert "mean F1" in logic.bars.layout.title.text


def test_answers_are_the_models_own(run):
    found = problems_of(run, COUNT)
    for part in (found.seen, found.unseen):
        with torch.no_grad():
            outputs = run.model()(part.inputs[None])[0]
        colours = found.colours(part, run.spec.task.positions[-1])
        if run.spec.task_name == "sraven":
            assert colours["prediction"].tolist() == outputs[:, -1].argmax(-1).tolist()
            right = outputs[:, -1].argmax(-1) == part.targets[:, -1]
            assert (colours["correctness"] == "right").tolist() == right.tolist()
        else:
            np.testing.assert_allclose(colours["prediction"], outputs[:, 0, 0], atol=1e-6)
            np.testing.assert_allclose(colours["error"], (outputs[:, 0, 0] - part.targets[:, 0]).abs(), atol=1e-6)
    pairs = {tuple(combination) for combination in found.groups(found.seen).tolist()}
    assert not pairs & {tuple(combination) for combination in found.groups(found.unseen).tolist()}


def test_every_answer_of_a_problem_has_its_own_rule_and_target(runs):
    found, task = problems_of(runs["sraven"], COUNT), runs["sraven"].spec.task
    part = found.unseen
    for place, token in enumerate(task.positions):
        colours = found.colours(part, token)
        assert colours["rule"].tolist() == [RULES[rule] for rule in part.latents["answer_rules"][:, place]]
        assert colours["target"].tolist() == part.targets[:, place].tolist()
        assert found.tokens[token] == f"answer {'AB'[place]}"
    assert found.place(0) == found.place(task.positions[-1]) and len(found.tokens) == task.length


def test_colours_follow_the_menu_and_the_rest_stays(explorer):
    points = shown(explorer)
    for name in explorer.colour.options:
        explorer.colour.value = name
        settled(explorer)
        values = explorer.problems.colours(explorer.problems.unseen, explorer.query.value)[name]
        shown_by = explorer.map.colourings[explorer.map.data()["colour"]]
        assert shown_by["name"] == name
        if values.dtype.kind == "U":
            assert shown_by["labels"] == values.tolist()
            named = list(shown_by["looks"])
            assert named == sorted(set(values), key=lambda label: (len(label), label))
            assert len({tuple(look) for look in shown_by["looks"].values()}) == len(named), "another look a label"
        else:
            assert shown_by["values"] == pytest.approx(values.tolist())
        assert f"Decoding the {name}" in explorer.bars.layout.title.text
    assert (shown(explorer) == points).all()


def test_what_is_known_is_drawn_within_a_tenth_of_a_second(explorer):
    for layer in (1, 2, 4):
        explorer.layer.value = layer
        settled(explorer)
    times = []
    for layer in (1, 2, 4) * 3:
        start = time.process_time()  # the machine of a test may be busy with other things
        explorer.layer.value = layer
        times.append(time.process_time() - start)
        assert f"layer {layer}" in explorer.map.title and explorer.wait(0)
    print(f"redraw {1000 * np.median(times):.0f} ms")
    assert np.median(times) < 0.1


def test_the_newest_wish_is_drawn_whatever_was_asked_in_between(explorer):
    for method, layer in (("tsne", 2), ("pca", 3), ("tsne", 1), ("pca", 2)):
        explorer.method.value, explorer.layer.value = method, layer
    settled(explorer)
    assert explorer.map.title.startswith("PCA of codes, layer 2") and explorer.perplexity.disabled
    codes = explorer.reading.codes((1, explorer.query.value, explorer.key.value))
    np.testing.assert_allclose(shown(explorer), probes.embed(codes, "pca").points, rtol=1e-6, atol=1e-9)


def test_a_click_shows_the_problem_and_its_code(run):
    explorer = LatentExplorer(run, COUNT)
    click(explorer, 17)
    part = explorer.problems.unseen
    assert "roblem 17" in explorer.problem.value or "unction 17" in explorer.problem.value
    kinds = np.array(explorer.map.kinds)
    if run.spec.task_name == "sraven":
        for rule in part.latents["answer_rules"][17].tolist():
            assert RULES[rule] in explorer.problem.value and RULES[rule] in explorer.map.texts[17]
        same = part.latents["answer_rules"][:, -1] == part.latents["answer_rules"][17, -1]
        np.testing.assert_array_equal(kinds == kinds[17], same)
        assert explorer.problem.value.count("<svg") == 1
    else:
        assert run.spec.task.formula(part.latents["terms"][17]) in explorer.problem.value
        assert f"it is {part.targets[17, 0].item():.2f}" in explorer.problem.value


def test_two_clusters_are_compared_and_stay_chosen_in_other_layers(explorer):
    values = explorer.problems.colours(explorer.problems.unseen, explorer.query.value)["rule"]
    names = [name for name in RULES if (values == name).sum() >= 8][:2]
    a, b = (np.flatnonzero(values == name) for name in names)
    select(explorer, a)
    explorer.groups.take["A"].click()
    said = explorer.groups.difference.value
    assert f"A has {len(a)} problems" in said and "around another" in said
    select(explorer, b)
    explorer.groups.take["B"].click()
    said = explorer.groups.difference.value
    assert re.search(rf"separates them: <b>({re.escape(names[0])}|{re.escape(names[1])})</b>", said)
    assert "100 %" in said and explorer.error.value == ""
    assert re.search(r"\d+ of 20 pairs of other regions", said) and re.search(
        r"the other regions in \d+ to \d+ %", said
    )
    assert explorer.map.a == a.tolist() and explorer.map.b == b.tolist() and explorer.map.selected == []
    explorer.layer.value = 2
    settled(explorer)
    assert explorer.map.a == a.tolist()
    assert "codes in layer 2" in explorer.groups.difference.value
    explorer.groups.clear.click()
    assert explorer.map.a == explorer.map.b == [] and "Draw a line" in explorer.groups.difference.value


def test_a_selection_is_taken_once(explorer):
    select(explorer, range(20))
    explorer.groups.take["A"].click()
    select(explorer, range(20, 60))
    explorer.groups.take["B"].click()
    assert "A has 20 problems, B 40" in explorer.groups.difference.value
    explorer.groups.take["A"].click()
    assert "nothing is selected" in explorer.error.value


def test_too_little_is_said_in_the_explorer(explorer):
    explorer.groups.take["A"].click()
    assert "nothing is selected" in explorer.error.value
    for name, which in {"A": range(5), "B": range(5, 40)}.items():
        select(explorer, which)
        explorer.groups.take[name].click()
    assert "A has 5 examples and B 35" in explorer.error.value
    select(explorer, range(40, 60))
    explorer.groups.take["A"].click()
    assert explorer.error.value == "" and "A has 20 problems" in explorer.groups.difference.value


def test_where_all_codes_are_the_same_it_is_said(runs):
    """The first layer of HYLA: a query is zero, and its score with itself knows nothing of the problem."""
    explorer = LatentExplorer(runs["sraven"], COUNT)
    explorer.layer.value = 1
    settled(explorer)
    assert "all problems have one code" in explorer.map.title
    assert "one code" in explorer.bars.layout.annotations[0].text and len(explorer.bars.data[0].x) == 0


def test_what_cannot_be_computed_is_shown_and_the_rest_goes_on(explorer, monkeypatch):
    def fails(*arguments):
        raise LabError("the machine is out of ideas")

    with monkeypatch.context() as patch:
        patch.setattr("lab.widgets.problems.embedding", fails)
        explorer.layer.value = 2
        assert explorer.wait(60)
        assert "out of ideas" in explorer.error.value and explorer.computing.value == ""
    explorer.layer.value = 3
    settled(explorer)
    assert "layer 3" in explorer.map.title


def test_explore_takes_a_run_and_other_runs_are_refused(runs):
    explorer = lab.explore(runs["logic"], scale="smoke")
    assert isinstance(explorer, LatentExplorer) and len(shown(explorer)) == latent.FEW
    other = lab.train("memorize", seeds=1, scale="smoke", progress=False)[0]
    with pytest.raises(ArgumentError, match="lab.trained"):
        LatentExplorer(other)
    with pytest.raises(ArgumentError, match="examples=3"):
        LatentExplorer(runs["logic"], 3)
    broken = replace(runs["logic"].spec, recipe=replace(runs["logic"].spec.recipe, rate=1e30))
    lab.run.complete([broken], runs["logic"].store, progress=False)
    with pytest.raises(ArgumentError, match="diverged at step"):
        LatentExplorer(lab.Run(broken, runs["logic"].store))
