"""Learning curves that are shipped are joined with those of runs that are trained here."""

import json

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.build import figure
from lab.catalogue.registry import entry
from lab.catalogue.results import sealed
from lab.catalogue.shipped import shipped_histories
from lab.places import SHIPPED
from lab.run import Run
from lab.spec import RunSpec, from_json, key, needs
from lab.store import MixedRevisionsError, Store

FIG10, FIG2, TASKS = "transformers/fig10", "transformers/fig2", ("memorize", "addmod", "add")


def smoke(name, **settings):
    return figure(name, scale="smoke", progress=False, tasks=TASKS, **settings)


@pytest.fixture(scope="module")
def filled():
    """The store that tests share."""
    return Store()


@pytest.fixture(scope="module")
def whole(filled):
    """Figure 10 of three tasks, all of it trained."""
    return smoke(FIG10, shipped=False, store=filled)


@pytest.fixture
def shipped(whole, filled, tmp_path, monkeypatch):
    """The results of two of these tasks are shipped, and the store is empty."""
    part = figure(FIG10, scale="smoke", progress=False, tasks=("memorize", "add"), store=filled)
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", tmp_path / "results")
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    folder = tmp_path / "results" / FIG10 / "smoke"
    part.write(folder, images=False, page=False)
    facts = json.loads((folder / "provenance.json").read_text())
    noted = {"device_name": "a shipped machine", "commits": ["shipped commit"]}
    (folder / "provenance.json").write_bytes(sealed(facts | noted))
    return folder


def trained():
    """The tasks of what the store has, runs and searches."""
    return {json.loads((folder / "spec.json").read_text())["task"] for folder in Store().results()}


def test_a_figure_of_shipped_and_trained_runs_is_the_one_whose_runs_are_all_trained(shipped, whole):
    one = smoke(FIG10)
    assert trained() == {"addmod"}
    pd.testing.assert_frame_equal(one.table, whole.table, check_exact=False, atol=1e-12)
    facts, before = one.provenance, whole.provenance
    for fact in ("runs", "searches", "seeds", "data", "hyperparameters", "departures", "kernels"):
        assert facts[fact] == before[fact]
    assert "a shipped machine" in facts["device_name"] and "shipped commit" in facts["commits"]
    assert set(facts["joined"].values()) == {FIG10}
    assert {facts["runs"][name].partition(",")[0] for name in facts["joined"]} == {"memorize", "add"}
    assert "joined" not in before


def test_a_figure_takes_curves_that_another_ships_and_trains_only_its_own(shipped):
    one = smoke(FIG2)
    _, *others = dict.fromkeys(one.table.loc[one.table["task"] == "memorize", "search"])
    assert others, "what this test is about: searches that Figure 10 does not have"
    own = {key(spec) for labels, spec in entry(FIG2).plan("smoke", 2) if labels["search"] in others}
    joined = set(one.provenance["joined"])
    assert joined and not joined & own
    assert all((Store().folder / "runs" / name).exists() != (name in joined) for name in one.provenance["runs"])


@pytest.mark.parametrize("asked", [{"shipped": False}, {"force": True}, {"seeds": 2}], ids=str)
def test_who_asks_for_training_gets_all_of_it(shipped, asked):
    assert "joined" not in smoke(FIG10, **asked).provenance
    assert trained() == set(TASKS)


def test_curves_are_not_joined_with_runs_of_another_revision(shipped):
    """Where all that is here is of one, what is joined is of today's all the same."""
    store, specs = Store(), [spec for _, spec in entry(FIG10).for_tasks(["addmod"]).plan("smoke", 2)]
    for spec in specs:
        store.save(spec, {"steps": np.array([2]), "accuracy_test": np.array([0.25])}, {}, {"arithmetic": "1"})
    store.check_one_revision(specs)
    with pytest.raises(MixedRevisionsError, match="several revisions"):
        smoke(FIG10)


def test_what_the_store_has_comes_before_what_is_shipped(shipped, filled):
    assert "joined" not in smoke(FIG10, store=filled).provenance


def test_runs_of_other_settings_than_the_shipped_ones_are_not_joined(shipped):
    facts = json.loads((shipped / "provenance.json").read_text())
    specs = [spec for _, spec in entry(FIG10).plan("smoke", 2)]
    of_memorize = {key(spec) for spec in specs if spec.task == "memorize"}
    facts["runs"] = {name: words for name, words in facts["runs"].items() if name not in of_memorize}
    (shipped / "provenance.json").write_bytes(sealed(facts))
    histories = shipped_histories("transformers", "smoke", specs)
    assert {spec.task for spec in histories} == {"add"}


def test_a_shipped_history_is_that_of_the_run(shipped, filled):
    planned = [spec for _, spec in entry(FIG10).plan("smoke", 2) if spec.task == "memorize"]
    histories = shipped_histories("transformers", "smoke", planned)
    assert set(histories) == set(planned)
    for spec, history in histories.items():
        assert isinstance(spec, RunSpec)
        run = Run(spec, filled)
        assert (history.steps == run.steps).all() and bool(run.diverged) == history.diverged
        np.testing.assert_allclose(history.accuracy, run.accuracy, rtol=1e-14)


def test_functions_whose_searches_are_shipped_are_not_searched_for(whole, filled, tmp_path, monkeypatch):
    specs = [spec for _, spec in entry(FIG10).for_tasks(["add"]).plan("smoke", 2)]
    searches = list(dict.fromkeys(search for spec in specs for search in needs(spec)))
    monkeypatch.setattr("lab.catalogue.shipped.SHIPPED", tmp_path / "data")
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    for search in searches[1:]:
        filled.copy_to(Store(tmp_path / "data"), search)
    figure(FIG10, scale="smoke", progress=False, tasks=["add"])
    # done.json has the seconds that the search took: another one would have others
    notes = {
        search: [(store.path(search) / "done.json").read_bytes() for store in (filled, Store())] for search in searches
    }
    assert len(searches) > 1 and [before == after for before, after in notes.values()] == [False, True]


def test_each_shipped_search_is_needed_by_a_shipped_run_or_by_a_figure():
    shipped = {folder.name for folder in SHIPPED.glob("searches/*")}
    runs = [from_json((folder / "spec.json").read_text()) for folder in SHIPPED.glob("runs/*")]
    planned = [spec for _, spec in entry(FIG10).plan("paper", 1)]
    assert shipped <= {key(search) for spec in [*runs, *planned] for search in needs(spec)}
