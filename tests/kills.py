"""A campaign of kills: two processes at a time make figures on a shared store, each is killed at a random moment.

    python -m tests.kills --kills 100

After every kill nothing in the store may be damaged. Whatever is finished must have the bits of a training that nobody
interrupted. At the end of each store the two commands run to their end: no lease may block them, and nothing of the
dead may be left. The last line of the output says what happened.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.store import Store
from tests.processes import Child, Nursery

FIGURES = ("transformers/fig3", "simplicity/fig11")  # a search by two losses, one by episodes; no run in common
LATEST = 0.7  # of the time that a command needs: most kills should come before it is done
COMMAND = """
import lab.cli
from lab import engine
from lab.jobs import job
job.CHECKPOINT_SECONDS = -1.0  # at every step
engine.SMALL = {small}
lab.cli.main("figure {name} --scale smoke --device cpu --out {out}".split())
"""


@dataclass
class Outcome:
    """kills: processes killed; in_training: those of them that left results missing; stores: brought to their end.

    temporary, leases: what the dead had left after half of the rounds, chosen by chance, and was swept.
    """

    kills: int = 0
    in_training: int = 0
    stores: int = 0
    temporary: int = 0
    leases: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.in_training} while something was missing) on {self.stores} stores: nothing is "
            f"damaged, every result has the bits of an uninterrupted training, no lease blocks, and of the dead "
            f"{self.temporary} temporary folders and {self.leases} leases were swept, none is left"
        )


def campaign(nursery: Nursery, folder: Path, kills: int, seed: int = 0, workers: bool = True) -> Outcome:
    """Kill at least `kills` processes; AssertionError where a law does not hold.

    workers: let every fourth process train in processes of its own, which takes seconds to start.
    """
    chance, outcome = random.Random(seed), Outcome()
    whole, begun = Store(folder / "whole"), time.monotonic()
    for name in FIGURES:
        ended = _start(nursery, whole, name, folder).wait()
        assert ended.code == 0, ended.err
    expected, seconds = digests(whole), (time.monotonic() - begun) / len(FIGURES)
    while outcome.kills < kills:
        store = Store(folder / f"store{outcome.stores}")
        while outcome.kills < kills and digests(store).keys() != expected.keys():
            names = [chance.choice(FIGURES) for _ in range(2)]
            pair = [_start(nursery, store, name, folder, workers and chance.random() < 0.25) for name in names]
            count = _kill(pair, [chance.uniform(0, LATEST * seconds) for _ in pair])
            outcome.kills += count
            outcome.in_training += count if digests(store).keys() != expected.keys() else 0
            if chance.random() < 0.5:  # the next two processes sweep otherwise
                swept = store.sweep()
                outcome.temporary += sum(".tmp-" in name for name in swept)
                outcome.leases += sum(name.startswith("leases/") for name in swept)
            assert store.verify() == [] and store.foreign() == []
            assert digests(store).items() <= expected.items(), "a result has other bits"
        for child in [_start(nursery, store, name, folder) for name in FIGURES]:
            ended = child.wait()
            assert ended.code == 0, ended.err
        store.clean()
        assert digests(store) == expected and store.verify() == [] and store.leases() == []
        assert not list(store.folder.glob("*/.tmp-*")) and not list(store.folder.glob("leases/*"))
        assert not list(store.folder.glob("checkpoints/*"))
        outcome.stores += 1
        print(outcome, flush=True)
    return outcome


def digests(store: Store) -> dict[str, dict]:
    """Digests of spec, history and weights of every finished result, by key."""
    found = ((path.name, path / "done.json") for path in store.results())
    return {name: json.loads(path.read_bytes())["files"] for name, path in found if path.is_file()}


def _kill(pair: list[Child], moments: list[float]) -> int:
    """Kill each of two processes so many seconds after now; how many were still there."""
    begun, killed = time.monotonic(), 0
    for moment, child in sorted(zip(moments, pair, strict=True), key=lambda both: both[0]):
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        child.kill(group=True)
        ended = child.wait()
        assert ended.code in (0, -signal.SIGKILL), ended.err
        killed += ended.code != 0
    return killed


def _start(nursery: Nursery, store: Store, name: str, folder: Path, workers: bool = False) -> Child:
    code = COMMAND.format(name=name, out=folder / "out" / name, small=0.0 if workers else float("1e30"))
    return nursery.start(code, LAB_STORE=store.folder, LAB_WORKERS=1 + workers, BROWSER_PATH="none")


def main(campaign: Callable[[Nursery, Path, int, int], object], doc: str) -> None:
    """The command of a campaign: it runs in a folder of its own, and every process is ended with it."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lab-kills-") as name:
        folder = Path(name)
        (folder / "processes").mkdir()
        nursery = Nursery(folder / "processes")
        try:
            campaign(nursery, folder, arguments.kills, arguments.seed)
        finally:
            nursery.close()


if __name__ == "__main__":
    main(campaign, __doc__)
