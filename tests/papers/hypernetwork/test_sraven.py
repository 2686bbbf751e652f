"""SRAVEN with one thing varied (Figures 4B, 5C, 5D, A4, A5, A7): plans, the stored models' numbers, drawings."""

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.papers.hypernetwork.settings import FIGURE_METHODS, choose, finals
from lab.papers.hypernetwork.sraven import ACCURACY, accuracy, summary
from lab.plots import latent_codes
from lab.plots.caption import reading
from lab.plots.style import method_title
from lab.run import Run
from lab.scale import COMMON
from lab.spec import replace
from lab.statistics import over_seeds
from lab.store import Store
from lab.tasks.stream import Stream
from tests.papers import tables
from tests.papers.plans import planned

VARIED = {"fig4b": "layers", "fig5c": "heads", "fig5d": "features", "figA5": "held_out"}
NAMES = [*VARIED, "figA4", "figA7"]
each = pytest.mark.parametrize("name", VARIED)


@pytest.fixture(scope="module")
def made():
    return {name: figure(f"hypernetwork/{name}", "smoke", progress=False) for name in NAMES}


def value_of(spec, by):
    return getattr(spec.model if by in ("layers", "heads") else spec.task, by)


@each
@pytest.mark.parametrize("scale", COMMON)
def test_runs_differ_in_method_value_and_seed_alone(name, scale):
    by, rest = VARIED[name], set()
    for labels, spec in planned(f"hypernetwork/{name}", scale, 2):
        assert value_of(spec, by) == labels[by] and labels["problems"] == spec.recipe.steps * spec.recipe.batch
        assert (spec.recipe.rate, spec.recipe.decay) == (labels["rate"], labels["decay"]) and "val" in spec.evaluate
        model = replace(
            spec.model, normalization="", network="", phi="", **({by: 0} if by in ("layers", "heads") else {})
        )
        task = spec.task if by in ("layers", "heads") else replace(spec.task, **{by: 3 if by == "features" else 0.5})
        rest.add((task, model, replace(spec.recipe, rate=0, decay=0, warmup=0)))
    assert len(rest) == (2 if (name, scale) == ("fig4b", "paper") else 1), "20 and 40 million problems"
    methods = {labels["method"] for labels, _ in planned(f"hypernetwork/{name}", scale, 1)}
    assert methods == set(FIGURE_METHODS)
    points = 8 if scale == "paper" else 1
    told = [tuple(labels.values()) for labels, _ in planned(f"hypernetwork/{name}", scale, 1)]
    assert len(set(told)) == len(told) and len(told) % (3 * points) == 0, "the whole grid at paper scale"


@pytest.mark.parametrize("scale", COMMON)
def test_what_is_not_varied_is_trained_once(scale):
    """The plain runs (4 layers, 16 heads, …) are in all of them, and are those of Figure 4A."""
    sets = [{spec for _, spec in planned(f"hypernetwork/{name}", scale, 1)} for name in ("fig4b", "fig5c", "fig5d")]
    if scale != "paper":  # the paper has no figure A5 at a quarter held out
        sets.append({spec for _, spec in planned("hypernetwork/figA5", scale, 1)})
    shared = set.intersection(*sets)
    features = 4 if scale == "paper" else 2
    assert len(shared) == 3 * (8 if scale == "paper" else 1)
    plain = {(spec.model.layers, spec.model.heads, spec.task.features, spec.task.held_out) for spec in shared}
    assert plain == {(4, 16, features, 0.25)}
    assert shared <= {spec for _, spec in planned("hypernetwork/fig4a", scale, 1)}


def test_a_point_of_the_grid_is_chosen_for_each_axis_of_the_losses():
    """Runs with 4 layers stand in Figure A4 twice: as those of Figure 4A, and as those of Figure 4B."""
    rows = [("problems", 0.1, 0.9), ("problems", 0.2, 0.1), ("layers", 0.1, 0.2), ("layers", 0.2, 0.3)]
    table = pd.DataFrame(rows, columns=["varied", "rate", "accuracy_val"])
    table = table.assign(method="hyla", problems=20_000_000, layers=4, seed=0, decay=0.1, warmup=1_000)
    assert choose(table, "accuracy_val")["chosen"].tolist() == [True, False, False, True]


@pytest.mark.parametrize("scale", COMMON)
def test_losses_and_maps_train_nothing_new(scale):
    known = {spec for name in ("fig4a", "fig4b") for _, spec in planned(f"hypernetwork/{name}", scale, 2)}
    assert {spec for _, spec in planned("hypernetwork/figA4", scale, 2)} == known
    deep = planned("hypernetwork/figA7", scale, 2)
    assert {spec for _, spec in deep} <= known and {labels["method"] for labels, _ in deep} == {"softmax"}
    assert {spec.model.layers for _, spec in deep} == {max(spec.model.layers for spec in known)}
    assert {spec.recipe.steps for _, spec in deep} == {
        max(spec.recipe.steps for _, spec in planned("hypernetwork/fig4b", scale, 1))
    }


