"""Plots hold the numbers of their tables, name their axes, and say how to be read; the order of rows is no matter."""

import json
import re

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from lab.papers.compatibility import clear, delta, square
from lab.papers.transformers import compatibility, functions, learning_curves, lengths_and_widths
from lab.papers.transformers.matrix import PAPER, compare
from lab.plots import functions as shapes
from lab.plots.caption import EDGE, GLYPH, captioned, plain, reading, signed, true_minus, wrap
from lab.plots.style import DIVERGING, METHOD_COLOURS, METHOD_SYMBOLS, faded
from lab.task_names import TASK_TITLES
from tests.papers import tables

DIED = {("add", "baseline", 1), ("add", "baseline", 2), ("mano", "learned MLP", 0)}


def parts():
    return pd.concat(tables.matrix(PAPER * s, p, 0.05) for p, s in (("MLP", 1.0), ("attention", -0.3), ("both", 0.5)))


VARIANTS, FUNCTIONS = tables.variants()
LOST = ("addmod", "Chebyshev", 36, 3)
MADE = {
    "fig2": (learning_curves.draw, tables.curves(["memorize", "addmod", "add", "mano"], tables.METHODS[:2], died=DIED)),
    "fig3": (lengths_and_widths.fig3, tables.lengths()),
    "fig4": (lengths_and_widths.fig4, tables.widths()),
    "fig5": (compatibility.fig5, tables.matrix(PAPER, noise=0.05)),
    "fig6": (shapes.fig6, tables.shapes()),
    "fig10": (learning_curves.draw, tables.curves(died=DIED)),
    "fig11": (compatibility.fig11, parts()),
    "fig12": (lambda table: functions.fig12(table, FUNCTIONS), tables.variants(died={LOST})[0]),
}
SAYS = {  # what a reader must be told
    "fig2": ("one run a seed", "Dashed: the best trivial answer", "Add, baseline: 2 of 6", "Mano, learned MLP: 1 of 6"),
    "fig3": ("Band: 95 % confidence interval", "up to 10", "up to 15"),
    "fig4": ("Whiskers: 95 % confidence interval", "trivial answer"),
    "fig5": ("±: 95 % confidence interval", "leaves 0 out", "Paper: transformers paper, Figure 5"),
    "fig6": ("inputs that the non-linearity receives", "constant beyond"),
    "fig10": ("one run a seed", "Dashed: the best trivial answer", "Add, baseline: 2 of 6"),
    "fig11": ("Coloured: the interval leaves 0 out", "95 % interval over tasks"),
    "fig12": (
        "Whiskers: 95 % confidence interval",
        "learned function (blue line) of the same seed",
        "AddMod, Chebyshev 36: 1 of 6",
    ),
}


def drawn(name, table=None):
    plot, made = MADE[name]
    return plot(made if table is None else table)


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def whole(*traces):
    """The numbers of a matrix: those that are clear, and those that are not, have a heat map each."""
    return np.nansum([trace.z for trace in traces], 0)


def axes(figure, kind):
    return [axis for axis in getattr(figure, f"select_{kind}axes")() if axis.visible is not False]


@pytest.mark.parametrize("name", MADE)
def test_axes_are_named_and_the_key_is_complete(name):
    figure = drawn(name)
    for kind in "xy":
        titles = {axis.title.text for axis in axes(figure, kind)} - {None}
        assert titles, f"no {kind} axis has a name"
    for words in SAYS[name]:
        assert words in reading(figure)


@pytest.mark.parametrize("name", MADE)
def test_drawing_changes_neither_the_table_nor_with_the_order_of_its_rows(name):
    table = MADE[name][1]
    before = table.copy(deep=True)
    first = drawn(name)
    pd.testing.assert_frame_equal(table, before)
    by_group = [column for column in ("part", "task", "method") if column in table]
    shuffled = table.sample(frac=1, random_state=0)
    ranks = {column: {value: i for i, value in enumerate(table[column].unique())} for column in by_group}
    shuffled = shuffled.sort_values(by_group, key=lambda column: column.map(ranks[column.name]), kind="stable")
    again = drawn(name, shuffled)
    for one, other in zip(first.to_plotly_json()["data"], again.to_plotly_json()["data"], strict=True):
        assert one.get("name") == other.get("name")
        for axis in ("x", "y", "z"):
            values = one.get(axis)
            if (
                values is not None and np.asarray(values).dtype.kind == "f"
            ):  # sums in another order: rounding of float64
                np.testing.assert_allclose(
                    other[axis], values, rtol=1e-9, atol=1e-9, err_msg=f"{one.get('name')}.{axis}"
                )


