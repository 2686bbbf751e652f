"""What there is: the catalogue with the results that are here, and the contents of the store."""

from __future__ import annotations

from typing import Any

from lab.catalogue.build import trained
from lab.catalogue.caption import EARLIER
from lab.catalogue.registry import entries
from lab.catalogue.shipped import has_results, provenance_of, shipped_tasks
from lab.papers.entry import Entry
from lab.spec import from_json
from lab.store import Store


def listing(store: Store | None = None) -> list[dict]:
    """One row an entry: name, section, title, shows, paper_says, minutes by scale, the same in words, and which
    results are here.

    "laptop (shipped)" is in data/results, and says so where it shows some of the tasks alone, or has earlier settings;
    "laptop (trained here)" has all its runs in the store.
    """
    store, rows = store or Store(), []
    for entry in entries().values():
        results = [f"{scale} ({_shipped(entry, scale)})" for scale in entry.scales if has_results(entry.name, scale)]
        for scale in entry.scales:
            if trained(entry, scale, store):
                results.append(f"{scale} (trained here)")
        rows.append(
            {
                "name": entry.name,
                "section": entry.section,
                "title": entry.title,
                "shows": entry.shows,
                "paper_says": entry.paper_says,
                "minutes": entry.minutes,
                "durations": entry.durations,
                "results": results,
            }
        )
    return rows


def _shipped(entry: Entry, scale: str) -> str:
    tasks = shipped_tasks(entry, scale)
    some = f", {', '.join(tasks)} alone" if len(tasks) < len(entry.tasks) else ""
    return f"shipped{some}{', with earlier settings' if EARLIER in provenance_of(entry.name, scale) else ''}"


def stored(store: Store) -> list[dict]:
    """One row a stored result: kind (run, search, or fine-tuning), key, task, seed (of a search by episodes: that of
    its first restart; and episodes for steps), non-linearities. Damaged ones are listed with a question mark."""
    rows = []
    for folder in store.results():
        row = {"kind": "search" if folder.parent.name == "searches" else "run", "key": folder.name[:12]}
        try:
            spec: Any = from_json((folder / "spec.json").read_text())
            parts = {
                name: part if isinstance(part, str) else type(part).__name__.lower()
                for name, part in spec.model.parts.items()
            }
            if hasattr(spec, "pretrained"):
                row["kind"] = "fine-tuning"
            steps = spec.episodes if hasattr(spec, "episodes") else spec.recipe.last
            seed = spec.restarts[0].seed if hasattr(spec, "restarts") else spec.seed
            row |= {"task": spec.task_name, "width": spec.model.width, "steps": steps, "seed": seed} | parts
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            row["task"] = "? (spec.json unreadable; see `lab store verify`)"
        rows.append(row)
    return rows
