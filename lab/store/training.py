"""The part of a store that training uses while it runs: states of fleets, and leases."""

from __future__ import annotations

import errno
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from torch import Tensor

from lab.errors import LabError
from lab.spec import key, needs
from lab.store import checkpoints, contents, leases, objects
from lab.store.checkpoints import Spec
from lab.temporary import temporary, write


class Training(ABC):
    """States and leases in `folder`."""

    folder: Path

    @abstractmethod
    def has(self, spec: Spec) -> bool:
        """Whether a finished result is there."""

    def check_writable(self) -> None:
        """Raise LabError where nothing can be written; to be asked before hours of training."""
        if objects.in_bucket(self.folder):
            with self.marker():
                return
        for kind in ("searches", "runs", "checkpoints"):
            with self._writing(), temporary(self.folder / kind) as folder:
                write(folder / "test", b"test")

    @contextmanager
    def marker(self) -> Iterator[str]:
        """A mark by which another machine knows this store again, within the block."""
        name = f"marker-{secrets.token_hex(8)}"
        with self._writing():
            objects.put(self.folder / name, b"")
        try:
            yield name
        finally:
            with self._writing():
                objects.remove(self.folder / name)

    def has_marker(self, name: str) -> bool:
        """Whether that mark is visible here."""
        with self._reading():
            return objects.is_there(self.folder / name)

    def keep_checkpoint(self, specs: Sequence[Spec], tensors: dict[str, Tensor]) -> None:
        """Write the state of a fleet in training, in place of the state before."""
        with self._writing():
            checkpoints.keep(self._checkpoint(specs), specs, tensors)

    def checkpoint(self, specs: Sequence[Spec]) -> dict[str, Tensor] | None:
        """The last state of this fleet, or None. A damaged one counts as none: training then starts over."""
        with self._reading():
            return checkpoints.load(self._checkpoint(specs))

    def checkpoints(self) -> Iterator[tuple[Spec, ...]]:
        """The specs of each fleet that has a state here."""
        with self._reading():
            yield from filter(None, map(checkpoints.members, contents.states(self.folder)))

    def drop_checkpoint(self, specs: Sequence[Spec]) -> None:
        """Remove the state of a fleet that is finished."""
        with self._writing():
            objects.remove(self._checkpoint(specs))

    def drop_needless(self) -> None:
        """Remove states of fleets whose results are there: a kill came after the last of them."""
        for members in self.checkpoints():
            if all(map(self.has, members)):
                self.drop_checkpoint(members)

    def lease(self, specs: Iterable[Spec]) -> AbstractContextManager[bool]:
        """Within the block, other processes know that this one trains these specs; False where another one does."""
        return leases.lease(self.folder / "leases", map(key, specs))

    def free(self, specs: Iterable[Spec]) -> list[Spec]:
        """Those that no process trains, and whose searches are there or among them. `specs` has searches first."""
        taken = {name for lease in self.leases() for name in lease.keys}
        free: dict[Spec, None] = {}
        for spec in specs:
            if key(spec) not in taken and all(need in free or self.has(need) for need in needs(spec)):
                free[spec] = None
        return list(free)

    def holder(self, specs: Iterable[Spec]) -> str:
        """A process that trains one of these, in words."""
        names = set(map(key, specs))
        return next((lease.holder for lease in self.leases() if lease.keys & names), "another process")

    def leases(self) -> list[leases.Lease]:
        """Who trains what at this moment."""
        with self._reading():
            return leases.leases(self.folder / "leases")

    def _checkpoint(self, specs: Sequence[Spec]) -> Path:
        return self.folder / "checkpoints" / checkpoints.name_of(specs)

    def _writing(self) -> AbstractContextManager[None]:
        return _accessing(self.folder, "written", ". What was finished before is kept")

    def _reading(self) -> AbstractContextManager[None]:
        return _accessing(self.folder, "read")


@contextmanager
def _accessing(folder: Path, deed: str, rest: str = "") -> Iterator[None]:
    """Say in one line what the disk refuses."""
    try:
        yield
    except OSError as error:
        what, advice = f"cannot be {deed} ({error.strerror or error})", "fix that"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what, advice = "is full", "free space there"
        raise LabError(f"the store {folder} {what}; {advice}, or name another folder with LAB_STORE{rest}") from error
    except objects.refusals() as error:
        line = str(error).partition("\n")[0]
        raise LabError(
            f"the store {folder} cannot be {deed} ({line}); fix that, or name another folder with LAB_STORE{rest}"
        ) from error
