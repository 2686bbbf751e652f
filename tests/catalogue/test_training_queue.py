"""All figures of a scale: the order is that of open claims a minute, and whoever is out of time goes on later."""

import pytest

from lab.catalogue import training_queue
from lab.catalogue.build import figure
from lab.catalogue.registry import entries
from lab.catalogue.scorecard import score
from lab.catalogue.training_queue import train_all, waiting
from lab.errors import ArgumentError
from lab.papers.claims import OPEN
from lab.store import Store


@pytest.fixture
def two(monkeypatch):
    """A catalogue of two entries that train in a second."""
    chosen = {name: entries()[name] for name in ("simplicity/fig29", "simplicity/fig30")}
    monkeypatch.setattr(training_queue, "entries", lambda paper=None: chosen)
    return chosen


def test_the_order_is_open_claims_a_minute(store_folder):
    queue = waiting("laptop", Store())
    open_claims = [row["entry"] for row in score()["claims"] if row["verdict"] in OPEN]
    worth = [open_claims.count(one.entry.name) / max(1.0, one.entry.minutes["laptop"]) for one in queue]
    assert worth == sorted(worth, reverse=True) and worth[0] > 0
    assert all(one.missing == one.runs for one in queue)
    planned = {name for name, one in entries().items() if one.plan("laptop", 1)}
    assert {one.entry.name for one in queue} == planned


def test_a_scale_that_some_figures_have_trains_those(store_folder):
    queue = {one.entry.name for one in waiting("overnight", Store())}
    assert queue == {name for name, one in entries().items() if "overnight" in one.minutes and one.plan("overnight", 1)}
    with pytest.raises(ArgumentError, match="unknown scale 'overnight'; known: smoke, laptop, paper"):
        figure("transformers/fig2", "overnight")


def test_no_time_trains_nothing_and_more_time_goes_on(two, store_folder, tmp_path):
    said = []
    left = train_all("smoke", 0, tmp_path / "out", store=Store(), say=said.append)
    assert [one.entry.name for one in left] == [one.entry.name for one in waiting("smoke", Store())]
    assert len(left) == 2 and not (tmp_path / "out").exists() and "0 hours are over" in said[1]
    train_all("smoke", 5e-4, tmp_path / "out", store=Store(), say=said.append)  # two seconds: somewhere on the way
    kept = set(Store().results())
    assert train_all("smoke", 1, tmp_path / "out", store=Store(), say=said.append) == []
    for name in two:
        assert (tmp_path / "out" / name / "smoke" / "provenance.json").is_file()
    assert kept <= (before := set(Store().results())), "what is trained when time is over stays"
    assert train_all("smoke", 1, tmp_path / "out", store=Store(), say=said.append) == []
    assert set(Store().results()) == before


def test_figures_without_their_data_are_named_and_left_out(monkeypatch, store_folder, tmp_path):
    """All of it is the real catalogue: credit is on no machine that has not fetched it."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LAB_DATA", raising=False)
    chosen = {name: entries("simplicity")[name] for name in ("simplicity/fig5", "simplicity/fig15")}
    monkeypatch.setattr(training_queue, "entries", lambda paper=None: chosen)
    said = []
    left = train_all("overnight", 0, tmp_path / "out", store=Store(), say=said.append)
    assert {one.entry.name for one in left} == set(chosen)
    assert said[0].startswith("simplicity/fig5: left out, not here: credit, house_16H")
    assert said[0].endswith("`lab data fetch credit` gets the first of them")
    assert said[1].startswith("simplicity/fig15: ") and "0 hours are over" in said[2]


def test_a_cluster_takes_the_runs_of_all_figures_at_once(two, store_folder, tmp_path):
    pytest.importorskip("distributed", reason="pip install 'lab-nonlinearities[cluster]'")
    said, path = [], tmp_path / "cluster.yaml"
    options = "{processes: false, n_workers: 0, threads_per_worker: 1, dashboard_address: null}"
    path.write_text(f"class: distributed.LocalCluster\noptions: {options}\nworkers: 1\n")
    left = train_all("smoke", 0, tmp_path / "out", store=Store(), say=said.append, cluster=path)
    assert len(left) == 2 and said[0].startswith("2 figures, ") and said[1].startswith("Left: ")
    assert train_all("smoke", 1, tmp_path / "out", store=Store(), say=said.append, cluster=path) == []
    for name in two:
        assert (tmp_path / "out" / name / "smoke" / "provenance.json").is_file()


@pytest.mark.parametrize("hours", [-1, float("nan"), "ten", None])
def test_hours_that_are_none_are_refused(hours, tmp_path):
    with pytest.raises(ArgumentError, match="hours="):
        train_all("smoke", hours, tmp_path)
