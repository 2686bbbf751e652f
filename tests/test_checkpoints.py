"""Notes of a training that was cut short and went on: they speak of all processes that worked on it."""

import time

import pytest
import torch

from lab import jobs
from lab.jobs.job import Job, run_with_checkpoints
from lab.nonlinearity.op import kernel_name
from lab.store import Store
from lab.versions import arithmetic
from tests.test_engine import RUNS

STEPS, PAUSE = 6, 0.05


class Counter:
    """A loop's state: how many steps are done."""

    def __init__(self):
        self.count = 0

    @property
    def over(self):
        return self.count >= STEPS

    def state(self):
        return {"count": torch.tensor(self.count)}

    def restore(self, tensors):
        assert set(tensors) == {"count"}
        self.count = int(tensors["count"])


def counting(state, each_step):
    while not state.over:
        time.sleep(PAUSE)
        state.count += 1
        each_step(state)


def cut_at(step):
    def tell(state):
        if state.count == step:
            raise KeyboardInterrupt

    return tell


def test_seconds_are_those_of_all_processes_and_what_differs_is_named_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs.job, "CHECKPOINT_SECONDS", -1.0)
    job, store, start = Job((RUNS[0],), "cpu", str(tmp_path)), Store(tmp_path), time.perf_counter()
    for commit, step in (("first", 3), ("first", 4)):
        monkeypatch.setattr(jobs.job, "trained_with", lambda commit=commit: {"commit": commit, "torch": "2"})
        with pytest.raises(KeyboardInterrupt):
            run_with_checkpoints(job, store, Counter(), counting, cut_at(step))
    monkeypatch.setattr(jobs.job, "trained_with", lambda: {"commit": "second", "torch": "2"})
    state = Counter()
    notes = run_with_checkpoints(job, store, state, counting, lambda state: None)
    assert state.count == STEPS and notes["commit"] == "first, then second" and notes["torch"] == "2"
    assert notes["device"] == "cpu" and STEPS * PAUSE <= notes["seconds"] <= time.perf_counter() - start


def test_a_checkpoint_without_notes_goes_on(tmp_path):
    job, store, start = Job((RUNS[0],), "cpu", str(tmp_path)), Store(tmp_path), time.perf_counter()
    store.keep_checkpoint(job.specs, {"count": torch.tensor(4)})
    notes = run_with_checkpoints(job, store, Counter(), counting, lambda state: None)
    assert 2 * PAUSE <= notes["seconds"] <= time.perf_counter() - start and ", then " not in notes["commit"]


def test_a_checkpoint_of_another_revision_is_left(tmp_path, monkeypatch, capsys):
    """Its run would be of two revisions, and figures that it is in a mixture."""
    monkeypatch.setattr(jobs.job, "CHECKPOINT_SECONDS", -1.0)
    job, store, counts = Job((RUNS[0],), "cpu", str(tmp_path)), Store(tmp_path), []
    with monkeypatch.context() as before:
        before.setattr(jobs.job, "arithmetic", lambda spec: "0")
        with pytest.raises(KeyboardInterrupt):
            run_with_checkpoints(job, store, Counter(), counting, cut_at(3))
    assert store.checkpoint(job.specs) is not None
    notes = run_with_checkpoints(job, store, Counter(), counting, lambda state: counts.append(state.count))
    assert counts == list(range(1, STEPS + 1)) and notes["arithmetic"] == arithmetic(RUNS[0])
    assert "a checkpoint of revision 0 of the lab's arithmetic is left" in capsys.readouterr().err


def test_how_steps_were_taken_is_named_in_order(tmp_path, monkeypatch):
    """With another LAB_STEPS than before."""
    monkeypatch.setattr(jobs.job, "CHECKPOINT_SECONDS", -1.0)
    job, store, taken = Job((RUNS[0],), "cpu", str(tmp_path)), Store(tmp_path), ", one call a step"
    with pytest.raises(KeyboardInterrupt):
        run_with_checkpoints(job, store, Counter(), counting, cut_at(3), lambda: taken)
    kernel = run_with_checkpoints(job, store, Counter(), counting, lambda state: None)["kernel"]
    assert kernel == f"{kernel_name('cpu')}{taken}, then {kernel_name('cpu')}"
