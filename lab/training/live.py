"""Training beside the store: watched in a thread that can be stopped, timed, and of a model from elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from lab.spec import AdamTrapezoid, RunSpec, replace
from lab.tasks.task import Split, Task
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import Fleet, torch_defaults, train
from lab.training.optimizers import factor
from lab.training.sequences import Batch, Data, Order

Report = Callable[[int, Fleet], None]
End = Callable[[Exception | None], None]
EVERY = 0.2  # seconds between two reports
K = TypeVar("K", bound=Hashable)
SIZE, PRODUCTS = 1024, 4  # of the product that gives the machine's rate, and how many in a round
EXAMPLES = 1000  # of a split, at most: accuracies and losses of an evaluation


class Live:
    """The training of one or more fleets, a little of each in turn; nothing of it is kept in the store.

    fleets: for each its runs, which differ in seed and values of the non-linearities only; these are names or Knots.
    report(number, fleet) is called from the thread, several times a second; end(error) once, when the training is over,
    with what went wrong or None.
    """

    def __init__(self, fleets: Sequence[Sequence[RunSpec]], report: Report, end: End):
        self.fleets, self._report, self._end = [list(specs) for specs in fleets], report, end
        self._stop = threading.Event()
        # daemon: an interpreter that wants to end does not wait for it
        self._thread = threading.Thread(target=self._run, name="lab live training", daemon=True)

    def start(self) -> Live:
        """Begin; returns at once."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ask it to end after the step that it is in; returns at once."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, for `timeout` seconds at most; whether it is over."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error = None
        try:
            with one_thread(), torch_defaults():
                self._train()
        except Exception as caught:  # a thread has nobody above it who would see it
            error = caught
        self._end(error)

    def _train(self) -> None:
        fleets = [fleet_of(specs, [tuple(spec.model.parts.values()) for spec in specs]) for specs in self.fleets]
        for number, fleet in enumerate(fleets):
            self._report(number, fleet)
        while not self._stop.is_set() and not all(fleet.over for fleet in fleets):
            done = [fleet.step / fleet.recipe.last for fleet in fleets]
            number, end = done.index(min(done)), time.monotonic() + EVERY  # the one that is furthest behind

            def each_step(_: Fleet, end: float = end) -> bool:
                return not self._stop.is_set() and time.monotonic() < end

            train(fleets[number], each_step)
            self._report(number, fleets[number])


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one core here; the others are for the page. torch keeps this number for each thread, and one for new
    threads, which gets its old value back when the last of several trainings ends."""
    with _lock:
        if _threads["users"] == 0:
            _threads["before"] = torch.get_num_threads()
        _threads["users"] += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _threads["users"] -= 1
            if _threads["users"] == 0:
                torch.set_num_threads(_threads["before"])


_lock, _threads = threading.Lock(), {"users": 0, "before": 1}


@dataclass(frozen=True)
class Times(Generic[K]):
    """Seconds a step by fleet, (rounds,) each; in the same rounds the machine's rate, multiplications and additions a
    second of a large product, (rounds,)."""

    seconds: Mapping[K, np.ndarray]
    rates: np.ndarray

    def ratio(self, name: K, base: K) -> tuple[float, float]:
        """How many times as long as `base`: the median over rounds, and half of the range between quartiles."""
        low, middle, high = np.quantile(self.seconds[name] / self.seconds[base], (0.25, 0.5, 0.75))
        return float(middle), float(high - low) / 2

    def share(self, name: K, work: float) -> float:
        """What `work` multiplications and additions take at the machine's rate, as a share of a step."""
        return float(np.median(work / self.seconds[name] / self.rates))


def interleaved(fleets: Mapping[K, Fleet], rounds: int, steps: int) -> Times[K]:
    """Time all fleets: in every round each takes so many steps, in an order that turns.

    The fleets train on; give some that are made for it.
    """
    for fleet in fleets.values():
        seconds_a_step(fleet, 1)  # warms up
    took: dict[K, list[float]] = {name: [] for name in fleets}
    names, rates = list(fleets), []
    for turn in range(rounds):
        rates.append(machine_rate(fleets[names[0]].device))
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            took[name].append(seconds_a_step(fleets[name], steps))
    return Times({name: np.array(times) for name, times in took.items()}, np.array(rates))


