"""Figures of fuzzy logic: numbers are the stored models', hyper-parameters are picked on val, runs are shared."""

import json
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from lab.catalogue.build import check, figure
from lab.catalogue.listing import stored
from lab.catalogue.registry import entry
from lab.papers.hypernetwork.logic import LOWEST, PAPER, plan
from lab.papers.hypernetwork.settings import choose, finals
from lab.plots.caption import reading, true_minus
from lab.run import Run
from lab.scale import SCALES
from lab.spec import replace
from lab.statistics import over_seeds
from lab.store import Store
from lab.tasks.stream import Stream
from tests.papers.plans import planned

NAMES = ("hypernetwork/fig2c", "hypernetwork/figA3")


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in NAMES}


def outputs(run, split, batch, batches):
    """Predictions, answers and values of f along the sequence, drawn as an evaluation draws them."""
    stream, found = Stream(run.spec.task, [run.spec.seed], batch, split), []
    for number in range(batches):
        examples = stream.at(number)
        f = torch.cat([examples.inputs[0, :, :-1, -1], examples.targets[0]], dim=1)
        found.append((run.model()(examples.inputs)[0, :, 0, 0], examples.targets[0, :, 0], f))
    return (torch.cat(part).double().numpy() for part in zip(*found, strict=True))


def test_both_kinds_of_r2_are_those_of_the_stored_model(made):
    table = made["hypernetwork/fig2c"].table
    for labels, spec in planned("hypernetwork/fig2c")[::5]:
        run = Run(spec, Store())
        rows = table[np.logical_and.reduce([table[name] == value for name, value in labels.items()])]
        row = rows[rows["seed"] == spec.seed].iloc[0]
        for split in ("ood", "test", "unseen_terms"):
            predicted, right, f = outputs(run, split, 2, 16)  # 32 examples
            error, variance = (predicted - right) ** 2, f.var(axis=1)
            assert row[f"r2_{split}"] == pytest.approx(1 - error.sum() / variance.sum(), rel=1e-4)
            assert row[f"r2_paper_{split}"] == pytest.approx(np.mean(1 - error / variance), rel=1e-3)
        assert row["loss"] == run.loss[-1] and row["step"] == spec.recipe.steps and row["chosen"]


def test_the_two_figures_have_the_same_runs_and_table(made):
    one, other = (made[name] for name in NAMES)
    assert one.table.equals(other.table) and one.provenance["runs"] == other.provenance["runs"]
    assert len(one.table) == len(planned(NAMES[0])) == 2 * 3 * 3 * 2
    for scale in SCALES:
        assert planned(NAMES[0], scale) == planned(NAMES[1], scale)


@pytest.mark.parametrize("scale", SCALES)
def test_plans_differ_in_what_labels_say_and_are_followed_on_val(scale):
    groups = {}
    for labels, spec in planned(NAMES[0], scale, 3):
        assert (spec.task.length, spec.task.held_out) == (labels["length"], labels["held_out"])
        assert (spec.recipe.rate, spec.recipe.decay) == (labels["rate"], labels["decay"]) and "val" in spec.evaluate
        groups.setdefault(str(labels), []).append(spec)
    for specs in groups.values():
        assert [spec.seed for spec in specs] == [0, 1, 2] and len({replace(spec, seed=0) for spec in specs}) == 1
    sets = [{spec for _, spec in planned(NAMES[0], scale, seeds)} for seeds in (1, 2, 3)]
    assert all(fewer < more for fewer, more in pairwise(sets))
    if scale == "paper":
        assert len(groups) == 4 * 3 * 3 * 4, "four points of the grid for each length, fraction and method"


def test_the_point_of_the_grid_is_picked_on_val_alone(made):
    table = made[NAMES[0]].table.drop(columns="chosen")
    other = table.assign(rate=2 * table["rate"], r2_val=table["r2_val"] + 1.0, r2_ood=-1e9, r2_paper_ood=-1e9)
    both = choose(pd.concat([table, other], ignore_index=True), "r2_val")
    assert both["chosen"].tolist() == [False] * len(table) + [True] * len(table), "better on val, worse elsewhere"
    lost = other.assign(r2_val=other["r2_val"].where(other["seed"] > 0))
    both = choose(pd.concat([table, lost], ignore_index=True), "r2_val")
    assert both["chosen"].tolist() == [True] * len(table) + [False] * len(table), "a run of it diverged"


