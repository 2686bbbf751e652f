"""Keys of what is shipped: results, runs and functions are found again by the specs of today."""

import json
from pathlib import Path

import pytest

from lab.catalogue.figure import EARLIER
from lab.catalogue.registry import entry
from lab.catalogue.results import every
from lab.catalogue.shipped import shipped_plan
from lab.spec import AdamTrapezoid, AdamWCosine, ConstantRate, from_json, key, needs, to_json
from lab.tasks import SingleTileCollage

DATA = Path(__file__).resolve().parents[1] / "data"
RESULTS = [here for here in every(DATA / "results") if "sweep" not in here.folder.parts]
RUNS = sorted((DATA / "runs").glob("*/spec.json"))
FUNCTIONS = sorted((DATA / "zoo").glob("*/*.json"))


def test_there_is_something_to_look_at():
    assert len(RESULTS) > 50 and len(RUNS) >= 6 and len(FUNCTIONS) > 10


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.parent.name[:12])
def test_a_shipped_run_has_the_key_of_its_spec(path):
    text = path.read_text()
    assert key(from_json(text)) == path.parent.name
    assert to_json(from_json(text)) == text.strip()


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_function_has_the_key_of_its_search(path):
    found = json.loads(path.read_text())["provenance"]
    spec = from_json(json.dumps(found["spec"]))
    assert key(spec) == found["key"]
    assert json.loads(to_json(spec)) == found["spec"]


@pytest.mark.parametrize("here", RESULTS, ids=lambda here: "/".join(here.folder.parts[-3:]))
def test_shipped_results_list_the_keys_of_the_runs_that_are_planned_today(here):
    facts = here.facts
    found = entry(facts["entry"])
    if "tasks" in facts:
        found = found.for_tasks(facts["tasks"])
    at_least = range(max(found.seeds[facts["scale"]], len(facts["seeds"])))
    planned = {spec for _, spec in shipped_plan(found, facts | {"seeds": at_least})}
    if EARLIER in facts:
        assert {key(spec) for spec in planned} != set(facts["runs"]), "marked, and yet the runs of today's plan"
        return
    assert {key(spec) for spec in planned} == set(facts["runs"])
    assert {key(search) for spec in planned for search in needs(spec)} == set(facts.get("searches", {}))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(AdamTrapezoid, "Recipe"), (AdamWCosine, "AdamW"), (ConstantRate, "Descent"), (SingleTileCollage, "Told")],
)
def test_kinds_with_a_new_name_keep_their_old_one_in_json(kind, name):
    """Stored specs say the old name, and their keys are made of it."""
    spec = kind("mnist_sample", "fashion_mnist_sample") if kind is SingleTileCollage else kind(9, 0.5, 8)
    assert json.loads(to_json(spec))["type"] == name
    assert from_json(to_json(spec)) == spec and type(from_json(to_json(spec))) is kind
