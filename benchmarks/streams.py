"""Do tasks that are generated fresh ever hold training up? Sequences a second: drawn, and trained on, on one core.

`python benchmarks/streams.py` prints one table; every row is measured in this run, interleaved. The consumer is the
step of a plain softmax transformer of the paper's shape made of torch's own layers, the fastest of the methods that
are compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from lab.tasks import Logic, Sraven
from lab.tasks.stream import BLOCK, Stream, StreamTask

# task, layers, heads; width 128 and MLP 256 (hypernetwork paper, Table A3)
SHAPES = (
    (Logic(length=16), 2, 8),
    (Logic(length=96), 2, 8),
    (Sraven(features=2), 4, 16),
    (Sraven(features=4), 4, 16),
    (Sraven(features=8), 4, 16),
)
BATCH, ROUNDS = 128, 5


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def learner(task: StreamTask, layers: int, heads: int, stream: Stream) -> Callable[[], None]:
    """One training step on a batch that is there already."""
    block = nn.TransformerEncoderLayer(128, heads, 256, 0.0, "gelu", batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
    model = nn.Sequential(nn.Linear(task.inputs, 128), encoder, nn.Linear(128, task.outputs))
    optimizer, batch = torch.optim.AdamW(model.parameters(), fused=True), stream.at(0)[0]

    def step() -> None:
        outputs = model(batch.inputs)[:, list(task.positions)]
        optimizer.zero_grad()
        task.loss(outputs[None], batch.targets[None]).backward()
        optimizer.step()

    return step


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)  # as the engine's processes have it
    print(f"{'task':8} {'tokens':>6} {'drawn / s':>10} {'trained / s':>12} {'ratio':>6}")
    for task, layers, heads in SHAPES:
        stream = Stream(task, [0], BATCH)
        step, drawn, trained = learner(task, layers, heads, stream), [], []
        step()
        for i in range(1, ROUNDS + 1):
            drawn.append(BLOCK * BATCH / seconds(partial(stream.at, i * BLOCK)))
            trained.append(BATCH / seconds(step))
        made, used = statistics.median(drawn), statistics.median(trained)
        print(f"{task.name:8} {task.length:6} {made:10,.0f} {used:12,.0f} {made / used:6.0f}")


if __name__ == "__main__":
    main()
