"""`explore` finds the explorer that fits what it is given."""

import dataclasses
import re
from types import FunctionType

import anywidget
import numpy as np
import pytest
import torch
from ipywidgets import VBox

from lab.api import search, train
from lab.catalogue.build import figure
from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo_names
from lab.tasks import Logic, Operation, Sraven
from lab.widgets import explore
from lab.widgets.compatibility import CompatibilityExplorer
from lab.widgets.contest import ContestExplorer
from lab.widgets.editing import EditingExplorer
from lab.widgets.explorer import Explorer
from lab.widgets.function_view import FunctionView
from lab.widgets.grokking import GrokkingExplorer
from lab.widgets.landscape import LandscapeExplorer
from lab.widgets.latent import LatentExplorer
from lab.widgets.logic import LogicExplorer
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import GIVEN, SplineExplorer
from lab.widgets.sraven import SravenExplorer
from lab.widgets.training import TrainingExplorer
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


def test_the_rest_is_refused_with_what_would_fit():
    for wrong in (3, "juggle", None, figure("transformers/fig3", scale="smoke", progress=False)):
        with pytest.raises(ArgumentError, match="memorize.*transformers/fig5"):
            explore(wrong)


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
