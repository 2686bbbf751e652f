"""How many runs should train side by side on this machine? Milliseconds a step and run, by shape and fleet size.

`python benchmarks/fleet.py` prints one table; every row is measured in this run, interleaved. The engine's constant
CPU_FLEET_TOKENS (lab/engine.py) is where stacking stops to pay: read it off the column "stacked / alone".
"""

from __future__ import annotations

import statistics
import time

import torch

from lab.spec import ModelSpec, Recipe, RunSpec, replace
from lab.training.fleet import Fleet
from lab.training.loop import train

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


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)  # as the engine's processes have it
    print(f"{'task':10} {'width':>5} {'batch':>5} {'fleet':>5} {'ms / step / run':>16} {'stacked / alone':>16}")
    for task, width, batch in SHAPES:
        recipe = Recipe(steps=100_000, rate=1e-3, batch=batch, every=100_000, stop=1)
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
            own = statistics.median(times[size])
            print(f"{task:10} {width:5} {batch:5} {size:5} {1e3 * own:16.3f} {own / alone:16.2f}")


if __name__ == "__main__":
    main()
