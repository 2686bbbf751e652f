"""How long a fresh kernel takes to import the lab, and to show a first figure; how long installing the lab takes.

    python benchmarks/start.py                                # prints; a minute on an idle machine
    python benchmarks/start.py --write benchmarks/README.md   # and puts the table into its place there
    python benchmarks/start.py --against DIR                  # and installs the lab and another checkout; 15 minutes

Each round starts a Jupyter kernel of its own, as a notebook does, and runs the two cells. The figure comes from the
results that are shipped: nothing is trained. CPU seconds of the kernel and the clock's are medians over rounds; on an
idle machine they are alike, on a busy one the first say what the cells cost.

With another checkout (`git worktree add DIR COMMIT`), `make install` of both runs with pip into empty environments, one
after the other: once with an empty cache of pip, then with what that has left there; of this one with uv, too, where
that is present. Then both do by turns what a user does first. CPU seconds are those of a command and its children.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from datetime import date
from pathlib import Path

import torch
from jupyter_client.manager import start_new_kernel
from report import heading, machine, publish, table_parser

ROUNDS = 3
CELLS = {  # what the cell does: its code, and the seconds to stay below
    "`import lab`": ("import lab", 3.0),
    "the first figure": ('from IPython.display import display; display(lab.figure("{figure}"))', 10.0),
}
MEASURED = """
import time as _time
_begun = _time.perf_counter(), _time.process_time()
{code}
_took = _time.perf_counter() - _begun[0], _time.process_time() - _begun[1]
"""
ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "`import lab`": ("python", "-c", "import lab"),
    "`import lab; lab.Spline`": ("python", "-c", "import lab; lab.Spline"),
    "`lab --help`": ("lab", "--help"),
    "`lab figurs`, a typo": ("lab", "figurs"),
}
PACKAGES = "from importlib.metadata import distributions as d; print(len({one.name for one in d()}))"


def measure(figure: str) -> list[tuple[float, float]]:
    """Seconds of the clock and of the processor, of each cell in a fresh kernel."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        times = []
        for code, _ in CELLS.values():
            cell = MEASURED.format(code=code.format(figure=figure))
            content = client.execute_interactive(
                cell, user_expressions={"took": "_took"}, output_hook=lambda message: None, timeout=600
            )["content"]
            if content["status"] != "ok":
                raise SystemExit(f"{code}: {content['ename']}: {content['evalue']}")
            clock, processor = ast.literal_eval(content["user_expressions"]["took"]["data"]["text/plain"])
            times.append((clock, processor))
        return times
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(*command: object, **variables: object) -> str:
    """What a command prints. It knows no other lab than that of its environment, and Python keeps what it compiles."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = given | {name: str(value) for name, value in variables.items()}
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 2):  # 2: a typo
        raise SystemExit(f"{words}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def spent(*command: object, **variables: object) -> tuple[float, float]:
    """Seconds of the clock and of the processor that a command takes, with its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run(*command, **variables)
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Checkout:
    """A checkout with an environment of its own, and what was measured there, by name."""

    def __init__(self, folder: Path, place: Path):
        self.folder, self.place, self.bin = folder, place, place / "venv" / "bin"
        self.times: dict[str, list[tuple[float, float]]] = {}

    def install(self, name: str, uv: str = "") -> None:
        """Run `make install` into an empty environment, with pip or uv."""
        shutil.rmtree(self.bin.parent, ignore_errors=True)
        caches = {"PIP_CACHE_DIR": self.place / "pip", "UV_CACHE_DIR": self.place / "uv"}
        command = ["make", "-C", self.folder, f"VENV={self.bin.parent}", f"UV={uv}", "install"]
        self.times[name] = [spent(*command, **caches)]

    def packages(self) -> int:
        """How many an installation brings."""
        return int(run(self.bin / "python", "-c", PACKAGES))

    def first_figure(self, name: str, figure: str) -> None:
        """Import the lab in a fresh kernel and show a figure."""
        cells = ast.literal_eval(run(self.bin / "python", __file__, "--cells", "--figure", figure))
        self.times.setdefault(name, []).append((sum(clock for clock, _ in cells), sum(used for _, used in cells)))

    def commands(self) -> None:
        """Do once each of `COMMANDS`."""
        for name, (program, *words) in COMMANDS.items():
            self.times.setdefault(name, []).append(spent(self.bin / program, *words))


def side_by_side(other: Path, given: argparse.Namespace) -> list[str]:
    """A table of both checkouts: what it takes to have the lab, and what a user does first."""
    cold, warm = "`make install`, nothing fetched", "`make install`, all fetched"
    first = "then the first figure in a fresh kernel, for the first time"
    with tempfile.TemporaryDirectory(prefix="lab-start-") as place:
        before, now = (Checkout(path.resolve(), Path(place, name)) for path, name in ((other, "before"), (ROOT, "now")))
        if uv := shutil.which("uv"):
            now.install("`make install` by uv, nothing fetched", uv)
        for name in (cold, warm):  # the caches are empty at first
            for one in (before, now):
                one.install(name)
        for one in (before, now):
            one.first_figure(first, given.figure)
        for _ in range(given.rounds):
            for one in (before, now):
                one.commands()
                one.first_figure("the first figure in a fresh kernel", given.figure)
        counts = [one.packages() for one in (before, now)]
    for one in (before, now):
        install, figure = (one.times[name][0] for name in (cold, first))
        one.times["from nothing to the first figure"] = [(install[0] + figure[0], install[1] + figure[1])]
    commit = run("git", "-C", other, "rev-parse", "--short=8", "HEAD").strip()
    lines = heading(["", f"{commit}, CPU seconds", "now", "ratio", f"{commit}, by the clock", "now", "ratio"])
    lines.append(f"| packages | {counts[0]} | {counts[1]} | {counts[1] / counts[0]:.2f} | | | |")
    for name, times in now.times.items():
        cells = []
        for i in (1, 0):  # the processor's, the clock's
            new = statistics.median(took[i] for took in times)
            if name in before.times:
                old = statistics.median(took[i] for took in before.times[name])
                cells += [f"{old:.1f}", f"{new:.1f}", f"{new / old:.2f}"]
            else:
                cells += ["", f"{new:.1f}", ""]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Measure, print, write."""
    parser = table_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--figure", default="transformers/fig5", help="an entry with shipped results")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout, installed as well")
    parser.add_argument("--cells", action="store_true", help=argparse.SUPPRESS)  # one round, to be read by a program
    given = parser.parse_args()
    if given.cells:
        print(measure(given.figure))
        return
    rounds = [measure(given.figure) for _ in range(given.rounds)]
    lines = [f"{machine()}; {given.figure}. {date.today():%-d %B %Y}, torch {torch.__version__}.", ""]
    lines += heading(["cell of a fresh kernel", "to stay below", "CPU seconds", "by the clock"])
    for number, (name, (_, most)) in enumerate(CELLS.items()):
        clock, processor = (statistics.median(run[number][i] for run in rounds) for i in range(2))
        lines.append(f"| {name} | {most:g} s | {processor:.1f} | {clock:.1f} |")
    if given.against:
        lines += ["", *side_by_side(given.against, given)]
    publish("\n".join(lines), given.write, "start")


if __name__ == "__main__":
    main()
