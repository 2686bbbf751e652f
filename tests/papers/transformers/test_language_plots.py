"""Plots of language models hold the numbers of their tables; one seed, and runs that diverged, are said or left out."""

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.registry import entry
from lab.papers.compatibility import NO_MODEL_LEARNS
from lab.plots.caption import captioned, reading
from lab.plots.page import NARROWEST
from tests.papers.transformers.planted import LANGUAGE, PLANTED

every_entry = pytest.mark.parametrize("name", LANGUAGE)
X = np.linspace(-3, 3, 9)
LETTER = 7.4  # px, about, of a letter of a bold title
FUNCTIONS = pd.DataFrame(
    [("learned MLP", layers, 256, x, np.sin(layers * x)) for layers in (2, 4) for x in X],
    columns=["method", "layers", "width", "x", "value"],
)


def drawn(name, table):
    found = entry(name)
    return found.plot(table, FUNCTIONS) if found.functions else found.plot(table)


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


@every_entry
def test_axes_are_named_and_the_key_says_what_the_spread_is(name):
    table = PLANTED[name](True)
    figure, one = drawn(name, table), drawn(name, table[table["seed"] == 0])
    bare = {"transformers/fig8": "y", "transformers/table3": "y", "transformers/table5": "y"}  # names, or colours
    for kind in set("xy") - {bare.get(name)}:
        assert {axis.title.text for axis in getattr(figure, f"select_{kind}axes")()} - {None}
    assert "95 %" in reading(figure) and "One seed only" in reading(one) and "95 %" not in reading(one)
    assert captioned(figure, "word " * 99, 600).layout.height > figure.layout.height


@every_entry
def test_titles_of_panels_have_room_where_a_page_is_narrow(name):
    figure = drawn(name, PLANTED[name](True))
    left, right = figure.layout.margin.l, figure.layout.margin.r
    titles = [one for one in figure.layout.annotations if one.text.startswith("<b>") and one.xanchor == "left"]
    for one in titles:
        start = left + one.x * (NARROWEST - left - right)
        end = start + LETTER * len(one.text.removeprefix("<b>").removesuffix("</b>"))
        next_ones = [other.x for other in titles if other.y == one.y and other.x > one.x]
        assert end < min((left + x * (NARROWEST - left - right) for x in next_ones), default=NARROWEST), one.text


@every_entry
def test_a_run_that_diverged_is_left_out(name):
    table = PLANTED[name](True)
    assert len(drawn(name, table.assign(diverged=table["seed"] == 0)).data)
    lost = table.assign(diverged=table["seed"] == 0)
    lost.loc[lost["diverged"], ["perplexity", "accuracy"]] = np.nan
    assert "nan" not in entry(name).summary(lost)


def test_differences_of_perplexity_are_drawn_as_differences():
    """In percent of the baseline's, each with its interval; a linear MLP, which is far off, stands as a number."""
    table = PLANTED["transformers/fig8"](True)
    figure, tasks = drawn("transformers/fig8", table), list(table["task"].unique())
    means = np.log(table["perplexity"]).groupby([table["task"], table["method"]]).mean().unstack().loc[tasks]
    for method in set(table["method"]) - {"baseline", "linear MLP"}:
        marks = named(figure, method)
        expected = 100 * np.expm1(means[method] - means["baseline"])
        np.testing.assert_allclose([trace.x[0] for trace in marks], expected)
        assert all(trace.error_x.array[0] > 0 and trace.error_x.arrayminus[0] > 0 for trace in marks)
    assert not named(figure, "linear MLP") and not named(figure, "baseline")
    said = [note.text for note in figure.layout.annotations if "linear MLP +" in note.text]
    assert len(said) == len(tasks) and all("baseline" in text for text in said)


def test_gains_over_training_are_differences_of_mean_losses():
    table = PLANTED["transformers/fig15"](True)
    figure = drawn("transformers/fig15", table)
    means = table.groupby(["task", "method", "step"])["loss"].mean()
    for task, trace in zip(table["task"].unique(), named(figure, "gain"), strict=True):
        np.testing.assert_allclose(trace.y, means[task, "baseline"] - means[task, "learned MLP"])