@pytest.mark.parametrize("name", MADE)
def test_the_room_of_a_caption_is_below_everything(name):
    figure, caption = drawn(name), "word " * 300
    longer = captioned(figure, caption, 600)
    lines = wrap(caption, 600)
    room = longer.layout.margin.b - figure.layout.margin.b
    spared = figure.layout.margin.t - longer.layout.margin.t  # rows that the legend does not need at this width
    assert room >= 12 * len(lines) and 0 <= spared < figure.layout.margin.t
    assert longer.layout.height == pytest.approx(figure.layout.height + room - spared)
    note = longer.layout.annotations[-1]
    assert (note.y, note.yanchor, note.yshift) == (0, "top", -figure.layout.margin.b)  # where the figure ended before
    assert len(figure.layout.annotations) == len(longer.layout.annotations) - 1, "the figure itself stays as it was"
    assert all(len(line) * GLYPH <= 600 - 2 * EDGE for line in lines)


def test_captions_are_text_and_not_markup():
    figure = drawn("fig3")
    first, *key = captioned(figure, "a < b & c", 600).layout.annotations[-1].text.split("<br>")
    assert first == "a &lt; b &amp; c"
    assert key and " ".join(re.sub("<.*?>", "", line) for line in key) == plain(reading(figure)), "what its marks are"


@pytest.mark.parametrize("name", ["fig2", "fig10"])
def test_curves_are_the_runs_and_their_mean(name):
    figure, table = drawn(name), MADE[name][1]
    pairs = table.groupby(["task", "method"], sort=False)
    for seed in table["seed"].unique():
        for method in table["method"].unique():
            traces = named(figure, f"{method}, seed {seed}")
            assert len(traces) == table["task"].nunique()
            for task, trace in zip(table["task"].unique(), traces, strict=True):
                rows = pairs.get_group((task, method)).query("seed == @seed").sort_values("step")
                np.testing.assert_array_equal(trace.x, rows["step"])
                np.testing.assert_array_equal(trace.y, 100 * rows["accuracy"])
                assert trace.line.dash == ("dot" if (task, method, seed) in DIED else "solid")
                assert trace.line.color == faded(METHOD_COLOURS[method], 0.4)
    for method in table["method"].unique():
        for task, trace in zip(table["task"].unique(), named(figure, method), strict=True):
            rows = pairs.get_group((task, method))
            np.testing.assert_allclose(trace.y, 100 * rows.groupby("step")["accuracy"].mean(), rtol=1e-12)
            assert trace.line.color == METHOD_COLOURS[method] and trace.line.width > 2


@pytest.mark.parametrize("name", ["fig2", "fig4", "fig10"])
def test_every_panel_of_accuracy_has_its_floor(name):
    from lab.tasks.named import trivial

    figure, table = drawn(name), MADE[name][1]
    floors = named(figure, "trivial answer")
    panels = {trace.yaxis for trace in figure.data}
    assert {trace.yaxis for trace in floors} == panels
    assert {trace.y[0] for trace in floors} == {100 * trivial(task) for task in table["task"].unique()}


@pytest.mark.parametrize("name", ["fig2", "fig4", "fig10"])
def test_a_panel_whose_task_nobody_learned_says_so(name):
    table = MADE[name][1].copy()
    assert "not learned" not in drawn(name, table[table["task"] == "add"]).to_json()
    table.loc[table["task"] == "mano", "accuracy"] = 0.2
    notes = [note.text for note in drawn(name, table).layout.annotations if "not learned" in note.text]
    assert len(notes) == 1


def test_a_panel_without_runs_says_so():
    table = MADE["fig10"][1]
    without = (table["method"] == "learned MLP + attention") & (table["task"] == "mano")
    notes = [note.text for note in drawn("fig10", table[~without]).layout.annotations]
    assert notes.count("learned MLP + attention: not trained") == 1
    assert "not trained" not in drawn("fig10").to_json()


