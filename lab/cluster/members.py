"""The workers of a cluster: which of them are of this version and see the store, and on what device they train."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from lab.cluster import tasks
from lab.cluster.tasks import Version, other_version
from lab.devices import DEVICES
from lab.errors import LabError, check_choice
from lab.store import Store

if TYPE_CHECKING:
    from distributed import Client

ARRIVE = 60.0  # seconds in which a first worker must come
GPU = "GPU"  # the resource by which Dask knows a worker with a GPU: `dask worker --resources GPU=1`


class Members:
    """Who trains. device: of all jobs, "cuda" where a worker offers the resource GPU. gpu_memory: the least, in bytes.

    A worker that is left out is named on stderr. Raises LabError where none remains.
    """

    def __init__(self, client: Client, device: str, store: Store):
        self.client, self.store, self.version = client, store, tasks.version()
        self.good: dict[str, dict] = {}
        self.bad: dict[str, str] = {}
        check_choice("device", device, DEVICES)
        self._wait()
        self.look()
        if not self.good:
            raise LabError(f"no worker can be used. {self._reasons()}")
        offers = {address for address in self.good if self._offers(address)}
        if device == "cuda" and not offers:
            raise LabError(f"device 'cuda' was asked for, but no worker offers it; start them with --resources {GPU}=1")
        self.device = "cuda" if offers and device != "cpu" else "cpu"
        self.gpu_memory = min((self.good[address]["gpu_memory"] for address in offers), default=0)

    @property
    def where(self) -> dict[str, Any]:
        """Where Dask may put a job: options of `Client.submit`."""
        options: dict[str, Any] = {"resources": {GPU: 1}} if self.device == "cuda" else {}
        if self.bad:  # else whoever comes may take it
            options["workers"] = sorted(self.good)
        return options

    def look(self) -> None:
        """Ask the workers who are here now and were not asked yet."""
        new = [address for address in self._addresses() if address not in self.good and address not in self.bad]
        if not new:
            return
        with self.store.marker() as marker:
            folder = str(self.store.folder)
            answers = self.client.run(tasks.introduce, folder, marker, workers=new, on_error="return")
        for address, answer in answers.items():
            reason = self._reason(address, answer, self.version)
            if reason is None:
                self.good[address] = answer
            else:
                self.leave_out(address, reason)

    def leave_out(self, address: str, reason: str) -> None:
        """Give this worker no jobs."""
        self.good.pop(address, None)
        if self.bad.get(address) != reason:
            self.bad[address] = reason
            print(f"worker {address} is left out: {reason}", file=sys.stderr, flush=True)

    def _reason(self, address: str, answer: Any, version: Version) -> str | None:
        if isinstance(answer, BaseException):
            return f"it has no lab, or an older one ({type(answer).__name__}: {answer})"
        if answer["version"] != version:
            return other_version(answer["version"], version)
        if not answer["sees"]:
            return f"it does not see the store {self.store.folder}; name one with LAB_STORE that all machines share"
        if self._offers(address) and not answer["gpu_memory"]:
            return f"it offers {GPU}, but its torch finds none"
        return None

    def _wait(self) -> None:
        """For the first worker."""
        end = time.monotonic() + ARRIVE
        while not self._addresses():
            if time.monotonic() > end:
                where = self.client.scheduler.address
                raise LabError(f"no worker came in {ARRIVE:.0f} seconds; start one with `dask worker {where}`")
            time.sleep(0.05)

    def _addresses(self) -> list[str]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def _offers(self, address: str) -> bool:
        info = self.client.scheduler_info(n_workers=-1)["workers"].get(address, {})
        return bool(info.get("resources", {}).get(GPU))

    def _reasons(self) -> str:
        return "; ".join(f"{address}: {reason}" for address, reason in list(self.bad.items())[:3])
