"""What a spline costs: against GELU, ReLU, and Listings 1 and 2 of the transformers paper. One table, one run.

    python benchmarks/spline.py                                  # prints; some 15 minutes on 2 idle CPU cores
    python benchmarks/spline.py --exponents 16 21 --threads 1    # less
    python benchmarks/spline.py --write benchmarks/README.md     # and puts the table into its place there
    python benchmarks/spline.py --peers --clock process --threads 1 --dtypes float32 --exponents 18

With --peers the functions and layers of benchmarks/peers.py are contestants, too, those of other packages where they
are installed: one a channel of 64, with the gradients of what learns; layers are from 64 to 64 numbers. With --clock
process the time is that of this process alone, whatever else the machine does; give one thread.

Within a row everything is interleaved: round by round, each contestant once (below 2^20 elements: several times in a
row, after one that is not timed). Times are medians over rounds, with half of the range between quartiles. "of copy"
compares with the machine: bytes that must move (2 numbers an element forward, 5 with the gradient of the input) a
second, as a share of what copying as large a tensor reached in the same rounds.

On Linux, memory once taken is kept (mallopt): from 2^21 elements on torch otherwise asks the system for fresh pages in
every call, which costs all contestants the same and hides what is compared. `--fresh` measures with that.
"""

from __future__ import annotations

import ctypes
import os
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from report import heading, machine, publish, table_parser
from torch import Tensor, nn
from torch.nn import functional

from lab.nonlinearity import op

LOW, HIGH, KNOTS = -20.0, 20.0, 361  # the lab's splines; spacing 1/9
CLOCKS = {"wall": time.perf_counter, "process": time.process_time}
EXPONENTS = (16, 18, 21, 24, 27)
# degree 18, printed in Listing 2, highest first
POLYNOMIAL = (
    29327.20,
    18324.92,
    -41591.43,
    -12376.90,
    -14822.88,
    -29015.27,
    33452.63,
    10354.57,
    21105.54,
    45592.25,
    -47565.33,
    -47925.56,
    26296.37,
    18216.14,
    -6145.61,
    -2660.53,
    522.13,
    66.86,
    -0.63,
)
LINE = (
    "{device} {threads} {dtype:8} 2^{exponent:<3} {name:26} {what:8} {ms:10.3f} ± {spread:<8.3f} ms "
    "{GELU:7.2f} × GELU {of copy:6.2f} of copy, {rounds} rounds"
)


def listing_1(x: Tensor, positions: Tensor, values: Tensor) -> Tensor:
    """The paper's evaluation of a spline (Listing 1)."""
    index = (torch.bucketize(x, positions) - 1).clamp(0, len(positions) - 2)
    step = positions[1] - positions[0]
    fraction = ((x - (positions[0] + index * step)) / step).clamp(0.0, 1.0)
    left, right = values[index], values[index + 1]
    return (left + fraction * (right - left)).to(x.dtype)


def listing_2(x: Tensor) -> Tensor:
    """The paper's polynomial (Listing 2): clamped, normalized, Horner's method."""
    x = x.clamp(-79.52, 71.65) / 79.52
    y = torch.full_like(x, POLYNOMIAL[0])
    for coefficient in POLYNOMIAL[1:]:
        y = y * x + coefficient
    return y


def peers_of(device: str) -> dict[str, tuple[Callable, tuple[Tensor, ...]]]:
    """By name: functions and layers of `peers` on a flat tensor, and what learns in them."""
    import peers

    def on(module: nn.Module, *shape: int) -> Callable:
        return lambda x: module(x.view(-1, *shape)).reshape(-1)

    images, rows = (peers.CHANNELS, peers.SIDE, peers.SIDE), (peers.CHANNELS,)
    learners = {}
    for shape, modules in ((images, peers.activations()), (rows, peers.layers())):
        for name, module in modules.items():
            module.to(device)
            if learned := tuple(module.parameters()):  # GELU is here already
                learners[name] = on(module, *shape), tuple(part for part in learned if part.requires_grad)
    return learners


def contestants(device: str) -> dict[str, tuple[Callable, Tensor | None]]:
    """By name: φ, and the knots whose gradient is asked for, too."""
    values = torch.sin(torch.linspace(LOW, HIGH, KNOTS, device=device))
    learned = values.clone().requires_grad_()
    positions = torch.linspace(LOW, HIGH, KNOTS, device=device)
    compiled = torch.compile(listing_1, dynamic=False)  # as the listing says
    return {
        "GELU": (functional.gelu, None),
        "ReLU": (torch.relu, None),
        "spline": (lambda x: op.spline(x, values, LOW, HIGH), None),
        "spline, knots": (lambda x: op.spline(x, learned, LOW, HIGH), learned),
        "Listing 1": (lambda x: listing_1(x, positions, values), None),
        "Listing 1 compiled": (lambda x: compiled(x, positions, values), None),
        "Listing 1 compiled, knots": (lambda x: compiled(x, positions, learned), learned),
        "Listing 2": (listing_2, None),
        "Listing 2 compiled": (torch.compile(listing_2, dynamic=False), None),
    }


