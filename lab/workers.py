"""Doing jobs in several processes with one thread each.

Processes come from loky, which needs no `if __name__ == "__main__"` in the user's script. They tell their progress
through small files: nothing to set up, and a killed process leaves nothing behind that could block.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from lab.errors import LabError

# OMP_NUM_THREADS is read when torch is imported. A process that has 300 MB more than at its start, as one that keeps a
# data set, loky takes for one that leaks: it warns, and starts another.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "LOKY_MAX_MEMORY_LEAK_SIZE": "4e9"}
POLL = 0.2  # seconds between two looks at the progress
PAUSE = 1.0  # seconds before a job that could not be done is tried again
Progress = Callable[[int, int, str], None]  # (job's index, steps done, where it stands in words or "")


def in_processes(
    jobs: Sequence, work: Callable, count: int, progress: Progress, after: Sequence[set[int]] | None = None
) -> set[int]:
    """Call work(job, report) for every job, `count` at a time; report(steps, words) reaches `progress`.

    after: for each job, the indices of those that must be done before it. Where `work` returns False, the job cannot be
    done at this moment: it is tried again for as long as others are running. Returns the indices of what was done. The
    first error stops everything that is still running and is raised here.
    """
    from loky import get_reusable_executor

    with tempfile.TemporaryDirectory(prefix="lab-progress-") as name:
        folder = Path(name)
        # processes stay for a minute, for the next figure
        with _quiet_tracker():
            pool = get_reusable_executor(
                count, timeout=60, env=ENVIRONMENT, initializer=torch.set_num_threads, initargs=(1,)
            )
        try:
            waiting: dict[Future, int] = {}
            ended, left, after = set[int](), set(range(len(jobs))), after or [set()] * len(jobs)
            refused: dict[int, float] = {}  # when
            while True:
                now = time.monotonic()
                for i in sorted(i for i in left if after[i] <= ended and now > refused.get(i, -PAUSE) + PAUSE):
                    waiting[pool.submit(_work, work, jobs[i], folder / str(i), os.getpid())] = i
                    left.remove(i)
                if not waiting:
                    return ended
                done, _ = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    i = waiting.pop(future)
                    if future.result():
                        ended.add(i)
                    else:
                        left.add(i)
                        refused[i] = time.monotonic()
                for i in range(len(jobs)):
                    if (said := _said(folder / str(i))) is not None:
                        progress(i, *said)
        except BaseException as error:
            pool.shutdown(kill_workers=True)  # an error or Ctrl-C must not wait for running fleets
            if not isinstance(error, BrokenProcessPool):
                raise
            raise LabError(
                "a training process was ended from outside, perhaps for lack of memory; the same command goes on from "
                "where it was, and with LAB_WORKERS=1 it needs the least memory"
            ) from error


def in_this_process(
    jobs: Sequence, work: Callable, threads: Sequence[int], progress: Progress, after: Sequence[set[int]] | None = None
) -> set[int]:
    """As `in_processes`, one after the other in the order given, here, each with its number of torch's threads, which
    is put back."""
    before = torch.get_num_threads()
    after, left, ended = after or [set()] * len(jobs), list(range(len(jobs))), set[int]()
    try:
        while True:
            count = len(ended)
            for i in left:
                if after[i] <= ended:
                    torch.set_num_threads(threads[i])
                    if work(jobs[i], lambda steps, words="", i=i: progress(i, steps, words)) is not False:
                        ended.add(i)
            left = [i for i in left if i not in ended]
            if not left or len(ended) == count:
                return ended
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet_tracker() -> Iterator[None]:
    """loky's tracker, a process of its own that starts here, removes what an interrupted process leaves (semaphores).
    That it did is nothing that a user can act upon, so it does not say so."""
    before = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore::UserWarning:loky.backend.resource_tracker"
    os.environ["PYTHONWARNINGS"] = f"{before},{quiet}" if before else quiet
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _work(work: Callable, job: object, file: Path, parent: int) -> bool:
    clock, said = [0.0], [(0, "")]

    def write(steps: int, words: str) -> None:
        with suppress(OSError):  # a disk that is full costs the progress bar, not the training
            file.with_suffix(".new").write_text(f"{steps} {words}", encoding="utf-8")
            file.with_suffix(".new").replace(file)

    def report(steps: int, words: str = "") -> None:
        said[0] = steps, words
        if time.monotonic() - clock[0] > POLL:
            if os.getppid() != parent and os.name == "posix":
                shutil.rmtree(file.parent, ignore_errors=True)
                os._exit(1)  # who asked was killed: the next call goes on from the checkpoint, and wants this core
            write(steps, words)
            clock[0] = time.monotonic()

    if work(job, report) is False:
        return False
    write(*said[0])
    return True


def _said(file: Path) -> tuple[int, str] | None:
    try:
        steps, _, words = file.read_text(encoding="utf-8").partition(" ")
        return int(steps), words
    except FileNotFoundError:
        return None
