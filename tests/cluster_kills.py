"""A campaign of kills on clusters: workers that train on a shared store are killed at random moments, and replaced.

    python -m tests.cluster_kills --kills 100

Each round starts a scheduler, two to four workers and a command that wants a search and runs. Workers are killed while
it trains; every other round the command, or the scheduler, is killed as well, and the command given again. At the end
of a round every result must have the bits of a training that nobody interrupted, and nothing may be damaged.
"""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from lab import engine
from lab.store import Store
from tests.clusters import Cluster, trains
from tests.kills import digests, main
from tests.processes import Child, Nursery
from tests.test_engine import LEARNED, MANO, RUNS

ALL = "[*LEARNED, *RUNS, MANO]"
SLOW = 0.3  # seconds that each step lasts longer, so that kills come in the middle
LATEST = 6 * SLOW  # seconds of training after which a worker is killed


@dataclass
class Outcome:
    """What was killed, how many rounds were brought to their end, and in how many fleets a worker went on from a
    checkpoint."""

    workers: int = 0
    commands: int = 0
    schedulers: int = 0
    rounds: int = 0
    went_on: int = 0

    @property
    def kills(self) -> int:
        """Of all kinds."""
        return self.workers + self.commands + self.schedulers

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.workers} workers, {self.commands} commands, {self.schedulers} schedulers) in "
            f"{self.rounds} rounds: every result has the bits of an uninterrupted training, nothing is damaged or "
            f"lost, and {self.went_on} times a worker went on from a checkpoint"
        )


def campaign(nursery: Nursery, folder: Path, kills: int, seed: int = 0) -> Outcome:
    """Kill at least `kills` processes; AssertionError where a law does not hold."""
    chance, outcome, whole = random.Random(seed), Outcome(), Store(folder / "whole")
    engine.complete([*LEARNED, *RUNS, MANO], whole, "cpu", 1)
    expected = digests(whole)
    while outcome.kills < kills:
        own = folder / str(outcome.rounds)
        own.mkdir()
        _round(nursery, own, outcome, chance, expected)
        outcome.rounds += 1
        print(outcome, flush=True)
    return outcome


def _round(nursery: Nursery, folder: Path, outcome: Outcome, chance: random.Random, expected: dict) -> None:
    """One store, from empty to full."""
    store = Store(folder / "store")
    store.folder.mkdir()
    while digests(store).keys() != expected.keys():
        place = folder / f"cluster{outcome.kills}-{chance.random()}"
        place.mkdir()
        cluster = Cluster(nursery, place)
        try:
            workers = [cluster.worker(slow=SLOW) for _ in range(chance.randint(2, 4))]
            _disturb(cluster, workers, store, outcome, chance)
        finally:
            outcome.went_on += sum(worker.out.count("from a checkpoint") for worker in workers)
            cluster.close()
        assert store.verify() == [] and store.foreign() == []
        assert digests(store).items() <= expected.items(), "a result has other bits"
    store.clean()
    assert digests(store) == expected and store.leases() == [] and not list(store.folder.glob("checkpoints/*"))


def _disturb(cluster: Cluster, workers: list[Child], store: Store, outcome: Outcome, chance: random.Random) -> None:
    """Let a command train on a cluster whose workers die, until it is done or killed, too."""
    call, other = cluster.start(ALL, store.folder), chance.choice(("nothing", "command", "scheduler"))
    for turn in range(chance.randint(1, 5)):
        while not (busy := [worker for worker in workers if trains(worker)]) and not call.has_ended():
            time.sleep(0.02)
        time.sleep(chance.uniform(0.0, LATEST))
        if not busy or call.has_ended():
            break
        victim = chance.choice(busy)
        workers.remove(victim)
        victim.kill()
        outcome.workers += 1
        workers.append(cluster.worker(slow=SLOW))
        if turn == 2 and other == "command":
            call.kill()
            outcome.commands += 1
            assert call.wait().code in (0, -signal.SIGKILL)
            return
        if turn == 2 and other == "scheduler":
            cluster.scheduler.kill()
            outcome.schedulers += 1
            ended = call.wait()
            assert ended.code in (0, 1), ended.err
            assert ended.code == 0 or "is gone; what was finished is kept" in ended.said[-1], ended.err
            return
    ended = call.wait()
    # of a job whose workers all died before it came further, the command says so; the next one goes on
    assert ended.code == 0 or "every worker that trained it was ended" in ended.said[-1], ended.err


if __name__ == "__main__":
    main(campaign, __doc__)
