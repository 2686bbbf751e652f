"""What is measured on a GPU before figures are made (benchmarks/gpu_batch.py): is it right, and how fast is it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as functional
from report import heading
from spline import measure, seconds
from torch import Tensor, nn

from lab.errors import LabError
from lab.nonlinearity import formula, kan, op
from lab.papers.transformers.settings import setting
from lab.spec import RunSpec, replace
from lab.training.fleet import Fleet, note_of, train
from lab.training.steps import Compiled

WARM = 5  # steps before anything is timed
ROUNDS = 7  # of a KAN layer by its kernel and by torch's operations


@dataclass(frozen=True)
class Work:
    """How much is done: all of it on a GPU, or a little of each part on a CPU.

    steps, runs, widths: of the fleets that are compared and timed. shapes: of inputs and knots for the spline's kernel.
    layers: rows, inputs, outputs, grid and order of KAN layers. exponents: sizes of the spline's benchmark, 2^exponent
    numbers. budget: seconds for each of its rows. limit: minutes after which a measure is ended, because it hangs, or
    compiles for too long.
    """

    device: str
    scale: str
    steps: int
    runs: int
    widths: tuple[int, ...]
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    layers: tuple[tuple[int, int, int, int, int], ...]
    exponents: tuple[int, ...]
    budget: float
    limit: float


ON_GPU = Work(
    device="cuda",
    scale="paper",
    steps=50,
    runs=54,
    widths=(32, 128),
    shapes=(((2**22 + 3,), (361,)), ((54, 100_003), (54, 361)), ((1000,), (2,)), ((3, 50), (3, 1000))),
    layers=((1024, 64, 64, 5, 3), (1024, 64, 64, 5, 1), (65_536, 256, 256, 5, 3), (65_536, 64, 64, 128, 1)),
    exponents=(24, 27, 21, 16),
    budget=2.0,
    limit=1.5,
)
DRY_RUN = Work(
    device="cpu",
    scale="smoke",
    steps=4,
    runs=3,
    widths=(8,),
    shapes=(((4_099,), (361,)), ((3, 100), (3, 361)), ((100,), (2,)), ((3, 50), (3, 1000))),
    layers=((17, 3, 20, 5, 3), (9, 2, 5, 8, 1)),
    exponents=(10,),
    budget=0.01,
    limit=30.0,
)


def measures(work: Work) -> dict[str, tuple[Callable, tuple]]:
    """By name a function and its arguments, in the order of value; each gives what JSON can hold."""
    calls: dict[str, tuple[Callable, tuple]] = {"kernel": (kernel, (work,)), "kan": (kan_layers, (work,))}
    calls["agreement"] = agreement, (work,)
    calls |= {f"fleet_{width}": (fleet, (work, width)) for width in work.widths}
    calls |= {f"steps_{runs}": (steps, (work, runs)) for runs in (1, work.runs)}
    for exponent in work.exponents:
        calls |= {f"spline_{exponent}_{name}": (spline, (work, exponent, name)) for name in ("float32", "bfloat16")}
    return calls


def agreement(work: Work) -> dict:
    """Largest difference in accuracy and loss between CPU and GPU after some steps of the same small runs."""
    specs = stopped(setting("memorize", "laptop").runs(3), work.steps)
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
            wanted = _all_of(formula, grad.double(), x.double(), values.double())
            errors = [
                float((a - b).abs().max() / b.abs().max())
                for a, b in zip(_all_of(module, grad, x, values), wanted, strict=True)
            ]
            row = {"dtype": str(dtype), "shape": list(shape), "knots": list(knots)}
            row |= dict(zip(("value", "input", "knots gradient", "mixed"), errors, strict=True))
            rows.append(row)
            if not max(errors) <= rounding(dtype, knots[-1]):  # NaN is wrong, too
                raise LabError(f"the GPU kernel is wrong: {row}")
    return rows


def kan_layers(work: Work) -> list[dict]:
    """Of KAN layers: the largest error of the GPU's kernel, in y and both gradients, and milliseconds of a layer,
    forward and backward, by the kernel and by torch's operations.

    Errors are against the formula in float64, as a share of the largest number there; inputs avoid knots. Raises where
    an error is more than rounding, and where the layer does not take the kernel.
    """
    from lab.nonlinearity import kan_gpu

    rows = []
    for count, inputs, outputs, grid, order in work.layers:
        draw = torch.Generator(work.device).manual_seed(0)
        layer = kan.KANLayer(inputs, outputs, grid, order).to(work.device)
        layer.coefficients.data.normal_(generator=draw)
        weight, knots, spacing = layer.coefficients, layer.knots.float(), 2 / grid
        x = 2 * torch.randn(count, inputs, generator=draw, device=work.device)
        x = ((x / spacing).floor() + 0.25 + 0.5 * torch.rand(x.shape, generator=draw, device=work.device)) * spacing
        grad = torch.randn(count, outputs, generator=draw, device=work.device)
        if work.device == "cuda" and kan._kernel(order, x, weight) != (kan_gpu.forward, kan_gpu.backward):
            raise LabError(
                f"the GPU kernel is not in use ({op.why_not_triton() or 'LAB_KERNEL=torch, or an old Triton'})"
            )
        table = kan.packed(weight.detach(), order)
        computed = (
            kan_gpu.forward(order, x, table, outputs, knots),
            *kan_gpu.backward(order, x, grad, table, knots, True, True),
        )
        doubles = [part.detach().double().requires_grad_() for part in (x, weight)]
        y = functional.linear(kan.bases(doubles[0], layer.knots, order).flatten(-2), doubles[1].flatten(1))
        wanted = y.detach(), *torch.autograd.grad(y, doubles, grad.double())
        error = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(computed, wanted, strict=True))
        row = {"rows": count, "inputs": inputs, "outputs": outputs, "grid": grid, "order": order, "error": error}
        if not error <= 1e-4:  # NaN is wrong, too
            raise LabError(f"the GPU kernel is wrong: {row}")
        rows.append(row | dict(zip(("kernel, ms", "torch, ms"), layer_times(layer, x, grad, work), strict=True)))
    return rows


def layer_times(layer: nn.Module, x: Tensor, grad: Tensor, work: Work) -> list[float]:
    """Milliseconds forward and backward, by the kernel and by torch's operations: medians of interleaved rounds."""
    x.requires_grad_()
    took, before = {"": [], "torch": []}, os.environ.get("LAB_KERNEL", "")
    try:
        for _ in range(ROUNDS):
            for forced, times in took.items():
                os.environ["LAB_KERNEL"] = forced
                call = lambda: torch.autograd.grad(layer(x), [x, *layer.parameters()], grad)  # noqa: E731
                times.append(seconds(call, work.device, 5, time.perf_counter))
    finally:
        os.environ["LAB_KERNEL"] = before
    return [1e3 * float(np.median(times)) for times in took.values()]


