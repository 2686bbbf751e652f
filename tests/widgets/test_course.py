"""Sliders over checkpoints, and things side by side: each place shows what the lab gives for that step."""

import json
import re

import numpy as np
import pytest
import torch

import lab
from lab import probes
from lab.errors import ArgumentError
from lab.probes import codes_by_layer
from lab.tasks import Logic
from lab.widgets.course import few, latest
from lab.widgets.latent import LatentExplorer
from lab.widgets.pages import short
from lab.widgets.pair import PairExplorer
from lab.widgets.slices import SliceExplorer
from tests.widgets.node import needs_node, node

pytestmark = pytest.mark.usefixtures("own_store")
SMOKE = {"scale": "smoke", "progress": False}


@pytest.fixture(scope="module")
def search(own_store):
    return lab.search("memorize", **SMOKE, keep=4)


@pytest.fixture(scope="module")
def tables(own_store):
    return {
        phi: lab.train("ab mod 5", mlp=phi, seeds=1, **SMOKE, keep=keep)[0] for phi, keep in (("relu", 4), ("gelu", 3))
    }


@pytest.fixture(scope="module")
def logic(own_store):
    return {name: lab.train(Logic(), attention=name, seeds=1, **SMOKE, keep=3)[0] for name in ("hyla", "softmax")}


@pytest.fixture(scope="module")
def lands(tables):
    return {name: landscape(run) for name, run in tables.items()}


def landscape(run):
    rows = run.spec.task.split()["train"]
    loss = probes.Loss(rows.inputs, rows.targets)
    return probes.landscape(run.model(), {"loss": loss}, "random", run.trajectory, grid=3, seed=run.spec.seed)


def state_of(page):
    return json.loads(re.search(r'<script[^>]*id="lab-state"[^>]*>(.*?)</script>', page, re.S)[1])["state"]


def test_runs_with_checkpoints_are_curves_where_a_scale_is_given(tables):
    """Whether a store has checkpoints of a run does not decide which arguments it may be explored with."""
    assert type(lab.explore(tables["relu"])) is not type(lab.explore(tables["relu"], scale="smoke"))
    with pytest.raises(ArgumentError, match="inputs= is for a model"):
        lab.explore(tables["relu"], inputs=[[1.0]])


def test_a_search_is_shown_as_it_was_after_each_step(search):
    explorer = lab.explore(search)
    name = explorer.function.value
    assert explorer.step.steps == search.checkpoints.tolist() and explorer.step.value == search.checkpoints[-1]
    assert explorer.step.play.value == explorer.step.index, "the page begins with what the button has"
    for step in search.checkpoints.tolist():
        explorer.step.value = step
        assert torch.equal(explorer.spline.values, search.at(step)["mlp"].values)
    assert state_of(explorer.page())["course"][name]["values"][-1] == short(search.spline.values, 5)
    assert explorer.error.value == "" and lab.explore(search, state=explorer.state).step.value == step


def test_functions_by_name_stand_over_each_other_with_one_slider(search):
    explorer = lab.explore({"GELU": "gelu", "learned": search, "zoo": "transformers/memorize"})
    assert explorer.function.value == "learned" and explorer.others.value == ("GELU", "zoo")
    assert list(explorer.view.course) == ["learned"], "the others have none"
    assert explorer.others.options.count("GELU") == 1
    shown = explorer.view.data()
    assert [shown["functions"][place]["name"] for place in shown["compared"]] == ["GELU", "zoo"]
    assert shown["functions"][shown["first"] + shown["function"]]["name"] == "learned"


def test_a_function_that_learns_with_its_weights_has_a_slider(own_store):
    run = lab.train("memorize", mlp="prelu", seeds=1, **SMOKE, keep=3)[0]
    explorer, slope = lab.explore(run), run.model(2).blocks[0].phi.slope.item()
    explorer.step.value = 2
    assert explorer.spline(torch.tensor([-2.0])).item() == pytest.approx(-2 * slope, rel=1e-5) and slope != 0.25


def test_slices_of_runs_are_those_of_their_checkpoints_on_one_scale(tables):
    explorer = lab.explore(tables)
    assert type(explorer) is SliceExplorer and explorer.view.common
    assert explorer.step.steps == sorted({s for run in tables.values() for s in run.checkpoints.tolist()})
    for step in explorer.step.steps:
        explorer.step.value = step
        for name, run in tables.items():
            before = run.checkpoints[latest(run.checkpoints.tolist(), step)]
            model = probes.function_of(run.model(int(before)))
            point = run.spec.task.split()["train"].inputs[0]
            wanted = probes.slice_2d(model, point, (0, 1), 60, explorer._bounds).values
            np.testing.assert_allclose(explorer.slice(name).values, wanted, atol=1e-6)
    assert explorer.error.value == "" and type(lab.explore(tables["relu"])) is SliceExplorer


