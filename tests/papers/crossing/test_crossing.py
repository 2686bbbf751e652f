"""What crosses the papers: numbers are those of stored runs, a function learned in one model works in another."""

import numpy as np
import pandas as pd
import pytest
import torch

from lab import kinds
from lab.catalogue import league as users_league
from lab.catalogue.build import check, figure, measured
from lab.catalogue.registry import entry
from lab.catalogue.shipped import shipped_plan, shipped_results, trained
from lab.catalogue.training_queue import train_all, waiting
from lab.cli import main
from lab.errors import ArgumentError, LabError
from lab.nonlinearity.spline import Spline
from lab.papers.crossing import benchmarks, connectivity, grokking, league
from lab.papers.crossing.compatibility import BASELINE, TUNING_SEED, at_best, gains, places, rates_of
from lab.papers.crossing.multitask import TASKS, shared
from lab.papers.tables import best_rates
from lab.resolve import resolve
from lab.run import complete
from lab.scale import COMMON
from lab.spec import Knots, Learned, RunSpec, SharedSearch, from_json, key, needs, replace, to_json
from lab.store import Store
from tests.papers.crossing.planted import NAMES, PLANTED
from tests.papers.plans import planned_runs

EACH = pytest.mark.parametrize("name", NAMES)
SCALES = pytest.mark.parametrize("scale", COMMON)


@pytest.fixture(scope="module")
def made():
    """All figures at smoke scale, in the store that tests share."""
    return {name: figure(name, "smoke", progress=False) for name in NAMES}


@EACH
def test_a_figure_has_all_that_it_promises(made, name):
    one = made[name]
    assert len(one.table) and one.plot.data and one.summary and "Scale smoke" in one.caption
    check(one.provenance)
    runs = [run for _, run in planned_runs(name)]
    assert one.provenance["runs"].keys() == {run.key for run in runs} and one.provenance["guesses"]
    assert one.provenance["searches"].keys() == {key(search) for run in runs for search in needs(run.spec)}
    assert TUNING_SEED not in one.provenance["seeds"], "a seed that chooses a rate is not reported"


@EACH
@SCALES
def test_every_run_fits_together(name, scale):
    found = entry(name)
    plan = found.plan(scale, 2)
    assert {spec.task_name for _, spec in plan} <= set(found.tasks)
    told = [(tuple(labels.items()), spec.seed) for labels, spec in plan]
    assert len(set(told)) == len(told), "labels and seed name a run"
    for _, spec in plan:
        assert isinstance(spec, RunSpec) and from_json(to_json(spec)) == spec
        if scale == "smoke":
            kinds.check_run(spec)
        assert not set(spec.evaluate) & {"train", "search"} and (spec.tuning or "val" not in spec.evaluate)


@SCALES
def test_a_function_stands_in_every_model_and_nothing_else_changes(scale):
    for place in places(scale):
        for other in places(scale):
            run, *_, tuning = place.runs(other.learned, place.rates[0], 2)
            assert getattr(run.model, place.part) == other.learned and tuning.tuning
            base = replace(place.base, recipe=replace(place.base.recipe, rate=place.rates[0]))
            standard = getattr(base.model, place.part)
            assert replace(run, model=replace(run.model, **{place.part: standard})) == base
    assert len({place.base.recipe.rate in place.rates for place in places(scale)}) == 1, "the paper's own is tried"


def test_the_function_in_a_model_is_the_one_that_was_learned_in_the_other():
    labels = {"model": "perceptron", "function": "HYLA", "split": "test"}
    (_, run), *_ = planned_runs("crossing/compatibility", **labels)
    part = run.spec.model.phi
    assert isinstance(part, Learned) and part.search.task_name == "logic"
    values = run.model().function(0).values.tolist()
    assert values == pytest.approx(resolve(part, run.store).values)


def test_scores_are_those_of_the_stored_runs(made):
    table = made["crossing/compatibility"].table
    for (labels, run), (_, row) in zip(planned_runs("crossing/compatibility"), table.iterrows(), strict=True):
        name = "r2" if labels["model"] == "HYLA" else "accuracy"
        values = run.scores[f"{name}_{labels['split']}"]
        kept = run.notes.get("kept")
        assert row["score"] == values[-1 if kept is None else list(run.steps).index(kept)]
    runs = [run for _, run in planned_runs("crossing/hyla_phi", task="sraven")]
    shown = made["crossing/hyla_phi"].table
    assert [run.scores["accuracy_ood"][-1] for run in runs] == shown[shown["task"] == "sraven"]["score_ood"].tolist()


