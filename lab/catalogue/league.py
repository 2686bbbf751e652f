"""The league with functions of the user's own: what may enter it, and its table with them."""

import runpy
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from lab.catalogue import build
from lab.catalogue.figure import Figure, draw
from lab.catalogue.registry import papers_with
from lab.errors import ArgumentError, LabError, check_path, shortened, shown
from lab.nonlinearity import document
from lab.nonlinearity.check import check
from lab.nonlinearity.part import as_module, as_part
from lab.nonlinearity.spline import Spline, check_finite, check_single
from lab.nonlinearity.table import TABLE
from lab.nonlinearity.zoo import MINE, keep, zoo_files
from lab.papers.entry import Planned
from lab.places import VERSION
from lab.run import Run, complete
from lab.spec import Knots, Part, key
from lab.store import Store, as_store

league = papers_with("league")[0].league
ENTRY, ROOM = "crossing/league", "league"  # where own functions are in the zoo
NEEDED = (  # laws without which nothing in the league can be measured
    *("the same at each call", "no global random numbers", "each number by itself", "any number of axes"),
    *("input stays", "gradient reaches the input", "first derivative"),
)
MOST_KNOTS, LAST_SEED = 10_000, 2**31
FINE, MOST_ERROR = 40_001, 0.01  # points at which a spline is compared with its function; of the values' span


