"""The zoo: what a file holds is what was learned, or it is refused; what the table says can be computed again."""

import csv
import gzip
import json
import os
import statistics

import pytest
import torch
from scipy.stats import ttest_ind

import lab
from lab import tasks
from lab.catalogue.zoo import MEASURED, publish
from lab.errors import ArgumentError, LabError
from lab.nonlinearity import document
from lab.nonlinearity.zoo import left_out, zoo_curves, zoo_names
from lab.places import RESULTS, ZOO


@pytest.fixture
def own(tmp_path, monkeypatch):
    """An empty zoo of the user's."""
    monkeypatch.setenv("LAB_ZOO", str(tmp_path / "zoo"))
    (tmp_path / "zoo").mkdir()
    return tmp_path / "zoo"


def test_every_shipped_file_is_sealed_and_says_where_it_is_from(own):
    files = list(ZOO.rglob("*.*"))
    assert sorted(f"{file.parent.name}/{file.stem}" for file in files) == zoo_names()
    for file in files:
        kept = json.loads(file.read_text())
        assert kept["schema"] == document.SCHEMA and len(kept["sha256"]) == 64
        facts = document.read(file)["provenance"]
        assert {"key", "spec", "task", "part", "paper", "scale", "device_name", "versions"} <= facts.keys()
        spec = facts["spec"]
        knots = spec["restarts"][facts["restart"]]["knots"] if "restarts" in spec else spec["knots"]
        assert lab.zoo(f"{file.parent.name}/{file.stem}").values.shape == (knots,)


def test_the_table_has_a_row_for_each_function_and_all_that_are_shipped_are_measured(own):
    table = lab.zoo()
    assert table.index.tolist() == zoo_names() and "problem" not in table
    named = {f"transformers/{task}{part}" for task in tasks.NAMES for part in ("", "-attention")}
    assert named | {"simplicity/addition-27"} == set(table.index)
    assert table[["task", "paper", "scale", "seeds", *MEASURED, "steps", "measured"]].notna().all(axis=None)
    for at in ("end", "mean"):
        low, gain, high = (table[f"{name}_{at}"] for name in ("low", "gain", "high"))
        assert ((low <= gain) & (gain <= high)).all() and (table["unit"] == "points").all()
    assert table.to_string(max_cols=None).count("\n") == len(table) + 1, "one line a function"


def test_the_gain_of_a_function_learned_by_episodes_is_over_relu():
    with gzip.open(RESULTS / "simplicity/fig11/overnight/table.csv.gz", "rt") as lines:
        rows = list(csv.DictReader(lines))
    means = {}
    for method in ("learned", "ReLU"):
        for seed in {row["seed"] for row in rows}:
            one = [float(r["accuracy"]) for r in rows if (r["method"], r["seed"]) == (method, seed)]
            means.setdefault(method, []).append(100 * statistics.mean(one))
    row = lab.zoo().loc["simplicity/addition-27"]
    assert (row["task"], row["paper"], row["measured"]) == ("a+b mod 27", "simplicity", "simplicity/fig11")
    gain = statistics.mean(means["learned"]) - statistics.mean(means["ReLU"])
    assert row["gain_mean"] == pytest.approx(gain, abs=0.051) and row["seeds"] == len(means["ReLU"])


@pytest.mark.parametrize("task", tasks.NAMES)
def test_gains_are_those_of_the_shipped_results(task):
    """Here without pandas: by seed, mean over steps; then ours minus baseline with scipy's interval of Welch."""
    row = lab.zoo().loc[f"transformers/{task}"]
    with gzip.open(RESULTS / f"transformers/fig10/{row['scale']}/table.csv.gz", "rt") as lines:
        rows = [line for line in csv.DictReader(lines) if line["task"] == task]
    assert {line["diverged"] for line in rows} == {"False"}
    seeds = sorted({line["seed"] for line in rows})

    def over_training(method, seed):
        return statistics.mean(float(r["accuracy"]) for r in rows if (r["method"], r["seed"]) == (method, seed))

    ours, baseline = ([100 * over_training(method, seed) for seed in seeds] for method in ("learned MLP", "baseline"))
    low, high = ttest_ind(ours, baseline, equal_var=False).confidence_interval()
    mean = statistics.mean(ours) - statistics.mean(baseline)
    assert row["seeds"] == len(seeds) >= 3 and row["measured"] in ("transformers/fig2", "transformers/fig10")
    assert [row["gain_mean"], row["low_mean"], row["high_mean"]] == pytest.approx([mean, low, high], abs=0.0051)
    last = max(int(line["step"]) for line in rows)
    ends = {}
    for line in rows:
        if int(line["step"]) == last and line["method"] in ("learned MLP", "baseline"):
            ends.setdefault(line["method"], []).append(100 * float(line["accuracy"]))
    gain = statistics.mean(ends["learned MLP"]) - statistics.mean(ends["baseline"])
    assert row["steps"] == last and row["gain_end"] == pytest.approx(gain, abs=0.0051)


