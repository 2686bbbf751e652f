"""LogicExplorer: the plane has the function's own values, the model's are those of the model."""

import numpy as np
import pytest
import torch

from lab.api import train
from lab.errors import ArgumentError
from lab.store import Store
from lab.tasks.logic import Logic
from lab.widgets.logic import GRID, LogicExplorer

pytestmark = pytest.mark.usefixtures("own_store")


@pytest.fixture(scope="module")
def runs(own_store):
    return train(Logic(length=8, held_out=0.5), attention="hyla", seeds=1, scale="smoke", progress=False)


@pytest.fixture
def explorer(runs):
    return LogicExplorer(Logic(length=8, held_out=0.5), scale="smoke")


def zadeh(explorer, x):
    """The function that the toggles say, at points (N, 4)."""
    plain = np.array([[toggle.value for toggle in row] for row in explorer.terms])[:, None]  # (2, 1, 4)
    return np.where(plain, x, 1 - x).min(-1).max(0)


def test_the_plane_has_the_values_of_the_function(explorer):
    explorer.terms[0][3].value = True
    explorer.across.value, explorer.up.value = "x4", "x2"
    for slider, value in zip(explorer.others, (0.3, 0.75), strict=True):  # x1 and x3
        slider.value = value
    assert [slider.description for slider in explorer.others] == ["x1", "x3"] and explorer.error.value == ""
    plane = explorer.figure.data[0]
    across, up = np.meshgrid(plane.x, plane.y)
    points = np.stack([np.full_like(up, 0.3), up, np.full_like(up, 0.75), across], -1)
    np.testing.assert_allclose(plane.z, zadeh(explorer, points.reshape(-1, 4)).reshape(GRID, GRID), atol=1e-6)
    assert "¬x4" not in explorer.formula.split(" ∨ ")[0] and "¬x4" in explorer.formula.split(" ∨ ")[1]


def test_the_model_answers_after_the_examples_that_are_drawn(explorer, runs):
    dots, plane = explorer.figure.data[2], explorer.figure.data[1]
    assert len(dots.x) == 7 and explorer.run.key == runs[0].key
    seen = torch.rand(8, 4, generator=torch.Generator().manual_seed(0)).numpy()[:-1]
    np.testing.assert_allclose(np.stack([dots.x, dots.y], -1), seen[:, :2], atol=1e-6)
    np.testing.assert_allclose(dots.marker.color, zadeh(explorer, seen), atol=1e-6)
    context = np.c_[seen, zadeh(explorer, seen)]
    query = [plane.x[3], plane.y[11], 0.2, 0.2, 0.0]  # the sliders begin at 0.2
    with torch.no_grad():
        answer = runs[0].model()(torch.tensor(np.r_[context, [query]], dtype=torch.float32)[None, None])
    assert plane.z[11, 3] == pytest.approx(answer.item(), abs=1e-5)


def test_it_says_what_training_had(explorer, runs):
    task, seed = runs[0].spec.task, runs[0].spec.seed
    said = {"train": "was trained on this function", "ood": "never saw this function", "unseen_terms": "these terms"}
    for split, words in said.items():
        for row, term in zip(explorer.terms, task.functions(split, seed)[0].tolist(), strict=True):
            for place, toggle in enumerate(row):
                toggle.value = bool(term >> (3 - place) & 1)
        assert words in explorer.told.value and explorer.error.value == ""


def test_mistakes_are_told(explorer):
    explorer.terms[0][0].value = explorer.terms[1][1].value = False
    assert "two terms are the same" in explorer.error.value
    explorer.terms[0][0].value = True
    assert explorer.error.value == ""
    explorer.up.value = "x1"
    assert "same variable twice" in explorer.error.value
    with pytest.raises(ArgumentError, match="two terms"):
        LogicExplorer(Logic(terms=3))


def test_it_begins_where_there_is_a_model_or_says_how_to_train_one(explorer, tmp_path):
    assert LogicExplorer(Logic(length=12), scale="smoke").length.value == 8
    bare = LogicExplorer(scale="smoke", store=Store(tmp_path))
    assert bare.run is None and bare.figure.data[1].z.size == 0 and "lab.train(lab.tasks.Logic(" in bare.told.value
