"""Commands about the figures of the catalogue: list them, make them, say whether their claims hold."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from lab.cli.console import Device, ScaleName, default, writable
from lab.errors import ArgumentError, LabError, check_choice, check_path, shortened
from lab.files import put, read, user_folder
from lab.places import PACKAGE, RESULTS
from lab.scale import BEST, SCALES
from lab.task_names import check_task_name

if TYPE_CHECKING:
    from lab.papers.entry import Entry


@dataclass(frozen=True)
class Figures:
    """List all figures: what each shows, how long each scale takes, its results."""

    paper: Annotated[str, tyro.conf.Positional, default("all", metavar="[PAPER]")] = ""
    """Those of one paper: transformers, hypernetwork, simplicity, activations, or crossing (several papers)."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Print the list."""
        from lab.catalogue.registry import papers

        paper = check_choice("paper", self.paper, papers()) if self.paper else None
        from lab.catalogue.listing import in_words, listing  # after it: takes seconds

        rows = listing(paper=paper)
        if self.json:
            print(json.dumps(rows, indent=1))
            return
        width = shutil.get_terminal_size().columns
        for row in rows:
            print(in_words(row, width))


@dataclass(frozen=True)
class Figure:
    """Make a figure: train what is missing, measure, draw, and write its files."""

    scales: ClassVar = (*SCALES, BEST)
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The figure, e.g. transformers/fig5; `lab figures` lists them. Or a picture that the lab drew (PNG, SVG, PDF): its
    figure is made again, at the picture's scale. Or a bundle (ZIP): its figure is drawn from its tables."""
    scale: ScaleName = "laptop"
    """smoke, laptop, overnight (some figures) or paper; or best: draw the largest whose results are here, shipped or
    trained; laptop where there are none."""
    tasks: Annotated[str, default("all", metavar="TASK,...")] = ""
    """Train and show only these of the figure's tasks, e.g. memorize,addmod."""
    device: Device = "auto"
    seeds: Annotated[int | None, default("the figure's own number at this scale")] = None
    """Number of runs of each configuration, one per seed; not with --scale best, which trains nothing anew."""
    out: Annotated[Path | None, default("out/NAME/SCALE")] = None
    """Folder for the files: figure.html, figure.json, table.csv, provenance.json."""
    format: Annotated[str | None, default("html, and png and svg where a Chrome is found", metavar="FORMAT")] = None
    """Write the picture as png, svg or pdf alone, into OUT, with tables and provenance."""
    width: Annotated[str | None, default("page", metavar="WIDTH")] = None
    """With --format svg or pdf: column, 3.25 inches wide with text of 7 to 9 pt, or page, 800 px with the caption."""
    force: bool = False
    """Train again even what the store has. After an interruption, the same command continues."""
    cluster: Annotated[str | None, default("train here", metavar="CLUSTER")] = None
    """Train on a Dask cluster: local:4 (processes here), tcp://HOST:PORT, or cluster.yaml. All share LAB_STORE."""
    compare: bool = False
    """Draw the shipped results of this scale first, into OUT/shipped; then train, and say how the numbers agree."""

    def run(self) -> None:
        """Make it and print what was written."""
        from lab.catalogue.registry import check_name

        self._check_look()
        if (kind := Path(self.name).suffix.lower()) in (".png", ".svg", ".pdf", ".zip"):
            asked = replace(self, name="", out=None, device="auto" if kind != ".zip" else self.device)
            if (asked if kind != ".zip" else replace(asked, format=None, width=None)) != Figure(""):
                raise ArgumentError(f"{self.name} says itself which figure it is, of which runs; give --out alone")
            return self._unpack() if kind == ".zip" else self._again()
        check_name(self.name)  # before what draws figures is imported, which takes seconds
        tasks = [check_task_name(task.strip()) for task in self.tasks.split(",")] if self.tasks else None
        from lab.catalogue.build import figure
        from lab.catalogue.registry import entry
        from lab.catalogue.shipped import resolve_scale, shipped_results
        from lab.store import Store

        of_these = entry(self.name, tasks)
        scale = resolve_scale(of_these, self.scale, Store())
        out = writable(self.out or Path("out") / self.name / scale)
        # who names a scale wants it trained; of the best, what is shipped is drawn, as in Python and in notebooks
        device, cluster, best = self.device, self.cluster, self.scale == BEST
        if self.compare and best:
            raise ArgumentError("--compare trains, and --scale best does not; name a scale")
        if self.compare:
            self._draw_shipped(of_these, scale, out / "shipped")
        made = figure(self.name, self.scale, device, self.seeds, self.force, shipped=best, tasks=tasks, cluster=cluster)
        if best and made.provenance["made"] == shipped_results(self.name, scale).facts.get("made"):
            said = f"{self.name}, scale {scale}: these are shipped results; to train them: lab figure {self.name}"
            print(f"{said} --scale {scale if scale != 'paper' else 'laptop'}", file=sys.stderr)
        self._write(made, out)
        if self.compare:
            from lab.catalogue.scorecard import next_to_shipped

            print("Claims, here / in the shipped results:", *next_to_shipped(made), sep="\n")

    def _unpack(self) -> None:
        """Draw the figure of a bundle."""
        from lab.catalogue.bundle import open_figure

        made = open_figure(self.name)
        self._write(made, writable(self.out or Path("out") / made.name / made.scale))

    def _draw_shipped(self, entry: Entry, scale: str, out: Path) -> None:
        """What is shipped, marked as such, while nothing is trained yet."""
        from lab.catalogue.shipped import read, shipped_results

        if not shipped_results(entry.name, scale).facts:
            raise ArgumentError(f"--compare: no results of {entry.name} are shipped at scale {scale}")
        shown = read(entry, scale)
        shown = replace(shown, caption=f"Shipped with the lab, not trained here.\n{shown.caption}")
        print(f"{entry.name}, the shipped results of scale {scale}:", *shown.write(out), sep="\n", flush=True)
        print(f"Now it is trained here, but for runs that the store has ({entry.durations}).", flush=True)

    def _again(self) -> None:
        """Make the figure that a picture shows."""
        from lab.catalogue.registry import check_name
        from lab.catalogue.results import read_note

        stated, whole = read_note(self.name)
        shows = f"{stated['entry']}, scale {stated['scale']}, of lab {stated['lab'][:12]}"
        shows += "" if whole else "; it was changed after the lab drew it"
        print(f"{self.name} shows {shows}", file=sys.stderr)
        name, tasks = check_name(stated["entry"]), ",".join(stated.get("tasks", ()))
        asked = replace(self, name=name, scale=stated["scale"], tasks=tasks, seeds=stated.get("seeds_asked"))
        asked = replace(asked, format=stated.get("format"), width=stated.get("width"))
        from lab.catalogue.build import figure
        from lab.catalogue.shipped import shipped_results

        here = shipped_results(name, asked.scale)
        if tasks or not here.facts or here.digests() != stated["tables"]:
            return asked.run()
        print(f"It is drawn from the same tables, which are here; to train it: {stated['command']}", file=sys.stderr)
        asked._write(figure(name, asked.scale, shipped=True), writable(self.out or Path("out") / name / asked.scale))

    def _check_look(self) -> None:
        """Refuse a format or a width that there is not, before anything is trained."""
        for name, known in (("format", ("png", "svg", "pdf")), ("width", ("page", "column"))):
            if (given := getattr(self, name)) is not None:
                check_choice(name, given, known)
        if self.width and self.format not in ("svg", "pdf"):
            raise ArgumentError("--width goes with --format svg or --format pdf")

    def _write(self, made: Any, folder: Path) -> None:
        lines = made.write(folder, images=not self.format, page=not self.format)
        lines += [made.save(folder / f"figure.{self.format}", self.width or "page")] if self.format else []
        print(*lines, *([made.summary] if made.summary else []), sep="\n")


