"""What is seen can be given back: another explorer with that state shows the same, and a bad state changes nothing."""

import json

import numpy as np
import pytest
import torch

import lab
from lab.catalogue import build
from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.tasks import Logic, Operation, Sraven
from lab.widgets.compatibility import CompatibilityExplorer
from lab.widgets.grokking import GrokkingExplorer
from lab.widgets.landscape import LandscapeExplorer
from lab.widgets.latent import LatentExplorer
from lab.widgets.logic import LogicExplorer
from lab.widgets.model import ModelExplorer
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import SplineExplorer
from lab.widgets.sraven import SravenExplorer
from lab.widgets.training import TrainingExplorer
from tests.widgets.landscapes import found


def spline(explorer):
    explorer.zoom.value, explorer.slope.value, explorer.others.value = 3.0, True, ("ReLU",)
    explorer.random.value = explorer.edit.value = True
    explorer.editing.edits.smooth.index = 5
    explorer.editing.mirror_x.click()
    explorer.editing.seed.value, explorer.editing.weights.value = 4, 2.0


def slices(explorer):
    explorer.point.value, explorer.up.value, explorer.slider("scaled").value = 4, 2, 3.0


def landscape(explorer):
    explorer.plane.value = "random, by layer"
    assert explorer.wait(60)
    explorer.x.value, explorer.y.value = explorer.landscape.x[3], explorer.landscape.y[6]
    explorer.left.value, explorer.logarithm.value, explorer._cut.point.value = "complexity", True, 5


def latent(explorer):
    explorer.layer.value, explorer.method.value, explorer.colour.value = 2, "pca", "target"
    assert explorer.wait(60)
    explorer.map.chosen = 17
    for name, which in {"A": range(20), "B": range(20, 45)}.items():
        explorer.map.selected = list(which)
        explorer.groups.take[name].click()


def compatibility(explorer):
    explorer.part.value, explorer.architecture.value, explorer.task.value = "both", "mano", "add"


def sraven(explorer):
    explorer.features.value, explorer.number.value = 3, 7
    explorer.rules[1].value = False
    explorer.choice.value = [1, None, 2]


def logic(explorer):
    explorer.terms[1][2].value, explorer.up.value, explorer.others[0].value = True, "x4", 0.75


def training(explorer):
    explorer.task.value, explorer.width.value, explorer.seeds.value = "mano", 16, 5


def grokking(explorer):
    explorer.operation.index, explorer.fraction.value, explorer.until.value = 3, 60.0, False


def model(explorer):
    explorer.view.value = "slice"
    explorer.corners[2].value = 7


SUMS = {"sum": lambda x: x.sum(1), "scaled": {a: lambda x, a=a: a * x[:, 0] for a in (1.0, 3.0)}}
RAMP = Spline(torch.linspace(-1, 2, 41), low=-4.0, high=8.0)
CASES = {
    "spline": (lambda: SplineExplorer(RAMP), spline),
    "slices": (lambda: SliceExplorer(SUMS, np.random.default_rng(0).random((5, 3))), slices),
    "landscape": (lambda: LandscapeExplorer(found()), landscape),
    "latent": (lambda: LatentExplorer(lab.trained("sraven", "hyla", scale="smoke", progress=False), 60), latent),
    "compatibility": (
        lambda: CompatibilityExplorer(build.figure("transformers/fig11", scale="smoke", progress=False)),
        compatibility,
    ),
    "sraven": (lambda: SravenExplorer(Sraven(features=2), "smoke"), sraven),
    "logic": (lambda: LogicExplorer(Logic(), "smoke"), logic),
    "training": (lambda: TrainingExplorer("memorize", "smoke"), training),
    "grokking": (lambda: GrokkingExplorer(Operation("ab", modulus=27), "smoke"), grokking),
    "model": (lambda: ModelExplorer(torch.nn.Linear(2, 1), torch.eye(10)[:, :2]), model),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_state_given_back_shows_the_same(kind):
    make, change = CASES[kind]
    first, second = make(), make()
    change(first)
    state = json.loads(json.dumps(first.state))
    assert state != json.loads(json.dumps(second.state)), "something was changed"
    second.state = state
    assert json.loads(json.dumps(second.state)) == state
    assert first.error.value == second.error.value == ""

    before = second.state
    for bad, said in (({"nonsense": 1}, "has no 'nonsense'; it has"), ([1], "give a dictionary")):
        with pytest.raises(ArgumentError, match=said):
            second.state = bad
    name = next(name for name, value in state.items() if not isinstance(value, (list, dict)))
    with pytest.raises(ArgumentError, match=f"^state: {name}=.*; give|^state: {name}=.*: give") as caught:
        second.state = {**dict(list(state.items())[-1:]), name: object()}
    assert "\n" not in str(caught.value)
    assert second.state == before


def test_what_is_beyond_a_slider_is_refused_and_not_moved_to_its_end():
    explorer = CASES["slices"][0]()
    with pytest.raises(ArgumentError, match="point=99: give a whole number, 0 to 4"):
        explorer.state = {"point": 99}
    with pytest.raises(ArgumentError, match=r"prefactors\['scaled'\]=2; give one of 1.0, 3.0"):
        explorer.state = {"prefactors": {"scaled": 2}}
    assert explorer.point.value == 0


def test_a_curve_that_was_edited_is_given_back_and_a_wrong_one_refused():
    first = SplineExplorer(RAMP, edit=True)
    first.editing.mirror_y.click()
    second = SplineExplorer(RAMP)
    second.state = first.state
    torch.testing.assert_close(second.spline.values, -RAMP.values)
    for values in ([1.0], ["a"] * 41, [float("nan")] * 41):
        with pytest.raises(ArgumentError, match="give 41 finite numbers"):
            second.state = {"editing": {"values": values}}
    torch.testing.assert_close(second.spline.values, -RAMP.values)
    with pytest.raises(ArgumentError, match="give both or neither"):
        SplineExplorer(RAMP).state = {"editing": first.editing.state}


def test_copied_code_shows_the_same():
    explorer = lab.explore(RAMP)
    explorer.zoom.value, explorer.slope.value = 2.5, True
    names = {"lab": lab}
    code = explorer.code()
    assert code.startswith("import lab\n")
    again = eval(code.removeprefix("import lab\n").strip(), names)
    assert again.state == explorer.state
    torch.testing.assert_close(again.spline.values, explorer.spline.values)
    assert (
        lab.explore("memorize", scale="smoke").code().startswith("import lab\n\nlab.explore('memorize', scale='smoke'")
    )
    slices = CASES["slices"][0]()
    assert slices.code() == f"explorer.state = {slices.state}\n"
