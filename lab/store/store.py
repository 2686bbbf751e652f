"""The store as one object: what it has by spec, what is damaged, what is foreign, who trains what.

Some runs come with the lab, in `data/runs`, and the searches of their functions, in `data/searches`: who looks at a
trained model need not train it first. They are read where a store is made with `shipped`, checked like any other, and
never written.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import cast

import numpy as np
from torch import Tensor

from lab.errors import ArgumentError, LabError, check_path, check_type, shown
from lab.files import check_no_file, read, sync, temporary, user_folder
from lab.places import default_folder
from lab.spec import all_needs, from_json, is_search, key, needs
from lab.store import checkpoints, contents, leases, objects, results
from lab.store.checkpoints import Spec
from lab.store.results import DamagedError
from lab.store.sources import check_data
from lab.versions import check_one_revision

ADVICE = "run `lab store clean` to remove it; it is then trained again when it is needed"


class Store:
    """Results by spec. folder: `LAB_STORE`, or `data/store` of the checkout, or else `store` in the user's data
    folder; a URL, such as s3://bucket/folder, names a place in a bucket (`lab.store.objects`). `local_folder` is the
    folder; of a store in a bucket, the one that it would have without `LAB_STORE`.

    shipped: a second folder, with `runs/`, to read a run from which the first lacks; None: there is none. Raises
    ArgumentError where no folder can be.
    """

    def __init__(self, folder: str | Path | None = None, shipped: str | Path | None = None):
        url = folder if folder is not None else os.environ.get("LAB_STORE")
        if isinstance(url, str) and objects.is_url(url):
            self.folder, self.local_folder = objects.opened(url), default_folder("store")
        else:
            given = None if folder is None else check_path("folder", folder)
            self.folder = self.local_folder = (given or user_folder("LAB_STORE") or default_folder("store")).absolute()
            if given:
                check_no_file(self.folder, f"the store {folder} (LAB_STORE names another)")
        self.shipped, self._advice = None if shipped is None else _shipped_store(shipped), ADVICE

    def path(self, spec: Spec) -> Path:
        """The folder of a spec's result, whether it is there or not."""
        return self.folder / ("searches" if is_search(spec) else "runs") / key(spec)

    def has(self, spec: Spec, keep: int | None = None) -> bool:
        """Whether a finished result is there, and so many checkpoints beside it. It is checked for damage when it is
        read."""
        return (self._finished(spec) or bool(self._lender(spec))) and (keep is None or self.has_course(spec, keep))

    def save(self, spec: Spec, history: dict[str, np.ndarray], weights: dict[str, Tensor], notes: dict) -> None:
        """Keep a finished result. notes: anything else to remember (JSON), e.g. device and wall time."""
        files = results.pack(spec, history, weights, notes)
        with self._writing():
            results.place(files, self.path(spec))
            other = self._is_another(files["done.json"], self.path(spec))
        if other:
            said = f"{key(spec)} is in the store {self.folder} already, with other numbers; these stay"
            print(said, file=sys.stderr)

    def notes(self, spec: Spec) -> dict:
        """The notes of a finished result, without reading or checking its other files; empty where there is none."""
        store = self._lender(spec) or self
        with store._reading():
            return results.done(store.path(spec)).get("notes", {})

    def check_one_revision(self, specs: Iterable[Spec]) -> None:
        """Raise MixedRevisionsError where, once all of these are here, some would have been trained by another revision
        of the lab's arithmetic than the others: their numbers are not to be compared. Kinds of models that have a
        revision of their own are counted apart. The same, or a LabWarning, where they, or searches that they need, were
        trained on another content of a data set than is here (`lab.store.sources`)."""
        each = dict.fromkeys(specs)
        notes = {spec: self.notes(spec) if self.has(spec) else None for spec in each}
        check_one_revision(notes.items())
        for need in dict.fromkeys(need for spec in each for need in all_needs(spec)):
            notes.setdefault(need, self.notes(need) if self.has(need) else None)
        check_data(list(notes.items()))

    def other_contents(self) -> list[str]:
        """One line for each result that the second folder has, too, with other numbers."""
        if self.shipped is None:
            return []
        with self._reading():
            there = [(path, self.shipped.folder / path.parent.name / path.name) for path in self.results()]
            return [
                f"{mine.parent.name}/{mine.name}: {self.shipped.folder} has other numbers for it; these are used"
                for mine, other in there
                if objects.is_there(other / "done.json") and self._is_another((mine / "done.json").read_bytes(), other)
            ]

    def load(self, spec: Spec) -> tuple[dict[str, np.ndarray], dict[str, Tensor], dict]:
        """History, weights and notes of a finished result; DamagedError where a file is not what was written."""
        if lender := self._lender(spec):
            return lender.load(spec)
        files, notes = self._checked(folder := self.path(spec))
        return *results.unpack(files, folder, self._advice), notes

    def export(self, name: str, folder: str | Path) -> Path:
        """Copy one finished result, as it is, into another store, for shipping it; its folder there.

        name: its key, or as much of the beginning as tells it from the others. Where this store does not have it, it
            is copied from the second folder; ArgumentError where it would be copied onto itself.
        """
        home, other = self._home_of(name), Store(folder)
        if home is not self and str(other.folder) == str(home.folder):  # a bucket's is no path of this machine
            raise ArgumentError(
                f"the result {shown(name)} came with the lab and is in {home.folder}; to copy it, name another folder "
                "with --out"
            )
        return home._copy(home._one(name), other)

    def copy_to(self, other: Store, spec: Spec) -> Path:
        """Copy one finished result, as it is, into another store; its folder there. LabError where it is not here."""
        return self._copy(self.path(spec), other)

    def _copy(self, result: Path, other: Store) -> Path:
        files, _ = self._checked(result)
        target = other.folder / result.parent.name / result.name
        with other._writing():
            results.place(files, target)
            another = self._is_another(files["done.json"], target)
        if another:
            raise LabError(
                f"{target} has other numbers for this key, and stays as it is; remove it, or name another folder with "
                "--out"
            )
        return target

    @staticmethod
    def _is_another(done: bytes, target: Path) -> bool:
        """Whether the result in a folder has other files than this `done.json` says; its notes may differ."""
        there = results.done(target).get("files")
        return there is not None and there != json.loads(done)["files"]

    def lending(self, shipped: str | Path) -> Store:
        """This store with a second folder to read from; itself where it has one."""
        if self.shipped is not None:
            return self
        made = copy.copy(self)
        made.shipped = _shipped_store(shipped)
        return made

    def home(self, spec: Spec) -> Store:
        """Where a run and the functions of its model are read together: this store, or the shipped one, if it alone has
        the run. A search of one's own may have found another function than the one a shipped run was trained with."""
        return self._lender(spec) or self

    def look_up(self, name: str) -> tuple[Spec, Store]:
        """The spec of one finished result, of this store or else of the shipped one, and its home. name: as for
        `export`."""
        home = self._home_of(name)
        files, _ = home._checked(home._one(name))
        return cast(Spec, from_json(files["spec.json"].decode())), home

    def _home_of(self, name: str) -> Store:
        """The second folder where it alone has results of this name; else this store."""
        return self if self._named(name) or not self.shipped or not self.shipped._named(name) else self.shipped

    def _named(self, name: str) -> list[Path]:
        return [path for path in self.results() if path.name.startswith(name)]

    def _one(self, name: str) -> Path:
        if not name:
            raise ArgumentError("no key is given; `lab store list` has those of all results")
        if len(matches := self._named(name)) != 1:
            count = f"{len(matches)} results have a key that begins with {shown(name)}"
            raise ArgumentError(f"{count}; `lab store list` has them")
        return matches[0]

    def forget(self, specs: Iterable[Spec]) -> None:
        """Remove these results, and the states of fleets that train them, so that they are trained again."""
        specs = set(specs)
        with self._writing():
            for members in list(self.checkpoints()):
                if specs & set(members):
                    self.drop_checkpoint(members)
            for spec in specs:
                results.remove(self.path(spec))
                objects.remove(self._course(spec))

    def force(self, specs: Iterable[Spec]) -> bool:
        """Forget these results, unless an earlier call did and not all are back: True, and training goes on there.

        A marker says that all of them have been forgotten, so that an interrupted call can go on: whatever of them is
        in the store was trained after that. A call with another set (another figure, scale or number of seeds) has a
        marker of its own, and a damaged one is none.
        """
        specs = set(specs)
        marker, content = self._forced(specs)
        with self._reading():
            if read(marker) == content and not all(map(self._finished, specs)):
                return True
        with self._writing():
            objects.remove(marker)
            self.forget(specs)
            objects.put(marker, content)
        return False

    def end_force(self, specs: Iterable[Spec]) -> None:
        """Say that all of these results are back: the next `force` forgets them again."""
        with self._writing():
            objects.remove(self._forced(specs)[0])

    def _forced(self, specs: Iterable[Spec]) -> tuple[Path, bytes]:
        """The marker of these results, and what stands in it."""
        keys = sorted(set(map(key, specs)))
        name = hashlib.sha256("\n".join(keys).encode()).hexdigest()
        return self.folder / "forced" / name, json.dumps({"keys": keys}).encode()

    def results(self) -> Iterator[Path]:
        """Folders of all results, finished or not."""
        with self._reading():
            yield from contents.result_folders(self.folder)

    def foreign(self) -> list[str]:
        """One line for each thing in the store's folders that this version of the lab has not written."""
        with self._reading():
            return contents.foreign(self.folder)

    def verify(self) -> list[str]:
        """One line for each damaged result, or its checkpoints; an empty list means that all is well."""
        problems = []
        for folder in self.results():
            try:
                self._checked(folder)
            except LabError as error:
                if objects.exists(folder):  # nobody has removed it in between
                    problems.append(str(error))
        with self._reading():
            courses = contents.damaged_courses(self.folder)
        return problems + [str(results.damage(path, "it is damaged", self._advice)) for path in courses]

    def problem(self) -> str | None:
        """Why nothing can be kept here, in words; None where it can. Of a bucket nothing is known."""
        return None if objects.in_bucket(self.folder) else contents.problem(self.folder)

    def clean(self) -> list[str]:
        """Remove damaged results, states that no training needs, and what killed processes left; return what went.

        The state of a fleet that is not finished stays: training goes on from it. So does what a process trains at this
        moment, whose checkpoints are there before its result, and whatever the lab has not written: `foreign` names it.
        """
        removed = []
        for folder in self.results():
            try:
                self._checked(folder)
            except DamagedError:
                removed.append(folder)
            except LabError:
                if objects.exists(folder):  # nobody has removed it in between
                    raise
        self._remove(removed)
        with self._reading():  # after it: the state of a damaged result is needed again
            states = [path for kind in contents.STATES for path in contents.states(self.folder, kind)]
        needless = [path for path in states if self._removed(path)]
        return [str(path.relative_to(self.folder)) for path in removed + needless] + self.sweep()

    def sweep(self) -> list[str]:
        """Remove temporary folders and leases of processes that have ended; return what went."""
        with self._writing():
            left = contents.abandoned(self.folder)
        self._remove(left)
        return [str(path.relative_to(self.folder)) for path in left]

    def _remove(self, paths: Iterable[Path]) -> None:
        with self._writing():
            for path in paths:
                contents.remove(path)

    def check_writable(self) -> None:
        """Raise LabError where nothing can be written; to be asked before hours of training."""
        if objects.in_bucket(self.folder):
            with self.marker():
                return
        for kind in (*contents.RESULTS, *contents.STATES):
            with self._writing(), temporary(self.folder / kind) as folder:
                (folder / "test").write_bytes(b"test")
                sync(folder / "test")

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

    def drop_checkpoints_of_stored(self, missing: Sequence[Spec] = ()) -> None:
        """Delete states of runs that are stored, a kill came after the last of them; but not where they are missing:
        they are trained once more."""
        for members in self.checkpoints():
            if all(map(self.has, members)) and set(missing).isdisjoint(members):
                self._removed(self._checkpoint(members))

    def save_course(self, spec: Spec, tensors: dict[str, Tensor]) -> None:
        """Keep the course of a training, as `lab.jobs.course.Course` gives it."""
        with self._writing():
            checkpoints.keep(self._course(spec), (spec,), tensors)

    def course(self, spec: Spec) -> dict[str, Tensor] | None:
        """The course of a training; None where it is missing. Raises DamagedError."""
        with self._reading():
            course = checkpoints.load(path := self._course(spec))
            if course is None and objects.is_there(path):
                raise results.damage(path, "it is damaged", self._advice)
            return course

    def has_course(self, spec: Spec, keep: int) -> bool:
        """Whether one is there for which as many checkpoints were asked, or more. It is checked for damage when it is
        read."""
        with self._reading():
            return (checkpoints.number_kept(self._course(spec)) or 0) >= keep

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

    def _course(self, spec: Spec) -> Path:
        return self.folder / "courses" / checkpoints.name_of((spec,))

    def _writing(self) -> AbstractContextManager[None]:
        return objects.accessing(self.folder, "written", ". What was finished before is kept")

    def _reading(self) -> AbstractContextManager[None]:
        return objects.accessing(self.folder, "read")

    def _removed(self, state: Path) -> bool:
        """Remove a state that nothing needs, and that no process trains: whether it was so."""
        if not self._is_needless(state):
            return False
        members = checkpoints.members(state)  # None of a damaged one: nobody knows who trains what it is of
        with self.lease(members or ()) as free:
            if needless := free and self._is_needless(state):
                with self._writing():
                    needless = checkpoints.remove(state, damaged=members is None)
        return needless

    def _is_needless(self, state: Path) -> bool:
        """Whether a state is damaged, or its fleet is finished, with the checkpoints that it keeps; a course, or its
        result is gone. One of another version of the lab is neither."""
        with self._reading():
            data, keep = checkpoints.whole(state), checkpoints.number_kept(state, checkpoints.COURSE)
        if (members := checkpoints.specs_of(data, state.name)) is None:
            return data is None
        if state.parent.name == contents.STATES[1]:
            return not any(map(self.has, members))
        return all(self.has(spec, keep) for spec in members)

    def _finished(self, spec: Spec) -> bool:
        with self._reading():
            return objects.is_there(self.path(spec) / "done.json")

    def _lender(self, spec: Spec) -> Store | None:
        """The shipped store, if it has the run and this one does not."""
        there = self.shipped and not is_search(spec) and self.shipped.has(spec) and not self._finished(spec)
        return self.shipped if there else None

    def _checked(self, folder: Path) -> tuple[dict[str, bytes], dict]:
        with self._reading():
            there = objects.exists(folder)
        if not there:
            raise LabError(f"{folder.parent.name}/{folder.name} is not in the store {self.folder}; train it first")
        with self._reading():
            return results.check(folder, self._advice)


def as_store(store: Store | None, shipped: str | Path | None = None) -> Store:
    """The store that is given, or the user's own, there with `shipped`. ArgumentError where it is something else."""
    if store is None:
        return Store(shipped=shipped)
    return check_type("store", store, Store, "a store, such as lab.store.Store(folder), or leave it out")


def _shipped_store(folder: str | Path) -> Store:
    """The store of what came with the lab."""
    store = Store(folder)
    store._advice = "it came with the lab: bring it back from where you have the lab from"
    return store
