"""Everything that waits for a GPU, in resumable calls within a time budget.

    python benchmarks/gpu_batch.py --minutes 9 --out /tmp/gpu --pack results.tar.gz

In order of value: are the Triton kernels of splines and KAN layers what the formulas are in double precision; does
training on the GPU agree with the CPU; how much faster are fleets than runs one after the other; what does the spline
cost next to GELU; then the figures at scale `paper`, those first whose open claims cost least. `--list` says what
waits, `--only` names figures.

Parts run in another process: one that fails, hangs or breaks the GPU's context costs no other. What it said is in
OUT/errors, and it is not tried again before that file is gone. A figure may take `--each` minutes of a
call; it goes on from its checkpoints (LAB_STORE) in the next. What is finished is in OUT at once, and OUT as one
archive in the file that `--pack` names; where OUT is empty, that archive is unpacked first, so that another machine
can go on. `--minutes` is the time after which nothing runs any more: leave a minute of what the machine is lent for.

`--dry-run` executes all of it on the CPU, in small: the Triton kernel in Triton's interpreter, figures at scale
`smoke`; what it writes goes into OUT/dry-run. Needs torch, numpy, pandas, safetensors, scipy and scikit-learn only: it
leaves tables and provenance, which `lab figure NAME --scale paper` draws where plotly is.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tarfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from gpu_measures import DRY_RUN, ON_GPU, Work, measures, peak, report
from report import publish
from spline import text

from lab.catalogue.build import measured
from lab.catalogue.registry import entry
from lab.catalogue.results import contents, digests, sealed
from lab.catalogue.training_queue import waiting
from lab.devices import choose_device
from lab.errors import LabError, shortened
from lab.store import Store

LEAST = 5.0  # seconds: with less left nothing is begun


@dataclass(frozen=True)
class Part:
    """One thing to do: call(*arguments) in another process, for `minutes` at most; `done` is there afterwards."""

    name: str
    done: Path
    call: Callable[..., str]
    arguments: tuple
    minutes: float


def parts(work: Work, out: Path, each: float, seeds: int | None, only: list[str]) -> list[Part]:
    """All of the work, in its order."""
    queue = [
        Part(name, out / f"{name}.json", write_measure, (name, work, out / f"{name}.json"), work.limit)
        for name in measures(work)
        if not only
    ]
    if not only:
        queue.append(Part("spline", out / "spline.md", write_spline, (out,), work.limit))
    for name in only or [one.entry.name for one in waiting("paper", Store(out / "nothing is trained"))]:
        folder = out / name / work.scale
        queue.append(Part(name, folder / "provenance.json", write_figure, (name, work, folder, seeds), each))
    return queue


def write_measure(name: str, work: Work, path: Path) -> str:
    """Measure, and keep it."""
    call, arguments = measures(work)[name]
    result = call(*arguments)
    path.write_text(json.dumps(result, indent=1))
    return shortened(json.dumps(result), 400)


def write_spline(out: Path) -> str:
    """The spline's rows as the table of benchmarks/README.md."""
    rows = [row for path in sorted(out.glob("spline_*.json")) for row in json.loads(path.read_text())]
    (out / "spline.md").write_text(said := text(pd.DataFrame(rows)))
    return said


def write_figure(name: str, work: Work, folder: Path, seeds: int | None) -> str:
    """Train what a figure needs, and keep its tables and provenance."""
    table, facts, extras = measured(entry(name), work.scale, work.device, seeds, store=Store(), progress=False)
    folder.mkdir(parents=True, exist_ok=True)
    tables = contents({"table": table, **extras})
    for stem, content in tables.items():
        (folder / f"{stem}.csv").write_bytes(content)
    (folder / "provenance.json").write_bytes(sealed(facts | {"tables": digests(tables)}))
    return f"{len(table)} rows, {len(facts['runs'])} runs, at most {peak(work.device):.1f} GB of the GPU until here"


