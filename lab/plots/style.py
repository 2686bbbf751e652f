"""The look of every figure: one colour a method, one scale for differences, one template, one spelling of task names.

Colours are those of Okabe and Ito ("Color Universal Design", 2008), which people of every colour vision can tell apart.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import pandas as pd

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#808080"

# A method has its colour in every figure of the lab, and its symbol where points are drawn, a second way to tell it.
# COPY's baseline has ALiBi positions: two names, one colour.
_METHODS = {
    "linear MLP": (ORANGE, "cross"),
    "baseline": (GREY, "circle"),
    "learned MLP": (BLUE, "diamond"),
    "learned MLP from GELU": (GREEN, "star"),
    "learned MLP + attention": (VERMILLION, "square"),
    "learned attention": (PURPLE, "triangle-up"),
    "absolute positions": (ORANGE, "square"),
    "ALiBi": (GREY, "circle"),
    "ALiBi + learned MLP": (BLUE, "diamond"),
    "symmetrized": (GREEN, "star"),
    "polynomial": (SKY, "triangle-down"),
    "Chebyshev": (BLACK, "x"),
    "softmax": (SKY, "circle"),
    "linear": (ORANGE, "square"),
    "hyla": (GREEN, "diamond"),
    "ReLU": (GREY, "circle"),
    "learned": (BLUE, "diamond"),
    "learned from ReLU": (ORANGE, "square"),
    "learned from zero": (BLUE, "diamond"),
    "layer-specific": (GREEN, "triangle-up"),
    "linear model": (PURPLE, "cross"),
    "k-NN": (BLACK, "diamond-tall"),
    "boosted trees": (GREEN, "triangle-up"),
    "TanH": (ORANGE, "hexagon"),
    "IAFs": (VERMILLION, "square"),
    "learned for easy": (ORANGE, "triangle-up"),
    "learned for hard": (BLUE, "diamond"),
    "learned for all": (GREEN, "star"),
    "linear φ": (ORANGE, "square"),
    "GELU": (PURPLE, "triangle-up"),
}
METHOD_COLOURS = {method: ink for method, (ink, _) in _METHODS.items()}
METHOD_SYMBOLS = {method: symbol for method, (_, symbol) in _METHODS.items()}
METHOD_TITLES = {  # others: as they are
    "softmax": "softmax attention",
    "linear": "linear attention",
    "hyla": "HYLA",
    "learned": "learned function",
    "linear_rms_head": "linear attention + RMSHead",
    "linear_rms_head_nonlinear": "linear attention + RMSHead + nonlinear value",
    "hyla_no_rms_head": "HYLA − RMSHead",
    "hyla_linear": "HYLA − nonlinearity",
    "hyla_linear_no_rms_head": "HYLA − nonlinearity − RMSHead",
    "hyla_softmax": "HYLA − RMSHead + softmax",
    "hyla_deep": "HYLA + deep value network",
    "softmax_experts": "softmax attention + MoE",
    "linear_experts": "linear attention + MoE",
    "hyla_experts": "HYLA + MoE",
    "relu": "ReLU",
    "prelu": "PReLU",
    "silu": "SiLU",
    "swish": "Swish",
    "gelu": "GELU",
    "learnable_gelu": "learnable GELU",
    "geglu": "GEGLU",
    "learnable_geglu": "learnable GEGLU",
    "kan": "KAN",
    "kan_3_5": "KAN, grid 3, order 5",
}
# For what has no colour of its own; yellow is left out, it cannot be seen on white.
SEQUENCE = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, BLACK, GREY)

# Blue is better than the baseline, brown is worse, white is no difference; text can be read on every shade.
DIVERGING = ((0.0, "#B35806"), (0.25, "#F1A340"), (0.5, "#FFFFFF"), (0.75, "#67A9CF"), (1.0, "#0571B0"))
# Numbers from low to high (cividis): its lightness rises evenly, for every colour vision.
SEQUENTIAL = "Cividis"
DELTA_RANGE = 40.0  # percentage points at which the diverging scale ends: the same in all matrices, so they compare

FONT = "Open Sans, Helvetica, Arial, sans-serif"
INK, GRID = "#222222", "#E4E4E4"
SOLID_INK = "#7A7A7A"  # of 3-D axes: no style sheet reaches them, so it can be read on a light and on a dark ground
CELL_INK = "#010101"  # of what stands on shades: where a page is dark, it stays, as black does not (theme.css)
SIZE = 12  # of text, in pixels


def ink_on(shade: str) -> str:
    """White or (almost) black, whichever has more contrast with a shade, "rgb(…)": 4.5 at least (WCAG 2).

    >>> ink_on("rgb(255, 255, 255)"), ink_on("rgb(0, 0, 0)")
    ('#010101', '#FFFFFF')
    """
    parts = [float(part) / 255 for part in shade[4:-1].split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    light = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#FFFFFF" if light < 0.179 else CELL_INK  # where both have 4.58


def shade_of(value: float, low: float, high: float, scale: Any = DIVERGING) -> str:
    """The colour of a value on a scale from low to high, "rgb(…)"; of a scale of no width its middle."""
    from plotly.colors import sample_colorscale

    share = (value - low) / (high - low) if high > low else 0.5
    return sample_colorscale(scale if isinstance(scale, str) else list(map(list, scale)), min(max(share, 0.0), 1.0))[0]


def cell_ink(value: float, low: float, high: float, scale: Any = DIVERGING) -> str:
    """The colour of a number in a cell with the shade of its value; that of other text where it has no shade.

    >>> cell_ink(0.5, -1, 1), cell_ink(-1, -1, 1), cell_ink(float("nan"), -1, 1) == INK
    ('#010101', '#FFFFFF', True)
    """
    return ink_on(shade_of(value, low, high, scale)) if isfinite(value) else INK


_AXIS = {
    "automargin": False,  # margins are given, so that a caption can be placed below them
    "gridcolor": GRID,
    "linecolor": GREY,
    "showline": True,
    "ticks": "outside",
    "ticklen": 4,
    "tickcolor": GREY,
    "zeroline": False,
    "tickfont": {"size": SIZE - 1},
    "title": {"font": {"size": SIZE}, "standoff": 6},
}

# in the upper left corner
LEGEND_ABOVE = {"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"}
TEMPLATE = {  # for `template=` of a Plotly layout
    "layout": {
        "font": {"family": FONT, "size": SIZE, "color": INK},
        "colorway": list(SEQUENCE),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {"orientation": "h", "bgcolor": "rgba(255,255,255,0)", "itemsizing": "trace", "tracegroupgap": 0},
        "hoverlabel": {"font": {"size": SIZE}},
        "hovermode": "closest",
        "margin": {"l": 62, "r": 14, "t": 30, "b": 48},
        "annotationdefaults": {"showarrow": False},
    }
}


def colour(method: str) -> str:
    """The colour of a method in every figure.

    >>> colour("baseline")
    '#808080'
    """
    if method not in METHOD_COLOURS:
        raise KeyError(
            f"method {method!r} has no colour yet; give it one in METHOD_COLOURS (known: {list(METHOD_COLOURS)})"
        )
    return METHOD_COLOURS[method]


def faded(colour: str, opacity: float) -> str:
    """A colour that lets others through.

    >>> faded("#0072B2", 0.2)
    'rgba(0, 114, 178, 0.2)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def methods_of(table: pd.DataFrame) -> list[str]:
    """The methods of a table (column method), each once, in the lab's order."""
    return sorted(table["method"].unique(), key=list(METHOD_COLOURS).index)


def method_title(method: str) -> str:
    """A method's name as figures spell it."""
    return METHOD_TITLES.get(method, method)


def ink_of(name: str) -> str | None:
    """The colour of the method that a name or a title means; None where it means none.

    >>> ink_of("softmax attention") == colour("softmax"), ink_of("mine")
    (True, None)
    """
    sought = name.casefold()
    known = METHOD_COLOURS.items()
    return next((ink for one, ink in known if sought in (one.casefold(), method_title(one).casefold())), None)


def inks_against(names: Sequence[str]) -> dict[str, str]:
    """Colours of functions by name: the first, which the others are compared with, is grey; a known method has its own.

    >>> list(inks_against(["GELU", "square", "learned"]).values()) == [GREY, ORANGE, BLUE]
    True
    """
    colours = {names[0]: GREY}
    for name in names[1:]:
        if (method_ink := ink_of(name)) is not None and method_ink not in colours.values():
            colours[name] = method_ink
    spare = [ink for ink in SEQUENCE if ink not in colours.values()] or list(SEQUENCE)
    colours |= {name: spare[n % len(spare)] for n, name in enumerate(name for name in names if name not in colours)}
    return {name: colours[name] for name in names}
