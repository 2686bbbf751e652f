"""How long a fresh kernel takes to import the lab, and to show a first figure.

    python benchmarks/start.py                                # prints; a minute on an idle machine
    python benchmarks/start.py --write benchmarks/README.md   # and puts the table into its place there

Each round starts a Jupyter kernel of its own, as a notebook does, and runs the two cells. The figure comes from the
results that are shipped: nothing is trained. CPU seconds of the kernel and the clock's are medians over rounds; on an
idle machine they are alike, on a busy one the first say what the cells cost.
"""

from __future__ import annotations

import ast
import statistics
from datetime import date

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


def main() -> None:
    """Measure, print, write."""
    parser = table_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--figure", default="transformers/fig5", help="an entry with shipped results")
    given = parser.parse_args()
    rounds = [measure(given.figure) for _ in range(given.rounds)]
    lines = [f"{machine()}; {given.figure}. {date.today():%-d %B %Y}, torch {torch.__version__}.", ""]
    lines += heading(["cell of a fresh kernel", "to stay below", "CPU seconds", "by the clock"])
    for number, (name, (_, most)) in enumerate(CELLS.items()):
        clock, processor = (statistics.median(run[number][i] for run in rounds) for i in range(2))
        lines.append(f"| {name} | {most:g} s | {processor:.1f} | {clock:.1f} |")
    publish("\n".join(lines), given.write, "start")


if __name__ == "__main__":
    main()