def test_a_rate_is_chosen_on_val_for_functions_and_baseline():
    table = PLANTED["crossing/compatibility"](True)
    assert set(rates_of(table).values()) == {0.01}
    lucky = (table["rate"] == 0.1) & (table["split"] == "test") & (table["function"] == BASELINE)
    table.loc[lucky, "score"] = 0.99  # test chooses nothing
    assert set(rates_of(table).values()) == {0.01} and set(at_best(table)["rate"]) == {0.01}
    chosen = table["val"] if "val" in table else (table["split"] == "val") & (table["function"] == BASELINE)
    table.loc[chosen & (table["rate"] == 0.1), "score"] = 0.7
    assert rates_of(table)["HYLA", BASELINE] == 0.1
    assert gains(table)["HYLA", "HYLA"].effect == pytest.approx(100 * (0.65 - 0.99), abs=0.5)
    table.loc[chosen & (table["rate"] == 0.1), "diverged"] = True
    assert rates_of(table)["HYLA", BASELINE] == 0.01


def test_gains_are_within_seeds_where_a_seed_decides_what_is_held_out():
    """That is so of HYLA alone: what a seed does to all functions leaves its intervals, and widens those of others."""
    table = PLANTED["crossing/compatibility"](True)
    harder = table.assign(score=table["score"] - 0.02 * table["seed"].where(table["split"] == "test", 0))
    plain, shifted = (
        {keys: np.ptp(gain.interval(0.95)) for keys, gain in gains(one).items()} for one in (table, harder)
    )
    for model, function in plain:
        ratio = shifted[model, function] / plain[model, function]
        assert ratio == pytest.approx(1) if model == "HYLA" else ratio > (1.2 if model == "perceptron" else 3)


def test_hyla_has_a_third_of_the_seeds_and_three_that_choose_its_rate():
    for place in places("laptop"):
        runs = place.runs(None, place.rates[0], 24)
        tuning, others = [[run.seed for run in runs if run.tuning == kind] for kind in (True, False)]
        hyla = place.name == "HYLA"
        assert others == list(range(8 if hyla else 24))
        assert tuning == [TUNING_SEED + number for number in range(3 if hyla else 1)]
        assert [run.seed for run in place.runs(None, place.rates[0], 1) if not run.tuning] == [0]


def test_one_function_is_shared_by_all_tasks_of_the_scale(made):
    runs = planned_runs("crossing/multitask", method="learned for all")
    searches = {search for _, run in runs for search in needs(run.spec)}
    assert searches == {shared("smoke")} and isinstance(next(iter(searches)), SharedSearch)
    drawn = made["crossing/multitask"].extras["functions"]
    own = drawn[drawn["method"] == "learned for all"]
    values = [rows["value"].tolist() for _, rows in own.groupby("task", sort=False)]
    assert len(values) == len(TASKS["smoke"]) and all(one == values[0] for one in values)
    knots = resolve(runs[0][1].spec.model.mlp, Store())
    assert values[0] == pytest.approx(np.round(knots.values, 6))


@EACH
def test_planted_tables_are_drawn(name):
    found = entry(name)
    table = PLANTED[name](True)
    assert "nan" not in found.summary(table)
    if name == "crossing/compatibility":
        words = [note.text for note in found.plot(table).layout.annotations]
        assert sum("<b>+" in text for text in words) == 16, "every gain is clear"


def test_the_league_ranks_functions_against_the_best_fixed_one_of_val():
    table = PLANTED["crossing/league"](True)
    ranks = league.ranking(table).set_index(["task", "function"])
    assert (ranks["over"] == "relu").all() and (ranks["rate"] == 0.01).all()
    for name, gain in (("gelu", -3), ("prelu", 5), ("learned spline", 5)):
        row = ranks.loc[("memorize", name)]
        assert row["low"] < gain < row["high"] and row["gain"] == pytest.approx(gain, abs=0.5)
    alone, together = (league.gains(table, together) for together in (False, True))
    for key_, one in together.items():
        (a, b), (low, high) = alone[key_].interval(0.95), one.interval(0.95)
        assert low < a < b < high, "together they are wider"
    assert ranks["needed"].isna().all(), "all are decided"
    noisy = table.assign(score=table["score"] + np.random.default_rng(0).normal(0, 20, len(table)))
    assert league.ranking(noisy)["needed"].dropna().gt(6).any()


