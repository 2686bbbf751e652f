"""How plots behave in a page. Who imports this has it for every plot that Plotly itself displays, too."""

from __future__ import annotations

from pathlib import Path

import plotly.io
from plotly.io.base_renderers import MimetypeRenderer

from lab.plots import go
from lab.plots.svg import svg

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

for _name in list(plotly.io.renderers):
    _renderer = plotly.io.renderers[_name]
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


plotly.io.renderers["lab_svg"] = SVG()  # Plotly's own "svg" needs a browser
_default = (plotly.io.renderers.default or "").split("+")
if {"plotly_mimetype", "jupyterlab", "vscode", "nteract"} & {*_default} and "lab_svg" not in _default:
    plotly.io.renderers.default = "+".join([*_default, "lab_svg"])


def with_room(figure: go.Figure) -> go.Figure:
    """A copy with room above all that is drawn, where the buttons of the plot appear.

    >>> figure = go.Figure(layout={"height": 274, "margin": {"t": 30}, "legend": {"yref": "container", "y": 1}})
    >>> copy = with_room(figure).layout
    >>> copy.height, copy.margin.t, round(300 * (1 - copy.legend.y))
    (300, 56, 26)
    """
    copy = Plot(figure)
    height, top, legend = copy.layout.height, copy.layout.margin.t, copy.layout.legend
    copy.update_layout(margin={"t": BAR + (_of_template(copy, top) if top is None else top)})
    if legend.yanchor == "bottom" and legend.yref != "container":  # it pushes the plot down, as far as it must itself
        legend.title = {"text": " ", "side": "top", "font": {"size": 18}}
    if height is not None:
        from_edge = [copy.layout.title, *([legend] if legend.yref == "container" else [])]
        for part in from_edge:
            if part.y is not None:
                part.y = part.y * height / (height + BAR)
        copy.layout.height = height + BAR
    return copy


def _of_template(figure: go.Figure, top: int | None) -> int:
    """The room on top that a figure has which does not say it."""
    return figure.layout.template.layout.margin.t or top or 100  # Plotly's own


class Plot(go.Figure):
    """A figure that a notebook shows with room for its buttons, and in the colours of the notebook."""

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(HTML(f"<style>{CELL}</style>"))
        go.Figure._ipython_display_(with_room(self))