def test_a_function_of_your_own_is_listed_and_measured_by_your_own_runs(own, store_folder):
    found = lab.search("memorize", scale="smoke", progress=False)
    publish(found, own)
    row = lab.zoo().loc["mine/memorize"]
    assert row["task"] == "memorize" and row["scale"] == "smoke" and row["key"] == found.provenance["key"][:12]
    assert row[["seeds", "gain_mean", "measured"]].isna().all(), "nothing was trained with it yet"
    settings = {"scale": "smoke", "seeds": 2, "progress": False}
    ours = lab.train("memorize", mlp=lab.zoo("mine/memorize"), **settings)
    assert lab.zoo().loc["mine/memorize", ["gain_mean"]].isna().all(), "nothing to compare with yet"
    baseline = lab.train("memorize", **settings)
    row = lab.zoo().loc["mine/memorize"]
    assert row["gain_mean"] == pytest.approx(100 * (ours.accuracy.mean() - baseline.accuracy.mean()), abs=0.051)
    assert (row["seeds"], row["steps"], row["measured"]) == (2, 6, "store")


@pytest.mark.parametrize("learn", [("attention",), ("mlp", "attention")], ids=str)
def test_functions_of_the_attention_are_listed_and_measured(own, store_folder, learn):
    found = lab.search("memorize", learn=learn, scale="smoke", progress=False)
    names = {path.stem.removeprefix("memorize"): f"mine/{path.stem}" for path in publish(found, own)}
    assert names.keys() == ({"-attention"} if len(learn) == 1 else {"-both-mlp", "-both-attention"})
    lab.train("memorize", scale="smoke", seeds=2, progress=False)
    if len(learn) == 1:
        lab.train("memorize", attention=lab.zoo("mine/memorize-attention"), scale="smoke", seeds=2, progress=False)
        assert lab.zoo().loc["mine/memorize-attention", "seeds"] == 2
    for name in names.values():
        part = lab.zoo().loc[name, "part"]
        assert part == ("attention" if "-attention" in name else "mlp")
        assert torch.equal(lab.zoo(name).values, found.splines[part].values)


def test_a_plain_saved_spline_is_a_member_too(own, tmp_path):
    hat = lab.Spline(torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0)
    hat.save(own / "hat.json")
    assert zoo_names()[-1] == "mine/hat" and lab.zoo("mine/hat").values.tolist() == [0.0, 1.0, 0.0]
    assert lab.zoo().loc["mine/hat"].drop(["commit", "key"]).isna().all()
    (tmp_path / "other" / "below").mkdir(parents=True)
    hat.save(tmp_path / "other" / "below" / "hat.json")
    assert zoo_names(tmp_path / "other")[-1] == "mine/below/hat" and "mine/hat" not in zoo_names(tmp_path / "other")
    assert lab.zoo("mine/below/hat", folder=tmp_path / "other").low == -1.0
    with pytest.raises(
        ArgumentError, match="no function 'mine/below/hat' in the zoo; there are: simplicity/addition-27,"
    ):
        lab.zoo("mine/below/hat")
    with pytest.raises(ArgumentError, match="nowhere' is no folder; `lab search TASK --out"):
        lab.zoo(folder=tmp_path / "nowhere")


def test_a_zoo_that_is_not_there_yet_is_empty(own):
    own.rmdir()
    assert zoo_names() == zoo_names(None) and not any(name.startswith("mine/") for name in zoo_names())


HAT = {"kind": "linear spline", "low": -1.0, "high": 1.0, "dtype": "float32", "values": [0.0, 1.0, 0.0]}


def test_every_changed_character_of_a_file_is_noticed(tmp_path):
    path = tmp_path / "hat.json"
    lab.Spline(torch.tensor(HAT["values"]), -1.0, 1.0).save(path, {"task": "none"})
    text, noticed = path.read_text(), 0
    for place, letter in enumerate(text):
        path.write_text(text[:place] + ("7" if letter != "7" else "8") + text[place + 1 :])
        try:
            lab.Spline.load(path)
        except LabError as error:
            assert "hat.json" in str(error) and "\n" not in str(error)
            noticed += 1
    assert noticed == len(text)


@pytest.mark.parametrize("cut", [1, 0.5, 0.99])
def test_half_a_file_is_refused(tmp_path, cut):
    path = tmp_path / "hat.json"
    lab.Spline(torch.tensor(HAT["values"])).save(path)
    text = path.read_text()
    path.write_text(text[: int(cut * len(text)) if cut < 1 else 0])
    with pytest.raises(LabError, match="hat.json is not a saved spline"):
        lab.Spline.load(path)


