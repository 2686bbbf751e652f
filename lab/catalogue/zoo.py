"""The zoo with what its functions gain, and how what a search found gets there (`lab.nonlinearity.zoo` reads them)."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lab.catalogue.zoo_gains import NOTHING, gain
from lab.errors import LabError
from lab.nonlinearity import document
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import is_of_another, zoo_files
from lab.papers.simplicity.defaults import scale_of_table
from lab.papers.transformers.defaults import scale_of
from lab.spec import on_sequences

if TYPE_CHECKING:
    import pandas as pd

    from lab.search_results import EpisodeResult, SearchResult


def publish(result: SearchResult | EpisodeResult, folder: Path, name: str = "") -> list[Path]:
    """Write what a search of a task found, as `result.publish` does; return the files.

    name: of the task, as a file may be called; default: the task's own. A function of the attention has "-attention"
    added, those of inputs "-inputs", and those of MLP and attention that were learned together "-both". A function of
    another search is replaced, with a line on stderr; one of a larger scale is not replaced by one of smoke.
    """
    spec, parts = result.spec, list(result.splines)
    name = name or spec.task_name
    if len(parts) == 1 and parts[0] not in ("mlp", "phi"):
        name += f"-{parts[0]}"
    elif len(parts) > 1 and on_sequences(spec):
        name += "-both"
    scale = scale_of(spec) if on_sequences(spec) else scale_of_table(spec)
    files = [folder / f"{full_name}.json" for full_name in result.named(name)]
    for path in files:
        if is_of_another(path, result.provenance):
            if scale == "smoke" and (there := _scale_in(path)) not in (None, "smoke"):
                said = f"{path} is of a search at scale {there}, and is not replaced by one of smoke"
                raise LabError(f"{said}, whose numbers mean nothing; name another folder with --out")
            print(f"{path.name} was of another search, which can be repeated; it is replaced", file=sys.stderr)
    result.publish(name, folder=folder, replace=True, scale=scale)
    return files


def _scale_in(path: Path) -> str | None:
    """The scale of the search that a file's function is from; None where it does not say."""
    try:
        return document.read(path)["provenance"]["scale"]
    except (OSError, ValueError, LabError, LookupError, TypeError):  # none of the lab's, or damaged
        return None


def table(folder: str | Path | None = None) -> pd.DataFrame:
    """One row a function, see `lab.zoo`; folder: your own zoo, default: the one that LAB_ZOO names, else "zoo" in the
    store's folder."""
    import pandas as pd

    rows, problems = {}, {}
    for name, path in zoo_files(folder).items():
        facts, measured = {}, NOTHING
        try:
            phi = Spline.load(path)
            facts = _facts(document.read(path).get("provenance", {}))
            if "gain" in facts:
                measured = _measured(facts["gain"])
            elif "spec" in facts:
                measured = gain(phi, facts["spec"])
        except LabError as error:  # the others can still be listed
            problems[name] = str(error)
        except Exception as error:  # a provenance that others wrote may be anything; the function itself was read
            problems[name] = f"{path} has a provenance that cannot be read ({type(error).__name__}: {error})"
        rows[name] = {column: facts.get(column) for column in ("task", "part", "paper", "scale")} | measured
        rows[name] |= {"device": facts.get("device_name"), "commit": facts.get("lab_commit", "")[:7]}
        rows[name]["key"] = facts.get("key", "")[:12]
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")
    table = table.astype({"seeds": "Int64", "steps": "Int64"}) if len(table) else table
    table = table.assign(problem=pd.Series(problems)).fillna({"problem": ""}) if problems else table
    return whole_in_print(table)


def whole_in_print(table: pd.DataFrame) -> pd.DataFrame:
    """A table that is printed with all its columns, side by side as far as the terminal is wide, then below each other;
    pandas would leave out most.

    >>> import pandas as pd
    >>> "column 12" in repr(whole_in_print(pd.DataFrame({f"column {n}": ["a long text"] for n in range(13)})))
    True
    """
    import pandas as pd

    class Printed(pd.DataFrame):
        @property
        def _constructor(self):  # what is made of it is a table as any other
            return pd.DataFrame

        def __repr__(self) -> str:
            return self.to_string(line_width=shutil.get_terminal_size().columns, na_rep="")

        __str__ = __repr__

    return Printed(table)


def _measured(gain: dict) -> dict:
    """What was kept of a comparison. Older files have the gain at the end alone."""
    older = {f"{name}_end": gain.get(name) for name in ("gain", "low", "high")}
    older["unit"] = "points" if str(gain.get("measured")).startswith("accuracy ") else ""
    return {name: gain.get(name, older.get(name)) for name in NOTHING}


def _facts(provenance: dict) -> dict:
    """What the table shows of a provenance. ValueError where it is none of the lab's."""
    facts = {
        name: provenance[name]
        for name in ("task", "part", "paper", "scale", "device_name", "key")
        if provenance.get(name) is not None
    }
    if commit := provenance.get("versions", {}).get("lab_commit"):
        facts["lab_commit"] = commit
    if wrong := [name for name, value in facts.items() if not isinstance(value, str)]:
        raise ValueError(f"{wrong[0]} is no text")
    return facts | {name: provenance[name] for name in ("spec", "gain") if name in provenance}
