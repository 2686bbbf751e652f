"""A figure, drawn from its table, and the files that it is written into."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lab.catalogue import export, results
from lab.catalogue.results import PACKED, PROVENANCE, Results, contents, digests, sealed
from lab.errors import ArgumentError, LabError, check_choice, check_flag, check_path
from lab.files import abandoned, exclusive, keep, put, read, temporary
from lab.papers.claims import both, judged_lines
from lab.papers.entry import Entry, sizes_beside_paper
from lab.places import PACKAGE, RESULTS
from lab.plots import go
from lab.plots.caption import captioned, counted, reading, seeds_note, true_minus

# the lab may have written these into a figure's folder before, and not now
PICTURES = ("figure.html", "figure.png", "figure.svg", "figure.pdf")
FILES = (*PICTURES, *"figure.json table.csv curves.csv functions.csv".split(), PROVENANCE)
FILES += tuple(f"{name}{PACKED}" for name in FILES if name.endswith((".csv", ".json")))
WIDTH = 800  # px of images; text has its natural size there
FORMATS, WIDTHS = ("png", "svg", "pdf"), ("page", "column")
WALK = [PACKAGE / "widgets" / "page" / name for name in ("walk.js", "walk_plotly.js")]  # keys go from point to point


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """A figure of the catalogue at a scale.

    plot: what is drawn, from `table` alone. caption: scale, device, seeds, steps, data, departures from the paper.
    summary: the result in a sentence. headline: what is seen and the result in two lines, all that an image says
    (default: the caption). extras: further tables by name, e.g. the learning curves behind a matrix.
    """

    plot: go.Figure
    table: pd.DataFrame
    provenance: dict
    caption: str
    name: str  # "transformers/fig5"
    scale: str
    summary: str = ""
    extras: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    headline: str = ""

    def __repr__(self) -> str:
        return (
            f"Figure {self.name}, scale {self.scale}: {len(self.table)} rows (.table, .caption, .plot, .write(folder))"
        )

    @property
    def full_caption(self) -> str:
        """The caption, and how to read the plot (what bands, whiskers and ± are)."""
        key = reading(self.plot)
        return self.caption if key in self.caption else f"{self.caption.rstrip()}\n{key}"

    @property
    def short_caption(self) -> str:
        """What is seen, and the result with the paper's words: all that an image says."""
        return self.headline or self.full_caption

    @property
    def details(self) -> str:
        """What the full caption has and the short one lacks: how to read it, how it was made, departures from the
        paper."""
        said = " ".join(self.short_caption.split())
        return "\n".join(line for line in self.full_caption.splitlines() if " ".join(line.split()) not in said)

    def write(self, folder: str | Path, images: bool = True, page: bool = True) -> list[Path | str]:
        """Write the figure's files into `folder`; what was written, and how to get images where there are none.

        Always figure.json (Plotly), table.csv, provenance.json (with the SHA-256 of each table, by which readers know
        a damaged one) and one CSV for each of `extras`. With `page` figure.html, which holds plotly.js itself (5 MB):
        one file to send around, and it opens offline. With `images` figure.png and figure.svg, where a Chrome is found;
        they carry a note of where they are from (`lab verify`).
        A figure's files belong together: an older figure's are replaced by all of these, or stay where something cannot
        be written (LabError), and none is left beside them but pages and pictures of the same plot and tables.
        """
        folder, images, page = check_path("folder", folder), check_flag("images", images), check_flag("page", page)
        tables = contents({"table": self.table, **self.extras})
        files = {f"{name}.csv": content for name, content in tables.items()}
        facts = self.provenance | {"tables": digests(tables)}
        files[PROVENANCE] = sealed(facts)
        files["figure.json"] = self.to_json().encode()
        if page:
            files["figure.html"] = self._page().encode()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with temporary(folder) as new:  # in there, because a link or another disk may be above
                for name, content in files.items():
                    (new / name).write_bytes(content)
                drawn = self._write_images(new, facts) if images else []
                _place(new, folder)
            for path in abandoned(folder):
                shutil.rmtree(path, ignore_errors=True)
        except (FileExistsError, NotADirectoryError):
            raise ArgumentError(f"{folder} is a file or lies in one; name a folder to write into") from None
        except OSError as error:
            with suppress(OSError):
                folder.rmdir()  # where nothing lies in it
            raise LabError(
                f"cannot write to {folder}: {error.strerror or error}; choose another folder, or make room"
            ) from error
        return [folder / name for name in files] + [
            folder / said.name if isinstance(said, Path) else said for said in drawn
        ]

    def save(self, path: str | Path, width: str = "page") -> Path:
        """Write the picture alone: a PNG, SVG or PDF, as the name ends; its fonts are in a PDF and a column's SVG.

        width: "page" (800 px, with the caption and the key to its marks below), or "column": 3.25 inches, as a column
        of a paper, for SVG and PDF; text has 7 to 9 pt, panels stand below each other where they need to, and the
        caption is left to the paper.
        Raises ArgumentError for another ending or width, LabError where no picture can be made (a PDF, a PNG and an SVG
        of a page need a Chrome).

        >>> import lab, tempfile
        >>> lab.figure("simplicity/fig10").save(tempfile.mkdtemp() + "/figure.svg", width="column").name
        'figure.svg'
        """
        path = check_path("path", path)
        kind = check_choice("format", path.suffix.lower().removeprefix("."), FORMATS)
        look = {"format": kind, "width": check_choice("width", width, WIDTHS)}
        facts = self.provenance | {"tables": digests(contents({"table": self.table, **self.extras}))}
        try:
            content = results.with_note(self._picture(kind, width), results.note(facts, **look))
            path.parent.mkdir(parents=True, exist_ok=True)
            put(path, content)
        except export.NoImages as problem:
            raise LabError(f"no picture ({problem}); {problem.advice}") from None
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror or error}; name another file") from error
        return path

    def _picture(self, kind: str, width: str) -> bytes:
        if width == "page":
            return export.images(captioned(self.plot, self.short_caption, WIDTH).to_json(), formats=(kind,))[kind]
        from lab.plots.paper import INCHES, column, paper

        if kind == "png":
            raise ArgumentError("a picture for a column is SVG or PDF; a PNG has the width of a page")
        canvas = column(self.plot.to_dict())
        drawn = paper(canvas, self.name)
        high = round(canvas.height * INCHES / canvas.width, 3)
        return drawn.encode() if kind == "svg" else export.pdf(drawn, INCHES, high, self.name)

    def _write_images(self, folder: Path, facts: dict) -> list[Path | str]:
        drawn = captioned(self.plot, self.short_caption, WIDTH)
        try:
            made = export.images(drawn.to_json())
        except export.NoImages as problem:
            return [f"no images ({problem}): {problem.advice}"]
        for kind, content in made.items():
            (folder / f"figure.{kind}").write_bytes(results.with_note(content, results.note(facts)))
        return [folder / f"figure.{kind}" for kind in made]

    def to_json(self) -> str:
        """The plot as Plotly reads it, with the caption in its layout's `meta`: the content of figure.json."""
        meta = (self.plot.layout.meta or {}) | {"caption": self.full_caption, "name": self.name, "scale": self.scale}
        return go.Figure(self.plot).update_layout(meta=meta).to_json()

    def _page(self) -> str:
        from lab.plots.page import CONFIG, NARROWEST, THEME, templates, with_policy, with_room

        drawn = with_room(self.plot)
        height = f"{drawn.layout.height or 450}px"
        plot = drawn.to_html(full_html=False, include_plotlyjs=True, default_height=height, config=CONFIG)
        words = {"title": f"{self.name}, {self.scale} scale", "caption": self._caption_page()}
        page = templates("lab", "plots").get_template("figure.html")
        return with_policy(page.render(words, plot=plot, narrowest=NARROWEST, theme=THEME, walk=walk()))

    def _caption_page(self) -> str:
        """The caption as HTML; how the figure was made is folded."""
        text = html.escape(self.short_caption).replace("\n", "<br>")
        made = html.escape(self.details).replace("\n", "<br>")
        return f"{text}<details><summary>How to read it, how it was made</summary>{made}</details>" if made else text

    def _ipython_display_(self) -> None:
        """The plot, and below it the caption as text, which wraps to the width of the cell."""
        from IPython.display import HTML, display

        display(self.plot)
        display(HTML(f'<div style="max-width: 50rem">{self._caption_page()}</div>'))