@pytest.mark.parametrize("name", ["fig4", "fig10"])
def test_tasks_that_nobody_learned_are_pale_and_at_the_end(name):
    table = MADE[name][1].copy()
    table.loc[table["task"] == "add", "accuracy"] = 0.2
    figure = drawn(name, table)
    titles = [note.text for note in figure.layout.annotations if note.text.startswith("<b>")]
    assert titles[-1] == "<b>Add</b>" and len(titles) == len(TASK_TITLES)
    assert [trace.opacity for trace in named(figure, "baseline")] == [1.0] * 7 + [learning_curves.PALE]
    assert list(figure.select_yaxes())[-1].range[1] < 60, "an axis ends where its data ends"


def test_bands_of_shares_stay_between_0_and_100():
    table = tables.lengths().assign(accuracy=lambda t: (t["seed"] == 0).astype(float) * (t["length"] > 15))
    for trace in drawn("fig3", table).data:
        if trace.name.endswith("interval"):
            assert min(trace.y) >= 0 and max(trace.y) <= 100


def test_lengths_and_widths_are_means_with_intervals():
    from scipy import stats

    for name, by, panels in (("fig3", "length", [None]), ("fig4", "width", list(TASK_TITLES))):
        figure, table = drawn(name), MADE[name][1]
        for method, rows in table.groupby("method"):
            for task, trace in zip(panels, named(figure, method), strict=True):
                groups = (rows if task is None else rows[rows["task"] == task]).groupby(by)["accuracy"]
                np.testing.assert_array_equal(trace.x, list(groups.groups))
                np.testing.assert_allclose(trace.y, 100 * groups.mean())
                half = stats.t.ppf(0.975, 5) * 100 * groups.sem()
                drawn_half = trace.customdata if name == "fig3" else trace.error_y.array
                np.testing.assert_allclose(np.asarray(drawn_half, float), half, atol=1e-9)
    band = named(drawn("fig3"), "ALiBi, interval")[0]
    mean = named(drawn("fig3"), "ALiBi")[0]
    for edge, side in ((band.y[:19], 1), (band.y[19:][::-1], -1)):
        np.testing.assert_allclose(edge, (np.array(mean.y) + side * np.array(mean.customdata)).clip(0, 100))


def test_one_seed_has_no_interval_and_the_key_says_so():
    for name in ("fig3", "fig4", "fig5", "fig12"):
        table = MADE[name][1]
        figure = drawn(name, table[table["seed"] == 0])
        assert "One seed only" in reading(figure) and "95 % confidence interval" not in reading(figure)
    assert not named(lengths_and_widths.fig3(tables.lengths(seeds=1)), "ALiBi, interval")


def test_both_training_lengths_are_marked():
    lines = [shape.x0 for shape in drawn("fig3").layout.shapes]
    assert lines == [10, 15]


def test_widths_stand_on_a_log_axis_at_the_table_s_own():
    for axis in drawn("fig4").select_xaxes():
        assert axis.type == "log" and list(axis.tickvals) == [8, 16, 32, 64, 128]


def test_fig5_shows_ours_and_the_paper_s_matrix():
    figure = drawn("fig5")
    ours, noise, paper = (trace for trace in figure.data if isinstance(trace, go.Heatmap))
    cells = delta(MADE["fig5"][1])
    np.testing.assert_allclose(whole(ours, noise), square(cells))
    np.testing.assert_array_equal(np.isfinite(ours.z), square(cells.assign(clear=clear(cells)), "clear"))
    assert noise.coloraxis is None and len({shade for _, shade in noise.colorscale}) == 1, "noise has no colours"
    np.testing.assert_array_equal(paper.z, PAPER)
    assert list(ours.x) == list(ours.y) == list(TASK_TITLES.values())
    assert [cell[0] for row in ours.customdata for cell in row[:1]] == list(TASK_TITLES)  # keys, for a click on a cell
    assert ours.coloraxis == paper.coloraxis, "one scale, so that the two compare"
    found = compare(delta(MADE["fig5"][1]))
    assert f"Spearman {found.rank_correlation}" in [note.text for note in figure.layout.annotations]
    printed = [trace for trace in figure.data if trace.yaxis == "y2" and trace.type == "scatter"]
    assert len(printed) == 1 and printed[0].text[0] == "+43" and "−15" in printed[0].text


