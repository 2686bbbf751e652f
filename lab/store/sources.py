"""The data sets that a result was trained on, where the catalogue states no digest: a key does not have their content.

The notes of a result have it. A file of the user's may be another one by now, and Python another version.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lab.data import datasets
from lab.errors import LabWarning
from lab.spec import sources
from lab.versions import MixedRevisionsError


def digests(names: Iterable[str]) -> dict[str, str]:
    """The digest of each of these sets that is here, without those whose digest is stated."""
    loose = [name for name in names if name in datasets.CATALOGUE and not datasets.entry(name).digest]
    return {name: datasets.digest(name) for name in sorted(loose) if datasets.find(name)}


def check_data(results: Sequence[tuple[Any, Mapping[str, Any] | None]]) -> None:
    """A LabWarning where results were trained on another content of a data set than is here; MixedRevisionsError where
    others, on this one, would stand next to them. results: as for `lab.versions.check_one_revision`."""
    noted = [(name, digest) for _, notes in results if notes for name, digest in notes.get("data", {}).items()]
    here = digests({name for name, _ in noted})
    others = [(name, digest) for name, digest in noted if here.get(name, digest) != digest]
    for name in dict.fromkeys(name for name, _ in others):
        then = next(digest for other, digest in others if other == name)
        said = f"{name} is not what these stored results were trained on (SHA-256 {here[name][:8]}…, not {then[:8]}…)"
        cure = "put that back, or name another store with LAB_STORE"
        if (name, here[name]) in noted or any(notes is None and name in sources(spec) for spec, notes in results):
            raise MixedRevisionsError(
                f"{said}, and others would stand next to them; {cure}; `lab figure NAME --force` trains all of a figure"
            )
        warnings.warn(f"{said}; they stay what they are: {cure}", LabWarning, stacklevel=5)