def test_the_matrix_has_geometric_means_of_ratios():
    table = PLANTED["transformers/fig9"](False)
    heats = [trace for trace in drawn("transformers/fig9", table).data if trace.type == "heatmap"]
    logs = np.log(table["perplexity"]).groupby([table["architecture"], table["task"]]).mean().unstack()
    tasks = list(table["task"].unique())
    expected = 100 * (np.exp(logs.loc[tasks, tasks] - logs.loc["baseline", tasks]) - 1)
    np.testing.assert_allclose(np.nansum([heat.z for heat in heats], 0), expected, atol=1e-6)


def test_a_task_that_no_model_learned_is_grey_and_in_no_number():
    table = PLANTED["transformers/fig9"](False)
    dead = table.assign(accuracy=table["accuracy"].where(table["task"] != "mano", 0.0))
    figure = drawn("transformers/fig9", dead)
    (grey,) = [
        heat for heat in figure.data if heat.type == "heatmap" and np.isfinite(np.array(heat.z, float)[:, -1]).all()
    ]
    assert grey.colorscale[0][1] == NO_MODEL_LEARNS and figure.layout.xaxis.ticktext[-1] == "Mano †"
    said = entry("transformers/fig9").summary
    assert " of 64 cells" in said(table) and " of 56 cells" in said(dead)


@pytest.mark.parametrize("name", ["transformers/fig7", "transformers/fig13"])
def test_gains_by_size_are_differences_of_means(name):
    """Of accuracies; of perplexities the ratio of geometric means."""
    table = PLANTED[name](True)
    logs = name.endswith("13")
    values = np.log(table["perplexity"]) if logs else 100 * table["accuracy"]
    means = values.groupby([table["method"], table["layers"]]).mean().unstack()
    for method in set(table["method"]) - {"baseline"}:
        trace, gaps = named(drawn(name, table), method)[0], means.loc[method] - means.loc["baseline"]
        np.testing.assert_allclose(trace.y, 100 * (1 - np.exp(gaps)) if logs else gaps, atol=1e-9)


def test_printed_differences_are_those_of_the_printed_numbers():
    for name, row, theirs in (
        ("transformers/table3", "TanH", (100 * (1.71 / 1.58 - 1), 61.2 - 63.7)),
        ("transformers/table5", "4 layers, learned (M = 6)", (100 * (1.52 / 1.53 - 1), 65.4 - 65.1)),
    ):
        marks = [one for one in named(drawn(name, PLANTED[name](True)), "printed in the paper") if one.customdata]
        for trace, value in zip(marks, theirs, strict=True):
            assert trace.x[list(trace.customdata).index(row)] == pytest.approx(value)


def test_the_difference_of_symmetrized_functions_is_drawn():
    table = PLANTED["transformers/fig12_language"](True)
    figure = drawn("transformers/fig12_language", table)
    means = 100 * table.groupby(["layers", "width", "method"])["accuracy"].mean().unstack()
    marks = [trace for trace in named(figure, "symmetrized") if trace.error_x.array is not None]
    np.testing.assert_allclose([mark.x[0] for mark in marks], means["symmetrized"] - means["learned MLP"])


def test_what_goes_on_beyond_an_axis_has_an_arrow():
    table = PLANTED["transformers/table3"](True)
    assert "Arrow" not in reading(drawn("transformers/table3", table))
    wild = (table["method"] == "TanH") & (table["seed"] == 0)
    table.loc[wild, "perplexity"] *= 3
    figure = drawn("transformers/table3", table)
    (arrow,) = {trace.y for trace in named(figure, "interval goes on")}
    names = list(figure.layout.yaxis.ticktext)
    assert round(arrow[0]) == names.index("TanH") and "Arrow" in reading(figure)
