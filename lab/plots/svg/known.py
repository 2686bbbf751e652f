"""Which figures are drawn: those of which all that changes the picture is drawn as Plotly draws it.

Known is what the lab's own figures use. A figure with any other setting, or other data, has no picture rather than a
wrong one.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from lab.plots.svg.axes import numbers
from lab.plots.svg.traces import ROUND, SYMBOLS

# settings that change no picture
SILENT = {
    *"""captureevents clickmode customdata dragmode fixedrange hoverinfo hoverlabel hovermode hoverongaps hovertemplate
 hovertext ids itemclick itemdoubleclick legendgroup meta modebar name showspikes template uid uirevision""".split()
}
POINTS = "type visible x y marker error_x error_y xaxis yaxis showlegend legendrank"
CELLS = """type visible x y z zmin zmax zmid colorscale reversescale showscale coloraxis colorbar xaxis yaxis
 showlegend"""
BAR = "tickfont tickvals ticktext tickformat tickprefix ticksuffix title ticks"
WORDS = {
    "scatter": f"{POINTS} mode text textposition textfont fill fillcolor line opacity orientation",
    "bar": f"{POINTS} orientation width base",
    "box": f"{POINTS} q1 median q3 lowerfence upperfence",
    "heatmap": f"{CELLS} zsmooth xgap ygap text texttemplate textfont",
    "contour": f"{CELLS} ncontours contours line",
    "contours": "coloring",
    "marker": "color size symbol opacity line coloraxis cmin cmax colorscale reversescale showscale colorbar",
    "line": "color width dash shape",
    "error": "type visible array arrayminus symmetric color thickness width",
    "font": "color size family",
    "title": "text font x xanchor y yanchor side standoff",
    "layout": """width height margin font colorway title legend showlegend shapes annotations annotationdefaults
 coloraxis axis barmode bargap boxmode paper_bgcolor plot_bgcolor""",
    "margin": "l r t b",
    "legend": "orientation x xanchor xref y yanchor yref itemsizing title font bgcolor tracegroupgap traceorder",
    "shape": "type visible x0 x1 xref y0 y1 yref line fillcolor layer opacity",
    "annotation": """visible text x xref xanchor xshift y yref yanchor yshift font align showarrow arrowcolor arrowhead
 arrowwidth ax axref ay ayref standoff startstandoff bgcolor textangle""",
    "coloraxis": "autocolorscale cmin cmax colorscale reversescale showscale colorbar",
    "colorbar": f"{BAR} len nticks orientation thickness ticklen outlinewidth x xpad y yanchor ypad",
    "axis": f"""{BAR} type visible range autorange rangemode domain anchor overlaying side matches scaleanchor
 scaleratio constrain constraintoward categoryarray categoryorder showgrid gridcolor zeroline zerolinecolor showline
 linecolor mirror ticklen tickcolor tickangle tickmode tick0 dtick nticks exponentformat showticklabels automargin
 minor""",
    "minor": "ticks",
}
KNOWN = {part: {*words.split()} for part, words in WORDS.items()}
PARTS = {"textfont": "font", "tickfont": "font", "error_x": "error", "error_y": "error", "shapes": "shape"}
PARTS |= {"annotations": "annotation", "annotationdefaults": "annotation"}
NUMBER, FORMAT = r"-?[\d.]+(e-?\d+)?", r",|,?\.\d[f%]"
VALUES = {  # of settings that are not drawn with every value
    "scatter.visible": "True|False",
    "scatter.fill": "none|tozeroy|toself",
    "bar.visible": "True|False",
    "bar.width": NUMBER,
    "box.visible": "True|False",
    "heatmap.texttemplate": rf"%\{{text\}}|%\{{z:({FORMAT})\}}",
    "contours.coloring": "heatmap",
    "line.shape": "linear|hv|vh|hvh",
    "error.type": "data",
    "error.visible": "True",
    "layout.barmode": "group|overlay",
    "layout.paper_bgcolor": "white|#[fF]+",
    "legend.traceorder": "normal",
    "shape.type": "line|rect",
    "shape.visible": "True",
    "shape.layer": "above|below",
    "annotation.visible": "True",
    "coloraxis.autocolorscale": "False",
    "axis.type": "-|linear|log|category",
    "axis.rangemode": "normal|tozero",
    "axis.autorange": "True|reversed",
    "axis.categoryorder": "trace|array",
    "axis.tickmode": "array",
    "axis.dtick": NUMBER,
    "axis.tick0": NUMBER,
    "axis.tickformat": FORMAT,
    "axis.exponentformat": "power|B",
    "axis.ticks": "outside|",
    "colorbar.tickformat": FORMAT,
}
MOST_POINTS = 100_000  # of all traces: a megabyte
QUARTILES = ("lowerfence", "q1", "median", "q3", "upperfence")
# text that Plotly may take for a number or a date
NO_CATEGORY = re.compile(rf"\s*({NUMBER}|-?\d{{4}}-\d.*)\s*", re.DOTALL)


def is_known(figure: Mapping) -> bool:
    """Whether a figure, as `go.Figure.to_dict` gives it, is drawn rightly.

    >>> is_known({"data": [{"y": [1, 2], "fill": "tozeroy"}], "layout": {}})
    True
    >>> is_known({"data": [{"y": [1, 2], "fill": "tonexty"}], "layout": {}})
    False
    """
    layout, traces = figure.get("layout", {}), figure["data"]
    template = (layout.get("template") or {}).get("layout", {})
    paper = {"paper_bgcolor": template.get("paper_bgcolor")}
    parts = [*((_kind(trace), trace) for trace in traces), ("layout", layout), ("layout", paper)]
    points = sum(numbers(trace[along]).size for trace in traces for along in "xy" if trace.get(along) is not None)
    known = points <= MOST_POINTS and all(_known(*part) for part in parts)
    return known and all(_has_data(trace, layout) for trace in traces)


def _kind(trace: Mapping) -> str:
    return trace.get("type", "scatter").removesuffix("gl")


def _known(part: str, settings: Mapping) -> bool:
    """Whether a part of a figure has known settings alone, with known values."""
    for name, value in settings.items():
        name = re.sub(r"(?<=axis)\d+$", "", name)
        name = "axis" if part == "layout" and name in ("xaxis", "yaxis") else name
        if value is None or name in SILENT:
            continue
        if name not in KNOWN.get(part, ()) or not re.fullmatch(VALUES.get(f"{part}.{name}", "(?s:.*)"), str(value)):
            return False
        inner = [one for one in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(one, Mapping)]
        if not all("bdata" in one or _known(PARTS.get(name, name), one) for one in inner):
            return False
    return part != "axis" or not settings.get("scaleanchor") or settings.get("constrain") == "domain"


def _has_data(trace: Mapping, layout: Mapping) -> bool:
    """Whether a trace has data of a kind that is drawn."""
    kind, marker = _kind(trace), trace.get("marker") or {}
    for along in "xy":
        said = layout.get(f"{along}axis{trace.get(f'{along}axis', along)[1:]}") or {}
        if trace.get(along) is not None and not _is_drawn_on(trace[along], said.get("type", "-")):
            return False
        bars = trace.get(f"error_{along}")
        if bars and (bars.get("array") is None or (bars.get("symmetric") and bars.get("arrayminus") is not None)):
            return False
    if kind in ("heatmap", "contour"):
        whole = trace.get("zmid") is None or None not in (trace.get("zmin"), trace.get("zmax"))
        return whole and numbers(trace["z"]).ndim == 2 and (kind == "heatmap" or bool(trace.get("contours")))
    inks, symbols = marker.get("color"), marker.get("symbol") or ROUND
    if kind == "box":
        return all(trace.get(name) is not None for name in QUARTILES) and numbers(trace.get("x")).dtype == object
    if kind == "bar":
        return not isinstance(inks, Mapping) and all(isinstance(one, str) for one in inks or ())
    known = [str(one).removesuffix("-open") in {ROUND, *SYMBOLS} for one in np.atleast_1d(symbols)]
    return all(known) and (trace.get("fill") != "tozeroy" or not _has_gaps(trace))


def _is_drawn_on(values: Any, kind: str) -> bool:
    """Whether an axis of that type shows these: numbers, or texts that are categories; no dates, no lists of lists."""
    array = numbers(values)
    given = () if isinstance(values, Mapping) else values
    times = getattr(given, "dtype", np.dtype(float)).kind in "mM"
    if times or (array.dtype == float and any(isinstance(one, str) for one in given)):
        return False
    if array.ndim != 1 or array.dtype != object:
        return array.ndim == 1
    texts = [one for one in array if one is not None and not isinstance(one, (int, float, np.number))]
    return all(isinstance(one, str) and (kind == "category" or not NO_CATEGORY.fullmatch(one)) for one in texts)


def _has_gaps(trace: Mapping) -> bool:
    """Whether numbers are missing between others."""
    arrays = [numbers(trace[along]) for along in "xy" if trace.get(along) is not None]
    arrays = [array for array in arrays if array.dtype == float]
    missing = np.isnan(sum(array[: min(map(len, arrays))] for array in arrays)) if arrays else np.zeros(0, bool)
    known = np.flatnonzero(~missing)
    return len(known) > 0 and bool(missing[known[0] : known[-1]].any())
