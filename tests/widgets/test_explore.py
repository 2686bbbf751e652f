"""`explore` finds the explorer that fits what it is given."""

import dataclasses
import re
from types import FunctionType

import anywidget
import numpy as np
import pandas as pd
import pytest
import torch
from ipywidgets import VBox

from lab.api import search, train
from lab.catalogue.build import figure
from lab.data import Data
from lab.errors import ArgumentError
from lab.nonlinearity.functions import named
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo_names
from lab.tasks import Logic, Operation, Sraven
from lab.widgets import explore
from lab.widgets.compatibility import CompatibilityExplorer
from lab.widgets.editing import EditingExplorer
from lab.widgets.explorable import KINDS
from lab.widgets.explorer import Explorer
from lab.widgets.function_view import FunctionView
from lab.widgets.grokking import GrokkingExplorer
from lab.widgets.landscape import LandscapeExplorer
from lab.widgets.latent import LatentExplorer
from lab.widgets.logic import LogicExplorer
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import GIVEN, SplineExplorer
from lab.widgets.spline import functions as functions_of
from lab.widgets.sraven import SravenExplorer
from lab.widgets.training import ContestExplorer, TrainingExplorer
from tests.entered import functions_entered
from tests.widgets.landscapes import found as landscape
from tests.widgets.landscapes import table

EXPLORERS = [
    Explorer,
    SplineExplorer,
    EditingExplorer,
    TrainingExplorer,
    ContestExplorer,
    CompatibilityExplorer,
    GrokkingExplorer,
    LandscapeExplorer,
    LatentExplorer,
    LogicExplorer,
    SliceExplorer,
    SravenExplorer,
]


def test_functions_are_looked_at():
    explorer = explore(Spline(torch.zeros(5)))
    assert isinstance(explorer, SplineExplorer) and explorer.function.value == GIVEN
    found = search("memorize", scale="smoke", progress=False)
    assert torch.equal(torch.tensor(explore(found).shape.y), found.spline.values.double())
    for name in zoo_names()[:1]:
        assert explore(name).function.value == name


@pytest.mark.parametrize("name", ["mish", "xielu", "siren"])
def test_a_named_function_is_explored_as_it_starts(name):
    explorer = explore(name)
    assert explorer.function.value == name
    x = torch.linspace(-15, 15, 301)
    torch.testing.assert_close(explorer.spline(x), named(name)(x).detach(), rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("name", "said"), [("polynorm", "no function of one"), ("swiglu", "explore..silu"), ("softmax", "curve")]
)
def test_a_name_without_a_curve_is_told_why(name, said):
    with pytest.raises(ArgumentError, match=said):
        explore(name)


def test_the_functions_of_figure_6_are_looked_at_with_their_inputs():
    made = figure("transformers/fig6", scale="smoke", progress=False)
    explorer = explore(made)
    rows = made.table[made.table["task"] == "mano"]
    explorer.function.value = "Mano"
    assert explorer.shape.y == pytest.approx(rows["value"].to_numpy(), abs=1e-6)
    assert explorer.received.share == pytest.approx(rows["density"].to_numpy(), abs=1e-6)


def test_functions_of_figure_6_are_shown_where_every_model_diverged():
    made = figure("transformers/fig6", scale="smoke", progress=False)
    table = made.table.assign(density=np.nan, value=np.arange(len(made.table), dtype=float))
    explorer = explore(dataclasses.replace(made, table=table))
    assert isinstance(explorer, SplineExplorer) and explorer.received is None


def test_tasks_and_runs_are_trained():
    assert explore("copy", scale="smoke").scale.value == "smoke"
    runs = train("memorize", seeds=2, scale="smoke", progress=False)
    explorer = explore(runs)
    assert isinstance(explorer, TrainingExplorer) and len(explorer.figure.data) == 2
    assert len(explore(runs[0]).figure.data) == 1


def test_functions_are_edited_and_the_rest_is_not():
    phi = Spline(torch.arange(5.0))
    explorer = explore(phi, edit=True, scale="smoke")
    assert isinstance(explorer, SplineExplorer) and torch.equal(explorer.editing.spline.values, phi.values)
    for wrong in ("memorize", figure("transformers/fig5", scale="smoke", progress=False)):
        with pytest.raises(ArgumentError, match="edit=True is for functions"):
            explore(wrong, edit=True)


