"""Files that nobody wrote: every reader of `tests.fuzzed` on some inputs, and on all that were found to break one.

`python -m tests.fuzz all --minutes 10` goes on from here.
"""

import json
import random
import sys
import zipfile

import pandas as pd
import pytest

import lab
from tests import fuzz, fuzzed
from tests.fuzzed import READERS, zipped

INPUTS, SLOW = 8, ("bundle", "picture", "zoo")  # of each reader, beside its seeds; a quarter of slow ones


@pytest.fixture(scope="module", autouse=True)
def _audited():
    sys.addaudithook(fuzz._audit)  # it cannot be taken back, and does nothing while no reader is tried


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """By reader its valid files, after each was read once: imports and kernels are not what a file does."""
    made = {}

    def of(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            made[name] = READERS[name].seeds(folder)
            for data in made[name]:
                fuzz.attempt(READERS[name].read, data, folder, first=True)
        return made[name]

    return of


@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_a_right_result_or_says_a_line(name, seeds, tmp_path):
    rng = random.Random(0)
    answers = [fuzz.attempt(READERS[name].read, data, tmp_path) for data in seeds(name)]
    assert name in NEVER_WHOLE or "read" in answers, answers
    for _ in range(INPUTS // 4 if name in SLOW else INPUTS):
        fuzz.attempt(READERS[name].read, fuzz.mutated(rng.choice(seeds(name)), rng, seeds(name)), tmp_path)


NEVER_WHOLE = ("idx", "matlab", "words")  # of the catalogue: whole sets are larger


def test_what_a_file_must_not_do_is_noticed(tmp_path):
    def reader(code):
        return lambda data, folder: exec(code, {"folder": folder})

    for code in (
        "1",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import socket; socket.socket().close()",
        "import pickle; pickle.loads(b'cos\\nsystem\\n.')",
        f"open({str(tmp_path.parent / 'one')!r}, 'w').close()",
        f"import os; os.symlink('a', {str(tmp_path.parent / 'two')!r})",
    ):
        with pytest.raises(fuzz.Fault, match="a file made it do"):
            fuzz.attempt(reader(code), b"", tmp_path)
    room = [bytes(1000) for _ in range(300_000)]
    del room[:-1]  # 300 MB that this process has and nothing uses: what a file takes of them counts, too
    for deed, said in ((lambda *_: len(b"x" * (1 << 27)), "MB for a file"), (lambda *_: {}["a"], "KeyError")):
        with pytest.raises(fuzz.Fault, match=said):
            fuzz.attempt(deed, b"", tmp_path)
    assert fuzz.attempt(lambda data, folder: (folder / "a").write_bytes(data), b"x", tmp_path) == "read"


def changed(documents, **more):
    return b"s" + json.dumps(json.loads(documents[1:]) | more).encode()


def parquet(rows, folder):
    pd.DataFrame({"x": [0] * rows, "y": [0] * rows}).to_parquet(folder / "bomb.parquet")
    return (folder / "bomb.parquet").read_bytes()


def swapped(seeds, **more):
    said = json.loads(seeds("swapped")[0][1:])
    return (
        b"s"
        + json.dumps(
            said | {key: [said[key][0] | one] if key == "functions" else one for key, one in more.items()}
        ).encode()
    )


FOUND = {  # reader, input, words of what is said; each had an error of another library, or no end of memory
    "no zip": ("npz", lambda *_: b"PK\3\4 and no more", "cannot be read"),
    "damage inside": (
        "npz",
        lambda seeds, _: seeds("npz")[0].replace(b"\x93NUMPY", b"\x93NUMPI", 1)[:-70],
        "cannot be read",
    ),
    "header alone": (
        "npz",
        lambda *_: zipped(
            {
                "X.npy": b"\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000,), }"
                + b" " * 50
            }
        ),
        "cannot be read",
    ),
    "packed arrays": (
        "npz",
        lambda *_: zipped({"X.npy": bytes(1 << 26), "y.npy": b""}, zipfile.ZIP_LZMA),
        "1,100 times",
    ),
    "one value": ("parquet", lambda _, folder: parquet(1 << 20, folder), "1,100 times"),
    "large number": ("csv", lambda seeds, _: seeds("csv")[0].replace(b"-0.132", b"1e300"), "has 1e+300 in row 1"),
    "whole beyond labels": (
        "csv",
        lambda seeds, _: seeds("csv")[2].replace(b";0\n", b";1%s\n" % (b"0" * 19)),
        "read",
    ),
    "half of a stream": ("matlab", lambda seeds, _: seeds("matlab")[0][:171] + seeds("matlab")[0][27:], "incomplete"),
    "no letters": (
        "parquet",
        lambda seeds, _: seeds("parquet")[1].replace(b"2020-01-15", b"2020-01-\xf25"),
        "cannot be read",
    ),
    "bundle": (
        "bundle",
        lambda seeds, _: b"\xff" + zipped(fuzzed.bundle_seeds.files | {"a": bytes(1 << 26)}, zipfile.ZIP_LZMA),
        "1,100 times",
    ),
    "no weights": ("swapped", lambda *_: b"w" + (8).to_bytes(8, "little") + b'{"a":{}}', "do not fit"),
    "place of what": ("swapped", lambda seeds, _: swapped(seeds, places={"1": {}}), "no swapped model"),
    "places of a list": ("swapped", lambda seeds, _: swapped(seeds, places=[]), "no swapped model"),
    "a method": ("swapped", lambda seeds, _: swapped(seeds, places={"forward": 0}), "no place 'forward'"),
    "large": ("swapped", lambda seeds, _: swapped(seeds, functions={"shape": [2, 10**10]}), "more values"),
    "history": ("run", lambda seeds, _: bytes([1]) + b"text", "cannot be read"),
    "weights": ("run", lambda seeds, _: bytes([3]) + bytes(9), "cannot be read"),
    "end of a line": ("table", lambda seeds, _: seeds("table")[0].replace(b"accuracy", b"a\x0bb", 1), r"task, a\x0bb"),
}


@pytest.mark.parametrize("case", FOUND)
def test_what_was_found(case, seeds, tmp_path):
    name, make, words = FOUND[case]
    seeds(name)
    assert words in fuzz.attempt(READERS[name].read, make(seeds, tmp_path), tmp_path)


def test_bytes_of_any_file_are_a_text(tmp_path):
    (tmp_path / "a.zip").write_bytes(bytes(range(256)))  # no archive
    assert len(lab.Data.from_text(tmp_path / "a.zip", tokens="byte", context=4)) == 63
