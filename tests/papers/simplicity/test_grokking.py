"""Simplicity paper, Figures 11, 12, 13 and 28, at smoke scale: drawn is what was trained, and nothing saw test."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.catalogue.shipped import read, resolve_scale, shipped_results
from lab.kinds import check_run as check_rows
from lab.papers.simplicity import first_steps, operations, sizes
from lab.papers.simplicity.first_steps import reached
from lab.papers.simplicity.grokking import speeds
from lab.papers.simplicity.grokking import steps as first
from lab.papers.simplicity.settings import ADDITION, LEARNED, RELU, grokking
from lab.papers.simplicity.sines import SEARCHES, VERSIONS, sines
from lab.plots.caption import reading
from lab.probes.profile import wave
from lab.run import Run
from lab.scale import COMMON
from lab.search_results import EpisodeResult
from lab.spec import from_json, key, needs, replace, to_json
from lab.store import Store
from lab.training import episodes
from tests.papers.plans import planned

NAMES = ("simplicity/fig11", "simplicity/fig12")
WITH_CURVES = (*NAMES, "simplicity/fig28")
EVERY = (*WITH_CURVES, "simplicity/fig13")
every_scale = pytest.mark.parametrize("scale", COMMON)


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in EVERY}


@every_scale
def test_plans_fit_together_and_compare_like_with_like(scale):
    for task in VERSIONS:
        found = grokking(scale, task)
        relu, learned = (found.runs(method, 2) for method in (RELU, LEARNED))
        for a, b in zip(relu, learned, strict=True):
            assert replace(b, model=a.model) == a and replace(b.model, phi="relu") == a.model, "the same care"
            check_rows(a)
            assert from_json(to_json(b)) == b
        episodes.check(found.search)
        assert len({replace(run, seed=0) for run in relu}) == 1 and [run.seed for run in relu] == [0, 1]
        rates = {found.recipe.rate, found.search.inner.rate, found.search.retrain.rate}
        assert len(rates) == 1, "the function is learned for the rate that it is used with"


@every_scale
def test_the_search_and_its_restarts_never_see_the_test_split(scale):
    for task in VERSIONS:
        found = grokking(scale, task)
        assert "test" not in (*found.search.pool, found.search.objective, found.search.retrain.watch)
        searched, trained = found.search.task.split(0), found.task.split(0)
        assert torch.equal(searched["test"].inputs, trained["test"].inputs), "one test split for both"
        rows = {tuple(row) for row in searched["test"].inputs.tolist()}
        assert not any(tuple(row) in rows for name in found.search.pool for row in searched[name].inputs.tolist())


def test_figures_share_their_runs_and_more_seeds_are_further_runs():
    for scale in COMMON:
        eleven, twelve = ({spec for _, spec in planned(name, scale, 3)} for name in NAMES)
        assert eleven < twelve and len(twelve) == 4 * len(eleven)
        assert {spec for _, spec in planned(NAMES[0], scale, 2)} < eleven
        assert eleven < {spec for _, spec in planned("simplicity/fig13", scale, 3)}
        assert eleven < {spec for _, spec in planned("simplicity/fig28", scale, 3)}
    assert {spec.task_name for _, spec in planned(NAMES[0])} == {ADDITION.name}


@pytest.mark.parametrize("name", ("simplicity/fig11", "simplicity/fig28"))
def test_overnight_is_laptop_with_more_seeds(name):
    laptop, overnight = ({spec for _, spec in planned(name, scale)} for scale in ("laptop", "overnight"))
    assert laptop < overnight, "what a laptop has trained is not trained again"
    assert {replace(spec, seed=0) for spec in laptop} == {replace(spec, seed=0) for spec in overnight}


def test_overnight_figure_14_has_more_operations_and_what_a_laptop_trained_but_the_function_of_all():
    kinds = (planned("simplicity/fig14", scale) for scale in ("laptop", "overnight"))
    laptop, overnight = ({spec for labels, spec in runs if labels["function"] != operations.EVERY} for runs in kinds)
    assert laptop < overnight and {spec.task for spec in laptop} < {spec.task for spec in overnight}
    assert {spec.seed for spec in overnight} == {0, 1}


def test_paper_scale_is_the_papers():
    found = grokking("paper")
    assert (found.model.width, found.model.layers, found.recipe.rate, found.recipe.steps, found.recipe.batch) == (
        256,
        1,
        1.0,
        60_000,
        4_096,
    )
    assert found.task.fraction == 0.8 and found.recipe.optimizer == "sgd"
    assert not entry(NAMES[0]).origin.departures("paper")
    assert "rate 10 (paper 1)" in entry(NAMES[0]).origin.departures("laptop")[0]


@pytest.mark.parametrize("name", WITH_CURVES)
def test_curves_are_the_stored_ones_and_their_end_is_the_stored_model(made, name):
    table, runs = made[name].table, [(labels, Run(spec, Store())) for labels, spec in planned(name)]
    assert len(table) == sum(len(run.steps) for _, run in runs)
    for labels, run in runs:
        rows = table[(table["task"] == labels["task"]) & (table["method"] == labels["method"])]
        rows = rows[rows["seed"] == run.spec.seed]
        assert rows["step"].tolist() == run.steps.tolist()
        for column, split in (("accuracy", "test"), ("accuracy_train", "train")):
            data = run.spec.task.split(0)[split]
            right = run.model()(data.inputs[None])[0].argmax(1) == data.targets
            assert rows[column].iloc[-1] == pytest.approx(float(right.float().mean()), abs=2e-3)


@pytest.mark.parametrize("name", WITH_CURVES)
def test_functions_are_what_the_search_found_for_each_restart(made, name):
    functions, store = made[name].extras["functions"], Store()
    for task in {spec.task for _, spec in planned(name)}:
        search = next(needs(spec)[0] for _, spec in planned(name) if spec.task == task and needs(spec))
        found, rows = EpisodeResult(search, store), functions[functions["task"] == task.name]
        assert rows.loc[rows["chosen"], "restart"].unique().tolist() == [found.winner]
        for restart, part in rows.groupby("restart"):
            kept = found.of_restart(restart)["phi"].values.numpy().ravel()
            assert part["value"].to_numpy() == pytest.approx(kept, abs=1e-5)
            assert part["accuracy_val"].iloc[0] == pytest.approx(found.results[restart, :, 0].mean())
        chosen = rows[rows["chosen"]]
        assert chosen["density"].sum() == pytest.approx(1, abs=1e-3) and chosen["explained"].between(0, 1).all()
    run = Run(next(spec for _, spec in planned(name) if needs(spec)), store)
    inputs, weights = run.spec.task.split(0)["test"].inputs, dict(run.model().named_parameters())
    received = inputs @ weights["layers.0.weight"][0] + weights["layers.0.bias"][0].view(1, -1)
    rows = functions[(functions["task"] == run.spec.task_name) & functions["chosen"]]
    edges = np.linspace(-2.1, 2.1, 22)
    counts = np.histogram(received.detach().numpy().clip(-2, 2), edges)[0]
    assert rows["density"].to_numpy() == pytest.approx(counts / counts.sum(), abs=2e-3)


@pytest.mark.parametrize("name", EVERY)
def test_captions_and_provenance(made, name):
    one = made[name]
    check(one.provenance)
    for word in ("Scale smoke", "search", "Steps: a+b mod", "Departures from the paper:", "rate 10 (paper 1)"):
        assert word in one.caption
    assert not re.search(r"\bnan\b", one.full_caption) and reading(one.plot)
    assert set(one.provenance["searches"]) == {key(s) for _, spec in planned(name) for s in needs(spec)}
    assert set(one.provenance["searches"].values()) == {spec.task_name for _, spec in planned(name)}


@pytest.mark.parametrize("name", WITH_CURVES)
def test_a_figure_is_drawn_anew_from_its_files(made, name, tmp_path):
    one = made[name]
    one.write(tmp_path, images=False, page=False)
    table, functions = (pd.read_csv(tmp_path / f"{part}.csv") for part in ("table", "functions"))
    assert json.loads(entry(name).plot(table, functions).to_json()) == json.loads(one.plot.to_json())


def test_the_step_that_is_told_is_that_of_the_curve():
    steps = np.arange(10, 101, 10)
    rows = pd.DataFrame({"seed": 0, "step": steps, "accuracy": steps / 100})
    assert reached(rows) == "95" and reached(rows.assign(accuracy=0.5)) == "never (0 of 1)"
    both = pd.concat([rows, rows.assign(seed=1, accuracy=(steps - 2) / 100)])
    assert reached(both) == "96", "two runs have no interval that is narrower than an axis"
    three = pd.concat([both, rows.assign(seed=2, accuracy=(steps - 1) / 100)])
    assert reached(three) == "96 ± 2"  # 95, 96 and 97: 4.3027 / √3


def test_a_caption_says_never_of_what_no_run_reaches_and_which_side_of_a_bound_a_ratio_is():
    steps = np.arange(10, 101, 10)
    learns = pd.DataFrame({"step": steps, "accuracy": steps / 100, "seed": 0})
    fails = learns.assign(accuracy=0.5)

    def said(caption, relu, learned):
        return caption(pd.concat([relu.assign(method=RELU), learned.assign(method=LEARNED)]).assign(task="a+b mod 27"))

    sooner = learns.assign(accuracy=(2 * steps / 100).clip(max=1.0))
    assert "never" not in said(first, learns, sooner) + said(speeds, learns, sooner)
    assert said(first, fails, fails).endswith(": never with either: a+b (mod 27).")
    assert said(speeds, fails, fails).endswith(": never with either on 1 operation.")
    assert said(speeds, fails, sooner).endswith("2.1 at least (ReLU not in 100 steps).")  # 100 steps over 47.5
    assert said(speeds, sooner, fails).endswith("0.5 at most (learned not in 100 steps).")
    several = [pd.concat([one.assign(seed=seed) for seed in range(3)]) for one in (learns, sooner)]
    assert said(speeds, *several).startswith("Mean accuracy surely higher on 1 of 1 operation (mod 27; paper: 22).")
    fewer = "Mean accuracy surely higher on 0 of 1 operation (mod 27; paper: 22; not on a+b)."
    assert said(speeds, *several[::-1]).startswith(fewer)


def test_searches_of_a_version_share_no_restart_and_are_used_with_the_same_care():
    runs = planned("simplicity/fig12", "overnight", 3)
    for task in VERSIONS:
        of_task = [(labels, spec) for labels, spec in runs if spec.task == grokking("overnight", task).task]
        searches = {labels["search"]: needs(spec)[0] for labels, spec in of_task if needs(spec)}
        restarts = [restart for search in searches.values() for restart in search.restarts]
        assert len(searches) == 3 and len({restart.seed for restart in restarts}) == len(restarts)
        assert len({replace(search, restarts=()) for search in searches.values()}) == 1
        assert len({replace(spec, model=replace(spec.model, phi="relu")) for _, spec in of_task}) == 3, "the seeds"


def test_functions_of_several_searches_are_those_of_each_and_are_drawn_apart(monkeypatch, tmp_path):
    monkeypatch.setitem(SEARCHES, "smoke", 2)
    name, store = "simplicity/fig12", Store()
    one = figure(name, "smoke", progress=False)
    functions, runs = one.extras["functions"], planned(name)
    assert set(one.table["search"]) == set(functions["search"]) == {0, 1}
    for labels, spec in runs:
        if labels["method"] == RELU:
            assert labels["search"] == 0
            continue
        found = EpisodeResult(needs(spec)[0], store)
        rows = functions[(functions["task"] == labels["task"]) & (functions["search"] == labels["search"])]
        chosen = rows[rows["chosen"]]
        assert set(rows["restart"]) == set(range(len(found.results))) and set(chosen["restart"]) == {found.winner}
        assert chosen["value"].to_numpy() == pytest.approx(found.spline.values.numpy().ravel(), abs=1e-5)
    waves = sines(functions)
    assert len(waves) == 2 * len(VERSIONS) == sum(trace.name == "learned φ" for trace in one.plot.data)
    assert f"{(waves['explained'] > waves['noise']).sum()} of 8 functions" in one.summary
    one.write(tmp_path, images=False, page=False)
    tables = (pd.read_csv(tmp_path / f"{part}.csv") for part in ("table", "functions"))
    assert json.loads(entry(name).plot(*tables).to_json()) == json.loads(one.plot.to_json())


@pytest.mark.parametrize("name", WITH_CURVES)
def test_shipped_sines_are_those_that_the_probe_finds(name):
    functions = shipped_results(name, resolve_scale(entry(name))).table("functions")
    names = [column for column in ("task", "search") if column in functions]
    for _, rows in functions[functions["chosen"]].groupby(names):
        near = wave(rows["x"].to_numpy(), rows["value"].to_numpy(), rows["density"].to_numpy())
        assert rows["explained"].iloc[0] == pytest.approx(near.explained, abs=2e-3)
        assert rows["noise"].iloc[0] == pytest.approx(near.noise, abs=2e-3)
        assert rows["frequency"].iloc[0] == pytest.approx(near.frequency, abs=0.02)


@pytest.mark.parametrize("name", WITH_CURVES)
def test_a_sine_is_in_the_legend_where_one_is_drawn(name):
    """The first panel of Figure 28 has none; Figure 11 has none at all."""
    traces = [trace for trace in read(entry(name), "laptop").plot.data if trace.name == "nearest sine"]
    drawn = [trace for trace in traces if np.isfinite(np.asarray(trace.y, float)).any()]
    assert sum(bool(trace.showlegend) for trace in traces) == bool(drawn)
    assert all(any(trace is one for one in drawn) for trace in traces if trace.showlegend)


@every_scale
def test_each_fraction_has_a_search_that_never_saw_its_test_split(scale):
    labels = {}
    for label, spec in planned("simplicity/fig13", scale, 2):
        labels.setdefault((label["fraction"], label["width"], label["method"]), []).append(spec)
        assert (spec.task.fraction, spec.model.width) == (label["fraction"], label["width"])
        for search in needs(spec):
            assert replace(search.task, held_out=spec.task.held_out) == spec.task, "the same rows are kept for testing"
            assert search == grokking(scale, search.task).search, "widths share the function of their fraction"
    assert all([spec.seed for spec in specs] == [0, 1] for specs in labels.values())


def test_first_steps_are_those_of_the_stored_curves(made, monkeypatch):
    table, reachable = made["simplicity/fig13"].table, 0.03
    assert table["step"].isna().all(), "nothing is learned at this scale"
    assert {trace.name for trace in made["simplicity/fig13"].plot.data if len(trace.x)} >= {"ReLU, never"}
    monkeypatch.setattr(first_steps, "LEVEL", reachable)
    runs = [(labels, Run(spec, Store())) for labels, spec in planned("simplicity/fig13")]
    found = first_steps.steps_to_level(runs)
    assert found["step"].notna().any()
    for (_, run), row in zip(runs, found.itertuples(), strict=True):
        curve = run.accuracy_on("test")
        if (curve < reachable).all():
            assert np.isnan(row.step)
        else:
            at = int(np.argmax(curve >= reachable))
            assert run.steps[max(at - 1, 0)] <= row.step <= run.steps[at]
        assert row.accuracy == pytest.approx(curve[-1], abs=1e-4)


def test_a_caption_counts_runs_that_fall_back_and_never_leaves_some_out_of_a_ratio():
    rows = [(RELU, seed, step, 1.0) for seed, step in enumerate((400.0, 400.0, np.nan))]
    rows += [(LEARNED, seed, 100.0, end) for seed, end in enumerate((1.0, 1.0, 0.4))]
    table = pd.DataFrame(rows, columns=["method", "seed", "step", "accuracy"])
    table = table.assign(task="a+b mod 27", fraction=0.6, width=64, last=3200, diverged=False)
    assert first_steps._summary(table) == (
        "To 95 %, the learned function is 8.0 times as fast as ReLU in 1 setting. But with 60 % and width 64, 1 of 3"
        " runs fall back, to 40 % at the end."
    ), "the third run of ReLU has its last step"


def test_how_much_sooner_depends_on_the_size_where_ratios_do():
    def said(*firsts, wide=((1.0, RELU, 1000, 512),)):
        steps = np.arange(100, 2001, 100)
        kinds = [
            (1.0, RELU, 1000, 64),
            (1.0, LEARNED, firsts[0], 64),
            (0.5, RELU, 1000, 64),
            (0.5, LEARNED, firsts[1], 64),
        ]
        parts = [
            pd.DataFrame(
                {"step": steps, "accuracy": (steps >= first + 100 * seed) * 1.0, "seed": seed, "size": size}
            ).assign(method=method, width=width)
            for size, method, first, width in [*kinds, *wide]
            for seed in range(2 if width == 512 else 4)
        ]
        return sizes._summary(pd.concat(parts).assign(task="a+b mod 27", diverged=False))

    assert "depends" not in said(500, 500) and said(500, 500).endswith("4 seeds (2 at width 512).")
    assert said(200, 900).startswith("How much sooner depends on the size. To 95 %,")
    assert said(5000, 900).count(" with ") == 2
    both = said(500, 500, wide=((1.0, RELU, 5000, 512), (0.5, RELU, 900, 512)))
    assert " At width 512, ReLU never gets there with 1, and always with ½. " in both
    assert "At width" not in said(500, 500)
    never = sizes._summary(
        pd.DataFrame({"step": [1, 2], "accuracy": 0.0, "seed": 0, "size": 1.0, "width": 64})
        .merge(pd.DataFrame({"method": [RELU, LEARNED]}), how="cross")
        .assign(task="a+b mod 27", diverged=False)
    )
    assert never == "With no size do runs enough get to 95 % for a ratio. 1 seed."
