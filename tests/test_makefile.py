"""`make test` runs each of its parts, whatever became of the one before, and says so when one failed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("ruff check .", "python -m mypy", "python -m pytest")
# stands for the programs of an installation: notes what it is asked, and fails where FAILS says so
PROGRAM = """#!/bin/sh
asked="$(basename "$0") $*"
echo "$asked" >> "$NOTES"
case "$asked" in *"$FAILS"*) exit 1;; esac
"""


@pytest.fixture
def make_test(tmp_path):
    """Call with a part that fails, or none: what `make test` returns, and what it asked for, in order."""
    if shutil.which("make") is None:
        pytest.skip("make is not on the PATH")
    for name in ("ruff", "python"):
        (tmp_path / name).write_text(PROGRAM)
        (tmp_path / name).chmod(0o755)
    notes, ready = tmp_path / "notes", tmp_path / "ready"
    ready.touch()  # newer than what an installation depends on

    def run(fails="none of them", *flags):
        notes.write_text("")
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
        done = subprocess.run(
            ["make", *flags, "test", f"BIN={tmp_path}", f"READY={ready}", f"TESTED={ready}"],
            cwd=ROOT,
            env=environment | {"NOTES": str(notes), "FAILS": fails},
            capture_output=True,
            text=True,
        )
        return done.returncode, notes.read_text().splitlines()

    return run


def parts(asked):
    """Which parts were asked for, in order."""
    return [next((part for part in PARTS if part in line), line) for line in asked]


@pytest.mark.parametrize("flags", [(), ("--jobs=2",)], ids=["one at a time", "make -j2"])
def test_every_part_runs_in_turn(make_test, flags):
    code, asked = make_test("none of them", *flags)
    assert code == 0 and parts(asked) == [*PARTS]


def test_every_test_is_run(make_test):
    """None is left out: neither some folders are named, nor is something ignored."""
    _, (_, _, asked) = make_test()
    _, _, arguments = asked.partition("-m pytest ")
    assert "tests" not in arguments
    assert not {"-m", "-k", "--ignore", "--ignore-glob", "--deselect"} & set(arguments.replace("=", " ").split())


@pytest.mark.parametrize("fails", PARTS)
def test_a_part_that_fails_keeps_none_from_running_and_fails_the_whole(make_test, fails):
    code, asked = make_test(fails)
    assert code != 0 and parts(asked) == [*PARTS]
