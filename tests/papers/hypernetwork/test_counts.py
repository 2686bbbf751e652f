"""Figure A9 and Table A2 of the hypernetwork paper: counts are exact, nothing is trained, shipped results are read."""

import json
from itertools import combinations_with_replacement, permutations, product
from math import prod

import pandas as pd
import pytest
import torch

from lab.catalogue.build import figure
from lab.catalogue.listing import listing
from lab.catalogue.results import sealed
from lab.papers.hypernetwork.counts import CODE
from lab.plots.caption import reading
from lab.store import Store
from lab.tasks import Sraven
from lab.tasks.counts import ambiguous

NAMES = ("hypernetwork/figA9", "hypernetwork/tableA2")


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in NAMES}


def test_counts_agree_with_a_list_of_everything(made):
    """For few features, every multiset of rules, order of features and grid, one by one."""
    table = made["hypernetwork/figA9"].table
    values = 4
    rows = {
        "three": {
            rows
            for c in product(range(values), repeat=3)
            if len(set(c)) == 3
            for rows in product(permutations(sorted(c)), repeat=3)
        },
        "one": set(product(range(values), repeat=3)),
        "two": set(product(product(range(values), repeat=2), repeat=3)),
    }
    rules = [len(rows[kind]) for kind in ["one"] * 5 + ["two"] * 2 + ["three"]]
    for features in (1, 2):
        row = table[(table["features"] == features) & (table["values"] == values)].iloc[0]
        multisets = list(combinations_with_replacement(rules, features))
        orders = len(list(permutations(range(features)))) ** 2
        assert int(row["tasks"]) == len(multisets) * orders
        assert int(row["problems"]) == sum(prod(numbers) for numbers in multisets) * orders
    assert int(table["problems"].iloc[-1]) > 2**64, "exact, whatever their size"


def test_the_estimate_counts_the_problems_that_it_looked_at(made):
    table = made["hypernetwork/tableA2"].table
    assert set(table["problems"]) == {200} and made["hypernetwork/tableA2"].provenance["examples"] == 200
    for row in table.itertuples():
        task = Sraven(values=row.values, held_out=0.0)
        panels = task.sample("train", 200, torch.Generator().manual_seed(0), seed=0).latents["panels"]
        found = [bool(ambiguous(task, one[None], row.counting == CODE)) for one in panels]
        assert row.fraction == pytest.approx(sum(found) / 200)
        assert row.standard_error == pytest.approx((row.fraction * (1 - row.fraction) / 200) ** 0.5)
    assert table["paper"].dropna().tolist() == [0.0642, 0.0032, 0.0005]


@pytest.mark.parametrize("name", NAMES)
def test_plots_hold_the_numbers_and_captions_say_that_nothing_is_trained(made, name):
    one = made[name]
    assert "Nothing is trained" in one.caption and one.summary in one.caption and "seed" not in one.summary
    assert one.provenance["runs"] == {} and one.provenance["seeds"] == [] and reading(one.plot)
    column = "problems" if name.endswith("A9") else "fraction"
    drawn = {float(value) for trace in one.plot.data for value in trace.y}
    assert {max(float(value), 1e-4) for value in one.table[column]} <= drawn
    if name.endswith("A2"):
        assert "reference code" in one.caption and "paper's words" in one.caption and "6.42" in one.caption


def test_what_is_shipped_is_read_and_what_is_counted_is_not_called_trained(made, tmp_path, monkeypatch, store_folder):
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", tmp_path / "results")
    assert {row["name"]: row["results"] for row in listing()}["hypernetwork/figA9"] == []
    for name in NAMES:
        folder = tmp_path / "results" / name / "smoke"
        made[name].write(folder, images=False, page=False)
        facts = json.loads((folder / "provenance.json").read_text())
        (folder / "provenance.json").write_bytes(sealed(facts | {"device_name": "a shipped machine"}))
        one = figure(name, "smoke", progress=False)
        assert "a shipped machine" in one.caption and json.loads(one.plot.to_json()) == json.loads(
            made[name].plot.to_json()
        )
        pd.testing.assert_frame_equal(one.table, pd.read_csv(folder / "table.csv"))
        assert "a shipped machine" not in figure(name, "smoke", progress=False, shipped=False).caption
    assert not list(Store().results())