def test_tasks_of_the_hypernetwork_paper_are_solved_by_hand():
    problems, functions = explore(Sraven(features=3), scale="smoke"), explore(Logic(length=8), scale="smoke")
    assert isinstance(problems, SravenExplorer) and problems.features.value == 3
    assert isinstance(functions, LogicExplorer)


def test_operations_are_trained_until_they_grok():
    explorer = explore(Operation("ab", modulus=27, fraction=0.6), scale="smoke")
    assert isinstance(explorer, GrokkingExplorer) and explorer.task.fraction == 0.6


def test_matrices_open_into_cells():
    assert isinstance(explore(figure("transformers/fig5", scale="smoke", progress=False)), CompatibilityExplorer)


def test_landscapes_are_walked():
    assert isinstance(explore(landscape()), LandscapeExplorer)


FIGURES = {  # figures whose explorer needs nothing but what is shipped
    "transformers/fig7": SplineExplorer,
    "simplicity/fig3": SplineExplorer,
    "simplicity/fig15": SplineExplorer,
    "simplicity/fig10": GrokkingExplorer,
    "hypernetwork/figA9": SravenExplorer,
    "hypernetwork/figA3": LogicExplorer,
    "transformers/fig3": TrainingExplorer,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_explorer_of_what_it_shows(name):
    made = figure(name, "best", progress=False)
    explorer = explore(made)
    assert type(explorer) is FIGURES[name] and explorer.error.value == ""
    if type(explorer) is SplineExplorer:
        found, inputs = functions_of(made)
        assert explorer.function.options[: len(found)] == tuple(found) and set(inputs) <= set(found)
        points = made.extras.get("functions", made.table)
        values = points["value"].to_numpy(np.float32)
        assert all(np.isin(phi.values.numpy(), values).all() for phi in found.values())


def data(X, y, **more):
    return Data.from_arrays(X, y, name="mine", **more)


X = np.random.default_rng(0).normal(size=(60, 3))
MASKS = [f"mask {number}" for number in range(3)]
DATA = {  # a set, and what can be looked at besides what is predicted
    "classes": (data(X, np.arange(60) % 3), ["input 0", "input 1", "input 2"]),
    "values": (data(X, X[:, 0] ** 2), ["input 0", "input 1", "input 2"]),
    "words": (data(X, ["yes", "no"] * 30), ["input 0", "input 1", "input 2"]),
    "images": (data(np.zeros((60, 4, 4), np.uint8), np.arange(60) % 2), ["all inputs"]),
    "several": (data({"ids": np.arange(60)[:, None] % 7, "mask": X}, np.arange(60) % 2), ["ids", *MASKS]),
}


@pytest.mark.parametrize("name", DATA)
def test_data_show_their_splits_and_columns(name):
    given, columns = DATA[name]
    explorer = explore(given)
    assert list(explorer.column.options[1:]) == columns
    for column in explorer.column.options:
        explorer.column.value = column
        bars = explorer._place.children[0].data
        assert [bar.name.split()[0] for bar in bars] == list(given.rows) and explorer.error.value == ""
        assert all(sum(bar.y) == pytest.approx(100) for bar in bars)
    explorer.column.value = explorer.column.options[0]
    if given.classes:
        train = explorer._place.children[0].data[-1]
        shares = np.bincount(given.split("train")[1], minlength=len(given.classes)) / len(given.rows["train"])
        assert list(train.x) == list(given.classes) and train.y == pytest.approx(100 * shares)


def test_what_was_left_out_of_a_table_is_said():
    table = pd.DataFrame({"x": np.arange(60.0) ** 2, "same": 1.0, "y": ["a", "b"] * 30})
    explorer = explore(Data.read(table, target="y"))
    assert explorer.column.options[1:] == ("x",) and "same" in explorer.status.value


def test_runs_by_name_are_compared():
    runs = {mlp: train("memorize", mlp=mlp, seeds=2, scale="smoke", progress=False) for mlp in ("gelu", "relu")}
    curves = [trace for trace in explore(runs)._place.children[0].data if trace.name == "gelu" and len(trace.x) > 2]
    assert curves[0].y == pytest.approx(100 * runs["gelu"].accuracy.mean(0))
    assert len(explore({"one": runs["gelu"][0]})._place.children[0].data) > 1
    copies = train("copy", seeds=1, scale="smoke", progress=False)
    with pytest.raises(ArgumentError, match="several tasks"):
        explore(runs | {"another": copies})


@pytest.mark.parametrize(
    ("things", "said"),
    [
        ({1: "gelu", "1": "relu"}, "two things have the name '1'"),
        ({"a": "gelu", "b": "geluu"}, "'b': there is no explorer for 'geluu'; did you mean 'gelu'"),
        ({"a": "gelu", "b": "swiglu"}, "'b': swiglu is a gate"),
    ],
)
def test_of_things_by_name_the_one_that_does_not_fit_is_named(things, said):
    with pytest.raises(ArgumentError, match=said):
        explore(things)


def test_the_rest_is_refused_with_all_that_would_fit():
    """The message lists the kinds that the dispatch has, and the documentation the explorers of all of them."""
    wrong = (3, "juggle", None, {}, {"a": 1}, [1], figure("transformers/fig9", "best", progress=False))
    for given in wrong:
        with pytest.raises(ArgumentError, match="no explorer for") as refused:
            explore(given)
        assert all(kind.words in str(refused.value) for kind in KINDS)
    named = {explorer.__name__ for kind in KINDS for explorer in kind.explorers}
    assert [name for name in named if name not in explore.__doc__] == []


REFUSED = {
    "scale": ({"scale": "smoke"}, "classes"),
    "edit": ({"edit": True}, "classes"),
    "inputs": ({"inputs": X}, "classes"),
    "targets": ({"targets": X}, "classes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_without_a_meaning_is_refused(name):
    more, given = REFUSED[name]
    with pytest.raises(ArgumentError, match=f"{name}="):
        explore(DATA[given][0], **more)


@pytest.mark.parametrize("kind", EXPLORERS)
def test_no_method_hides_one_of_ipywidgets(kind):
    mine = [vars(base).items() for base in kind.__mro__[: kind.__mro__.index(VBox)]]
    methods = {name for items in mine for name, value in items if isinstance(value, (FunctionType, property))}
    extended = {"__init__", "_repr_mimebundle_"}  # which call what they hide
    assert not {name for name in methods - extended if hasattr(VBox, name)}


def test_no_attribute_hides_one_of_ipywidgets():
    editing = explore(Spline(torch.zeros(5)), edit=True).editing
    editing.compete.value = True
    slices = SliceExplorer({"sum": lambda x: x.sum(1)}, table()[0], grid=5)
    for explorer in (
        explore(Spline(torch.zeros(5))),
        explore("memorize"),
        explore(Sraven()),
        explore(Logic()),
        explore(Operation("a+b", modulus=5), "smoke"),
        editing,
        editing._contest,
        explore(landscape()),
        slices,
    ):
        assert type(explorer).__name__ in repr(explorer)
        assert not {name for name in vars(explorer) if hasattr(VBox, name)} - set(vars(VBox()))


def test_no_widget_loads_anything_before_it_is_shown():
    """anywidget gives a widget two seconds to load what it imports, and drops what is sent to one that took longer."""
    kinds = [kind for kind in _kinds(anywidget.AnyWidget) if kind.__module__.startswith("lab.")]
    assert FunctionView in kinds and len(kinds) > 7
    for kind in kinds:
        script = str(getattr(kind, "_esm", ""))  # a view that others are made from has none
        assert not re.search(r"^\s*import\b(?!\()|^\s*export\b.*\bfrom\b|^await ", script, re.M), kind.__name__


def _kinds(base):
    return [kind for below in base.__subclasses__() for kind in (below, *_kinds(below))]


def test_a_scale_that_only_some_have_is_for_models_to_look_into():
    assert explore(Sraven(features=2), scale="overnight").model.options
    with pytest.raises(ArgumentError, match="overnight"):
        explore("memorize", scale="overnight")


@pytest.mark.parametrize("given", ["transformers/memorize", "memorize", "a+b mod 27", "relu"])
def test_the_way_to_an_explorer_is_short(given):
    """Functions of the lab that are entered, each once, when what is shipped has been read before."""
    explore(given)
    assert len(functions_entered(lambda: explore(given))) <= (50 if given == "relu" else 40)  # which is made a spline
