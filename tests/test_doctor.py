"""The doctor: what is here is said as it is, also where something is wrong."""

import json
import os
import shutil
import sys

import numpy
import pytest
import torch

from lab import doctor
from lab.api import train
from lab.cli import main
from lab.nonlinearity import native
from lab.store import Store

WORDS = (
    "python",
    "torch",
    "numpy",
    "plotly",
    "device",
    "spline kernel",
    "training steps",
    "browser",
    "zoo",
    "data",
    "store",
    "store health",
)


def test_it_says_what_is_here():
    found = doctor.examine()
    assert set(WORDS) <= found.keys() and all(isinstance(text, str) and text for text in found.values())
    assert found["torch"] == torch.__version__ and found["numpy"] == numpy.__version__
    assert found["device"].startswith("cuda" if torch.cuda.is_available() else "cpu")
    assert found["spline kernel"].startswith("compiled C" if native.library() else "numba")
    assert found["store"].endswith(f"results in {Store().folder}")


def test_the_command_prints_it_for_people_and_programs(capsys):
    main(["doctor", "--json"])
    assert set(WORDS) <= json.loads(capsys.readouterr().out).keys()
    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == list(doctor.examine())


def test_a_browser_is_found_where_images_find_it(monkeypatch, tmp_path):
    chromes = [name for name in ("chromium", "google-chrome", "chrome") if shutil.which(name)]
    monkeypatch.delenv("BROWSER_PATH")
    found = doctor.browser()
    assert found is None or os.access(found, os.X_OK)
    assert not chromes or found
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    text = doctor.examine()["browser"]
    assert text.startswith("none found") and "install" in text and "\n" not in text


def test_a_missing_kernel_is_said_with_its_reason(nursery):
    code = """
import os
os.environ.update(CC="no-such-compiler", XDG_CACHE_HOME=os.getcwd())
from lab.doctor import examine
print(examine()["spline kernel"])
"""
    ended = nursery.run(code)
    assert ended.code == 0 and ended.out.startswith("numba") and len(ended.out.splitlines()) == 1
    assert "no-such-compiler" in ended.out


def test_damaged_results_are_counted_and_the_first_are_named(store_folder):
    train("memorize", seeds=5, scale="smoke", progress=False)
    assert doctor.examine()["store health"] == "every result is as it was written"
    for number, folder in enumerate(sorted((store_folder / "runs").iterdir())[:4], 1):
        (folder / "history.npz").unlink()
        text = doctor.examine()["store health"]
        assert folder.name in text if number < 4 else "and 1 more: see `lab store verify`" in text
    assert doctor.examine()["store"].startswith("5 results")


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_a_store_that_cannot_be_read_is_a_finding_and_not_the_end(nursery, store_folder):
    (store_folder / "runs").mkdir()
    (store_folder / "runs").chmod(0)
    code = """
from tests.processes import like_an_ordinary_user
from lab.cli import main
like_an_ordinary_user()
main(["doctor"])
"""
    ended = nursery.run(code, LAB_STORE=store_folder)
    (store_folder / "runs").chmod(0o755)
    assert ended.code == 0 and ended.err == "" and "Permission denied" in ended.out and "LAB_STORE" in ended.out


@pytest.mark.skipif(sys.platform != "linux", reason="nobody writes there, not even root")
def test_a_store_that_cannot_be_written_is_not_healthy(monkeypatch, tmp_path):
    assert Store(tmp_path / "a" / "new" / "one").problem() is None and not list(tmp_path.iterdir())
    monkeypatch.setenv("LAB_STORE", "/proc/store")
    assert doctor.examine()["store health"].startswith("/proc cannot be written (")


def test_where_there_are_no_locks_it_says_so(store_folder, monkeypatch):
    assert "locks" not in doctor.examine()["store health"]
    monkeypatch.setattr("lab.files.fcntl", None)
    assert "no locks here: commands that run at the same time may train the same" in doctor.examine()["store health"]