def test_a_function_that_diverged_stands_in_the_league_as_such():
    table = PLANTED["crossing/league"](True).assign(seconds=2.0)
    table.loc[table["function"] == "tanh", "diverged"] = True
    ranks = league.ranking(table).set_index(["task", "function"])
    row = ranks.loc[("memorize", "tanh")]
    assert row["diverged"] == 4 and row[["rate", "score", "gain", "low"]].isna().all()
    assert ranks.loc[("memorize", "prelu"), "diverged"] == 0 and (ranks["seconds"] == 2.0).all()
    drawn = entry("crossing/league").plot(table)
    assert any("tanh" in text and text.endswith("†") for text in drawn.layout.yaxis.ticktext)


@pytest.mark.parametrize(
    ("right", "at_end", "known"),
    [(True, "AdamW", False), (True, "Muon", True)] + [(False, "AdamW", True), (False, "Muon", False)],
)
def test_what_a_rate_beyond_those_tried_could_turn_is_not_measured(right, at_end, known):
    """That Muon is faster hangs on AdamW's rate, that it is not on Muon's own."""
    table = PLANTED["crossing/grokking"](right)
    (claim,) = (one for one in entry("crossing/grokking").claims if one.name == "muon-steps")
    found = claim.verdict(table[(table["optimizer"] != at_end) | (table["rate"] >= 0.03)], "overnight")
    word = ("does not hold", "holds")[right] if known else "not measured here"
    assert found.word == word and (known or grokking.AT_END in found.reason)


def test_what_diverged_at_every_rate_is_named_beside_the_optimizers():
    table = PLANTED["crossing/grokking"](True)
    gone = (table["task"] == "ab mod 27") & (table["optimizer"] == "Muon") & (table["function"] == "ReLU")
    table.loc[gone, "diverged"] = True
    said = grokking.numbers(table[~gone | (table["split"] == "val")])
    names = "ab mod 27, ReLU, StableMax, Muon; ab mod 27, ReLU, softmax, Muon"
    assert f"diverged on val at every rate: {names}." in said


@pytest.fixture
def rated(store_folder, monkeypatch):
    """The league with three rates for perceptrons, and a function that diverges at each of them."""
    monkeypatch.setitem(benchmarks.RATES, "smoke", (0.003, 0.01, 0.03))
    monkeypatch.setattr(league, "functions", lambda scale: ("relu", "gelu", "prelu"))
    huge = {"huge": (Knots(-1.0, 1.0, (1e30, -1e30)), 50)}
    found = replace(entry("crossing/league"), plan=lambda scale, seeds: league.plan(scale, seeds, huge))
    monkeypatch.setattr("lab.catalogue.registry.entry", lambda name, tasks=None: found)
    monkeypatch.setattr("lab.catalogue.training_queue.entries", lambda paper=None: {found.name: found})
    return found


ON_VAL = 4 * (1 + 3)  # runs of four functions: on one task at a single rate, on another at three, with a seed each
AT_BEST = 2 * 3 * 2  # with two seeds each, but for what diverged


def test_at_its_best_rates_alone_the_league_is_that_of_all_rates(rated):
    store = Store()
    first, later = rated.known("smoke", 2, store)
    assert len(first) == ON_VAL and len(later) == AT_BEST + 4 and all(spec.tuning for _, spec in first)
    table, facts, _ = measured(rated, "smoke", store=store, progress=False)
    assert len(list(store.results())) == len(table) == len(facts["runs"]) == ON_VAL + AT_BEST
    assert shipped_plan(rated, facts) == rated.known("smoke", 2, store)[0]
    every, _, _ = measured(replace(rated, tuned=None), "smoke", store=store, progress=False)
    assert len(every) == 3 * ON_VAL, "three seeds at every rate"
    ranks, same = (league.ranking(one).drop(columns=["cost", "seconds"]) for one in (table, every))  # which are timed
    pd.testing.assert_frame_equal(ranks, same)
    row = ranks.set_index(["task", "function"]).loc[("a+b mod 27", "huge")]
    assert row["diverged"] == row["seeds"] == 3 and np.isnan(row["rate"])


