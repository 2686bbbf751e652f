"""A key stands for one result: the revision of the lab's arithmetic beside it, and two contents of one key."""

import gzip
import itertools
import json
from collections import defaultdict

import numpy as np
import pytest
import torch

from lab.catalogue import registry, results, shipped
from lab.catalogue.training_queue import train_all
from lab.cli import main
from lab.errors import LabError
from lab.jobs import job
from lab.nonlinearity import native
from lab.places import SHIPPED
from lab.resolve import resolve
from lab.run import Run, complete
from lab.spec import (
    AdamTrapezoid,
    ConstantRate,
    EpisodeSpec,
    HyperModel,
    ModelSpec,
    Perceptron,
    RunSpec,
    SearchSpec,
    SharedSearch,
    TwoLossSpec,
    from_json,
    key,
    replace,
)
from lab.store import MixedRevisionsError, Store
from lab.tasks import Operation, Sraven, Text
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import note_of, train
from lab.versions import ARITHMETIC, arithmetic

RUN = RunSpec("memorize", ModelSpec(layers=1, width=8), AdamTrapezoid(steps=2, rate=0.003, batch=8), seed=0)
TODAY = arithmetic(RUN)
KNOWN = {str(number) for number in range(1, 7)}
RUNS = [replace(RUN, seed=seed) for seed in range(3)]
HISTORY = {"steps": np.array([2]), "accuracy_test": np.array([0.25])}
WEIGHTS = {"a": torch.ones(2)}


def stored(folder, specs, **notes):
    store = Store(folder)
    for spec in specs:
        store.save(spec, HISTORY, WEIGHTS, notes)
    return store


def test_a_run_says_which_arithmetic_made_it(tmp_path):
    store = Store(tmp_path)
    complete([RUN], store, "cpu", progress=False)
    notes = Run(RUN, store).notes
    assert notes["arithmetic"] == TODAY and notes["numerics"] == job.numerics("cpu")
    assert store.notes(RUN) == notes and store.notes(RUNS[1]) == {}


def test_the_digest_of_rounding_follows_arithmetic_alone(monkeypatch):
    """The same after other work, in other modes and with other threads; another one with one more revision."""
    before = job.numerics.__wrapped__()
    torch.set_num_threads(2)
    try:
        with torch.no_grad():
            torch.manual_seed(1)
            assert job.numerics.__wrapped__() == before and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    monkeypatch.setattr(job, "ARITHMETIC", ARITHMETIC + 1)
    assert job.numerics.__wrapped__() != before


def test_the_digest_of_rounding_tells_how_steps_in_c_are_compiled(tmp_path, monkeypatch):
    """Other flags, another digest; the same flags in another place, the same; and no kernel is built for it."""
    before = job.numerics.__wrapped__()
    for folder, flags in (("again", native.FLAGS), ("other", (*native.FLAGS, "-fno-tree-vectorize"))):
        native._loaded.cache_clear()
        try:
            with monkeypatch.context() as patch:
                patch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
                patch.setattr(native, "FLAGS", flags)
                assert (job.numerics.__wrapped__() == before) == (folder == "again")
                assert [path.name.partition("-")[0] for path in native.cache_folder().glob("*.so")] == ["spline"]
        finally:
            native._loaded.cache_clear()


@pytest.mark.parametrize("there, asked, mixed", [(1, 2, True), (2, 2, True), (2, 1, False), (3, 3, False)])
def test_runs_of_two_revisions_are_not_compared(tmp_path, there, asked, mixed):
    """Where all are of one revision they are read, whatever it is; a run that is missing would be of today's."""
    store = stored(tmp_path, RUNS[:there], arithmetic="0" if there != 2 or asked == 1 else "1")
    if there == 2 and asked == 2:
        store.save(RUNS[2], HISTORY, WEIGHTS, {"arithmetic": TODAY})
        asked = 3
    if not mixed:
        complete(RUNS[:asked], store, progress=False)
        return
    with pytest.raises(MixedRevisionsError, match=r"several revisions .* (of revision 0|of revision 1).*--force"):
        complete(RUNS[:asked], store, progress=False)
    assert sum(map(store.has, RUNS)) == (3 if asked == 3 else there), "nothing is trained, nothing is lost"


