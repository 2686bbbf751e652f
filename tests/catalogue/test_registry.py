"""Laws of the catalogue: plans exist at every scale, figures share runs, nothing looks at data that it must not see."""

import importlib
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from lab import tasks
from lab.catalogue import build, registry
from lab.catalogue.listing import listing
from lab.catalogue.registry import PAPERS, entries, entry
from lab.data import datasets
from lab.data.tokens import SPLITS
from lab.errors import ArgumentError
from lab.papers.transformers import sweep
from lab.papers.transformers.settings import setting
from lab.scale import COMMON, SCALES
from lab.spec import RunSpec, Shaped, needs, replace
from lab.tasks.task import REQUIRED_SPLITS
from tests.papers.activations.planted import NAMES as ACTIVATIONS
from tests.papers.crossing.planted import NAMES as CROSSING
from tests.papers.hypernetwork.planted import NAMES as HYPER
from tests.papers.simplicity.planted import NAMES as SIMPLE
from tests.papers.transformers.planted import LANGUAGE, NAMES

every_entry = pytest.mark.parametrize("name", NAMES)
every_scale = pytest.mark.parametrize("scale", COMMON)


def runs_of(name: str, scale: str, seeds: int | None = None) -> set[RunSpec]:
    found = entry(name)
    return {spec for _, spec in found.plan(scale, seeds or found.seeds[scale])}


def test_the_catalogue_has_the_figures_of_the_papers():
    assert list(entries()) == NAMES + HYPER + SIMPLE + ACTIVATIONS + CROSSING
    for name, found in entries().items():
        assert found.name == name and found.section and found.title and found.shows and found.paper_says
        assert set(COMMON) <= set(found.minutes) <= set(found.seeds) <= set(SCALES)
        assert not any(text.endswith(".") for text in (found.title, found.shows, found.paper_says)), "captions add it"
    with pytest.raises(ArgumentError, match="'transformers/fig1'; known: transformers/fig2, "):
        entry("transformers/fig1")


def test_an_entry_without_a_number_says_where_it_stands():
    numbered = entry("transformers/fig5")
    with pytest.raises(ValueError, match="activations/functions has no number"):
        replace(numbered, name="activations/functions")
    first, last = (
        replace(numbered, name=f"activations/{name}", place=("fig", "", number, ""))
        for name, number in (("functions", 1), ("benchmarks", 11))
    )
    assert first.order < replace(numbered, name="activations/fig2").order < last.order
    appendix, table = (replace(numbered, name=f"activations/{name}") for name in ("figA1", "table1"))
    assert last.order < appendix.order < table.order


def test_only_the_paper_that_is_asked_for_is_imported():
    script = "import sys; from lab.catalogue.registry import entry; entry('hypernetwork/fig2b'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {module for module in done.stdout.split() if module.startswith("lab.papers.")}
    assert "lab.papers.hypernetwork.settings" in loaded
    assert not any(module.startswith("lab.papers.simplicity") for module in loaded)


def test_every_section_is_listed():
    for paper in PAPERS:
        found = importlib.import_module(f"lab.papers.{paper}")
        folder = Path(found.__file__).parent
        sections = [path for path in folder.rglob("*.py") if "\nENTRIES" in path.read_text(encoding="utf-8")]
        names = {".".join(path.relative_to(folder).with_suffix("").parts) for path in sections}
        assert names == set(found.MODULES)
        assert registry.names(paper) == list(entries(paper)), f"say so in FIGURES of {found.__file__}"


