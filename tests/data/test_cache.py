"""The cache: what is damaged is named and not used; a fetch that is killed leaves nothing that looks complete."""

import io
import itertools
import os
import random
import signal
import time

import numpy as np
import pytest

from lab.data import cache, convert, datasets
from lab.data.catalogue import CATALOGUE
from lab.data.dataset import DIGESTS, Dataset, Web
from lab.data.shape import TableShape
from lab.errors import LabError
from tests.data.conftest import Quiet

ROWS = 2000
KILLS = int(os.environ.get("LAB_TEST_KILLS", "8"))  # of a fetch, at moments spread over all of it
CSV = "x,label\n" + "".join(f"{0.37 * row:.3f},{row % 2}\n" for row in range(ROWS))
CONTENT = convert.benchmark_table({"tiny.csv": CSV.encode()})
np.savez(served := io.BytesIO(), **CONTENT)
SERVED = served.getvalue()

# what a process does that knows the set
PUT = f"""
import functools
from lab.data.catalogue import CATALOGUE
from lab.data.dataset import Dataset, Web
from lab.data.shape import TableShape
from lab.data import convert
def put(address):
    web = Web(address, ("tiny.npz",), functools.partial(convert.npz, most=1_000_000, names=convert.TABLE))
    CATALOGUE["tiny"] = Dataset("tiny", "a line", TableShape({ROWS}, 1), "MIT", 0.1, (web,))
"""


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A set in the cache whose digest is not in the catalogue."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    known = Dataset("tiny", "a line", TableShape(ROWS, 1), "MIT", 0.1, (Web("https://127.0.0.1:9/", ("t",), dict),))
    monkeypatch.setitem(CATALOGUE, "tiny", known)
    cache.keep(cache.path("tiny"), CONTENT, "somewhere")
    return cache.path("tiny")


def is_whole():
    data = datasets.load("tiny")
    return data.digest == convert.digest(CONTENT) == convert.digest(data.arrays) and data.origin == "somewhere"


def refuses(path):
    """The damage is named by each that reads, in one line, and `list` goes on."""
    for ask in (datasets.load, datasets.fetch):
        with pytest.raises(LabError) as caught:
            ask("tiny")
        said = str(caught.value)
        assert str(path) in said and "remove it, and `lab data fetch tiny` gets it again" in said and "\n" not in said
    assert datasets.verify("tiny") == said
    assert all(map(datasets.describe, datasets.listing()))


def test_a_kept_set_is_one_file_and_says_where_it_is_from(tiny):
    assert is_whole() and [path.name for path in tiny.parent.iterdir()] == ["tiny.npz"]
    assert next(row for row in datasets.listing() if row["name"] == "tiny")["sha256"] == convert.digest(CONTENT)


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\3\4", b"\0" * 5000, b"\x93NUMPY\1\0", b"null", b"<html></html>"])
def test_something_else_in_a_files_place_is_named(tiny, content):
    tiny.write_bytes(content)
    refuses(tiny)


def test_a_file_cut_at_any_place_is_named(tiny):
    whole = tiny.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 25).astype(int):
        tiny.write_bytes(whole[:length])
        refuses(tiny)
    tiny.write_bytes(whole)
    datasets.verify("tiny")
    assert is_whole()


def test_a_changed_byte_anywhere_is_named_or_without_effect(tiny):
    """Of what ZIP writes beside the content some is not read (times, attributes): the content is then as it was."""
    whole, noticed = tiny.read_bytes(), 0
    places = random.Random(0).sample(range(len(whole)), 120) + list(range(50)) + list(range(-120, 0))
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        tiny.write_bytes(damaged)
        os.utime(tiny, ns=(place % 997, place % 997))
        said = datasets.verify("tiny")
        noticed += said is not None
        assert "\n" not in (said or "") and (said or is_whole())
        assert all(map(datasets.describe, datasets.listing()))
    assert noticed > 150


@pytest.mark.parametrize("change", ["other values", "no digest", "other digest", "a header that lies", "an object"])
def test_a_file_that_can_be_read_and_is_not_what_was_kept_is_named(tiny, change):
    with np.load(tiny) as arrays:
        kept = dict(arrays)
    if change == "other values":
        kept["inputs"] = kept["inputs"] + 1
    elif change == "no digest":
        del kept["digest"]
    elif change == "other digest":
        kept["digest"] = np.array("0" * 64)
    elif change == "an object":
        kept["labels"] = np.array([None, {}], dtype=object)
    np.savez(tiny, **kept)
    if change == "a header that lies":  # of its size: 10 million rows where there are 2,000
        content = tiny.read_bytes()
        assert content.count(b"(2000, 1), } ") == 1
        tiny.write_bytes(content.replace(b"(2000, 1), }     ", b"(20000000, 1), } "))
    refuses(tiny)


def test_a_set_that_does_not_fit_the_catalogue_any_more_is_named(tiny):
    small = {"inputs": CONTENT["inputs"][:50], "labels": CONTENT["labels"][:50]}
    cache.keep(cache.path("tiny"), small, "my_tiny.csv in the folder LAB_DATA")
    with pytest.raises(LabError, match="is not tiny: 50 rows, not 2,000; remove it"):
        datasets.load("tiny")


