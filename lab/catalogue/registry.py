"""The catalogue: which figures there are. What a figure is, its section of its paper says (`lab.papers.entry`)."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

import lab.papers
from lab.errors import ArgumentError, LabError, listed, shown
from lab.files import user_folder

if TYPE_CHECKING:  # torch alone takes seconds, and names need none
    from lab.papers.entry import Entry

ACROSS = "crossing"  # what no paper claims: questions of the lab's own
PAPERS = {
    "transformers": "Optimized non-linearities in transformers",
    "hypernetwork": "Attention as a hypernetwork",
    "simplicity": "Activation functions and the simplicity bias",
    "activations": "Adaptive activation functions in language models",
    ACROSS: "Across the papers: questions of the lab's own",
}


def papers() -> dict[str, str]:
    """Papers and their titles, in their order: the lab's, then the user's, which are folders of LAB_PAPERS with an
    `__init__.py` whose docstring is the title."""
    folder = user_folder("LAB_PAPERS")
    if folder is None or not folder.is_dir():
        return PAPERS
    inits = {path.parent.name: path for path in sorted(folder.absolute().glob("*/__init__.py"))}
    if both := inits.keys() & PAPERS.keys():
        raise ArgumentError(f"{inits[min(both)].parent} has the name of a paper of the lab: call it otherwise")
    if (place := str(folder.absolute())) not in lab.papers.__path__:
        lab.papers.__path__.append(place)  # so that `import lab.papers.mine` works
    return PAPERS | {name: _title(path) for name, path in inits.items()}


def _title(path: Path) -> str:
    """The first line of a module's docstring, or its folder's name; nothing of it is executed."""
    try:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    except (OSError, SyntaxError, ValueError) as error:
        raise LabError(f"{path} cannot be read ({error}); mend it, or unset LAB_PAPERS") from error
    return text.splitlines()[0] if text else path.parent.name


def papers_with(name: str) -> list[ModuleType]:
    """Those of the papers' modules `interface` that have something by this name for the rest of the lab."""
    modules = (f"lab.papers.{paper}.interface" for paper in PAPERS)
    return [paper for paper in map(import_module, filter(find_spec, modules)) if hasattr(paper, name)]


def setting(task: Any, scale: str, attention: str | None = None) -> Any:
    """What the paper that has such a task trains on it: `model`, `recipe`, `runs(seeds)`; with `search(…)` where it
    learns functions. attention: of models that have a choice of it. Raises ArgumentError for what is no task.

    >>> setting("mano", "paper").model.width
    128
    """
    answers = (paper.setting(task, scale, attention) for paper in papers_with("setting"))
    return next(answer for answer in answers if answer is not None)


def names(paper: str) -> list[str]:
    """The figures of a paper, in their order; its sections are not imported.

    >>> names("transformers")[:3]
    ['transformers/fig2', 'transformers/rates', 'transformers/fig3']
    """
    load = import_module if paper in PAPERS else _of_user
    known = getattr(load(f"lab.papers.{paper}"), "FIGURES", None)
    return list(entries(paper)) if known is None else [f"{paper}/{name}" for name in known.split()]


def entries(paper: str | None = None) -> dict[str, Entry]:
    """All entries by name, in the order of the papers; or those of one paper, and no other paper is imported."""
    if paper is None:
        return {name: entry for paper in papers() for name, entry in entries(paper).items()}
    load = import_module if paper in PAPERS else _of_user
    of = load(f"lab.papers.{paper}")
    every = (one.name for one in iter_modules(of.__path__) if not one.name.startswith("test_"))  # of a user's paper
    sections = getattr(of, "MODULES", every)
    modules = [load(f"{of.__name__}.{name}") for name in sections]
    unordered = [entry for module in modules for entry in getattr(module, "ENTRIES", ())]
    return {entry.name: entry for entry in sorted(unordered, key=lambda entry: entry.order)}


def _of_user(name: str) -> ModuleType:
    """A module of a user's paper. Raises LabError where it has a fault."""
    try:
        return import_module(name)
    except Exception as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) else ""
        raise LabError(f"{name} of LAB_PAPERS cannot be imported ({where}{type(error).__name__}: {error})") from error


def entry(name: str, tasks: Sequence[str] | None = None) -> Entry:
    """The entry of that name, or the part of it that shows these tasks.

    >>> entry("transformers/fig5").section
    '3.2'
    """
    paper = name.partition("/")[0] if isinstance(name, str) else ""
    known = entries(paper) if paper in PAPERS or paper in papers() else {}
    whole = known[name] if known and name in known else known[check_name(name)]
    return whole if tasks is None else whole.for_tasks(tasks)


def check_name(name: str) -> str:
    """The name, if a figure has it. ArgumentError says what could be meant: the figures of a paper, those of this
    number in all papers, or all.

    >>> check_name("table1")
    Traceback (most recent call last):
    lab.errors.ArgumentError: unknown figure 'table1'; did you mean hypernetwork/tableA1, simplicity/table1 or \
activations/table1? `lab figures` lists all
    """
    paper, _, last = name.partition("/") if isinstance(name, str) else ("", "", "")
    known = [one for of in ([paper] if paper in papers() else papers()) for one in names(of)]
    if isinstance(name, str) and name in known:
        return name
    said = f"unknown figure {shown(name)}"
    if paper in papers():
        of = ", ".join(one.partition("/")[2] for one in known)
        raise ArgumentError(f"{said}; known: {paper}/{of}; `lab figures {paper}` says what they show")
    last = (last or paper).rpartition("/")[2].lower()
    alike = re.compile(rf"{re.escape(last).replace('table', 'tablea?')}[a-z]?")
    meant = [one for one in known if last and alike.fullmatch(one.partition("/")[2].lower())]
    near = difflib.get_close_matches(paper, papers(), 1)  # a misspelt paper
    meant = [one for one in meant if one.partition("/")[0] in near] or meant
    listing = "`lab figures` lists all"
    if "/" in shown(name) and not near and user_folder("LAB_PAPERS") is None:
        listing += ", and those of LAB_PAPERS"
    if meant:
        these = f"{', '.join(meant[:-1])}{' or ' if meant[1:] else ''}{meant[-1]}"
        raise ArgumentError(f"{said}; did you mean {these}? {listing}")
    raise ArgumentError(f"{said}; known: {listed(known, name)}; {listing}")
