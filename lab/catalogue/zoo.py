"""The zoo with what its functions gain, and how what a search found gets there (`lab.nonlinearity.zoo` reads them)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.catalogue.provenance import versions
from lab.catalogue.zoo_gains import NOTHING, gain
from lab.errors import LabError
from lab.nonlinearity import document
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo_files
from lab.papers.simplicity.defaults import scale_of_table
from lab.papers.transformers.settings import scale_of
from lab.spec import SearchSpec

if TYPE_CHECKING:
    import pandas as pd

    from lab.run import EpisodeResult, SearchResult


def publish(found: SearchResult | EpisodeResult, folder: Path, name: str = "") -> list[Path]:
    """Write what a search found, with its provenance, in the zoo's format; return the files.

    name: of the file; default: the task's, which for a table may be no name of a file. Of a search by episodes it is
    the winner's function, or functions where it learned several.
    """
    facts = found.provenance | {"versions": versions(), "task": found.spec.task_name}
    facts["paper"] = "transformers"  # two_loss is that paper's Algorithm 1
    if isinstance(found.spec, SearchSpec):
        splines, joined = found.splines, "-both"
        facts["scale"] = scale_of(found.spec)
    else:
        splines, joined = found.functions, ""
        facts["scale"] = scale_of_table(found.spec)
        if (winner := facts.get("winner")) is not None:
            facts |= {"paper": "simplicity", "restart": winner}
    written, task = [], name or found.spec.task_name
    for part, spline in splines.items():
        part = "mlp" if part == "phi" else part  # the one function of a perceptron
        name = task if part == "mlp" else f"{task}-{part}"
        if len(splines) > 1:
            name += joined  # learned together: not the function that is learned alone
        try:
            folder.mkdir(parents=True, exist_ok=True)
            spline.save(folder / f"{name}.json", facts | {"part": part})
        except OSError as error:
            raise LabError(f"cannot write to {folder} ({error.strerror}); name another folder with --out") from error
        written.append(folder / f"{name}.json")
    return written


def table(folder: str | Path | None = None) -> pd.DataFrame:
    """One row a function, see `lab.zoo`; folder: your own zoo, default: the one that LAB_ZOO names."""
    import pandas as pd

    rows, problems = {}, {}
    for name, path in zoo_files(folder).items():
        facts, measured = {}, NOTHING
        try:
            phi, facts = Spline.load(path), document.read(path).get("provenance", {})
            measured = gain(phi, facts["spec"]) if "spec" in facts else NOTHING
        except LabError as error:  # the others can still be listed
            problems[name] = str(error)
        commit = facts.get("versions", {}).get("lab_commit", "")[:7]
        rows[name] = {column: facts.get(column) for column in ("task", "part", "paper", "scale")} | measured
        rows[name] |= {"device": facts.get("device_name"), "commit": commit, "key": facts.get("key", "")[:12]}
    found = pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")
    found = found.astype({"seeds": "Int64", "steps": "Int64"}) if len(found) else found
    return found.assign(problem=pd.Series(problems)).fillna({"problem": ""}) if problems else found
