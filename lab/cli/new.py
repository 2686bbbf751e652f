"""The command that begins a paper or a figure of one's own: files that run as they are, to be changed."""

import json
import keyword
import shlex
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Annotated, Literal

import tyro

from lab.cli.console import default
from lab.errors import ArgumentError, LabError, shown
from lab.files import put, user_folder

_PAPER = '''"""$paper: say here, in a line, what this paper asks. `lab figures` prints it."""
'''
_FIGURE = '''"""$paper, $section: what the figure asks, in a sentence. All that belongs to it is in this file.

lab figure $paper/$section --scale smoke takes seconds: everything runs, and the numbers mean nothing.
"""

from __future__ import annotations

import pandas as pd

from lab import probes
from lab.papers.claims import Claim, Verdict
from lab.papers.entry import Entry, Origin, Planned
from lab.papers.tables import Labelled, compare_one, per_run, per_seed
from lab.plots import go
from lab.plots.caption import interval_note, set_reading
from lab.plots.panels import grid, method_line, name_axes, whiskers
from lab.run import Run
from lab.spec import ConstantRate, Perceptron, RunSpec
from lab.statistics import over_seeds
from lab.tasks import Operation

# Settings: the task, the functions that are compared, and how much each scale trains.
TASK = Operation("a+b", modulus=13)
FUNCTIONS = {"ReLU": "relu", "TanH": "tanh"}
WIDTHS = {"smoke": (8, 16), "laptop": (32, 64, 128), "paper": (64, 128, 256, 512)}
STEPS = {"smoke": 10, "laptop": 1_000, "paper": 5_000}


def plan(scale: str, seeds: int) -> list[Planned]:
    """The runs, each with its labels."""
    recipe = ConstantRate(STEPS[scale], rate=1.0, keep="last", every=STEPS[scale] // 10)
    return [
        ({"method": method, "width": width}, RunSpec(TASK, Perceptron(width=width, phi=phi), recipe, seed, ("test",)))
        for method, phi in FUNCTIONS.items()
        for width in WIDTHS[scale]
        for seed in range(seeds)
    ]


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a run: method, width, seed, accuracy (0 to 1, on `test`, at the end), variation (total variation of the
    outputs on paths between test examples), diverged."""
    return per_run(runs, _numbers)


def _numbers(run: Run) -> dict:
    points = TASK.split(run.spec.task_seed)["test"].inputs
    variation = float("nan") if run.diverged else probes.total_variation(run.model(), points).value
    return {"accuracy": float(run.accuracy[-1]), "variation": variation}


def gain(table: pd.DataFrame) -> Verdict:
    """What tanh gains over ReLU, in points of accuracy, over all widths."""
    means = per_seed(table, "method")
    return Verdict(compare_one(means, "TanH", "ReLU", "seeds"), above=0.0, unit="points")


def plot(table: pd.DataFrame) -> go.Figure:
    """Left: accuracy by width. Right: total variation."""
    figure = grid(["accuracy", "total variation"], columns=2, height=240)
    for column, (value, unit) in enumerate((("accuracy", 100), ("variation", 1)), 1):
        for method in FUNCTIONS:
            stats = over_seeds(table[table["method"] == method], "width", value)
            error = {"error_y": whiskers(unit * stats["half"])}
            method_line(figure, stats.index, unit * stats["mean"], method, (1, column), **error)
    name_axes(figure, 2, 2, "width", "")
    figure.update_yaxes(title_text="test accuracy (%)", row=1, col=1)
    figure.update_yaxes(title_text="in units of the outputs", row=1, col=2)
    set_reading(figure, f"Points: means over seeds. {interval_note(table, 'Whiskers')}")
    return figure


def summary(table: pd.DataFrame) -> str:
    """The result in a sentence; every number comes from the table."""
    means = 100 * table.groupby("method")["accuracy"].mean()
    return f"Test accuracy over all widths: {', '.join(f'{name} {value:.0f} %' for name, value in means.items())}."


ENTRIES = (
    Entry(
        "$paper/$section",
        section="1",
        title="Addition with two activation functions",
        shows="Test accuracy and total variation of perceptrons by their width",
        paper_says="what the paper says of it, or what you expect",
        minutes={"smoke": 0.1, "laptop": 1, "paper": 10},
        plan=plan,
        measure=measure,
        plot=plot,
        tasks=(TASK.name,),
        origin=Origin(data=lambda scale: [{"name": TASK.name, "from": "lab.tasks.Operation"}]),
        summary=summary,
        claims=(Claim("tanh", "tanh is above ReLU", gain),),
        place=("fig", "", 1, "$section"),  # in the order of the paper's: "fig" or "table", appendix, number, part
    ),
)
'''
_TEST = '''"""$paper/$section runs at scale smoke, and its measures hold what they must."""

import os
from pathlib import Path

import lab
from lab.catalogue.registry import entry
from lab.spec import key

os.environ.setdefault("LAB_PAPERS", str(Path(__file__).resolve().parents[1]))


def test_its_runs_differ():
    planned = entry("$paper/$section").plan("smoke", 2)
    assert len({key(spec) for _, spec in planned}) == len(planned) > 0


def test_it_is_trained_measured_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_STORE", str(tmp_path))
    figure = lab.figure("$paper/$section", scale="smoke", progress=False)
    assert len(figure.table) and figure.plot.data
    assert figure.table["accuracy"].between(0, 1).all() and (figure.table["variation"] >= 0).all()
'''
_CELLS = (
    ("markdown", "# $paper, $section\n\nWhat you will see, in three lines."),
    ("code", 'scale = "laptop"  # smoke: seconds, the numbers mean nothing'),
    (
        "code",
        "import lab\nfrom lab import probes\n\n"
        'run = next(iter(lab.entry("$paper/$section", scale).runs(width=64 if scale != "smoke" else 16).values()))\n'
        'points = run.spec.task.split()["test"].inputs\n'
        "probes.total_variation(run.model(), points)  # the recipe: what the figure takes of every run",
    ),
    ("code", 'lab.figure("$paper/$section", scale=scale)'),
    ("markdown", "## What to try\n\n- Other widths, other functions: `FUNCTIONS` in `$section.py`."),
)


