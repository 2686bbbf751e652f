"""What commands print reaches any console, and a reader that leaves early, or a full disk, is no traceback."""

import io
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from lab.cli import COMMANDS, main
from lab.places import RESULTS
from tests.processes import ROOT

LISTING = ("figures crossing", "data list")
WRONG = {"figure nosuch": 2, "search nosuch": 2, "chess": 2, "data fetch mnist☃": 2}
HELP = ("--help", *(f"{name} --help" for name in COMMANDS))


ENCODINGS = ("cp1252", "ascii", "utf-8")


def printed(words, encoding):
    """Exit code of a command, and the bytes that it prints to stdout and stderr on a console of an encoding."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words.split())
        except SystemExit as end:
            code = end.code
        out.flush()
        err.flush()
    return code, out.buffer.getvalue(), err.buffer.getvalue()


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("words", [*HELP, *LISTING, *WRONG])
def test_every_command_prints_on_any_console(store_folder, words, encoding):
    code, out, err = printed(words, encoding)
    assert code == WRONG.get(words, 0)
    assert (err if code else out).decode(encoding).strip()


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_name_that_is_no_text_is_printed(encoding):
    name = b"caf\xe9-\xff"
    code, _, err = printed(f"scorecard --results {os.fsdecode(name)}", encoding)
    assert code == 2 and b"caf" in err and (name in err) == (encoding == "utf-8")


@pytest.mark.parametrize("words", ["--help", "data list"])
def test_a_reader_that_leaves_early_is_no_error(words):
    """As with `lab figures | head`."""
    reading, writing = os.pipe()
    os.close(reading)
    done = _run(words, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_another_pipe_that_breaks_is_an_error(monkeypatch):
    def run(self):
        raise BrokenPipeError(32, "of a worker")

    monkeypatch.setattr(COMMANDS["doctor"], "run", run)
    reading, writing = os.pipe()
    monkeypatch.setattr(sys, "stdout", os.fdopen(writing, "w"))
    with pytest.raises(BrokenPipeError):
        main(["doctor"])
    sys.stdout.close()
    os.close(reading)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_output_that_cannot_be_written_is_one_line():
    with Path("/dev/full").open("wb") as full:
        done = _run("--help", stdout=full)
    assert done.returncode == 1 and done.stderr.decode().count("\n") == 1 and b"No space left" in done.stderr


TYPOS = (
    *(
        "figure transformers/fig99",
        "figure transformers/fig5 --scale lapto",
        "figure transformers/fig5 --tasks memorise",
    ),
    *("figure transformers/fig5 --device gpux", "figures transformer", "bundle transformers/fig99 a.zip"),
    *("search memorise", "search memorize --scale lapto", "search memorize --device gpux", "sweep memorise"),
    *("train-all --scale lapto", "scorecard --scale lapto", "scale --scale papper", "data fetch minst"),
    *("finetune abc colla", "chess"),
)


def test_a_misspelt_word_waits_for_no_import():
    """Of all in one process; torch alone takes seconds."""
    code = (
        "import sys; from lab.cli import main\n"
        f"for words in {TYPOS}:\n"
        "    try: main(words.split())\n"
        "    except SystemExit as end: assert end.code == 2, words\n"
        "    else: raise AssertionError(words)\n"
        "    assert not {'torch', 'pandas'} & set(sys.modules), words\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]


def test_a_scorecard_is_judged_anew_where_a_table_has_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    results, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    shutil.copytree(RESULTS / "activations" / "table1", elsewhere / "table1")
    results.mkdir()
    (results / "activations").symlink_to(elsewhere)
    first, again = (printed(f"scorecard --results {results}", "utf-8") for _ in range(2))
    assert first == again and first[0] == 0 and len(list((tmp_path / "cache" / "scorecard").iterdir())) == 1
    assert printed(f"scorecard --results {results} --json", "utf-8")[1] != first[1]
    shutil.rmtree(elsewhere / "table1")
    assert printed(f"scorecard --results {results}", "utf-8")[0] == 1


def _run(words, **streams):
    command = [sys.executable, "-m", "lab", *words.split()]
    return subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, **streams)