@dataclass(frozen=True)
class Bundle:
    """Write a figure as one file to send around, with its tables and runs."""

    scales: ClassVar = (*SCALES, BEST)
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The figure, e.g. transformers/fig5."""
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT.zip")]
    """The file. `lab verify` checks it, `lab figure` draws it, on any machine that has the lab."""
    scale: ScaleName = "best"
    """best: the largest scale whose results are here; for another one, what is missing is trained."""

    def run(self) -> None:
        """Write it."""
        from lab.catalogue.registry import check_name

        check_name(self.name)
        from lab.catalogue.build import figure
        from lab.catalogue.bundle import check_target, write

        check_target(self.out)  # before anything is trained
        print(write(figure(self.name, self.scale), self.out))


@dataclass(frozen=True)
class Verify:
    """Say whether pictures and bundles are what the lab writes here."""

    files: Annotated[tuple[Path, ...], tyro.conf.Positional, default("none", metavar="FILE ...")] = ()
    """PNG, SVG or PDF of `lab figure`, ZIP of `lab bundle`. The exit code is 1 where one was changed, or has other
    numbers."""
    shipped: bool = False
    """All pictures that come with the lab."""

    def run(self) -> None:
        """Print a line for each."""
        files = [*self.files, *(sorted(RESULTS.glob("*/*/*/figure.png")) if self.shipped else ())]
        if not files:
            raise ArgumentError("name the pictures and bundles to verify")
        from lab.catalogue import bundle, verify

        wrong = 0
        for path in files:
            try:
                same, said = (bundle if path.suffix.lower() == ".zip" else verify).verify(path)
            except LabError as error:
                same, said = False, str(error) if str(path) in str(error) else f"{path}: {error}"
            wrong += not same
            print(said)
        if wrong:
            raise LabError(f"{wrong} of {len(files)} files are not what the lab writes here")


@dataclass(frozen=True)
class Scorecard:
    """Print which claims of the papers hold in the results, with intervals."""

    scales: ClassVar = tuple(SCALES)
    json: bool = False
    """Print JSON instead of text."""
    markdown: bool = False
    """Print Markdown instead of text: the page RESULTS.md."""
    scale: Annotated[str | None, default("for each figure the largest with results", metavar="SCALE")] = None
    """Judge results of this scale: smoke, laptop, overnight or paper."""
    results: Annotated[Path | None, default("the results shipped with the lab")] = None
    """Folder with results of `lab figure`, e.g. out."""

    def run(self) -> None:
        """Print it."""
        if self.json and self.markdown:
            raise ArgumentError("--json and --markdown: give one of them")
        results = check_path("results", self.results or RESULTS)
        from lab.data import cache

        state, page = _state(results), cache.folder() / "scorecard" / sha256(repr(self).encode()).hexdigest()
        of, _, text = (read(page) or b"").decode(errors="replace").partition("\n")
        if of != state:  # where nothing has changed since the last call, seconds are saved
            text = self._page(results)
            with suppress(OSError):  # a full or read-only disk
                page.parent.mkdir(parents=True, exist_ok=True)
                put(page, f"{state}\n{text}".encode())
        print(text)

    def _page(self, results: Path) -> str:
        """What is printed."""
        gc.disable()  # which takes a tenth of the time, and frees nothing worth it in these seconds
        try:
            return self._judged(results)
        finally:
            gc.enable()

    def _judged(self, results: Path) -> str:
        from lab.catalogue import scorecard  # takes seconds
        from lab.papers.claims import NOT_HERE

        card = scorecard.score(self.scale, results)
        if all(row["reason"] == NOT_HERE for row in card["claims"]):
            scale = f" of scale {self.scale}" if self.scale else ""
            said = f"no results{scale} in {shortened(str(results))}"
            raise LabError(f"{said}; name a folder with NAME/SCALE in it, as `lab figure` writes without --out: out")
        write = scorecard.as_json if self.json else scorecard.as_markdown if self.markdown else scorecard.as_text
        return write(card)


def _state(results: Path) -> str:
    """A digest of what a scorecard is made of: size and time of each table and each file of code, versions."""
    digest = sha256(str([version(name) for name in ("numpy", "pandas", "scipy")]).encode())
    for folder in filter(None, (PACKAGE, results, user_folder("LAB_PAPERS"))):
        inside = (Path(place, name) for place, _, names in os.walk(folder, followlinks=True) for name in names)
        for path in sorted(inside):
            if path.suffix != ".pyc" and path.is_file():
                digest.update(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode(errors="replace"))
    return digest.hexdigest()


@dataclass(frozen=True)
class Gallery:
    """Write a static web site of the shipped results, with a playground."""

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="[FOLDER]")] = Path("out/gallery")
    """Folder to write into. An older gallery in it is replaced."""
    mine: bool = False
    """With the functions of your own zoo, too. Without, nothing of yours is on the pages."""

    def run(self) -> None:
        """Write it and say where the first page is."""
        from lab.gallery import write_gallery

        print("Drawing the pages, which takes about 10 seconds.", file=sys.stderr, flush=True)
        written = write_gallery(self.out, mine=self.mine)
        print(f"{len(written)} pages; open {written[0].resolve()}")
