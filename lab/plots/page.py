"""How plots behave in a page. Who imports this has it for every plot that Plotly itself displays, too."""

from __future__ import annotations

from pathlib import Path

import plotly.io

# Plotly 7 has a button that uploads the plot to a company's server. No plot of the lab offers that.
PRIVATE = {"showSendToCloud": False, "plotlyServerURL": ""}
CONFIG = {"responsive": True, "displaylogo": False, **PRIVATE}
# Panels and matrices need so many px (`lab.plots.panels`). In a narrower cell of JupyterLab, or a narrower page, a plot
# stays as wide and scrolls sideways.
NARROWEST = 560
# how plots and pictures look where the page is dark
THEME = Path(__file__).with_name("theme.css").read_text(encoding="utf-8")
CELL = f"""{THEME}
.jp-OutputArea-child > .jp-RenderedPlotly {{ min-width: {NARROWEST}px; overflow: hidden; }}
"""

for _name in list(plotly.io.renderers):
    _renderer = plotly.io.renderers[_name]
    if hasattr(_renderer, "config"):
        _renderer.config = {**(_renderer.config or {}), **PRIVATE}