def rounding(dtype: torch.dtype, knots: int) -> float:
    """The most that rounding makes of a share: of the result, of products, and of the place among the knots, a number
    up to `knots` in float32, which is multiplied by the rise between two knots: at most twice the largest value."""
    return 4 * torch.finfo(dtype).eps + 1e-4 + 2 * knots * torch.finfo(torch.float32).eps


def _all_of(kernel, grad, x, values):
    gradients = kernel.backward(grad, x, values, -20.0, 20.0, True, True)
    mixed = kernel.backward(grad, x, values, -20.0, 20.0, False, True, slope=True)[1]
    return kernel.forward(x, values, -20.0, 20.0), *gradients, mixed


def spline(work: Work, exponent: int, dtype: str) -> list[dict]:
    """Rows of benchmarks/spline.py for this GPU."""
    return measure(work.device, torch.get_num_threads(), getattr(torch, dtype), exponent, work.budget)


def fleet(work: Work, width: int) -> dict:
    """Seconds of some steps for many models side by side and one after the other, and their ratio."""
    base = setting("add", work.scale)
    specs = stopped([replace(s, model=replace(s.model, width=width)) for s in base.runs(work.runs)], work.steps)
    side = timed(specs, work.device)
    alone = timed(specs[:1], work.device) * work.runs  # one after the other: the first one's time, as often
    row = {"width": width, "runs": work.runs, "side by side": side, "one by one": alone, "ratio": alone / side}
    return row | {"GB": peak(work.device)}


