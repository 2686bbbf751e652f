"""The catalogue: which figures there are. What a figure is, its section of its paper says (`lab.papers.entry`)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from importlib import import_module

from lab.errors import ArgumentError, listed, shown
from lab.papers.entry import Entry

PAPERS = ("transformers", "hypernetwork", "simplicity", "activations", "crossing")  # in their order; last: across them


def package(paper: str) -> str:
    """The package with the sections of a paper, or of what crosses the papers.

    >>> package("simplicity"), package("crossing")
    ('lab.papers.simplicity', 'lab.papers.crossing')
    """
    return f"lab.papers.{paper}"


def entries(paper: str | None = None) -> dict[str, Entry]:
    """All entries by name, in the order of the papers; or those of one paper, and no other paper is imported.

    >>> list(entries("transformers"))[:3]
    ['transformers/fig2', 'transformers/rates', 'transformers/fig3']
    """
    if paper is None:
        return {name: entry for paper in PAPERS for name, entry in entries(paper).items()}
    of = package(paper)
    unordered = [entry for name in import_module(of).MODULES for entry in import_module(f"{of}.{name}").ENTRIES]
    return {entry.name: entry for entry in sorted(unordered, key=lambda entry: entry.order)}


def entry(name: str) -> Entry:
    """The entry of that name.

    >>> entry("transformers/fig5").section
    '3.2'
    """
    paper = name.partition("/")[0] if isinstance(name, str) else None
    known = entries(paper) if paper in PAPERS else entries()
    if isinstance(name, str) and name in known:
        return known[name]
    raise ArgumentError(f"unknown figure {shown(name)}; {_known(known, name, paper)}")


def _known(known: Mapping[str, Entry], name: object, paper: str | None) -> str:
    """What could be meant: the figures of a paper, those of this number in all papers, or all.

    >>> _known(entries(), "table1", None)
    'did you mean hypernetwork/tableA1, simplicity/table1 or activations/table1? `lab figures` lists all'
    """
    if paper in PAPERS:
        of = [one.partition("/")[2] for one in known]
        return f"known: {paper}/{', '.join(of)}; `lab figures {paper}` says what they show"
    last = name.rpartition("/")[2].lower() if isinstance(name, str) else ""
    alike = re.compile(rf"{re.escape(last).replace('table', 'tablea?')}[a-z]?")
    meant = [one for one in known if last and alike.fullmatch(one.partition("/")[2].lower())]
    near = difflib.get_close_matches(paper or "", PAPERS, 1)  # a misspelt paper
    meant = [one for one in meant if one.partition("/")[0] in near] or meant
    if meant:
        return f"did you mean {', '.join(meant[:-1])}{' or ' if meant[1:] else ''}{meant[-1]}? `lab figures` lists all"
    return f"known: {listed(known, name)}; `lab figures` lists all"
