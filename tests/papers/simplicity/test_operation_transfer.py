"""Simplicity paper, Figure 14, at smoke scale: the matrix is that of the stored runs, and searches are Figure 28's."""

import json

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.kinds import check_run as check_rows
from lab.papers.simplicity import operations
from lab.papers.simplicity.operations import EVERY, everywhere, functions
from lab.papers.simplicity.settings import OPERATIONS, RELU, grokking
from lab.plots.caption import reading
from lab.run import Run
from lab.scale import COMMON
from lab.spec import from_json, needs, replace, to_json
from lab.store import Store
from lab.training import episodes

NAME = "simplicity/fig14"
every_scale = pytest.mark.parametrize("scale", COMMON)


@pytest.fixture(scope="module")
def made():
    return figure(NAME, "smoke", progress=False)


@every_scale
def test_rows_differ_in_the_function_alone_and_searches_are_those_of_figure_28(scale):
    shared = {search for _, spec in entry("simplicity/fig28").plan(scale, 1) for search in needs(spec)}
    planned = entry(NAME).plan(scale, 1)
    assert {search for _, spec in planned for search in needs(spec)} == shared | {everywhere(scale)}
    by_task = {}
    for labels, spec in planned:
        check_rows(spec)
        assert from_json(to_json(spec)) == spec and labels["task"] == spec.task_name
        named = [search.task_name for search in needs(spec)]
        assert named == {RELU: [], EVERY: [everywhere(scale).task_name]}.get(labels["function"], [labels["function"]])
        by_task.setdefault(labels["task"], set()).add(replace(spec, model=replace(spec.model, phi="relu")))
    assert all(len(kinds) == 1 for kinds in by_task.values()) and len(by_task) == len(OPERATIONS[scale])
    assert len(planned) == len(by_task) * len(functions(scale)) == len(by_task) * (len(by_task) + 2)


@every_scale
def test_the_search_on_all_operations_gives_each_as_many_turns_and_as_long_loops_as_its_own(scale):
    found, own = everywhere(scale), grokking(scale).search
    episodes.check(found)
    assert found.tasks == OPERATIONS[scale] and found.episodes % len(found.tasks) == 0
    assert found.inner_steps(found.episodes - 1) == own.inner_steps(own.episodes - 1) or scale == "smoke"
    assert "test" not in (*found.pool, found.objective, found.retrain.watch)


def test_the_table_is_that_of_the_stored_runs(made):
    for labels, spec in entry(NAME).plan("smoke", 1):
        row = made.table[(made.table["task"] == labels["task"]) & (made.table["function"] == labels["function"])]
        assert len(row) == 1 and row["accuracy"].item() == pytest.approx(Run(spec, Store()).accuracy[-1], abs=1e-4)


def test_scores_are_shares_of_the_best_of_a_row():
    rows = [
        ("easy", RELU, 0, 400.0, 0.99),
        ("easy", "easy", 0, 100.0, 1.0),
        ("easy", "hard", 0, np.nan, 0.5),
        ("hard", RELU, 0, np.nan, 0.2),
        ("hard", "easy", 0, np.nan, 0.4),
        ("hard", "hard", 0, 300.0, 0.8),
    ]
    table = pd.DataFrame(rows, columns=["task", "function", "seed", "step", "accuracy"]).assign(diverged=False)
    found = operations.scores(table)
    assert found["kind"].tolist() == ["easy"] * 3 + ["hard"] * 3
    assert found["score"].tolist() == pytest.approx([0.25, 1.0, 0.0, 0.25, 0.5, 1.0])
    two = pd.concat([table, table.assign(seed=1, step=np.nan, diverged=table["function"] == "hard")])
    assert operations.scores(two)["score"].tolist()[:3] == pytest.approx([0.25, 1.0, 0.0]), "never is a speed of 0"
    everything = pd.concat([table, table[table["function"] == RELU].assign(function=EVERY, step=200.0)])
    printed = operations.transfer_printed(everything).set_index("method")["ours"]
    assert printed.tolist() == pytest.approx([25.0, 100 * (0.5 + 0.75) / 2, 100 * (0.5 + 0.25) / 2])
    assert operations._summary(everything).startswith("2 of the paper's 22 operations")
    all_of_them = pd.concat([everything.assign(task=task.name) for task in operations.ALL])
    assert operations._summary(all_of_them).startswith("Mean score"), "which are the paper's"


def test_caption_and_drawing(made, tmp_path):
    check(made.provenance)
    for word in ("Scale smoke", "left out: ", "(paper 19.9)", "22.2 to 80.5", "Departures"):
        assert word in made.caption
    assert reading(made.plot) and made.plot.data[0].z.shape == (2, 4)
    made.write(tmp_path, images=False, page=False)
    table = pd.read_csv(tmp_path / "table.csv")
    assert json.loads(entry(NAME).plot(table).to_json()) == json.loads(made.plot.to_json())


A, B = "a+b mod 5", "ab mod 5"


def test_the_functions_own_operations_are_on_the_diagonal():
    """Operations are sorted, easy ones first; columns are, too, and what is of no operation stands behind them."""
    rows = [(task, function, 0, None, 0.1) for task in (B, A) for function in (B, A, RELU)]
    table = pd.DataFrame(rows, columns=["task", "function", "seed", "step", "accuracy"]).assign(diverged=False)
    table.loc[(table["task"] == A) & (table["function"] == RELU), ["step", "accuracy"]] = 100.0, 1.0
    figure = entry(NAME).plot(table)
    heat = figure.data[0]
    assert list(heat.y) == ["a+b *", "ab"] and list(heat.x) == ["a+b", "ab", RELU]
    assert "(mod 5)" in figure.layout.xaxis.title.text
    assert [(shape.x0, shape.y0) for shape in figure.layout.shapes] == [(-0.48, -0.46), (0.52, 0.54)]
