"""Where a cluster is: processes of this machine, the address of a scheduler, a file that says how to make one."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.errors import ArgumentError, LabError, check_type, check_whole, shortened, shown

if TYPE_CHECKING:
    from distributed import Client

EXPECTED = "give local:4, the address of a scheduler (tcp://HOST:PORT), a .yaml file, or a distributed.Client"
INSTALL = "a cluster needs Dask, which is not installed; pip install 'lab-nonlinearities[cluster]'"
PATIENCE = 20.0  # seconds for a scheduler to answer
MOST = 1024  # processes on one machine
FIELDS = {"class", "options", "workers"}


@contextmanager
def connected(cluster: Client | str | Path | None) -> Iterator[Client | None]:
    """The client of a cluster, within the block; what is made here ends with it. None stays None.

    cluster: "local:4" (processes of this machine), "tcp://HOST:PORT" (a scheduler), "cluster.yaml" (the class of a Dask
    cluster, its options, the number of workers), or a `distributed.Client`, which is left open.

    Raises ArgumentError for anything else, LabError where no scheduler answers or Dask is not installed.
    """
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise LabError(INSTALL) from error
    if isinstance(cluster, Client):
        yield cluster
        return
    if not isinstance(cluster, (str, Path)):
        advice = "; of a cluster, that is cluster.get_client()" if hasattr(cluster, "get_client") else ""
        raise ArgumentError(f"cluster={shown(cluster)}: {EXPECTED}{advice}")
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        yield stack.enter_context(_client(str(cluster), stack))


def _client(text: str, stack: ExitStack) -> Client:
    from distributed import Client, LocalCluster

    if text.startswith("local:"):
        number: Any = text.removeprefix("local:")
        count = check_whole("local", int(number) if number.isdecimal() else number, 1, MOST)
        made = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
        return Client(stack.enter_context(made))
    if re.fullmatch(r"(tcp|tls|ucx|ucxx|ws|wss|inproc)://\S+", text):
        try:
            return Client(text, timeout=PATIENCE)
        except (OSError, TimeoutError) as error:
            raise LabError(f"no scheduler answers at {text}; start one there with `dask scheduler`") from error
    if text.endswith((".yaml", ".yml")):
        return Client(stack.enter_context(_made(Path(text))))
    raise ArgumentError(f"cluster={shown(text)}: {EXPECTED}")


def _made(path: Path) -> Any:
    """The cluster that a file describes."""
    import yaml

    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except Exception as error:  # PyYAML's own, and what its numbers and dates raise
        said = getattr(error, "strerror", None) or "no YAML"
        raise ArgumentError(f"cluster={shown(str(path))} cannot be read ({said}); {EXPECTED}") from error
    if not isinstance(given, Mapping) or not {"class", "workers"} <= set(given) <= FIELDS:
        raise ArgumentError(
            f"{path}: give class (such as dask_jobqueue.SLURMCluster), workers (a number), and options if need be"
        )
    chosen = check_type(f"class in {path}", given["class"], str, "a name, such as dask_jobqueue.SLURMCluster")
    module, _, name = chosen.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except Exception as error:  # a module that is no package of clusters may raise anything
        said = f"there is no class {shown(chosen)}; install the package that has it"
        raise ArgumentError(f"{path}: {said}") from error
    if not isinstance(kind, type) or not all(hasattr(kind, name) for name in ("scale", "get_client")):
        raise ArgumentError(f"{path}: {shown(chosen)} is no class of a Dask cluster; {EXPECTED}")
    workers = check_whole(f"workers in {path}", given["workers"])
    try:
        made = kind(**(given.get("options") or {}))
        made.scale(workers)
    except Exception as error:  # of whatever package it is
        said = f"{shown(chosen)} does not take these options ({shortened(str(error), 150)})"
        raise ArgumentError(f"{path}: {said}") from error
    return made


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask tells of every lost worker on several lines of its own; the lab says in one line what matters."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
