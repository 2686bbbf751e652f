"""A state machine of hypothesis that holds a store to a model of a few lines."""

import argparse
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from lab.errors import LabError
from lab.spec import AdamTrapezoid, ModelSpec, RunSpec, SearchSpec, key
from lab.store import DamagedError, Store, leases, objects
from lab.store.checkpoints import Spec
from lab.testing.calls import SYSTEM, FileCalls, Killed

try:
    from hypothesis import HealthCheck, settings
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
except ImportError as error:
    raise ImportError("lab.testing needs hypothesis: pip install hypothesis") from error

TINY = (ModelSpec(layers=1, width=8), AdamTrapezoid(steps=6, rate=0.003, batch=8))
SPECS: tuple[Spec, ...] = (*(RunSpec("memorize", *TINY, seed=seed) for seed in range(3)), SearchSpec("memorize", *TINY))
FLEETS = (SPECS[:1], SPECS[:2], SPECS[1:3])
SETTINGS = settings(
    max_examples=250, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
NEVER = 1e6  # seconds, more than any example takes and less than `age` makes of a lease
MEMORY = "/dev/shm"  # a disk would write every result


@dataclass
class Expected:
    """What is in a store: whole results with their numbers, damaged ones, states of fleets, sets that are forced."""

    whole: dict[Spec, int] = field(default_factory=dict)
    damaged: set[Spec] = field(default_factory=set)
    states: dict[tuple, int] = field(default_factory=dict)
    forced: set[frozenset] = field(default_factory=set)

    def save(self, spec: Spec, number: int) -> None:
        if spec not in self.damaged:
            self.whole.setdefault(spec, number)

    def forget(self, specs: frozenset) -> None:
        self.whole = {spec: number for spec, number in self.whole.items() if spec not in specs}
        self.damaged -= specs
        self.states = {fleet: number for fleet, number in self.states.items() if specs.isdisjoint(fleet)}

    def force(self, specs: frozenset) -> None:
        if not self.goes_on(specs):
            self.forced.add(specs)
            self.forget(specs)

    def clean(self, leased: frozenset) -> None:
        self.damaged = set()
        self.states = {
            fleet: n
            for fleet, n in self.states.items()
            if not self.whole.keys() >= set(fleet) or not leased.isdisjoint(fleet)
        }

    def keep(self, specs: tuple, number: int) -> None:
        self.states[specs] = number

    def after(self, *changes: Callable[["Expected"], None]) -> "Expected":
        made = Expected(dict(self.whole), set(self.damaged), dict(self.states), set(self.forced))
        for change in changes:
            change(made)
        return made

    def goes_on(self, specs: frozenset) -> bool:
        return specs in self.forced and not specs <= self.whole.keys() | self.damaged

    def said(self, spec: Spec) -> int | str:
        return "damaged" if spec in self.damaged else self.whole.get(spec, "absent")


@dataclass(eq=False)
class Held:
    """A lease: its specs, its file, the handles of its process, whether that lives, and whether it gives no sign."""

    specs: frozenset
    path: Any
    block: Any
    calls: FileCalls
    alive: bool = True
    silent: bool = False


number = st.integers(0, 9)
one = st.integers(0, len(SPECS) - 1)  # of a spec
several = st.frozensets(one, min_size=1)
fleet = st.integers(0, len(FLEETS) - 1)
who = st.sampled_from([0, 1])
end = st.none() | st.integers(1, 12) | st.integers(1, 70)  # the call at which the process is killed
deeds = st.one_of(
    st.tuples(st.just("save"), one, number),
    st.tuples(st.just("keep_state"), fleet, number),
    st.tuples(st.just("forget"), several),
    st.tuples(st.sampled_from(["clean", "sweep"])),
)


class StoreMachine(RuleBasedStateMachine):
    """Two processes save, load, force, clean, export and sweep, lease, steal and die; `Expected` says what is there.

    After a kill, each result is as before or as after, and whole. What one process does between two calls of another
    is as if it came before or after. Another store: derive, with a `make_store`; where it has no files and no locks,
    with `new_place`, `owners`, `locks` and `age`, too.
    """

    locks = True  # a lease ends with its process; in a bucket it ends when it gives no sign any more

    def __init__(self) -> None:
        super().__init__()
        self.place = self.new_place()
        self.stores = [self.make_store(self.place), self.make_store(self.place)]
        self.other = self.make_store(f"{self.place}-other")  # where results are exported to
        self.expected, self.there = Expected(), Expected()
        self.leases: list[Held] = []
        # without a pulse a lease is lost by `age` alone, however slow the store; whoever is second steps back at once
        changed: dict[str, Any] = {"PULSE": NEVER, "BUCKET_PULSE": NEVER, "LOST": NEVER, "FRESH": -1.0}
        self.patch = mock.patch.multiple(leases, **changed)
        self.patch.start()
        self.quiet = redirect_stderr(io.StringIO())  # which of two results stays
        self.quiet.__enter__()

    def new_place(self) -> str:
        """The folder or URL of an empty store."""
        return tempfile.mkdtemp(prefix="lab-store-", dir=MEMORY if Path(MEMORY).is_dir() else None)

    def make_store(self, place: str) -> Store:
        """The store under test, as a process opens it."""
        return Store(place)

    def owners(self) -> Sequence[tuple]:
        """Whose calls a kill may precede, as `FileCalls` has it."""
        return SYSTEM

    def age(self, path: Any) -> None:
        """Let a lease have given no sign for a long time."""
        os.utime(path, (0, 0))

    @rule(who=who, deed=deeds, end=end)
    def do(self, who: int, deed: tuple, end: int | None) -> None:
        self._do(who, end, *self._deed(*deed))

    @rule(who=who, first=deeds, at=st.integers(1, 50), second=deeds)
    def interleave(self, who: int, first: tuple, at: int, second: tuple) -> None:
        (one, change_one), (two, change_two) = self._deed(*first), self._deed(*second)
        ends = [self.expected.after(change_one, change_two), self.expected.after(change_two, change_one)]
        calls = self._calls(at, lambda: two(self.stores[1 - who]))
        with calls:
            one(self.stores[who])
        if calls.between is not None:  # the first came to its end before
            two(self.stores[1 - who])
        self.expected = self._one_of(*ends)

    @rule(who=who, some=several, end=end)
    def force(self, who: int, some: frozenset, end: int | None) -> None:
        specs = _set(some)
        goes_on = self.expected.goes_on(specs)
        dead, said = self._do(who, end, lambda store: store.force(specs), lambda expected: expected.force(specs))
        if not dead:
            assert said == goes_on
            return
        left = {spec for spec in specs if self.expected.said(spec) != "absent"}
        said = self.stores[who].force(specs)
        assert goes_on or not (said and left), "it goes on with results of before"
        self.expected.forced.add(specs)
        if not said:
            self.expected.forget(specs)

    @rule(who=who, some=several)
    def end_force(self, who: int, some: frozenset) -> None:
        specs = _set(some)
        self.stores[who].end_force(specs)
        self.expected.forced.discard(specs)

    @rule(who=who, number=one, place=st.floats(0, 1, exclude_max=True))
    def damage(self, who: int, number: int, place: float) -> None:
        spec = SPECS[number]
        if spec in self.expected.whole:
            path = next(path for path in objects.below(self.stores[who].path(spec)) if path.name.startswith("weights"))
            data = bytearray(objects.read(path))
            data[int(place * len(data))] ^= 1
            path.write_bytes(bytes(data))
            self.expected.whole.pop(spec)
            self.expected.damaged.add(spec)

    @rule(who=who, number=one, end=end)
    def export(self, who: int, number: int, end: int | None) -> None:
        spec = SPECS[number]
        mine, theirs = self.expected.said(spec), self.there.said(spec)
        free = isinstance(mine, int) and theirs in ("absent", mine)
        calls = self._calls(end or 0)
        try:
            with calls, suppress(Killed):
                self.stores[who].export(key(spec), str(self.other.folder))
            assert calls.dead or free
        except LabError as error:
            assert not free and (mine == "absent" or isinstance(error, DamagedError) == (mine == "damaged"))
        there = self._said(self.other, spec)
        assert there == (mine if free else theirs) or (calls.dead and there == theirs)
        if isinstance(there, int):
            self.there.save(spec, there)

    @rule(who=who, some=several, end=end)
    def lease(self, who: int, some: frozenset, end: int | None) -> None:
        specs = _set(some)
        store, free = self.stores[who], all(specs.isdisjoint(lease.specs) for lease in self._counting())
        before, block = self._files_of_leases(), store.lease(specs)
        calls = self._calls(end or 0)
        said = None
        with calls, suppress(Killed):
            said = block.__enter__()
        if calls.dead:
            self._end_leases(before)
            return
        new = self._files_of_leases() - before
        assert said == free and len(new) == free
        if free:
            self.leases.append(Held(specs, new.pop(), block, calls))
        else:
            block.__exit__(None, None, None)

    @precondition(lambda self: self.leases)
    @rule(number=st.integers(0, 99), deed=st.sampled_from(["release", "die", "steal"]))
    def end_lease(self, number: int, deed: str) -> None:
        lease = self.leases[number % len(self.leases)]
        if deed == "steal":  # its process was stopped: others may have what it has
            lease.silent = True
            if lease.path in objects.below(lease.path.parent):
                self.age(lease.path)
        elif lease.alive:
            with self._calls(int(deed == "die")), suppress(Killed):
                lease.block.__exit__(None, None, None)
            lease.alive = False
            if deed == "die":
                lease.calls.close()
            else:
                self.leases.remove(lease)

    @rule(who=who)
    def look(self, who: int) -> None:
        store, counting = self.stores[who], self._counting()
        assert sorted(map(len, (lease.keys for lease in store.leases()))) == sorted(len(one.specs) for one in counting)
        assert set(store.free(SPECS)) == set(SPECS).difference(*(lease.specs for lease in counting))
        lines = "\n".join(store.verify())
        for spec in SPECS:
            said = self.expected.said(spec)
            assert self._said(store, spec) == said and (key(spec) in lines) >= (said == "damaged")
            assert not isinstance(said, int) or key(spec) not in lines
        states = {specs: store.checkpoint(specs) for specs in FLEETS}
        assert {specs: int(state["n"]) for specs, state in states.items() if state} == self.expected.states
        assert store.foreign() == []

    @rule(who=who)
    def clean_up(self, who: int) -> None:
        store = self.stores[who]
        store.clean()
        self.expected.clean(self._leased())
        assert store.verify() == store.sweep() == [], "nothing is left"

    @invariant()
    def has(self) -> None:
        for spec in SPECS:
            assert self.stores[0].has(spec) == (self.expected.said(spec) != "absent")

    def teardown(self) -> None:
        """End every lease, and remove what was made."""
        for lease in self.leases:
            if lease.alive:
                lease.block.__exit__(None, None, None)
        self.patch.stop()
        self.quiet.__exit__(None, None, None)
        for place in (self.place, f"{self.place}-other"):
            shutil.rmtree(place, ignore_errors=True)

    def _calls(self, at: int, between: Callable[[], object] | None = None) -> FileCalls:
        folder: Any = self.stores[0].folder
        return FileCalls(getattr(folder, "path", folder), at, between=between, owners=self.owners())

    def _deed(self, name: str, *values: Any) -> tuple[Callable[[Store], Any], Callable[[Expected], None]]:
        """What a process does, and what it changes in the model."""
        if name == "save":
            spec, n = SPECS[values[0]], values[1]
            return lambda store: store.save(spec, *_content(n)), lambda expected: expected.save(spec, n)
        if name == "keep_state":
            specs, n = FLEETS[values[0]], values[1]
            tensors = {"n": torch.tensor(n)}
            return lambda store: store.keep_checkpoint(specs, tensors), lambda expected: expected.keep(specs, n)
        if name == "forget":
            forgotten = _set(values[0])
            return lambda store: store.forget(forgotten), lambda expected: expected.forget(forgotten)
        leased = self._leased()
        change = (lambda expected: expected.clean(leased)) if name == "clean" else (lambda expected: None)
        return lambda store: getattr(store, name)(), change

    def _do(self, who: int, end: int | None, deed: Callable, change: Callable) -> tuple[bool, Any]:
        """One deed, perhaps a process's last: whether it was, and what was said."""
        after = self.expected.after(change)
        if end is None:
            said, self.expected = deed(self.stores[who]), after
            return False, said
        said, calls, before = None, self._calls(end), self._files_of_leases()
        with calls, suppress(Killed):
            said = deed(self.stores[who])
        if calls.dead:
            self._end_leases(before)
            self.stores[who] = self.make_store(self.place)
            after = self._one_of(self.expected, after)
        self.expected = after
        return calls.dead, said

    def _one_of(self, first: Expected, second: Expected) -> Expected:
        """What is there, where it may be as in the one or as in the other."""
        store, there = self.stores[0], Expected(forced=second.forced)
        for spec in SPECS:
            said = self._said(store, spec)
            assert said in (first.said(spec), second.said(spec)), f"{said}: {first.said(spec)}, {second.said(spec)}"
            if said == "damaged":
                there.damaged.add(spec)
            elif said != "absent":
                there.whole[spec] = said
        for specs in FLEETS:
            state = store.checkpoint(specs)
            n = None if state is None else int(state["n"])
            assert n in (first.states.get(specs), second.states.get(specs))
            if n is not None:
                there.states[specs] = n
        return there

    def _counting(self) -> list[Held]:
        return [lease for lease in self.leases if not lease.silent and (lease.alive or not self.locks)]

    def _files_of_leases(self) -> set:
        return set(objects.below(self.stores[0].folder / "leases"))

    def _end_leases(self, before: set) -> None:
        """Those that a killed process took on its last deed count no more."""
        for path in self._files_of_leases() - before if not self.locks else ():
            self.age(path)

    def _leased(self) -> frozenset:
        return frozenset().union(*(lease.specs for lease in self._counting()))

    @staticmethod
    def _said(store: Store, spec: Spec) -> Any:
        if not store.has(spec):
            return "absent"
        try:
            history, weights, notes = store.load(spec)
        except DamagedError:
            return "damaged"
        assert history["n"] == weights["n"] == notes["n"]
        return notes["n"]


def _set(numbers: frozenset) -> frozenset:
    return frozenset(SPECS[number] for number in numbers)


def _content(n: int) -> tuple[dict, dict, dict]:
    return {"n": np.array(n)}, {"n": torch.tensor(n)}, {"n": n}


def main(machine: type[StoreMachine] = StoreMachine, batch: int = 50) -> None:
    """Look for longer, with other examples every time: `python -m lab.testing --minutes 10`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    if (minutes := parser.parse_args().minutes) <= 0:
        parser.error(f"--minutes {minutes:g}: give more than 0")
    until, examples = time.monotonic() + 60 * minutes, 0
    while time.monotonic() < until:
        run_state_machine_as_test(machine, settings=settings(SETTINGS, max_examples=batch))
        examples += batch
        print(f"{examples} examples of up to {SETTINGS.stateful_step_count} steps: no law is broken", flush=True)
