"""Commands about what comes with the lab: its learned functions, and its notebooks."""

import filecmp
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import tyro

from lab.cli.console import default
from lab.errors import ArgumentError, LabError, check_path
from lab.files import put
from lab.places import NOTEBOOKS

FIRST = "00_start_here.ipynb"
WIDTH, HEIGHT = 64, 17  # characters of a picture
COLUMNS = ("task", "part", "scale", "seeds", "gain", "measured")


def _gain(mean: float, low: float, high: float, unit: str) -> str:
    """A gain in words.

    >>> _gain(8.5, 5.9, 11.2, "points"), _gain(0.0, float("nan"), float("nan"), "points")
    ('8.5 [5.9, 11.2] points', '0.0 points, no interval')
    """
    return f"{mean:.1f} [{low:.1f}, {high:.1f}] {unit}" if low == low else f"{mean:.1f} {unit}, no interval"


@dataclass(frozen=True)
class Zoo:
    """List the learned functions, or show one: a picture in text, or its values."""

    name: Annotated[str, tyro.conf.Positional, default("all", metavar="[NAME]")] = ""
    """The function, e.g. transformers/memorize."""
    values: bool = False
    """Of one function: print its knots as CSV, x and value."""
    json: bool = False
    """Print JSON instead of text."""

    def run(self) -> None:
        """Print it."""
        if not self.name and self.values:
            raise ArgumentError("--values: name a function; `lab zoo` lists all")
        if self.values and self.json:
            raise ArgumentError("--values and --json: give one of them")
        print(self._function() if self.name else self._table())

    def _table(self) -> str:
        from lab.catalogue.zoo import table

        rows = table()
        if self.json:
            return rows.reset_index().to_json(orient="records", indent=1)
        numbers = zip(rows["gain_mean"], rows["low_mean"], rows["high_mean"], rows["unit"], strict=True)
        rows["gain"] = [_gain(*row) if row[0] == row[0] else "" for row in numbers]
        said = (
            "gain: mean over training, over GELU (simplicity: ReLU), with its 95 % interval; `lab zoo NAME` shows one"
        )
        return f"{rows[list(COLUMNS)].rename_axis(None).to_string(na_rep='')}\n{said}"

    def _function(self) -> str:
        from lab.nonlinearity.spline import check_finite, check_single
        from lab.nonlinearity.zoo import zoo

        phi = check_finite(check_single(zoo(self.name), self.name), self.name)
        x, y = phi.positions.tolist(), phi.values.tolist()
        if self.json:
            return json.dumps({"name": self.name, "x": x, "value": y}, indent=1)
        if self.values:
            return "\n".join(["x,value", *(f"{at:g},{value:g}" for at, value in zip(x, y, strict=True))])
        low, high = phi.support
        if low >= high:  # zero everywhere
            low, high = x[0], x[-1]
        spaced = phi.positions.new_tensor([low + (high - low) * i / (WIDTH - 1) for i in range(WIDTH)])
        said = f"{self.name}: {len(x)} knots on [{x[0]:g}, {x[-1]:g}], drawn on [{low:.3g}, {high:.3g}]"
        return "\n".join([said, *picture(phi(spaced).tolist(), f"{low:.3g}", f"{high:.3g}")])


def picture(values: Sequence[float], left: str, right: str) -> list[str]:
    """Lines of text that show a function's values, one a column, with what stands at the ends of its axes.

    >>> print("\\n".join(picture([0.0, 1.0, 2.0, 1.0], "-1", "1")[::8]))
           2 |  *
           1 | * *
           0 |*---
    """
    low, high = min(*values, 0.0), max(*values, 0.0)
    step = (high - low) / (HEIGHT - 1) or 1.0
    zero = round(high / step)
    rows = [["-" if row == zero else " "] * len(values) for row in range(round((high - low) / step) + 1)]
    for column, value in enumerate(values):
        rows[round((high - value) / step)][column] = "*"
    names = {0: f"{high:.3g}", len(rows) - 1: f"{low:.3g}", len(rows) // 2: f"{(low + high) / 2:.3g}", zero: "0"}
    lines = [f"{names.get(row, ''):>8} |{''.join(marks).rstrip()}" for row, marks in enumerate(rows)]
    return [*lines, f"{'':9} {left}{right:>{len(values) - len(left)}}"]


@dataclass(frozen=True)
class Notebooks:
    """Copy the notebooks and open JupyterLab; what you changed there stays."""

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="[DIR]")] = Path("notebooks")
    """Folder to copy into. Files that it has are left as they are."""
    no_open: bool = False
    """Copy them, and open nothing."""

    def run(self) -> None:
        """Copy, and hand over to JupyterLab."""
        print(copy_notebooks(self.folder), file=sys.stderr, flush=True)
        if self.no_open:
            return
        if find_spec("jupyterlab") is None:
            raise LabError("JupyterLab is not installed; pip install jupyterlab, or open them with another program")
        os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", str(self.folder / FIRST)])


def copy_notebooks(folder: Path) -> str:
    """Copy the notebooks that a folder lacks into it, and say in a line what was done."""
    folder = check_path("DIR", folder)
    sources = sorted(path for path in NOTEBOOKS.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
    targets = {source: folder / source.relative_to(NOTEBOOKS) for source in sources}
    lacking = {source: target for source, target in targets.items() if not target.exists()}
    changed = sum(not filecmp.cmp(*pair, shallow=False) for pair in targets.items() if pair[0] not in lacking)
    try:
        for source, target in lacking.items():
            put(target, source.read_bytes())
    except OSError as error:
        raise LabError(f"cannot write to {folder} ({error.strerror or error}); name another folder") from error
    said = f"{len(lacking)} of {len(targets)} notebooks copied into {folder.absolute()}"
    return said + (f"; {changed} there differ from the lab's and stay as they are" if changed else "")
