"""Where a figure comes from, as a dict that JSON can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lab.catalogue.shipped_histories import ShippedHistory
from lab.devices import device_name
from lab.papers.entry import Entry
from lab.run import Run
from lab.spec import key, needs
from lab.store import UNNOTED
from lab.versions import versions

KEYS = (
    "entry",
    "scale",
    "device",
    "device_name",
    "versions",
    "seeds",
    "runs",
    "data",
    "seconds",
    "made",
    "hyperparameters",
    "departures",
)
# Facts that are lists of what the notes of runs say.
NOTED = {"kernels": "kernel", "commits": "commit", "instructions": "instructions"}
NOTED |= {"arithmetic": "arithmetic", "numerics": "numerics"}


def collect(
    entry: str,
    scale: str,
    *,
    device: str,
    device_name: str,
    seeds: Sequence[int],
    runs: Mapping[str, object] | Sequence[str],
    data: Sequence[Mapping[str, object]],
    seconds: float,
    hyperparameters: Mapping[str, Mapping[str, object]],
    departures: Sequence[str],
) -> dict:
    """Everything that says how a figure was made.

    device: "cpu" or "cuda", and device_name in words. seeds: of the runs. runs: their keys in the store.
    data: sources, each with a name, what it is or where it is from, and a digest. seconds: of training, by the clock.
    hyperparameters: by name, each {"value": …, "from": "paper" | "sweep" | "guess" | any words that say more}.
    departures: from the paper, a sentence each. Versions and the time are added. Raises ValueError where something is
    missing or cannot be written as JSON.
    """
    facts = {
        "entry": entry,
        "scale": scale,
        "device": device,
        "device_name": device_name,
        "versions": versions(),
        "seeds": list(seeds),
        "runs": dict(runs) if isinstance(runs, Mapping) else list(runs),
        "data": [dict(source) for source in data],
        "seconds": round(float(seconds), 1),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "hyperparameters": {name: dict(value) for name, value in hyperparameters.items()},
        "departures": list(departures),
    }
    check(facts)
    return json.loads(json.dumps(facts, allow_nan=False))  # tuples become lists here, not at the first reading


def of_runs(entry: Entry, scale: str, runs: Sequence[Run | ShippedHistory], seconds: float) -> dict:
    """Where a figure comes from that is measured on these runs, trained here or elsewhere, or joined from shipped
    tables; as `collect`, and what is known of the training."""
    stored = list({run.key: run for run in runs if isinstance(run, Run)}.values())
    joined = list({run.key: run for run in runs if isinstance(run, ShippedHistory)}.values())
    devices = {(run.notes["device"], run.notes["device_name"]) for run in stored} | {run.device for run in joined}
    machines = sorted(devices or {("cpu", device_name("cpu"))})
    facts = collect(
        entry.name,
        scale,
        device=", ".join(sorted({kind for kind, _ in machines})),
        device_name=", ".join(name for _, name in machines),
        seeds=sorted({run.spec.seed for run in runs if not run.spec.tuning}),
        runs={run.key: f"{run.spec.task_name}, seed {run.spec.seed}" for run in runs},
        data=entry.origin.data(scale),
        seconds=seconds,
        hyperparameters=entry.origin.hyperparameters(scale),
        departures=[*entry.notes(scale), *entry.origin.departures(scale)],
    )
    facts["guesses"] = list(entry.origin.guesses)
    if entry.examples:
        facts["examples"] = entry.examples[scale]
    facts["searches"] = {key(search): search.task_name for run in runs for search in needs(run.spec)}
    facts["training_seconds"] = round(sum(run.notes["seconds"] for run in stored))
    # of the spline, the code and the processor, over all runs; what was trained before this was noted has none
    for name, note in NOTED.items():
        noted = {run.notes.get(note, UNNOTED if note == "arithmetic" else "unknown") for run in stored}
        facts[name] = sorted(noted.union(*(run.noted(name) for run in joined)))
    if joined:  # from which shipped figure; `training_seconds` are those of the other runs
        facts["joined"] = {run.key: run.source for run in joined}
    facts["diverged"] = sorted({run.key for run in runs if run.diverged})
    return facts


def check(facts: Mapping[str, Any]) -> None:
    """Raise ValueError unless these are facts of a figure, with every key and a source for every number."""
    missing = [name for name in KEYS if name not in facts]
    if missing:
        raise ValueError(f"the provenance of a figure lacks {', '.join(missing)}")
    for name, value in facts["hyperparameters"].items():
        if "value" not in value or not value.get("from"):
            raise ValueError(f"hyperparameter {name!r} needs a value and where it is from; it has {value!r}")
    try:
        json.dumps(facts, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"the provenance of a figure must be JSON: {error}") from error
