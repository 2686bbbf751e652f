"""Appendix F of the simplicity paper (Figures 29, 30): numbers are the stored models', runs are shared."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from lab import probes
from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.papers.claims import FAILS, HOLDS, UNDECIDED
from lab.papers.simplicity import complexity
from lab.papers.simplicity.complexity import CORRELATED, PATHS, PREFACTORS, SAMPLES, SHOWN, TABLES, path_points
from lab.plots.caption import reading
from lab.probes.complexity import draw, frequencies
from lab.run import Run
from lab.scale import COMMON
from lab.spec import replace
from lab.store import Store
from tests.papers.plans import planned

FIG29, FIG30 = "simplicity/fig29", "simplicity/fig30"
each = pytest.mark.parametrize("name", (FIG29, FIG30))


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in (FIG29, FIG30)}


@pytest.mark.parametrize("scale", COMMON)
def test_plans_have_the_papers_prefactors_and_share_their_runs(scale):
    every, few = planned(FIG29, scale), planned(FIG30, scale)
    assert {spec for _, spec in few} <= {spec for _, spec in every}
    told = [(*labels.values(), spec.seed) for labels, spec in every]
    assert len(set(told)) == len(told) == len({spec for _, spec in every})
    prefactors = sorted({labels["prefactor"] for labels, _ in every})
    assert (prefactors[0], prefactors[-1]) == (0.1, 8.0) and (scale == "smoke" or prefactors == list(PREFACTORS))
    rest = set()
    for labels, spec in every:
        assert (spec.model.prefactor, spec.model.layers) == (labels["prefactor"], labels["layers"])
        assert spec.task.name == TABLES[scale] and spec.evaluate == ("test",) and spec.recipe.watch == "val"
        rest.add(replace(spec, seed=0, model=replace(spec.model, prefactor=1.0, layers=1)))
    assert len(rest) == 1, "models differ in nothing else"
    model, recipe = rest.pop().model, every[0][1].recipe
    assert model.phi == "tanh" and recipe.optimizer == "rmsprop"
    assert scale != "paper" or (model.width, recipe.batch) == (256, 4096)


def test_both_measures_are_those_of_the_stored_models(made):
    """Measured another way: by the measures of landscapes, for models with a run axis; and of one probability alone."""
    table = made[FIG29].table
    assert not table["diverged"].any() and set(table["output"]) == {"probability", "before the softmax"}
    for labels, spec in planned(FIG29)[::5]:
        run, train = Run(spec, Store()), spec.task.split(0)["train"]
        own = table[(table["prefactor"] == labels["prefactor"]) & (table["layers"] == labels["layers"])]
        own = own[own["seed"] == spec.seed].set_index("output")
        asked = (train.inputs, train.targets, PATHS, SAMPLES, 0)
        plain, model = own.loc["before the softmax"], run.model()
        assert probes.Variation(*asked)(model).item() == pytest.approx(plain["tv"], rel=1e-3)
        assert probes.Frequency(*asked)(model).item() == pytest.approx(plain["fourier"], rel=1e-3)

        def second(x, model=model):
            return model(x[None])[0].softmax(-1)[:, 1]

        soft = own.loc["probability"]  # both probabilities go up and down alike, whichever a path looks at
        assert probes.total_variation(second, *asked).value == pytest.approx(soft["tv"], rel=1e-3)
        for row in (plain, soft):
            assert row["tv_low"] <= row["tv"] <= row["tv_high"] and 0 < row["tv_low"]
        at = list(run.steps).index(run.notes["kept"])
        assert own["accuracy"].unique().tolist() == [run.accuracy[at]]


def test_paths_join_training_rows_of_different_classes_and_are_those_that_are_measured():
    train = planned(FIG30)[0][1].task.split(0)["train"]
    points, truth = path_points(train)
    drawn, _ = draw(train.inputs, train.targets, PATHS, SAMPLES, 0)
    assert np.array_equal(points, drawn.points(slice(0, SHOWN))), "a column for the class changes no path"
    known = {(*map(float, row), int(label)) for row, label in zip(train.inputs, train.targets, strict=True)}
    for path in range(SHOWN):
        first, last = path * SAMPLES, (path + 1) * SAMPLES - 1
        assert {truth[first], truth[last]} == {0.0, 1.0}
        assert {(*points[first], int(truth[first])), (*points[last], int(truth[last]))} <= known


def test_lines_are_what_the_models_answer(made):
    table = made[FIG30].table
    assert table.groupby("prefactor").size().tolist() == [SHOWN * SAMPLES] * 3
    for labels, spec in planned(FIG30):
        train, model = spec.task.split(0)["train"], Run(spec, Store()).model()
        points, truth = path_points(train)
        own = table[table["prefactor"] == labels["prefactor"]]
        answers = model(torch.from_numpy(points).float()[None])[0].softmax(-1)[:, 1].numpy()
        np.testing.assert_allclose(own["value"], answers, atol=2e-5)
        np.testing.assert_allclose(own["truth"], truth, atol=1e-5)
        for _, rows in own.groupby("path"):
            value = rows["value"].to_numpy()
            left = value - np.linspace(value[0], value[-1], SAMPLES)
            assert np.abs(np.diff(left)).sum() == pytest.approx(rows["tv"].iloc[0], abs=2e-3)
            assert rows["distance"].iloc[[0, -1]].max() < 1e-4, "a path begins and ends at data"
        some = np.array([3, 50, 333])
        distance = np.sqrt(((points[some][:, None] - train.inputs.double().numpy()) ** 2).sum(-1)).min(1)
        np.testing.assert_allclose(own["distance"].to_numpy()[some], distance, atol=1e-4)


def planted(relation):
    """Models whose Fourier complexity is `relation` of their total variation."""
    tv, rng = np.geomspace(0.01, 10, 12), np.random.default_rng(0)
    rows = [
        {
            "prefactor": alpha,
            "layers": 1 + i % 2,
            "seed": seed,
            "output": output,
            "tv": value,
            "fourier": relation(value, rng),
        }
        for output in ("probability", "before the softmax")
        for seed in range(3)
        for i, (alpha, value) in enumerate(zip(PREFACTORS, tv, strict=True))
    ]
    table = pd.DataFrame(rows)
    for name in ("tv", "fourier"):
        table[f"{name}_low"], table[f"{name}_high"] = 0.9 * table[name], 1.1 * table[name]
    return table.assign(accuracy=0.8, diverged=False)


@pytest.mark.parametrize(
    ("relation", "word"),
    [(lambda tv, rng: np.sqrt(tv), HOLDS), (lambda tv, rng: rng.random(), FAILS), (lambda tv, rng: -tv, FAILS)],
)
def test_the_claim_is_about_ranks(relation, word):
    found = CORRELATED.measure(planted(relation))
    assert found.word == word and found.n == 12, "models, not their seeds"
    few = planted(relation).query("prefactor in @PREFACTORS[:4]")
    assert CORRELATED.measure(few).word == UNDECIDED, "four models have no interval"


def test_a_parabola_has_one_frequency_however_flat():
    """As the key of the plot says. Its Fourier series has 1 / k³ for odd k: half of Σ 1 / k² over Σ 1 / k³."""
    odd = np.arange(1.0, 100_000, 2)
    wanted = (odd**-2).sum() / (odd**-3).sum() / 2
    x = np.linspace(-1, 1, SAMPLES)
    for height in (1e-3, 1.0):
        assert frequencies(height * x**2) == pytest.approx(wanted, abs=0.005)
    assert f"{wanted:.2f}" == "0.59" and "it is 0.59" in reading(complexity.fig29(planted(lambda tv, rng: tv)))


@each
def test_captions_and_provenance_name_the_table_and_what_departs(made, name):
    one, facts = made[name], made[name].provenance
    check(facts)
    theirs = "paper has ELECTRICITY" if name == FIG29 else "paper does not name its table"
    assert "MagicTelescope" in one.caption and theirs in one.caption and "(paper scale" in one.caption
    assert one.summary in one.full_caption and reading(one.plot) in one.full_caption
    assert [source["name"] for source in facts["data"]] == ["MagicTelescope"] and len(facts["data"][0]["sha256"]) == 64
    assert set(facts["runs"]) == {Run(spec, Store()).key for _, spec in planned(name)}
    paper = entry(name).origin
    assert not any("paper has" in text for text in paper.departures("paper")), "there it is the paper's own table"


def test_the_plot_of_both_measures_holds_every_model():
    table = planted(lambda tv, rng: tv)
    drawn = complexity.fig29(table)
    assert sum(len(trace.x) for trace in drawn.data) == len(table)
    assert np.isclose(sorted(value for trace in drawn.data for value in trace.y), sorted(table["tv"])).all()
    colours = {float(colour) for trace in drawn.data for colour in trace.marker.color}
    assert np.isclose(sorted(colours), np.log10(PREFACTORS)).all()
    assert len({trace.marker.symbol for trace in drawn.data}) == 2 and "Not drawn" not in reading(drawn)
    table.loc[0, "tv"] = 0.0
    assert f"1 of {len(table)}" in reading(complexity.fig29(table)), "a logarithm knows no 0"


def test_the_plot_of_paths_has_a_line_for_each_model_on_each_path(made):
    table, drawn = made[FIG30].table, made[FIG30].plot
    lines = [trace for trace in drawn.data if trace.name.startswith("α")]
    assert len(lines) == 3 * SHOWN and sum(trace.showlegend for trace in lines) == 3
    groups = {(f"α = {alpha:g}", path): rows for (alpha, path), rows in table.groupby(["prefactor", "path"])}
    found = {tuple(trace.y) for trace in lines}
    assert found == {tuple(rows["value"]) for rows in groups.values()}
    ends = [trace for trace in drawn.data if trace.mode == "markers"]
    assert len(ends) == SHOWN and all(sorted(trace.y) == [0, 1] for trace in ends)
    assert json.loads(drawn.to_json())["layout"]["height"] < 700
