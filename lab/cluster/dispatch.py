"""Giving jobs to a cluster, and hearing of them: Dask knows which waits for which; refused and lost ones go again."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lab.cluster.workers import Members, Order, do, wait_for
from lab.errors import LabError
from lab.jobs.job import Job

if TYPE_CHECKING:
    from distributed import Client, Future

POLL = 0.2  # seconds between two looks at the tasks
PAUSE = 1.0  # seconds before a job that could not be done is tried again
LISTED = 3  # workers that a line of progress names
Progress = Callable[[int, int, str], None]


def in_cluster(
    jobs: Sequence[Job], members: Members, progress: Progress, after: Sequence[set[int]], urgency: Sequence[float]
) -> set[int]:
    """Do jobs on the workers of a cluster; the indices of those that were done.

    progress(job's index, steps done, what each worker does). after: for each job, the indices of those that must be
    done before it. urgency: the larger go first, else those earlier in the row. A job whose worker dies goes to
    another one, and on from its checkpoint. However this ends, no worker is left with a job of it.

    Raises LabError where the scheduler is gone, or a job ends its workers without getting further.
    """
    order = sorted(range(len(jobs)), key=lambda i: (-urgency[i], i))
    return _Round(jobs, members, progress, after, {index: -rank for rank, index in enumerate(order)}).finish()


class _Round:
    """One call's jobs under way."""

    def __init__(
        self,
        jobs: Sequence[Job],
        members: Members,
        progress: Progress,
        after: Sequence[set[int]],
        priority: dict[int, int],
    ):
        self.jobs, self.members, self.progress, self.after, self.priority = jobs, members, progress, after, priority
        self.client: Client = members.client
        self.topic = f"lab-{secrets.token_hex(8)}"
        self.left, self.ended = set(range(len(jobs))), set[int]()
        self.futures: dict[int, Future] = {}
        self.refused: dict[int, float] = {}  # when
        self.messages: dict[int, dict] = {}  # the last word of each job's worker
        self.reached: dict[int, int] = {}  # steps, when a job's workers died
        self.reported: object = None

    def finish(self) -> set[int]:
        """Do all that can be done now."""
        with self._subscribed():
            try:
                while True:
                    self._submit()
                    if not self.futures:
                        return self.ended
                    time.sleep(POLL)
                    self._check_scheduler()
                    for index, future in list(self.futures.items()):
                        if future.done():
                            self._take(index, future)
                    self._report()
            finally:
                if self.futures and self.client.status == "running":
                    with suppress(Exception):  # the error that is on its way says more
                        self.client.cancel(list(self.futures.values()), force=True)

    def _submit(self) -> None:
        """Whatever waits for nothing, or for tasks that Dask knows."""
        if not self.left:
            return
        self.members.look()
        options, more = self.members.where, True
        if "workers" in options and not options["workers"]:
            raise LabError("no worker is left that can be used; what was finished is kept")
        while more:
            more = False
            for index in sorted(self.left, key=lambda i: -self.priority[i]):
                before = [i for i in self.after[index] if i not in self.ended]
                known = all(i in self.futures for i in before)
                if known and time.monotonic() > self.refused.get(index, -PAUSE) + PAUSE:
                    order = Order(self.jobs[index], index, self.topic, self.members.version)
                    self.futures[index] = self.client.submit(
                        do,
                        order,
                        *(self.futures[i] for i in before),
                        key=f"lab-{self.jobs[index].name.partition(':')[0]}-{secrets.token_hex(8)}",
                        priority=self.priority[index],
                        pure=False,
                        **options,
                    )
                    self.left.remove(index)
                    more = True

    def _take(self, index: int, future: Future) -> None:
        """What has become of a job."""
        from distributed import KilledWorker

        self._check_scheduler()
        try:
            given = future.result(timeout=10 * POLL)
        except TimeoutError:  # its worker has died since, and it runs once more
            return
        except KilledWorker as error:
            self._again(index)
            steps = self.messages.get(index, {}).get("steps", 0)
            if steps <= self.reached.get(index, -1):
                raise LabError(
                    f"{self.jobs[index].name}: every worker that trained it was ended from outside, perhaps for lack "
                    "of memory; give workers more, and the same command goes on from where it was"
                ) from error
            self.reached[index] = steps
            return
        except CancelledError as error:
            self._check_scheduler()
            raise LabError(f"{self.jobs[index].name} was cancelled by another client of this cluster") from error
        if given is True:
            wait_for(list(self.jobs[index].specs), self.members.store)
            del self.futures[index]
            self.ended.add(index)
            self.messages[index] = {"steps": self.jobs[index].steps, "words": "", "worker": None}
            return
        if isinstance(given, str):
            for address in self.client.who_has([future]).get(future.key, ()):  # the worker that has done it
                self.members.leave_out(address, given)
        self._again(index)

    def _again(self, index: int) -> None:
        del self.futures[index]
        self.left.add(index)
        self.refused[index] = time.monotonic()

    def _check_scheduler(self) -> None:
        if self.client.status != "running":
            where = getattr(self.client.scheduler, "address", "its address")
            raise LabError(
                f"the scheduler at {where} is gone; what was finished is kept, and with a scheduler there the same "
                "command goes on"
            )

    def _report(self) -> None:
        """The steps of every job, and in words what the workers do."""
        messages = dict(self.messages)
        busy = {message["worker"]: index for index, message in messages.items() if index in self.futures}
        words = [f"worker {name} {self._word(index, messages[index])}" for name, index in sorted(busy.items())]
        more = f", and {len(words) - LISTED} more" if len(words) > LISTED else ""
        line = "; ".join(words[:LISTED]) + more if words else "the workers get ready"
        if (now := (line, {index: message["steps"] for index, message in messages.items()})) != self.reported:
            self.reported = now
            for index, message in messages.items():
                self.progress(index, message["steps"], line)
            if not messages:
                self.progress(0, 0, line)

    def _word(self, index: int, message: dict) -> str:
        job = self.jobs[index]
        words = f", {message['words']}" if message["words"] else ""
        return f"{job.name}{words} {message['steps'] / max(1, job.steps):.0%}"

    @contextmanager
    def _subscribed(self) -> Iterator[None]:
        def hear(event: tuple[float, Any]) -> None:
            message = event[1]
            if message["job"] not in self.ended:
                self.messages[message["job"]] = message

        self.client.subscribe_topic(self.topic, hear)
        try:
            yield
        finally:
            with suppress(Exception):  # a scheduler that is gone knows it no more
                self.client.unsubscribe_topic(self.topic)
