"""Figures 10 and 27 of the simplicity paper: every pixel is the result of its operation, by hand."""

from itertools import permutations

import numpy as np
import pytest

from lab.catalogue.build import figure
from lab.papers.simplicity.operations import SIX
from lab.plots.caption import reading
from lab.tasks.operation import ALL
from tests.reference.operations import FORMULAS

NAMES = ("simplicity/fig10", "simplicity/fig27")


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in NAMES}


def by_hand(task, a, b):
    """In Python's whole numbers, and with permutations as tuples."""
    if task.modulus:
        return FORMULAS[task.form](a, b) % task.modulus
    members = list(permutations(range(4 if task.group == "S4" else 5)))
    p, q = members[a], members[b]

    def after(p, q):
        return tuple(p[i] for i in q)

    found = after(p, q)
    if task.form != "ab":
        found = after(found, p if task.form == "aba" else tuple(np.argsort(p).tolist()))
    return members.index(found)


def test_every_pixel_is_the_result_of_its_operation(made):
    rng = np.random.default_rng(0)
    for name, operations in zip(NAMES, (SIX, ALL), strict=True):
        images = made[name].plot.data
        assert [image.name for image in images] == [task.name for task in operations]
        for task, image in zip(operations, images, strict=True):
            assert np.shape(image.z) == (task.classes, task.classes)
            for a, b in rng.integers(task.classes, size=(40, 2)).tolist():
                assert image.z[a][b] == by_hand(task, a, b), (task.name, a, b)


def test_images_stand_as_the_caption_says(made):
    for name in NAMES:
        one = made[name]
        assert "Nothing is trained" in one.caption and "a from top to bottom" in reading(one.plot)
        assert all(axis.autorange == "reversed" for axis in one.plot.select_yaxes())
        assert len({axis.scaleanchor for axis in one.plot.select_yaxes()}) == len(one.plot.data), "pixels are square"
    assert "22 operations, with 576 to 14,400 pairs" in made["simplicity/fig27"].summary
    assert len(made["simplicity/fig27"].table) == sum(task.classes**2 for task in ALL)