def processor_seconds(fleets: Mapping[K, Fleet], rounds: int, steps: int) -> dict[K, float]:
    """By fleet, seconds of one core that a step takes for each of its runs: the median of rounds in which all fleets
    take so many steps in turn. It is time of the processor, so that what else a machine does counts little."""
    times: dict[K, list[float]] = {name: [] for name in fleets}
    with one_thread():
        for _ in range(rounds):
            for name, fleet in fleets.items():
                start = time.process_time()
                for _ in range(steps):
                    fleet.advance()
                times[name].append((time.process_time() - start) / steps / len(fleet.specs))
    return {name: float(np.median(values)) for name, values in times.items()}


def seconds_a_step(fleet: Fleet, steps: int) -> float:
    """Over some steps that are taken where the fleet stands."""
    fleet.recipe = replace(fleet.recipe, stop=fleet.step + steps)
    _wait(fleet.device)
    start = time.perf_counter()
    train(fleet)
    _wait(fleet.device)
    return (time.perf_counter() - start) / steps


def machine_rate(device: torch.device) -> float:
    """Multiplications and additions a second of a large float32 product."""
    generator = torch.Generator(device).manual_seed(0)
    one, other = (torch.randn(SIZE, SIZE, device=device, generator=generator) for _ in range(2))
    _wait(device)
    start = time.perf_counter()
    for _ in range(PRODUCTS):
        one @ other
    _wait(device)
    return 2 * SIZE**3 * PRODUCTS / (time.perf_counter() - start)


def products(fleet: Fleet) -> float:
    """Multiplications and additions of the matrix products of one step."""
    from torch.utils.flop_counter import FlopCounterMode  # imports triton: a fifth of a second

    with FlopCounterMode(display=False) as counter:
        batch = fleet.batch(0)
        batch.loss(batch.outputs(fleet.model)).sum().backward()
    return counter.get_total_flops()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


@torch_defaults()
def fit(model: nn.Module, task: Task, recipe: AdamTrapezoid, seed: int = 0, split: str = "test") -> pd.DataFrame:
    """Train a model where it is, with Adam, by the recipe; one row an evaluation.

    model: tokens (batch, length) int64 → logits (batch, length, vocabulary), or an object that has them as `logits`. It
        must be causal: sequences are padded on the right, without a mask. What is frozen stays so.
    seed: of the order of examples: with the same seed two models see the same batches as the lab's own models do.

    Columns: seed, step, loss (nats a token, on `split`), accuracy (there, 0 to 1), diverged. Training ends where a
    training loss is not finite; all rows then say diverged. The model comes back in the mode it was in.

    >>> from lab import tasks
    >>> class Guess(nn.Embedding):  # the next token from the last one alone
    ...     pass
    >>> task = tasks.load("memorize")
    >>> size = len(task.vocabulary)
    >>> table = fit(Guess(size, size), task, AdamTrapezoid(steps=4, rate=0.01, batch=8, every=2))
    >>> table["step"].tolist(), table["diverged"].any().item()
    ([2, 4], False)
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    device, training = next(model.parameters()).device, model.training
    optimizer = torch.optim.Adam(weights, lr=recipe.rate, betas=recipe.betas)
    measured = task.splits[split]
    measured = Split(measured.tokens[:EXAMPLES], measured.output[:EXAMPLES])
    data, evaluation = Data(task.training, device), Data(measured, device)
    whole = evaluation.at(torch.arange(len(evaluation), device=device)[None])
    order = Order([seed], len(data), recipe.batch)
    rows, diverged = [], False
    for step in range(recipe.last):
        optimizer.param_groups[0]["lr"] = recipe.rate * factor(recipe, step)
        batch = data.at(order.at(step).to(device))
        loss = batch.loss(_logits(model.train(), batch))
        diverged = not bool(loss.isfinite())
        if diverged:
            break
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        if (step + 1) % recipe.every == 0 or step + 1 == recipe.last:
            rows.append({"seed": seed, "step": step + 1} | _measured(model.eval(), whole, task.metric))
    model.train(training)
    return pd.DataFrame(rows, columns=["seed", "step", "loss", "accuracy"]).assign(diverged=diverged)


def _logits(model: nn.Module, batch: Batch) -> Tensor:
    """Logits of the output tokens, (1, batch, K, vocabulary)."""
    output = model(batch.tokens[0])
    output = getattr(output, "logits", output)
    return output.gather(1, batch.positions[0, ..., None].expand(-1, -1, output.shape[-1]))[None]


@torch.no_grad()
def _measured(model: nn.Module, batch: Batch, metric: str) -> dict[str, float]:
    logits = _logits(model, batch)
    hits, weights = batch.hits(logits)[0], batch.weights[0]
    right = hits.all(-1).float().mean() if metric == "sequence" else (hits * weights).sum() / weights.sum()
    return {"loss": float(batch.loss(logits)), "accuracy": float(right)}
