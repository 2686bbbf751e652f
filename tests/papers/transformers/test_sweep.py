"""Sweeps: they look at `val` alone, with seeds of their own, and choose what the table says."""

import numpy as np
import pandas as pd
import pytest

from lab import tasks
from lab.catalogue.registry import entries
from lab.errors import ArgumentError
from lab.papers.transformers import settings
from lab.papers.transformers.settings import setting
from lab.papers.transformers.sweep import (
    KNOT_RATES,
    RATES,
    SEARCHED,
    best,
    best_choice,
    best_knot_rate,
    plan,
    plan_searches,
    sweep,
)
from lab.scale import COMMON
from lab.spec import needs, replace
from lab.training.two_loss import Search


def table(rows):
    return pd.DataFrame(rows, columns=["task", "rate", "seed", "mean_accuracy", "diverged"])


@pytest.mark.parametrize("scale", COMMON)
def test_a_sweep_sees_val_alone_and_uses_seeds_that_no_figure_uses(scale):
    swept = [spec for task in tasks.NAMES for spec in plan(task, scale)] + plan_searches(scale)
    assert {spec.evaluate for spec in swept} == {("val",)}
    planned = [spec for found in entries().values() for _, spec in found.plan(scale, found.seeds[scale])]
    used = {spec.seed for spec in planned if not spec.tuning}
    searches = {search for spec in swept for search in needs(spec)}
    used |= {spec.seed for search in searches if scale == "smoke" for spec in Search(search).specs}
    assert not {spec.seed for spec in swept} & used


@pytest.mark.parametrize("scale", COMMON)
@pytest.mark.parametrize("task", tasks.NAMES)
def test_only_the_rate_is_swept(task, scale):
    base = setting(task, scale)
    for spec in plan(task, scale):
        assert spec.model == base.model and replace(spec.recipe, rate=base.recipe.rate) == base.recipe
    assert [spec.recipe.rate for spec in plan(task, scale)][::2] == list(RATES[scale])
    grid = RATES["paper" if task in settings.CHEAP else scale]
    assert scale != "laptop" or base.recipe.rate in grid, "the rate in use was swept"


def test_every_rate_is_swept_with_every_batch_that_is_asked_for():
    specs, base = plan("mano", "laptop", (64, 128)), setting("mano", "laptop")
    pairs = [(spec.recipe.batch, spec.recipe.rate) for spec in specs[::2]]
    assert pairs == [(batch, rate) for batch in (64, 128) for rate in RATES["laptop"]]
    assert {replace(spec.recipe, batch=1, rate=1.0) for spec in specs} == {replace(base.recipe, batch=1, rate=1.0)}
    own = base.recipe.batch
    assert plan("mano", "laptop", (own,)) == plan("mano", "laptop"), "its own batch is what is swept without any"


def test_the_rate_of_the_knots_alone_is_swept():
    for scale in COMMON:
        searches = {search for spec in plan_searches(scale) for search in needs(spec)}
        assert {search.task for search in searches} == set(SEARCHED)
        for search in searches:
            assert replace(search, spline_rate=0.0) == replace(setting(search.task, scale).search(), spline_rate=0.0)
        assert {search.spline_rate for search in searches} == set(KNOT_RATES[scale])


def test_the_best_rate_has_the_highest_mean_over_seeds():
    rows = [("copy", 0.1, 0, 0.2, False), ("copy", 0.1, 1, 0.8, False), ("copy", 0.2, 0, 0.6, False)]
    rows += [("copy", 0.2, 1, 0.45, False), ("mano", 0.1, 0, 0.0, False), ("mano", 0.2, 0, 0.1, False)]
    assert best(table(rows)) == {"copy": 0.2, "mano": 0.2}
    assert best(table(rows[::-1])) == {"copy": 0.2, "mano": 0.2}


def test_batches_are_compared_each_at_its_best_rate():
    rows = [("copy", 64, 0.1, 0.5), ("copy", 64, 0.2, 0.6), ("copy", 128, 0.1, 0.7), ("copy", 128, 0.2, 0.1)]
    found = pd.DataFrame(rows, columns=["task", "batch", "rate", "mean_accuracy"]).assign(diverged=False)
    assert best_choice(found, "batch") == {"copy": (128, 0.1)}
    assert best_choice(found.assign(diverged=found["batch"] == 128), "batch") == {"copy": (64, 0.2)}