def walk() -> str:
    """The script of a page with plots: arrow keys go from point to point, and each is said."""
    return "\n".join(path.read_text(encoding="utf-8") for path in WALK).replace(
        'import { walks } from "./walk.js";\n', ""
    )


def _place(new: Path, folder: Path) -> None:
    """Put a figure's files into the folder, in place of the older figure's. Other files there are left alone.

    The older ones leave first, and provenance.json comes last: at no moment do files of two figures stand together, and
    what has its provenance is whole. Where the disk refuses, the older ones come back.
    """
    names = sorted((path.name for path in new.iterdir()), key=lambda name: name == PROVENANCE)
    numbers = [name for name in names if name.endswith((".csv", ".json")) and name != PROVENANCE]
    for name in names:
        if (folder / name).is_dir():
            raise ArgumentError(f"{folder / name} is a folder; move it away, or name another folder to write into")
    older, left, came = new / ".older", [], []
    older.mkdir()
    with exclusive(folder):
        try:
            is_same = all(read(folder / name) == read(new / name) for name in numbers)
            stale = [name for name in FILES if not (is_same and name in PICTURES)]
            for name in dict.fromkeys([PROVENANCE, f"{PROVENANCE}{PACKED}", *names, *stale]):
                if (folder / name).is_file() or (folder / name).is_symlink():
                    (folder / name).rename(older / name)
                    left.append(name)
            for name in names:
                came.append(name)
                keep(new / name, folder / name)
        except BaseException:
            for name in came:
                (folder / name).unlink(missing_ok=True)
            for name in reversed(left):
                (older / name).rename(folder / name)
            raise


