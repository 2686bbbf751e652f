"""Functions in the page: looked at (FunctionView), pulled and drawn (CurveEditor), on their own page, in a race."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from uuid import uuid4

import anywidget
import numpy as np
import traitlets
from torch import nn

from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo, zoo_names
from lab.plots.page import THEME
from lab.plots.style import BLUE, FONT, GREY, SKY
from lab.probes.complexity import draw
from lab.probes.profile import POINTS, Profile, Received, profile, random_network, square
from lab.widgets import pages
from lab.widgets.course import CourseView
from lab.widgets.pages import Content, short
from lab.widgets.slices import GREYS, perceptron

SEEDS, PATHS, SAMPLES = 3, 200, 100  # of random networks; paths and samples as `probes.total_variation` has by default
TOOLS = ("pull", "draw")
LEARNED, TITLE = "simplicity/addition-27", "the learned function"
WORDS = (
    "<p>Two small networks race here, one with ReLU and one with another function. They need scripts: run this cell,"
    " or trust the notebook.</p>"
)


def described(name: str, shape: Profile, inputs: Received | None = None) -> dict:
    """A function as the page reads it: name, low, high, values, whether its ends are constant, shares of its inputs."""
    return {
        "name": name,
        "low": shape.low,
        "high": shape.high,
        "values": short(shape.y),
        "constant": shape.constant,
        "inputs": None if inputs is None else short(inputs.share),
        "source": "" if inputs is None else inputs.source,
    }


@cache
def random_networks() -> dict[str, Any]:
    """Layers of the networks of `probes.portrait`, by seed, and the paths on which their total variation is measured:
    in the page they stand with whatever function is shown.

    >>> found = random_networks()
    >>> len(found["seeds"]), [layer["outputs"] for layer in found["seeds"][0]], len(found["paths"])
    (3, [64, 64, 64, 1], 200)
    """
    made = [perceptron(random_network(nn.Identity(), seed)) for seed in range(SEEDS)]
    paths, _ = draw(square(POINTS), None, PATHS, SAMPLES, 0)
    ends = [[*start, *end] for start, end in zip(paths.start.tolist(), paths.end.tolist(), strict=True)]
    return {"seeds": [one["layers"] for one in made if one], "paths": ends, "samples": SAMPLES, "greys": list(GREYS)}


class FunctionView(CourseView):
    """A function with its slope and inputs, others behind it; it follows its traits without asking the kernel.

    functions: as `described` gives them. function: which is shown, counted from `first`. compared: which are drawn
    behind it, counted from 0. zoom: half the width of what is shown. inputs: shares by name, as they become known.
    random: whether networks with random weights are shown with the function; networks: these, from when they are asked.
    course: {name: {steps, values}} of functions whose search has checkpoints.
    """

    _esm = pages.widget("function.js")

    functions = traitlets.List(traitlets.Dict()).tag(sync=True)
    inputs = traitlets.Dict().tag(sync=True)
    first = traitlets.Int(0).tag(sync=True)
    function = traitlets.Int(0).tag(sync=True)
    compared = traitlets.List(traitlets.Int()).tag(sync=True)
    zoom = traitlets.Float(1.0).tag(sync=True)
    slope = traitlets.Bool(False).tag(sync=True)
    random = traitlets.Bool(False).tag(sync=True)
    networks = traitlets.Dict().tag(sync=True)

    def weigh(self, shown: bool) -> None:
        """Show the networks with random weights, or do not."""
        self.networks = random_networks() if shown else self.networks
        self.random = shown


def function_content(functions: Sequence[dict], words: str = "", title: str | None = None, **state: Any) -> Content:
    """Functions, to be explored and changed without a kernel.

    functions: as `described` gives them. words: HTML above. title: by default the name of the function.
    state: function, compared, zoom, slope, random: as in `FunctionView`, counted from 0; edited: other values of the
    one that is shown; changes: what was done to it; steps, step, course: as in `CourseView`.
    """
    plain: dict[str, Any] = {"function": 0, "compared": [], "zoom": 1.0, "slope": False, "random": False}
    plain |= {"edited": None, "changes": [], "functions": list(functions), "networks": random_networks()}
    state = plain | state
    return Content(title or str(functions[state["function"]]["name"]), "explorer.js", state, words)


def as_bytes(numbers: np.ndarray) -> bytes:
    """Numbers as the page reads them: float64, little-endian."""
    return np.ascontiguousarray(numbers, dtype="<f8").tobytes()


def _array() -> traitlets.Bytes:
    """Numbers that travel as they are."""
    # what arrives is a view of the message
    return traitlets.Bytes(as_bytes(np.zeros(2))).tag(sync=True, from_json=lambda view, _: bytes(view))


class CurveEditor(anywidget.AnyWidget):
    """Values at evenly spaced knots of [low, high], which the hand changes; Plotly can drag no points of a line.

    With the tool "pull" the knot below the pointer follows it, and its neighbours with Gaussian weights of standard
    deviation `brush`, in units of x (0: it alone). With "draw", each knot that the pointer passes goes there. With the
    keyboard, left and right choose a knot, up and down pull it; Ctrl-Z and Ctrl-Y are told to `on_msg`.

    value, before: float64 as bytes; the curve, and one in grey behind it. density: for each knot how often it is used,
    in any unit. window: first and last x shown. strokes: how often the hand was lifted. smooth, polynomial, chebyshev:
    what sliders stand at, as numbers of their options (0: off), so that the page shows what they do without the kernel;
    bandwidths: what `smooth` counts.
    """

    _esm = pages.widget("editor.js")
    # the ring of the focus is for those who came with the keyboard
    _css = f".lab-editor {{ outline: 0 solid {SKY}; outline-offset: -2px }} "
    _css += ".lab-editor:focus-visible { outline-width: 2px }"

    value = _array()
    before = _array()
    density = _array()
    low = traitlets.Float(-1.0).tag(sync=True)
    high = traitlets.Float(1.0).tag(sync=True)
    window = traitlets.List(traitlets.Float(), [-1.0, 1.0], minlen=2, maxlen=2).tag(sync=True)
    brush = traitlets.Float(0.0, min=0.0).tag(sync=True)
    tool = traitlets.Enum(TOOLS, TOOLS[0]).tag(sync=True)
    strokes = traitlets.Int(0).tag(sync=True)
    smooth = traitlets.Int(0).tag(sync=True)
    polynomial = traitlets.Int(0).tag(sync=True)
    chebyshev = traitlets.Int(0).tag(sync=True)
    bandwidths = traitlets.List(traitlets.Float()).tag(sync=True)
    colours = traitlets.Dict(
        {"curve": BLUE, "before": GREY, "inputs": GREY, "faint": "#BFBFBF", "ink": "currentColor", "font": FONT}
    ).tag(sync=True)

    @property
    def values(self) -> np.ndarray:
        """The curve, (knots,)."""
        return np.frombuffer(self.value, dtype="<f8")


class Playground:
    """Press play: two perceptrons with the same initial weights learn in the page, one with ReLU and one with a chosen
    or drawn function, without the kernel; so they still do in a saved notebook, and in one exported as HTML.

    functions: by name, offered before the learned function for addition modulo 27, a sine, TanH and GELU; the first of
    them begins.

    >>> import torch
    >>> Playground({"a hat": Spline(torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0)}).functions[0]["name"]
    'a hat'
    """

    def __init__(self, functions: Mapping[str, Spline] | None = None):
        self.functions = offered(functions)
        self._chosen = next(iter(functions), None) if functions else None

    def __repr__(self) -> str:
        return "Playground: a notebook shows it"

    def _repr_html_(self) -> str:
        state = {"functions": self.functions, "chosen": self._chosen, "autoplay": False}
        return f"<style>{THEME}</style>{pages.part('playground.js', state, f'lab-{uuid4().hex}', WORDS)}"


def offered(functions: Mapping[str, Spline] | None = None) -> list[dict]:
    """Functions as the page reads them: those given, and the learned one that is shipped."""
    learned = {LEARNED: zoo(LEARNED)} if LEARNED in zoo_names() else {}
    descriptions = [described(name, profile(phi)) for name, phi in {**(functions or {}), **learned}.items()]
    return [one | {"title": TITLE} if one["name"] == LEARNED else one for one in descriptions]
