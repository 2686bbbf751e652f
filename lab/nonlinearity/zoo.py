"""The zoo: learned non-linearities, those shipped with the lab and the user's own, each with its provenance.

A function is a file of `Spline.save`. Shipped ones are called paper/task, with "-attention" where the function was
learned inside the attention, and "-both" where MLP and attention learned theirs together. Your own are those in the
folder that `LAB_ZOO` names (or `folder=`): `lab search TASK` puts one there, `phi.save` does too. They are called
mine/…, so that no file can hide a shipped function.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from lab import environment
from lab.errors import ArgumentError, LabError
from lab.nonlinearity import document
from lab.nonlinearity.spline import Spline

if TYPE_CHECKING:
    import pandas as pd

    from lab.run import EpisodeResult, SearchResult

SHIPPED = Path(__file__).parents[2] / "data" / "zoo"
MINE = "mine"  # no paper is called so


def zoo_names(folder: str | Path | None = None) -> list[str]:
    """Names of all functions: the shipped ones, then the user's own (of `folder`, or of the one in LAB_ZOO).

    >>> "transformers/memorize" in zoo_names()
    True
    """
    return list(_files(folder))


@overload
def zoo(name: None = None, folder: str | Path | None = None) -> pd.DataFrame: ...
@overload
def zoo(name: str, folder: str | Path | None = None) -> Spline: ...
def zoo(name: str | None = None, folder: str | Path | None = None) -> Spline | pd.DataFrame:
    """A learned non-linearity by its name, frozen; without a name, the table of all there are.

    folder: your own zoo; default: the folder that LAB_ZOO names, if it does.

    One row a function: task; part of the model it was learned for; paper whose method found it; scale; then what it
    gains: accuracy on `test`, mean over training, of models that use it minus that of models with GELU and softmax (of
    the simplicity paper: with ReLU), in percentage points, paired by seed. gain: mean over `seeds` runs of each kind.
    low, high: its 95 % interval (Student's t). steps: of training. measured: where the runs are, "transformers/fig10"
    for shipped results, "store" for yours; empty where nothing was trained with the function. Then the device of its
    search, the commit of the lab that wrote the file, and the search's key. problem: of files that cannot be read,
    where there are any.

    Raises ArgumentError for an unknown name, LabError for a file that is damaged or of a newer schema.

    >>> zoo("transformers/memorize").spacing < 1
    True
    >>> table = zoo()
    >>> table.task["transformers/addmod"], table.scale["transformers/addmod"], int(table.seeds["transformers/addmod"])
    ('addmod', 'laptop', 6)
    """
    files = _files(folder)
    if name is None:
        return _table(files)
    if name not in files:
        raise ArgumentError(f"no function {name!r} in the zoo; there are: {', '.join(files) or 'none'}")
    return Spline.load(files[name])


def publish(found: SearchResult | EpisodeResult, folder: Path, name: str = "") -> list[Path]:
    """Write what a search found, with its provenance, in the zoo's format; return the files.

    name: of the file; default: the task's, which for a table may be no name of a file. Of a search by episodes it is
    the winner's function, or functions where it learned several.
    """
    from lab.figures.provenance import versions
    from lab.figures.settings import scale_of
    from lab.figures.table_settings import scale_of_table
    from lab.spec import SearchSpec

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


def _files(folder: str | Path | None) -> dict[str, Path]:
    own = folder or environment.folder("LAB_ZOO")
    if folder and not Path(folder).is_dir():
        raise ArgumentError(f"folder={str(folder)!r} is no folder; `lab search TASK --out {folder}` makes it a zoo")
    found = _named(SHIPPED, ("*/*.json",))
    if own:
        mine = _named(Path(own).expanduser(), ("*.json", "*/*.json"))
        found |= {f"{MINE}/{name}": path for name, path in mine.items()}
    return found


def _named(folder: Path, patterns: tuple[str, ...]) -> dict[str, Path]:
    paths = [path for pattern in patterns for path in folder.glob(pattern)]
    return dict(sorted((path.relative_to(folder).with_suffix("").as_posix(), path) for path in paths))


def _table(files: dict[str, Path]) -> pd.DataFrame:
    import pandas as pd

    from lab.figures.gains import NOTHING, gain

    rows, problems = {}, {}
    for name, path in files.items():
        facts, measured = {}, NOTHING
        try:
            phi, facts = Spline.load(path), document.read(path).get("provenance", {})
            measured = gain(phi, facts["spec"]) if "spec" in facts else NOTHING
        except LabError as error:  # the others can still be listed
            problems[name] = str(error)
        commit = facts.get("versions", {}).get("lab_commit", "")[:7]
        rows[name] = {column: facts.get(column) for column in ("task", "part", "paper", "scale")} | measured
        rows[name] |= {"device": facts.get("device_name"), "commit": commit, "key": facts.get("key", "")[:12]}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")
    table = table.astype({"seeds": "Int64", "steps": "Int64"}) if len(table) else table
    return table.assign(problem=pd.Series(problems)).fillna({"problem": ""}) if problems else table