@dataclass(frozen=True)
class New:
    """Begin a paper or figure of your own, as files that run."""

    what: tyro.conf.Positional[Literal["paper", "figure"]]
    """paper: a folder. figure: a section with its task, runs, probe, plot and claim, a test and a notebook."""
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """Of a paper, as mine; of a figure, as mine/fig1."""
    papers: Annotated[Path | None, default("LAB_PAPERS", metavar="DIR")] = None
    """The folder of your papers; other commands read LAB_PAPERS."""

    def run(self) -> None:
        """Do it."""
        folder = self._folder()
        paper, _, section = self.name.partition("/")
        if bool(section) != (self.what == "figure"):
            example = "mine/fig1" if self.what == "figure" else "mine"
            raise ArgumentError(f"name={shown(self.name)}: a {self.what} is called as {example}")
        _check_names(paper, section)
        files = {f"{paper}/__init__.py": _PAPER} if not (folder / paper / "__init__.py").exists() else {}
        if section:
            files |= {f"{paper}/{section}.py": _FIGURE, f"{paper}/test_{section}.py": _TEST}
            files |= {f"{paper}/{section}.ipynb": _notebook()}
        if there := [name for name in files if (folder / name).exists()] or ([] if files else [f"{paper}/__init__.py"]):
            raise ArgumentError(f"{folder / there[0]} is there already; choose another name")
        for name, text in files.items():
            _write(folder / name, Template(text).substitute(paper=paper, section=section))
        print("\n".join(str(folder / name) for name in files))
        print(f"Next: {self._next(folder, paper, section)}")

    def _folder(self) -> Path:
        chosen = self.papers or user_folder("LAB_PAPERS")
        if chosen is None:
            raise ArgumentError("say where your papers live: --papers DIR, or LAB_PAPERS in the environment")
        return chosen.expanduser().absolute()

    def _next(self, folder: Path, paper: str, section: str) -> str:
        there = user_folder("LAB_PAPERS")
        setting = "" if there and there.absolute() == folder else f"export LAB_PAPERS={shlex.quote(str(folder))}; "
        return f"{setting}lab figure {self.name} --scale smoke" if section else f"{setting}lab new figure {paper}/fig1"


def _check_names(paper: str, section: str) -> None:
    from lab.catalogue.registry import PAPERS

    for name in filter(None, (paper, section)):
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith(("_", "test_")):
            raise ArgumentError(f"{shown(name)} is no name of a Python module: letters, digits and _, as fig1")
    if paper in PAPERS:
        raise ArgumentError(f"{paper} is a paper of the lab's own; call yours otherwise")


def _notebook() -> str:
    cells = []
    for number, (kind, text) in enumerate(_CELLS):
        cell: dict = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(True)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
            cell["metadata"] = {"tags": ["parameters"]} if text.startswith("scale") else {}
        cells.append(cell)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, text.encode())
    except OSError as error:
        raise LabError(f"cannot write {path} ({error.strerror}); name another folder with --papers") from error
