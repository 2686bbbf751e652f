"""What a complexity landscape costs: against bare matrix products, and against a loop over models. One table, one run.

    python benchmarks/landscape.py                                # prints; minutes on one CPU core
    python benchmarks/landscape.py --grid 50                      # the whole landscape of 50 × 50 models, in each round
    python benchmarks/landscape.py --write benchmarks/README.md   # and puts the table into its place there

The total variation of perceptrons along 200 paths of 100 points, over a random plane of their weights. Round by round,
interleaved: the landscape, side by side in chunks; the matrix products that it consists of, and nothing else, of 1,024
points at once; the same models one by one. "Of products" is the share of the operations a second that the products
reached. On a CPU, time is that of the processor, which other work on the machine changes less; medians over rounds.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import torch
from report import heading, machine, publish, table_parser
from torch import nn

from lab import probes
from lab.models.mlp import MLP

PATHS, SAMPLES = 200, 100
SHAPES = ((10, 256, 256, 256, 1), (10, 64, 64, 64, 1), (8, 64, 64, 1))
ROWS = 1024  # of the matrices whose products are the yardstick


def operations(sizes: tuple[int, ...]) -> int:
    """Multiplications and additions of matrix products for one model on all points of all paths."""
    return 2 * PATHS * SAMPLES * sum(a * b for a, b in zip(sizes[:-1], sizes[1:], strict=True))


def products(sizes: tuple[int, ...], models: int, device: str) -> Callable[[], None]:
    """As many square matrix products of the widest layer as have the operations of these models."""
    width = max(sizes)
    x, w = torch.randn(ROWS, width, device=device), torch.randn(width, width, device=device)
    out, count = torch.empty(ROWS, width, device=device), round(models * operations(sizes) / (2 * ROWS * width**2))

    def multiply():
        for _ in range(count):
            torch.mm(x, w, out=out)

    return multiply


def seconds(call: Callable[[], object], device: str) -> float:
    """Processor time of a call on a CPU; time until a GPU has finished it."""
    if device == "cuda":
        torch.cuda.synchronize()
    clock = time.process_time if device == "cpu" else time.perf_counter
    start = clock()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return clock() - start


def measure(sizes: tuple[int, ...], grid: int, rounds: int, chunk: int | None, device: str) -> dict:
    """One row of the table."""
    points = np.random.default_rng(0).uniform(-1, 1, (1000, sizes[0]))
    measures = {"variation": probes.Variation(points, paths=PATHS, samples=SAMPLES)}
    model = MLP(sizes, [0], nn.ReLU()).to(device)
    made = []

    def landscape(chunk):
        made.append(probes.landscape(model, measures, "random", grid=grid, radius=0.5, chunk=chunk))

    todo = {
        "landscape": lambda: landscape(chunk),
        "products": products(sizes, grid**2, device),
        "loop": lambda: landscape(1),
    }
    probes.landscape(model, measures, "random", grid=2)  # warms up
    times = {name: [] for name in todo}
    for _ in range(rounds):
        for name, call in todo.items():
            times[name].append(seconds(call, device))
    np.testing.assert_allclose(made[0].values["variation"], made[1].values["variation"], rtol=1e-3)
    median = {name: float(np.median(values)) for name, values in times.items()}
    # it evaluates five models more than the grid has: the model itself, and to see that runs side by side agree
    share = np.median(np.divide(times["products"], times["landscape"]))
    ratio = np.median(np.divide(times["loop"], times["landscape"]))
    return {
        "sizes": "-".join(map(str, sizes)),
        "models": grid**2,
        "chunk": made[0].chunk,
        "s": median["landscape"],
        "ms": 1e3 * median["landscape"] / grid**2,
        "share": float(share),
        "ratio": float(ratio),
        "rate": grid**2 * operations(sizes) / median["products"] / 1e9,
    }


def memory(sizes: tuple[int, ...], grid: int, chunk: int | None) -> float:
    """MB by which the process's peak grows for one landscape; meaningful for the first one only."""
    points = np.random.default_rng(0).uniform(-1, 1, (1000, sizes[0]))
    measures = {"variation": probes.Variation(points, paths=PATHS, samples=SAMPLES)}
    model = MLP(sizes, [0], nn.ReLU())
    unit = 2**20 if sys.platform == "darwin" else 2**10
    probes.landscape(MLP((sizes[0], 8, 1), [0], nn.ReLU()), measures, "random", grid=2)  # what torch takes once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    probes.landscape(model, measures, "random", grid=grid, radius=0.5, chunk=chunk)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / unit


def text(rows: list[dict], peak: float | None, rounds: int, device: str) -> str:
    """The table as Markdown."""
    threads = f"{torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}, " if device == "cpu" else ""
    lines = [
        f"{machine()}. {date.today():%d %B %Y}, torch {torch.__version__}, {threads}medians of {rounds} rounds.",
        "",
    ]
    names = ["perceptron", "models", "side by side", "ms a model", "of products (to reach: ≥ 0.60)"]
    lines += heading([*names, "loop / landscape (≥ 1)"])
    for row in rows:
        lines.append(
            "| {sizes} | {models} | {chunk} | {ms:.3g} | {share:.2f} of {rate:.0f} Gflop/s | {ratio:.2f} |".format(
                **row
            )
        )
    if peak is not None:
        lines += ["", f"Peak memory of the first row's landscape: {peak:.0f} MB above what the process held before."]
    return "\n".join(lines)


def main(grid: int, rounds: int, chunk: int | None, threads: int, device: str, shapes: int, write: Path | None) -> None:
    """Measure, print, write."""
    torch.set_num_threads(threads)
    peak = memory(SHAPES[0], 6, chunk) if device == "cpu" else None
    rows = []
    for sizes in SHAPES[:shapes]:
        rows.append(measure(sizes, grid, rounds, chunk, device))
        print(rows[-1], flush=True)
    publish(text(rows, peak, rounds, device), write, "landscape")


if __name__ == "__main__":
    parser = table_parser(__doc__)
    parser.add_argument("--grid", type=int, default=12, help="points on a side (50: the whole landscape)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chunk", type=int, help="models side by side (default: the probe's own)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="how many of the perceptrons, largest first")
    main(**vars(parser.parse_args()))