def test_a_folder_in_a_files_place_is_said(tiny):
    tiny.unlink()
    tiny.mkdir()
    assert datasets.find("tiny") is None
    with pytest.raises(LabError, match=r"cannot write to .* \(Is a directory\)"):
        cache.keep(cache.path("tiny"), CONTENT, "somewhere")


def test_what_others_are_writing_stays_and_what_was_left_goes(tiny):
    left, others = tiny.parent / f".tmp-{'01' * 8}", tiny.parent / ".tmp-of-the-user"
    left.mkdir()
    (left / "half").write_bytes(b"half")
    others.mkdir()
    with cache.unfinished(tiny.parent) as mine:
        assert not left.exists() and others.is_dir()
        with cache.unfinished(tiny.parent) as other:
            assert mine.is_dir() and other.is_dir() and mine != other
        assert mine.is_dir() and not other.exists()
    assert sorted(path.name for path in tiny.parent.iterdir()) == [".tmp-of-the-user", "tiny.npz"]


def test_a_fetch_that_is_killed_leaves_nothing_that_is_used(serve, tmp_path, monkeypatch, nursery):
    """A server that takes its time; kills at moments spread from before the first byte to after the last."""

    class Slow(Quiet):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(SERVED)))
            self.end_headers()
            for start in range(0, len(SERVED), len(SERVED) // 8):
                self.wfile.write(SERVED[start : start + len(SERVED) // 8])
                time.sleep(0.02)

        def handle(self):
            try:
                super().handle()
            except OSError:  # who asked was killed
                pass

    folder = tmp_path / "cache"
    address = serve(Slow)
    settings = {"LAB_CACHE": folder, "REQUESTS_CA_BUNDLE": os.environ["REQUESTS_CA_BUNDLE"], "NO_PROXY": "127.0.0.1"}
    fetch = f"{PUT}put({address!r})\nimport lab.cli, requests\nprint('ready', flush=True)\n"
    fetch += "lab.cli.main(['data', 'fetch', 'tiny'])\nprint('done', flush=True)"
    child = nursery.start(fetch, **settings)
    child.has_said("ready")
    begun = time.monotonic()
    child.has_said("done")
    seconds = time.monotonic() - begun  # all of it, undisturbed
    assert child.wait().code == 0
    monkeypatch.setenv("LAB_CACHE", str(folder))
    monkeypatch.setitem(CATALOGUE, "tiny", Dataset("tiny", "a line", TableShape(ROWS, 1), "MIT", 0.1))
    unfinished = complete = 0
    for moment in np.linspace(0, 1, KILLS):
        (folder / "tiny.npz").unlink(missing_ok=True)
        child = nursery.start(fetch, **settings)
        child.has_said("ready")
        time.sleep(moment * seconds)
        try:
            child.kill(signal.SIGKILL)
        except ProcessLookupError:  # it was done
            pass
        ended = child.wait()
        assert "Traceback" not in ended.err
        unfinished += any(folder.glob(".tmp-*"))
        if datasets.find("tiny"):
            complete += 1
            assert datasets.verify("tiny") is None
        assert {path.name for path in folder.iterdir() if not path.name.startswith(".tmp-")} <= {"tiny.npz"}
        assert len(list(folder.glob(".tmp-*"))) <= 2, "what a killed fetch left is removed by the next one"
    assert unfinished, "no kill hit a fetch under way"
    (folder / "tiny.npz").unlink(missing_ok=True)
    assert nursery.run(fetch, **settings).code == 0
    assert [path.name for path in folder.iterdir()] == ["tiny.npz"] and datasets.verify("tiny") is None


def test_a_fetch_killed_at_each_operation_on_a_file(serve, tmp_path, monkeypatch, nursery):
    """As above, exactly: before each file is opened, renamed or removed in the cache."""

    class At(Quiet):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(SERVED)

    folder = tmp_path / "cache"
    address = serve(At)
    settings = {"LAB_CACHE": folder, "REQUESTS_CA_BUNDLE": os.environ["REQUESTS_CA_BUNDLE"], "NO_PROXY": "127.0.0.1"}
    monkeypatch.setenv("LAB_CACHE", str(folder))
    monkeypatch.setitem(CATALOGUE, "tiny", Dataset("tiny", "a line", TableShape(ROWS, 1), "MIT", 0.1))
    for count in itertools.count(1):
        (folder / "tiny.npz").unlink(missing_ok=True)
        kill = f"from tests.processes import kill_at; kill_at({count}, {str(folder)!r})\n"
        ended = nursery.run(
            f"{PUT}\nput({address!r})\n{kill}import lab.cli; lab.cli.main(['data', 'fetch', 'tiny'])", **settings
        )
        assert ended.code in (0, -signal.SIGKILL) and "Traceback" not in ended.err
        assert datasets.find("tiny") is None or datasets.verify("tiny") is None
        if ended.code == 0:
            break
    assert count > 8 and [path.name for path in folder.iterdir()] == ["tiny.npz"]


def test_what_is_damaged_and_has_a_digest_in_the_catalogue(tiny, monkeypatch):
    monkeypatch.setitem(DIGESTS, "tiny", "0" * 64)
    with pytest.raises(LabError, match="is damaged: its content has SHA-256 .*, not 000000000000…; remove it"):
        datasets.load("tiny")
