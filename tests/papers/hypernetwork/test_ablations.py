"""Table A1: all thirteen rows, the stored models' numbers, and the printed ones beside them."""

import re

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.models.hyper import METHODS
from lab.papers.hypernetwork.ablations import PRINTED, means, table_a1
from lab.plots.caption import reading
from lab.run import Run
from lab.scale import SCALES
from lab.store import Store

FOUND = entry("hypernetwork/tableA1")


@pytest.fixture(scope="module")
def made():
    return figure(FOUND.name, "smoke", progress=False)


def as_printed(tasks=("logic", "sraven"), seeds=3):
    """A table whose means and standard errors are the paper's."""
    rows = []
    for task in tasks:
        for method, (mean, error) in PRINTED[task].items():
            for seed, way in zip(range(seeds), (-1, 0, 1), strict=False):
                value = (mean + way * error * np.sqrt(3)) / 100  # standard error of m - d, m, m + d is d / √3
                rows.append({"task": task, "method": method, "seed": seed, "value": value, "seen": 0.95})
    return pd.DataFrame(rows).assign(diverged=False, chosen=True, tokens=32.0)


@pytest.mark.parametrize("scale", SCALES)
def test_every_method_has_the_same_task_and_recipe(scale):
    planned = FOUND.plan(scale, FOUND.seeds[scale])
    for task in {labels["task"] for labels, _ in planned}:
        own = [(labels, spec) for labels, spec in planned if labels["task"] == task]
        assert list(dict.fromkeys(labels["method"] for labels, _ in own)) == list(METHODS)
        assert {spec.task_name for _, spec in own} == {task} and len({spec.task for _, spec in own}) == 1
        grids = {
            method: {(spec.recipe, spec.seed) for labels, spec in own if labels["method"] == method}
            for method in METHODS
        }
        assert all(grid == grids["softmax"] for grid in grids.values()), "the same care"
        assert len({(spec.model.layers, spec.model.heads, spec.model.width) for _, spec in own}) == 1
    if scale == "paper":
        (logic,) = {spec.task for labels, spec in planned if labels["task"] == "logic"}
        assert (logic.length, logic.held_out) == (32, 0.7)
        sraven = [spec for labels, spec in planned if labels["task"] == "sraven"]
        assert {spec.recipe.steps * spec.recipe.batch for spec in sraven} == {20_000_000}
        assert {spec.model.layers for spec in sraven} == {4}


@pytest.mark.parametrize("scale", SCALES)
def test_the_first_three_rows_are_runs_of_other_figures(scale):
    others = {spec for name in ("fig2c", "fig4a") for _, spec in entry(f"hypernetwork/{name}").plan(scale, 3)}
    mine = {spec for labels, spec in FOUND.plan(scale, 2) if labels["method"] in ("softmax", "linear", "hyla")}
    assert mine <= others and len(mine) > 5


def test_values_are_those_of_the_stored_models(made):
    planned = FOUND.plan("smoke", FOUND.seeds["smoke"])
    for (labels, spec), (_, row) in list(zip(planned, made.table.iterrows(), strict=True))[::7]:
        run, score = Run(spec, Store()), {"logic": "r2_paper", "sraven": "accuracy"}[labels["task"]]
        assert (row["task"], row["method"], row["seed"]) == (labels["task"], labels["method"], spec.seed)
        for column, split in (("value", "ood"), ("seen", "test"), ("val", "val")):
            assert row[column] == run.score(score, split)[-1]


def test_all_rows_are_printed_and_the_highest_are_those_of_the_paper():
    """Bold in the paper's table, or called best in its text."""
    assert all(list(column) == list(METHODS) for column in PRINTED.values())
    best = {task: max(column, key=lambda method: column[method][0]) for task, column in PRINTED.items()}
    assert best == {"logic": "hyla_deep", "sraven": "hyla"}
    assert min(PRINTED["sraven"], key=lambda method: PRINTED["sraven"][method][0]) == "hyla_softmax"
    assert PRINTED["logic"]["hyla"] == (81.13, 7.77) and PRINTED["sraven"]["softmax"] == (56.56, 1.05)


