"""How plots behave in a page. Who imports this has it for every plot that Plotly itself displays, too."""

from __future__ import annotations

import plotly.io

# Plotly 7 has a button that uploads the plot to a company's server. No plot of the lab offers that.
PRIVATE = {"showSendToCloud": False, "plotlyServerURL": ""}
CONFIG = {"responsive": True, "displaylogo": False, **PRIVATE}

for _name in list(plotly.io.renderers):
    _renderer = plotly.io.renderers[_name]
    if hasattr(_renderer, "config"):
        _renderer.config = {**(_renderer.config or {}), **PRIVATE}
