"""`lab new`: what it writes runs as it is, in the user's folder, and is listed, trained, drawn and tested there."""

import json
import subprocess
import sys

import pytest

import lab
from lab.catalogue import registry
from lab.cli import main
from lab.errors import LabError
from tests.processes import ROOT


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """The user's folder of papers, with one figure."""
    monkeypatch.setenv("LAB_PAPERS", str(tmp_path / "papers"))
    path = list(lab.papers.__path__)
    main(["new", "figure", "mine/fig1"])
    yield tmp_path / "papers"
    lab.papers.__path__[:] = path
    for name in [name for name in sys.modules if name.startswith("lab.papers.mine")]:
        del sys.modules[name]


def refused(capsys, *words):
    """The line with which a command ends that is refused."""
    with pytest.raises(SystemExit) as end:
        main([*words])
    error = capsys.readouterr().err
    assert end.value.code and error.startswith("lab: ") and error.count("\n") == 1
    return error


def test_a_figure_is_listed_trained_drawn_and_judged(papers, store_folder, capsys):
    capsys.readouterr()
    main(["figures", "mine", "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert row["name"] == "mine/fig1" and "mine/fig1" in registry.entries() and "mine" in registry.papers()
    figure = lab.figure("mine/fig1", scale="smoke", progress=False)
    assert len(figure.table) == 8 and {trace.name for trace in figure.plot.data} == {"ReLU", "TanH"}
    (claim,) = registry.entry("mine/fig1").claims
    assert claim.measure(figure.table).unit == "points"
    assert list(lab.entry("mine/fig1", "smoke").runs(width=16)) == ["ReLU", "TanH"]


def test_its_test_and_its_notebook_run(papers, store_folder, nursery):
    own = {"LAB_PAPERS": papers, "LAB_STORE": store_folder}
    code = f"import os, pytest\nos.chdir({str(ROOT)!r})\nraise SystemExit(pytest.main(['-q', {str(papers)!r}]))"
    done = nursery.run(code, **own)
    assert done.code == 0 and "2 passed" in done.out, done.out[-2000:]
    notebook = str(papers / "mine" / "fig1.ipynb")
    code = f"from tests import notebooks\nprint(*notebooks.execute({notebook!r}, 60))"
    done = nursery.run(code, **own)
    assert done.code == 0 and "Complexity" in done.out, done.err


def test_the_linters_of_the_lab_find_nothing_in_it(papers):
    done = subprocess.run([sys.executable, "-m", "ruff", "check", papers, "--config", ROOT / "pyproject.toml"])
    assert done.returncode == 0


@pytest.mark.parametrize(
    "words, said",
    [
        (["paper", "mine"], "is there already"),
        (["figure", "mine/fig1"], "is there already"),
        (["figure", "mine"], "as mine/fig1"),
        (["paper", "mine/fig1"], "as mine"),
        (["paper", "simplicity"], "a paper of the lab"),
        (["figure", "mine/two words"], "no name of a Python module"),
        (["figure", "mine/test_it"], "no name of a Python module"),
    ],
)
def test_what_cannot_be_begun_is_refused(papers, capsys, words, said):
    before = sorted(papers.rglob("*"))
    assert said in refused(capsys, "new", *words) and sorted(papers.rglob("*")) == before


def test_it_asks_where_papers_live(monkeypatch, capsys):
    monkeypatch.delenv("LAB_PAPERS", raising=False)
    assert "LAB_PAPERS" in refused(capsys, "new", "paper", "mine")


def test_what_comes_next_names_the_folder_that_was_chosen(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LAB_PAPERS", str(tmp_path / "other"))
    main(["new", "figure", "mine/fig1", "--papers", str(tmp_path / "my papers")])
    assert f"Next: export LAB_PAPERS='{tmp_path}/my papers'; lab figure" in capsys.readouterr().out
    monkeypatch.delenv("LAB_PAPERS")
    assert "and those of LAB_PAPERS" in refused(capsys, "figure", "mine/fig1")


def test_a_fault_in_a_paper_is_one_line_that_names_the_file(papers, capsys):
    section = papers / "mine" / "fig1.py"
    section.write_text("import nothing_such\n", encoding="utf-8")
    assert "lab.papers.mine.fig1" in refused(capsys, "figures", "mine")
    section.write_text("def (\n", encoding="utf-8")
    with pytest.raises(LabError, match="line 1: SyntaxError"):
        registry.entries("mine")
    assert registry.entries("transformers"), "the lab's own stay in reach"


def test_a_paper_may_not_have_the_name_of_one_of_the_lab(papers):
    (papers / "simplicity").mkdir()
    (papers / "simplicity" / "__init__.py").write_text("", encoding="utf-8")
    with pytest.raises(LabError, match="call it otherwise"):
        registry.entries()
