"""Everything that waits for a GPU, in one resumable call within a time budget.

    python benchmarks/gpu_batch.py --minutes 28 --out results

In order of value: does training on the GPU agree with the CPU; how much faster are fleets than runs one after the other;
the figures at scale `paper`, most valuable first. What is finished is kept in the store (LAB_STORE) and in `--out`; call it
again to go on. Needs torch, numpy, pandas and scipy; without plotly a figure leaves its table and provenance only.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro

from lab import engine
from lab.figures.build import figure
from lab.figures.settings import setting
from lab.spec import replace
from lab.store import Store
from lab.training.fleet import Fleet
from lab.training.loop import train

FIGURES = ("transformers/fig10", "transformers/fig5", "transformers/fig2", "transformers/fig6", "transformers/fig3",
           "transformers/fig4", "transformers/fig11")  # fmt: skip


@dataclass(frozen=True)
class Batch:
    """Arguments of the batch."""

    minutes: float = 28.0
    """Stop starting new work after this many minutes; training in progress is checkpointed."""
    out: Path = Path("out/gpu")
    """Folder for agreement.json, fleets.json and the figures."""
    seeds: int = 6
    """Runs of each kind in the figures."""


def agreement() -> dict:
    """Largest difference in accuracy and loss between CPU and GPU after 50 steps of the same small runs."""
    specs = replace_steps(setting("memorize", "laptop").runs(3), 50)
    fleets = [train(Fleet(specs, [("gelu", "softmax")] * 3, device)) for device in ("cpu", "cuda")]
    a, b = (fleet.history.arrays() for fleet in fleets)
    return {name: float(np.abs(a[name] - b[name]).max()) for name in a}


def fleets(widths: tuple[int, ...] = (32, 128), runs: int = 54) -> list[dict]:
    """Seconds of 50 steps for `runs` models side by side and one after the other, and their ratio."""
    rows = []
    for width in widths:
        base = setting("add", "paper")
        specs = replace_steps([replace(s, model=replace(s.model, width=width)) for s in base.runs(runs)], 50)
        side = timed(specs)
        alone = timed(specs[:1]) * runs  # one after the other: the first one's time, as often
        rows.append({"width": width, "runs": runs, "side by side": side, "one by one": alone, "ratio": alone / side})
    return rows


def replace_steps(specs: list, steps: int) -> list:
    """The same runs, stopped after `steps`, not evaluated on the way."""
    return [replace(s, recipe=replace(s.recipe, stop=steps, every=steps), evaluate=("val",)) for s in specs]


def timed(specs: list) -> float:
    """Seconds of training the specs as one fleet, after a warm-up of the same shape."""
    parts = [("gelu", "softmax")] * len(specs)
    train(Fleet(replace_steps(specs, 5), parts, "cuda"))
    fleet = Fleet(specs, parts, "cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    train(fleet)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def main(arguments: Batch) -> None:
    """Do as much as the time allows."""
    engine.choose_device("cuda")  # says so where there is none
    end = time.monotonic() + 60 * arguments.minutes
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, measure in (("agreement", agreement), ("fleets", fleets)):
        path = arguments.out / f"{name}.json"
        if not path.exists() and time.monotonic() < end:
            path.write_text(json.dumps(measure(), indent=1))
            print(name, path.read_text(), flush=True)
    for name in FIGURES:
        if time.monotonic() >= end:
            print("time is up; call again to go on")
            return
        start = time.monotonic()
        made = figure(name, "paper", "cuda", arguments.seeds, shipped=False, store=Store(), progress=False)
        made.write(arguments.out / name, images=False, page=False)
        print(f"{name}: {(time.monotonic() - start) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main(tyro.cli(Batch))
