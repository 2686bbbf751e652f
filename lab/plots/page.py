"""How plots behave in a page. Who imports this has it for every plot that Plotly itself displays, too."""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

# Plotly's renderers import nbformat, and that in the end a check of addresses in any script, which compiles 38 grammars
# for more than a second. No plot has such an address: where nobody has imported the check, it is left out.
_absent = sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
from plotly.io import renderers  # noqa: E402
from plotly.io.base_renderers import MimetypeRenderer  # noqa: E402

from lab.plots import go  # noqa: E402
from lab.plots.svg import svg  # noqa: E402

if _absent is None:
    del sys.modules["rfc3987_syntax"]

# Plotly 7 has a button that uploads the plot to a company's server. No plot of the lab offers that.
PRIVATE = {"showSendToCloud": False, "plotlyServerURL": ""}
CONFIG = {"responsive": True, "displaylogo": False, "displayModeBar": "hover", **PRIVATE}
BAR = 26  # px above a plot for its buttons, so that they cover neither a title nor a legend
# Panels and matrices need so many px (`lab.plots.panels`). In a narrower cell of JupyterLab, or a narrower page, a plot
# stays as wide and scrolls sideways.
NARROWEST = 560
# how plots and pictures look where the page is dark
THEME = Path(__file__).with_name("theme.css").read_text(encoding="utf-8")
CELL = f"""{THEME}
.jp-OutputArea-child > .jp-RenderedPlotly:has(> .plot-container) {{ min-width: {NARROWEST}px; overflow: hidden; }}
"""

for _name in list(renderers):
    _renderer = renderers[_name]
    if hasattr(_renderer, "config"):
        _renderer.config = {**(_renderer.config or {}), **PRIVATE}


class SVG(MimetypeRenderer):
    """A picture next to what Plotly draws: a saved notebook is whole where no script runs, as on GitHub or in HTML that
    nbconvert made."""

    def to_mimebundle(self, fig_dict: dict) -> dict[str, str]:
        try:
            picture = svg(fig_dict)
        except (LookupError, TypeError, ValueError):  # Plotly draws data that fit badly, and colours of any notation
            picture = None
        return {"text/plain": "a plot that JupyterLab shows"} if picture is None else {"image/svg+xml": picture}


renderers["lab_svg"] = SVG()  # Plotly's own "svg" needs a browser
_default = (renderers.default or "").split("+")
if {"plotly_mimetype", "jupyterlab", "vscode", "nteract"} & {*_default} and "lab_svg" not in _default:
    renderers.default = "+".join([*_default, "lab_svg"])


NOTHING = "'none'"
CHARSET = '<meta charset="utf-8">'
SCRIPT = re.compile(r"<script(?![^>]*(?: src=|application/json))[^>]*>(.*?)</script>", re.S)


def templates(package: str, folder: str = "") -> Environment:
    """Templates of pages, around `document.html`: what they are given is text, unless they say that it is HTML, and
    nothing may be missing."""
    loader = ChoiceLoader([PackageLoader(package, folder), PackageLoader("lab", "plots")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def with_policy(page: str, *, site: bool = False) -> str:
    """A page with the policy by which a browser refuses its requests, and every script that it was not written with;
    a page that has one stays as it is.

    site: it has files of its own beside it, which it may load.

    >>> page = with_policy('<meta charset="utf-8"><script>let x;</script>')
    >>> "connect-src 'none'" in page and "script-src 'sha256-" in page
    True
    """
    begins = f'{CHARSET}\n<meta http-equiv="Content-Security-Policy"'
    if begins in page:
        return page
    files = ["'self'"] if site else []
    digests = (sha256(script.encode()).digest() for script in SCRIPT.findall(page))
    hashes = dict.fromkeys(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    allowed = {
        "script-src": [*hashes, *files],
        "style-src": ["'unsafe-inline'", *files],
        "img-src": ["data:", "blob:", *files],
        "frame-src": files,
    }
    allowed = dict.fromkeys(("default-src", "connect-src", "form-action", "base-uri"), []) | allowed
    policy = "; ".join(f"{name} {' '.join(sources) or NOTHING}" for name, sources in allowed.items())
    return page.replace(CHARSET, f'{begins} content="{policy}">', 1)


def with_room(figure: go.Figure) -> go.Figure:
    """A copy with room above all that is drawn, where the buttons of the plot appear.

    >>> figure = go.Figure(layout={"height": 274, "margin": {"t": 30}, "legend": {"yref": "container", "y": 1}})
    >>> copy = with_room(figure).layout
    >>> copy.height, copy.margin.t, round(300 * (1 - copy.legend.y))
    (300, 56, 26)
    """
    return Plot(figure).update_layout(room(figure.layout.to_plotly_json()))


def room(layout: dict[str, Any]) -> dict[str, Any]:
    """What of a layout changes for this room, both as JSON: reading all of a plot into Plotly's classes takes long."""
    height, legend = layout.get("height"), layout.get("legend", {})
    template = layout.get("template", {}).get("layout", {}).get("margin", {}).get("t")
    top = layout.get("margin", {}).get("t", template or 100)  # Plotly's own
    change: dict[str, Any] = {"margin": {"t": BAR + top}}
    if legend.get("yanchor") == "bottom" and legend.get("yref") != "container":
        # it pushes the plot down, as far as it must itself
        change["legend"] = {"title": {"text": " ", "side": "top", "font": {"size": 18}}}
    if height is not None:
        for name in ("title", *(["legend"] if legend.get("yref") == "container" else [])):
            if (y := layout.get(name, {}).get("y")) is not None:
                change[name] = {"y": y * height / (height + BAR)}
        change["height"] = height + BAR
    return change


class Plot(go.Figure):
    """A figure that a notebook shows with room for its buttons, and in the colours of the notebook."""

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(HTML(f"<style>{CELL}</style>"))
        go.Figure._ipython_display_(with_room(self))
