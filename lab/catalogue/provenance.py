"""Where a figure comes from, as a dict that JSON can hold (design, section 4: Provenance)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

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


def as_json(facts: Mapping[str, object]) -> bytes:
    """What is in provenance.json."""
    return (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode()


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
