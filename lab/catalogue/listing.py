"""What there is: the catalogue with the results that are here, and the contents of the store."""

import textwrap
from typing import Any

from lab.catalogue.figure import EARLIER
from lab.catalogue.registry import entries
from lab.catalogue.shipped import shipped_results, trained
from lab.papers.entry import Entry
from lab.places import SHIPPED
from lab.spec import from_json
from lab.store import Store

NUMBERS = ("width", "steps", "seed")
COLUMNS = ("kind", "key", "task", *NUMBERS, "model", "functions")


def listing(store: Store | None = None, paper: str | None = None) -> list[dict]:
    """One row an entry, of all papers or of one: name, section, title, shows, paper_says, minutes by scale, the same in
    words, and which results are here.

    "laptop (shipped)" is in data/results, and says so where it shows some of the tasks alone, or has earlier settings;
    "laptop (trained here)" has all its runs in the store.
    """
    store, rows = store or Store(), []
    columns = ("name", "section", "title", "shows", "paper_says", "minutes", "durations")
    for entry in entries(paper).values():
        results = [f"{scale} ({said})" for scale in entry.scales if (said := _shipped(entry, scale))]
        results += [f"{scale} (trained here)" for scale in entry.scales if trained(entry, scale, store)]
        rows.append({name: getattr(entry, name) for name in columns} | {"results": results})
    return rows


def in_words(row: dict, width: int) -> str:
    """A row of `listing` to be read, in lines of `width` characters.

    >>> row = {"name": "a/fig1", "section": "2", "shows": "lines", "durations": "smoke 1 min", "results": []}
    >>> print(in_words(row, 80))
    a/fig1  (section 2)
      lines
      smoke 1 min
      results here: none
    """
    lines = [f"{row['name']}  (section {row['section']})"]
    for text in (row["shows"], row["durations"], f"results here: {', '.join(row['results']) or 'none'}"):
        lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines)


def _shipped(entry: Entry, scale: str) -> str:
    """What is shipped of an entry at a scale, in words; empty where nothing is."""
    here = shipped_results(entry.name, scale)
    if not here.facts:
        return ""
    some = "" if here.tasks(entry) == entry.tasks else f", {', '.join(here.tasks(entry))} alone"
    return f"shipped{some}{', with earlier settings' if EARLIER in here.facts else ''}"


def stored(store: Store) -> list[dict]:
    """One row a stored result: kind (run, search, or fine-tuning), key, task, seed (of a search by episodes: that of
    its first restart; and episodes for steps), model, non-linearities. Damaged ones are listed with a question mark.

    >>> sorted({row["task"] for row in stored(Store(SHIPPED)) if row["kind"] == "search"})
    ['add', 'addreversed', 'mano', 'shakespeare char']
    """
    rows = []
    for folder in store.results():
        row = {"kind": "search" if folder.parent.name == "searches" else "run", "key": folder.name[:12]}
        try:
            spec: Any = from_json((folder / "spec.json").read_text(encoding="utf-8"))
            if hasattr(spec, "pretrained"):
                row["kind"] = "fine-tuning"
            steps = spec.episodes if hasattr(spec, "episodes") else spec.recipe.last
            seed = spec.restarts[0].seed if hasattr(spec, "restarts") else spec.seed
            row |= {"task": spec.task_name, "width": spec.model.width, "steps": steps, "seed": seed}
            row |= {"model": getattr(spec.model, "family", type(spec.model).__name__)}
            parts = dict(spec.model.parts)  # and of a small language model also the paper's own
            parts |= {"activation": spec.model.activation} if hasattr(spec.model, "activation") else {}
            row |= {
                name: part if isinstance(part, str) else type(part).__name__.lower() for name, part in parts.items()
            }
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            row["task"] = "? (spec.json unreadable; see `lab store verify`)"
        rows.append(row)
    return rows


def shipped(store: Store) -> list[dict]:
    """Rows as `stored` has them, of what came with the lab and the store lacks. Fine-tuning and figures read them.

    >>> {row["kind"] for row in shipped(Store())}
    {'run'}
    """
    if store.folder == SHIPPED:
        return []
    here = {row["key"] for row in stored(store)}
    return [row for row in stored(Store(SHIPPED)) if row["kind"] != "search" and row["key"] not in here]


def as_text(rows: list[dict]) -> str:
    """Rows of `stored` as an aligned table with a heading.

    >>> print(as_text([{"kind": "run", "key": "3f2a", "task": "copy", "width": 8, "seed": 0, "mlp": "gelu"}]))
    kind  key   task  width  steps  seed  model  functions
    run   3f2a  copy      8            0         mlp gelu
    """
    lines = [dict(zip(COLUMNS, COLUMNS, strict=True))]
    for row in rows:
        functions = ", ".join(f"{name} {row[name]}" for name in row if name not in COLUMNS)
        lines.append({name: str((row | {"functions": functions}).get(name, "")) for name in COLUMNS})
    widths = {name: max(len(line[name]) for line in lines) for name in COLUMNS}
    aligned = ([f"{line[n]:{'>' if n in NUMBERS else '<'}{widths[n]}}" for n in COLUMNS] for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)
