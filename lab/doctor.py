"""What is here: versions, device, kernels in use, browser, zoo, data, store."""

import platform
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch

from lab.catalogue.export import browser
from lab.data import cache, datasets
from lab.devices import choose_device, device_name
from lab.errors import LabError
from lab.files import locked, read
from lab.nonlinearity import op
from lab.nonlinearity.zoo import own_folder, zoo_names
from lab.places import VERSION, in_words, unused
from lab.spec import from_json
from lab.store import UNNOTED, Store, results
from lab.training import steps
from lab.versions import arithmetic, version_of

PACKAGES = (
    "numpy",
    "pandas",
    "scikit-learn",
    "umap-learn",
    "plotly",
    "ipywidgets",
    "anywidget",
    "jupyterlab",
    "kaleido",
)


def examine() -> dict[str, str]:
    """Findings by name, in words.

    >>> "torch" in examine()
    True
    """
    device = choose_device("auto")
    findings = {"lab": _lab(), "python": platform.python_version(), "torch": str(torch.__version__)}
    findings |= {name: version_of(name) for name in PACKAGES}
    findings["device"] = f"{device} ({device_name(device)})"
    findings |= {"spline kernel": _or_error(op.describe), "training steps": _or_error(steps.describe)}
    findings["browser"] = browser() or "none found: figures come without PNG and SVG; install Chromium or Chrome"
    findings["zoo"] = _or_error(_zoo)
    findings["data"] = _or_error(_data)
    return findings | _store()


def _lab() -> str:
    """Which lab this is, and which others Python would find behind it."""
    others = "".join(f"; not used: {place}" for place in unused())
    return f"{VERSION}, {in_words()}{others}"


def _or_error(examined: Callable[[], str]) -> str:
    """A finding, or the line that says what is wrong: for that a doctor is asked."""
    try:
        return examined()
    except LabError as error:
        return str(error)


def _zoo() -> str:
    line = f"{len(zoo_names())} learned functions"
    with suppress(LabError):  # no folder for one's own: the store's line says why
        line += f"; your own go to {own_folder()}"
    return line


def _data() -> str:
    here = [name for name in datasets.names() if datasets.find(name)]
    said = f"{len(here)} of {len(datasets.names())} data sets here ({', '.join(here)}); `lab data` lists all"
    return f"{said}; what is fetched goes to {cache.folder()}"


def _is_of_today(result: Path) -> bool:
    """Whether a result has the revision of the arithmetic by which its spec trains today; so has what cannot be read,
    of which another line tells."""
    with suppress(OSError, ValueError):
        spec = from_json((read(result / "spec.json") or b"").decode())
        return results.done(result).get("notes", {}).get("arithmetic", UNNOTED) == arithmetic(spec)
    return True


def _store() -> dict[str, str]:
    try:
        store = Store()
    except LabError as error:  # LAB_STORE can be no folder
        return {"store": "none", "store health": str(error)}
    try:
        findings = {"store": f"{sum(1 for _ in store.results())} results in {store.folder}"}
        damaged, foreign = store.verify(), store.foreign()
    except LabError as error:  # what is wrong is what a doctor is asked for
        return {"store": str(store.folder), "store health": str(error)}
    if (problem := store.problem()) is not None:
        return findings | {"store health": problem}
    if others := sum(not _is_of_today(path) for path in store.results()):
        said = f"{others} results there are of another revision of the lab's arithmetic than today's"
        findings["store"] += f"; {said}, and no figure mixes the two"
    more = [f"and {len(damaged) - 3} more: see `lab store verify`"] if len(damaged) > 3 else []
    health = [*damaged[:3], *more] or ["every result is as it was written"]
    health += [f"{len(foreign)} things there are not the lab's: see `lab store verify`"] if foreign else []
    here = next(path for path in (store.local_folder, *store.local_folder.parents) if path.is_dir())
    if store.folder == here and locked(here) is None:
        health.append("there are no locks here: commands that run at the same time may train the same")
    return findings | {"store health": "; ".join(health)}
