"""Where things are, in a checkout and in an installation."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from lab import doctor, places
from lab.data import cache
from lab.errors import LabError
from lab.nonlinearity.zoo import own_folder
from lab.places import SHIPPED
from lab.store import Store


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """As if the lab were installed; the user's data folder."""
    monkeypatch.setattr(places, "CHECKOUT", None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    for variable in ("LAB_STORE", "LAB_CACHE", "LAB_ZOO"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "share" / "lab-nonlinearities"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_an_installation_writes_into_the_users_data_folder(installed):
    assert (Store().folder, cache.folder(), own_folder()) == (
        installed / "store",
        installed / "cache",
        installed / "store" / "zoo",
    )
    found = doctor.examine()
    assert "installation " in found["lab"] and str(installed / "store" / "zoo") in found["zoo"]
    assert found["store"].endswith(str(installed / "store")) and found["data"].endswith(str(installed / "cache"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_a_users_folder_that_cannot_be_written_is_one_line(installed, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/none")
    with pytest.raises(LabError, match="store /proc/none/.* cannot be written .*name another folder with LAB_STORE"):
        Store().check_writable()
    with pytest.raises(LabError, match="cannot write to /proc/none/.*LAB_CACHE"):
        cache.write(cache.path("any"), {})
    assert doctor.examine()["store health"].startswith("/proc cannot be written")


def test_without_platformdirs_the_folder_is_asked_for(installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(LabError, match="LAB_STORE"):
        Store()


def test_the_doctor_says_which_of_two_labs_is_used(monkeypatch, tmp_path):
    assert "not used" not in doctor.examine()["lab"]
    (tmp_path / "lab" / "nonlinearity").mkdir(parents=True)
    (tmp_path / "lab" / "nonlinearity" / "spline.py").touch()
    (tmp_path / "other" / "lab").mkdir(parents=True)  # some other package of this name
    for folder in (tmp_path, tmp_path / "other", tmp_path):
        monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    here = Path(places.__file__).parents[1]
    assert doctor.examine()["lab"].endswith(f"checkout {here}; not used: {tmp_path / 'lab'}")


def test_the_doctor_says_that_a_store_is_of_another_lab(monkeypatch, store_folder):
    shipped = next(SHIPPED.glob("searches/*"))
    shutil.copytree(shipped, store_folder / "searches" / shipped.name)
    revision = json.loads((shipped / "done.json").read_text())["notes"].get("arithmetic", "2")
    monkeypatch.setattr(doctor, "ARITHMETIC", int(revision))
    assert "arithmetic" not in doctor.examine()["store"]
    monkeypatch.setattr(doctor, "ARITHMETIC", int(revision) + 1)
    said = doctor.examine()["store"]
    assert f"1 results there are of another revision of the lab's arithmetic than today's {int(revision) + 1}" in said
