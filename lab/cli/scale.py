"""The command that says what a scale costs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from lab.cli.options import default
from lab.errors import ArgumentError
from lab.scale import SCALES, check_scale
from lab.temporary import put

BEGIN, END = "<!-- table of lab scale -->", "<!-- end of table of lab scale -->"


@dataclass(frozen=True)
class Scale:
    """Estimate the cost of every figure at a scale, on 1 to 64 workers."""

    scale: Annotated[str, tyro.conf.arg(metavar="SCALE")] = "paper"
    """smoke, laptop, overnight or paper."""
    write: Annotated[Path | None, default("print the table")] = None
    """Replace the table in this page, e.g. docs/scale.md."""

    def run(self) -> None:
        """Print it, or write it."""
        check_scale(self.scale, SCALES)  # before step times are read, which takes half a minute
        from lab.catalogue.scale_plan import rows, text
        from lab.catalogue.step_times import recorded

        page = None
        if self.write is not None:
            page = self.write.read_text(encoding="utf-8") if self.write.is_file() else ""
            if BEGIN not in page or END not in page:
                raise ArgumentError(f"{self.write} has no place for the table: put {BEGIN} and {END} where it belongs")
        print("Reading what training steps took, which takes about 30 seconds.", file=sys.stderr, flush=True)
        times = recorded()
        table = text(rows(self.scale, times), times)
        if self.write is None or page is None:
            print(table)
        else:
            made = f"{page.partition(BEGIN)[0]}{BEGIN}\n{table}\n{END}{page.partition(END)[2]}"
            put(self.write, made.encode())
            print(self.write)