@each
def test_accuracies_are_those_of_the_stored_models(made, name):
    """Counted anew, problem by problem."""
    table = made[name].table
    for (labels, spec), (_, row) in list(zip(planned(f"hypernetwork/{name}"), table.iterrows(), strict=True))[::5]:
        run = Run(spec, Store())
        assert all(row[column] == value for column, value in labels.items()) and row["seed"] == spec.seed
        for split in ("ood", "test", "val"):
            stream, right = Stream(spec.task, [spec.seed], 2, split), 0  # as an evaluation of 32 draws them
            for number in range(16):
                problems = stream.at(number)
                right += int((run.model()(problems.inputs).argmax(-1) == problems.targets).all(-1).sum())
            assert row[f"accuracy_{split}"] == pytest.approx(right / 32)
        assert row["chosen"] and row["step"] == spec.recipe.steps


def test_training_losses_are_those_of_the_runs(made):
    table = made["figA4"].table
    for (labels, spec), (_, row) in zip(planned("hypernetwork/figA4"), table.iterrows(), strict=True):
        assert row["loss"] == Run(spec, Store()).loss[-1] and row["varied"] == labels["varied"]
    lines = [trace for trace in made["figA4"].plot.data if trace.name == "HYLA"]
    assert len(lines) == 2, "by problems, by layers"
    for trace, by in zip(lines, ("problems", "layers"), strict=True):
        rows = table[(table["method"] == "hyla") & (table["varied"] == by)]
        np.testing.assert_allclose(trace.y, over_seeds(rows, by, "loss")["mean"])


@each
def test_lines_are_means_of_what_was_chosen(made, name):
    by, one = VARIED[name], made[name]
    worse = one.table.assign(rate=9.0, chosen=False, accuracy_ood=0.123, accuracy_test=0.123)
    both = pd.concat([worse, one.table], ignore_index=True)
    drawn = entry(f"hypernetwork/{name}").plot(both)
    assert json.loads(drawn.to_json()) == json.loads(one.plot.to_json())
    for method in FIGURE_METHODS:
        rows = one.table[one.table["method"] == method]
        for split, end in (("ood", ""), ("test", ", seen combinations")):
            (line,) = [trace for trace in drawn.data if trace.name == method_title(method) + end]
            stats = 100 * over_seeds(rows, by, f"accuracy_{split}")
            np.testing.assert_allclose(line.y, stats["mean"])
            assert list(line.customdata) == list(drawn.layout.xaxis.ticktext)
            assert list(np.argsort(line.x)) == list(range(len(line.x))), "from the least to the most"
    names = set(map(method_title, FIGURE_METHODS))  # beside a line for what guessing gives
    marks = [trace.x[0] for trace in drawn.data if trace.name in names]
    assert len(set(marks)) == 3 and np.ptp(marks) < 0.1 * np.ptp(drawn.layout.xaxis.range), "beside each other"
    assert drawn.layout.yaxis.type != "log" and drawn.layout.yaxis.title.text == ACCURACY
    assert "dots: one run each" in reading(drawn)
    for method in FIGURE_METHODS:
        (dots,) = [trace for trace in drawn.data if trace.name == f"{method_title(method)}, one run"]
        runs = one.table.loc[one.table["method"] == method, "accuracy_ood"]
        np.testing.assert_allclose(dots.y, 100 * runs)
    entries = [trace.name for trace in drawn.data if trace.showlegend is not False]
    assert sorted(entries) == sorted([*names, "guessing", "on seen combinations"]), "every kind of line is named"


@each
def test_models_that_have_not_learned_the_task_are_pale_and_the_first_words(made, name):
    found, table = entry(f"hypernetwork/{name}"), made[name].table
    for share, early in ((0.49, True), (0.51, False)):
        some = table.assign(accuracy_test=share)
        drawn = found.plot(some)
        assert found.summary(some).startswith(words := "Too early for a verdict: 49 %") == early
        assert any(note.text.startswith(f"<b>{words}") for note in drawn.layout.annotations) == early
        assert {trace.opacity for trace in drawn.data if trace.legendgroup} == {0.7 if early else 1}


def test_several_numbers_of_problems_are_a_panel_each(made):
    table = made["fig4b"].table
    more = table.assign(problems=10 * table["problems"], accuracy_ood=table["accuracy_ood"] + 0.1)
    drawn = accuracy(pd.concat([table, more], ignore_index=True), "layers")
    few, many = (trace for trace in drawn.data if trace.name == "HYLA")
    np.testing.assert_allclose(np.array(many.y) - few.y, 10)
    titles = [note.text for note in drawn.layout.annotations]
    assert titles == ["<b>48 problems</b>", "<b>480 problems</b>"] and few.xaxis != many.xaxis


