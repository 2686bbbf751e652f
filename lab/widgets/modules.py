"""The modules of the page as text: one file that a page, or a widget, can import without a server."""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cache
from pathlib import Path

from lab.plots.page import THEME

FOLDER = Path(__file__).with_name("page")
IMPORT = re.compile(r'from "\./([a-z_]+\.js)"')

# anywidget gives a widget two seconds to set itself up, and drops what is later sent to one that took longer. Loading a
# module with all that it imports may take that long on a busy page; so it is loaded when it is shown, and waited for.
WIDGET = """let shown;
export default {{ render: async (context) => (await (shown ??= import("{module}"))).default.render(context) }};
"""

DOCUMENT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
{body}
</body>
</html>
"""
PART = """<div id="{name}-root" data-lm-suppress-shortcuts="true">{words}</div>
<script id="{name}-state" type="application/json">{state}</script>
<script type="module">
import {{ render }} from "{module}";
const state = JSON.parse(document.getElementById("{name}-state").textContent);
const model = {{ get: (name) => state[name], set: (name, value) => {{ state[name] = value; }}, on() {{}}, off() {{}},
  save_changes() {{}} }};
const el = document.getElementById("{name}-root");
el.replaceChildren();
render({{ model, el }});
</script>"""


def document(title: str, head: str, body: str) -> str:
    """An HTML document; title: as text, head and body: as HTML."""
    return DOCUMENT.format(title=html.escape(title), head=head, body=body)


@cache
def source(name: str) -> str:
    """A module with those that it imports inside, as data URLs: a page opened from disk may import no other file."""
    return IMPORT.sub(lambda match: f'from "{url(match[1])}"', (FOLDER / name).read_text(encoding="utf-8"))


@cache
def url(name: str) -> str:
    """A module as an address that holds all of it."""
    return "data:text/javascript;base64," + base64.b64encode(source(name).encode()).decode()


@cache
def widget(name: str) -> str:
    """A module as what anywidget loads: nothing until it is shown."""
    return WIDGET.format(module=url(name))


def style() -> str:
    """How pages look, light or dark as the reader's system is."""
    return (FOLDER / "page.css").read_text(encoding="utf-8") + THEME


def page(title: str, module: str, state: dict, words: str = "") -> str:
    """An HTML page that holds a module, what it shows and nothing that lies elsewhere.

    module: a file of `page/` with a function `render`; state: what its model gives; words: HTML above it.
    """
    body = f"<main>\n<h1>{html.escape(title)}</h1>\n{words}\n{part(module, state)}\n</main>"
    return document(title, f"<style>{style()}</style>", body)


def part(module: str, state: dict, name: str = "lab", words: str = "") -> str:
    """What a module shows, as a part of a page. name: no other part of the page has it; words: HTML, as long as no
    script has run."""
    text = json.dumps(state, allow_nan=False).replace("<", "\\u003c")  # no `</script>` in a name may end it
    return PART.format(state=text, module=url(module), name=name, words=words)
