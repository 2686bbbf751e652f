"""What benchmarks share: the machine in words, the options, a table and its place in benchmarks/README.md."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Collection
from pathlib import Path

import torch


def machine() -> str:
    """The processor, in words."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{os.cpu_count()} cores of an {model}"


def table_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of options with `--write`, for a benchmark whose table has a place in a file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="file in which the table is replaced, such as benchmarks/README.md")
    return parser


def heading(names: Collection[str]) -> list[str]:
    """The first two lines of a table in Markdown."""
    return [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def publish(table: str, path: Path | None, benchmark: str, part: str = "") -> None:
    """Print a benchmark's table, and put it into a file, if one is named.

    benchmark: the name of its module, as in the marks around the table's place. part: of what it measures, there too.
    """
    print(table)
    if path is None:
        return
    begin, end = (f"<!-- {word}table of benchmarks/{benchmark}.py{part} -->" for word in ("", "end of "))
    text = path.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{path} has no place for the table: put the lines {begin} and {end} where it belongs")
    path.write_text(f"{text.partition(begin)[0]}{begin}\n{table}\n{end}{text.partition(end)[2]}")
