"""The zoo with what its functions gain, and how what a search found gets there (`lab.nonlinearity.zoo` reads them)."""

from __future__ import annotations

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
from lab.versions import versions

if TYPE_CHECKING:
    import pandas as pd

    from lab.search_results import EpisodeResult, SearchResult


def publish(result: SearchResult | EpisodeResult, folder: Path, name: str = "") -> list[Path]:
    """Write what a search found, with its provenance, in the zoo's format; return the files.

    name: of the file; default: the task's, which for a table may be no name of a file. Of a search by episodes it is
    the winner's function, or functions where it learned several.
    """
    facts = result.provenance | {"versions": versions(), "task": result.spec.task_name}
    facts["paper"] = "transformers"  # two_loss is that paper's Algorithm 1
    spec, splines = result.spec, result.splines
    if on_sequences(spec):
        joined, facts["scale"] = "-both", scale_of(spec)
    else:
        joined, facts["scale"] = "", scale_of_table(spec)
        if (winner := facts.get("winner")) is not None:
            facts |= {"paper": "simplicity", "restart": winner}
    written, task = [], name or result.spec.task_name
    for part, spline in splines.items():
        part = "mlp" if part == "phi" else part  # the one function of a perceptron
        name = task if part == "mlp" else f"{task}-{part}"
        if len(splines) > 1:
            name += joined  # learned together: not the function that is learned alone
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if is_of_another(folder / f"{name}.json", facts):
                if facts["scale"] == "smoke" and (scale := _scale_in(folder / f"{name}.json")) not in (None, "smoke"):
                    said = f"{folder / name}.json is of a search at scale {scale}, and is not replaced by one of smoke"
                    raise LabError(f"{said}, whose numbers mean nothing; name another folder with --out")
                print(f"{name}.json was of another search, which can be repeated; it is replaced", file=sys.stderr)
            spline.save(folder / f"{name}.json", facts | {"part": part})
        except OSError as error:
            raise LabError(f"cannot write to {folder} ({error.strerror}); name another folder with --out") from error
        written.append(folder / f"{name}.json")
    return written


def _scale_in(path: Path) -> str | None:
    """The scale of the search that a file's function is from; None where it does not say."""
    try:
        return document.read(path)["provenance"]["scale"]
    except (OSError, ValueError, LabError, LookupError, TypeError):  # none of the lab's, or damaged
        return None


def table(folder: str | Path | None = None) -> pd.DataFrame:
    """One row a function, see `lab.zoo`; folder: your own zoo, default: the one that LAB_ZOO names."""
    import pandas as pd

    rows, problems = {}, {}
    for name, path in zoo_files(folder).items():
        facts, measured = {}, NOTHING
        try:
            phi = Spline.load(path)
            facts = _facts(document.read(path).get("provenance", {}))
            if "gain" in facts:
                measured = {name: facts["gain"].get(name) for name in NOTHING}
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
    return table.assign(problem=pd.Series(problems)).fillna({"problem": ""}) if problems else table


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
