"""Differences to the baseline and their comparison with the paper's: known tables give known matrices."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lab.catalogue.results import Results
from lab.errors import LabError
from lab.papers.compatibility import best, clear, delta, square
from lab.papers.transformers import compatibility
from lab.papers.transformers.matrix import PAPER, compare, learned_tasks
from lab.papers.transformers.settings import printed
from lab.places import RESULTS
from lab.statistics import half_width, over_seeds
from lab.task_names import TASK_TITLES
from lab.tasks import NAMES
from lab.tasks.named import task_title
from tests.papers import tables


def as_cells(matrix, half=0.0):
    """A matrix in the form that `delta` gives."""
    cells = matrix.rename_axis(index="architecture", columns="task").T.unstack().rename("delta").reset_index()
    return cells.assign(error=half / 2, low=cells["delta"] - half, high=cells["delta"] + half, seeds=6, lost=0)


def relabelled(table):
    """The same runs under other seed numbers and in another order."""
    seeds = table["seed"].unique()
    names = dict(zip(seeds, np.random.default_rng(0).permutation(seeds), strict=True))
    return table.assign(seed=table["seed"].map(names)).sample(frac=1, random_state=0)


def test_paper_matrix_is_in_the_order_of_the_tasks():
    assert tuple(PAPER.index) == tuple(PAPER.columns) == tuple(TASK_TITLES) == NAMES
    assert PAPER.loc["memorize", "memorize"] == 43  # three of the paper's numbers, read off its Figure 5
    assert PAPER.loc["copy", "mano"] == -11 and PAPER.loc["mano", "copy"] == 17


def test_no_difference_where_accuracies_are_equal():
    cells = delta(tables.matrix(PAPER * 0))
    assert (cells[["delta", "error", "low", "high"]] == 0).all(axis=None)
    assert not clear(cells).any()


@given(st.integers(1, 5))
def test_known_runs_give_the_known_matrix(seeds):
    cells = delta(tables.matrix(PAPER, noise=0.05, seeds=seeds))
    np.testing.assert_allclose(square(cells), PAPER, atol=1e-9)  # rounding of sums in float64
    assert (cells["seeds"] == seeds).all() and cells["error"].isna().all() == (seeds == 1)


def test_intervals_are_those_of_a_paired_t_test():
    table = tables.matrix(PAPER, noise=0.05)
    cells = delta(table).set_index(["architecture", "task"])
    runs = 100 * table.pivot(index="seed", columns=["task", "architecture"], values="accuracy")
    known = stats.ttest_rel(runs["mano", "add"], runs["mano", "baseline"]).confidence_interval(0.95)
    assert cells.loc[("add", "mano"), "low"] == pytest.approx(known.low)
    assert cells.loc[("add", "mano"), "high"] == pytest.approx(known.high)


def test_the_order_and_names_of_seeds_do_not_matter():
    table = tables.matrix(PAPER, noise=0.05)
    pd.testing.assert_frame_equal(delta(table), delta(relabelled(table)))


def test_a_diverged_run_is_left_out_and_counted():
    table = tables.matrix(PAPER)
    table.loc[(table["architecture"] == "add") & (table["task"] == "copy") & (table["seed"] == 2), "accuracy"] = np.nan
    cells = delta(table).set_index(["architecture", "task"])
    assert tuple(cells.loc[("add", "copy"), ["seeds", "lost"]]) == (5, 1)
    assert cells["lost"].sum() == 1
    assert cells.loc[("add", "copy"), "delta"] == pytest.approx(PAPER.loc["add", "copy"])


def test_a_table_without_baseline_is_refused():
    table = tables.matrix(PAPER)
    with pytest.raises(LabError, match="baseline"):
        delta(table[table["architecture"] != "baseline"])
    with pytest.raises(LabError, match="baseline"):
        delta(table[(table["architecture"] != "baseline") | (table["task"] != "mano")])


def test_a_matrix_agrees_with_itself_and_not_with_its_negative():
    same, opposite = compare(as_cells(PAPER)), compare(as_cells(-PAPER))
    assert (same.signs, opposite.signs) == (1.0, 0.0)
    assert same.spearman == pytest.approx(1.0) and opposite.spearman == pytest.approx(-1.0)
    assert same.best_on_diagonal == same.paper_best_on_diagonal


def test_spearman_is_scipys():
    ours = PAPER + np.random.default_rng(0).normal(scale=10, size=PAPER.shape).round()
    known = stats.spearmanr(ours.to_numpy().ravel(), PAPER.to_numpy().ravel()).statistic
    found = compare(as_cells(ours))
    assert found.spearman == pytest.approx(known)
    assert found.low < known < found.high


def test_cells_within_the_noise_of_seeds_do_not_vote():
    wrong = PAPER.copy()
    wrong.loc["add", "addmod"] = -7.0  # the paper has +7
    found, noisy = compare(as_cells(wrong, half=0.5)), compare(as_cells(wrong, half=8.0))
    assert found.clear == (PAPER != 0).sum(axis=None) and found.signs == pytest.approx(1 - 1 / found.clear)
    assert noisy.clear < found.clear and noisy.signs == 1.0
    nothing = compare(as_cells(wrong, half=99.0))
    assert nothing.clear == 0 and np.isnan(nothing.signs) and "None of 64" in nothing.sentence()


def test_the_paper_has_its_best_on_the_diagonal_four_times():
    diagonal = {name for name, task in best(PAPER) if name == task}
    assert diagonal == {"memorize", "addmod", "add", "copy"}


def test_a_column_without_differences_has_no_best():
    level = PAPER.assign(copy=3.0)
    assert {task for _, task in best(level)} == set(PAPER) - {"copy"}
    nothing = compare(delta(tables.matrix(PAPER * 0)))
    assert (nothing.best_on_diagonal, nothing.clear) == (0, 0) and np.isnan(nothing.spearman)


def test_only_cells_that_both_have_are_compared():
    some = ["memorize", "add", "mano"]
    found = compare(as_cells(PAPER.loc[some, some]))
    assert (found.cells, found.tasks) == (9, 3)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=8))
def test_half_width_is_scipys_interval(values):
    with np.errstate(invalid="ignore"):
        known = stats.t.interval(0.95, len(values) - 1, loc=0, scale=stats.sem(values))[1] if np.ptp(values) else 0.0
    assert half_width(np.array(values)) == pytest.approx(known, abs=1e-9)


def test_means_leave_out_what_is_not_finite_and_say_so():
    table = pd.DataFrame({"step": [1, 1, 1, 2], "accuracy": [0.2, 0.4, np.nan, 0.5], "seed": [0, 1, 2, 0]})
    found = over_seeds(table, "step", "accuracy")
    assert found["mean"].tolist() == pytest.approx([0.3, 0.5]) and found["runs"].tolist() == [2, 1]
    assert np.isnan(found.loc[2, "half"])


def test_a_task_that_no_model_learned_has_no_best():
    found = compare(as_cells(PAPER), unlearned=["add", "mano"])
    assert (found.tasks, found.best_on_diagonal) == (6, 3) and "3 of 6 tasks" in found.sentence()
    assert found.cells == 6 * 8, "what no model learns is no cell that agrees or does not"


@pytest.mark.parametrize("name", ["fig5", "fig11"])
def test_a_stand_in_names_the_tasks_whose_runs_are_smaller_and_departures_say_how_wide_they_are(name):
    """Settings may have changed since the runs: what they say now is not of them."""
    here = Results(RESULTS / "transformers" / name / "laptop")
    of_runs = {task: here.facts["hyperparameters"][f"{task}: width"]["value"] for task in learned_tasks(here.table())}
    narrow = {task: width for task, width in of_runs.items() if width != printed(task).model.width}
    said = compatibility.smaller(here.table(), "laptop")
    assert said == f"smaller models of {', '.join(map(task_title, narrow))}" and not re.search(r"\d", said)
    for task, width in narrow.items():
        (known,) = (
            one for one in here.facts["departures"] if "width" in one and task in one.split(": ")[0].split(", ")
        )
        assert f"width {width} (paper" in known