def test_plots_hold_the_means_of_what_was_chosen_and_the_printed_numbers(made):
    one = made["hypernetwork/fig2c"]
    other = one.table.assign(rate=9.0, chosen=False, r2_paper_ood=0.123, r2_ood=0.123)
    other = pd.concat([other, one.table], ignore_index=True)
    assert json.loads(entry("hypernetwork/fig2c").plot(other).to_json()) == json.loads(one.plot.to_json())
    table = one.table.assign(length=2 * one.table["length"])  # 16 and 32
    figure = entry("hypernetwork/fig2c").plot(table)
    lines = [trace for trace in figure.data if trace.name == "HYLA"]
    for trace, fraction in zip(lines, (0.3, 0.5, 0.7), strict=True):
        rows = table[(table["method"] == "hyla") & (table["held_out"] == fraction)]
        stats = over_seeds(rows, "length", "r2_paper_ood")
        assert list(trace.customdata) == [16, 32] and list(trace.y) == pytest.approx(100 * stats["mean"])
    printed = {trace.name: trace.y[0] for trace in figure.data if trace.name.endswith("paper")}
    assert sorted(printed.values()) == sorted(mean for mean, _ in PAPER.values())
    dots = [trace for trace in figure.data if trace.name == "HYLA, one run"]
    assert [trace.y.tolist() for trace in dots] == [
        (100 * rows["r2_paper_ood"]).tolist() for _, rows in table[table["method"] == "hyla"].groupby("held_out")
    ]
    assert (
        "1 - squared error / variance" in reading(figure)
        and "dots: one run each" in reading(figure)
        and "printed in the paper" in reading(figure)
    )
    assert true_minus(f"runs are below {LOWEST} %") in reading(one.plot), (
        "nothing is learned at this scale, and it is said"
    )


@pytest.mark.parametrize("name", NAMES)
def test_captions_and_provenance(made, name):
    one = made[name]
    check(one.provenance)
    for word in (
        "Scale smoke",
        "36 runs",
        "seeds 0 to 1",
        "Steps: logic 6",
        "lab.tasks from each run's seed",
        "8, 16 tokens (paper 16, 32, 64, 96)",
        "one learning rate",
    ):
        assert word in one.caption
    assert "searches" not in one.caption and not re.search(r"\bnan\b", one.full_caption) and one.provenance["guesses"]


@pytest.mark.parametrize("name", NAMES)
def test_runs_that_diverged_are_holes_and_are_counted(made, name):
    found, table = entry(name), made[name].table.copy()
    scores = [column for column in table if column.startswith(("r2", "mse", "loss"))]
    lost = (table["method"] == "linear") & (table["held_out"] == 0.7)
    table.loc[lost, [*scores, "diverged"]] = [np.nan] * len(scores) + [True]
    plot = found.plot(choose(table.drop(columns="chosen"), "r2_val"))
    assert plot.to_json() and "linear attention, 8 tokens, 70 %: 2 of 2" in reading(plot)
    assert not re.search(r"\bnan\b", found.summary(table) + reading(plot))


def test_finals_read_stored_runs_only():
    """Of one run, as it stands in the store."""
    (labels, spec), *_ = plan("smoke", 1, lengths=(8,), fractions=(0.5,))
    run = Run(spec, Store())
    (row,) = finals([(labels, run)]).itertuples()
    assert row.r2_ood == run.score("r2", "ood")[-1] and row.chosen and not row.diverged


def test_the_list_of_stored_results_knows_these_runs(made):
    rows = {row["key"]: row for row in stored(Store())}
    for run in made[NAMES[0]].provenance["runs"]:
        row = rows[run[:12]]
        assert (row["kind"], row["task"], row["steps"], row["mlp"]) == ("run", "logic", 6, "gelu") and "phi" in row
