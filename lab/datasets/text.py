"""From the files that publishers give out to text: UTF-8, in one part, or in the publisher's own parts.

The arrays of a text are bytes (N,): `text`, or `train` and `val`, maybe with `test`. An empty line stands between two
documents. Line ends are one character, none has blanks before it.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from lab.datasets.shape import Arrays
from lab.datasets.unpack import Files

END = "<|endoftext|>"  # of a document, in some files
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def as_bytes(documents: Iterable[str]) -> np.ndarray:
    """Documents as the bytes of one text, (N,).

    >>> bytes(as_bytes(["To be, \\r\\nor not", "to be"]))
    b'To be,\\nor not\\n\\nto be\\n'
    """
    tidy = ("\n".join(line.rstrip() for line in document.splitlines()).strip("\n") for document in documents)
    text = "\n\n".join(document for document in tidy if document)
    return np.frombuffer((text + "\n").encode() if text else b"", np.uint8)


def decoded(content: bytes, name: str = "the file") -> str:
    """Text in UTF-8, without the mark that some editors put at its beginning.

    Raises ValueError for what is no text: it says where the first wrong byte is.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is no text in UTF-8: byte {error.start:,} is {content[error.start]:#04x}") from error
    if "\0" in text:
        raise ValueError(f"{name} is no text: character {text.index(chr(0)):,} is a zero byte")
    return text


def plain(files: Files) -> Arrays:
    """Text files, each of which is one document, in the order of their names; `<|endoftext|>` also ends one."""
    return {"text": as_bytes(document for text in _texts(files) for document in text.split(END))}


def parts(files: Files, names: Mapping[str, str]) -> Arrays:
    """Text files that are parts: names, by part, of its file."""
    return {part: plain({name: files[name]})["text"] for part, name in names.items()}


def plays(files: Files) -> Arrays:
    """Plays in Markdown: headings, speakers and stage directions lose their marks."""
    return {"text": as_bytes(re.sub(r"^#+ |[*_]", "", text, flags=re.MULTILINE) for text in _texts(files))}


def chapters(files: Files) -> Arrays:
    """Files called chapter_1.txt, chapter_2.txt, … in the order of their numbers."""
    numbered = {int(match[1]): name for name in files if (match := re.fullmatch(r"chapter_(\d+)\.txt", name))}
    return {"text": as_bytes(decoded(files[numbered[number]], numbered[number]) for number in sorted(numbered))}


def rows(files: Files, column: str, names: Mapping[str, str], clean: Callable[[str], str] = str) -> Arrays:
    """Parquet files or lines of JSON, of which one column has the text: names, by part, of its file."""
    return {part: as_bytes(_cleaned(_column(files[name], name, column), clean)) for part, name in names.items()}


def lines(content: bytes, column: str) -> Iterable[str]:
    """What the objects of a file with one JSON object a line have in a column."""
    for number, line in enumerate(content.splitlines(), 1):
        record = json.loads(line)
        if column not in record:
            raise ValueError(f"line {number} has no {column!r} but {', '.join(record) or 'nothing'}")
        yield record[column]


def code_search(files: Files, clean: Callable[[str], str]) -> Arrays:
    """CodeSearchNet's archive of one language: functions, less their comments; those that are no code are left out."""
    (content,) = files.values()
    splits: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(archive.namelist()):
            if (part := re.search(r"/(train|valid|test)/[^/]+\.jsonl\.gz$", name)) is not None:
                splits[part[1]] += _cleaned(lines(gzip.decompress(archive.read(name)), "code"), clean)
    return {"train": as_bytes(splits["train"]), "val": as_bytes(splits["valid"]), "test": as_bytes(splits["test"])}


def wikipedia(files: Files) -> Arrays:
    """What a reader of Wikipedia sees, from the XML of a dump (maybe inside a ZIP file): lower-case letters and blanks.

    As Mahoney's wikifil.pl does it: no tables, links as their words, digits spelled out.

    >>> page = b'<text xml:space="preserve">The [[cat|Cats]] of 1 {{box}} house &amp;amp; home</text>'
    >>> bytes(wikipedia({"pages.xml": page})["text"])
    b'the cats of one house home\\n'
    """
    ((name, content),) = files.items()
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            name = archive.namelist()[0]
            content = archive.read(name)
    text = content.decode("utf-8", "ignore")  # enwik8 is cut at a byte
    pages = re.findall(r"<text [^>]*>(.*?)(?:</text>|\Z)", text, re.DOTALL)
    return {"text": as_bytes(_visible(page) for page in pages if not re.search("#redirect", page[:99], re.IGNORECASE))}


# Pattern and replacement, in the order in which Mahoney's script has them.
_WIKI = [
    (re.compile(pattern, flags), by)
    for pattern, by, flags in (
        ("&amp;", "&", 0),
        ("&lt;", "<", 0),
        ("&gt;", ">", 0),
        (r"<ref[^<]*</ref>", "", 0),
        (r"<[^>]*>", "", 0),
        (r"\[http:[^\] ]*", "[", 0),
        (r"\|thumb|\|left|\|right|\|\d+px", "", re.IGNORECASE),
        (r"\[\[image:[^\[\]]*\|", "", re.IGNORECASE),
        (r"\[\[category:([^|\]]*)[^\]]*\]\]", r"[[\1]]", re.IGNORECASE),
        (r"\[\[[a-z\-]*:[^\]]*\]\]", "", 0),
        (r"\[\[[^|\]]*\|", "[[", 0),
        (r"\{\{[^}]*\}\}", "", 0),
        (r"\{[^}]*\}", "", 0),
        (r"[\[\]]", "", 0),
        (r"&[^;]*;", " ", 0),
    )
]


def _visible(page: str) -> str:
    for pattern, by in _WIKI:
        page = pattern.sub(by, page)
    page = re.sub("[0-9]", lambda digit: f" {_DIGITS[int(digit[0])]} ", page.lower())
    return re.sub("[^a-z]+", " ", page).strip()


def _texts(files: Files) -> Iterable[str]:
    return (decoded(files[name], name) for name in sorted(files))


def _column(content: bytes, name: str, column: str) -> Iterable[str]:
    if not name.endswith(".parquet"):
        return lines(content, column)
    from pyarrow.parquet import read_table

    return read_table(io.BytesIO(content), columns=[column])[column].to_pylist()


def _cleaned(documents: Iterable[str], clean: Callable[[str], str]) -> list[str]:
    texts = []
    for document in documents:
        try:
            texts.append(clean(document))
        except ValueError:  # code of another language, such as Python 2
            continue
    return texts