def test_a_rate_at_which_a_run_diverged_loses():
    rows = [("copy", 0.1, 0, 0.3, False), ("copy", 0.1, 1, 0.3, False), ("copy", 0.2, 0, 0.5, False)]
    assert best(table([*rows, ("copy", 0.2, 1, 0.9, True)])) == {"copy": 0.1}
    assert best(table([*rows, ("copy", 0.2, 1, np.nan, True)])) == {"copy": 0.1}


def test_the_rate_of_the_knots_is_one_for_all_tasks():
    rows = [("memorize", 0.1, 0.6), ("memorize", 0.2, 0.5), ("addmod", 0.1, 0.1), ("addmod", 0.2, 0.3)]
    found = pd.DataFrame(rows, columns=["task", "knot_rate", "mean_accuracy"]).assign(diverged=False)
    assert best_knot_rate(found) == 0.2


def test_searches_are_swept_and_written(tmp_path):
    said = sweep((), "smoke", "cpu", tmp_path / "new", searches=True).splitlines()
    found = pd.read_csv(tmp_path / "new" / "searches.csv")
    assert len(found) == len(SEARCHED) * len(KNOT_RATES["smoke"]) * 2
    assert said == [f"best rate of the knots: {best_knot_rate(found):g}", str(tmp_path / "new" / "searches.csv")]
    assert found["mean_accuracy"].between(0, 1).all()


def test_batches_are_swept_and_written(tmp_path):
    said = sweep(("memorize",), "smoke", "cpu", tmp_path, batches=(4, 8, 4)).splitlines()
    found = pd.read_csv(tmp_path / "batches.csv")
    batch, rate = best_choice(found, "batch")["memorize"]
    assert said == [f"memorize: best batch {batch}, at rate {rate:g}", str(tmp_path / "batches.csv")]
    assert len(found) == 2 * len(RATES["smoke"]) * 2 and set(found["batch"]) == {4, 8}
    assert not (tmp_path / "sweep.csv").exists()


def test_models_with_and_without_canon_layers_are_swept_and_written(tmp_path):
    said = sweep(("memorize",), "smoke", "cpu", tmp_path, canon=True).splitlines()
    found = pd.read_csv(tmp_path / "canon.csv")
    has, rate = best_choice(found, "canon")["memorize"]
    words = "with" if has else "without"
    assert said == [f"memorize: best {words} Canon layers, at rate {rate:g}", str(tmp_path / "canon.csv")]
    assert len(found) == 2 * len(RATES["smoke"]) * 2 and set(found["canon"]) == {False, True}


def test_a_sweep_in_which_everything_diverges_ends(tmp_path, monkeypatch, store_folder):
    known = setting("memorize", "smoke")
    wild = replace(known, recipe=replace(known.recipe, steps=40))
    monkeypatch.setattr("lab.papers.transformers.sweep.setting", lambda task, scale: wild)
    monkeypatch.setitem(RATES, "smoke", (1e38, 2e38))
    sweep(("memorize",), "smoke", "cpu", tmp_path)
    found = pd.read_csv(tmp_path / "sweep.csv")
    assert found["diverged"].all() and len(found) == 4 and {"mean_accuracy", "last_accuracy"} <= set(found.columns)


def test_wrong_tasks_are_named_before_training(tmp_path, store_folder):
    wrong = [
        ({"names": ("chess",)}, "unknown task 'chess'"),
        ({"names": ("copy",), "searches": True}, "leave out copy$"),
        ({"names": (), "searches": True, "batches": (8,)}, "leave out --batches$"),
        ({"names": (), "searches": True, "canon": True}, "leave out --canon$"),
        ({"names": ("copy",), "batches": (8,), "canon": True}, "are two sweeps"),
        ({"names": ("copy",), "batches": (8, 0)}, "at least 1 example, not 0"),
    ]
    for words, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            sweep(scale="smoke", device="cpu", out=tmp_path, **words)
    assert not list(store_folder.rglob("*"))
