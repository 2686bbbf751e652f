"""Where things are, in a checkout and in an installation."""

import importlib.metadata
import json
import shutil
import sys
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

import lab
from lab import doctor, places
from lab.cli import main
from lab.data import cache
from lab.errors import LabError
from lab.nonlinearity.zoo import own_folder
from lab.places import SHIPPED
from lab.spec import ConstantRate, Perceptron, RunSpec
from lab.store import Store
from lab.tasks import Operation
from lab.versions import versions
from tests.processes import ROOT

READ_ONLY = """
import lab
from lab.cli import main
from tests.processes import ROOT, read_only
try:
    read_only(str(ROOT))
except PermissionError:
    raise SystemExit(77)
main(["doctor"])
print(lab.zoo("transformers/memorize").values[:1].tolist())
for words in ("notebooks --no-open {}/mine", "sweep memorize --scale smoke"):
    try:
        main(words.format(ROOT).split())
    except SystemExit as end:
        assert end.code == 1
"""


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
def test_a_users_folder_that_cannot_be_written_is_one_line(installed, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/none")
    with pytest.raises(LabError, match="store /proc/none/.* cannot be written .*name another folder with LAB_STORE"):
        Store().check_writable()
    with pytest.raises(LabError, match="cannot write to /proc/none/.*LAB_CACHE"):
        cache.write(cache.path("any"), {})
    monkeypatch.setenv("LAB_STORE", "/proc/none")
    with pytest.raises(SystemExit):
        main(["search", "memorize", "--scale", "smoke"])
    assert "LAB_ZOO name another folder" in capsys.readouterr().err
    monkeypatch.delenv("LAB_STORE")
    assert doctor.examine()["store health"].startswith("/proc cannot be written")


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are Linux's")
def test_where_nothing_can_be_written_the_lab_works_or_says_it_in_a_line(nursery):
    folders = {"HOME": ROOT / "data", "XDG_CACHE_HOME": ROOT / "data" / "none", "LAB_STORE": ROOT / "data" / "store"}
    ended = nursery.run(READ_ONLY, **folders)
    if ended.code == 77:
        pytest.skip("this machine lets nobody mount")
    assert ended.code == 0, ended.err
    assert "spline kernel" in ended.out and "[0.0" in ended.out
    assert len(ended.said) == 2 and all("Read-only file system" in line for line in ended.said), ended.err


def test_the_version_is_that_of_the_lab_in_use(monkeypatch, tmp_path):
    """Not that of another one which is installed beside it."""
    noted = tmp_path / "lab_nonlinearities-99.0.dist-info"
    noted.mkdir()
    (noted / "METADATA").write_text("Name: lab-nonlinearities\nVersion: 99.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert importlib.metadata.version("lab-nonlinearities") == "99.0"
    assert doctor.examine()["lab"].startswith(f"{lab.__version__}, ") and versions()["lab"] == lab.__version__


def test_without_platformdirs_the_folder_is_asked_for(installed, monkeypatch):
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(LabError, match="LAB_STORE"):
        Store()


def test_the_doctor_says_which_of_two_labs_is_used(monkeypatch, tmp_path):
    class Editable:
        """Of an editable installation."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            return spec_from_file_location(name, tmp_path / "editable" / name / "__init__.py")

    alone = doctor.examine()["lab"]
    assert f"checkout {Path(places.__file__).parents[1]}" in alone
    for folder in ("", "editable"):
        (tmp_path / folder / "lab" / "nonlinearity").mkdir(parents=True)
        (tmp_path / folder / "lab" / "nonlinearity" / "spline.py").touch()
    (tmp_path / "other" / "lab").mkdir(parents=True)  # some other package of this name
    for folder in (tmp_path, tmp_path / "other", tmp_path):
        monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Editable])
    others = sorted(f"not used: {tmp_path / folder / 'lab'}" for folder in ("", "editable"))
    assert sorted({*doctor.examine()["lab"].split("; ")} - {*alone.split("; ")}) == others


def test_the_doctor_says_that_a_store_is_of_another_lab(monkeypatch, store_folder):
    shipped = next(SHIPPED.glob("searches/*"))
    shutil.copytree(shipped, store_folder / "searches" / shipped.name)
    revision = json.loads((shipped / "done.json").read_text())["notes"].get("arithmetic", "2")
    monkeypatch.setattr(doctor, "arithmetic", lambda spec: revision)
    assert "arithmetic" not in doctor.examine()["store"]
    monkeypatch.setattr(doctor, "arithmetic", lambda spec: str(int(revision) + 1))
    assert "1 results there are of another revision of the lab's arithmetic than today's" in doctor.examine()["store"]


@pytest.mark.parametrize(("revision", "words"), [(3, ""), (2, "1 results")])
def test_the_doctor_knows_the_revision_of_perceptrons(store_folder, revision, words):
    spec = RunSpec(Operation("a+b", modulus=27), Perceptron(1, 4), ConstantRate(2, 0.01), 0)
    Store().save(spec, {}, {}, {"arithmetic": str(revision)})
    said = doctor.examine()["store"]
    assert words in said and (bool(words) == ("arithmetic" in said))