def test_a_newer_schema_is_refused_and_an_older_file_is_read(own):
    path = own / "hat.json"
    document.write(path, HAT)
    newer = json.loads(path.read_text()) | {"schema": document.SCHEMA + 1}
    path.write_text(json.dumps(newer))
    with pytest.raises(LabError, match="hat.json has schema 2, this lab reads up to 1: update the lab"):
        lab.zoo("mine/hat")
    path.write_text(json.dumps(HAT))  # as the first version wrote it
    assert lab.zoo("mine/hat").values.tolist() == HAT["values"]
    path.write_text(json.dumps(HAT | {"schema": 1}))
    with pytest.raises(LabError, match="hat.json is damaged, or was edited.*write it anew with Spline.save"):
        lab.zoo("mine/hat")


def test_a_bad_file_does_not_hide_the_others(own):
    (own / "bad.json").write_text('{"schema": 9}')
    (own / "strange.json").write_text("[]")
    document.write(own / "future.json", HAT | {"provenance": {"spec": {"type": "Oracle"}, "task": "chess"}})
    table = lab.zoo()
    assert len(table) == len(zoo_names()) and table.loc["transformers/add", "problem"] == ""
    assert "update the lab" in table.loc["mine/bad", "problem"]
    assert "not a saved spline" in table.loc["mine/strange", "problem"]
    assert table.loc["mine/future", "problem"] == "" and table.loc["mine/future", "task"] == "chess"


def test_many_files_that_are_left_out_are_a_line():
    problems = {f"mine/{number}": "x" * 1000 for number in range(50)}
    assert "mine/0 (xxx" in left_out(problems) and left_out(problems).endswith("47 more.")
    assert len(left_out(problems)) < 500 and left_out({}) == ""


FOREIGN = {
    "empty": b"",
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "utf16": "{}".encode("utf-16"),
    "zeros": bytes(9),
    "deep": b"[" * 100_000,
    "kernel": b'{"argv": ["python"], "display_name": "Python 3"}',
}
PROVENANCES = [
    None,
    [],
    "text",
    5,
    {"versions": None},
    {"versions": []},
    {"versions": {"lab_commit": 5}},
    {"key": 5},
    {"task": ["a"]},
    {"scale": {"x": 1}},
    {"spec": None},
    {"spec": "x"},
    {"spec": {}},
    {"spec": [1]},
    {"spec": {"kind": "SearchSpec", "task": "memorize", "knots": "x"}},
]


def test_a_foreign_file_has_a_row_that_says_so_and_the_others_have_theirs(own):
    hat = lab.Spline(torch.tensor(HAT["values"]), -1.0, 1.0)
    hat.save(own / "hat.json")
    for name, content in FOREIGN.items():
        (own / f"{name}.json").write_bytes(content)
    (own / "folder.json").mkdir()
    (own / "link.json").symlink_to(own / "nowhere")
    os.mkfifo(own / "pipe.json")
    for number, provenance in enumerate(PROVENANCES):
        document.write(own / f"p{number}.json", HAT | {"provenance": provenance})
    table = lab.zoo()
    mine = table[table.index.str.startswith("mine/")]
    files = ["hat", *FOREIGN, *(f"p{number}" for number in range(len(PROVENANCES)))]
    assert set(mine.index) == {f"mine/{name}" for name in files}
    assert table.problem[[f"mine/{name}" for name in FOREIGN]].str.contains("give a file written by").all()
    assert table.problem["mine/hat"] == "" and (table.problem[table.index.difference(mine.index)] == "").all()
    for number in range(10):
        assert "provenance that cannot be read" in table.problem[f"mine/p{number}"]
        assert torch.equal(lab.zoo(f"mine/p{number}").values, hat.values), "the function itself is whole"
    assert not table.problem.str.contains("\n").any()
    functions, problems = zoo_curves()
    assert sorted([*functions, *problems]) == sorted(zoo_names()) and set(problems) == {f"mine/{n}" for n in FOREIGN}


def test_a_zoo_that_can_be_no_folder_is_said(own, monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for value, said in {
        "x" * 300: "LAB_ZOO='xxx.*give another path",
        str(tmp_path / "file"): "is a file; name a folder",
    }.items():
        monkeypatch.setenv("LAB_ZOO", value)
        with pytest.raises(ArgumentError, match=said):
            zoo_names()
    for folder in (5, "x" * 300, b"zoo", []):
        with pytest.raises(ArgumentError, match="folder=.*: .*give a.* path"):
            lab.zoo(folder=folder)
    for name in (5, [], "x" * 5000, 10**5000):
        with pytest.raises(ArgumentError, match="give the name of a function|there are: simplicity") as caught:
            lab.zoo(name, folder=own)
        assert len(str(caught.value)) < 1000


def test_the_name_of_a_function_without_its_paper_is_completed():
    with pytest.raises(ArgumentError, match="did you mean 'transformers/memorize'"):
        lab.zoo("memorize")


def test_a_misspelt_function_is_guessed_last():
    with pytest.raises(ArgumentError, match=r"in all\), or a lab.Spline, .* lab.zoo\(\); did you mean 'gelu'\?$"):
        lab.check("gellu")