def test_what_is_killed_while_rates_are_chosen_goes_on_there(rated, tmp_path):
    store = Store()
    first, _ = next(rated.stages("smoke", 2, store))
    last = {"task": "a+b mod 27", "function": "prelu", "search": 0, "rate": 0.03, "split": "val"}
    complete([spec for labels, spec in first if labels != last], store, progress=False)
    known, later = rated.known("smoke", 2, store)
    assert [(one["task"], one["function"]) for one, _ in later] == [(last["task"], last["function"])] * 2
    assert len(known) == ON_VAL + AT_BEST - 2 and not trained(rated, "smoke", store)
    complete([spec for _, spec in first], store, progress=False)
    assert not trained(rated, "smoke", store), "a figure is not drawn without its seeds on test"
    (one,) = waiting("smoke", store)
    assert (one.missing, one.runs) == (AT_BEST, ON_VAL + AT_BEST)
    assert train_all("smoke", 1, tmp_path / "out", store=store, say=lambda line: None) == []
    assert trained(rated, "smoke", store) and len(list(store.results())) == one.runs
    assert (tmp_path / "out" / rated.name / "smoke" / "table.csv").is_file()


def test_a_cluster_trains_both(rated, tmp_path):
    pytest.importorskip("distributed", reason="pip install 'lab-nonlinearities[cluster]'")
    said, path = [], tmp_path / "cluster.yaml"
    options = "{processes: false, n_workers: 0, threads_per_worker: 1, dashboard_address: null}"
    path.write_text(f"class: distributed.LocalCluster\noptions: {options}\nworkers: 1\n")
    assert train_all("smoke", 1, tmp_path / "out", store=Store(), say=said.append, cluster=path) == []
    assert said[0] == f"1 figures, {ON_VAL} of {ON_VAL} runs to be trained"
    assert said[1] == f"1 figures, {AT_BEST} of {ON_VAL + AT_BEST} runs to be trained"
    assert len(list(Store().results())) == ON_VAL + AT_BEST


def test_a_league_that_is_trained_again_is_trained_at_all_rates(rated, capsys):
    store = Store()
    measured(rated, "smoke", store=store, progress=False)
    before = {path.stat().st_ctime_ns for path in store.results()}
    table, _, _ = measured(rated, "smoke", store=store, force=True, progress=False)
    after = [path.stat().st_ctime_ns for path in store.results()]
    assert len(after) == len(table) == ON_VAL + AT_BEST and not before & set(after)


def test_barriers_are_heights_above_the_line_between_both_ends():
    table = PLANTED["crossing/connectivity"](True)
    heights = connectivity.barriers(table, "loss")["a+b mod 27", "ReLU"]
    assert np.mean(heights) == pytest.approx(1.0, abs=0.1) and len(heights) == 6, "the line itself rises by 1"
    fall = connectivity.barriers(table, "matched_accuracy")["a+b mod 27", "ReLU"]
    assert fall == pytest.approx([10 * height for height in heights])


def test_pairs_whose_searches_chose_a_rate_count_nowhere():
    table = PLANTED["crossing/connectivity"](True)
    heights = connectivity.barriers(table, "loss")
    assert {method: len(each) for (_, method), each in heights.items()} == {"ReLU": 6, "GELU": 6, "learned": 4}
    tuned = (table["method"] == "learned") & (table["seed"] < 2 * connectivity.TUNING) & (table["split"] == "test")
    assert connectivity.barriers(table.assign(loss=table["loss"].where(~tuned, 9.0)), "loss") == heights
    searches = {True: set(), False: set()}
    for labels, spec in entry("crossing/connectivity").plan("laptop", 12):
        if labels["split"] == "val" or spec.seed >= 2 * connectivity.TUNING:
            searches[labels["split"] == "val"] |= {*needs(spec)}
    assert searches[True] and searches[False] and not searches[True] & searches[False]


def test_rates_are_those_that_val_chooses():
    table = shipped_results("crossing/connectivity", "laptop").table()
    best = best_rates(table[table["split"] == "val"], ["task", "method"], "accuracy")
    assert best == {(task, method): rate for task, rates in connectivity.BEST.items() for method, rate in rates.items()}
    pairs = table[table["split"] == "test"].drop_duplicates(["task", "method", "seed"])
    assert all(best[row.task, row.method] == row.rate for row in pairs.itertuples())
    for _, rows in pairs.groupby(["task", "method"]):
        assert sorted([*rows["seed"], *rows["other"]]) == list(range(connectivity.ENTRIES[0].seeds["laptop"])), (
            "no model is in two pairs"
        )


