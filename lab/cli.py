"""The `lab` command. Exit codes: 0 done; 1 failed, with one line that says what and what to try; 2 wrong arguments."""

from __future__ import annotations

import functools
import json
import operator
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from lab.errors import ArgumentError, LabError
from lab.scale import SCALES


@dataclass(frozen=True)
class Figures:
    """List the catalogue: every figure, what it shows, its minutes at each scale, whether results are here."""

    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Print the list."""
        from lab.catalogue.listing import listing

        rows = listing()
        if self.json:
            print(json.dumps(rows, indent=1))
            return
        for row in rows:
            minutes = ", ".join(f"{scale} {value:g} min" for scale, value in row["minutes"].items())
            print(f"{row['name']}  (section {row['section']})\n  {row['shows']}")
            print(f"  {minutes}\n  results here: {', '.join(row['results']) or 'none'}")


@dataclass(frozen=True)
class Figure:
    """Make a figure: train what is missing, measure, draw, and write figure, table and provenance."""

    name: Annotated[str, tyro.conf.Positional]
    """Entry of the catalogue, e.g. transformers/fig5 (`lab figures` lists them)."""
    scale: str = "laptop"
    """smoke, laptop or paper."""
    device: str = "auto"
    """cpu, cuda or auto."""
    seeds: int | None = None
    """Runs of each kind. Default: the figure's own number at that scale."""
    out: Path | None = None
    """Folder to write into. Default: out/NAME/SCALE."""
    force: bool = False
    """Train everything again, also what the store has."""

    def run(self) -> None:
        """Make it and print what was written."""
        from lab.catalogue.build import figure

        out = _folder(self.out or Path("out") / self.name / self.scale)
        # who types the command wants it trained; what is shipped can be looked at in data/results and in notebooks
        made = figure(self.name, self.scale, self.device, self.seeds, self.force, shipped=False)
        for line in made.write(out):
            print(line)
        if made.summary:
            print(made.summary)


@dataclass(frozen=True)
class Search:
    """Learn a non-linearity for a task."""

    task: Annotated[str, tyro.conf.Positional]
    """memorize, addmod, add, addreversed, mano, haystack, copy or parentheses; or a table: "a+b mod 27",
    "mnist_sample as numbers", bank-marketing, ..."""
    scale: str = "laptop"
    """smoke, laptop or paper."""
    learn: tuple[Literal["mlp", "attention", "shared", "layers", "inputs"], ...] | None = None
    """What to learn: mlp (default), attention, or both. For a table: one function for all hidden layers (shared, the
    default), one a layer (layers), or one an input (inputs)."""
    by: Literal["two_loss", "episodes"] | None = None
    """How: two_loss (algorithmic tasks), or episodes (default for tables)."""
    seed: int = 0
    """Seed of the search."""
    device: str = "auto"
    """cpu, cuda or auto."""
    out: Path = field(default_factory=lambda: Path(os.environ.get("LAB_ZOO") or "out/zoo"))
    """Folder for the learned function(s) as JSON, with provenance. Default: your zoo, LAB_ZOO; without it, out/zoo."""

    def run(self) -> None:
        """Search and write the splines."""
        from lab.api import search
        from lab.catalogue.zoo import publish

        out = _folder(self.out)
        found = search(self.task, self.scale, self.learn, self.seed, self.device, by=self.by)
        for path in publish(found, out, re.sub(r"[^\w+^-]+", "-", self.task)):
            print(path)


@dataclass(frozen=True)
class Sweep:
    """Tune on `val`: train the baseline of tasks at each rate of a grid, print the best, write the table."""

    tasks: tyro.conf.Positional[tuple[str, ...]] = ()
    """Tasks; none means all."""
    scale: str = "laptop"
    """smoke, laptop or paper."""
    device: str = "auto"
    """cpu, cuda or auto."""
    searches: bool = False
    """Sweep the learning rate of the knots in the searches instead."""
    out: Path = Path("out/sweep")
    """Folder for sweep.csv, or searches.csv."""

    def run(self) -> None:
        """Sweep and write."""
        from lab.papers.transformers.sweep import sweep

        print(sweep(self.tasks, self.scale, self.device, _folder(self.out), self.searches))