def check(device: str) -> None:
    """What is timed is what it says: Listing 1 is the spline, Listing 2 the polynomial of its coefficients."""
    x = torch.linspace(-30, 30, 10_007, device=device, dtype=torch.float64)
    positions = torch.linspace(LOW, HIGH, KNOTS, device=device, dtype=torch.float64)
    values = torch.sin(positions)
    torch.testing.assert_close(op.spline(x, values, LOW, HIGH), listing_1(x, positions, values), rtol=0, atol=1e-9)
    wanted = np.polyval(POLYNOMIAL, x.cpu().numpy() / 79.52)
    np.testing.assert_allclose(listing_2(x).cpu().numpy(), wanted, rtol=1e-9, atol=1e-9)


def calls(phi: Callable, learned: Tensor | tuple[Tensor, ...] | None, x: Tensor, grad: Tensor) -> dict[str, Callable]:
    """The two things that are timed."""
    wanted = [x, *(() if learned is None else (learned,) if isinstance(learned, Tensor) else learned)]

    def forward():
        with torch.no_grad():
            return phi(x)

    return {"forward": forward, "both": lambda: torch.autograd.grad(phi(x), wanted, grad, allow_unused=True)}


def seconds(call: Callable[[], object], device: str, repeat: int, clock: Callable[[], float]) -> float:
    """Of one call, to its end: the median of `repeat` in a row, after one that warms the caches if there are more."""
    if repeat > 1:
        call()
    took = []
    for _ in range(repeat):
        if device == "cuda":
            torch.cuda.synchronize()
        start = clock()
        result = call()
        if device == "cuda":
            torch.cuda.synchronize()
        took.append(clock() - start)
        del result  # freeing is not timed
    return float(np.median(took))


