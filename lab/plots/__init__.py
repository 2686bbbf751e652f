"""Plots: pure functions from tables and results of probes to Plotly figures."""

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ModuleNotFoundError:  # tables are measured where there is nothing to draw with
    go = make_subplots = None

__all__ = ["go", "make_subplots"]
