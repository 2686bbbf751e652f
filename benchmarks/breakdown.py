"""Where the time of a training step goes, for the four families of `benchmarks/training.py`.

    python benchmarks/breakdown.py                                # prints; a minute of one core
    python benchmarks/breakdown.py --families perceptrons         # one of them
    python benchmarks/breakdown.py --write benchmarks/README.md   # and puts the table into its place there

One thread; plain steps, of perceptrons, too (LAB_STEPS=plain); with LAB_STEPS=kernel blocks of transformers, their
products among them, are one column, "in C". A step's time is CPU time of this process. Shares are of steps under
torch.profiler, whose own times are the clock's: of each operator the fastest tenth of its calls on one shape counts,
times the calls, so that other work on the machine says little. An operator's own time goes to optimizer, data or
book-keeping where it is called there, else to what it computes. What no operator accounts for is Python's, the dispatch
of operators, and the profiler's.

The last columns say how fast matrix products are: within the step, and alone on tensors of the same shapes, as shares
of the rate of a large product (1024 × 1024 × 1024, measured between the two). Products alone are the roof: a step that
did nothing else would reach that share. Attention's own products are within its kernel and count there.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import torch
from report import heading, machine, publish, table_parser
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function
from training import Family, Ours, families

from lab.spec import replace
from lab.training import blocks
from lab.training.descent_fleet import fleet_of

SECONDS = 0.5  # of steps that are profiled, roughly
SIZE = 1024  # of the large product
UNDISTURBED = 0.1  # quantile of the times of one operator on one shape: the clock runs on while others have the core
KINDS = {  # beginnings of the names of operators
    "products": ("aten::bmm", "aten::baddbmm", "aten::mm", "aten::addmm"),
    "attention, norms, softmax": (
        "aten::_scaled_dot_product",
        "aten::native_layer_norm",
        "aten::_softmax",
        "aten::_log_softmax",
        "aten::rsqrt",
    ),
    "function": ("aten::gelu", "aten::clamp_min", "aten::threshold_backward", "lab::"),
    "Python, dispatch": (  # these move no numbers
        *(f"aten::{name}" for name in ("view", "as_strided", "empty", "transpose", "expand", "detach", "select")),
        *(f"aten::{name}" for name in ("slice", "reshape", "_unsafe_view", "unflatten", "flatten", "permute", "to")),
        *(f"aten::{name}" for name in ("unsqueeze", "unbind", "alias", "resolve", "lift_fresh", "item", "_local")),
        "autograd::",
        "torch::",
        "ProfilerStep",
    ),
}
PARTS = ("in C", "optimizer", "data", "book-keeping")
COLUMNS = ("products", "attention, norms, softmax", "function", "element-wise, copies", *PARTS, "Python, dispatch")


def labelled(call: Callable, part: str) -> Callable:
    """The call, with its time under a name in the profile."""

    def under_its_name(*given: Any, **named: Any) -> Any:
        with record_function(f"part: {part}/{given[0] if part == 'in C' else ''}"):  # calls of one name are alike
            return call(*given, **named)

    return under_its_name


def kind(event: FunctionEvent) -> str:
    """What an operator's own time counts as."""
    above: FunctionEvent | None = event
    while above is not None:
        if above.name.startswith("part: "):
            return above.name.removeprefix("part: ").partition("/")[0]
        above = above.cpu_parent
    for name, beginnings in KINDS.items():
        if event.name.startswith(beginnings):
            return name
    return "element-wise, copies" if event.name.startswith("aten::") else "Python, dispatch"


def alike(events: list[FunctionEvent]) -> dict[tuple, list[float]]:
    """Seconds of their own, of calls of one operator on one shape that count as one thing."""
    times: dict[tuple, list[float]] = {}
    for event in events:
        times.setdefault((kind(event), event.name, str(event.input_shapes)), []).append(event.self_cpu_time_total / 1e6)
    return times


def products(events: list[FunctionEvent]) -> Counter[tuple]:
    """How often which product was taken: (runs, n, k, m)."""
    counts: Counter[tuple] = Counter()
    for event in events:
        if event.name.startswith(KINDS["products"]):
            one, other = [shape for shape in event.input_shapes if len(shape) > 1][-2:]
            counts[math.prod(one[:-2]), one[-2], one[-1], other[-1]] += 1
    return counts


