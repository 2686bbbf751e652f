"""Source code without what people say in it: comments and docstrings removed, as in the transformers paper (App. B)."""

from __future__ import annotations

import io
import re
import tokenize

# A string (kept) or a comment (group 1) of Java; a string ends in its line, a text block at three quotes.
_JAVA = re.compile(r'"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(/\*.*?\*/|//[^\n]*)', re.DOTALL)
_LAYOUT = (tokenize.NL, tokenize.COMMENT)
_STARTS = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)  # what a statement comes after


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
    before = source.splitlines(keepends=True)
    after = list(before)
    for start, end in reversed(_spans(tokens)):
        _cut(after, start, end)
    return "".join(line for line, old in zip(after, before, strict=True) if line.strip() or not old.strip())


def without_java_comments(source: str) -> str:
    """Java code without comments; lines that become empty go.

    >>> without_java_comments('/** Doubles. */\\nint f(int x) { return 2 * x; } // "twice"\\nString s = "//";')
    'int f(int x) { return 2 * x; }\\nString s = "//";'
    """
    code = _JAVA.sub(lambda match: " " if match[1] else match[0], source)
    return "\n".join(line.rstrip() for line in code.splitlines() if line.strip())


Place = tuple[int, int]  # line, counted from 1, and column


def _spans(tokens: list[tokenize.TokenInfo]) -> list[tuple[Place, Place]]:
    """From where to where comments and strings that are statements reach, in their order."""
    spans, before = [], tokenize.NEWLINE
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == tokenize.COMMENT:
            spans.append((token.start, token.end))
        elif token.type == tokenize.STRING and before in _STARTS and after and after.type in (*_LAYOUT, *_STARTS):
            spans.append((token.start, token.end))
        if token.type not in _LAYOUT:
            before = token.type
    return spans


def _cut(lines: list[str], start: Place, end: Place) -> None:
    (first, left), (last, right) = start, end
    rest = lines[last - 1][right:]
    lines[first - 1] = lines[first - 1][:left].rstrip() + ("\n" if not rest.strip() else rest)
    for line in range(first, last):
        lines[line] = ""