def steps(work: Work, runs: int) -> dict:
    """Milliseconds of a step, plain and compiled (LAB_STEPS), seconds until compiled steps begin, and how far apart the
    losses of the last step are, as a share."""
    base = setting("add", work.scale)
    specs = [replace(s, model=replace(s.model, width=work.widths[0])) for s in base.runs(runs)]
    specs = stopped(specs, 2 * WARM + work.steps)
    losses, row = [], {"width": work.widths[0], "runs": runs}
    for name in ("plain", "compiled"):
        fleet = Fleet(specs, [("gelu", "softmax")] * runs, work.device)
        fleet.losses = Compiled(fleet) if name == "compiled" else fleet.plain_losses
        last = []
        for count in (WARM, WARM, work.steps):
            start, end = time.perf_counter(), fleet.step + count
            train(fleet, lambda fleet, end=end: fleet.step < end)
            finish(work.device)
            last.append(time.perf_counter() - start)
        row |= {f"{name}, ms": 1e3 * last[2] / work.steps, f"{name}, seconds before": last[0]}
        losses.append(fleet.history.arrays()["loss"][-1])
    assert fleet.step == 2 * WARM + work.steps
    if not note_of(fleet):
        raise LabError("steps were not compiled; what was said shows why")
    apart = float(np.abs(losses[0] / losses[1] - 1).max())
    return row | {"ratio": row["plain, ms"] / row["compiled, ms"], "apart": apart}


def stopped(specs: list[RunSpec], steps: int) -> list[RunSpec]:
    """The same runs, stopped after `steps`, not evaluated on the way; where they are shorter, made as long."""
    recipes = [replace(s.recipe, steps=max(s.recipe.steps, steps), stop=steps, every=steps) for s in specs]
    return [replace(s, recipe=recipe, evaluate=("val",)) for s, recipe in zip(specs, recipes, strict=True)]


def timed(specs: list[RunSpec], device: str) -> float:
    """Seconds of training the specs as one fleet, after a warm-up of the same shape."""
    parts = [("gelu", "softmax")] * len(specs)
    train(Fleet(stopped(specs, WARM), parts, device))
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


def peak(device: str) -> float:
    """The most memory of a GPU that this process has had, in GB; 0 on a CPU."""
    return torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0


def report(out: Path) -> str:
    """The measures in a folder as Markdown; of a part that was not measured there is no row."""
    measured = {path.stem: json.loads(path.read_text()) for path in sorted(out.glob("*.json"))}
    machine, _, spline_table = (out / "spline.md").read_text().partition("\n\n")
    rows = []
    errors = ("value", "input", "knots gradient", "mixed")
    for dtype in dict.fromkeys(row["dtype"] for row in measured.get("kernel", [])):
        worst = max(row[error] for row in measured["kernel"] for error in errors if row["dtype"] == dtype)
        rows.append(
            (f"largest error of the spline, {dtype.removeprefix('torch.')}", f"{worst:.1e} of the largest number")
        )
    for row in measured.get("kan", []):
        size = f"{row['inputs']} → {row['outputs']}, {row['rows']:,} rows, grid {row['grid']}, order {row['order']}"
        both = f"{row['kernel, ms']:.3g} ms for {row['torch, ms']:.3g} ms in torch's operations"
        words = f"{both}: {row['torch, ms'] / row['kernel, ms']:.1f} times as fast; error {row['error']:.1e}"
        rows.append((f"KAN layer {size}", words))
    if "agreement" in measured:
        apart = measured["agreement"]
        words = f"losses {apart['loss']:.1e} apart, accuracies {apart['accuracy_val']:g}"
        rows.append(("CPU and GPU after 50 steps of MEMORIZE", words))
    for name, row in measured.items():
        if name.startswith("fleet_"):
            both = f"{row['side by side']:.2f} s for {row['one by one']:.1f} s: {row['ratio']:.1f} times as fast"
            rows.append((f"{row['runs']} runs of ADD side by side, width {row['width']}", both))
        if name.startswith("steps_"):
            both = f"{row['compiled, ms']:.1f} ms for {row['plain, ms']:.1f} ms: {row['ratio']:.1f} times as fast"
            rows.append((f"compiled steps of ADD, runs: {row['runs']}", both))
    lines = [machine, "", *heading(("what", "measured")), *(f"| {what} | {value} |" for what, value in rows)]
    return "\n".join([*lines, "", spline_table.strip()])