def rate(shapes: Counter[tuple]) -> float:
    """Multiplications and additions a second of CPU time, of products of these shapes one after the other."""
    work, took = 0.0, 0.0
    for (runs, n, k, m), count in shapes.items():
        one, other = torch.randn(runs, n, k), torch.randn(runs, k, m)
        out = torch.empty(runs, n, m)
        torch.bmm(one, other, out=out)
        begun = time.thread_time()
        for _ in range(count):
            torch.bmm(one, other, out=out)
        took += time.thread_time() - begun
        work += 2.0 * count * runs * n * k * m
    return work / took


def measure(family: Family) -> dict[str, float]:
    """The row of a family: milliseconds a step, shares, rates."""
    ours = Ours(family, os.environ.get("LAB_STEPS") or "plain")
    if ours.fleet.kernel is not None:  # one call a step has no parts
        ours = Ours(family, "plain")
    ours.steps(2)
    step = spent(ours, 2)
    count = max(3, round(SECONDS / step))
    step = spent(ours, count)
    fleet = ours.fleet
    fleet.batch = labelled(fleet.batch, "data")  # type: ignore[method-assign]
    for owner, names, part in (
        (blocks, ("_called",), "in C"),
        (fleet.optimizer, ("step", "zero_grad", "set_rates"), "optimizer"),
        (fleet, ("watch", "freeze", "note_step"), "book-keeping"),
    ):
        for name in names:
            setattr(owner, name, labelled(getattr(owner, name), part))
    ours.steps(2)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        total = count * spent(ours, count)
    events, row = list(profiler.events() or []), dict.fromkeys(COLUMNS, 0.0)
    for (what, *_), times in alike(events).items():
        row[what] += len(times) * float(np.quantile(times, UNDISTURBED)) / total
    row["Python, dispatch"] += 1 - sum(row.values())
    shapes = products(events)
    speed = sum(2.0 * often * math.prod(shape) for shape, often in shapes.items()) / max(row["products"] * total, 1e-9)
    large = rate(Counter({(1, SIZE, SIZE, SIZE): 20}))
    alone = rate(shapes) if shapes else float("nan")
    row |= {"ms": 1e3 * step, "within": speed / large, "alone": alone / large}
    return row | {"evaluation": evaluation(family, step)}


def spent(ours: Ours, count: int) -> float:
    """CPU seconds a step."""
    begun = time.process_time()
    ours.steps(count)
    return (time.process_time() - begun) / count


def evaluation(family: Family, step: float) -> float:
    """CPU time of an evaluation as a share of the training before it."""
    runs = [replace(family.evaluated, seed=spec.seed) for spec in family.specs]
    fleet = fleet_of(runs, [family.parts] * len(runs))
    took: list[float] = []
    while not took or sum(took) < 0.2:  # a long one needs nothing to warm up
        begun = time.process_time()
        fleet.scores()
        took.append(time.process_time() - begun)
    return took[-1] / (family.evaluated.recipe.every * step)


def table(rows: dict[str, dict[str, float]]) -> str:
    """As Markdown."""
    heads = ["family", "ms", *COLUMNS, "products' rate, in the step", "alone", "evaluation"]
    lines = [f"{machine()}, one thread. {date.today():%-d %B %Y}, torch {torch.__version__}.", ""]
    lines += heading(heads)
    for name, row in rows.items():
        shares = " | ".join(f"{row[column]:.0%}" for column in COLUMNS)
        # – where torch takes no product
        shares += "".join(f" | {row[each]:.0%}" if row["products"] else " | –" for each in ("within", "alone"))
        lines.append(f"| {name} | {row['ms']:.1f} | {shares} | {row['evaluation']:.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = table_parser(__doc__)
    parser.add_argument("--families", nargs="+", default=None, help="names; default: all")
    given = parser.parse_args()
    torch.set_num_threads(1)
    known = families()
    rows = {}
    for name in given.families or known:
        rows[name] = measure(known[name])
        print(name, {word: round(value, 3) for word, value in rows[name].items()}, flush=True)
    publish(table(rows), given.write, "breakdown")


if __name__ == "__main__":
    main()
