"""The standard library of the Python that runs: code that is on every machine, read where it stands."""

from __future__ import annotations

import platform
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from lab.datasets import code
from lab.datasets.shape import Arrays
from lab.datasets.text import as_bytes


@dataclass(frozen=True)
class Interpreter:
    """Its top-level modules, which are files and no packages, in the order of their names.

    >>> Interpreter().folder.is_dir()
    True
    """

    @property
    def folder(self) -> Path:
        """Where they are."""
        return Path(sysconfig.get_paths()["stdlib"])

    @property
    def version(self) -> str:
        """That of the interpreter: another one has other text."""
        return platform.python_version()

    def describe(self) -> str:
        """In words."""
        return f"the standard library of Python {self.version}"

    def read(self) -> Arrays:
        """Their code, without comments and docstrings. Takes a few seconds."""
        modules = sorted(self.folder.glob("*.py"))
        return {"text": as_bytes(code.without_comments(path.read_text(encoding="utf-8")) for path in modules)}
