"""The catalogue: which figures there are, what each shows, what it needs, how its table is measured and drawn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lab.errors import ArgumentError
from lab.papers.entry import Entry

if TYPE_CHECKING:  # pandas and plotly are imported where they are used
    pass

PAPERS = ("transformers", "hypernetwork", "simplicity")


def entries() -> dict[str, Entry]:
    """All entries by name, in the order of the papers."""
    from lab.papers.hypernetwork.ablations import figures as ablations
    from lab.papers.hypernetwork.counts import figures as counted
    from lab.papers.hypernetwork.logic import figures as fuzzy
    from lab.papers.hypernetwork.logic_codes import figures as fuzzy_codes
    from lab.papers.hypernetwork.sraven import figures as raven
    from lab.papers.hypernetwork.sraven_depth import figures as depth
    from lab.papers.hypernetwork.sraven_variations import figures as variation
    from lab.papers.simplicity.complexity import figures as complexity
    from lab.papers.simplicity.grokking import figures as grokking
    from lab.papers.simplicity.image_transfer import figures as image_transfer
    from lab.papers.simplicity.images import figures as image_sets
    from lab.papers.simplicity.landscapes import figures as landscapes
    from lab.papers.simplicity.operation_transfer import figures as transfer
    from lab.papers.simplicity.operations import figures as operations
    from lab.papers.simplicity.reuse import figures as reused
    from lab.papers.simplicity.search import figures as searches
    from lab.papers.simplicity.shortcut import figures as shortcut
    from lab.papers.simplicity.tables import figures as tabular
    from lab.papers.transformers.approximations import figures as reshaped
    from lab.papers.transformers.compatibility import figures as compatibility
    from lab.papers.transformers.individual_tasks import figures as algorithmic

    modules = (algorithmic, compatibility, reshaped, fuzzy, fuzzy_codes, raven, depth, variation, ablations, counted)
    modules += (complexity, operations, grokking, image_sets, searches, image_transfer, tabular, reused, landscapes)
    modules += (shortcut, transfer)
    found = [entry for module in modules for entry in module.ENTRIES]
    return {entry.name: entry for entry in sorted(found, key=lambda entry: _place(entry.name))}


def _place(name: str) -> tuple:
    """Where an entry stands: by paper, figures before tables, those of the appendix last.

    >>> sorted(["hypernetwork/figA9", "hypernetwork/fig2c", "transformers/fig10", "transformers/fig2"], key=_place)
    ['transformers/fig2', 'transformers/fig10', 'hypernetwork/fig2c', 'hypernetwork/figA9']
    """
    paper, kind, appendix, number, part = re.fullmatch(r"(\w+)/(fig|table)([A-Z]?)(\d+)([a-z]?)", name).groups()
    return PAPERS.index(paper), kind, appendix, int(number), part


def entry(name: str) -> Entry:
    """The entry of that name.

    >>> entry("transformers/fig5").section
    '3.2'
    """
    known = entries()
    if name not in known:
        raise ArgumentError(f"unknown figure {name!r}; known: {', '.join(known)}")
    return known[name]
