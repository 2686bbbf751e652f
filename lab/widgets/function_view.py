"""FunctionView: the picture of a function, drawn by the page itself; and the same as a page that can be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anywidget
import numpy as np
import traitlets

from lab.probes.profile import Profile, Received
from lab.widgets import modules
from lab.widgets.random_networks import random_networks


def described(name: str, shape: Profile, inputs: Received | None = None) -> dict:
    """A function as the page reads it: name, low, high, values, whether its ends are constant, shares of its inputs."""
    return {
        "name": name,
        "low": shape.low,
        "high": shape.high,
        "values": _short(shape.y),
        "constant": shape.constant,
        "inputs": None if inputs is None else _short(inputs.share),
        "source": "" if inputs is None else inputs.source,
    }


class FunctionView(anywidget.AnyWidget):
    """A function with its slope and inputs, others behind it; it follows its traits without asking the kernel.

    functions: as `described` gives them. function: which is shown, counted from `first`. compared: which are drawn
    behind it, counted from 0. zoom: half the width of what is shown. inputs: shares by name, as they become known.
    random: whether networks with random weights are shown with the function; networks: these, from when they are asked.
    """

    _esm = modules.widget("function.js")

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

    def tell(self, name: str, inputs: Received | None) -> None:
        """The inputs of a function have become known."""
        if inputs is not None and name not in self.inputs:
            self.inputs = {**self.inputs, name: _short(inputs.share)}


def function_page(
    functions: Sequence[dict],
    function: int,
    compared: Sequence[int],
    zoom: float,
    slope: bool,
    edited: np.ndarray | None = None,
    changes: Sequence[str] = (),
    words: str = "",
    title: str | None = None,
    random: bool = False,
) -> str:
    """A page on which functions are explored and changed: one file, without a server or a network.

    functions: as `described` gives them; edited: other values of the one that is shown; changes: what was done to it.
    words: HTML above. title: of the page, by default the name of the function. random: whether networks with random
    weights are shown from the beginning.
    """
    state: Mapping[str, object] = {
        "functions": list(functions),
        "function": function,
        "compared": list(compared),
        "zoom": zoom,
        "slope": slope,
        "edited": None if edited is None else _short(edited),
        "changes": list(changes),
        "random": random,
        "networks": random_networks(),
    }
    return modules.page(title or str(functions[function]["name"]), "explorer.js", {"state": state}, words)


def _short(numbers: np.ndarray) -> list[float]:
    """Nine digits: all that float32 has."""
    return [float(f"{number:.9g}") for number in numbers]
