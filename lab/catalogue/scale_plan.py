"""What the catalogue costs at a scale, and how it spreads over workers: by simulation, from recorded step times."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lab.catalogue.registry import entries
from lab.catalogue.step_times import ROWS, StepTimes, guessed_sizes, recorded, weights
from lab.cluster.simulation import Spread, spread
from lab.errors import LabError
from lab.jobs.checkpoints import CHECKPOINT_SECONDS
from lab.jobs.job import Job, work
from lab.jobs.runs import fleet_size
from lab.papers.entry import Entry
from lab.scale import check_scale
from lab.spec import RunSpec, all_needs, is_search, needs

WORKERS = (1, 8, 64)
HOUR = 3600.0
NUMBER = 4  # bytes
STATE = 3 * NUMBER  # bytes of a parameter in a checkpoint: itself, and what Adam remembers of it
HISTORY = 20e3  # bytes of a result besides its weights, roughly


@dataclass(frozen=True)
class Row:
    """An entry, or all of them. Hours of CPU cores; minutes of a GPU as the catalogue guesses them; bytes written.

    guessed: whether sizes of data that are not here are guessed. spreads: by workers.
    """

    name: str
    runs: int
    searches: int
    gpu_minutes: float
    spreads: tuple[Spread, ...]
    results: float
    checkpoints: float
    guessed: bool


def rows(scale: str = "paper", times: StepTimes | None = None, names: Sequence[str] | None = None) -> list[Row]:
    """A row for each entry for which something is trained, and a last one for all together, runs they share once."""
    check_scale(scale, ("smoke", "laptop", "overnight", "paper"))
    times, planned = times or recorded(), _planned(scale)
    chosen = [(entry, specs) for entry, specs in planned if names is None or entry.name in names]
    table = [_row(entry.name, specs, entry.minutes[scale], times) for entry, specs in chosen]
    if names is None:
        together = list(dict.fromkeys(spec for _, specs in planned for spec in specs))
        table.append(_row("all together", together, sum(entry.minutes[scale] for entry, _ in planned), times))
    return table


def text(rows: Iterable[Row], times: StepTimes) -> str:
    """The table, in Markdown."""
    names = ["entry", "runs", "searches", "GPU-minutes, guessed", "CPU-hours"]
    names += [f"hours, {count} worker{'s' if count > 1 else ''}" for count in WORKERS]
    names += ["longest chain, hours", "results, GB", "checkpoints, GB"]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        mark = " *" if row.guessed else ""
        hours = [f"{one.lasts / HOUR:.3g}" for one in row.spreads]
        cells = [f"`{row.name}`{mark}", str(row.runs), str(row.searches), f"{row.gpu_minutes:g}"]
        cells += [f"{row.spreads[0].total / HOUR:.3g}", *hours, f"{row.spreads[0].critical / HOUR:.3g}"]
        cells += [f"{row.results / 1e9:.2g}", f"{row.checkpoints / 1e9:.2g}"]
        lines.append(f"| {' | '.join(cells)} |")
    ratios = sorted(times.ratios)
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [float("nan")] * 3
    lines += [
        "",
        f"Step times are fitted to {len(ratios)} shipped results: what the fit says of them is {middle:.2f} times what "
        f"they took (quartiles {low:.2f} and {high:.2f}).",
    ]
    return "\n".join(lines)


def _planned(scale: str) -> list[tuple[Entry, list[Any]]]:
    """The specs of each entry, searches first."""
    plans = []
    for entry in entries().values():
        if scale in entry.scales:
            specs = list(dict.fromkeys(spec for _, spec in entry.plan(scale, entry.seeds[scale])))
            every = list(dict.fromkeys([*(each for spec in specs for each in all_needs(spec)), *specs]))
            if every:
                plans.append((entry, every))
    return plans


def _row(name: str, specs: list[Any], gpu_minutes: float, times: StepTimes) -> Row:
    jobs = _jobs(specs)
    place = {spec: index for index, job in enumerate(jobs) for spec in job}
    after = [{place[need] for spec in job for need in needs(spec)} for job in jobs]
    seconds = [sum(map(times.of, job)) for job in jobs]
    state = [STATE * sum(map(weights, job)) for job in jobs]
    return Row(
        name=name,
        runs=sum(isinstance(spec, RunSpec) for spec in specs),
        searches=sum(map(is_search, specs)),
        gpu_minutes=gpu_minutes,
        spreads=tuple(spread(seconds, after, count) for count in WORKERS),
        results=sum(NUMBER * weights(spec) + HISTORY for spec in specs),
        checkpoints=sum(int(time / CHECKPOINT_SECONDS) * bytes for time, bytes in zip(seconds, state, strict=True)),
        guessed=guessed_sizes(specs),
    )


def _jobs(specs: list[Any]) -> list[tuple[Any, ...]]:
    """Fleets and searches as the engine makes them on CPUs, in its order."""
    groups: dict[object, list[Any]] = {}
    for spec in specs:
        groups.setdefault(_or(partial(work(spec).signature, spec), spec), []).append(spec)
    jobs = []
    for group in groups.values():
        most = _or(partial(work(group[0]).most, group[0], "cpu"), _guessed_most(group[0]))
        jobs += [tuple(group[i : i + most]) for i in range(0, len(group), most)]

    def place(job: tuple[Any, ...]) -> tuple:
        return work(job[0]).rank, bool(needs(job[0])), -_or(lambda: Job(job, "cpu", "").steps, 0)

    return sorted(jobs, key=place)


def _guessed_most(spec: Any) -> int:
    if not isinstance(spec, RunSpec):
        return 1
    return fleet_size(spec.model, spec.recipe.batch or ROWS, 1, "cpu")


def _or(ask: Callable[[], Any], otherwise: Any) -> Any:
    """What is asked, or something else where it takes data that are not here."""
    try:
        return ask()
    except LabError:
        return otherwise
