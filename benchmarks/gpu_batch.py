"""Everything that waits for a GPU, in one resumable call within a time budget.

    python benchmarks/gpu_batch.py --minutes 28 --out data/results

In order of value: does training on the GPU agree with the CPU; does the spline's Triton kernel agree with the formula
in double precision, and what does it cost beside GELU; how much faster are fleets than runs one after the other; the
figures at scale `paper`: those whose claims the laptop scale leaves open and that take an hour at most, then all
others, quick ones first. What is finished is kept in the store (LAB_STORE) and in `--out`; call it again to go on, and
with `--list` to see what waits. `--dry-run` executes all of it on the CPU, in small: the Triton kernel in Triton's
interpreter, figures at scale `smoke`; what it writes goes into OUT/dry-run. Needs torch, numpy, pandas, safetensors,
scipy and scikit-learn only: it leaves tables and provenance, which `lab figure NAME --scale paper` draws where plotly
is.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Work:
    """How much is done: all of it on a GPU, or a little of each part on a CPU.

    steps, runs, widths: of the fleets that are compared and timed. shapes: of inputs and knots for the spline's kernel.
    exponents: sizes of the spline's benchmark, 2^exponent numbers. budget: seconds for each of its rows.
    """

    device: str
    scale: str
    steps: int
    runs: int
    widths: tuple[int, ...]
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    exponents: tuple[int, ...]
    budget: float


ON_GPU = Work(
    device="cuda",
    scale="paper",
    steps=50,
    runs=54,
    widths=(32, 128),
    shapes=(((2**22 + 3,), (361,)), ((54, 100_003), (54, 361)), ((1000,), (2,)), ((3, 50), (3, 1000))),
    exponents=tuple(EXPONENTS),
    budget=3.0,
)
DRY_RUN = Work(
    device="cpu",
    scale="smoke",
    steps=4,
    runs=3,
    widths=(8,),
    shapes=(((4_099,), (361,)), ((3, 100), (3, 361)), ((100,), (2,)), ((3, 50), (3, 1000))),
    exponents=(10,),
    budget=0.01,
)
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


def agreement(work: Work) -> dict:
    """Largest difference in accuracy and loss between CPU and GPU after some steps of the same small runs."""
    specs = replace_steps(setting("memorize", "laptop").runs(3), work.steps)
    fleets = [train(Fleet(specs, [("gelu", "softmax")] * 3, device)) for device in ("cpu", work.device)]
    a, b = (fleet.history.arrays() for fleet in fleets)
    return {name: float(np.abs(a[name] - b[name]).max()) for name in a}


def kernel(work: Work) -> list[dict]:
    """Largest error of the spline's GPU kernel by type: value, input gradient, knot gradient and mixed derivative.

    Against the formula in float64, as a share of the largest number there; inputs avoid knots, where rounding decides
    which slope is the right one. Raises where an error is more than rounding.
    """
    if op.cuda_kernel() is formula:
        raise LabError(f"the GPU kernel is not in use ({op.why_not_triton() or 'LAB_KERNEL=torch'})")
    module, rows = op.cuda_kernel(), []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for shape, knots in work.shapes:
            draw = torch.Generator(work.device).manual_seed(0)
            x = 4 * torch.randn(shape, generator=draw, device=work.device)
            spacing = 40 / (knots[-1] - 1)
            x = ((((x + 20) / spacing).floor() + 0.5) * spacing - 20).to(dtype)  # in the middle of intervals
            grad = torch.randn(shape, generator=draw, device=work.device).to(dtype)
            values = torch.randn(knots, generator=draw, device=work.device)

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


def spline_cost(work: Work) -> list[dict]:
    """Rows of benchmarks/spline.py for this GPU."""
    rows = []
    for exponent in work.exponents:
        for dtype in (torch.float32, torch.bfloat16):
            rows += measure(work.device, torch.get_num_threads(), dtype, exponent, work.budget)
    print(text(pd.DataFrame(rows)))
    return rows


def fleets(work: Work) -> list[dict]:
    """Seconds of some steps for many models side by side and one after the other, and their ratio."""
    rows = []
    for width in work.widths:
        base = setting("add", work.scale)
        specs = [replace(s, model=replace(s.model, width=width)) for s in base.runs(work.runs)]
        specs = replace_steps(specs, work.steps)
        side = timed(specs, work.device)
        alone = timed(specs[:1], work.device) * work.runs  # one after the other: the first one's time, as often
        rows.append(
            {"width": width, "runs": work.runs, "side by side": side, "one by one": alone, "ratio": alone / side}
        )
    return rows


def replace_steps(specs: list, steps: int) -> list:
    """The same runs, stopped after `steps`, not evaluated on the way."""
    return [replace(s, recipe=replace(s.recipe, stop=steps, every=steps), evaluate=("val",)) for s in specs]


def timed(specs: list, device: str) -> float:
    """Seconds of training the specs as one fleet, after a warm-up of the same shape."""
    parts = [("gelu", "softmax")] * len(specs)
    train(Fleet(replace_steps(specs, 5), parts, device))
    fleet = Fleet(specs, parts, device)
    finish(device)
    start = time.perf_counter()
    train(fleet)
    finish(device)
    return time.perf_counter() - start


def finish(device: str) -> None:
    """Wait for what a GPU still computes."""
    if device == "cuda":
        torch.cuda.synchronize()


MEASURES = {"agreement": agreement, "kernel": kernel, "spline": spline_cost, "fleets": fleets}


def main(work: Work, minutes: float, out: Path, seeds: int | None, only: list[str]) -> None:
    """Do as much as the time allows; `only`: of the figures those so named."""
    engine.choose_device(work.device)  # says so where there is none
    end = time.monotonic() + 60 * minutes
    for name, part in MEASURES.items():
        path = out / f"gpu_{name}.json"
        if not path.exists() and time.monotonic() < end:
            out.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(part(work), indent=1))
            print(name, path.read_text(), flush=True)
    for found in figures():
        name = found.name
        if (only and name not in only) or (out / name / work.scale / "provenance.json").exists():
            continue
        if time.monotonic() >= end:
            print("time is up; call again to go on")
            return
        start = time.monotonic()
        table, facts, extras = measured(name, work.scale, work.device, seeds, store=Store(), progress=False)
        folder = out / name / work.scale
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
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="of the figures these: transformers/fig5")
    parser.add_argument("--list", action="store_true", help="only say what it would do, with guesses of minutes")
    parser.add_argument("--dry-run", action="store_true", help="execute all of it on the CPU, in small")
    asked = vars(parser.parse_args())
    dry = asked.pop("dry_run")
    if asked.pop("list"):
        print("\n".join([*MEASURES, *(f"{found.name}: {found.minutes['paper']:g} minutes" for found in figures())]))
    elif dry:
        os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported: the GPU's kernel on the CPU
        main(DRY_RUN, **asked | {"out": asked["out"] / "dry-run"})
    else:
        main(ON_GPU, **asked)
