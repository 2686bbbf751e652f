"""What `lab.train` and `lab.trained` return can be explored and probed, whatever it was trained on."""

import numpy as np
import pytest
import torch

from lab import probes, tasks
from lab.api import train, trained
from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.spec import own
from lab.tasks import Collage, Images, Logic, Operation, Sraven, Tabular, Task
from lab.tasks.named import table_named
from lab.tasks.table import TableTask
from lab.widgets import explore
from lab.widgets.grokking import GrokkingExplorer
from lab.widgets.latent import LatentExplorer
from lab.widgets.training import GIVEN, TrainingExplorer

WORDS = ("memorize", "mano")
TABLES = ("ab mod 5", "aba in S4", "MagicTelescope", "mnist_sample", "mnist_sample as numbers")
STREAMS = (Sraven(features=2), Logic(length=8))
PAIRS = [f"{a}{b}" for a in "abcdef" for b in "abcdef"]
REVERSED = Task.from_pairs(PAIRS, [pair[::-1] for pair in PAIRS], name="reversed")


def runs_of(task, **settings):
    return train(task, seeds=2, scale="smoke", progress=False, **settings)


@pytest.mark.parametrize("task", [*WORDS, *TABLES, REVERSED], ids=lambda task: getattr(task, "name", task))
def test_runs_are_the_first_curves_of_a_training(task):
    runs = runs_of(task)
    explorer = explore(runs, scale="smoke")
    assert isinstance(explorer, TrainingExplorer) and len(explorer.figure.data) == 2
    for line, run in zip(explorer.figure.data, runs, strict=True):
        np.testing.assert_array_equal(line.x, run.steps)
        np.testing.assert_allclose(line.y, 100 * run.accuracy)
    assert len(explore(runs[0], scale="smoke").figure.data) == 1
    explorer.seeds.value, explorer.width.value, explorer.steps.value = 1, 8, 2
    (spec,) = explorer.specs()
    assert spec.task == runs[0].spec.task and spec.model.width == 8 and spec.recipe.last == 2
    explorer.train.click()
    assert explorer.wait(60) and explorer.error.value == "" and len(explorer.figure.data) == 3
    assert explorer.figure.data[2].x[-1] == 2
    explorer.task.value = "addmod"
    assert explorer.specs()[0].task == "addmod"


def test_a_function_of_ones_own_on_a_table_is_offered():
    phi = Spline(torch.linspace(-1, 1, 21), -2.0, 2.0)
    explorer = explore(runs_of("ab mod 5", mlp=phi), scale="smoke")
    assert explorer.mlp.value == GIVEN and explorer.specs()[0].model.phi.values == tuple(phi.values.tolist())


def test_a_task_of_the_users_is_trained_with_the_settings_of_lab_train():
    explorer = explore(REVERSED, scale="smoke")
    assert isinstance(explorer, TrainingExplorer) and "reversed" in explorer.task.options[-1][0]
    (run,) = train(REVERSED, seeds=1, scale="smoke", progress=False)
    explorer.seeds.value = 1
    (spec,) = explorer.specs()
    assert (spec.task, spec.model) == (run.spec.task, run.spec.model)
    explorer.train.click()
    assert explorer.wait(60) and explorer.error.value == ""
    assert explorer.figure.data[0].y[-1] == pytest.approx(100 * run.accuracy[-1], abs=2)  # in another order of sums
    again = explore(REVERSED, scale="smoke", state=explorer.state)
    assert again.task.value == explorer.task.value


def test_runs_on_a_task_that_is_not_here_show_their_curves(monkeypatch):
    run = train(REVERSED, seeds=1, scale="smoke", progress=False)[0]
    monkeypatch.setattr(own, "_objects", {})  # as in a new process
    explorer = explore(run, scale="smoke")
    np.testing.assert_allclose(explorer.figure.data[0].y, 100 * run.accuracy)
    explorer.train.click()
    assert explorer.wait(60) and "make the data" in explorer.error.value