EARLIER = "earlier_settings"  # in the provenance of shipped results: what is different now, until they are made anew


def draw(entry: Entry, scale: str, table: pd.DataFrame, facts: dict, extras: dict) -> Figure:
    """A figure from its table, provenance and further tables."""
    from lab.plots.page import Plot

    results = [entry.functions_summary(extras["functions"])] if entry.functions_summary else []
    summary = true_minus(" ".join(filter(None, [*results, entry.summary(table)])))
    plot = entry.plot(table, extras["functions"]) if entry.functions else entry.plot(table)
    known, verdicts = {"table": table, **extras}, []
    for claim in entry.claims if scale != "smoke" and "tasks" not in facts else ():  # not of some tasks alone
        if claim.with_entry and "table" in (theirs := Results(RESULTS / claim.with_entry / scale)).files:
            known[claim.with_entry] = both(entry.name, table, claim.with_entry, theirs.table())
        verdicts.append({"claim": claim.says} | claim.judged(known, scale, facts.get(EARLIER, "")).row())
    headline, caption = words(entry, summary, table, facts, judged_lines(verdicts))
    return Figure(Plot(plot), table, facts, caption, entry.name, scale, summary, extras, headline)


def words(
    entry: Entry, summary: str, table: pd.DataFrame, facts: dict, verdicts: Sequence[str] = ()
) -> tuple[str, str]:
    """Headline and caption. The headline has two lines: what the figure shows; its result in a sentence, with what the
    paper says; then a line a claim, its verdict and number first, numbers that are not the paper's, and whether other
    figures of the same tasks have other settings. The caption: the same, further numbers, how it was made, and every
    departure from the paper."""
    shows, paper_says = f"{entry.shows}.", f"Paper: {entry.paper_says}."
    sizes = sizes_beside_paper(facts["departures"])
    older = "Trained before these settings changed, so of these tasks compare with no other figure"
    earlier = f"{older}: {facts[EARLIER]}." if EARLIER in facts else ""
    made = f"Scale {facts['scale']}, {facts['device_name']}"
    if facts["runs"]:
        searches = f" and {counted(len(facts['searches']), 'search', 'searches')}" if facts["searches"] else ""
        first, last = facts["seeds"][0], facts["seeds"][-1]
        seeds = f"seeds {first} to {last}" if last > first else f"seed {first}"
        made += f", {seeds}, {counted(len(facts['runs']), 'run')}{searches}."
        diverged = len(facts["diverged"])
        made += f" {diverged} of them diverged (their loss was no longer finite)." if diverged else ""
        lengths: dict[str, set[int]] = {}  # steps that are really taken, by task
        for _, spec in entry.plan(facts["scale"], 1):
            lengths.setdefault(spec.task_name, set()).add(spec.recipe.last)
        steps = {task: " and ".join(f"{count:,}" for count in sorted(counts)) for task, counts in lengths.items()}
        made += f" Steps: {', '.join(f'{task} {counts}' for task, counts in steps.items())}."
        made += f" Probes looked at {facts['examples']:,} examples." if "examples" in facts else ""
    else:
        made += ". Nothing is trained."
    made += f" Data: {'; '.join(dict.fromkeys(source['from'] for source in facts['data']))}."
    departed = f"Departures from the paper: {'; '.join(facts['departures']) or 'none known'}."
    departed += " Where the paper is silent, see `guesses` in provenance.json." if facts["guesses"] else ""
    count = seeds_note(table) if facts["runs"] and not re.search(r"\d seeds?\b", summary) else ""
    headline = [shows, " ".join(filter(None, [summary, count, paper_says])), *verdicts, sizes, earlier]
    caption = [shows, summary, paper_says, *verdicts, entry.numbers(table), made, earlier, departed]
    return true_minus("\n".join(filter(None, headline))), true_minus("\n".join(filter(None, caption)))
