"""Seconds of processor by file of tests and by test, with those of processes that they start; the clock says little
where others work, too.

    python -m pytest -p tests.seconds tests/probes

A process that ends without anybody waiting for it, as the kernel of a notebook, is left out once it has ended.
"""

import os
from collections import Counter
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import pytest

MOST = 30  # lines of each list
TICKS = os.sysconf("SC_CLK_TCK")
SPENT = Counter()


def spent() -> float:
    """Of this process, of its children that have ended, and of those that live, with what they have waited for."""
    ended = [getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)]
    children, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        process = int(path.parent.name)
        children.setdefault(int(fields[1]), []).append(process)
        seconds[process] = sum(map(int, fields[11:15])) / TICKS
    total, waiting = sum(use.ru_utime + use.ru_stime for use in ended), children.get(os.getpid(), [])
    while waiting:
        total += seconds[process := waiting.pop()]
        waiting += children.get(process, [])
    return total


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    before = spent()
    result = yield
    SPENT["collection"] = spent() - before
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = spent()
    result = yield
    SPENT[item.nodeid] = spent() - before
    return result


def pytest_terminal_summary(terminalreporter):
    files = Counter()
    for name, seconds in SPENT.items():
        files[name.partition("::")[0]] += seconds
    for what, counted in {"files": files, "tests": SPENT}.items():
        terminalreporter.section(f"{sum(counted.values()):.0f} seconds of processor: {what}")
        for name, seconds in counted.most_common(MOST):
            terminalreporter.write_line(f"{seconds:8.1f} {name}")
