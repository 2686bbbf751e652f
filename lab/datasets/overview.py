"""All data sets with what is known of each, for people and as rows."""

from __future__ import annotations

from lab.datasets import cache
from lab.datasets.catalogue import CATALOGUE
from lab.datasets.local import cache_path, find


def listing() -> list[dict]:
    """One row a data set: name, kind, about, shape, licence, megabytes, sources, sha256, and where it is (or None)."""
    rows = []
    for name, known in CATALOGUE.items():
        path = find(name)
        places = (known.installed,) if known.installed else known.sources
        sources = [source.describe() for source in places] or [f"a part of {known.sample_of}"]
        digest = known.digest or (cache.digest(path) if path == cache_path(known) else None)
        rows.append(
            {
                "name": name,
                "kind": known.kind,
                "about": known.about,
                "shape": str(known.shape),
                "licence": known.licence,
                "megabytes": known.megabytes,
                "sources": sources,
                "sha256": digest,
                "here": str(path) if path else None,
            }
        )
    return rows


def describe(row: dict) -> str:
    """A row of `listing` as lines to read."""
    digest = f"SHA-256 {row['sha256'][:16]}…" if row["sha256"] else "digest not known before the first fetch"
    size = f"{row['megabytes']:g} MB to fetch" if row["megabytes"] else "shipped"
    return (
        f"{row['name']}  ({row['kind']}: {row['about']}; {row['shape']})\n  {row['licence']}; {size}; {digest}\n"
        f"  from {', '.join(row['sources'])}\n  here: {row['here'] or 'no'}"
    )
