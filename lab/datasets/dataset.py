"""What the lab knows of a data set: what it is, its licence, where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from lab.datasets.digests import DIGESTS
from lab.datasets.interpreter import Interpreter
from lab.datasets.shape import ImageShape, TableShape, TextShape
from lab.datasets.sources import Source

CLOSED = "no open licence stated: not to be passed on"


@dataclass(frozen=True)
class Dataset:
    """One data set. shape: what its arrays must have (`str` says it in words); megabytes: to download, about."""

    name: str
    about: str
    shape: TableShape | ImageShape | TextShape
    licence: str
    megabytes: float
    sources: tuple[Source, ...] = ()
    sample_of: str = ""  # where it is a part of another set, which lab.datasets.sampling.take takes
    installed: Interpreter | None = None  # where every machine that runs the lab has it

    @property
    def kind(self) -> str:
        """Of its shape: "table", "images", "text", "tokens", "pairs" or "sentences"."""
        return self.shape.kind

    @property
    def digest(self) -> str | None:
        """SHA-256 that its content has (`lab.datasets.convert.digest`), where it is known."""
        return DIGESTS.get(self.name)

    @property
    def files(self) -> tuple[tuple[str, ...], ...]:
        """Sets of files, any of which satisfies it in the folder that LAB_DATA names (compressed with gzip or not)."""
        sets: tuple[tuple[str, ...], ...] = ((f"{self.name}.npz",),)
        if self.kind == "text":
            sets = ((f"{self.name}.txt",), *sets)
        return sets + tuple(dict.fromkeys(source.members for source in self.sources if source.members))
