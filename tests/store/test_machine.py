"""Any order of what two processes do with a store, in a folder and in a bucket.

Longer: `python -m lab.testing --minutes 10`; in a bucket of an S3 server: `python -m tests.store.test_machine`.
"""

import os
import time
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from lab.errors import LabError
from lab.store import objects, results
from lab.testing import SETTINGS, StoreMachine
from lab.testing.machine import main

NUMBERS = count()


class BucketMachine(StoreMachine):
    """A bucket in memory: objects without renames, locks and folders."""

    locks = False

    def new_place(self):
        return f"memory://{next(NUMBERS)}/store"

    def owners(self):
        return [(objects.opened(self.place).fs, "pipe_file cat_file rm_file ls info")]

    def age(self, path):
        path.fs.store[path.path].created = datetime.fromtimestamp(0, UTC)


class S3Machine(BucketMachine):
    """A bucket of a real server; a lease that is lost is as one that was swept."""

    def new_place(self):
        made = objects.opened(f"s3://bucket-{next(NUMBERS)}/store")
        made.fs.mkdir(made.parts[0].strip("/"))
        return str(made)

    def age(self, path):
        objects.remove(path)


def run(machine, examples, **options):
    options |= {"derandomize": True, "max_examples": examples}
    run_state_machine_as_test(machine, settings=settings(SETTINGS, **options))


def test_a_folder_is_as_the_model_says_after_any_order_of_deeds():
    run(StoreMachine, 220)


def test_a_bucket_is_as_the_model_says_after_any_order_of_deeds():
    run(BucketMachine, 40)


def done_is_last(folder, damaged=False):
    for name in (*results.FILES, "done.json"):
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir():
        folder.rmdir()


def in_place(files, target):
    target.mkdir(parents=True, exist_ok=True)
    if not (target / "done.json").exists():
        for name, data in files.items():
            (target / name).write_bytes(data)


@pytest.mark.parametrize("kind", [StoreMachine, BucketMachine])
def test_a_store_may_be_slow(kind, monkeypatch):
    """Minutes between two deeds make no lease a lost one: a machine's leases have no pulse."""
    machine = kind()
    try:
        machine.lease(0, frozenset([0, 2]), None)
        monkeypatch.setattr(time, "time", lambda now=time.time: now() + 600.0)
        machine.lease(1, frozenset([0, 1]), None)
        machine.look(1)
        machine.end_lease(0, "steal")
        machine.lease(1, frozenset([0, 1]), None)
        machine.look(0)
    finally:
        machine.teardown()


@pytest.mark.parametrize("name, wrong", [("remove", done_is_last), ("place", in_place)])
def test_a_store_that_breaks_a_law_is_found(monkeypatch, name, wrong):
    monkeypatch.setattr(results, name, wrong)
    with pytest.raises((AssertionError, LabError, ExceptionGroup)):
        run(StoreMachine, 250, phases=[Phase.generate])  # it ends where a law is broken


if __name__ == "__main__":
    from tests.test_buckets import s3_server

    with s3_server() as server:
        os.environ.update(server)
        main(S3Machine, batch=4)
