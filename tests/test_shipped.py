"""What comes with the lab, from the command line: functions and notebooks."""

import csv
import dataclasses
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest

import lab
from lab.catalogue import registry
from lab.catalogue.scorecard import next_to_shipped
from lab.catalogue.shipped import read
from lab.cli import main
from lab.cli.shipped import FIRST
from lab.errors import LabError
from lab.places import NOTEBOOKS
from tests.processes import ROOT

NAME = "transformers/memorize"


def said(capsys, *words):
    main(list(words))
    return capsys.readouterr().out


def test_the_zoo_as_a_table(capsys):
    lines = said(capsys, "zoo").splitlines()
    names = lab.zoo_names()
    assert [line.split()[0] for line in lines[1 : len(names) + 1]] == names
    rows = json.loads(said(capsys, "zoo", "--json"))
    assert [row["name"] for row in rows] == names
    (row,) = (row for row in rows if row["name"] == NAME)
    assert f"{row['gain_mean']:.1f} [" in next(line for line in lines if line.startswith(f"{NAME} "))


def test_the_values_of_a_function_are_its_knots(capsys):
    phi = lab.zoo(NAME)
    rows = list(csv.DictReader(said(capsys, "zoo", NAME, "--values").splitlines()))
    assert [float(row["x"]) for row in rows] == pytest.approx(phi.positions.tolist(), abs=1e-4)
    assert [float(row["value"]) for row in rows] == pytest.approx(phi.values.tolist(), rel=1e-4)
    assert json.loads(said(capsys, "zoo", NAME, "--json"))["value"] == phi.values.tolist()


def test_a_picture_has_the_functions_extremes_and_zeros_where_they_are(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_ZOO", str(tmp_path))
    lab.Spline([-1.0, 1.0, 3.0], low=-2.0, high=2.0).save(tmp_path / "line.json")
    _, *rows, axis = said(capsys, "zoo", "mine/line").splitlines()
    columns = {mark: at for at, row in enumerate(rows) for mark in [i for i, c in enumerate(row) if c == "*"]}
    assert len(columns) == 64 and sorted(columns.values(), reverse=True) == [columns[at] for at in sorted(columns)]
    assert rows[0].split()[0] == "3" and rows[-1].split()[0] == "-1" and axis.split() == ["-2", "2"]
    (zero,) = (row for row in rows if row.split()[0] == "0")
    assert set(zero.split("|")[1]) == {"-", "*"}


@pytest.mark.parametrize("words", ["zoo memorize", "zoo --values", f"zoo {NAME} --values --json"])
def test_a_wrong_word_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 and capsys.readouterr().err.count("\n") == 1


def test_notebooks_are_copied_once_and_what_was_changed_stays(tmp_path, capsys):
    folder = tmp_path / "mine"
    main(["notebooks", str(folder), "--no-open"])
    sources = {path.relative_to(NOTEBOOKS) for path in NOTEBOOKS.rglob("*.ipynb")}
    assert {path.relative_to(folder) for path in folder.rglob("*.ipynb")} == sources
    (folder / FIRST).write_text("changed")
    (folder / "your_own_model.ipynb").unlink()
    capsys.readouterr()
    main(["notebooks", str(folder), "--no-open"])
    assert (folder / FIRST).read_text() == "changed" and (folder / "your_own_model.ipynb").is_file()
    words = capsys.readouterr().err
    assert words.startswith(f"1 of {len(sources)} notebooks copied") and "1 there differ" in words


def test_jupyterlab_opens_on_the_first(tmp_path):
    """The real one: what it gives the user's browser leads to the notebook."""
    folder, page, config = tmp_path / "mine", tmp_path / "page", tmp_path / "config"
    browser = tmp_path / "browser"  # stands for the user's: keeps the page that it is asked to show
    browser.write_text(f'#!/bin/sh\ncat "${{1#file://}}" > {page}.part && mv {page}.part {page}\n')
    browser.chmod(0o755)
    config.mkdir()
    settings = {"ip": "127.0.0.1", "port": 0, "open_browser": True, "allow_root": True}
    (config / "jupyter_server_config.json").write_text(json.dumps({"ServerApp": settings}))
    places = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "RUNTIME", "DATA")}
    command = [sys.executable, "-m", "lab", "notebooks", str(folder)]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, env=os.environ | places | {"BROWSER": f"{browser} %s"}, stderr=log, cwd=ROOT)
    try:
        while not page.exists():
            assert server.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.05)
        (url,) = set(re.findall(r'href="([^"]+)"', page.read_text()))
        assert urllib.parse.urlsplit(url).path == f"/lab/tree/{FIRST}"
        with urllib.request.urlopen(url) as answer:
            assert answer.status == 200 and b"JupyterLab" in answer.read()
        with urllib.request.urlopen(url.replace("/lab/tree/", "/api/contents/")) as answer:
            assert json.load(answer)["content"]["cells"]
    finally:
        server.terminate()
        server.wait(60)


def test_notebooks_cannot_be_copied_into_a_file(tmp_path, capsys):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        main(["notebooks", str(tmp_path / "file"), "--no-open"])
    assert ended.value.code == 1 and "name another folder" in capsys.readouterr().err


def test_shipped_numbers_agree_with_themselves_and_others_do_not():
    made = read(registry.entry("simplicity/fig11"), "laptop")
    same = next_to_shipped(made)
    assert same and all(": the same numbers" in line or ": not measured" in line for line in same)
    assert any(": the same numbers" in line for line in same)
    lowered = made.table.assign(accuracy=made.table["accuracy"] / 2)
    assert next_to_shipped(dataclasses.replace(made, table=lowered)) != same


def test_a_claim_of_two_figures_reads_the_other_one_as_shipped():
    made = read(registry.entry("transformers/fig9"), "laptop")
    (line,) = (line for line in next_to_shipped(made) if line.startswith("Functions matter less on texts than"))
    assert line.endswith(": the same numbers")


def test_the_shipped_figure_is_drawn_first_and_marked(tmp_path, capsys, monkeypatch):
    def stop(*given, **more):
        raise LabError("training begins")

    monkeypatch.setattr("lab.catalogue.build.figure", stop)
    with pytest.raises(SystemExit):
        main(["figure", "simplicity/fig11", "--compare", "--out", str(tmp_path)])
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("simplicity/fig11, the shipped results") and out[-1].startswith("Now it is trained")
    assert "Shipped with the lab, not trained here." in (tmp_path / "shipped" / "figure.html").read_text("utf-8")


def test_nothing_to_compare_with_is_one_line(capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["figure", "simplicity/fig11", "--scale", "smoke", "--compare", "--out", str(tmp_path)])
    assert ended.value.code == 2 and "shipped at scale smoke" in capsys.readouterr().err
