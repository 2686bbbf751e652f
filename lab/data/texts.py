"""From the files that publishers give out to text: UTF-8, in one part, or in the publisher's own; and token files.

The arrays of a text are bytes (N,): `text`, or `train` and `val`, maybe with `test`. An empty line stands between two
documents. Line ends are one character, none has blanks before it. Code loses comments and docstrings, as in the
transformers paper (App. B).
"""

import io
import json
import re
import tokenize
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from lab.data.download import Files, bounded, unpacked
from lab.data.shape import Arrays
from lab.errors import LabError

END = "<|endoftext|>"  # of a document, in some files
# Token files of the NanoGPT speedrun: a header of 256 32-bit numbers (this mark, the version of the format, the number
# of tokens), then tokens of 16 bits. Files are mapped into memory: one of 10 GB costs none.
MARK, VERSION, HEADER = 20240520, 1, 256
MOST = 2_000_000_000  # bytes of a file in an archive, unpacked
MOST_TOKENS = 1 << 16  # tokens that 16 bits tell apart
# A string (kept) or a comment (group 1) of Java; a string ends in its line, a text block at three quotes.
_JAVA = re.compile(r'"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(/\*.*?\*/|//[^\n]*)', re.DOTALL)
_LAYOUT = (tokenize.NL, tokenize.COMMENT)
_STARTS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)  # what a statement comes after
# Pattern and replacement, in the order in which Mahoney's script has them.
_WIKI = (
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    (r"<ref[^<]*</ref>", ""),
    (r"<[^>]*>", ""),
    (r"\[http:[^\] ]*", "["),
    (r"(?i)\|thumb|\|left|\|right|\|\d+px", ""),
    (r"(?i)\[\[image:[^\[\]]*\|", ""),
    (r"(?i)\[\[category:([^|\]]*)[^\]]*\]\]", r"[[\1]]"),
    (r"\[\[[a-z\-]*:[^\]]*\]\]", ""),
    (r"\[\[[^|\]]*\|", "[["),
    (r"\{\{[^}]*\}\}", ""),
    (r"\{[^}]*\}", ""),
    (r"[\[\]]", ""),
    (r"&[^;]*;", " "),
)
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


def rows(files: Files, column: str, names: Mapping[str, str]) -> Arrays:
    """Parquet files or lines of JSON, of which one column has the text: names, by part, of its file."""
    return {part: as_bytes(map(str, _column(files[name], name, column))) for part, name in names.items()}


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
                with archive.open(name) as file:
                    (said,) = unpacked({name: bounded(file, name, MOST)}, MOST).values()
                for code in lines(said, "code"):
                    with suppress(ValueError):  # of another language, such as Python 2
                        splits[part[1]].append(clean(code))
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
            with archive.open(name) as file:
                content = bounded(file, name, MOST)
    text = content.decode("utf-8", "ignore")  # enwik8 is cut at a byte
    pages = re.findall(r"<text [^>]*>(.*?)(?:</text>|\Z)", text, re.DOTALL)
    return {"text": as_bytes(_visible(page) for page in pages if not re.search("#redirect", page[:99], re.IGNORECASE))}


def _visible(page: str) -> str:
    for pattern, by in _WIKI:
        page = re.sub(pattern, by, page)
    page = re.sub("[0-9]", lambda digit: f" {_DIGITS[int(digit[0])]} ", page.lower())
    return re.sub("[^a-z]+", " ", page).strip()


def _texts(files: Files) -> Iterable[str]:
    return (decoded(files[name], name) for name in sorted(files))


def _column(content: bytes, name: str, column: str) -> Iterable[str]:
    if not name.endswith(".parquet"):
        return lines(content, column)
    from pyarrow.parquet import read_table

    return read_table(io.BytesIO(content), columns=[column])[column].to_pylist()


def without_comments(source: str) -> str:
    """Python code without comments, and without strings that stand as statements of their own, such as docstrings.

    All else stays as it was written; lines that become empty go. Code that is no Python 3 raises ValueError.

    >>> without_comments('def f(x):\\n    "Double it."\\n    return 2 * x  # twice\\n')
    'def f(x):\\n    return 2 * x\\n'
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise ValueError(f"no Python 3: {error}") from error
    spans, before = [], tokenize.NEWLINE
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == tokenize.COMMENT:
            spans.append((token.start, token.end))
        elif token.type == tokenize.STRING and before in _STARTS and after and after.type in (*_LAYOUT, *_STARTS):
            spans.append((token.start, token.end))
        if token.type not in _LAYOUT:
            before = token.type
    old = source.splitlines(keepends=True)
    new = list(old)
    for (first, left), (last, right) in reversed(spans):  # lines are counted from 1
        rest = new[last - 1][right:]
        new[first - 1] = new[first - 1][:left].rstrip() + ("\n" if not rest.strip() else rest)
        new[first:last] = [""] * (last - first)
    return "".join(line for line, was in zip(new, old, strict=True) if line.strip() or not was.strip())


def without_java_comments(source: str) -> str:
    """Java code without comments; lines that become empty go.

    >>> without_java_comments('/** Doubles. */\\nint f(int x) { return 2 * x; } // "twice"\\nString s = "//";')
    'int f(int x) { return 2 * x; }\\nString s = "//";'
    """
    code = _JAVA.sub(lambda match: " " if match[1] else match[0], source)
    return "\n".join(line.rstrip() for line in code.splitlines() if line.strip())


def write_shard(path: Path, parts: Iterable[np.ndarray]) -> int:
    """Write parts of a token file one after the other, each (N,) below 65,536; gives the number of all tokens."""
    count = 0
    with path.open("wb") as file:
        np.zeros(HEADER, "<i4").tofile(file)
        for part in parts:
            part.astype("<u2").tofile(file)
            count += len(part)
        header = np.zeros(HEADER, "<i4")
        header[:3] = MARK, VERSION, count
        file.seek(0)
        header.tofile(file)
    return count


def mapped_shard(path: Path) -> np.ndarray:
    """The tokens of a file, (N,) uint16, read as they are asked for. LabError, one line, for another format."""
    try:
        size = path.stat().st_size
        header = np.fromfile(path, "<i4", HEADER)
    except OSError as error:
        raise LabError(f"{path} cannot be read ({error.strerror}); give a token file") from error
    count = _shard_size(header, size, str(path))
    return np.memmap(path, "<u2", "r", 4 * HEADER, (count,))


def shard_parts(files: Files, names: Mapping[str, str]) -> Arrays:
    """Token files that are parts of one text: names, by part, of its file. Arrays of uint16."""
    tokens = {}
    for part, name in names.items():
        header = np.frombuffer(files[name], "<i4", min(HEADER, len(files[name]) // 4))
        tokens[part] = np.frombuffer(files[name], "<u2", _shard_size(header, len(files[name]), name), 4 * HEADER)
    return tokens


def _shard_size(header: np.ndarray, size: int, path: str) -> int:
    """How many tokens a file of `size` bytes has; LabError for another format."""
    if len(header) < HEADER or header[0] != MARK:
        raise LabError(f"{path} is no token file: it does not begin with {MARK}; give one in the speedrun's format")
    if header[1] != VERSION:
        raise LabError(f"{path} has version {header[1]} of the format, and version {VERSION} is known; convert it")
    count = int(header[2])
    if count < 1 or size != 4 * HEADER + 2 * count:
        tokens = (size - 4 * HEADER) // 2
        raise LabError(f"{path} says that it has {count:,} tokens, and has {tokens:,}; fetch it again")
    return count
