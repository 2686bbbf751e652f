"""The command line: what each command does, what it says when asked for something wrong, and with which exit code."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch

from benchmarks.samples import SHIPPED
from lab import tasks
from lab.catalogue.listing import shipped
from lab.catalogue.registry import entries
from lab.catalogue.results import sealed
from lab.cli import COMMANDS, main
from lab.data import datasets
from lab.functions import zoo
from lab.nonlinearity import document
from lab.nonlinearity.spline import Spline
from lab.papers.claims import WORDS
from lab.papers.transformers.settings import setting
from lab.papers.transformers.sweep import RATES
from lab.places import SHIPPED as LENT
from lab.run import Run, complete
from lab.scale import COMMON, SCALES
from lab.store import Store
from tests.processes import ROOT

linux = pytest.mark.skipif(sys.platform != "linux", reason="mounts and capabilities are Linux's")


@pytest.fixture
def lab(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder: exit code, lines of stdout, lines of stderr without progress bars."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def run(words: str) -> tuple[int, list[str], list[str]]:
        capsys.readouterr()
        code = 0
        try:
            main(words.split())
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        said = [line.split("\r")[-1].strip() for line in err.split("\n")]
        return code, out.splitlines(), [line for line in said if line]

    return run


FIGURE = "figure transformers/fig2 --scale smoke"
WRONG = {
    "figure transformers/fig1 --scale smoke": ("'transformers/fig1'", "transformers/fig2, rates", "fig15"),
    "figure simplicity": ("'simplicity'; known: simplicity/fig2, fig3", "table4; `lab figures simplicity` says"),
    "figure fig2": ("did you mean transformers/fig2, hypernetwork/fig2b", "or simplicity/fig2? `lab figures`"),
    "figure transformer/fig5": ("did you mean transformers/fig5?",),
    "figure chess": ("known: transformers/fig2, ", f"{len(entries())} in all", "`lab figures` lists all"),
    "figures chess": ("unknown paper 'chess'", "transformers, hypernetwork, simplicity"),
    "scorecard --json --markdown": ("--json and --markdown", "one of them"),
    "figure transformers/fig2 --scale tiny": ("'tiny'", "smoke, laptop, overnight, paper, best"),
    "figure transformers/fig2 --scale best --seeds 2": ("seeds=2", "scale='laptop'"),
    "figure transformers/fig2 --scale best --force": ("force", "scale='laptop'"),
    f"{FIGURE} --device tpu": ("'tpu'", "auto, cpu, cuda"),
    f"{FIGURE} --seeds 0": ("seeds=0", "1 or more"),
    f"{FIGURE} --seeds -2": ("seeds=-2", "1 or more"),
    f"{FIGURE} --out file": ("--out file", "is a file", "name a folder"),
    f"{FIGURE} --out file/below": ("--out file/below", "is a file", "name a folder"),
    "search chess --scale smoke": ("'chess'", *tasks.NAMES, "a+b mod 27", "mnist_sample", "lab data"),
    "search bank-marketing --scale smoke --learn mlp": ("learn='mlp'", "shared, layers or inputs"),
    "search memorize --scale smoke --learn shared": ("learn=('shared',)", "mlp or attention or both"),
    "search memorize --scale smoke --learn nope": ("learn=('nope',)", "mlp or attention or both"),
    "search bank-marketing --scale smoke --learn both": ("learn='both'", "shared, layers or inputs"),
    "search memorize --scale smoke --by episodes": ("by='episodes'", "two_loss"),
    "search memorize --scale smoke --by nope": ("by='nope'", "two_loss"),
    "search bank-marketing --scale smoke --by nope": ("by='nope'", "episodes or two_loss"),
    "search memorize --scale tiny": ("'tiny'", "smoke, laptop, paper"),
    "search memorize --scale smoke --device tpu": ("'tpu'", "auto, cpu, cuda"),
    "search memorize --scale smoke --seed -1": ("seed=-1", "0 or more"),
    "search memorize --scale smoke --learn": ("learn=()", "mlp or attention or both"),
    "search memorize --scale smoke --out file": ("--out file", "is a file", "name a folder"),
    "data fetch": ("which data set", "lab data"),
    "data fetch chess": ("'chess'", "mnist", f"{len(datasets.names())} in all"),
    "data verify chess": ("'chess'", "mnist", f"{len(datasets.names())} in all"),
    "sweep memorize chess --scale smoke": ("'chess'", *tasks.NAMES),
    "sweep memorize --scale tiny": ("'tiny'", "smoke, laptop, paper"),
    "sweep memorize --scale smoke --device tpu": ("'tpu'", "auto, cpu, cuda"),
    "sweep memorize --scale smoke --out file": ("--out file", "is a file", "name a folder"),
    "finetune d16b2183 cola": ("the run is of sraven", "GPT-Neo or RoBERTa", "`lab store list`"),
    "store export": ("name what to export", "lab store export KEY", "lab store list"),
    f"store export d16b2183 --out {LENT}": ("'d16b2183' came with the lab", "name another folder with --out"),
    "scale --scale nope": ("'nope'", "smoke, laptop, overnight, paper"),
    "store clean 0123": ("lab store clean", "takes no keys", "lab store export KEY"),
    "store export 0123 --out file": ("--out file", "is a file", "name a folder"),
    "sweep mano --scale smoke --searches": ("mano", "memorize", "addmod"),
    "scorecard --scale tiny": ("'tiny'", "smoke, laptop, overnight, paper"),
    "scorecard --results nowhere": ("there is no folder nowhere with results", "such as out"),
}
NO_CUDA = {f"{what} --device cuda": ("'cuda'", "cpu or auto") for what in (FIGURE, "search memorize", "sweep memorize")}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_argument_is_one_line_before_anything_is_trained(lab, store_folder, words):
    Path("file").write_text("precious")
    code, out, said = lab(words)
    assert code == 2 and out == [] and len(said) == 1, said
    assert said[0].startswith("lab: ")
    for word in WRONG[words]:
        assert word in said[0]
    assert not list(store_folder.rglob("*")), "something was trained"
    assert [path.name for path in Path().iterdir()] == ["file"] and Path("file").read_text() == "precious"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize("words", NO_CUDA)
def test_a_missing_gpu_is_said_before_anything_is_trained(lab, store_folder, words):
    code, _, said = lab(words)
    assert code == 2 and len(said) == 1 and all(word in said[0] for word in NO_CUDA[words])
    assert not list(store_folder.rglob("*"))


@pytest.mark.parametrize("words", ["", "chess", "figure", f"{FIGURE} --seeds many", "store mend", "figures --scale"])
def test_words_that_cannot_be_read_have_exit_code_2(lab, store_folder, words):
    code, out, said = lab(words)
    assert code == 2 and out == [] and said and not any("Traceback" in line for line in said)


def test_help_is_everywhere(lab):
    code, out, said = lab("--help")
    text = " ".join(out)
    assert code == 0 and said == [] and all(name in text for name in (*COMMANDS, *SCALES))
    for name in COMMANDS:
        code, out, said = lab(f"{name} --help")
        assert code == 0 and said == [] and len(out) > 3, name
        assert not any(re.match(r"(│| ) \[*STR", line) for line in out), f"{name}: an argument without a name"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fills_a_terminal_of_80_columns(lab, monkeypatch, command):
    """No line is longer, and none ends where the next line's first word would still have its place."""
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = lab(f"{command} --help")
    assert [line for line in out if len(line) > 80 and not line.startswith("usage: ")] == []
    cells = [line[2:-2] if line.startswith("│") else "" for line in out]
    for line, following in zip(cells, cells[1:], strict=False):
        text = line.rstrip()
        if following.startswith("  ") and re.search(r"\S {2,}\S|^ ", text):  # not an option alone on its line
            assert len(text) + 1 + len(following.split()[0]) > 76, f"{text!r} ends early"
    helps = " ".join(out)
    assert "default: None" not in helps and "{None" not in helps and "(default: )" not in helps