class Worker:
    """A process that does parts, one after the other; a new one where it was ended."""

    def __init__(self) -> None:
        self.pool: ProcessPoolExecutor | None = None
        self.compiled: TemporaryDirectory | None = None

    def do(self, part: Part, seconds: float) -> str:
        """What its function gives. TimeoutError: it did not end in time; anything else is its error."""
        if self.pool is None:
            # of its own: a compiler that is killed leaves half a library, which the next process would take for whole
            self.compiled = TemporaryDirectory(prefix="compiled-", ignore_cleanup_errors=True)
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = self.compiled.name
            self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        try:
            return self.pool.submit(part.call, *part.arguments).result(seconds)
        except LabError:  # data that are not here, and the like
            raise
        except BaseException:  # after an error of the GPU nothing works in that process
            self.end()
            raise

    def end(self) -> None:
        """End the process, whatever it does."""
        for child in multiprocessing.active_children():
            child.kill()
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
            self.pool = None
        if self.compiled is not None:
            self.compiled.cleanup()


def pack(out: Path, archive: Path) -> None:
    """Put OUT into one file, which is there as a whole or as it was."""
    fresh = archive.with_name(f"{archive.name}.new")
    with tarfile.open(fresh, "w:gz") as file:
        file.add(out, ".")
    fresh.replace(archive)


def main(
    work: Work,
    minutes: float,
    each: float,
    out: Path,
    archive: Path | None = None,
    seeds: int | None = None,
    only: list[str] | None = None,
) -> None:
    """Do as much as the time allows; `only`: of the figures those so named, and nothing else."""
    end = time.monotonic() + 60 * minutes
    choose_device(work.device)  # says so where there is none
    out.mkdir(parents=True, exist_ok=True)
    if archive is not None and archive.is_file() and not any(out.iterdir()):
        with tarfile.open(archive) as file:
            file.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
            file.extractall(out)
    worker = Worker()
    try:
        for part in parts(work, out, each, seeds, only or []):
            error = out / "errors" / f"{part.name.replace('/', '_')}.txt"
            if part.done.exists() or error.exists():
                continue
            start = time.monotonic()
            if end - start < LEAST:
                print("time is up; call again to go on")
                return
            try:
                said = worker.do(part, min(end - start, 60 * part.minutes))
            except TimeoutError:
                said = "not done in its time; call again to go on"
            except Exception as problem:
                error.parent.mkdir(exist_ok=True)
                error.write_text(traceback.format_exc())
                said = f"failed, see {error}: {type(problem).__name__}: {problem}"
            print(f"{part.name}: {(time.monotonic() - start) / 60:.1f} minutes; {said}", flush=True)
            if archive is not None:
                pack(out, archive)
    finally:
        worker.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=9.0, help="nothing runs any more after so many minutes")
    parser.add_argument("--each", type=float, default=6.0, help="of these, the most that one figure takes")
    parser.add_argument("--out", type=Path, default=Path("out/gpu"), help="folder for tables and provenance")
    parser.add_argument("--pack", type=Path, dest="archive", metavar="FILE", help="OUT as one archive (.tar.gz)")
    parser.add_argument("--seeds", type=int, default=None, help="runs of each kind (default: the paper's 6)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these figures alone: transformers/fig5")
    parser.add_argument("--write", type=Path, metavar="FILE", help="only put the measures in OUT into a file's table")
    parser.add_argument("--list", action="store_true", help="only say what it would do, with guesses of minutes")
    parser.add_argument("--dry-run", action="store_true", help="execute all of it on the CPU, in small")
    asked = vars(parser.parse_args())
    dry, file = asked.pop("dry_run"), asked.pop("write")
    if file is not None:
        publish(report(asked["out"]), file, "gpu_batch")
    elif asked.pop("list"):
        figures = (f"{one.entry.name}: {one.minutes:g} minutes" for one in waiting("paper", Store()))
        print("\n".join([*measures(ON_GPU), *figures]))
    elif dry:
        os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported: the GPU's kernel on the CPU
        main(DRY_RUN, **asked | {"out": asked["out"] / "dry-run"})
    else:
        main(ON_GPU, **asked)
