"""How long training steps take: several fleets side by side, round by round, so that all have the machine as it is."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch

from lab.spec import replace
from lab.training.fleet import Fleet
from lab.training.loop import train

K = TypeVar("K", bound=Hashable)
SIZE, PRODUCTS = 1024, 4  # of the product that gives the machine's rate, and how many in a round


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