def test_runs_as_the_paper_has_them_stand_where_its_numbers_stand():
    found = means(as_printed())
    np.testing.assert_allclose(found["mean"], found["paper"])
    np.testing.assert_allclose(found["error"], found["paper_error"])
    drawn = table_a1(as_printed())
    here, paper, *_ = (trace for trace in drawn.data if trace.customdata is not None)
    np.testing.assert_allclose(here.x, paper.x)
    assert (np.array(paper.y) > here.y).all() and (np.round(paper.y) == np.arange(12)).all()
    digits = [note.text for note in drawn.layout.annotations if "±" in note.text]
    assert len(digits) == 4 * 12 and sum(one.startswith("21.2 ±") for one in digits) == 2, "HYLA, 81.13 - 59.89"
    assert "standard error" in reading(drawn)
    assert "correlation of 12 rows with the paper's 1.00" in FOUND.summary(as_printed())
    flipped = as_printed().assign(value=lambda table: 1 - table["value"])
    assert "least HYLA + deep value network −27.8 (paper +27.8)" in FOUND.summary(flipped)
    assert FOUND.summary(flipped).count("the paper's −1.00") == 2


def test_runs_that_diverged_are_told_by_row():
    table = as_printed(("logic",))
    lost = (table["method"] == "hyla_deep") & (table["seed"] > 0)
    table.loc[lost, ["value", "diverged"]] = [np.nan, True]
    drawn = table_a1(table)
    assert "HYLA + deep value network (logic): 2 of 3" in reading(drawn)
    table.loc[table["method"] == "hyla_deep", ["value", "diverged"]] = [np.nan, True]
    drawn = table_a1(table)
    assert "3 of 3" in reading(drawn) and "–" in [note.text for note in drawn.layout.annotations]
    assert "of 11 rows" in FOUND.summary(table) and "nan" not in FOUND.summary(table)
    assert "only 1 of 12 rows" in FOUND.summary(table[table["method"].isin(["softmax", "linear"])])
    assert "one seed only" in reading(table_a1(table[table["seed"] == 0]))


def test_what_is_left_out_on_a_laptop_is_said(made):
    check(made.provenance)
    assert not any(labels["task"] == "sraven" for labels, _ in FOUND.plan("laptop", 1))
    assert "no column of SRAVEN" in " ".join(FOUND.notes("laptop"))
    assert "SRAVEN" not in " ".join([*FOUND.notes("paper"), *FOUND.origin.departures("laptop")])
    tasks = {scale: {name.partition(":")[0] for name in FOUND.origin.hyperparameters(scale)} for scale in SCALES}
    both = {"logic", "sraven"}
    assert tasks == {"smoke": both, "laptop": {"logic"}, "overnight": {"logic"}, "paper": both}
    for word in ("Scale smoke", "Steps: logic 6, sraven 6", "26 runs", "16 tokens (paper 32)", made.summary):
        assert word in made.caption
    assert made.caption.count("one learning rate") == 1 and not re.search(r"\bnan\b", made.full_caption)


def test_numbers_of_another_length_are_said_to_be_of_another_task():
    titles = [note.text for note in table_a1(as_printed().assign(tokens=16.0)).layout.annotations]
    assert any("here 16 tokens, printed 32" in title for title in titles)


def test_methods_that_have_not_learned_what_they_saw_are_the_first_words():
    learned = as_printed()
    assert not FOUND.summary(learned.assign(seen=0.9)).startswith("Too early")
    early = "Too early for a verdict: 13 of 13 models of"
    assert FOUND.summary(learned.assign(seen=0.3)).startswith(f"{early} fuzzy logic and 13 of 13 models of SRAVEN are")
    one = learned.assign(seen=learned["seen"].where(learned["task"] == "logic", 0.3))
    assert FOUND.summary(one).startswith(f"{early} SRAVEN are")
    drawn = table_a1(one)
    assert ["Too early" in note.text for note in drawn.layout.annotations if "above" in note.text] == [False, True]
    assert [trace.opacity for trace in drawn.data if trace.name == "here" and trace.customdata] == [1, 0.7]


def test_a_task_that_is_absent_is_named_and_rows_keep_their_order():
    for here, absent in (("logic", "SRAVEN"), ("sraven", "fuzzy logic")):
        assert f"Not trained here: {absent}." in reading(table_a1(as_printed((here,))))
    assert "Not trained" not in reading(table_a1(as_printed()))


def test_a_column_that_is_absent_is_not_announced():
    assert "rules" not in FOUND.shows and "SRAVEN" not in FOUND.shows, "at laptop scale there is none"
