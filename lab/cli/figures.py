"""Commands about the figures of the catalogue: list them, make them, say whether their claims hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lab.cli.folder import writable


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

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """Entry of the catalogue, e.g. transformers/fig5 (`lab figures` lists them)."""
    scale: str = "laptop"
    """smoke, laptop, paper, for some figures overnight; or best, the largest of these whose results are shipped."""
    tasks: str = ""
    """Of the figure's tasks those to train and show, with commas: memorize,addmod. Default: all."""
    device: str = "auto"
    """cpu, cuda or auto."""
    seeds: int | None = None
    """Runs of each kind. Default: the figure's own number at that scale."""
    out: Path | None = None
    """Folder to write into. Default: out/NAME/SCALE."""
    force: bool = False
    """Train everything again, also what the store has. Interrupted and repeated, it goes on where it was."""
    cluster: str | None = None
    """Train on a Dask cluster: local:4 (processes here), tcp://HOST:PORT (a scheduler), or cluster.yaml. All workers
    must see the store (LAB_STORE)."""

    def run(self) -> None:
        """Make it and print what was written."""
        from lab.catalogue.build import chosen, figure

        tasks = [task.strip() for task in self.tasks.split(",")] if self.tasks else None
        _, scale = chosen(self.name, self.scale, tasks)
        out = writable(self.out or Path("out") / self.name / scale)
        # who types the command wants it trained; what is shipped can be looked at in data/results and in notebooks
        device, cluster = self.device, self.cluster
        made = figure(self.name, scale, device, self.seeds, self.force, shipped=False, tasks=tasks, cluster=cluster)
        for line in made.write(out):
            print(line)
        if made.summary:
            print(made.summary)


@dataclass(frozen=True)
class Scorecard:
    """Say of every claim of the papers whether it holds in the results that are here, with intervals."""

    json: bool = False
    """Print JSON instead of text."""
    markdown: bool = False
    """Print the page RESULTS.md instead of text."""
    scale: str | None = None
    """smoke, laptop, overnight or paper. Default: for each figure the largest whose results are here."""
    results: Path | None = None
    """Folder with results, such as `lab figure` writes: out. Default: what is shipped with the lab."""

    def run(self) -> None:
        """Print it."""
        from lab.catalogue import scorecard
        from lab.catalogue.results_page import as_markdown
        from lab.catalogue.shipped import RESULTS

        found = scorecard.score(self.scale, self.results or RESULTS)
        write = scorecard.as_json if self.json else as_markdown if self.markdown else scorecard.as_text
        print(write(found))
