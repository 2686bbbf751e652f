"""How many runs should train side by side on this machine? Milliseconds a step and run, by shape and fleet size.

`python benchmarks/fleet.py` prints one table; every row is measured in this run, interleaved. The engine's constant
CPU_FLEET_TOKENS (lab/jobs/trainers.py) is where stacking stops to pay: read it off the column "stacked / alone".
A second table has perceptrons: a fleet, against a plain loop over as many `torch.nn` models with `torch.optim.Adam`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from lab.spec import AdamTrapezoid, ConstantRate, ModelSpec, Perceptron, RunSpec, replace
from lab.tasks.table import TableSplit, TableTask
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import Fleet, train

SHAPES = (  # task, width, batch
    ("memorize", 8, 8),
    ("memorize", 16, 64),
    ("memorize", 32, 256),
    ("add", 32, 256),
    ("add", 64, 128),
)
SIZES, STEPS, ROUNDS = (1, 3, 6), 10, 5


def seconds(fleet: Fleet) -> float:
    """Time of STEPS steps, taken up where the fleet stands, a step and run."""
    fleet.recipe = replace(fleet.recipe, stop=fleet.step + STEPS)
    start = time.perf_counter()
    train(fleet)
    return (time.perf_counter() - start) / STEPS / len(fleet.specs)


PERCEPTRONS = (
    (16, 64),
    (64, 64),
    (256, 64),
    (1024, 64),
    (1024, 256),
)  # rows of a full batch, width of both hidden layers
MODELS = 64


@dataclass(frozen=True)
class Numbers(TableTask):
    """Rows of eight numbers, with one to predict."""

    rows: int
    name: ClassVar[str] = "numbers"
    inputs: ClassVar[int] = 8
    classes: ClassVar[int] = 2
    classification: ClassVar[bool] = False
    loss_name: ClassVar[str] = "mse"

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """All splits alike: only time is measured."""
        x = torch.randn(self.rows, 8, generator=torch.Generator().manual_seed(seed))
        return dict.fromkeys(("train", "val", "test"), TableSplit(x, x.prod(1)))


def loop(rows: int, width: int) -> float:
    """Milliseconds a step of a plain loop over MODELS models."""
    data, pairs = Numbers(rows).split()["train"], []
    for _ in range(MODELS):
        model = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        pairs.append((model, torch.optim.Adam(model.parameters(), lr=1e-3)))
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        for model, adam in pairs:
            adam.zero_grad()
            nn.functional.mse_loss(model(data.inputs)[:, 0], data.targets).backward()
            adam.step()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def stacked(rows: int, width: int) -> float:
    """Milliseconds a step of a fleet of MODELS perceptrons, the averaging of weights included."""
    recipe = ConstantRate(100_000, 1e-3, optimizer="adam", keep="last", every=100_000, stop=1)
    specs = [RunSpec(Numbers(rows), Perceptron(2, width), recipe, seed, ()) for seed in range(MODELS)]
    fleet, times = fleet_of(specs, [("relu",)] * MODELS), []

    def each_step(_) -> bool:
        times.append(time.perf_counter())
        return True

    fleet.recipe = replace(recipe, stop=STEPS + 2)
    train(fleet, each_step)
    return 1e3 * statistics.median(after - before for before, after in zip(times[:-2], times[1:-1], strict=True))


def perceptrons() -> None:
    """The second table."""
    print(f"\n{MODELS} perceptrons 8-width-width-1, Adam, full batches: milliseconds a step of all of them")
    print(f"{'rows':>6} {'width':>6} {'loop':>10} {'fleet':>10} {'loop / fleet':>13}")
    for rows, width in PERCEPTRONS:
        plain, ours = [], []
        for _ in range(ROUNDS):
            plain.append(loop(rows, width))
            ours.append(stacked(rows, width))
        one, two = statistics.median(plain), statistics.median(ours)
        print(f"{rows:6} {width:6} {one:10.2f} {two:10.2f} {one / two:13.1f}", flush=True)


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)  # as the engine's processes have it
    print(f"{'task':10} {'width':>5} {'batch':>5} {'fleet':>5} {'ms / step / run':>16} {'stacked / alone':>16}")
    for task, width, batch in SHAPES:
        recipe = AdamTrapezoid(steps=100_000, rate=1e-3, batch=batch, every=100_000, stop=1)
        model = ModelSpec(width=width)
        fleets = {}
        for size in SIZES:
            specs = [RunSpec(task, model, recipe, seed, evaluate=()) for seed in range(size)]
            fleets[size] = train(Fleet(specs, [("gelu", "softmax")] * size))  # the first step warms up
        times = {size: [] for size in SIZES}
        for _ in range(ROUNDS):
            for size, fleet in fleets.items():
                times[size].append(seconds(fleet))
        alone = statistics.median(times[1])
        for size in SIZES:
            median = statistics.median(times[size])
            print(f"{task:10} {width:5} {batch:5} {size:5} {1e3 * median:16.3f} {median / alone:16.2f}")
    perceptrons()


if __name__ == "__main__":
    main()
