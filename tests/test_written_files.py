"""Files of the user: written whole or not at all, never somebody else's removed, what cannot be used is said."""

import errno
import io
import os
import stat
import tarfile

import pytest
import torch

from lab import doctor, files
from lab.cli import main
from lab.cli.console import writable
from lab.data import download
from lab.errors import LabError
from lab.nonlinearity.spline import Spline
from lab.store import Store
from tests.test_store import linux

PHI = Spline(torch.linspace(-1, 1, 5), -1.0, 1.0)


def test_a_function_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    """Over an older one, with a disk that fails in the middle of writing: the older one stays."""
    path = tmp_path / "phi.json"
    PHI.save(path)
    before = path.read_bytes()
    path.chmod(0o640)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LabError, match="No space left on device"):
            Spline(torch.zeros(5), -1.0, 1.0).save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    Spline(torch.zeros(5), -1.0, 1.0).save(path)
    assert not Spline.load(path).values.any() and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_a_device_is_written_to(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    link.symlink_to(real)
    PHI.save(link)
    assert link.is_symlink() and torch.equal(Spline.load(real).values, PHI.values)
    PHI.save(os.devnull)
    with pytest.raises(IsADirectoryError):
        files.put(tmp_path, b"")


def test_a_rename_is_put_on_the_disk(tmp_path, monkeypatch):
    """The folder is synced after the file has its name: else a power cut may take back what was reported as kept."""
    deeds, sync = [], files.sync
    monkeypatch.setattr(files, "sync", lambda path: deeds.append((path.name, (tmp_path / "a").exists())))
    files.put(tmp_path / "a", b"1")
    assert deeds == [("a", False), (tmp_path.name, True)]
    sync(tmp_path / "nowhere")  # where folders cannot be synced, the file is there all the same


@linux
def test_a_file_that_may_only_be_read_is_put_on_the_disk_too(nursery, tmp_path):
    """Rights stay, so that the new file cannot be opened for writing when it is synced."""
    path = tmp_path / "a"
    path.write_bytes(b"1")
    path.chmod(0o444)
    code = f"""
from pathlib import Path
from lab import files
from lab.testing import FileCalls
from tests.processes import like_an_ordinary_user
like_an_ordinary_user()
folder = Path({str(tmp_path)!r})
with FileCalls(folder) as calls:
    files.put(folder / "a", b"2")
print([Path(path).name for name, path, *_ in calls.done if name == "fsync"])
(folder / "a").chmod(0)
try:
    files.sync(folder / "a")
except PermissionError:
    print("refused")
"""
    assert nursery.run(code).out.splitlines() == [str(["a", tmp_path.name]), "refused"]
    assert path.read_bytes() == b"2"


@pytest.mark.parametrize(
    "kind, name, content",
    [
        ("checkpoints", "a" * 64, b"somebody's file, who names his by digests, too"),
        ("checkpoints", "b" * 64, b""),
        ("runs", f"{'c' * 64}/spec.json", b'{"somebody": "else"}'),
        ("runs", f"{'d' * 64}/done.json", b"no JSON"),
        ("searches", f"{'e' * 64}/notes.txt", b"mine"),
    ],
)
def test_nothing_of_others_is_removed(store_folder, kind, name, content):
    path = store_folder / kind / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    store = Store()
    assert store.clean() == [] and path.read_bytes() == content
    (line,) = store.foreign()
    assert line.startswith(f"{kind}/{name.partition('/')[0]}")


def test_a_link_with_the_name_of_a_temporary_folder_stops_nothing(store_folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (store_folder / "runs").mkdir()
    (store_folder / "runs" / f".tmp-{'0' * 16}").symlink_to(tmp_path / "elsewhere")
    (store_folder / "runs" / f".tmp-{'1' * 16}").mkdir()
    assert Store().clean() == [f"runs/.tmp-{'1' * 16}"] and (tmp_path / "elsewhere").is_dir()
    assert Store().foreign() and len(list((store_folder / "runs").iterdir())) == 1


@pytest.mark.parametrize("kind", ["runs", "checkpoints", "leases"])
def test_a_store_that_cannot_be_used_is_not_called_healthy(store_folder, kind, capsys):
    (store_folder / kind).write_text("a file")
    assert f"{kind} is no folder: move it away" in doctor.examine()["store health"]
    with pytest.raises(SystemExit) as ended:
        main(["store", "verify"])
    assert ended.value.code == 1 and f"{kind} is no folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused_first(tmp_path, monkeypatch):
    """Whatever its rights say, as of /proc; and nothing is left in one that can be."""
    assert writable(tmp_path / "new" / "out") == tmp_path / "new" / "out" and not list(tmp_path.iterdir())

    def refuses(dir):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.TemporaryFile", refuses)
    with pytest.raises(LabError, match="read-only file system.*--out"):
        writable(tmp_path / "out")


def test_what_an_archive_holds_besides_is_bounded(tmp_path, monkeypatch):
    """A compressed archive of a kilobyte can hold hours of zeros before the file that is wanted."""
    monkeypatch.setattr(download, "MOST_SKIPPED", 1e6)
    path = tmp_path / "bomb.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, size in (("zeros", 2_000_000), ("wanted.csv", 3)):
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(bytes(size)))
    with pytest.raises(ValueError, match="of other files stand before wanted.csv"):
        download.members(path, ("wanted.csv",), 100)
    monkeypatch.setattr(download, "MOST_SKIPPED", 4e6)
    assert download.members(path, ("wanted.csv",), 100) == [bytes(3)]
