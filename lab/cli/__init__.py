"""The `lab` command: what it can do, and how it ends."""

from __future__ import annotations

import functools
import operator
import sys
import textwrap
from typing import Annotated, Any

import tyro

from lab.cli.figures import Figure, Figures, Scorecard
from lab.cli.gallery import Gallery
from lab.cli.scale import Scale
from lab.cli.storage import DataCommand, Doctor, StoreCommand
from lab.cli.training import FineTune, Search, Sweep, TrainAll
from lab.errors import ArgumentError, LabError
from lab.scale import SCALES

COMMANDS = {
    "figures": Figures,
    "figure": Figure,
    "train-all": TrainAll,
    "search": Search,
    "finetune": FineTune,
    "sweep": Sweep,
    "data": DataCommand,
    "scorecard": Scorecard,
    "scale": Scale,
    "gallery": Gallery,
    "store": StoreCommand,
    "doctor": Doctor,
}


EXIT_CODES = {0: "done", 1: "failed: one line says what, and what to try", 2: "wrong arguments"}


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `lab` command."""
    kinds = [Annotated[kind, tyro.conf.subcommand(name=name)] for name, kind in COMMANDS.items()]
    union: Any = functools.reduce(operator.or_, kinds)
    marks = (tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)  # no --no-json, no "{None}" in the help
    try:
        tyro.cli(union, prog="lab", description=_description(), args=arguments, config=marks).run()
    except ArgumentError as error:
        _fail(error, 2)
    except LabError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        _fail("stopped; what was finished is kept, and the same command goes on from there", 1)
    except BrokenPipeError:  # `lab figures | head`, `lab --help | head`
        sys.stderr.close()


def _description() -> str:
    """What stands above the list of commands. Lines that begin with a space are printed as they are."""
    lines = ["Learn non-linearities; make the papers' figures again, trained from scratch."]
    lines += ["`lab COMMAND --help` explains a command.", "", "Scales (--scale):"]
    for name, what in SCALES.items():
        lines += textwrap.wrap(what, 79, initial_indent=f"  {name:9}  ", subsequent_indent=" " * 13)
    lines += ["", "Exit codes:"]
    for code, meaning in EXIT_CODES.items():
        lines.append(f"  {code:<9}  {meaning}")
    return "\n".join(lines)


def _fail(error: object, code: int) -> None:
    print(f"lab: {error}", file=sys.stderr)
    raise SystemExit(code)