def test_guessing_is_of_as_many_features_as_the_scale_has(made):
    table = made["fig5c"].table
    for problems, features in ((table["problems"], 2), (20_000_000, 4)):
        drawn = accuracy(table.assign(problems=problems), "heads")
        (guess,) = (trace for trace in drawn.data if trace.name == "guessing")
        assert guess.y[0] == 100 / 8**features and f"K = {features} (paper 4)" in reading(drawn)


def test_diverged_runs_are_left_out_and_counted(made):
    table = made["fig5c"].table.copy()
    lost = (table["method"] == "linear") & (table["heads"] == 1) & (table["seed"] == 0)
    table.loc[lost, ["accuracy_ood", "accuracy_test", "loss"]] = np.nan
    table.loc[lost, "diverged"] = True
    drawn = accuracy(table, "heads")
    assert "Diverged runs (left out of means): linear attention: 1 of 4." in reading(drawn)
    (line,) = [trace for trace in drawn.data if trace.name == "linear attention"]
    (kept,) = table.loc[(table["method"] == "linear") & (table["heads"] == 1) & ~lost, "accuracy_ood"]
    assert line.y[0] == pytest.approx(100 * kept)
    words = summary(table.assign(accuracy_ood=np.nan), "heads")
    assert "–, –" in words and "nan" not in words


def test_how_alike_neighbours_are_in_each_layer_stands_above_maps_of_the_last_ones():
    """Where the labels lie apart; else there are no maps, and the title says so."""
    noise = tables.maps(("rule", "target"), layers=5, methods=["softmax", "linear"])
    last = (noise["colouring"] == "rule") & (noise["layer"] == 4)
    apart = noise.assign(x=noise["x"] + 99 * noise["label"].where(last).astype(float).fillna(0))
    same = (apart["method"] == "linear") & (apart["layer"] == 2)
    apart.loc[same, ["x", "y"]] = 0.0
    assert latent_codes.clustered(apart) and not latent_codes.clustered(noise)
    drawn = latent_codes.layers(apart, ("rule",))
    top, *rows = [axis.title.text for axis in drawn.select_yaxes() if axis.title.text]
    assert top.startswith("neighbours alike")
    assert rows == [f"<b>layer {layer}</b><br>by rule" for layer in (2, 4, 5)], "in layer 3 one method has one code"
    assert "same code in layer 3 of linear attention" in reading(drawn)
    alone = latent_codes.layers(noise, ("rule",), none="nothing")
    assert [note.text for note in alone.layout.annotations] == ["<b>nothing</b>"]
    for table, plot in ((apart, drawn), (noise, alone)):
        for method, name in product(("softmax", "linear"), ("rule", "target")):
            (trace,) = [trace for trace in plot.data if trace.name == f"{method} attention, by {name}"]
            of_one = table[(table["colouring"] == name) & (table["method"] == method)]
            found = [latent_codes.above_chance(rows) for _, rows in of_one.groupby("layer")]
            np.testing.assert_array_equal(trace.y, found)
            np.testing.assert_array_equal(trace.x, np.arange(5) + 6 * (name == "target"))
        assert "by chance" in reading(plot)


def test_the_deep_model_is_read_layer_by_layer(made):
    table, ((_, spec),) = made["figA7"].table, planned("hypernetwork/figA7")
    assert set(table["layer"]) == set(range(spec.model.layers)) and set(table["method"]) == {"softmax"}
    problems = finals([(labels, Run(run, Store())) for labels, run in planned("hypernetwork/figA7")])
    assert problems["chosen"].all()
    assert set(table["accuracy"]) == {round(float(problems["accuracy_ood"].mean()), 4)}
    last = table[(table["layer"] == spec.model.layers - 1) & (table["colouring"] == "rule")]
    other = figure("hypernetwork/figA6", "smoke", progress=False).table  # the same model: 4 layers are most here
    same = other[(other["method"] == "softmax") & (other["layer"] == 3) & (other["colouring"] == "rule")]
    np.testing.assert_array_equal(last[["x", "y", "label"]].to_numpy(), same[["x", "y", "label"]].to_numpy())
    assert set(table["colouring"]) == {"rule", "target"}


@pytest.mark.parametrize("name", NAMES)
def test_captions_and_provenance(made, name):
    one = made[name]
    check(one.provenance)
    assert set(one.provenance["runs"]) == {Run(spec, Store()).key for _, spec in planned(f"hypernetwork/{name}")}
    for word in ("Scale smoke", "Steps: sraven 6", "lab.tasks from each run's seed", "48 problems", one.summary):
        assert word in one.caption
    assert not re.search(r"\bnan\b", one.full_caption) and one.provenance["guesses"]
    for scale in COMMON:
        facts = entry(f"hypernetwork/{name}").origin.hyperparameters(scale)
        specs = [spec for _, spec in planned(f"hypernetwork/{name}", scale, 1)]
        assert {facts["sraven: batch"]["value"]} == {spec.recipe.batch for spec in specs}
        assert {facts["sraven: width"]["value"]} == {spec.model.width for spec in specs}
