"""Plots of codes hold the numbers of their tables, name their axes and say how to be read; all from made-up tables."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from lab.plots import latent_codes, similarity
from lab.plots.caption import reading
from lab.plots.style import METHOD_COLOURS, METHOD_SYMBOLS, method_title
from lab.statistics import over_seeds
from tests.papers import tables

TERMS = [str(term) for term in range(12)]
MADE = {
    "maps": (latent_codes.maps, tables.maps()),
    "maps of many labels": (latent_codes.maps, tables.maps(("function",), labels=66)),
    "by layer": (latent_codes.by_layer, tables.decoders(seeds=5)),
    "by class": (latent_codes.by_class, tables.decoders(TERMS, seeds=5, layers=2)),
    "one matrix": (similarity.matrices, tables.similarities()),
    "matrices": (similarity.matrices, tables.similarities(tables.HYPER)),
    "codes": (similarity.codes, tables.codes()),
}
SAYS = {
    "maps": ("0 by chance", "sizes mean nothing"),
    "maps of many labels": ("labels beyond the 7 most frequent",),
    "by layer": ("Band: 95 % confidence interval", "Dashed", "shuffled labels"),
    "by class": ("Whiskers: 95 % confidence interval", "Dashed", "shuffled labels"),
    "one matrix": ("mean over 2 seeds",),
    "matrices": ("mean over 2 seeds",),
    "codes": ("the mean of all of that rule",),
}


def drawn(name, table=None):
    plot, made = MADE[name]
    return plot(made if table is None else table)


@pytest.mark.parametrize("name", MADE)
def test_axes_are_named_the_key_is_complete_and_the_table_stays(name):
    table = MADE[name][1]
    before = table.copy(deep=True)
    figure = drawn(name)
    pd.testing.assert_frame_equal(table, before)
    for axes in (figure.select_xaxes(), figure.select_yaxes()):
        assert {axis.title.text for axis in axes} - {None, ""}
    for words in SAYS[name]:
        assert words in reading(figure)
    assert None not in (figure.layout.height, figure.layout.margin.l, figure.layout.margin.b), "captions need them"
    assert json.loads(figure.to_json())["layout"]["meta"]["reading"] == reading(figure)


def test_maps_have_each_point_once_in_its_panel():
    figure, table = drawn("maps"), MADE["maps"][1]
    panels = {}
    for trace in figure.data:
        panels.setdefault(trace.yaxis, []).append(trace)
    groups = table.groupby(["layer", "colouring", "method"], sort=False)
    rows = [
        (layer, colouring, method)
        for layer in range(2)
        for colouring in ("target", "term 1")
        for method in tables.HYPER
    ]
    assert len(panels) == len(groups) == len(rows)
    for key, traces in zip(rows, panels.values(), strict=True):
        own = groups.get_group(key)
        points = np.concatenate([np.stack([trace.x, trace.y], 1) for trace in traces])
        assert sorted(map(tuple, points)) == sorted(zip(own["x"], own["y"], strict=True))
        if key[1] == "target":
            np.testing.assert_array_equal(traces[0].marker.color, own["value"])
        else:
            for trace in traces:
                named = own[own["label"] == re.match("[^<]*", trace.hovertemplate)[0]]
                np.testing.assert_array_equal(trace.x, named["x"])
    notes = [note.text for note in figure.layout.annotations if note.hovertext]
    for key, note in zip(rows, notes, strict=True):
        own = groups.get_group(key)
        alike, chance = latent_codes.neighbours(own)
        assert note == f"alike: <b>{(alike - chance) / (1 - chance):.2f}</b>".replace("-", "−")


def test_maps_of_one_code_say_so_and_rows_of_them_are_gone():
    table = tables.maps(("a", "b"))
    one = (table["layer"] == 0) & (table["method"] == "hyla")
    table.loc[one, ["x", "y"]] = 0.0
    figure = latent_codes.maps(table)
    titles = [axis.title.text for axis in figure.select_yaxes() if axis.title.text]
    assert titles == [f"<b>layer {layer}</b><br>by {name}" for layer in (1, 2) for name in "ab"]
    assert [note.text for note in figure.layout.annotations].count("one code for all examples") == 2
    assert not any(trace.x[0] == 0.0 and set(trace.x) == {0.0} for trace in figure.data), "no dot for all points"
    table.loc[table["layer"] == 0, ["x", "y"]] = 0.0
    left = [axis.title.text for axis in latent_codes.maps(table).select_yaxes() if axis.title.text]
    assert left == titles[2:]


@pytest.mark.parametrize("name", ["maps", "maps of many labels"])
def test_labels_look_the_same_in_all_panels_and_no_two_named_ones_alike(name):
    figure, table = drawn(name), MADE[name][1]
    looks = latent_codes.looks(table)
    marks = [look for look in looks.values() if look[0] != latent_codes.OTHER_INK]
    assert len(set(marks)) == len(marks) and set(looks) == set(table["label"].dropna())
    for _, rows in table.dropna(subset=["label"]).groupby("colouring"):
        inks = [looks[label][0] for label in rows["label"].unique() if looks[label][0] != latent_codes.OTHER_INK]
        assert len(inks) == len(set(inks)) <= len(latent_codes.COLOURS), "one colour, one label"
    listed = [trace.name for trace in figure.data if trace.showlegend]
    assert len(listed) == len(set(listed))
    assert set(listed) >= {label for label, (ink, _) in looks.items() if ink != latent_codes.OTHER_INK}
    counts = table["label"].value_counts()
    rare = [label for label, (ink, _) in looks.items() if ink == latent_codes.OTHER_INK]
    assert all(counts[label] <= counts[mark] for label in rare for mark in looks if mark not in rare)
    assert bool(rare) == ("Light grey" in reading(figure)) == ("other" in listed)


def test_neighbours_of_clusters_are_alike_and_those_of_noise_are_as_chance_has_it():
    rng = np.random.default_rng(0)
    label = np.repeat(list("abcd"), 60)
    apart = pd.DataFrame({"x": 50.0 * np.repeat(np.arange(4), 60) + rng.normal(size=240), "y": rng.normal(size=240)})
    clusters = apart.assign(label=label, value=np.nan)
    assert latent_codes.neighbours(clusters) == (1.0, pytest.approx(59 / 239))
    found, chance = latent_codes.neighbours(clusters.assign(label=rng.permutation(label)))
    assert abs(found - chance) < 0.04
    values = apart.assign(label=None, value=apart["x"])
    assert latent_codes.neighbours(values)[0] > 0.99
    assert abs(latent_codes.neighbours(values.assign(value=rng.normal(size=240)))[0]) < 0.2
    assert np.isnan(latent_codes.neighbours(clusters.assign(x=0.0, y=0.0))[0]), "one place has no neighbours"


def test_pca_says_nothing_of_distances_and_numbers_need_no_legend():
    figure = latent_codes.maps(tables.maps(("magnitude",), embedding="pca"))
    assert "mean nothing" not in reading(figure) and "PCA" in figure.layout.xaxis4.title.text
    assert figure.layout.coloraxis.colorbar.title.text == "magnitude"


def test_lines_over_layers_are_means_and_controls():
    figure, table = drawn("by layer"), MADE["by layer"][1]
    for method in tables.HYPER:
        rows = table[table["method"] == method]
        (line,) = [trace for trace in figure.data if trace.name == method_title(method)]
        stats = 100 * over_seeds(rows, "layer", "value")
        np.testing.assert_array_equal(line.x, [1, 2, 3, 4])
        np.testing.assert_allclose(line.y, stats["mean"])
        np.testing.assert_allclose(line.customdata, stats["half"])
        assert (line.line.color, line.marker.symbol) == (METHOD_COLOURS[method], METHOD_SYMBOLS[method])
    (dotted,) = [trace for trace in figure.data if trace.name == "trained on shuffled labels"]
    np.testing.assert_allclose(dotted.y, 100 * table.groupby("layer")["shuffled"].mean())
    (dashed,) = [trace for trace in figure.data if trace.name == "best constant answer"]
    np.testing.assert_allclose(dashed.y, 20)


def test_points_of_classes_are_above_a_constant_answer_and_so_are_their_means():
    figure, table = drawn("by class"), MADE["by class"][1]
    gaps = table.assign(**{name: 100 * (table[name] - table["chance"]) for name in ("value", "shuffled")})
    means = gaps.groupby(["method", "layer", "seed"])[["value", "shuffled"]].mean().reset_index()
    below = gaps[gaps["layer"] == 1]
    best_first = sorted(TERMS, key=lambda term: -below.loc[below["label"] == term, "value"].mean())
    for axis, rows, by, places in (("y", means, "layer", [0, 1]), ("y2", below, "label", best_first)):
        for method in tables.HYPER:
            (points,) = [t for t in figure.data if t.name == method_title(method) and t.yaxis == axis]
            stats = over_seeds(rows[rows["method"] == method], by, "value").loc[places]
            np.testing.assert_allclose(points.y, stats["mean"])
            np.testing.assert_allclose(points.error_y.array, stats["half"])
            assert (np.round(points.x) == np.arange(len(places))).all()
        (dotted,) = [t for t in figure.data if t.name == "trained on shuffled labels" and t.yaxis == axis]
        np.testing.assert_allclose(dotted.y[::3], rows.groupby(by)["shuffled"].mean()[places])
        assert np.isnan(dotted.y[2::3]).all()
    assert list(figure.layout.xaxis2.ticktext) == best_first != TERMS


def test_parts_that_examples_vary_in_stand_side_by_side():
    table = MADE["by class"][1]
    both = pd.concat([table.assign(part=""), table.assign(part=", other", value=0.0)], ignore_index=True)
    figure = latent_codes.by_class(both)
    assert list(figure.layout.xaxis.ticktext) == ["layer 1", "layer 2", "layer 1<br>other", "layer 2<br>other"]
    (alone, also) = (
        [t.y for t in one.data if t.name == "HYLA" and t.yaxis == "y2"] for one in (drawn("by class"), figure)
    )
    np.testing.assert_array_equal(alone, also)


@pytest.mark.parametrize("name", ["by layer", "by class"])
def test_runs_of_few_seeds_are_drawn_in_the_place_of_their_interval(name):
    """From three seeds it reaches from 0 to 100 %, and hides what there is."""
    table = MADE[name][1]
    few = table[table["seed"] < 3]
    figure = drawn(name, few)
    assert "with 3 of them an interval would fill the panel" in reading(figure) and "95 %" not in reading(figure)
    assert not any(trace.fill or trace.error_y.array is not None for trace in figure.data)
    runs = [trace for trace in figure.data if "seed " in trace.name or "one run" in trace.name]
    drawn_values = np.sort(np.concatenate([trace.y for trace in runs]))
    if name == "by class":
        gaps = few.assign(value=few["value"] - few["chance"])
        means = gaps.groupby(["method", "layer", "seed"])["value"].mean()
        few = pd.DataFrame({"value": [*gaps.loc[gaps["layer"] == 1, "value"], *means]})
    np.testing.assert_allclose(drawn_values, np.sort(100 * few["value"]))


@pytest.mark.parametrize("name", ["by layer", "by class"])
def test_a_layer_from_which_nothing_can_be_read_is_left_out_and_named(name):
    table = MADE[name][1]
    blind = table["value"].where((table["layer"] > 0) | (table["method"] == "softmax"), table["shuffled"])
    figure = drawn(name, table.assign(value=blind))
    words = reading(figure)
    assert all((f"layer 1 of {method_title(method)}" in words) == (method != "softmax") for method in tables.HYPER)
    (softmax,), (hyla,) = (
        [trace for trace in figure.data if trace.name == title and trace.yaxis in ("y", None)]
        for title in ("softmax attention", "HYLA")
    )
    known = [np.isfinite(np.array(trace.y, float)).sum() for trace in (softmax, hyla)]
    assert known[0] == known[1] + 1 and "same code" not in reading(drawn(name))


def test_one_code_is_said_of_the_part_it_is_in_and_of_no_single_decoder():
    table = MADE["by class"][1]
    blind = (table["layer"] == 0) & (table["method"] == "hyla")
    parts = [
        table.assign(part=", context varies", value=table["value"].where(~blind, table["shuffled"])),
        table.assign(part=", query varies"),
    ]
    words = reading(latent_codes.by_class(pd.concat(parts, ignore_index=True)))
    assert "same code in layer 1 of HYLA (context varies)." in words
    alone = table[blind & (table["seed"] == 0)].head(1).assign(value=0.0, shuffled=0.0)
    assert len(latent_codes.with_codes(alone)[0]) == 1, "an F1 of 0 is no sign of one code"
    last = (table["layer"] == 1) & (table["method"] == "softmax")
    few = table[blind | last].assign(value=table["value"].where(~last, table["shuffled"]))
    assert "layer 1: each term" in [note.text[3:-4] for note in latent_codes.by_class(few).layout.annotations]


@pytest.mark.parametrize("name", ["by layer", "by class"])
def test_where_nothing_can_be_read_in_any_layer_the_plot_says_so(name):
    table = MADE[name][1]
    figure = drawn(name, table.assign(value=table["shuffled"]))
    assert "layer 2 of softmax attention" in reading(figure) and not figure.data


def test_a_single_method_stands_on_its_ticks():
    table = MADE["by class"][1]
    (top, _) = (trace for trace in drawn("by class", table[table["method"] == "hyla"]).data if trace.name == "HYLA")
    np.testing.assert_array_equal(top.x, [0, 1])


def test_one_seed_has_no_interval():
    for name in ("by layer", "by class"):
        table = MADE[name][1]
        figure = drawn(name, table[table["seed"] == 0])
        assert "One seed only" in reading(figure)
        assert not any(trace.name.endswith("interval") for trace in figure.data)


def test_matrices_are_means_over_seeds_in_the_order_of_the_labels():
    figure, table = drawn("matrices"), MADE["matrices"][1]
    drawn_ = [trace for trace in figure.data if trace.customdata is not None]
    for trace, method in zip(drawn_, ("hyla", "softmax", "linear"), strict=True):
        assert list(trace.x) == list(trace.y) == tables.RULES and trace.name == method_title(method)
        own = table[table["method"] == method]
        every = own[own["a"] != own["b"]].groupby(["a", "b"])["similarity"].mean().mean()
        for a, b in np.ndindex(8, 8):
            one, other = tables.RULES[a], tables.RULES[b]
            cell = own[(own["a"] == one) & (own["b"] == other)]
            assert trace.customdata[a][b][:2] == pytest.approx([cell["similarity"].mean(), cell["pairs"].mean()])
            shade = cell["similarity"].mean() - every
            assert np.isnan(trace.z[a][b]) if a == b else trace.z[a][b] == pytest.approx(shade)
    assert figure.layout.coloraxis.cmin == -figure.layout.coloraxis.cmax


def test_the_cells_of_a_pair_have_a_frame():
    framed = similarity.matrices(MADE["matrices"][1], pair=(tables.RULES[2], tables.RULES[5]))
    corners = [(shape.x0, shape.y0) for shape in framed.layout.shapes]
    assert corners == [(1.5, 4.5), (4.5, 1.5)] * 3 and "Framed" in reading(framed)
    assert "Framed" not in reading(similarity.matrices(MADE["matrices"][1], pair=(tables.RULES[2], "absent")))


def test_cells_that_fewer_seeds_have_are_slanted():
    table = MADE["matrices"][1]
    some = table[~((table["seed"] == 0) & (table[["a", "b"]] == tables.RULES[0]).any(axis=1))]
    figure = drawn("matrices", some)
    for trace in (trace for trace in figure.data if trace.type == "scatter"):
        slanted = ["<i>" in text for text in trace.text]
        assert slanted == [tables.RULES[0] in pair for pair in zip(trace.x, trace.y, strict=True)]
    assert "15 cells a panel" in reading(figure) and "slanted" not in reading(drawn("matrices"))


def test_one_matrix_has_its_numbers_in_it():
    _, matrix, numbers = drawn("one matrix").data
    assert len(numbers.text) == 64 and numbers.text[0] == "1.00"
    for text, a, b in zip(numbers.text, numbers.y, numbers.x, strict=True):
        value = matrix.customdata[tables.RULES.index(a)][tables.RULES.index(b)][0]
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=0.0051)


def test_codes_are_drawn_less_the_mean_of_labels_with_the_mean_of_each_below_its_examples():
    figure, table = drawn("codes"), MADE["codes"][1]
    for trace, method in zip(figure.data, ("hyla", "softmax", "linear"), strict=True):
        own = table[table["method"] == method].copy()
        means = own[own["kind"] == "mean"].pivot(index="label", columns="head", values="value")
        own["value"] -= own["head"].map(means.mean())
        largest = own.loc[own["kind"] == "sample", "value"].abs().quantile(0.95)
        heads = [int(row[2]) - 1 for row in trace.customdata[0]]
        assert heads == list(means.std().sort_values(ascending=False, kind="stable").index)
        labels = [row[0][0] for row in trace.customdata]
        assert list(dict.fromkeys(labels)) == list(dict.fromkeys(own["label"])) and len(trace.y) == len(trace.z) + 1
        for label in set(labels):
            rows = own[own["label"] == label].pivot(index=["kind", "row"], columns="head", values="value")[heads]
            block = np.array(trace.z)[np.array(labels) == label]
            np.testing.assert_allclose(block[-1], rows.loc["mean"].to_numpy()[0] / largest)
            np.testing.assert_allclose(block[:-1], rows.loc["sample"] / largest)
    digits = [note.text for note in figure.layout.annotations if re.fullmatch(r"\d/\d", note.text)]
    right = sum(int(text.split("/")[0]) for text in digits)
    examples = table[(table["kind"] == "sample") & (table["head"] == 0)].groupby("method").size()
    assert right == pytest.approx((similarity.nearest_means(table) * examples).sum())


def test_examples_next_to_the_mean_of_their_label_are_counted():
    table = MADE["codes"][1]
    means = table[table["kind"] == "mean"].set_index(["method", "label", "head"])["value"]
    keys = pd.MultiIndex.from_frame(table[["method", "label", "head"]])
    assert (similarity.nearest_means(table.assign(value=means.reindex(keys).to_numpy())) == 1).all()
    labels = list(dict.fromkeys(table["label"]))
    other = table["label"].map(dict(zip(labels, labels[1:] + labels[:1], strict=True)))
    keys = pd.MultiIndex.from_frame(table.assign(label=other)[["method", "label", "head"]])
    wrong = table["value"].where(table["kind"] == "mean", means.reindex(keys).to_numpy())
    assert (similarity.nearest_means(table.assign(value=wrong)) == 0).all(), "each at the mean of another"
