"""Processes that do jobs: everything is done, the first error stops the rest, nobody is left behind."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.errors import LabError
from lab.workers import in_processes, in_this_process

KEPT: list = []  # by a process
linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")


def work(job, report):
    """A job is (folder, name, deed)."""
    folder, name, deed = job
    (folder / f"{name}.pid").write_text(str(os.getpid()))
    report(1)
    if deed == "fail":
        raise LabError(f"job {name} cannot be done")
    if deed == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "keep":
        KEPT.append(np.ones(50_000_000))  # 400 MB
        time.sleep(1.1)  # loky looks at memory once a second
    if deed == "wait":
        while True:
            time.sleep(0.05)
            report(2)
    for step in range(2, 11):
        report(step)
    (folder / f"{name}.done").write_text(f"{torch.get_num_threads()} {os.environ.get('OMP_NUM_THREADS')}")


def gone(folder: Path, seconds: float = 10.0) -> bool:
    """Whether all processes that worked below the folder have ended, or do so soon."""
    pids = [int(path.read_text()) for path in folder.glob("*.pid")]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(_runs(pid) for pid in pids):
            return bool(pids)
        time.sleep(0.05)
    return False


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_every_job_is_done_with_one_thread_and_told_to_its_end(tmp_path):
    told = {}
    jobs = [(tmp_path, str(i), "do") for i in range(5)]
    in_processes(jobs, work, 2, lambda job, steps, words: told.setdefault(job, []).append(steps))
    assert [(tmp_path / f"{i}.done").read_text() for i in range(5)] == ["1 1"] * 5
    assert len({path.read_text() for path in tmp_path.glob("*.pid")}) <= 2
    for i in range(5):
        assert told[i][-1] == 10 and told[i] == sorted(told[i])
    assert str(os.getpid()) not in {path.read_text() for path in tmp_path.glob("*.pid")}


def test_a_process_that_keeps_data_is_not_taken_for_a_leak(tmp_path):
    """loky would start a new one, and warn of a leak."""
    jobs = [(tmp_path, name, deed) for name, deed in (("a", "do"), ("b", "keep"), ("c", "do"), ("d", "do"))]
    after = [set(), {0}, {1}, {2}]
    in_processes(jobs, work, 1, lambda job, steps, words: None, after)
    assert len({path.read_text() for path in tmp_path.glob("*.pid")}) == 1


def test_jobs_wait_for_those_that_they_need(tmp_path):
    """0 needs 3, 3 needs 2 and 1: `work` below fails where they are not done."""
    after = [{3}, set(), {1}, {1, 2}, set()]
    jobs = [(tmp_path, str(i), "do", [str(j) for j in sorted(need)]) for i, need in enumerate(after)]
    in_processes(jobs, work_after, 2, lambda job, steps, words: None, after)
    assert all((tmp_path / f"{i}.done").exists() for i in range(5))


def work_after(job, report):
    folder, *_, need = job
    assert all((folder / f"{name}.done").exists() for name in need), job
    work(job[:3], report)


@linux
def test_the_first_error_stops_the_rest_and_is_raised_here(tmp_path):
    jobs = [(tmp_path, "endless", "wait"), (tmp_path, "bad", "fail"), (tmp_path, "later", "do")]
    with pytest.raises(LabError, match="job bad cannot be done"):
        in_processes(jobs, work, 2, lambda job, steps, words: None)
    assert gone(tmp_path)


@linux
def test_a_killed_process_is_one_line_that_says_what_to_try(tmp_path):
    jobs = [(tmp_path, "endless", "wait"), (tmp_path, "bad", "die")]
    with pytest.raises(LabError, match="LAB_WORKERS=1") as raised:
        in_processes(jobs, work, 2, lambda job, steps, words: None)
    assert "\n" not in str(raised.value) and "same command" in str(raised.value)
    assert gone(tmp_path)


def test_there_are_new_processes_after_a_failure(tmp_path):
    with pytest.raises(LabError):
        in_processes([(tmp_path, "0", "fail"), (tmp_path, "1", "do")], work, 2, lambda job, steps, words: None)
    in_processes([(tmp_path, "2", "do"), (tmp_path, "3", "do")], work, 2, lambda job, steps, words: None)
    assert (tmp_path / "2.done").exists() and (tmp_path / "3.done").exists()


def test_here_the_number_of_threads_is_put_back(tmp_path):
    before, told = torch.get_num_threads(), []
    jobs = [(tmp_path, "0", "do"), (tmp_path, "1", "fail")]
    with pytest.raises(LabError, match="job 1"):
        in_this_process(jobs, work, [before + 1] * len(jobs), lambda job, steps, words: told.append((job, steps)))
    assert torch.get_num_threads() == before
    assert (tmp_path / "0.done").read_text().split()[0] == str(before + 1)
    assert told == [(0, step) for step in range(1, 11)] + [(1, 1)]


@linux
@pytest.mark.skipif(sys.platform == "win32", reason="a process does not learn there that its parent has ended")
def test_when_the_caller_is_killed_its_workers_end_too(nursery, tmp_path):
    """They would train on for minutes, beside the next call, which does the same."""
    code = f"""
from pathlib import Path
from tests.test_workers import work
from lab.workers import in_processes
folder = Path({str(tmp_path)!r})
in_processes([(folder, str(i), "wait") for i in range(2)], work, 2, lambda job, *_: print("busy", job, flush=True))
"""
    child = nursery.start("import tempfile; tempfile.tempdir = " + repr(str(tmp_path)) + code)
    child.has_said("busy 0")
    child.has_said("busy 1")
    child.kill()
    assert child.wait().code == -signal.SIGKILL
    assert gone(tmp_path)
    assert not list(tmp_path.glob("lab-progress-*"))