def test_revisions_are_of_what_trains(tmp_path):
    """Searches by two losses, texts, and what C lacks by its spec have plain steps, and the revision of these."""
    text, table, search = (
        Text("shakespeare", context=16),
        Operation(modulus=5),
        SearchSpec("copy", RUN.model, RUN.recipe),
    )
    kinds = {
        ("memorize", ModelSpec()): "5",
        ("memorize", ModelSpec(gated=True)): "2",
        ("memorize", HyperModel()): "6",
        (text, ModelSpec()): "2",
        (text, HyperModel()): "2",
        (Sraven(), ModelSpec()): "6",
        ("memorize", ModelSpec(weighting="p1")): "2",
        (Sraven(), HyperModel()): "6",
        (Sraven(), HyperModel(experts=4)): "2",
        (Sraven(), HyperModel(network="deep")): "2",
        (Sraven(), Perceptron()): "2",
        (table, Perceptron()): "3",
        (table, Perceptron(spectral=True)): "2",
        (table, HyperModel()): "2",
    }
    assert {(task, model): arithmetic(replace(RUN, task=task, model=model)) for task, model in kinds} == kinds
    learned = Perceptron(), ConstantRate(1, 0.1)
    searches = search, SharedSearch((search,)), TwoLossSpec(table, *learned), EpisodeSpec(table, *learned, learned[1])
    assert list(map(arithmetic, searches)) == ["2", "2", "2", "4"]
    store = stored(tmp_path, RUNS[:1])  # of the revision before
    store.check_one_revision(RUNS[:1])
    with pytest.raises(MixedRevisionsError, match=rf"1 of revision 2, 1 of revision {TODAY}"):
        store.check_one_revision([*RUNS[:2], search])


def test_revisions_of_perceptrons_are_counted_apart(tmp_path):
    """Beside transformers of the store's revision, which is today's of theirs."""
    perceptrons = [RunSpec(Operation(modulus=5), Perceptron(width=4), ConstantRate(1, 0.1), seed) for seed in (0, 1)]
    store = stored(tmp_path, RUNS[:2], arithmetic=TODAY)
    complete([*RUNS[:2], *perceptrons], store, "cpu", progress=False)
    assert {store.notes(spec)["arithmetic"] for spec in perceptrons} == {arithmetic(perceptrons[0])} == {"3"}
    older = stored(tmp_path / "older", perceptrons[:1], arithmetic=str(ARITHMETIC))
    with pytest.raises(MixedRevisionsError, match=r"1 of revision 2, 1 of revision 3"):
        complete(perceptrons, older, "cpu", progress=False)


def test_a_night_leaves_out_a_figure_of_two_revisions(tmp_path, store_folder, monkeypatch):
    monkeypatch.setattr("lab.catalogue.training_queue.score", lambda: {"claims": []})  # only the order hangs on it
    (_, spec), *_ = registry.entry("transformers/fig6").plan("smoke", 1)
    store, said = stored(store_folder, [spec], arithmetic="0"), []
    left = train_all("smoke", 0.0, tmp_path, papers=["transformers"], store=store, say=said.append)
    assert any("transformers/fig6: left out: these runs would be of several revisions" in line for line in said)
    assert "transformers/fig6" in [one.entry.name for one in left]


def test_other_numbers_for_a_key_are_said(tmp_path, capsys):
    store = stored(tmp_path / "a", [RUN])
    store.save(RUN, HISTORY, WEIGHTS, {"seconds": 2.0})
    assert capsys.readouterr().err == "", "the same numbers, another time"
    store.save(RUN, HISTORY, {"a": torch.zeros(2)}, {})
    assert f"{key(RUN)} is in the store {store.folder} already, with other numbers" in capsys.readouterr().err
    assert torch.equal(store.load(RUN)[1]["a"], WEIGHTS["a"])
    other = Store(tmp_path / "b")
    other.save(RUN, HISTORY, {"a": torch.zeros(2)}, {})
    for copied in (lambda: store.copy_to(other, RUN), lambda: store.export(key(RUN), other.folder)):
        with pytest.raises(LabError, match="has other numbers for this key, and stays as it is"):
            copied()
    (line,) = store.lending(other.folder).other_contents()
    assert key(RUN) in line and str(other.folder) in line
    assert store.other_contents() == [] and store.lending(store.folder).other_contents() == []


def test_the_command_verify_names_two_contents_of_a_key(store_folder, capsys):
    folder = next(SHIPPED.glob("runs/*"))
    Store(store_folder).save(from_json((folder / "spec.json").read_text()), HISTORY, WEIGHTS, {})
    main(["store", "verify"])
    assert f"runs/{folder.name}: {SHIPPED} has other numbers for it" in capsys.readouterr().out


def test_facts_that_were_changed_are_found(tmp_path):
    facts, path = {"scale": "laptop", "seeds": [0, 1], "ä": 0.1}, tmp_path / "provenance.json"
    path.write_bytes(results.sealed(facts))
    assert results.Results(tmp_path).facts == facts
    path.write_text(path.read_text().replace("laptop", "paper"))
    with pytest.raises(LabError, match="was edited: it does not have its own SHA-256; bring it back"):
        assert results.Results(tmp_path).facts
    path.write_text(json.dumps(facts))
    assert results.Results(tmp_path).facts == facts, "older than checksums"


# What ships.