def add(file: str, name: str = "", trust: bool = False) -> str:
    """Put a function into the league of one's own; what it is called there.

    file: JSON of `phi.save`; or `phi.py:name`, a function of a tensor, a module or its class in a program, which is run
    only with `trust`. name: default, the file's.

    It gets seeds that are drawn now, so that no file can know them. Raises ArgumentError for a name that is taken, and
    for what does not keep a law that the league needs, with the law's name.
    """
    program, _, inside = file.rpartition(":") if ".py:" in file else (file, "", "")
    name = name or (inside or Path(program).stem)
    if name.lower() in (*TABLE, league.LEARNED):
        raise ArgumentError(f"name={shown(name)} is a function of the lab; give another one with --name")
    phi = _of_program(program, inside, trust) if program.endswith(".py") else Spline.load(check_path("file", file))
    knots = phi.values.numel() if isinstance(phi, Spline) else 0
    if knots > MOST_KNOTS:
        raise ArgumentError(f"{file} has {knots:,} knots, and the league takes {MOST_KNOTS:,}; give fewer")
    if isinstance(phi, Spline):
        check_finite(check_single(phi, file).float(), file)  # as it is kept and trained
    for one in check(phi).outcomes:
        if one.law.name in NEEDED and one.is_failure:
            raise ArgumentError(f"{file} is refused, for it does not keep the law '{one.law.name}': {one.detail}")
    part = as_part(phi, file)
    if isinstance(part, str):
        raise ArgumentError(f"{file} is {part}, which the league has; give another function")
    spline = as_module(part) if isinstance(part, Knots) else Spline.from_function(as_module(part))
    if not isinstance(phi, Spline):
        _check_close(spline, phi, file)
    content = document.checksum({"low": spline.low, "high": spline.high, "values": spline.values.tolist()})
    facts = {"key": content, "date": datetime.now(UTC).date().isoformat(), "lab": VERSION}
    for known, (_, before) in _files().items():
        if before.get("key") == content:
            return known  # with the seeds that it got then
    return keep(f"{ROOM}/{name}", spline, facts | {"seed": LAST_SEED // 2 + secrets.randbelow(LAST_SEED // 4)})


def _check_close(spline: Spline, phi: Any, file: str) -> None:
    x = torch.linspace(spline.low, spline.high, FINE)
    with torch.no_grad():
        wanted, made = phi(x), spline(x)
    error, span = float((made - wanted).abs().max()), float(wanted.max() - wanted.min())
    if error > MOST_ERROR * span:
        raise ArgumentError(
            f"{file} as a spline of {spline.values.numel()} knots is off by {error:.2g}, of values spanning {span:.2g},"
            f" and {MOST_ERROR:g} of that is the most; add the JSON of Spline.from_function(phi, low, high, knots).save"
        )


def _of_program(path: str, inside: str, trust: bool) -> Any:
    if not trust:
        raise ArgumentError(f"{path} is a program, which is run only with --trust; or give the JSON of phi.save")
    if not inside:
        raise ArgumentError(f"say which function of {path} is meant, as {path}:phi")
    try:
        phi = runpy.run_path(path)[inside]
        return phi() if isinstance(phi, type) else phi
    except KeyError as error:
        raise ArgumentError(f"{path} has no {inside!r}") from error
    except Exception as error:
        raise LabError(f"{path} fails with {type(error).__name__} ({shortened(str(error))})") from error


def yours() -> dict[str, tuple[Part, int]]:
    """Functions of the user's own in the league, by name, with the first of their seeds."""
    known = {name: (path, facts.get("seed")) for name, (path, facts) in _files().items()}
    return {name: (as_part(Spline.load(path)), seed) for name, (path, seed) in known.items() if isinstance(seed, int)}


def _files() -> dict[str, tuple[Path, dict]]:
    """Files of the user's functions in the league by name, with their provenance."""
    files: dict[str, tuple[Path, dict]] = {}
    for name, path in zoo_files().items():
        if name.startswith(f"{MINE}/{ROOM}/"):
            try:
                files[name] = path, document.read(path).get("provenance", {})
            except (OSError, ValueError) as error:
                raise LabError(f"{path} is no saved function ({shortened(str(error))}); remove it") from error
    return files


def standing(
    scale: str = "best",
    mine: bool = False,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    train: bool = True,
) -> Figure:
    """The league as a figure, with rows for functions of one's own where `mine`: these are trained, or left out where
    they are not and `train` is False; what is here of the league stays as it is."""
    made = build.figure(ENTRY, scale, device, store=store, progress=progress)
    functions = yours() if mine else {}
    if mine and not functions:
        raise ArgumentError("there is no function of yours in the league; lab league add phi.json puts one there")
    if not functions:
        return made
    entry, store = build.registry.entry(ENTRY), as_store(store)

    def plan(scale: str, seeds: int) -> list[Planned]:
        every = league.plan(scale, seeds, yours=functions)
        return [(labels, spec) for labels, spec in every if labels["function"] in functions]

    entry, seeds = replace(entry, plan=plan), entry.seeds[made.scale]
    if not train:
        planned, _ = entry.known(made.scale, seeds, store)
        lacking = {labels["function"] for labels, spec in planned if not store.has(spec)}
        functions = {name: part for name, part in functions.items() if name not in lacking}
    if not functions:
        return made
    for planned, _ in entry.stages(made.scale, seeds, store):
        complete([spec for _, spec in planned], store, device, progress)
    runs = [(labels, Run(spec, store)) for labels, spec in planned]
    table = pd.concat([made.table, league.measure(runs, league.goals_of(made.table))], ignore_index=True)
    facts = dict(made.provenance)
    facts["runs"] = facts["runs"] | {key(spec): f"{spec.task_name}, seed {spec.seed}" for _, spec in planned}
    facts["own"] = {name: document.read(zoo_files()[name])["provenance"] for name in functions}
    return draw(entry, made.scale, table, facts, {})


def in_words(made: Figure) -> str:
    """The league as text: for each task its functions, the best first."""
    lines = []
    for task, rows in league.ranking(made.table).sort_values("gain", ascending=False).groupby("task", sort=False):
        shown_ = rows.drop(columns=["task", "over"]).round({"score": 2, "gain": 2, "low": 2, "high": 2})
        lines += [
            f"{task}: points above {rows['over'].iloc[0]}, the best fixed function",
            shown_.to_string(index=False),
        ]
    return "\n".join([*lines, made.summary])
