"""The zoo: learned non-linearities, those shipped with the lab and the user's own, each with its provenance.

A function is a file of `Spline.save`. Shipped ones are called paper/task, with "-attention" where the function was
learned inside the attention. Your own are those in the folder that `LAB_ZOO` names (or `folder=`), without it in "zoo"
of the store's folder: `found.publish(name)` puts one there, and `lab search TASK` does; so is any file that `phi.save`
writes there. They are called mine/…, so that no file can hide a shipped function.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from lab.errors import ArgumentError, LabError, absolute_path, check_flag, check_type, listed, shortened, shown
from lab.files import user_folder
from lab.nonlinearity import document
from lab.nonlinearity.spline import Spline, check_finite, check_single
from lab.places import ZOO, default_folder

MINE = "mine"  # no paper is called so
_shipped_alone = ContextVar("shipped_alone", default=False)
NAMED, SAID = 3, 120  # of files that are left out: how many are named, and characters of the reason


@contextmanager
def shipped_alone() -> Iterator[None]:
    """In here the zoo has what came with the lab, and nothing of the user's: for pages that are sent around.

    >>> with shipped_alone():
    ...     [name for name in zoo_names() if name.startswith(f"{MINE}/")]
    []
    """
    before = _shipped_alone.set(True)
    try:
        yield
    finally:
        _shipped_alone.reset(before)


def with_own() -> bool:
    """Whether things of the user's own may be shown here."""
    return not _shipped_alone.get()


def zoo_names(folder: str | Path | None = None) -> list[str]:
    """Names of all functions: the shipped ones, then the user's own (`folder` as in `zoo`).

    >>> "transformers/memorize" in zoo_names()
    True
    """
    return list(zoo_files(folder))


def zoo(name: str, folder: str | Path | None = None) -> Spline:
    """A learned non-linearity by its name, frozen.

    folder: your own zoo; default: the folder that LAB_ZOO names, else "zoo" in the store's folder.

    Raises ArgumentError for an unknown name, LabError for a file that is damaged or of a newer schema.

    >>> zoo("transformers/memorize").spacing < 1
    True
    """
    files = zoo_files(folder)
    if check_type("name", name, str, "the name of a function, such as 'transformers/memorize'") not in files:
        ends = [known for known in files if known.rpartition("/")[2] == name]
        meant = f"; did you mean {' or '.join(map(repr, ends))}?" if ends else ""
        known = listed(files, name) or "none"
        raise ArgumentError(f"no function {shown(name)} in the zoo; there are: {known}{meant}")
    return Spline.load(files[name])


def zoo_curves() -> tuple[dict[str, Spline], dict[str, str]]:
    """All functions of one variable by name, in the order of `zoo_names`; and of every other file of the zoo, by name,
    why it is left out: it cannot be read, it has several functions, or values that are not finite.

    The functions are those of earlier calls: copy one before you change it.

    >>> functions, problems = zoo_curves()
    >>> functions["transformers/memorize"].values.dim()
    1
    """
    functions, problems = {}, {}
    for name, path in zoo_files().items():
        try:
            functions[name] = _curve(path, path.stat().st_mtime_ns)
        except LabError as error:  # one bad file must not hide the others
            problems[name] = str(error).removeprefix(f"{path} ")
    return functions, problems


@lru_cache(maxsize=512)
def _curve(path: Path, written: int) -> Spline:
    """A file's function of one variable, read once as long as nobody writes it anew."""
    return check_finite(check_single(Spline.load(path), str(path)), str(path))


def left_out(problems: Mapping[str, str]) -> str:
    """A line on files of the zoo that are left out, as `zoo_curves` gives them; empty where there are none.

    >>> left_out({"mine/pair": "has 2 functions"})
    'Left out of the zoo: mine/pair (has 2 functions).'
    """
    several = [f"{name} ({shortened(why, SAID)})" for name, why in list(problems.items())[:NAMED]]
    more = [f"{len(problems) - NAMED} more"] if len(problems) > NAMED else []
    return f"Left out of the zoo: {', '.join([*several, *more])}." if problems else ""


def zoo_files(folder: str | Path | None = None) -> dict[str, Path]:
    """Files by name, in the order of `zoo_names`."""
    homes = {"": ZOO}
    if folder is not None and not _shipped_alone.get():
        homes[f"{MINE}/"] = absolute_path("folder", folder)
        if not homes[f"{MINE}/"].is_dir():
            raise ArgumentError(f"folder={str(folder)!r} is no folder; `lab search TASK --out {folder}` makes it a zoo")
    elif not _shipped_alone.get():
        try:
            homes[f"{MINE}/"] = own_folder()
        except LabError:  # a store that cannot be had hides no shipped function
            if user_folder("LAB_ZOO"):
                raise
    files: dict[str, Path] = {}
    for start, home in homes.items():
        paths = (path for pattern in ("*.json", "*/*.json") for path in home.glob(pattern) if path.is_file())
        named = {start + path.relative_to(home).with_suffix("").as_posix(): path for path in paths}
        files |= dict(sorted(named.items()))
    return files


def own_folder() -> Path:
    """Your own zoo: the folder that LAB_ZOO names, or "zoo" in the store's folder. It need not be there yet.

    With a store in a bucket it is in the folder that is the store without LAB_STORE: functions are files.
    """
    if named := user_folder("LAB_ZOO"):
        return named
    if "://" in os.environ.get("LAB_STORE", ""):
        from lab.store import Store  # a function alone needs none of what it imports

        return Store().local_folder / "zoo"
    return (user_folder("LAB_STORE") or default_folder("store")).absolute() / "zoo"


def keep(name: str, phi: Spline, facts: dict, folder: str | Path | None = None, replace: bool = False) -> str:
    """Put a function into your own zoo, or that in `folder`; its name there, "mine/…". See `place` for `replace`."""
    path = place(name, facts, folder, replace)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        said = f"cannot write to {path.parent} ({error.strerror})"
        raise LabError(f"{said}; give another folder=, or name one with LAB_ZOO") from error
    phi.save(path, facts)
    return f"{MINE}/{name}"


def place(name: str, facts: dict, folder: str | Path | None = None, replace: bool = False) -> Path:
    """The file that a function of your own zoo would have. facts: its provenance.

    Raises ArgumentError for a name that no file can have, and where another search's function has it: that one stays,
    unless `replace`.

    >>> place("digits-cnn", {}, folder="out").name
    'digits-cnn.json'
    """
    if not re.fullmatch(r"[^\W_][\w.+^-]*(/[^\W_][\w.+^-]*)?", name):
        cure = "give letters, digits, '-' or '_', and at most one '/', as 'digits-cnn'"
        raise ArgumentError(f"name={shown(name)}: {cure}")
    path = (own_folder() if folder is None else absolute_path("folder", folder)) / f"{name}.json"
    if not check_flag("replace", replace) and is_of_another(path, facts):
        said = f"name={shown(name)}: {path} is there, and not of this search"
        raise ArgumentError(f"{said}; give another name, or replace=True")
    return path


def is_of_another(path: Path, facts: dict) -> bool:
    """Whether a file is there, and not of the search with these facts."""
    try:
        return path.exists() and document.read(path).get("provenance", {}).get("key") != facts.get("key")
    except (OSError, ValueError, LabError, AttributeError):  # none of the lab's, or damaged
        return True
