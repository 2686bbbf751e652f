"""Plots: pure functions from tables and results of probes to Plotly figures."""

try:
    import plotly.graph_objects as go
except ModuleNotFoundError:  # tables are measured where there is nothing to draw with
    go = None

__all__ = ["go"]
