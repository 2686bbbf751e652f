"""Commands that look after what is on this machine: data sets, the store of trained runs, the installation."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from lab.cli.console import default, writable
from lab.errors import ArgumentError, LabError

if TYPE_CHECKING:
    from lab.store import Store


@dataclass(frozen=True)
class DataCommand:
    """List the data sets, fetch one from its publisher, or verify files by digest."""

    action: tyro.conf.Positional[Literal["list", "fetch", "verify"]] = "list"
    """list: all data sets, and which are here; fetch: download NAME; verify: compare files with their digests."""
    name: Annotated[str, tyro.conf.Positional, default("all; verify: all that are here", metavar="[NAME]")] = ""
    """Data set."""
    json: bool = False
    """For list: print JSON instead of text."""

    def run(self) -> None:
        """Do it."""
        from lab.data import datasets

        names = [datasets.entry(self.name).name] if self.name else datasets.names()
        if self.action == "list":
            rows = [row for row in datasets.listing() if row["name"] in names]
            print(json.dumps(rows, indent=1) if self.json else "\n".join(map(datasets.describe, rows)))
        elif self.action == "fetch":
            if not self.name:
                raise ArgumentError("say which data set to fetch; `lab data` lists them")
            data = datasets.fetch(self.name)
            print(f"{data.name}: {data.origin}, in {datasets.find(data.name)}")
        else:
            here = [name for name in names if self.name or datasets.find(name)]
            if wrong := [said for name in here if (said := datasets.verify(name))]:
                print("\n".join(wrong))
                raise LabError(f"{len(wrong)} of {len(here)} data sets are not what they should be")
            print(f"{len(here)} data sets have the content they should have: {', '.join(here)}")


@dataclass(frozen=True)
class StoreCommand:
    """List, verify, clean or export the trained runs in the store."""

    action: Annotated[
        Literal["list", "verify", "clean", "export"],
        tyro.conf.Positional,
        tyro.conf.arg(
            help="list: what is there, and the runs that came with the lab; verify: read every file and compare"
            " digests; clean: remove what is damaged or left over, never files of others; export:"
            " copy results into another store."
        ),
    ] = "list"
    keys: Annotated[tuple[str, ...], tyro.conf.Positional, default("none", metavar="[KEY ...]")] = ()
    """For export: keys of results as `lab store list` prints them, or their beginnings."""
    out: Path = Path("data")
    """For export: the other store. Runs in data are shipped with the lab."""
    json: bool = False
    """For list: print JSON instead of text."""

    def run(self) -> None:
        """Do it."""
        from lab.places import SHIPPED
        from lab.store import Store

        store = Store()
        if bool(self.keys) != (self.action == "export"):
            if self.keys:
                raise ArgumentError(f"`lab store {self.action}` takes no keys; `lab store export KEY` does")
            raise ArgumentError("name what to export: `lab store export KEY`; `lab store list` prints keys")
        if self.action == "list":
            self._list(store)
        elif self.action == "export":
            for name in self.keys:
                print(store.lending(SHIPPED).export(name, writable(self.out)))
                spec, home = store.lending(SHIPPED).look_up(name)
                if home.has_course(spec, 1):
                    print(f"its checkpoints stay in {home.folder / 'courses'}: these are not copied", file=sys.stderr)
        elif self.action == "clean":
            removed = store.clean()
            print("\n".join(removed) if removed else f"nothing to remove in {store.folder}")
            _print_foreign(store)
        else:
            damaged, problem = store.verify(), store.problem()
            if damaged or problem is None:
                print("\n".join(damaged) if damaged else f"every result in {store.folder} is as it was written")
            for line in store.lending(SHIPPED).other_contents():
                print(line)
            _print_foreign(store)
            if problem is not None:
                raise LabError(f"nothing can be kept in the store: {problem}")
            if damaged:
                raise LabError(
                    f"{len(damaged)} damaged; `lab store clean` removes them, and they are trained again when needed"
                )

    def _list(self, store: Store) -> None:
        """Print what the store has, then what came with the lab."""
        from lab.catalogue.listing import as_text, shipped, stored

        rows = stored(store)
        extra = [row | {"kind": f"{row['kind']} (shipped)"} for row in shipped(store)]
        print(json.dumps(rows + extra, indent=1) if self.json else as_text(rows + extra))
        print(f"{len(rows)} results in {store.folder}; {len(extra)} came with the lab", file=sys.stderr)
        if foreign := store.foreign():
            print(f"{len(foreign)} things there are not the lab's; `lab store verify` names them", file=sys.stderr)


@dataclass(frozen=True)
class Doctor:
    """Check the installation: versions, device, kernels, browser, data, store."""

    json: bool = False
    """Print JSON instead of text."""

    def run(self) -> None:
        """Print the findings."""
        from lab.doctor import examine

        findings = examine()
        lines = (f"{name:16} {text}" for name, text in findings.items())
        print(json.dumps(findings, indent=1) if self.json else "\n".join(lines))


def _print_foreign(store: Store) -> None:
    for line in store.foreign():
        print(f"not the lab's, and left as it is: {line}")