def test_fig5_draws_a_part_of_the_matrix_with_holes():
    table = MADE["fig5"][1]
    some = table[table["task"].isin(["add", "mano"]) & table["architecture"].isin(["baseline", "add", "mano"])].copy()
    some.loc[(some["architecture"] == "add") & (some["task"] == "mano"), "accuracy"] = np.nan
    figure = drawn("fig5", some)
    ours = figure.data[0]
    assert np.isnan(ours.z[0][1]) and np.shape(ours.z) == (2, 2)
    assert any("–" in trace.text for trace in named(figure, "numbers")) and "Diverged: 6 of 24 pairs" in reading(figure)


def test_tasks_that_no_model_learned_are_grey_and_have_no_best():
    from lab.tasks.named import trivial

    table = MADE["fig5"][1].copy()
    dead = table["task"] == "mano"
    table.loc[dead, "accuracy"] = trivial("mano") + 0.01 * np.sin(np.arange(dead.sum()))
    figure = drawn("fig5", table)
    ours, noise = figure.data[0], figure.data[1]
    column = list(TASK_TITLES).index("mano")
    shown = np.isfinite(ours.z) | np.isfinite(noise.z)
    assert not shown[:, column].any() and np.delete(shown, column, 1).all()
    frames = [shape for shape in figure.layout.shapes if shape.layer != "below" and shape.yref == "y"]
    assert frames and not any(frame.x0 < column < frame.x1 for frame in frames)
    assert figure.layout.xaxis.ticktext[column] == "Mano †" and "trivial answer" in reading(figure)
    assert "trivial" not in reading(drawn("fig5"))


def test_no_interval_is_wider_than_the_scale():
    table = MADE["fig5"][1]
    table = table[table["seed"] < 2].copy()
    table.loc[(table["task"] == "add") & (table["architecture"] == "add") & (table["seed"] == 1), "accuracy"] += 0.3
    texts = [text for trace in drawn("fig5", table).data if trace.type == "scatter" for text in trace.text]
    told = [text.removeprefix("± ") for text in texts if text.startswith("±")]
    assert "> 40" in told
    assert all(float(text) <= 40 for text in told if not text.startswith(">"))


def test_fig11_has_a_matrix_a_part():
    figure = drawn("fig11")
    found = [trace for trace in figure.data if isinstance(trace, go.Heatmap)]
    table = MADE["fig11"][1]
    for part in ("MLP", "attention", "both"):
        traces = [trace for trace in found if trace.name.endswith(part)]
        np.testing.assert_allclose(whole(*traces), square(delta(table[table["part"] == part])))


def test_fig11_begins_with_the_means_of_its_matrices():
    figure, table = drawn("fig11"), MADE["fig11"][1]
    for part, method in compatibility.METHODS.items():
        values = square(delta(table[table["part"] == part])).to_numpy()
        own, others = (trace.y[0] for trace in named(figure, method))
        diagonal = np.eye(len(values), dtype=bool)
        assert own == pytest.approx(values[diagonal].mean()) and others == pytest.approx(values[~diagonal].mean())


def test_fig6_draws_each_function_over_its_inputs():
    figure, table = drawn("fig6"), MADE["fig6"][1]
    panels = zip(
        table.groupby("task", sort=False), named(figure, "learned function"), named(figure, "inputs"), strict=True
    )
    for (_, rows), function, inputs in panels:
        np.testing.assert_array_equal(function.x, rows["x"])
        np.testing.assert_array_equal(function.y, rows["value"])
        np.testing.assert_array_equal(inputs.y, 100 * rows["density"])
        low, high = figure.layout[function.xaxis.replace("x", "xaxis")].range
        shown = rows.loc[rows["x"].between(low, high), "density"].sum()
        assert shown >= shapes.SHOWN and low <= 0 <= high
    ends = named(figure, "constant ends")[0]
    rows = table[table["task"] == "memorize"]
    assert ends.y[0] == ends.y[1] == rows["value"].iloc[0] and ends.y[-1] == rows["value"].iloc[-1]