def test_minutes_keep_what_was_promised():
    """At most 10 minutes for the main job, 20 for a figure, 90 for both matrices, 60 for fuzzy logic, 15 for fig5 at
    paper scale."""
    minutes = {name: dict(found.minutes) for name, found in entries().items()}
    for names in (("fig2c", "figA3"), ("fig5e", "fig5f")):
        shared = {minutes[f"hypernetwork/{name}"].pop("laptop") for name in names}
        assert len(shared) == 1 and shared.pop() <= 60, "the same runs"
    wide = minutes["hypernetwork/fig4a"].pop("laptop")
    assert wide <= 80, "those of figure 5, and 20 minutes more"
    deep = minutes["hypernetwork/fig4b"]["laptop"]
    assert minutes["hypernetwork/figA4"].pop("laptop") <= wide + deep, "the runs of both parts of figure 4"
    assert minutes["simplicity/fig11"]["laptop"] <= 4, "make figure"
    assert minutes["transformers/fig2"].pop("laptop") <= 40, "three searches, and 36 seeds of ADD"
    assert minutes["transformers/fig10"].pop("laptop") <= 30, "eight tasks, and 36 seeds of ADD"
    assert minutes["transformers/rates"].pop("laptop") <= 150, "every rate"
    for name in LANGUAGE + ACTIVATIONS + CROSSING:
        assert minutes[name].pop("laptop") <= 30
    matrices = [minutes[name].pop("laptop") for name in ("transformers/fig5", "transformers/fig11")]
    assert sum(matrices) <= 90 and minutes["transformers/fig5"]["paper"] <= 15
    assert minutes["simplicity/fig14"].pop("laptop") <= 60, "a matrix of trainings"
    assert all(found.get("laptop", 0) <= 20 and found["smoke"] <= 1 for found in minutes.values())


@every_entry
@every_scale
def test_every_plan_works_at_every_scale(name, scale):
    found = entry(name)
    planned = found.plan(scale, found.seeds[scale])
    trained = {spec.task_name for _, spec in planned}
    if name in LANGUAGE:  # each scale has texts of its own
        assert trained <= set(found.tasks) and not (trained - {"mano"}) & set(tasks.NAMES)
    else:
        assert trained == set(found.tasks) <= set(tasks.NAMES)
    columns = {tuple(labels) for labels, _ in planned}
    assert len(columns) == 1, "one table has one set of columns"
    told = [json.dumps(labels) + f" seed {spec.seed}" for labels, spec in planned]
    assert len(set(told)) == len(told), "labels and seed name a run"
    assert found.notes(scale) == [str(note) for note in found.notes(scale)]


@pytest.mark.parametrize("name", list(entries()))
def test_the_data_that_an_entry_names_are_those_of_its_runs(name):
    """At every scale that it has: provenance must not say "all of Fashion-MNIST" of runs that saw a sample."""
    for scale in entry(name).scales:
        specs = runs_of(name, scale, 1)
        of_searches = (task for spec in specs for search in needs(spec) for task in getattr(search, "tasks", ()))
        fields = (getattr(task, "__dict__", {}) for task in (*(spec.task for spec in specs), *of_searches))
        trained = {value for field in fields for value in field.values() if value in datasets.CATALOGUE}
        named = {source["name"] for source in entry(name).origin.data(scale)} & set(datasets.CATALOGUE)
        assert trained == named or not specs, scale


@every_entry
@every_scale
def test_runs_with_the_same_labels_differ_in_seed_alone(name, scale):
    groups = {}
    for labels, spec in entry(name).plan(scale, 3):
        groups.setdefault(json.dumps(labels), []).append(spec)
    for specs in groups.values():
        tuning = all(spec.tuning for spec in specs)
        assert [spec.seed for spec in specs] == list(sweep.SEEDS if tuning else range(len(specs)))
        assert len({replace(spec, seed=0) for spec in specs}) == 1


@every_entry
def test_more_seeds_are_further_runs(name):
    plans = [runs_of(name, "laptop", seeds) for seeds in (1, 2, 3)]
    assert all(fewer <= more for fewer, more in pairwise(plans))


@every_entry
@every_scale
def test_searches_and_retraining_are_followed_on_held_out_data_alone(name, scale):
    for spec in runs_of(name, scale):
        for split in () if spec.tuning and name == "transformers/rates" else spec.evaluate:
            known = tasks.load(spec.task).splits if isinstance(spec.task, str) else SPLITS
            assert split in known and split not in ("train", "search", "val")
        for search in needs(spec):
            assert not hasattr(search, "evaluate"), "a search follows its own search loss"
    assert set(REQUIRED_SPLITS) == {"train", "search", "val", "test"}


