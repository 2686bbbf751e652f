"""The command that writes the gallery."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Gallery:
    """Write a static web site of the shipped results, with a playground."""

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="[FOLDER]")] = Path("out/gallery")
    """Folder to write into. An older gallery in it is replaced."""
    mine: bool = False
    """With the functions of your own zoo, too. Without, nothing of yours is on the pages."""

    def run(self) -> None:
        """Write it and say where the first page is."""
        from lab.gallery import write_gallery

        print("Drawing the pages, which takes about 30 seconds.", file=sys.stderr, flush=True)
        written = write_gallery(self.out, mine=self.mine)
        print(f"{len(written)} pages; open {written[0].resolve()}")
