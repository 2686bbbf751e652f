"""`lab.check` of tasks: the lab's own keep all laws but those named here, and each law notices what breaks it."""

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

import lab
from lab.errors import ArgumentError
from lab.tasks import NAMES, Collage, Images, Logic, Operation, Sraven, TableSplit, TableTask, Tabular, Task, Text, load
from lab.tasks.laws import LAWS

OWN = {name: load for name in NAMES} | {
    one.name if name is None else name: one
    for name, one in (
        (None, Logic()),
        (None, Sraven()),
        ("sraven of one feature", Sraven(features=1)),
        (None, Images("mnist_sample")),
        (None, Images("fashion_mnist_sample", "id")),
        (None, Collage("mnist_sample", "fashion_mnist_sample")),
        (None, Operation("a+b", modulus=27)),
        (None, Operation("aba", group="S4")),
        (None, Text("moby_dick")),
        (None, Tabular("bank-marketing")),
        (None, Tabular("covertype_sample")),
        (None, Tabular("MagicTelescope")),
    )
}
EXPECTED = {
    "sraven of one feature": {"splits are disjoint": "so few problems there are: what is held out are rules (ood)"},
    "MagicTelescope": {"splits are disjoint": "the benchmark has rows twice; its split is kept"},
    "mnist_sample over fashion_mnist_sample": {"no constant column": "images have black edges"},
}


@pytest.mark.parametrize("name", OWN)
def test_the_labs_own_tasks_keep_the_laws(name):
    task = OWN[name](name) if name in NAMES else OWN[name]
    found = lab.check(task, expected=EXPECTED.get(name))
    assert found.failures == found.needless == [], found
    assert (found.table["passed"] == True).sum() >= 5, found  # noqa: E712  not missing


@dataclass(frozen=True)
class Planted(TableTask):
    """A table with a fault."""

    fault: str = ""
    classes: ClassVar[int] = 3
    loss_name: ClassVar[str] = "cross_entropy"
    inputs: ClassVar[int] = 4

    @property
    def name(self):
        return f"planted {self.fault}"

    @property
    def metric_signs(self):
        return {"accuracy": -1 if self.fault == "sign" else 1}

    def split(self, seed=0):
        if self.fault == "global":
            np.random.rand()  # noqa: NPY002
        rng = np.random.default_rng(None if self.fault == "seed" else seed)
        x, parts = rng.normal(size=(300, 4)).astype("float32"), {}
        y = np.digitize(x[:, 0] + x[:, 1], [-0.5, 0.5])
        if "film" in self.fault:
            x[200:] = x[:100] + 1e-6
            x[:, 3] += 1e6 * (self.fault == "far film")
        if self.fault == "leak":
            x[:, 2] = 5 - 3 * y
        if self.fault == "constant":
            x[:200, 3] = 1
        if self.fault == "nan":
            x[5, 3] = np.nan
        if self.fault == "twice":
            x[210:220], y[210:220] = x[:10], y[:10]
        if self.fault == "two answers":
            x[5], y[5] = x[6], (y[6] + 1) % 3
        if self.fault == "class":
            y[:200] %= 2
        if self.fault == "one answer":
            y[250:] = 1
        for name, at in {"train": slice(200), "val": slice(200, 250), "test": slice(250, 300)}.items():
            latent = torch.from_numpy(y[at] + (1 if self.fault == "latent" and name == "test" else 0))
            inputs = torch.from_numpy(x[at])
            if self.fault == "shape" and name == "test":
                inputs = inputs[:, :3].contiguous()
            parts[name] = TableSplit(inputs, torch.from_numpy(y[at]), {"answer": latent})
        return parts


BREAKS = {
    "splits are disjoint": "twice",
    "no leak between neighbours": "film",
    "targets follow from inputs": "two answers",
    "latents agree with targets": "latent",
    "the same for a seed": "seed",
    "no global random numbers": "global",
    "shapes and types": "shape",
    "every number is finite": "nan",
    "no constant column": "constant",
    "no column is the target": "leak",
    "every class is in training": "class",
    "answers differ": "one answer",
    "the right answer scores best": "sign",
}


@pytest.mark.parametrize("law", lab.check.laws(of="task"), ids=lambda law: law.name)
def test_each_law_notices_what_breaks_it(law):
    law(Planted())
    with pytest.raises(AssertionError, match=law.name) as error:
        law(Planted(BREAKS[law.name]))
    if law.name == "no leak between neighbours":  # however far from 0 a column lies
        with pytest.raises(AssertionError, match="100 % of val"):
            law(Planted("far film"))
    assert law.reason in str(error.value) and "fails with" not in str(error.value)


def test_data_of_ones_own_is_checked():
    x = torch.rand(300, 3, generator=torch.Generator().manual_seed(0))
    assert lab.check(lab.Data.from_arrays(x, x.prod(1) > 0.1, name="mine")).failures == []
    film = torch.cat([x, x + 1e-6])
    found = lab.check(lab.Data.from_arrays(film, film.prod(1), name="film"))
    assert found.failures == ["no leak between neighbours"] and "% of test" in repr(found)
    words = [f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
    assert lab.check(Task.from_pairs(words, [word[::-1] for word in words], name="reversed")).failures == []


@functools.cache
def kept():
    return 1


@functools.cache
def imported():
    return 1


imported.__module__ = "elsewhere"  # as of what `from elsewhere import imported` gives


def test_what_is_imported_stays_in_its_cache():
    kept(), imported()
    assert "the same for a seed" not in lab.check(Planted()).failures
    assert (kept.cache_info().currsize, imported.cache_info().currsize) == (0, 1)


def test_functions_and_tasks_have_laws_of_their_own():
    assert set(BREAKS) == set(LAWS)
    with pytest.raises(ArgumentError, match="no law of"):
        lab.check.laws(of="task")[0](torch.relu)
    with pytest.raises(ArgumentError, match="no law of"):
        lab.check.laws()[0](Planted())
    with pytest.raises(ArgumentError, match="shape="):
        lab.check(Planted(), shape=(2, 2))
    with pytest.raises(ArgumentError, match="unknown of"):
        lab.check.laws(of="model")
    with pytest.raises(ArgumentError, match="unknown law"):
        lab.check(Planted(), expected={"first derivative": "none"})
