"""The zoo: learned non-linearities shipped with the lab, each with the provenance of the search that found it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lab.errors import ArgumentError, LabError
from lab.nonlinearity.spline import Spline

if TYPE_CHECKING:
    from lab.run import SearchResult

FOLDER = Path(__file__).parents[2] / "data" / "zoo"


def zoo_names(folder: Path = FOLDER) -> list[str]:
    """Names of the shipped functions: paper/task, with "-attention" for those learned inside attention.

    >>> "transformers/memorize" in zoo_names()
    True
    """
    files = (path for path in folder.glob("*/*.json") if not path.name.endswith(".provenance.json"))
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in files)


def zoo(name: str, folder: Path = FOLDER) -> Spline:
    """A shipped learned non-linearity, frozen.

    >>> zoo("transformers/memorize").spacing < 1
    True
    """
    if name not in (known := zoo_names(folder)):
        raise ArgumentError(f"no function {name!r} in the zoo; there are: {', '.join(known) or 'none'}")
    return Spline.load(folder / f"{name}.json")


def publish(found: SearchResult, folder: Path) -> list[Path]:
    """Write what a search found, with its provenance, in the zoo's format; return the files."""
    from lab.figures.provenance import versions

    written, facts = [], found.provenance | {"versions": versions()}
    for part, spline in found.splines.items():
        name = found.spec.task if part == "mlp" else f"{found.spec.task}-{part}"
        if len(found.splines) > 1:
            name += "-both"  # learned together: not the function that is learned alone
        try:
            folder.mkdir(parents=True, exist_ok=True)
            spline.save(folder / f"{name}.json")
            (folder / f"{name}.provenance.json").write_text(json.dumps(facts | {"part": part}, indent=1))
        except OSError as error:
            raise LabError(f"cannot write to {folder} ({error.strerror}); name another folder with --out") from error
        written += [folder / f"{name}.json", folder / f"{name}.provenance.json"]
    return written
