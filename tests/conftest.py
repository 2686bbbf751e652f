"""What every test shares: no test touches the user's store or data, torch leaves a core to the others, and files that
take long come first."""

import functools
import gc
import os
import sys
from pathlib import Path

# Before torch is imported, and inherited by every process that a test starts: two processes with two
# threads each stall each other on two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

from tests.order import FIRST, KERNEL, NOT_NUMERICAL, NUMERICAL, PAGES
from tests.processes import Nursery

torch.set_num_threads(1)
# The same examples in every run, so that a red test is red again; no deadline, because machines differ.
settings.register_profile("lab", derandomize=True, deadline=None)
settings.load_profile("lab")


HERE = Path(__file__).parent
MARKED = {
    mark: tuple([HERE / name for name in names] for names in lists)
    for mark, lists in {"numerical": (NUMERICAL, NOT_NUMERICAL), "kernel": (KERNEL, ())}.items()
}
ROOMY = 12e9  # bytes of memory: a worker takes up to two gigabytes, and so do a browser and the notebooks in it


def pytest_xdist_auto_num_workers(config):
    """A worker a core, and one more for the time in which the others wait for a disk, a browser or a process."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return (os.cpu_count() or 1) + (pages > ROOMY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A worker takes files, and those of JupyterLab together."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "tests/browser" if file.startswith("tests/browser/") and not file.endswith(PAGES) else file

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@functools.cache
def _rank(path):
    """Where a file stands among those that come first."""
    return next((rank for rank, first in enumerate(FIRST) if path.is_relative_to(HERE / first)), len(FIRST))


def pytest_sessionstart():
    """Twelve thousand tests are found without a look for garbage, a third of what that takes."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """What is there now stays: the collector, whose walks through it took a tenth of the tests' time, leaves it out,
    and looks for garbage after 20,000 new objects, not Python's 700."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()
    # Plotly takes "xaxis_title_text" apart anew whenever it is named, for a tenth to a fifth of what a plot takes.
    if plotly := sys.modules.get("plotly.basedatatypes"):
        plotly._str_to_dict_path_full = functools.cache(plotly._str_to_dict_path_full)


def pytest_collection_modifyitems(items):
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: _rank(item.path))
    for item in items:
        for mark in MARKED:
            if _has(item.path, mark):
                item.add_marker(mark)


@functools.cache
def _has(path, mark):
    """Whether the tests in this file have a mark."""
    names, but = MARKED[mark]
    return any(map(path.is_relative_to, names)) and not any(map(path.is_relative_to, but))


def pytest_ignore_collect(collection_path, config):
    """Where tests of one mark are asked for, files without any are not even imported."""
    mark = config.option.markexpr
    if mark in MARKED and collection_path.name.startswith("test_") and not _has(collection_path, mark):
        return collection_path.is_file() or None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """With LAB_REQUIRE_BROWSER=1 a skipped browser test has failed."""
    report = yield
    if report.skipped and item.get_closest_marker("browser") and os.environ.get("LAB_REQUIRE_BROWSER") == "1":
        report.outcome = "failed"
        report.longrepr = f"LAB_REQUIRE_BROWSER=1 forbids what happened: {report.longrepr[-1]}"
    return report


@pytest.fixture(scope="session", autouse=True)
def _not_the_users_store(tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # one for all workers: what a notebook trained is not trained again
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_STORE", str(folder / "store"))
        patch.setenv("LAB_CACHE", str(folder / "cache"))  # only what is shipped is here
        patch.setenv("LAB_WORKERS", "1")  # a worker process imports torch for seconds, to train for less than one
        patch.delenv("LAB_DATA", raising=False)
        patch.setenv("BROWSER_PATH", "none")  # images take a Chrome seconds: tests of them take this away
        patch.setattr("lab.progress.LONG", float("inf"))  # nothing is long on a busy machine
        yield


@pytest.fixture
def store_folder(tmp_path, monkeypatch):
    """An empty folder that is the store for one test, here and in the processes it starts."""
    folder = tmp_path / "store"
    folder.mkdir()
    monkeypatch.setenv("LAB_STORE", str(folder))
    return folder


@pytest.fixture(scope="session")
def nursery(tmp_path_factory):
    """Where processes come from that may be killed, starved and deprived of rights; their store is LAB_STORE."""
    made = Nursery(tmp_path_factory.mktemp("processes"))
    yield made
    made.close()