def measure(
    device: str,
    threads: int,
    dtype: torch.dtype,
    exponent: int,
    budget: float,
    only: list[str] | None = None,
    peers: bool = False,
    clock: Callable[[], float] = time.perf_counter,
) -> list[dict]:
    """Rows of one size: every contestant, forward and forward + backward.

    budget: seconds after which no new round begins; three rounds are done in any case.
    """
    torch.set_num_threads(threads)
    torch._dynamo.reset()  # compiled code has the number of threads in it
    count = 2**exponent
    repeat = max(1, 2**20 // count)
    generator = torch.Generator(device).manual_seed(0)
    x, grad = (torch.randn(count, generator=generator, device=device).to(dtype) for _ in range(2))
    copied = torch.empty_like(x)
    todo = {("copy", "forward"): lambda: copied.copy_(x.detach())}
    x.requires_grad_()
    for name, (phi, knots) in (contestants(device) | (peers_of(device) if peers else {})).items():
        if only is None or name in only:
            todo |= {(name, what): call for what, call in calls(phi, knots, x, grad).items()}
    times = {key: [] for key in todo}
    for call in todo.values():
        call()  # compiles, warms up
    begun = time.perf_counter()
    while len(times["copy", "forward"]) < 3 or (
        time.perf_counter() - begun < budget and len(times["copy", "forward"]) < 200
    ):
        for key, call in todo.items():
            times[key].append(seconds(call, device, repeat, clock))
    size, copy = count * x.element_size(), np.median(times["copy", "forward"])
    rows = []
    for (name, what), samples in times.items():
        low, middle, high = np.quantile(samples, (0.25, 0.5, 0.75))
        bandwidth = (2 if what == "forward" else 5) * size / middle
        rows.append(
            {
                "device": device,
                "threads": threads,
                "dtype": str(dtype).removeprefix("torch."),
                "exponent": exponent,
                "name": name,
                "what": what,
                "ms": 1e3 * middle,
                "spread": 5e2 * (high - low),
                "rounds": len(samples),
                "GELU": middle / np.median(times.get(("GELU", what), [np.nan])),
                "of copy": bandwidth / (2 * size / copy),
            }
        )
    return rows


def fits(exponent: int, device: str) -> bool:
    """Whether the largest contestant's tensors fit in memory: Listing 1 has indices of 8 bytes and many temporaries."""
    if device == "cuda":
        free = torch.cuda.mem_get_info()[0]
    else:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2**exponent * 64 < free


def text(table: pd.DataFrame) -> str:
    """The table as Markdown: a block for forward + backward, one for forward alone, and the targets."""
    lines = [f"{machine()}. {date.today():%d %B %Y}, torch {torch.__version__}; {op.describe()}.", ""]
    names = [name for name in table["name"].unique() if name != "copy"]
    for what, title in (("both", "Forward and backward"), ("forward", "Forward")):
        part = table[table["what"] == what]
        lines += [f"{title}: milliseconds ± half the range between quartiles (times GELU; share of copy speed).", ""]
        lines += heading(["device, threads", "type", "elements", *names])
        for key, rows in part.groupby(["device", "threads", "dtype", "exponent"], sort=False):
            rows = rows.set_index("name")
            cells = [cell(rows.loc[name]) if name in rows.index else "" for name in names]
            lines.append(f"| {key[0]}, {key[1]} | {key[2]} | 2^{key[3]} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join([*lines, *targets(table)])


def listed(table: pd.DataFrame) -> str:
    """The table with one contestant a row, for many of them."""
    lines = [f"{machine()}. {date.today():%d %B %Y}, torch {torch.__version__}; {op.describe()}.", ""]
    for key, rows in table[table["name"] != "copy"].groupby(["device", "threads", "dtype", "exponent"], sort=False):
        where = "{}, {}, {}, 2^{}".format(*key)
        lines += heading([where, "forward and backward: ms", "× GELU", "forward: ms", "× GELU"])
        for name, both in rows[rows["what"] == "both"].set_index("name").iterrows():
            forward = rows[(rows["name"] == name) & (rows["what"] == "forward")].iloc[0]
            cells = [f"{one['ms']:.3g} ± {one['spread']:.1g} | {one['GELU']:.2f}" for one in (both, forward)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join([*lines, *targets(table)])


def cell(row: pd.Series) -> str:
    """One contestant at one size."""
    middle, spread = (f"{float(f'{value:.{digits}g}'):g}" for value, digits in ((row["ms"], 3), (row["spread"], 1)))
    return f"{middle} ± {spread} ({row['GELU']:.2f}; {row['of copy']:.2f})"


def targets(table: pd.DataFrame) -> list[str]:
    """What was to be reached, and what was, at the best and the worst of all rows."""
    both = table[table["what"] == "both"]
    wide = both.pivot_table("ms", ["device", "threads", "dtype", "exponent"], "name", sort=False)
    lines = heading(["forward and backward", "to reach: CPU, GPU", "worst", "median", "best"])
    ratios = (
        ("spline / GELU", "spline", "GELU", "≤ 1.5, ≤ 1.1"),
        ("spline with knot gradients / GELU", "spline, knots", "GELU", "≤ 3, ≤ 1.5"),
        ("Listing 1 compiled / spline", "Listing 1 compiled", "spline", "≥ 15, ≥ 3"),
        ("Listing 1 compiled / spline, both with knot gradients", "Listing 1 compiled, knots", "spline, knots", ""),
        ("polynomial compiled / spline", "Listing 2 compiled", "spline", "≥ 1"),
        ("polynomial eager / spline", "Listing 2", "spline", ""),
    )
    for title, above, below, target in ratios:
        if above in wide and below in wide:
            ratio = (wide[above] / wide[below]).sort_values(ascending=below != "GELU")  # from the worst to the best
            where = ["{}, {}, {}, 2^{}".format(*ratio.index[i]) for i in (0, -1)]
            lines.append(
                f"| {title} | {target} | {ratio.iloc[0]:.2f} ({where[0]}) | {ratio.median():.2f} | "
                f"{ratio.iloc[-1]:.2f} ({where[1]}) |"
            )
    return lines


def keep_memory() -> None:
    """Tell glibc to take large blocks from the heap, and never to give the heap's end back."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        trim_threshold, map_most = -1, -4
        library.mallopt(map_most, 0)
        library.mallopt(trim_threshold, 2**31 - 1)


def main(
    exponents: list[int],
    dtypes: list[str],
    threads: list[int],
    device: str,
    budget: float,
    only: list[str] | None,
    fresh: bool,
    write: Path | None,
    peers: bool,
    clock: str,
) -> None:
    """Measure, print, write."""
    warnings.filterwarnings("ignore", "`torch.jit.script", DeprecationWarning)  # torch's own, at the first compilation
    if not fresh:
        keep_memory()
    check(device)
    rows = []
    for exponent in exponents:
        if not fits(exponent, device):
            print(f"2^{exponent} elements are left out: memory")
            continue
        for number in threads if device == "cpu" else [torch.get_num_threads()]:
            for dtype in dtypes:
                kind = getattr(torch, dtype)
                new = measure(device, number, kind, exponent, budget, only, peers, CLOCKS[clock])
                for row in new:
                    print(LINE.format(**row), flush=True)
                rows += new
    publish((listed if peers else text)(pd.DataFrame(rows)), write, "peers" if peers else "spline")


if __name__ == "__main__":
    parser = table_parser(__doc__)
    parser.add_argument("--exponents", type=int, nargs="+", default=list(EXPONENTS), help="sizes, as powers of two")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of CPU threads")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of measuring a size, type and thread number")
    parser.add_argument("--only", nargs="+", help="names of contestants")
    parser.add_argument("--peers", action="store_true", help="other packages' functions and layers, too (float32)")
    parser.add_argument("--clock", default="wall", choices=CLOCKS, help="what is measured: time, or this process's")
    parser.add_argument("--fresh", action="store_true", help="do not keep memory between calls")
    main(**vars(parser.parse_args()))