def test_codes_of_all_checkpoints_are_on_one_map_on_which_points_move(logic):
    explorer = LatentExplorer(logic["hyla"], 40)
    explorer.wait()
    course, place = explorer.map.course, explorer._place()
    assert course["steps"] == logic["hyla"].checkpoints.tolist() == explorer.step.steps
    codes, points = np.array(course["codes"]), np.array(course["points"])
    for number, step in enumerate(course["steps"]):
        found = codes_by_layer(logic["hyla"].model(step), explorer.problems.unseen, *place[1:])[place[0]].codes
        np.testing.assert_allclose(codes[number], found, rtol=1e-3, atol=1e-4)
    flat = np.concatenate([codes.reshape(-1, codes.shape[-1]), np.ones((points[..., 0].size, 1))], 1)
    map_ = np.linalg.lstsq(flat, points.reshape(-1, 2), rcond=None)[0]
    np.testing.assert_allclose(flat @ map_, points.reshape(-1, 2), atol=1e-2 * np.ptp(points))  # of all steps the same
    assert len(explorer.map.title) and explorer.error.value == ""


def test_the_slider_of_a_landscape_moves_the_point_along_the_training(lands, tables):
    explorer = lab.explore(lands["relu"])
    assert explorer.checkpoint.steps == tables["relu"].checkpoints.tolist()
    explorer.checkpoint.value = 1
    place = tables["relu"].checkpoints.tolist().index(1)
    assert explorer.point == pytest.approx(lands["relu"].trajectory[place], abs=(explorer.x.step + explorer.y.step))


def test_two_maps_are_of_the_same_problems_and_obey_the_same_controls(logic):
    pair = PairExplorer(logic, lambda run: LatentExplorer(run, 40))
    pair.wait()
    one, other = pair.both
    assert one.map.texts[3].partition("the model")[0] == other.map.texts[3].partition("the model")[0]
    one.colour.index, one.map.chosen, other.step.index = 1, 7, 0
    assert (other.colour.index, other.map.chosen, one.step.index) == (1, 7, 0)
    saved = state_of(pair.page())
    assert saved["points"] != saved["second"]["state"]["points"] and saved["second"]["names"] == ["hyla", "softmax"]
    assert {"colour", "step", "chosen"} <= {*saved["second"]["linked"]}


def test_two_landscapes_have_one_frame_and_one_scale(lands):
    pair = lab.explore(lands)
    views = pair.views
    for number, axis in enumerate("xy"):
        every = np.concatenate([getattr(land, axis) for land in lands.values()])
        assert views[0].frame[number] == views[1].frame[number] == [every.min(), every.max()]
    every = np.stack([land.values["loss"] for land in lands.values()])
    shades = [every.min(), every.max(), every.min()]  # the third is the first that has a logarithm
    assert views[0].ranges == views[1].ranges == {"loss": pytest.approx(shades)}
    pair.both[0].checkpoint.index = 0
    assert pair.both[1].checkpoint.index == 0
    np.testing.assert_allclose(pair.both[1].point, lands["gelu"].trajectory[0], atol=0.1)


def test_numbers_that_have_no_logarithm_leave_landscapes_their_shades_and_words_are_said_once():
    model = torch.nn.Linear(2, 1)
    measure = {"size": lambda one: float(torch.relu(one.weight.norm() - model.weight.norm()))}
    pair = lab.explore({r: probes.landscape(model, measure, "random", grid=3, radius=r) for r in (1, 2)})
    low, high, least = pair.views[0].ranges["size"]
    assert low == 0 < least < high
    assert " ." not in re.sub("<[^>]*>", "", pair.content().words)


def test_models_stand_side_by_side_on_the_same_inputs(tables):
    x = torch.rand(30, 2)
    models = {name: torch.nn.Sequential(torch.nn.Linear(2, 4), phi(), torch.nn.Linear(4, 1)) for name, phi in
              (("GELU", torch.nn.GELU), ("ReLU", torch.nn.ReLU))}  # fmt: skip
    pair = lab.explore(models, inputs=x)
    pair.both[0].view.value = "slice"
    assert pair.both[1].view.value == "slice" and len(pair._parts()) > 2


def test_what_does_not_go_together_is_said_in_one_line(search, tables, logic, lands):
    runs, land = list(tables.values()), list(lands.values())
    other = probes.landscape(
        runs[0].model(), {"size": lambda model: model.layers[0].weight.sum((1, 2))}, "random", grid=2
    )
    cases = {
        "give two things of one kind": {"a": search, "b": runs[0]},
        "3 things by name: two stand side by side": dict(zip("abc", [*land, other], strict=True)),
        "other measures, loss and size": {"a": land[0], "b": other},
        "1 things by name": {"a": land[0]},
        "no problems in common": {"a": logic["hyla"], "b": lab.train(Logic(variables=3), seeds=1, **SMOKE)[0]},
        "several tables": {"a": runs[0], "b": lab.train("ab mod 7", seeds=1, **SMOKE, keep=3)[0]},
        "TrainingExplorer cannot be shown by name": {"a": "memorize", "b": "copy"},
    }
    for said, given in cases.items():
        with pytest.raises(ArgumentError, match=said) as refused:
            lab.explore(given)
        assert "\n" not in str(refused.value)


def test_a_page_holds_no_more_than_it_can():
    assert few(20, 10**6) == [0, 19] and few(20, 20_000) == list(range(20)) and few(1, 5) == [0]
    assert short(np.array([[1.234567, np.nan]]), 5) == [[1.2346, None]]


@needs_node
def test_the_page_finds_the_checkpoints_that_python_finds():
    cases = [[[0, 3, 9], 5], [[2, 3], 0], [[0], 7], [[0, 1, 2], 2]]
    script = 'import { latest } from "./grid.js"; console.log(JSON.stringify(cases.map((one) => latest(...one))));'
    assert node(script, cases) == [latest(*case) for case in cases]
