"""The `lab` command: what it can do, and how it ends."""

import functools
import operator
import sys
import textwrap
from typing import Annotated, Any

import tyro

from lab.cli.console import check_words, readable, reader_left
from lab.cli.figures import Bundle, Figure, Figures, Gallery, Scorecard, Verify
from lab.cli.new import New
from lab.cli.shipped import Notebooks, Zoo
from lab.cli.storage import DataCommand, Doctor, StoreCommand
from lab.cli.training import FineTune, League, Scale, Search, Sweep, TrainAll
from lab.errors import ArgumentError, LabError
from lab.scale import SCALES

COMMANDS = {
    "figures": Figures,
    "figure": Figure,
    "bundle": Bundle,
    "verify": Verify,
    "new": New,
    "train-all": TrainAll,
    "search": Search,
    "finetune": FineTune,
    "sweep": Sweep,
    "league": League,
    "data": DataCommand,
    "scorecard": Scorecard,
    "scale": Scale,
    "gallery": Gallery,
    "zoo": Zoo,
    "notebooks": Notebooks,
    "store": StoreCommand,
    "doctor": Doctor,
}


EXIT_CODES = {0: "done", 1: "failed: one line says what, and what to try", 2: "wrong arguments"}


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `lab` command."""
    readable()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        if not reader_left():
            raise
        return
    except OSError as error:  # a full disk, of `lab scorecard > file`
        code = _failed(f"cannot write ({error.strerror}); print to another place", 1)
    if code:
        raise SystemExit(code)


def _run(arguments: list[str] | None) -> int:
    """Do what is asked; the exit code."""
    kinds = [Annotated[kind, tyro.conf.subcommand(name=name)] for name, kind in COMMANDS.items()]
    union: Any = functools.reduce(operator.or_, kinds)
    marks = (tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)  # no --no-json, no "{None}" in the help
    try:
        command = tyro.cli(union, prog="lab", description=_description(), args=arguments, config=marks)
        check_words(command)
        command.run()
    except ArgumentError as error:
        return _failed(error, 2)
    except LabError as error:
        return _failed(error, 1)
    except KeyboardInterrupt:
        return _failed("stopped; what was finished is kept, and the same command goes on from there", 1)
    except SystemExit as end:  # tyro has printed the help, or what is wrong
        return end.code if isinstance(end.code, int) else 0
    return 0


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


def _failed(error: object, code: int) -> int:
    print(f"lab: {error}", file=sys.stderr)
    return code
