"""Everything that waits for a GPU, in one resumable call within a time budget.

    python benchmarks/gpu_batch.py --minutes 28 --out data/results

In order of value: does training on the GPU agree with the CPU; does the spline's Triton kernel agree with the formula
in double precision, and what does it cost beside GELU; how much faster are fleets than runs one after the other; the
figures at scale `paper`: those whose claims the laptop scale leaves open and that take an hour at most, then all
others, quick ones first. What is finished is kept in the store (LAB_STORE) and in `--out`; call it again to go on, and
with `--list` to see what waits. Needs torch, numpy, pandas, safetensors, scipy and scikit-learn only: it leaves tables
and provenance, which `lab figure NAME --scale paper` draws where plotly is.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from spline import EXPONENTS, measure, text

from lab import engine
from lab.catalogue.build import measured
from lab.catalogue.provenance import as_json
from lab.catalogue.registry import entries
from lab.catalogue.table_files import contents, digests
from lab.errors import LabError
from lab.nonlinearity import formula, op
from lab.papers.entry import Entry
from lab.papers.transformers.settings import setting
from lab.spec import replace
from lab.store import Store
from lab.training.fleet import Fleet
from lab.training.loop import train

FIRST = (
    "transformers/fig10",
    "transformers/fig5",
    "transformers/fig2",
    "transformers/fig6",
    "transformers/fig3",
    "transformers/fig4",
    "transformers/fig11",
    "hypernetwork/fig2c",
    "hypernetwork/fig2b",
    "hypernetwork/fig2d",
    "simplicity/fig8",
    "simplicity/table1",
)


def figures() -> list[Entry]:
    """Every entry for which something is trained, in the order of the work. Entries that share runs find them done."""
    trained = {name: found for name, found in entries().items() if found.plan("paper", 1)}
    rest = sorted(trained.keys() - set(FIRST), key=lambda name: (trained[name].minutes["paper"], name))
    return [trained[name] for name in (*FIRST, *rest)]


def agreement() -> dict:
    """Largest difference in accuracy and loss between CPU and GPU after 50 steps of the same small runs."""
    specs = replace_steps(setting("memorize", "laptop").runs(3), 50)
    fleets = [train(Fleet(specs, [("gelu", "softmax")] * 3, device)) for device in ("cpu", "cuda")]
    a, b = (fleet.history.arrays() for fleet in fleets)
    return {name: float(np.abs(a[name] - b[name]).max()) for name in a}


def kernel() -> list[dict]:
    """Largest error of the spline's GPU kernel by type: value, input gradient, knot gradient and mixed derivative.

    Against the formula in float64, as a share of the largest number there; inputs avoid knots, where rounding decides
    which slope is the right one. Raises where an error is more than rounding.
    """
    if op.cuda_kernel() is formula:
        raise LabError(f"the GPU kernel is not in use ({op.why_not_triton() or 'LAB_KERNEL=torch'})")
    module, rows = op.cuda_kernel(), []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for shape, knots in (((2**22 + 3,), (361,)), ((54, 100_003), (54, 361)), ((1000,), (2,)), ((3, 50), (3, 1000))):
            draw = torch.Generator("cuda").manual_seed(0)
            x = 4 * torch.randn(shape, generator=draw, device="cuda")
            spacing = 40 / (knots[-1] - 1)
            x = (((x / spacing).floor() + 0.5) * spacing).to(dtype)  # in the middle of intervals
            grad = torch.randn(shape, generator=draw, device="cuda").to(dtype)
            values = torch.randn(knots, generator=draw, device="cuda")

            def all_of(kernel, *tensors):
                grad, x, values = tensors
                gradients = kernel.backward(grad, x, values, -20.0, 20.0, True, True)
                mixed = kernel.slope_backward(grad, x, values, -20.0, 20.0)
                return kernel.forward(x, values, -20.0, 20.0), *gradients, mixed

            wanted = all_of(formula, grad.double(), x.double(), values.double())
            errors = [
                float((a - b).abs().max() / b.abs().max())
                for a, b in zip(all_of(module, grad, x, values), wanted, strict=True)
            ]
            row = {"dtype": str(dtype), "shape": list(shape), "knots": list(knots)}
            row |= dict(zip(("value", "input", "knots gradient", "mixed"), errors, strict=True))
            rows.append(row)
            if max(errors) > 4 * torch.finfo(dtype).eps + 1e-4:
                raise LabError(f"the GPU kernel is wrong: {row}")
    return rows


def spline_cost() -> list[dict]:
    """Rows of benchmarks/spline.py for this GPU."""
    rows = []
    for exponent in EXPONENTS:
        for dtype in (torch.float32, torch.bfloat16):
            rows += measure("cuda", torch.get_num_threads(), dtype, exponent, budget=3.0)
    print(text(pd.DataFrame(rows)))
    return rows


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


MEASURES = {"agreement": agreement, "kernel": kernel, "spline": spline_cost, "fleets": fleets}


def main(minutes: float, out: Path, seeds: int | None) -> None:
    """Do as much as the time allows."""
    engine.choose_device("cuda")  # says so where there is none
    end = time.monotonic() + 60 * minutes
    for name, work in MEASURES.items():
        path = out / f"gpu_{name}.json"
        if not path.exists() and time.monotonic() < end:
            out.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(work(), indent=1))
            print(name, path.read_text(), flush=True)
    for found in figures():
        name = found.name
        if (out / name / "paper" / "provenance.json").exists():
            continue
        if time.monotonic() >= end:
            print("time is up; call again to go on")
            return
        start = time.monotonic()
        table, facts, extras = measured(name, "paper", "cuda", seeds, store=Store(), progress=False)
        folder = out / name / "paper"
        folder.mkdir(parents=True, exist_ok=True)
        tables = contents({"table": table, **extras})
        for stem, content in tables.items():
            (folder / f"{stem}.csv").write_bytes(content)
        (folder / "provenance.json").write_bytes(as_json(facts | {"tables": digests(tables)}))
        print(f"{name}: {(time.monotonic() - start) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=28.0, help="start nothing new after so many minutes")
    parser.add_argument("--out", type=Path, default=Path("out/gpu"), help="folder for tables and provenance")
    parser.add_argument("--seeds", type=int, default=None, help="runs of each kind (default: the paper's 6)")
    parser.add_argument("--list", action="store_true", help="only say what it would do, with guesses of minutes")
    asked = vars(parser.parse_args())
    if asked.pop("list"):
        print("\n".join([*MEASURES, *(f"{found.name}: {found.minutes['paper']:g} minutes" for found in figures())]))
    else:
        main(**asked)