def test_fig12_shows_differences_from_the_learned_function_of_the_same_seed():
    from scipy import stats

    figure = drawn("fig12", VARIANTS)
    for task, title in TASK_TITLES.items():
        rows = VARIANTS[VARIANTS["task"] == task]
        if rows.empty:
            continue
        base = rows[rows["method"] == "learned MLP"].set_index("seed")["accuracy"]
        axis = next(note for note in figure.layout.annotations if note.text == f"<b>{title}</b>")
        panels = [y.plotly_name for y in figure.select_yaxes() if abs(y.domain[1] - axis.y) < 1e-9]
        points = [t for t in figure.data if f"yaxis{t.yaxis[1:]}" in panels and t.error_y.array is not None]
        seen = 0
        for trace in points:
            for name, mean, half in zip(trace.customdata, trace.y, trace.error_y.array, strict=True):
                kind = rows["method"].replace("baseline", "GELU") + rows["degree"].map(lambda d: f" {d}" if d else "")
                gain = 100 * (rows[kind == name].set_index("seed")["accuracy"] - base)
                assert mean == pytest.approx(gain.mean())
                assert half == pytest.approx(stats.t.ppf(0.975, 5) * gain.sem())
                seen += 1
        assert seen == rows[["method", "degree"]].drop_duplicates().shape[0] - 1, "all but the learned function"


def test_fig12_draws_the_functions_of_the_table():
    figure = drawn("fig12", VARIANTS)
    for method, name in (("learned MLP", "learned"), ("symmetrized",) * 2):
        wanted = FUNCTIONS[FUNCTIONS["method"] == method]
        curves_ = [trace for trace in named(figure, name) if trace.mode == "lines"]
        first = method == "learned MLP"  # the other one has its mark in the legend
        assert [trace.showlegend for trace in curves_] == [first] + [False] * (len(curves_) - 1)
        for (_, rows), trace in zip(wanted.groupby("task", sort=False), curves_, strict=True):
            np.testing.assert_array_equal(trace.x, rows["x"])
            np.testing.assert_array_equal(trace.y, rows["value"])
            assert trace.line.color in (METHOD_COLOURS[method], faded(METHOD_COLOURS[method], 0.5))


def test_fig12_s_summary_has_the_numbers_of_its_points():
    told = functions.summary_fig12(VARIANTS)
    cells = functions.against_learned(VARIANTS).set_index(["architecture", "task"])["delta"]
    for name in ("GELU", "polynomial 18"):
        gains = cells[name].sort_values()
        assert f"{name} {signed(gains.iloc[0])} to {signed(gains.iloc[-1])};" in true_minus(told)
    assert "–" not in told
    tasks = VARIANTS["task"].unique()
    counts = re.search(r"symmetrized [^;]*\((.*) of (\d) tasks\);", told)
    assert sum(map(int, re.findall(r"\d", counts[1]))) == int(counts[2]) == len(tasks), "each is one or another"
    one = tables.variants(died={("add", "symmetrized", 0, seed) for seed in range(6)})[0]
    assert f"of {len(tasks) - 1} tasks" in functions.summary_fig12(one)
    lost = tables.variants(died={(task, "symmetrized", 0, seed) for task in tasks for seed in range(6)})[0]
    assert "symmetrized – (every run diverged);" in functions.summary_fig12(lost)
    json.loads(drawn("fig12", lost).to_json())


def test_gelu_is_torch_s():
    import torch

    x = np.linspace(-6, 6, 101)
    np.testing.assert_allclose(shapes.gelu(x), torch.nn.functional.gelu(torch.from_numpy(x)), atol=1e-14)


def test_every_method_has_a_colour_and_a_symbol():
    assert METHOD_COLOURS.keys() == METHOD_SYMBOLS.keys()
    assert DIVERGING[2] == (0.5, "#FFFFFF"), "no difference is white"


@pytest.mark.parametrize("name", MADE)
def test_a_plot_survives_json(name):
    document = json.loads(drawn(name).to_json())
    assert document["layout"]["meta"]["reading"] == reading(drawn(name))
