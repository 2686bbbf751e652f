"""The `lab` command. Exit codes: 0 done; 1 failed, with one line that says what and what to try; 2 wrong arguments."""

from __future__ import annotations

import functools
import operator
import sys
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


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the `lab` command."""
    kinds = [Annotated[kind, tyro.conf.subcommand(name=name)] for name, kind in COMMANDS.items()]
    scales = "; ".join(f"{name}: {what}" for name, what in SCALES.items())
    union: Any = functools.reduce(operator.or_, kinds)
    command = tyro.cli(union, prog="lab", description=f"{__doc__}\n\nScales. {scales}", args=arguments)
    try:
        command.run()
    except ArgumentError as error:
        _fail(error, 2)
    except LabError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        _fail("stopped; what was finished is kept, and the same command goes on from there", 1)
    except BrokenPipeError:  # `lab figures | head`
        sys.stderr.close()


def _fail(error: object, code: int) -> None:
    print(f"lab: {error}", file=sys.stderr)
    raise SystemExit(code)