@pytest.mark.parametrize("task", STREAMS, ids=lambda task: task.name)
def test_runs_of_streams_are_maps_of_codes(task):
    runs = train(task, attention="hyla", seeds=2, scale="smoke", progress=False)
    for given in (runs, runs[0]):
        assert isinstance(explore(given, scale="smoke"), LatentExplorer)


@pytest.mark.parametrize("name", ["sraven", "logic"])
def test_trained_runs_are_maps_of_codes(name):
    assert isinstance(explore(trained(name, scale="smoke", progress=False), scale="smoke"), LatentExplorer)


@pytest.mark.parametrize("task", TABLES)
def test_networks_of_tables_are_probed(task):
    model, split = runs_of(task)[0].model(), table_named(task).split(0)["test"]
    points = split.inputs[:60].float()
    assert probes.slice_1d(model, points[0], points[1], samples=5).values.shape[0] == 5
    assert probes.slice_2d(model, points[0], (0, 1), grid=3).values.shape[:2] == (3, 3)
    alone = probes.total_variation(lambda x: model(x[None])[0], points, paths=5, samples=5)
    assert probes.total_variation(model, points, paths=5, samples=5).value == alone.value
    waves = probes.fourier_complexity(lambda x: model(x[None])[0], points, paths=5, samples=5)
    assert probes.fourier_complexity(model, points, paths=5, samples=5).value == waves.value
    found = probes.landscape(model, {"loss": probes.Loss(split.inputs, split.targets)}, "random", grid=2)
    assert found.chunk > 1 and np.isfinite(found.values["loss"]).all()


@pytest.mark.parametrize("task", WORDS)
def test_decoders_are_probed(task):
    model, split = runs_of(task)[0].model(), tasks.load(task).splits["test"]
    tokens = split.tokens[:20]
    codes = probes.latent_codes(model, tokens, query=1, key=0)
    assert len(codes) == 20 and np.isfinite(codes.codes).all()
    loss = probes.Loss(tokens[:, :-1], tokens[:, 1:])
    found = probes.landscape(model, {"loss": loss}, "random", grid=2)
    assert np.isfinite(found.values["loss"]).all()
    with pytest.raises(ArgumentError, match="reads token ids"):
        probes.total_variation(model, tokens)


@pytest.mark.parametrize("task", STREAMS, ids=lambda task: task.name)
def test_networks_of_streams_are_probed(task):
    run = runs_of(task)[0]
    model, length, size = run.model(), task.length, task.inputs
    inputs = torch.rand(20, length, size, generator=torch.Generator().manual_seed(0))
    assert len(probes.latent_codes(model, inputs)) == 20
    found = probes.total_variation(model, inputs, paths=4, samples=5)
    assert found.value == probes.Variation(inputs, paths=4, samples=5)(model)[0] > 0


def test_tables_are_explored_by_name_and_by_task():
    for task in ("ab mod 5", Operation("ab", modulus=5)):
        assert isinstance(explore(task, scale="smoke"), GrokkingExplorer)
    collage = Collage("mnist_sample", "fashion_mnist_sample")
    for task in ("MagicTelescope", Tabular("MagicTelescope"), "mnist_sample", Images("mnist_sample"), collage):
        explorer = explore(task, scale="smoke")
        wanted = task if isinstance(task, TableTask) else table_named(task)
        assert isinstance(explorer, TrainingExplorer) and explorer.specs()[0].task == wanted


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        "juggle",
        object(),
        [],
        {},
        torch.zeros(3),
        lambda x: x,
        Spline,
        np.zeros((40, 40)),
        "x" * 5000,
        "ab mod x",
        b"memorize",
    ],
)
def test_the_rest_is_named_in_one_line(wrong):
    with pytest.raises(ArgumentError) as raised:
        explore(wrong)
    text = str(raised.value)
    assert "\n" not in text and len(text) < 1400 and " at 0x" not in text and "[0." not in text
    assert "memorize" in text and "lab.Spline" in text and "transformers/fig5" in text


@pytest.mark.parametrize(("name", "wrong"), [("scale", "huge"), ("scale", 3), ("edit", "no"), ("edit", None)])
def test_scale_and_edit_are_checked(name, wrong):
    with pytest.raises(ArgumentError, match=name):
        explore("memorize", **{name: wrong})
