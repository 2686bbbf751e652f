"""Notebooks as pages: words, code, and the shipped pictures of the figures that they show."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.gallery.pages import whole
from lab.nonlinearity.zoo import zoo_curves

FIGURE = re.compile(r'lab\.figure\("([^"]+)"')
EXPLORED = re.compile(r'lab\.explore\("([^"]+)"')
LINK = re.compile(r'href="([^":#]+)\.ipynb(#[^"]*)?"')


def notebook_pages(
    folder: Path, names: Iterable[str], shown: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """A page for each notebook by the page's name; and for each figure the first notebook that shows it.

    names: of notebooks below `folder`; shown: of each figure that has a page, whether its
    picture is a drawing or of photographs (style.py).
    """
    pages: dict[str, str] = {}
    of_figure: dict[str, str] = {}
    functions = list(zoo_curves()[0])  # in the order of the page of functions
    for name in names:
        cells = json.loads((folder / name).read_text(encoding="utf-8"))["cells"]
        up = "../" * (name.count("/") + 1)
        parts, title = [], name
        for cell in cells:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                title = source.splitlines()[0].removeprefix("# ") if title == name else title
                parts.append(_words(source))
                continue
            parts.append(f'<pre tabindex="0"><code>{html.escape(source)}</code></pre>')  # long lines scroll
            if "Playground()" in source:
                parts.append(f'<p><a href="{up}playground.html">the race, to be played here</a></p>')
            for function in EXPLORED.findall(source):
                if function in functions:
                    number = functions.index(function)
                    parts.append(f'<p><a href="{up}functions.html#{number}">{function}, to be explored here</a></p>')
            for figure in FIGURE.findall(source):
                if figure in shown:
                    of_figure.setdefault(figure, name)
                    link = f'<a href="{up}figures/{figure}.html">'
                    parts.append(
                        f'<p>{link}<img class="{shown[figure]}" src="{up}images/{figure}.png" alt="{figure}"'
                        ' width="640"></a></p>'
                    )
        pages[name.removesuffix(".ipynb") + ".html"] = whole(title, "\n".join(parts), up)
    return pages, of_figure


def _words(source: str) -> str:
    """Markdown as HTML; the title is the page's own, and links to notebooks lead to their pages."""
    from nbconvert.filters import markdown2html_mistune

    text = markdown2html_mistune(re.sub(r"\A# .*\n?", "", source))
    return LINK.sub(r'href="\1.html\2"', text.replace("<pre>", '<pre tabindex="0">'))
