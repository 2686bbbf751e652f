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
    "maps": ("trustworthiness", "sizes mean nothing"),
    "maps of many labels": ("labels beyond the 7 most frequent",),
    "by layer": ("Band: 95 % confidence interval", "Dashed", "shuffled labels"),
    "by class": ("Whiskers: 95 % confidence interval", "Dashed", "shuffled labels"),
    "one matrix": ("mean over 2 seeds", "single examples"),
    "matrices": ("mean over 2 seeds",),
    "codes": ("divided by its own largest score",),
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
        told = f"{100 * alike:.0f} % ({100 * chance:.0f})"
        if key[1] == "target":
            told = f"r = {alike:.2f}".replace("-", "−")
        assert note == told


@pytest.mark.parametrize(("columns", "heads"), [("layer", ["layer 1", "layer 2"]), ("colouring", ["by a", "by b"])])
def test_maps_of_one_code_are_left_out_and_rows_of_them_are_gone(columns, heads):
    table = tables.maps(("a", "b"))
    one = (table["layer"] == 0) & (table["method"] == "hyla")
    table.loc[one, ["x", "y"]] = 0.0
    figure = latent_codes.maps(table, columns=columns)
    notes = [note.text for note in figure.layout.annotations]
    assert [f"<b>{head}</b>" for head in heads] == notes[:2]
    titles = [axis.title.text for axis in figure.select_yaxes() if axis.title.text]
    beside = {"layer": ("<b>HYLA</b><br>by a", 6, 2), "colouring": ("<b>HYLA</b><br>layer 2", 5, 0)}[columns]
    assert (beside[0] in titles, len(titles), notes.count("one code for all")) == (True, *beside[1:])
    assert "<b>HYLA</b><br>layer 1" not in titles
    assert not any(trace.x[0] == 0.0 and set(trace.x) == {0.0} for trace in figure.data), "no dot for all points"


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


def test_points_of_classes_are_means_and_controls():
    figure, table = drawn("by class"), MADE["by class"][1]
    for layer, axis in enumerate(("y", "y2")):
        rows = table[table["layer"] == layer]
        for method in tables.HYPER:
            (points,) = [t for t in figure.data if t.name == method_title(method) and t.yaxis == axis]
            stats = 100 * over_seeds(rows[rows["method"] == method], "label", "value").loc[TERMS]
            np.testing.assert_allclose(points.y, stats["mean"])
            np.testing.assert_allclose(points.error_y.array, stats["half"])
            assert (np.round(points.x) == np.arange(12)).all()
        (dotted,) = [t for t in figure.data if t.name == "trained on shuffled labels" and t.yaxis == axis]
        np.testing.assert_allclose(dotted.y[::3], 100 * rows.groupby("label")["shuffled"].mean()[TERMS])
        assert np.isnan(dotted.y[2::3]).all()
    assert list(figure.layout.xaxis2.ticktext) == TERMS


def test_whiskers_of_shares_end_at_0_and_100():
    table = MADE["by class"][1]
    wide = table.assign(value=np.where(table["seed"] < 3, 0.01, 0.99))
    for points in (trace for trace in drawn("by class", wide).data if trace.mode == "markers"):
        ends = points.y - points.error_y.arrayminus, points.y + points.error_y.array
        np.testing.assert_allclose(ends, [np.zeros(12), np.full(12, 100)], atol=1e-9)
        assert (np.array([half for _, half in points.customdata]) > 50).all(), "hovering tells the whole interval"


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
    np.testing.assert_allclose(drawn_values, np.sort(100 * few["value"]))


def test_a_layer_from_which_nothing_can_be_read_is_explained():
    table = MADE["by class"][1]
    blind = table["value"].where((table["layer"] > 0) | (table["method"] == "softmax"), 0.0)
    figure = drawn("by class", table.assign(value=blind))
    (note,) = [note.text for note in figure.layout.annotations if "one code for all examples" in note.text]
    assert all((method_title(method) in note) == (method != "softmax") for method in tables.HYPER)
    shown = {trace.name: trace.yaxis for trace in figure.data if trace.showlegend}
    assert (shown["softmax attention"], shown["HYLA"]) == ("y", "y2"), "named where it is first drawn"
    assert not any("one code" in note.text for note in drawn("by class").layout.annotations)


def test_one_seed_has_no_interval():
    for name in ("by layer", "by class"):
        table = MADE[name][1]
        figure = drawn(name, table[table["seed"] == 0])
        assert "One seed only" in reading(figure)
        assert not any(trace.name.endswith("interval") for trace in figure.data)


def test_matrices_are_means_over_seeds_in_the_order_of_the_labels():
    figure, table = drawn("matrices"), MADE["matrices"][1]
    drawn_ = [trace for trace in figure.data if trace.type == "heatmap"]
    for trace, method in zip(drawn_, tables.HYPER, strict=True):
        assert list(trace.x) == list(trace.y) == tables.RULES
        own = table[table["method"] == method]
        for a, b in np.ndindex(8, 8):
            one, other = tables.RULES[a], tables.RULES[b]
            cell = own[(own["a"] == one) & (own["b"] == other)]
            assert trace.z[a][b] == pytest.approx(cell["similarity"].mean())
            assert trace.customdata[a][b][0] == pytest.approx(cell["pairs"].mean())
    lowest = min(np.min(trace.z) for trace in drawn_)
    ends = figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax
    assert ends[0] <= lowest and ends[1] == 1


def test_cells_that_fewer_seeds_have_are_slanted():
    table = MADE["matrices"][1]
    some = table[~((table["seed"] == 0) & (table[["a", "b"]] == tables.RULES[0]).any(axis=1))]
    figure = drawn("matrices", some)
    for trace in (trace for trace in figure.data if trace.type == "scatter"):
        slanted = ["<i>" in text for text in trace.text]
        assert slanted == [tables.RULES[0] in pair for pair in zip(trace.x, trace.y, strict=True)]
    assert "15 cells a panel" in reading(figure) and "slanted" not in reading(drawn("matrices"))


def test_one_matrix_has_its_numbers_in_it():
    matrix, numbers = drawn("one matrix").data
    assert len(numbers.text) == 64 and numbers.text[0] == "1.00"
    for text, a, b in zip(numbers.text, numbers.y, numbers.x, strict=True):
        value = matrix.z[tables.RULES.index(a)][tables.RULES.index(b)]
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=0.0051)


def test_codes_are_drawn_less_the_mean_of_labels_over_the_largest_of_their_panel():
    figure, table = drawn("codes"), MADE["codes"][1]
    panels = [(kind, method) for kind in ("sample", "mean") for method in tables.HYPER]
    for trace, (kind, method) in zip(figure.data, panels, strict=True):
        own, both = table[(table["kind"] == kind) & (table["method"] == method)], table[table["method"] == method]
        means = both[both["kind"] == "mean"].groupby("head")["value"].mean().to_numpy()
        values = own.pivot(index="row", columns="head", values="value").to_numpy() - means
        largest = np.abs(values).max() if kind == "mean" else np.quantile(np.abs(values), 0.95)
        np.testing.assert_allclose(trace.z, values / largest)
        assert list(trace.x) == list(range(1, 17))
        assert [row[0][0] for row in trace.customdata] == list(own[own["head"] == 0]["label"])


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
