"""What every benchmark says of the machine it ran on, and the place that its table has in benchmarks/README.md."""

from __future__ import annotations

import os
import platform
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


def put(table: str, path: Path, benchmark: str) -> None:
    """Replace a benchmark's table in a file. benchmark: the name of its module, as in the marks around the table."""
    begin, end = (f"<!-- {word}table of benchmarks/{benchmark}.py -->" for word in ("", "end of "))
    text = path.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{path} has no place for the table: put the lines {begin} and {end} where it belongs")
    path.write_text(f"{text.partition(begin)[0]}{begin}\n{table}\n{end}{text.partition(end)[2]}")