@every_scale
@pytest.mark.parametrize("task", tasks.NAMES)
def test_the_step_that_a_matrix_reads_is_a_step_of_evaluation(task, scale):
    base = setting(task, scale)
    assert base.read % base.recipe.every == 0 and 0 < base.read <= base.recipe.steps


@every_scale
def test_figures_share_the_runs_that_they_can_share(scale):
    """So that the second figure costs what is new in it, and a number is the same wherever it is shown."""
    fig = {number: runs_of(f"transformers/fig{number}", scale, 2) for number in (2, 3, 4, 5, 6, 11, 12)}
    fig[10] = runs_of("transformers/fig10", scale, 4)  # where MANO has half as many seeds, it has those of the others
    first = {spec for spec in fig[2] if all(search.seed == 0 for search in needs(spec))}
    assert first <= fig[10] and fig[6] <= fig[10] and fig[5] <= fig[11]
    full = {spec for spec in fig[4] if spec.model.width == setting(spec.task, scale).model.width}
    assert full and full <= fig[10]
    known = {spec for spec in fig[12] if not isinstance(spec.model.mlp, Shaped)}
    assert known <= fig[10] and len(known) == 2 * 2 * len(entry("transformers/fig12").tasks), "only shapes are new"
    alibi = {spec for spec in fig[3] if spec.model.positions == "alibi"}
    assert len(alibi) == 4 and alibi <= fig[10]
    whole = {spec for spec in fig[5] if spec.recipe.stop is None}
    assert whole <= fig[10] and len(whole) == 2 * 2 * len(tasks.NAMES), "baseline and diagonal"


@every_scale
def test_baseline_and_learned_models_get_the_same_care(scale):
    """The same recipe and shape; where the peak rate differs, the settings say so."""
    groups = {}
    for labels, spec in entry("transformers/fig10").plan(scale, 1):
        groups.setdefault(spec.task, {})[labels["method"]] = spec
    for task, methods in groups.items():
        baseline, base = methods.pop("baseline"), setting(task, scale)
        for spec in methods.values():
            assert replace(spec.model, mlp="gelu", attention="softmax") == baseline.model
            assert spec.recipe == baseline.recipe == base.recipe and needs(spec)[0].recipe == spec.recipe


def test_attention_functions_are_learned_on_every_task_but_those_that_the_notes_name():
    fig10 = entry("transformers/fig10")
    for scale in fig10.scales:
        methods = {}
        for labels, _ in fig10.plan(scale, 1):
            methods.setdefault(labels["task"], []).append(labels["method"])
        without = [task for task, some in methods.items() if "learned MLP + attention" not in some]
        notes = [note for note in fig10.notes(scale) if "no attention functions" in note]
        assert list(methods) == list(tasks.NAMES) and all(len(some) >= 2 for some in methods.values())
        assert [f"for {', '.join(without)} at" in note for note in notes] == [True] * bool(without)


def test_the_list_knows_what_is_trained_here_and_what_is_shipped(store_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", tmp_path)
    assert [row["results"] for row in listing()] == [[]] * len(entries())
    made = build.figure("transformers/fig3", "smoke", progress=False)
    assert {row["name"]: row["results"] for row in listing()}["transformers/fig3"] == ["smoke (trained here)"]
    made.write(tmp_path / "transformers/fig3/laptop", images=False, page=False)
    rows = json.loads(json.dumps(listing()))
    assert {row["name"]: row["results"] for row in rows}["transformers/fig3"] == [
        "laptop (shipped)",
        "smoke (trained here)",
    ]


@pytest.mark.parametrize(
    ("name", "task", "message"),
    [
        ("simplicity/fig5", "credit", "simplicity/fig5 cannot be restricted to tasks; make it without naming any"),
        ("hypernetwork/fig2b", "fuzzy", "hypernetwork/fig2b cannot be restricted to tasks"),
        ("transformers/fig10", "mono", "unknown task 'mono'.*mano"),
    ],
)
def test_tasks_are_refused_with_what_to_do(name, task, message):
    with pytest.raises(ArgumentError, match=message):  # a name that another scale knows would not help, either
        entry(name).for_tasks([task])