def test_a_path_ends_at_the_stored_models(made):
    table = made["crossing/connectivity"].table
    ends = table[table["along"] == 1].set_index("method")["accuracy"]
    for labels, run in planned_runs("crossing/connectivity"):
        if run.spec.seed % 2:
            assert ends[labels["method"]] == pytest.approx(run.scores["accuracy_test"][-1], abs=1e-5)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("phi.json", ""),
        ("phi.py:phi", "--trust"),
        ("phi.py:Noise", "'the same at each call'"),
        ("phi.py:softmax", "'each number by itself'"),
        ("phi.py:step", "'gradient reaches the input'"),
        ("phi.py:pool", "keeps the shape"),
        ("phi.py:many", "10,000"),
        ("phi.py:nan", "not finite"),
        ("phi.py:fast", "as a spline of 361 knots"),
        ("phi.py:rectified", "is relu"),
        ("phi.py:none", "no 'none'"),
        ("phi.py", "which function"),
        ("gelu.json", "a function of the lab"),
        ("GELU.json", "a function of the lab"),
        ("huge.json", "not finite"),
        ("absent.json", "no saved spline"),
    ],
)
def test_what_enters_the_league_keeps_its_laws(file, said, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_ZOO", str(tmp_path / "zoo"))
    monkeypatch.chdir(tmp_path)
    Spline.from_function(torch.sin, -3.0, 3.0, 31).save("phi.json")
    Spline(torch.tensor([1e300, -1e300], dtype=torch.float64), -1.0, 1.0).save("huge.json")  # not in float32
    program = ["import torch", "from torch import nn, relu", "from lab.nonlinearity.spline import Spline"]
    program += [
        "phi, cosine = torch.sin, torch.cos",
        "rectified = relu",
        "step = lambda x: x.detach().sign()",
        "pool = lambda x: x.amax(-1)",
    ]
    program += ["Noise = lambda x: x + torch.rand_like(x)", "softmax = lambda x: x.softmax(-1)"]
    program += [
        "fast = lambda x: (30 * x).sin()",
        "many = Spline(torch.zeros(1_000_000), -1.0, 1.0)",
        "nan = Spline(torch.full((9,), float('nan')), -1.0, 1.0)",
    ]
    (tmp_path / "phi.py").write_text("\n".join(program))
    if not said:
        assert users_league.add(file) == users_league.add(file, "again") == "mine/league/phi"  # no second draw of seeds
        ((name, (part, seed)),) = users_league.yours().items()
        assert part.values[0] == pytest.approx(np.sin(-3.0)) and seed > 10**9
        assert (
            users_league.add("phi.py:phi", "sine", trust=True) == "mine/league/sine" and len(users_league.yours()) == 2
        )
        with pytest.raises(ArgumentError, match="another name"):
            users_league.add("phi.py:cosine", "phi", trust=True)
        (tmp_path / "zoo" / "league" / "broken.json").write_text("hello")
        with pytest.raises(LabError, match="broken.json is no saved function"):
            users_league.yours()
        return
    with pytest.raises(LabError) as error:
        users_league.add(file, trust="trust" not in said)
    assert said.replace("no saved", "not a saved") in str(error.value) and "\n" not in str(error.value)


def test_a_function_of_ones_own_has_rows_beside_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_ZOO", str(tmp_path / "zoo"))
    Spline.from_function(torch.sin, -3.0, 3.0, 31).save(tmp_path / "phi.json")
    main(["league", "add", str(tmp_path / "phi.json")])
    main(["league", "--mine", "--scale", "smoke", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    table = pd.read_csv(tmp_path / "out" / "crossing" / "league" / "smoke" / "table.csv")
    mine = table[table["function"] == "mine/league/phi"]  # its seeds are drawn: whether it gets to a score is chance
    assert len(mine) and (table["seconds"].dropna() > 0).all()
    assert (table["step"].isna() == table["seconds"].isna()).all() and table["seconds"].notna().any()
    assert "mine/league/phi" in said and (tmp_path / "out" / "crossing" / "league" / "smoke" / "table.csv").exists()


def test_points_lost_on_a_path_are_drawn_as_the_caption_has_them():
    table = PLANTED["crossing/connectivity"](True)
    drawn = [trace for trace in entry("crossing/connectivity").plot(table).data if trace.error_y.array is not None]
    means = [np.mean(values) for values in connectivity.barriers(table, "matched_accuracy").values()]
    assert means and all(any(trace.y[0] == pytest.approx(mean) for trace in drawn) for mean in means)


def test_where_most_runs_never_get_there_no_median_is_drawn():
    steps = {"AdamW": [10.0, 20.0, np.nan], "Muon": [10.0, np.nan, np.nan]}
    rows = pd.DataFrame([(name, step) for name, each in steps.items() for step in each], columns=["optimizer", "step"])
    cells = grokking._ways(rows.assign(loss="softmax", last=100))
    assert cells["median"].tolist() == [20.0, np.inf] and cells["never"].tolist() == [1, 2]