# What commands do.


def test_the_catalogue_is_listed_for_people_and_programs(lab):
    code, out, said = lab("figures --json")
    rows = json.loads("\n".join(out))
    assert code == 0 and said == []
    assert [row["name"] for row in rows] == list(entries())
    for row in rows:
        assert row["section"] and row["shows"] and row["title"]
        assert set(COMMON) <= set(row["minutes"]) <= set(SCALES)
        assert all(minutes > 0 for minutes in row["minutes"].values())
        assert isinstance(row["results"], list)
    code, out, said = lab("figures")
    assert code == 0 and said == []
    for row in rows:
        assert any(line.startswith(row["name"]) for line in out) and row["shows"] in " ".join(map(str.strip, out))


@pytest.mark.parametrize("columns", [60, 150])
def test_the_figures_of_one_paper_are_listed_as_wide_as_the_terminal(lab, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, said = lab("figures simplicity")
    assert code == 0 and said == [] and columns - 20 < max(map(len, out)) <= columns
    assert [line.split()[0] for line in out if line[0] != " "] == list(entries("simplicity"))


@pytest.mark.parametrize("more", ["--json", "--markdown", ""])
def test_a_folder_without_results_is_no_scorecard(lab, more):
    Path("empty").mkdir()
    code, out, said = lab(f"scorecard --results empty {more}")
    assert code == 1 and out == [] and len(said) == 1 and said[0].startswith("lab: no results in empty; name a folder")
    code, out, said = lab(f"scorecard --results empty --scale paper {more}")
    assert code == 1 and out == [] and "no results of scale paper in empty" in said[0]


def test_data_sets_are_listed_for_people_and_programs_and_verified(lab):
    code, out, said = lab("data list --json")
    rows = json.loads("\n".join(out))
    assert code == 0 and said == [] and [row["name"] for row in rows] == datasets.names()
    for row in rows:
        assert all(row[what] for what in ("kind", "about", "shape", "licence", "sources"))
    here = [row["name"] for row in rows if row["here"]]
    assert here == [name for name in datasets.names() if name in (*SHIPPED, "python_stdlib")]
    code, out, said = lab("data")
    assert code == 0 and said == [] and all(any(line.startswith(row["name"]) for line in out) for row in rows)
    code, out, said = lab("data verify")
    assert code == 0 and said == [] and all(name in out[0] for name in here)


def test_a_data_set_that_is_not_here_is_one_line(lab):
    code, out, said = lab("data verify electricity")
    assert code == 1 and out == [] and len(said) == 1
    assert all(word in said[0] for word in ("electricity is not here", "lab data fetch", "electricity.csv", "LAB_DATA"))


def test_the_scorecard_is_text_or_json_and_says_what_is_damaged(lab, tmp_path):
    code, out, said = lab("scorecard --json")
    assert code == 0 and said == []
    found = json.loads("\n".join(out))
    assert {row["verdict"] for row in found["claims"]} <= set(WORDS)
    code, text, said = lab("scorecard")
    assert code == 0 and said == [] and f"{len(found['claims'])} claims: " in "\n".join(text[-4:])
    table = tmp_path / "out/transformers/fig3/laptop/table.csv"
    table.parent.mkdir(parents=True)
    table.write_text("colour\nred\n")
    code, out, said = lab(f"scorecard --results {tmp_path / 'out'}")
    assert code == 1 and out == [] and len(said) == 1 and "lab figure transformers/fig3 --scale laptop" in said[0]


def test_the_command_trains_also_where_results_are_shipped(lab, tmp_path, monkeypatch):
    assert lab("figure transformers/fig3 --scale smoke --out shipped/transformers/fig3/smoke")[0] == 0
    folder = Path("shipped/transformers/fig3/smoke").resolve()
    facts = json.loads((folder / "provenance.json").read_text())
    (folder / "provenance.json").write_bytes(sealed(facts | {"device_name": "a shipped machine"}))
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", folder.parents[2])
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    assert lab("figure transformers/fig3 --scale smoke --out mine")[0] == 0
    assert json.loads(Path("mine/provenance.json").read_text())["device_name"] != "a shipped machine"
    assert len(list(Store().results())) == len(facts["runs"]) + len(facts["searches"])


def test_of_the_best_scale_what_is_shipped_is_drawn_and_nothing_trained(lab, store_folder):
    code, out, said = lab("figure transformers/fig3 --scale best --out mine")
    assert code == 0 and "mine/table.csv" in out and not list(store_folder.rglob("*"))
    assert len(said) == 1 and "scale paper: these are shipped results" in said[0]
    assert "lab figure transformers/fig3 --scale laptop" in said[0], "how to train"
    assert json.loads(Path("mine/provenance.json").read_text())["scale"] == "paper"


def test_a_run_is_exported_for_shipping(lab, store_folder):
    run = Run(setting("memorize", "smoke").runs(1)[0], Store())
    complete([run.spec], Store(), progress=False)
    code, out, said = lab(f"store export {run.key[:10]} --out shipped")
    assert code == 0 and said == [] and out == [str(Path("shipped/runs").resolve() / run.key)]
    assert Store("shipped").load(run.spec)[2] == run.notes


def test_a_run_that_came_with_the_lab_is_exported_as_any_other(lab, store_folder):
    code, out, said = lab("store export d16b2183 --out copies")
    assert code == 0 and said == [] and Path(out[0]).parent == Path("copies/runs").resolve()
    there, here = (next(folder.glob("runs/d16b2183*")) for folder in (LENT, Path("copies")))
    assert {path.name: path.read_bytes() for path in here.iterdir()} == {
        path.name: path.read_bytes() for path in there.iterdir()
    }
    assert Store("copies").verify() == []


def test_a_wrong_scale_is_refused_before_anything_is_read(lab, monkeypatch):
    monkeypatch.setattr("lab.catalogue.scale_plan.recorded", lambda: pytest.fail("step times were read"))
    assert lab("scale --scale nope")[0] == 2


def test_a_figure_is_made_into_files_and_then_read_from_the_store(lab, store_folder, monkeypatch):
    monkeypatch.delenv("BROWSER_PATH")  # with images
    code, out, said = lab("figure transformers/fig3 --scale smoke --seeds 1 --out here/it/is")
    assert code == 0 and said == []
    folder = Path("here/it/is")
    files = {"figure.html", "figure.json", "table.csv", "provenance.json"}
    assert files <= {path.name for path in folder.iterdir()}
    assert all(str(folder / name) in out for name in files)
    pictures = {"figure.png", "figure.svg"} & {path.name for path in folder.iterdir()}
    assert len(pictures) == 2 or any("install" in line for line in out)
    assert any(line.startswith("Copied exactly") for line in out), "the result in a sentence"
    before = pd.read_csv(folder / "table.csv")
    assert set(before["seed"]) == {0} and json.loads((folder / "provenance.json").read_text())["scale"] == "smoke"
    stored = {path.name: path.stat().st_mtime_ns for path in Store().results()}
    monkeypatch.setenv("BROWSER_PATH", "none")
    code, out, said = lab("figure transformers/fig3 --scale smoke --seeds 1 --out again")
    assert code == 0 and said == [] and any("install" in line for line in out), "how to get images"
    assert not Path("again/figure.png").exists()
    pd.testing.assert_frame_equal(pd.read_csv("again/table.csv"), before)
    assert {path.name: path.stat().st_mtime_ns for path in Store().results()} == stored, "trained twice"
    assert {path.name for path in Path().iterdir()} == {"here", "again"}


def test_force_trains_again_to_the_same_bits(lab, store_folder):
    assert lab("figure transformers/fig3 --scale smoke --seeds 1 --out 1")[0] == 0
    before = {path: (path / "done.json").stat().st_mtime_ns for path in Store().results()}
    assert len(before) == 4
    assert lab("figure transformers/fig3 --scale smoke --seeds 1 --out 2 --force")[0] == 0
    after = {path: (path / "done.json").stat().st_mtime_ns for path in Store().results()}
    assert after.keys() == before.keys() and min(after.values()) > max(before.values())
    assert Path("1/table.csv").read_text() == Path("2/table.csv").read_text()


FORCED = """
import os, signal
from lab.cli import main
from lab.store import Store
left, save = [{count}], Store.save
def counted(*result):
    save(*result)
    left[0] -= 1
    left[0] or os.kill(os.getpid(), signal.SIGKILL)
Store.save = counted
main("figure transformers/fig3 --scale smoke --seeds 1 --force --out {out}".split())
"""


def test_a_forced_figure_that_is_killed_again_and_again_comes_to_its_end(nursery, lab, store_folder, tmp_path):
    """Every call keeps one result more than the one before; each is trained again once."""
    assert lab("figure transformers/fig3 --scale smoke --seeds 1 --out first")[0] == 0
    before, store = {path: (path / "done.json").stat().st_ino for path in Store().results()}, Store()
    for trained in range(1, len(before) + 1):
        ended = nursery.run(FORCED.format(count=1, out=tmp_path / "again"), LAB_STORE=store_folder)
        assert ended.code == -signal.SIGKILL, ended.err
        assert len(list(store.results())) == trained and ("goes on" in ended.err) == (trained > 1)
    code = "import lab.cli; lab.cli.main('figure transformers/fig3 --scale smoke --seeds 1 --out {}'.split())"
    ended = nursery.run(code.format(tmp_path / "again"), LAB_STORE=store_folder)
    assert ended.code == 0 and not list((store_folder / "forced").iterdir()), ended.err
    after = {path: (path / "done.json").stat().st_ino for path in store.results()}
    assert after.keys() == before.keys() and store.verify() == []
    assert (tmp_path / "again/table.csv").read_text() == Path("first/table.csv").read_text()


def test_a_search_writes_functions_that_can_be_loaded(lab):
    code, out, said = lab("search memorize --scale smoke --learn attention mlp --out zoo")
    assert code == 0 and said == []
    for name in ("memorize-both-mlp", "memorize-both-attention"):
        assert f"zoo/{name}.json" in out
        phi = Spline.load(f"zoo/{name}.json")
        facts = json.loads(Path(f"zoo/{name}.json").read_text())["provenance"]
        assert phi.values.shape == (361,) and facts["key"] and facts["spec"]["task"] == "memorize"
    assert lab("search memorize --scale smoke --learn mlp attention --out again")[0] == 0
    assert lab("search memorize --scale smoke --learn both --out word")[0] == 0
    for folder in ("again", "word"):
        path = Path(folder, "memorize-both-mlp.json")
        assert path.read_text() == Path("zoo/memorize-both-mlp.json").read_text()


def test_a_search_lands_in_the_users_zoo(lab, store_folder, monkeypatch):
    code, out, said = lab("search addmod --scale smoke")
    assert (
        code == 0 and said == [] and out == [f"{store_folder}/zoo/addmod.json", '  in Python: lab.zoo("mine/addmod")']
    )
    assert zoo("mine/addmod").values.shape == (361,) and [path.name for path in Path().iterdir()] == []
    code, out, said = lab("search addmod --scale smoke --seed 1")
    assert code == 0 and said == ["addmod.json was of another search, which can be repeated; it is replaced"]
    path = Path(f"{store_folder}/zoo/addmod.json")
    facts = document.read(path)
    document.write(path, facts | {"provenance": facts["provenance"] | {"scale": "laptop", "key": "another"}})
    code, out, said = lab("search addmod --scale smoke")
    assert code == 1 and "is of a search at scale laptop, and is not replaced by one of smoke" in said[0]
    assert document.read(path)["provenance"]["key"] == "another"
    document.write(path, facts)
    assert lab("search addmod --scale smoke --out there")[1][1] == '  in Python: lab.zoo("mine/addmod", folder="there")'
    assert zoo("mine/addmod", folder="there").values.tolist() != zoo("mine/addmod").values.tolist()
    monkeypatch.setenv("LAB_ZOO", "own")
    assert lab("search addmod --scale smoke")[1][0].endswith("own/addmod.json")
    assert zoo().loc["mine/addmod", ["task", "part", "scale"]].tolist() == ["addmod", "mlp", "smoke"]


def test_a_sweep_writes_its_table_and_says_what_is_best(lab):
    code, out, said = lab("sweep memorize memorize --scale smoke --out swept")
    table = pd.read_csv("swept/sweep.csv")
    assert code == 0 and said == [] and out[-1] == "swept/sweep.csv"
    assert len(table) == 2 * len(RATES["smoke"]) and set(table["task"]) == {"memorize"}
    means = table.groupby("rate")["mean_accuracy"].mean()
    assert out[0] == f"memorize: best rate {means.idxmax():g}"


def test_the_store_is_listed_verified_and_cleaned(lab, store_folder):
    lent = [folder for folder in LENT.glob("runs/*")]
    code, out, said = lab("store list")
    assert code == 0 and out[0].split() == "kind key task width steps seed model functions".split()
    assert len(out) == 1 + len(lent) and all(line.startswith("run (shipped)") for line in out[1:])
    assert {line.index(row["key"]) for line, row in zip(out[1:], shipped(Store()), strict=True)} == {
        out[0].index("key")
    }
    assert sum("gpt_neo" in line for line in out) == 3, "what `lab finetune` takes"
    assert lab("store verify")[0] == 0
    assert lab("search memorize --scale smoke")[0] == lab("sweep memorize --scale smoke")[0] == 0
    code, out, said = lab("store list --json")
    rows = json.loads("\n".join(out))
    assert code == 0 and said == [f"5 results in {store_folder}; {len(lent)} came with the lab"]
    rows = [row for row in rows if "shipped" not in row["kind"]]
    assert [row["kind"] for row in rows] == ["search"] + ["run"] * 4 and {row["task"] for row in rows} == {"memorize"}
    assert len(lab("store list")[1]) == 1 + 5 + len(lent)
    assert lab("store verify") == (0, [f"every result in {store_folder} is as it was written"], [])
    assert lab("store clean") == (0, [f"nothing to remove in {store_folder}"], [])
    for number, file in enumerate(("spec.json", "weights.safetensors")):
        path = list((store_folder / "runs").iterdir())[number] / file
        path.write_bytes(b"\xff\x80" + path.read_bytes()[2:])
        code, out, said = lab("store verify")
        assert code == 1 and len(out) == number + 1 and any(path.parent.name in line and file in line for line in out)
        assert len(said) == 1 and f"{number + 1} damaged" in said[0] and "lab store clean" in said[0]
        assert lab("store list")[0] == 0
    code, out, said = lab("store clean")
    assert code == 0 and len(out) == 2 and lab("store verify")[0] == 0
    assert lab("sweep memorize --scale smoke")[0] == 0 and len(list(Store().results())) == 5


def test_a_damaged_run_is_named_by_the_figure_that_needs_it_and_trained_again_on_request(lab, store_folder):
    words = "figure transformers/fig3 --scale smoke --seeds 1 --out out"
    assert lab(words)[0] == 0
    table = Path("out/table.csv").read_text()
    for kind in ("runs", "searches"):
        folder = next((store_folder / kind).iterdir())
        data = bytearray((folder / "weights.safetensors").read_bytes())
        data[-1] ^= 64
        (folder / "weights.safetensors").write_bytes(data)
        code, out, said = lab(words)
        if kind == "searches":  # its runs are there, but nobody knows any more which function they were trained with
            (store_folder / "runs").rename(store_folder / "lost")
            code, out, said = lab(words)
        assert code == 1 and out == [] and len(said) == 1
        assert folder.name in said[0] and "weights.safetensors" in said[0] and "lab store clean" in said[0]
        assert lab("store clean")[1] == [f"{kind}/{folder.name}"]
        assert lab(words)[0] == 0 and Path("out/table.csv").read_text() == table


@linux
def test_a_folder_without_permission_is_one_line_before_anything_is_trained(nursery, store_folder, tmp_path):
    (tmp_path / "shut").mkdir(mode=0o555)
    code = """
from tests.processes import like_an_ordinary_user
from lab.cli import main
like_an_ordinary_user()
main("figure transformers/fig3 --scale smoke --out {}".split())
"""
    ended = nursery.run(code.format(tmp_path / "shut" / "below"), LAB_STORE=store_folder)
    assert ended.code == 1 and len(ended.said) == 1
    assert str(tmp_path / "shut") in ended.said[0] and "--out" in ended.said[0]
    assert not list(store_folder.rglob("*"))


@linux
def test_a_store_without_permission_is_one_line_before_anything_is_trained(nursery, store_folder):
    store_folder.chmod(0o555)
    code = """
from tests.processes import like_an_ordinary_user
from lab.cli import main
like_an_ordinary_user()
main("search memorize --scale smoke --out there".split())
"""
    ended = nursery.run(code, LAB_STORE=store_folder)
    store_folder.chmod(0o755)
    assert ended.code == 1 and len(ended.said) == 1 and ended.out == ""
    assert str(store_folder) in ended.said[0] and "LAB_STORE" in ended.said[0] and "Permission denied" in ended.said[0]


@linux
@pytest.mark.parametrize("size", ["4k", "120k"])
def test_a_full_disk_is_one_line_and_costs_no_finished_run(nursery, store_folder, size):
    """4k: full from the beginning. 120k: full in the middle of the runs; with more room the same command goes on."""
    code = """
from tests.processes import on_a_disk_of
from lab.cli import main
from lab.store import Store
folder = str(Store().folder)
def say():
    print(len(list(Store().results())), Store().verify(), flush=True)
try:
    on_a_disk_of("{size}", folder)
except PermissionError as error:
    raise SystemExit(77)
try:
    main("sweep memorize --scale smoke --device cpu".split())
except SystemExit as end:
    print(end.code)
say()
on_a_disk_of("4m", folder)
main("sweep memorize --scale smoke --device cpu".split())
say()
"""
    ended = nursery.run(code.format(size=size), LAB_STORE=store_folder)
    if ended.code == 77:
        pytest.skip("this machine lets nobody mount a small disk")
    assert ended.code == 0, ended.err
    (said,) = ended.said
    assert said.startswith("lab: the store") and str(store_folder) in said and "is full" in said and "LAB_STORE" in said
    exit_code, full, *_, roomy = ended.out.splitlines()
    assert exit_code == "1" and roomy == "4 []" and full.endswith("[]")
    assert 0 < int(full.split()[0]) < 4 if size == "120k" else full == "0 []"


def test_a_full_disk_for_the_figure_is_one_line_and_the_runs_stay(nursery, tmp_path):
    """figure.html has five megabytes."""
    if sys.platform != "linux":
        pytest.skip("mounts are Linux's")
    code = """
from pathlib import Path
from tests.processes import on_a_disk_of
from lab.cli import main
Path("small").mkdir()
try:
    on_a_disk_of("1m", str(Path("small").absolute()))
except PermissionError as error:
    raise SystemExit(77)
main("figure transformers/fig3 --scale smoke --seeds 1 --out small/figure".split())
"""
    ended = nursery.run(code, LAB_STORE=os.environ["LAB_STORE"])
    if ended.code == 77:
        pytest.skip("this machine lets nobody mount a small disk")
    assert ended.code == 1 and len(ended.said) == 1 and "small/figure" in ended.said[0]
    assert "No space left on device" in ended.said[0] and Store().verify() == []


# The command itself, as a shell starts it.


def test_the_command_is_killed_and_goes_on(tmp_path):
    """`python -m lab`, SIGKILL while it trains, the same command again: as if nothing had been."""
    command = [sys.executable, "-m", "lab", *"sweep memorize --scale smoke --device cpu --out".split()]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LAB_STORE": str(tmp_path / "store"), "PYTHONUNBUFFERED": "1"}
    shared = {"cwd": tmp_path, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "killed"], **shared) as process:
        while not list((tmp_path / "store" / "runs").glob("[!.]*")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    ended = subprocess.run([*command, "again"], **shared)
    assert ended.returncode == 0, ended.stderr
    table = pd.read_csv(tmp_path / "again" / "sweep.csv")
    assert len(table) == 4 and Store(tmp_path / "store").verify() == []
    assert not (tmp_path / "killed").exists()


def test_exit_codes_reach_the_shell(nursery, store_folder):
    assert nursery.lab("search", "chess", LAB_STORE=store_folder).code == 2
    assert nursery.lab("store", "verify", LAB_STORE=store_folder).code == 0


def test_every_entry_has_a_command_line_name():
    assert all(name == entry.name and name.count("/") == 1 for name, entry in entries().items())
