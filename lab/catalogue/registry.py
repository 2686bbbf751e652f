"""The catalogue: which figures there are. What a figure is, its section of its paper says (`lab.papers.entry`)."""

from __future__ import annotations

from importlib import import_module

from lab.errors import check_choice
from lab.papers.entry import Entry

PAPERS = ("transformers", "hypernetwork", "simplicity", "activations", "crossing")  # in their order; last: across them


def package(paper: str) -> str:
    """The package with the sections of a paper, or of what crosses the papers.

    >>> package("simplicity"), package("crossing")
    ('lab.papers.simplicity', 'lab.crossing')
    """
    return "lab.crossing" if paper == "crossing" else f"lab.papers.{paper}"


def entries(paper: str | None = None) -> dict[str, Entry]:
    """All entries by name, in the order of the papers; or those of one paper, and no other paper is imported.

    >>> list(entries("transformers"))[:3]
    ['transformers/fig2', 'transformers/rates', 'transformers/fig3']
    """
    if paper is None:
        return {name: entry for paper in PAPERS for name, entry in entries(paper).items()}
    of = package(paper)
    unordered = [entry for name in import_module(of).MODULES for entry in import_module(f"{of}.{name}.figures").ENTRIES]
    return {entry.name: entry for entry in sorted(unordered, key=lambda entry: entry.order)}


def entry(name: str) -> Entry:
    """The entry of that name.

    >>> entry("transformers/fig5").section
    '3.2'
    """
    paper = name.partition("/")[0] if isinstance(name, str) else None
    known = entries(paper) if paper in PAPERS else {}
    return known[check_choice("figure", name, known if isinstance(name, str) and name in known else entries())]