def test_what_ships_says_its_revision_and_is_sealed():
    for here in results.every(shipped.RESULTS):
        facts = here.facts
        said = json.loads(gzip.decompress((here.folder / "provenance.json.gz").read_bytes()))
        assert set(facts["arithmetic"]) <= KNOWN and bool(facts["arithmetic"]) == bool(facts["runs"]), here.folder
        assert results.SEAL in said, here.folder
    store = Store(SHIPPED)
    for folder in store.results():
        assert json.loads((folder / "done.json").read_text())["notes"]["arithmetic"] in KNOWN


def ends():
    """By key of a run: what each shipped table of learning curves says of its last evaluation."""
    found = defaultdict(dict)
    for name, entry in registry.entries().items():
        for scale in filter(lambda scale: shipped.shipped_results(name, scale).facts, entry.scales):
            table, facts = shipped.shipped_results(name, scale).table(), shipped.shipped_results(name, scale).facts
            if not {"seed", "step", "accuracy"} <= set(table):
                continue
            planned = shipped.shipped_plan(entry, facts)
            names = [column for column in {**planned[0][0], "seed": 0} if column in table]
            last = table.sort_values("step", kind="stable").groupby(names, sort=False, dropna=False).tail(1)
            rows = {tuple(row[column] for column in names): row for row in last.to_dict("records")}
            for labels, spec in planned:
                row = rows.get(tuple((labels | {"seed": spec.seed})[column] for column in names))
                if row is not None and key(spec) in facts["runs"]:
                    found[key(spec)][name, scale] = row["step"], row["accuracy"]
    return found


def test_tables_agree_on_runs_that_they_share():
    """To the digits that tables have, unless the provenance says that another arithmetic made one of them."""
    shared, differing, revisions = 0, set(), {}
    for said in ends().values():
        for (one, (step, value)), (other, (other_step, other_value)) in itertools.combinations(said.items(), 2):
            if step != other_step:
                continue
            shared += 1
            for at in (one, other):
                revisions.setdefault(at, shipped.shipped_results(*at).facts["arithmetic"])
            if abs(value - other_value) > 2e-4 and revisions[one] == revisions[other] and len(revisions[one]) == 1:
                differing.add((one, other))
    assert shared > 2000 and differing == set()


# The first steps of shipped runs, trained again.


@pytest.mark.parametrize("start", ["1398379e", "9654645e"])
def test_a_shipped_run_begins_as_it_did(start):
    """Over its first hundred steps. Where this fails, ARITHMETIC is to be raised, or something is wrong."""
    spec, store = Store(SHIPPED).look_up(start)
    fleet = fleet_of([spec], [tuple(resolve(part, store) for part in spec.model.parts.values())], "cpu")
    train(fleet, lambda fleet: fleet.step < spec.recipe.every)
    arrays, before = fleet.history.arrays(), store.load(spec)[0]
    assert arrays["steps"].tolist() == before["steps"][:1].tolist()
    for name in set(arrays) - {"steps"}:
        assert arrays[name][0, 0] == pytest.approx(before[name][0], rel=0.002), name


def test_a_transformer_of_a_shipped_table_begins_as_it_did():
    """The table was made by plain steps, before revision 5 of the arithmetic; this run has its blocks in one call."""
    here = shipped.shipped_results("transformers/fig2", "laptop")
    plan = shipped.shipped_plan(registry.entry("transformers/fig2"), here.facts)
    spec = next(s for _, s in plan if s.task == "memorize" and s.model.mlp == "gelu" and s.seed == 0)
    table = here.table().query("task == 'memorize' and method == 'baseline' and seed == 0 and step <= 75")
    fleet = train(fleet_of([spec], [tuple(spec.model.parts.values())], "cpu"), lambda fleet: fleet.step < 75)
    assert note_of(fleet) == ", blocks in one call" or native.why_not()
    arrays = fleet.history.arrays()
    assert arrays["steps"].tolist() == table["step"].tolist() == [25, 50, 75]
    assert arrays["accuracy_test"][:, 0] == pytest.approx(table["accuracy"], abs=0.003)


def test_a_perceptron_of_a_shipped_table_ends_as_it_did():
    """The table was made by plain steps, before revision 3 of the arithmetic; this run is one call a step."""
    here = shipped.shipped_results("simplicity/fig2", "laptop")
    wanted = {"set": "mnist", "mode": "classification", "method": "ReLU", "layers": 1}
    plan = shipped.shipped_plan(registry.entry("simplicity/fig2"), here.facts)
    spec = next(spec for labels, spec in plan if labels == wanted and spec.seed == 0)
    table = here.table().query("set == 'mnist' and mode == 'classification' and method == 'ReLU' and layers == 1")
    before = table[table["seed"] == 0].iloc[-1]
    fleet = train(fleet_of([spec], [tuple(spec.model.parts.values())], "cpu"))
    assert fleet.kernel is not None or native.why_not()
    arrays = fleet.history.arrays()
    (accuracy,) = arrays["accuracy_test"][arrays["steps"] == before["step"]]
    assert accuracy[0] == pytest.approx(before["accuracy"], abs=0.003)