@dataclass(frozen=True)
class DataCommand:
    """List the data sets, fetch them from their publishers, or compare those that are here with their digests."""

    action: tyro.conf.Positional[Literal["list", "fetch", "verify"]] = "list"
    """list: all of them, and which are here; fetch: get them, or one; verify: read them and compare digests."""
    name: tyro.conf.Positional[str] = ""
    """One data set. Default: all for list, all that are here for verify."""
    json: bool = False
    """Print JSON (list)."""

    def run(self) -> None:
        """Do it."""
        from lab import datasets

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
class Scorecard:
    """Say of every claim of the papers whether it holds in the results that are here, with intervals."""

    json: bool = False
    """Print JSON instead of text."""
    scale: str | None = None
    """smoke, laptop or paper. Default: for each figure paper, if results are here, else laptop."""
    results: Path | None = None
    """Folder with results, such as `lab figure` writes: out. Default: what is shipped with the lab."""

    def run(self) -> None:
        """Print it."""
        from lab.catalogue import scorecard
        from lab.catalogue.shipped import RESULTS

        found = scorecard.score(self.scale, self.results or RESULTS)
        print(scorecard.as_json(found) if self.json else scorecard.as_text(found))


@dataclass(frozen=True)
class StoreCommand:
    """Look after the store of trained runs."""

    action: tyro.conf.Positional[Literal["list", "verify", "clean", "export"]] = "list"
    """list: what is there; verify: read every file and compare digests; clean: remove what is damaged or left over;
    export: copy results into another store."""
    keys: tyro.conf.Positional[tuple[str, ...]] = ()
    """What to export: keys of results, or their beginnings."""
    out: Path = Path("data")
    """Store to export into. Default: data, from which runs are shipped with the lab."""
    json: bool = False
    """Print JSON (list)."""

    def run(self) -> None:
        """Do it."""
        from lab.catalogue.listing import stored
        from lab.store import Store

        store = Store()
        if bool(self.keys) != (self.action == "export"):
            raise ArgumentError("keys of results, as `lab store list` prints them, go with `lab store export`")
        if self.action == "list":
            rows = stored(store)
            lines = [" ".join(map(str, row.values())) for row in rows]
            print(json.dumps(rows, indent=1) if self.json else "\n".join(lines), end="\n" if rows or self.json else "")
            print(f"{len(rows)} results in {store.folder}", file=sys.stderr)
        elif self.action == "export":
            for name in self.keys:
                print(store.export(name, _folder(self.out)))
        elif self.action == "clean":
            removed = store.clean()
            print("\n".join(removed) if removed else f"nothing to remove in {store.folder}")
        elif damaged := store.verify():
            print("\n".join(damaged))
            raise LabError(
                f"{len(damaged)} damaged; `lab store clean` removes them, and they are trained again when needed"
            )
        else:
            print(f"every result in {store.folder} is as it was written")


@dataclass(frozen=True)
class Doctor:
    """Say what is here: versions, device, kernels in use, browser, store."""

    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Print the findings."""
        from lab.doctor import examine

        found = examine()
        print(
            json.dumps(found, indent=1) if self.json else "\n".join(f"{name:16} {text}" for name, text in found.items())
        )


COMMANDS = {
    "figures": Figures,
    "figure": Figure,
    "search": Search,
    "sweep": Sweep,
    "data": DataCommand,
    "scorecard": Scorecard,
    "store": StoreCommand,
    "doctor": Doctor,
}


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `lab` command."""
    kinds = [Annotated[kind, tyro.conf.subcommand(name=name)] for name, kind in COMMANDS.items()]
    scales = "; ".join(f"{name}: {what}" for name, what in SCALES.items())
    union = functools.reduce(operator.or_, kinds)
    command = tyro.cli(union, prog="lab", description=f"{__doc__}\n\nScales. {scales}", args=arguments)
    try:
        command.run()
    except ArgumentError as error:
        _fail(error, 2)
    except LabError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        _fail("stopped; what was finished is kept, and the same command goes on from there", 1)
    except BrokenPipeError:  # `lab figures | head`
        sys.stderr.close()


def _folder(out: Path) -> Path:
    """`out`, if files could be written there; asked before hours of training."""
    try:
        place = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    except OSError as error:
        raise LabError(f"cannot write to {out} ({error.strerror}); name another folder with --out") from error
    if not place.is_dir():
        raise ArgumentError(f"--out {out}: {place} is a file; name a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise LabError(f"cannot write to {place} (permission denied); name another folder with --out")
    return out


def _fail(error: object, code: int) -> None:
    print(f"lab: {error}", file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
